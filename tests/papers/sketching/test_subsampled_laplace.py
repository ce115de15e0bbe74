"""Laplace noise on subsampled features: closed forms, lists of masks, and exact densities."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dplit.papers.sketching.amplification import (
    amplified_epsilon,
    base_epsilon,
    fourier_epsilon,
    fourier_scale,
)
from dplit.papers.sketching.masks import mask_law
from dplit.papers.sketching.mixture_densities import far_point, log_density
from dplit.papers.sketching.subsampled_laplace import (
    _log_symmetric_mean,
    _magnitudes,
    enumerated_epsilon,
    masked_norms,
    record_epsilon,
)
from dplit.streams import stream
from dplit_studies.sketching.sensitivity_table import opposite_pair
from tests.sketching.shared import LAWS, every_law


def features(rows: int, m: int = 6, *, complex_valued: bool = False) -> np.ndarray:
    rng = stream(0, f"test-subsampled-{rows}-{m}", "data")
    values = rng.standard_normal((rows, m))
    return values + 1j * rng.standard_normal((rows, m)) if complex_valued else values


@pytest.mark.claim("sketch-lem15")
@every_law
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("complex_valued", [False, True])
def test_closed_forms_equal_the_lists(law, direction, complex_valued):
    values = features(7, complex_valued=complex_valued)
    fast = record_epsilon(values, law, scale=1.7, direction=direction)
    slow = enumerated_epsilon(values, law, scale=1.7, direction=direction)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.claim("sketch-lem15")
@pytest.mark.claim("sketch-def21")
@pytest.mark.parametrize("complex_valued", [False, True])
@pytest.mark.parametrize("law", [mask_law("uniform", 3, n_kept=2), mask_law("data", 3, alpha=0.4)])
def test_exact_densities_attain_the_formula_and_never_exceed_it(law, complex_valued):
    """Three records, all tuples of masks; ascents on the log ratio from many points."""
    values, b = features(3, 3, complex_valued=complex_valued), 1.3
    point = far_point(values[-1], distance=200.0)[None]

    def ratio(points, sign):
        return sign * (
            log_density(points, values, law, scale=b)
            - log_density(points, values[:-1], law, scale=b)
        )

    rng = stream(0, "test-lem15-points", "noise")
    starts = 6.0 * rng.standard_normal((4000, point.shape[1]))
    for sign, direction in ((1.0, "add"), (-1.0, "remove")):
        exact = record_epsilon(values[-1:], law, scale=b, direction=direction)[0]
        assert ratio(sign * point, sign)[0] == pytest.approx(exact, rel=1e-12)
        assert ratio(starts, sign).max() <= exact + 1e-12
        best = starts[np.argmax(ratio(starts, sign))]
        found = minimize(lambda s, sign=sign: -ratio(s[None], sign)[0], best, method="Nelder-Mead")
        assert -found.fun <= exact + 1e-12


@pytest.mark.claim("sketch-lem15")
def test_densities_do_not_depend_on_the_order_of_records():
    law, values = mask_law("uniform", 3, n_kept=1), features(3, 3)
    points = stream(0, "test-order", "noise").standard_normal((20, 3))
    one = log_density(points, values, law, scale=0.8)
    np.testing.assert_allclose(log_density(points, values[::-1], law, scale=0.8), one, rtol=1e-13)
    empty = log_density(points, [], law, scale=0.8)
    np.testing.assert_allclose(empty, -np.abs(points).sum(axis=1) / 0.8, rtol=1e-14)


@pytest.mark.claim("sketch-lem15")
def test_density_integrates_to_one():
    law = mask_law("bernoulli", 2, alpha=0.5)
    axis = np.linspace(-20, 20, 401)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    total = np.exp(log_density(points, features(2, 2), law, scale=0.9)).sum() * 0.1**2
    assert total / (2 * 0.9) ** 2 == pytest.approx(1.0, rel=2e-3)


@pytest.mark.claim("sketch-lem15")
@pytest.mark.claim("sketch-lem16")
@every_law
def test_removing_is_never_worse_than_adding(law):
    values = features(50)
    add = record_epsilon(values, law, scale=0.7)
    remove = record_epsilon(values, law, scale=0.7, direction="remove")
    assert np.all(remove <= add)
    if law.scheme == "uniform":  # equal features: Q is the same for all masks, and none helps
        flat = np.ones((1, 6))
        both = [record_epsilon(flat, law, scale=0.7, direction=d)[0] for d in ("add", "remove")]
        assert both == pytest.approx([6 / 0.7] * 2, rel=1e-12)
    else:
        assert np.all(remove < add)


@pytest.mark.claim("sketch-lem16")
@given(st.integers(0, 10_000), st.floats(0.05, 5.0))
def test_sampling_never_helps_at_equal_rescaled_noise(seed, scale):
    values = np.random.default_rng(seed).exponential(size=(3, 6))
    plain = values.sum(axis=1) / scale
    for law in LAWS:
        assert np.all(record_epsilon(values, law, scale=scale) >= plain * (1 - 1e-12))


@pytest.mark.claim("sketch-eq17")
@pytest.mark.claim("sketch-lem18")
def test_whole_records_are_the_worst_law():
    """A convex function on an interval is below its chord: the all-or-nothing law is the chord."""
    values = np.abs(features(40))
    worst = record_epsilon(values, mask_law("data", 6, alpha=1 / 3), scale=2.0)
    formula = [amplified_epsilon(epsilon=s / (2.0 / 3), sampling_rate=1 / 3) for s in values.sum(1)]
    np.testing.assert_allclose(worst, formula, rtol=1e-12)
    for law in (mask_law("bernoulli", 6, alpha=1 / 3), LAWS[2]):
        assert np.all(record_epsilon(values, law, scale=2.0) < worst)


@pytest.mark.claim("sketch-lem18")
@pytest.mark.claim("sketch-eq17")
@every_law
def test_fourier_formulas_are_those_of_a_full_record(law):
    full = np.full((1, 6), (1 + 1j) / math.sqrt(2.0))  # every magnitude is sqrt(2)
    for scale in (0.4, 3.0, 50.0):
        expected = enumerated_epsilon(full, law, scale=scale)[0]
        assert fourier_epsilon(law, scale=scale) == pytest.approx(expected, rel=1e-12)
    for epsilon in (0.1, 1.0, 20.0):
        scale = fourier_scale(law, epsilon=epsilon)
        expected = enumerated_epsilon(full, law, scale=scale)[0]
        assert expected == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.claim("sketch-lem17")
def test_worst_records_of_fourier_features():
    frequencies = stream(0, "test-lem17", "public").standard_normal((5, 5))
    phi = np.exp(1j * opposite_pair(frequencies) @ frequencies)
    for r in (1, 3, 5):
        masks = np.array([np.isin(np.arange(5), chosen) for chosen in combinations(range(5), r)])
        one = masked_norms(phi, masks, alpha=r / 5)
        np.testing.assert_allclose(one, 5 * math.sqrt(2.0), rtol=1e-12)
        two = masked_norms(phi[:1], masks, alpha=r / 5, other=phi[1:])
        np.testing.assert_allclose(two, 10 * math.sqrt(2.0), rtol=1e-12)
        wild = np.exp(1j * stream(0, "t", "data").uniform(0, 7, (300, 5)))
        assert masked_norms(wild, masks, alpha=r / 5).max() <= 5 * math.sqrt(2.0) + 1e-12
        bound = masked_norms(wild[:150], masks, alpha=r / 5, other=wild[150:]).max()
        assert bound <= 10 * math.sqrt(2.0) + 1e-12


@pytest.mark.claim("sketch-def21")
@pytest.mark.claim("sketch-lem24")
def test_masked_norms_by_hand():
    values, masks = np.array([[3 + 4j, -1 + 0j]]), np.array([[1, 0], [1, 1], [0, 0]])
    np.testing.assert_allclose(masked_norms(values, masks, alpha=0.5), [[14.0, 16.0, 0.0]])
    by_hand = [[10.0, 2 * math.sqrt(26), 0.0]]
    np.testing.assert_allclose(masked_norms(values, masks, alpha=0.5, norm=2), by_hand)
    moved = masked_norms(values, masks, alpha=1.0, other=[[0.0, -1.0]])
    np.testing.assert_allclose(moved, [[7.0, 7.0, 0.0]])
    np.testing.assert_allclose(_magnitudes([[-2.0, 0.5]]), [[2.0, 0.5]])


@pytest.mark.claim("sketch-lem14")
@pytest.mark.claim("sketch-eq17")
@pytest.mark.claim("sketch-eq21")
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 29.99, 30.01, 200.0])
@pytest.mark.parametrize("rate", [1e-3, 0.5, 1.0])
def test_amplification_and_its_inverse(epsilon, rate):
    inner = base_epsilon(epsilon=epsilon, sampling_rate=rate)
    assert amplified_epsilon(epsilon=inner, sampling_rate=rate) == pytest.approx(epsilon, rel=1e-9)
    if epsilon < 100:
        exact = math.log(1 - rate + rate * math.exp(epsilon))
        assert amplified_epsilon(epsilon=epsilon, sampling_rate=rate) == pytest.approx(
            exact, rel=1e-9, abs=1e-15
        )


def test_symmetric_means_by_hand():
    w = np.array([[1.0, 2.0, 5.0, 0.5]])
    for r in range(1, 5):
        direct = np.mean([np.prod(w[0, list(c)]) for c in combinations(range(4), r)])
        assert np.exp(_log_symmetric_mean(np.log(w), r))[0] == pytest.approx(direct, rel=1e-13)
    huge = _log_symmetric_mean(np.full((1, 5), 900.0), 3)
    assert huge[0] == pytest.approx(2700.0, rel=1e-14)
