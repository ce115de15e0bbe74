"""Noise-to-signal ratios: formulas against exact enumeration and simulation; the constants."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from dplit.papers.sketching.masks import mask_law, mask_support
from dplit.papers.sketching.noise_to_signal import noise_to_signal, without_replacement_variance
from dplit.papers.sketching.nsr_regimes import (
    contributions,
    data_sampling_ratio,
    fourier_noise_nsr,
    needed_samples,
    subsampling_curve,
)
from dplit.papers.sketching.signal_constant import mixture_constant, separated_constant
from dplit.papers.sketching.subsampled_sketch import hybrid_sum
from dplit.sketching.sensitivity import noise_variance
from dplit.streams import stream
from dplit_studies.sketching.mixture_laws import MixtureLaw, sketched_constants, typical_constant
from dplit_studies.sketching.nsr_simulation import (
    _draw_noise,
    compare_ratios,
    ratio_cases,
    ratio_features,
)


@pytest.mark.claim("sketch-lem26")
@pytest.mark.claim("sketch-eq20")
@pytest.mark.parametrize("sampling", ["poisson", "without_replacement"])
def test_exact_enumeration_of_records_and_masks(sampling):
    """n = 4 records, m = 2 features: all choices of both, reference the data, no noise."""
    phi = np.exp(2j * stream(0, "test-nsr", "data").standard_normal((4, 2)))
    masks, probabilities = mask_support(mask_law("uniform", 2, n_kept=1))
    z, rates, total = phi.mean(axis=0), {"alpha": 0.5, "beta": 0.5}, 0.0
    for taken in product((0, 1), repeat=4):
        weight = 0.5**4 if sampling == "poisson" else (sum(taken) == 2) / 6
        if not weight:
            continue
        for chosen in product(range(2), repeat=4):
            release = hybrid_sum(phi, masks[list(chosen)], taken, np.zeros(2), **rates)
            error = np.sum(np.abs(release / 4 - z) ** 2)
            total += weight * np.prod(probabilities[list(chosen)]) * error
    energy = float(np.sum(np.abs(z) ** 2))
    sizes = {"n_samples": 4, "n_components": 2, "feature_energy": 2.0, "signal_energy": energy}
    ours = noise_to_signal(
        **sizes, **rates, noise_variance=0.0, reference="data", sampling=sampling
    )
    assert ours == pytest.approx(total / energy, rel=1e-12)


@pytest.mark.claim("sketch-lem26")
def test_formulas_against_simulation():
    """21 cases, 3,000 releases each, within 4.8 standard errors: false alarm 4e-5.

    Kills a variance 2 b^2 per complex entry, and beta for beta^2.
    """
    cases = ratio_cases(8, beta=0.4)
    assert {case.law.scheme for case in cases} == {"bernoulli", "data", "uniform", "block"}
    assert {case.noise for case in cases} == {"laplace", "gaussian", "polydisc", "cube"}
    assert len({(c.law.scheme, c.reference, c.sampling) for c in cases}) == 16
    features = ratio_features(30, 8, rng=stream(0, "test-features", "data"))
    np.testing.assert_allclose(np.abs(features["waves"]), 1.0)
    sizes = {"scale": 2.0, "n_samples": 25, "n_draws": 3000}
    found = compare_ratios(features, cases, **sizes, rng=stream(0, "test-cases", "noise"))
    assert np.all(np.abs(found.simulated - found.formula) < 4.8 * found.se)
    assert np.all(found.se[:16] < 0.015 * found.formula[:16])
    energy = np.sum(np.abs(features["waves"].mean(axis=0)) ** 2)
    by_hand = (8 / (0.25 * 0.4 * energy) - 1) / 25 + 8 * 16 / (100 * energy)
    assert found.formula[0] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.claim("sketch-lem26")
@pytest.mark.parametrize(
    ("noise", "complex_valued"),
    [*product(["laplace", "gaussian"], [True, False]), ("polydisc", True), ("cube", True)],
)
def test_variance_of_every_noise(noise, complex_valued):
    """40,000 releases within 4 standard errors of the mean square: false alarm 6e-5 each."""
    rng = stream(0, f"test-noise-{noise}-{complex_valued}", "noise")
    draws = _draw_noise(noise, (40_000, 5), scale=1.7, complex_valued=complex_valued, rng=rng)
    squares = np.mean(np.abs(draws) ** 2, axis=1)
    exact = noise_variance(noise, scale=1.7, n_components=5, complex_valued=complex_valued)
    assert abs(squares.mean() - exact) < 4 * squares.std() / 200
    assert squares.std() / 200 < 0.012 * exact


@pytest.mark.claim("sketch-lem30")
@pytest.mark.parametrize("kept", [1, 3, 6, 7])
def test_variance_without_replacement_by_all_samples(kept):
    rng = stream(0, "test-lem30", "data")
    values = rng.standard_normal(7) + 1j * rng.standard_normal(7)
    means = np.array([values[list(c)].mean() for c in combinations(range(7), kept)])
    exact = np.mean(np.abs(means - values.mean()) ** 2)
    ours = without_replacement_variance(values, kept)
    assert ours == pytest.approx(exact, rel=1e-12, abs=1e-16)


@pytest.mark.claim("sketch-eq21")
@pytest.mark.claim("sketch-fig6")
def test_noise_part_is_the_calibrated_laplace_variance():
    """(21) with b from (22), by hand; and the printed (23) without its 8."""
    n, m, c0, epsilon = 1000, 40, 3.0, 0.7
    for beta in (1.0, 0.1, 0.01):
        inner = math.log(1 + (math.exp(epsilon) - 1) / beta)
        variance = 4 * (math.sqrt(2) * m / inner) ** 2
        exact = m * variance / (n * beta) ** 2 / (m / c0)
        arguments = {"epsilon": epsilon, "n_samples": n, "n_components": m, "c0": c0, "beta": beta}
        assert fourier_noise_nsr(**arguments) == pytest.approx(exact, rel=1e-12)
        printed = fourier_noise_nsr(**arguments, as_printed=True)
        assert printed == pytest.approx(exact / 8, rel=1e-12)


@pytest.mark.claim("sketch-eq24")
def test_contributions_add_up_to_lemma_26():
    setting = {"epsilon": 0.3, "n_samples": 5000, "n_components": 64, "c0": 4.0}
    parts = contributions(**setting, alpha=0.25)
    whole = noise_to_signal(
        n_samples=5000,
        n_components=64,
        feature_energy=64.0,
        signal_energy=16.0,
        noise_variance=4 * (math.sqrt(2) * 64 / 0.3) ** 2,
        alpha=0.25,
    )
    assert sum(parts) == pytest.approx(whole, rel=1e-12)
    assert parts.data == pytest.approx(3 / 5000)
    assert parts.masks == pytest.approx(4 / 5000 * 3)


@pytest.mark.claim("sketch-eq24")
def test_needed_samples_bring_each_part_to_the_threshold():
    setting = {"epsilon": 0.3, "n_components": 64, "c0": 4.0, "alpha": 1 / 64}
    needed = needed_samples(nsr_max=0.02, **setting)
    for position, count in enumerate(needed):
        parts = contributions(n_samples=count, **setting)
        assert parts[position] == pytest.approx(0.02, rel=1e-12)


@pytest.mark.claim("sketch-wor-claim")
def test_sampling_terms_without_replacement():
    """The ratio of Lemma 26 at equal work, without noise."""
    n, m = 10_000, 50
    for c0 in (1.5, 2.0, 5.0, 10.0):
        common = {"n_samples": n, "n_components": m, "feature_energy": m, "signal_energy": m / c0}
        common |= {"noise_variance": 0, "reference": "data", "sampling": "without_replacement"}
        ratio = noise_to_signal(**common, beta=0.1) / noise_to_signal(**common, alpha=0.1)
        assert data_sampling_ratio(n_samples=n, c0=c0) == pytest.approx(ratio, rel=1e-9)


@pytest.mark.claim("sketch-fig7")
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_curves_of_figure_7(epsilon):
    """They meet where nothing is sampled, and features cost less; values at epsilon 1."""
    sizes = {"n_samples": 10_000, "n_components": 1000, "c0": 5.0}
    features, records = (
        subsampling_curve([1, 0.1, 0.01, 1e-3], sampled=sampled, epsilon=epsilon, **sizes)
        for sampled in ("features", "data")
    )
    assert features[0] == pytest.approx(records[0], rel=1e-12)
    assert (features[1:] < records[1:]).all()
    assert (np.diff(features) > 0).all()
    if epsilon == 1.0:
        np.testing.assert_allclose(features, [0.4004, 0.4049, 0.4499, 0.8999], atol=5e-5)
        np.testing.assert_allclose(records, [0.4004, 4.76, 150.7, 7208], rtol=1e-3)


@pytest.mark.claim("sketch-C0")
def test_constant_of_a_mixture_against_a_simulation():
    """300,000 frequencies within 4 standard errors: false alarm 6e-5. Kills tau^2 for 2 tau^2."""
    rng = stream(0, "test-c0", "public")
    centers, weights = 3 * rng.standard_normal((3, 2)), np.array([0.5, 0.3, 0.2])
    spread, rate = 0.4, 0.8
    omega = rate * rng.standard_normal((300_000, 2))
    wave = np.exp(1j * omega @ centers.T) @ weights
    energy = np.abs(wave) ** 2 * np.exp(-(spread**2) * np.sum(omega**2, axis=1))
    exact = mixture_constant(centers, cluster_std=spread, frequency_std=rate, weights=weights)
    assert abs(energy.mean() - 1 / exact) < 4 * energy.std() / math.sqrt(300_000)


@pytest.mark.claim("sketch-C0")
def test_separated_clusters_are_the_extreme_case():
    for k, d in ((1, 3), (5, 2), (50, 10)):
        far = 1e4 * np.arange(k)[:, None] * np.ones(d)
        largest = separated_constant(k, d, cluster_std=0.7, frequency_std=0.3)
        assert mixture_constant(far, cluster_std=0.7, frequency_std=0.3) == pytest.approx(largest)
        near = stream(0, "test-near", "data").standard_normal((k, d))
        found = mixture_constant(near, cluster_std=0.7, frequency_std=0.3)
        assert 1 <= found <= largest * (1 + 1e-12)


@pytest.mark.claim("sketch-C0")
def test_typical_constant_against_random_mixtures():
    """Sketches of 400 random mixtures within 4 standard errors: false alarm 6e-5."""
    law = MixtureLaw(4, 8, separation=1.5, frequency_variance=1 / 8)
    found = sketched_constants(law, n_components=200, n_draws=400, seed=0, name="test-typical")
    assert abs(found.mean - 1 / typical_constant(law)) < 4 * found.se
    assert found.se < 0.02 * found.mean
    one = MixtureLaw(1, 3, separation=1.0, frequency_variance=0.5)
    assert typical_constant(one) == pytest.approx(2.0**1.5)
