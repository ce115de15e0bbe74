"""Gaussian noise on subsampled Fourier features: closed forms, lists, simulation, Lemma 16."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.papers.sketching.masks import mask_law, mask_support
from dplit.papers.sketching.subsampled_gaussian import (
    accountant_delta,
    density_excess,
    fourier_delta,
    fourier_q2,
    fourier_sigma,
    lemma23_sigma,
)
from dplit.papers.sketching.subsampled_laplace import masked_norms
from dplit.streams import stream
from dplit_studies.sketching.gaussian_simulation import _excess, simulated_ratios, simulated_sigma
from tests.sketching.shared import every_law


@pytest.mark.claim("sketch-lem24")
@every_law
def test_largest_distance_by_the_list_of_masks(law):
    phi = np.exp(1j * stream(0, "test-lem24", "data").uniform(0, 7, (5, 6)))
    masks, _ = mask_support(law)
    moved = masked_norms(phi, masks, alpha=law.alpha, norm=2).max(axis=1)
    np.testing.assert_allclose(moved, fourier_q2(law), rtol=1e-12)
    apart = masked_norms(phi, masks, alpha=law.alpha, norm=2, other=-phi).max()
    assert apart == pytest.approx(fourier_q2(law, neighboring="replace_one"), rel=1e-12)


@pytest.mark.claim("sketch-lem23")
@pytest.mark.claim("sketch-lem24")
def test_generic_bound_is_the_gaussian_of_the_worst_mask():
    law = mask_law("uniform", 16, n_kept=4)
    sigma = lemma23_sigma(law, epsilon=0.5, delta=1e-6)
    assert sigma == pytest.approx(gaussian_sigma(epsilon=0.5, delta=1e-6, sensitivity=8.0))
    twice = lemma23_sigma(law, epsilon=0.5, delta=1e-6, neighboring="replace_one")
    assert twice == pytest.approx(2 * sigma)


@pytest.mark.claim("sketch-lem23")
@pytest.mark.parametrize("alpha", [0.5, 0.1])
def test_lemma_23_is_sufficient_and_generous(alpha):
    law = mask_law("bernoulli", 16, alpha=alpha)
    sigma = lemma23_sigma(law, epsilon=1.0, delta=1e-5)
    assert fourier_delta(law, epsilon=1.0, sigma=sigma) < 1e-5
    assert fourier_sigma(law, epsilon=1.0, delta=1e-5) < sigma


@pytest.mark.claim("sketch-lem23")
def test_density_excess_depends_on_the_unit():
    """(19) in units a thousand times smaller: the same mechanism, a thousand times the excess."""
    sigma = gaussian_sigma(epsilon=1.0, delta=1e-5)
    one = density_excess(epsilon=1.0, sigma=sigma, sensitivity=1.0)
    small = density_excess(epsilon=1.0, sigma=sigma / 1000, sensitivity=1 / 1000)
    assert small == pytest.approx(1000 * one, rel=1e-8)
    assert one < 1e-5 < small  # (19) "holds" and "fails" for one mechanism
    s = np.linspace(-30, 40, 700_001)
    scan = stats.norm.pdf(s, 1, sigma) - math.e * stats.norm.pdf(s, 0, sigma)
    assert one == pytest.approx(scan.max(), rel=1e-8)


@pytest.mark.claim("sketch-lem23")
@pytest.mark.claim("sketch-beyond-subsampled")
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [0.02, 0.08, 1.0])
def test_whole_records_by_quadrature(direction, epsilon):
    """The closed form of a mixture's profile against the trapezium rule, both directions."""
    law, sigma = mask_law("data", 4, alpha=0.1), 17.0
    distance = 2.0 / 0.1
    z = np.linspace(-12 * sigma, distance + 12 * sigma, 1_000_001)
    base = stats.norm.pdf(z, 0, sigma)
    mixture = 0.9 * base + 0.1 * stats.norm.pdf(z, distance, sigma)
    upper, lower = (mixture, base) if direction == "remove" else (base, mixture)
    exact = np.trapezoid(np.maximum(upper - math.exp(epsilon) * lower, 0), z)
    ours = fourier_delta(law, epsilon=epsilon, sigma=sigma, direction=direction)
    assert ours == pytest.approx(exact, rel=1e-6, abs=1e-13)
    both = fourier_delta(law, epsilon=epsilon, sigma=sigma)
    assert both >= ours * (1 - 1e-12)


