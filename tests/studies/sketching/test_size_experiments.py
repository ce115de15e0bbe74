"""Figure 8: noise scales, private means, and the curves against trials done by hand."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from dplit.mechanisms import gaussian_delta
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.streams import stream
from dplit_studies.sketching import size_experiments
from dplit_studies.sketching.clompr_reference import lloyd_reference
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.sketching.size_experiments import (
    _SizeCurves,
    private_means,
    size_curves,
    sum_noise_scale,
)

pytestmark = pytest.mark.claim("sketch-fig8")

EASY = MixtureLaw(2, 2, separation=20.0, frequency_variance=0.2)
BUDGETS = {"epsilons": [0.05, np.inf], "deltas": [0.0, 1e-8], "sizes": [8, 40]}


def test_scales_are_those_of_the_sensitivities():
    """Laplace: the largest l1 norm over epsilon. Gaussian: the exact profile spends delta.

    Kills a factor 1.05 or 0.5 of either scale, and sqrt(m) for m.
    """
    phases = np.full(50, np.pi / 4)
    norm = np.abs(np.cos(phases)).sum() + np.abs(np.sin(phases)).sum()
    assert sum_noise_scale(50, epsilon=0.3, delta=0.0) == pytest.approx(norm / 0.3, rel=1e-12)
    sigma = sum_noise_scale(50, epsilon=0.3, delta=1e-8)
    spent = gaussian_delta(epsilon=0.3, sigma=sigma, sensitivity=np.sqrt(50))
    assert spent == pytest.approx(1e-8, rel=1e-6)
    assert sum_noise_scale(50, epsilon=np.inf, delta=0.0) == 0.0
    assert sum_noise_scale(50, epsilon=np.inf, delta=1e-8) == 0.0


def test_means_carry_the_noise_of_one_release():
    """Second moments of 10,000 and 20,000 entries within 5 standard errors (false alarm < 1e-5).

    The relative variance of |z|^2 is 2.5 for Laplace and 1 for Gaussian noise, hence 8 %. Kills
    half the noise, sigma per complex coordinate, the scale of the largest size for all, and
    noise on the mean that is not divided by n.
    """
    m, n = 20_000, 1000
    budgets = {"epsilons": [0.5, 2.0, np.inf], "deltas": [0.0, 1e-6], "sizes": [m // 2, m]}
    means = private_means(np.ones(m), n, **budgets, rng=np.random.default_rng(0))
    for column, size in enumerate((m // 2, m)):
        energy = np.mean(np.abs(means[column] - 1) ** 2, axis=-1)
        for e, epsilon in enumerate((0.5, 2.0)):
            laplace = sum_noise_scale(size, epsilon=epsilon, delta=0.0) / n
            gauss = sum_noise_scale(size, epsilon=epsilon, delta=1e-6) / n
            slack = 5 * np.sqrt(2.5 / size)
            assert energy[0, e] == pytest.approx(4 * laplace**2, rel=slack)
            assert energy[1, e] == pytest.approx(2 * gauss**2, rel=slack)
        assert np.all(energy[:, 2] == 0)


def test_curves_hold_the_risks_of_their_trials(watched):
    """Trial 5 at the second number of records is done again by hand.

    Kills swapped axes, a wrong reference, and frequencies that are not nested.
    """
    calls = watched(size_experiments, "decode_kmeans")
    curves = size_curves(EASY, n_samples=[300, 700], **BUDGETS, n_trials=6, seed=3, name="c")
    assert curves.few.shape == curves.many.shape == (6, 2, 2, 2, 2)
    assert curves.n_samples.tolist() == [300, 700]
    assert curves.deltas.tolist() == [0.0, 1e-8]
    assert curves.epsilons.tolist() == [0.05, np.inf]
    assert curves.sizes.tolist() == [8, 40]
    data = stream(3, "c 700", "data", 5)
    X, centers = EASY.draw(700, rng=data)
    reference = lloyd_reference(X, 2, rng=data, centers=centers)
    omega = EASY.frequencies(40, rng=stream(3, "c 700", "public", 5))
    z = np.exp(1j * X.astype(float) @ omega).mean(axis=0)
    noisy = private_means(z, 700, **BUDGETS, rng=stream(3, "c 700", "noise", 5))
    for column, m in enumerate((8, 40)):
        (sketches, frequencies, *_), _, found = calls[2 + column]
        np.testing.assert_array_equal(frequencies[1], omega[:, :m])
        np.testing.assert_allclose(sketches[1], noisy[column], atol=1e-6)
        cost = sse(X, found.centroids[1])
        np.testing.assert_allclose(curves.few[5, 1, ..., column], cost / reference.few, rtol=1e-12)
        many = curves.many[5, 1, ..., column]
        np.testing.assert_allclose(many, cost / reference.many, rtol=1e-12)
    assert curves.signal[5, 1] == pytest.approx(40 / np.sum(np.abs(z) ** 2), rel=1e-5)


def test_summaries_and_workers():
    """Kills quantiles over the wrong axis and a count of the wrong sizes."""
    arguments = {"n_samples": [500], **BUDGETS, "n_trials": 3, "seed": 0, "name": "s"}
    curves = size_curves(EASY, **arguments)
    np.testing.assert_array_equal(curves.median, np.median(curves.few, axis=0))
    np.testing.assert_array_equal(curves.failed, np.mean(curves.many > 1.05, axis=0))
    assert np.all(np.abs(curves.median[0, :, 1, 1] - 1) < 0.02)
    assert curves.median[0, 0, 0, 1] > 1.02
    counts = curves.within(1.02)
    assert counts.shape == (1, 2, 2)
    assert counts[0, 0, 1] >= 1
    with joblib.parallel_config("threading"):
        again = size_curves(EASY, **arguments, n_jobs=2)
    assert isinstance(again, _SizeCurves)
    np.testing.assert_array_equal(again.few, curves.few)