def listed_delta(law, epsilon, sigma, noise, direction):
    """Delta from the definition: likelihood ratios as sums over all masks, on given draws."""
    masks, probabilities = mask_support(law)
    shifts = masks / law.alpha
    if direction == "remove":
        cumulative = np.cumsum(probabilities)
        chosen = np.searchsorted(cumulative, np.linspace(0, 1, len(noise), endpoint=False))
        points = sigma * noise + shifts[np.minimum(chosen, len(masks) - 1)]
    else:
        points = sigma * noise
    exponents = (points @ shifts.T - 0.5 * np.sum(shifts**2, axis=1)) / sigma**2
    logs = logsumexp(exponents, axis=1, b=probabilities)
    loss = logs if direction == "remove" else -logs
    return np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)


@pytest.mark.claim("sketch-beyond-subsampled")
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_independent_masks_by_listing_them(direction):
    """200,000 draws within 4 standard errors: false alarm 6e-5.

    Kills a noise multiplier without alpha, and a composition of m - 1 steps.
    """
    law = mask_law("bernoulli", 5, alpha=0.4)
    noise = stream(0, "test-listed", "noise").standard_normal((200_000, 5))
    terms = listed_delta(law, 0.5, 3.0, noise, direction)
    exact = fourier_delta(law, epsilon=0.5, sigma=3.0, direction=direction)
    assert abs(terms.mean() - exact) < 4 * terms.std() / math.sqrt(len(terms))
    assert terms.std() / math.sqrt(len(terms)) < 0.01 * exact


@pytest.mark.claim("sketch-beyond-subsampled")
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("m", "r"), [(5, 1), (5, 2), (6, 6)])
def test_fixed_numbers_by_listing_masks(m, r, direction):
    """The symmetric polynomial against the list of masks: 100,000 draws each, 4 standard errors."""
    law = mask_law("uniform", m, n_kept=r)
    noise = stream(1, "test-fixed", "noise").standard_normal((100_000, m))
    terms = listed_delta(law, 0.5, 4.0, noise, direction)
    noise = stream(2, "test-fixed", "noise").standard_normal((100_000, m))
    found = _excess(noise, law, 0.5, 4.0, direction)
    error = math.hypot(found.se, terms.std() / math.sqrt(len(terms)))
    assert abs(found.value - terms.mean()) < 4 * error
    assert error < 0.05 * found.value
    if r == m:
        exact = gaussian_delta(epsilon=0.5, sigma=4.0, sensitivity=math.sqrt(m))
        assert abs(found.value - exact) < 4 * found.se


@pytest.mark.claim("sketch-beyond-subsampled")
def test_fixed_numbers_need_at_least_the_plain_noise():
    """The Gaussian analogue of Lemma 16 for |h| = r: delta is never below the plain one."""
    for m, r, epsilon in ((16, 1, 0.5), (16, 4, 1.0)):
        law = mask_law("uniform", m, n_kept=r)
        sigma = gaussian_sigma(epsilon=epsilon, delta=1e-3, sensitivity=math.sqrt(m))
        for direction in ("remove", "add"):
            noise = stream(0, "test-lem16", "noise").standard_normal((100_000, m))
            found = _excess(noise, law, epsilon, sigma, direction)
            assert found.value > 1e-3 - 4 * found.se
        needed = simulated_sigma(
            law, epsilon=epsilon, delta=1e-3, n_draws=50_000, rng=stream(0, "u", "noise")
        )
        plain = gaussian_sigma(epsilon=epsilon, delta=1e-3, sensitivity=math.sqrt(m))
        ratio, error = needed.value / plain, needed.se / plain
        assert abs(ratio - {1: 1.19, 4: 1.03}[r]) < 4 * error + 0.015
        noise = stream(1, "u", "noise").standard_normal((100_000, m))
        again = _excess(noise, law, epsilon, needed.value, "remove")
        assert abs(again.value - 1e-3) < 8 * again.se


@pytest.mark.claim("sketch-beyond-subsampled")
def test_whole_records_may_need_no_noise_at_all():
    law = mask_law("data", 64, alpha=0.1)
    plain = {d: gaussian_sigma(epsilon=1.0, delta=d, sensitivity=8.0) for d in (1e-5, 0.05)}
    ratios = [fourier_sigma(law, epsilon=1.0, delta=d) / plain[d] for d in plain]
    np.testing.assert_allclose(ratios, [3.3745, 2.6978], atol=1e-4)
    assert fourier_sigma(law, epsilon=1.0, delta=0.2) == 0.0
    assert fourier_delta(law, epsilon=1.0, sigma=1e-3) <= 0.1  # present with probability alpha


@pytest.mark.claim("sketch-beyond-subsampled")
def test_ratios_of_the_table():
    """m = 64: known to four digits, the same with dp-accounting's coarser grid."""
    expected = {
        (0.1, 1e-8, 1 / 64): 1.05556,
        (1.0, 1e-8, 0.25): 1.02399,
        (1.0, 1e-5, 1 / 64): 2.12497,
    }
    for (epsilon, delta, alpha), value in expected.items():
        law = mask_law("bernoulli", 64, alpha=alpha)
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=8.0)
        ratio = fourier_sigma(law, epsilon=epsilon, delta=delta) / plain
        assert ratio == pytest.approx(value, abs=1e-4)
    one_way = fourier_sigma(
        mask_law("bernoulli", 64, alpha=1 / 64), epsilon=0.1, delta=1e-8, direction="add"
    )
    plain = gaussian_sigma(epsilon=0.1, delta=1e-8, sensitivity=8.0)
    assert one_way / plain == pytest.approx(0.95684, abs=1e-4)


@pytest.mark.claim("sketch-beyond-subsampled")
def test_an_outside_accountant_agrees():
    pytest.importorskip("dp_accounting")
    law = mask_law("bernoulli", 16, alpha=0.25)
    sigma = fourier_sigma(law, epsilon=1.0, delta=1e-6)
    assert accountant_delta(law, epsilon=1.0, sigma=sigma) == pytest.approx(1e-6, rel=0.01)
    with pytest.raises(ValueError, match="law must be 'bernoulli'"):
        accountant_delta(mask_law("data", 4, alpha=0.5), epsilon=1.0, sigma=1.0)


@pytest.mark.claim("sketch-beyond-subsampled")
def test_ratios_by_simulation():
    """Everything kept is a ratio of 1 within 4 standard errors, 30,000 draws."""
    cases = [(9, 9, 0.5), (9, 3, 0.5), (16, 1, 0.5)]
    rng = stream(0, "test-ratios", "noise")
    ratios, errors = simulated_ratios(cases, delta=1e-2, n_draws=30_000, rng=rng)
    assert abs(ratios[0] - 1) < 4 * errors[0]
    assert np.all(errors < 0.01)
    assert ratios[2] > 1.05


def test_everything_kept_is_the_plain_gaussian():
    for law in (mask_law("bernoulli", 9, alpha=1.0), mask_law("uniform", 9, n_kept=9)):
        plain = gaussian_sigma(epsilon=0.3, delta=1e-7, sensitivity=3.0)
        assert fourier_sigma(law, epsilon=0.3, delta=1e-7) == plain
        exact = gaussian_delta(epsilon=0.3, sigma=2.0, sensitivity=3.0)
        assert fourier_delta(law, epsilon=0.3, sigma=2.0) == exact
