"""The privacy-utility frontier against explicit ridge fits; its noise against its closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dplit.baselines import noisy_gradient_descent, sufficient_statistics
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.random_features.data import _Prepared, _split
from dplit.random_features.experiments.frontier import _smooth_data, frontier, noise_variance
from dplit.random_features.sensitivity import record_sensitivity
from dplit.streams import stream

SMALL: dict[str, Any] = {"n_records": 30, "n_components": 40, "few_components": 6, "gamma": 0.3}
ALPHAS = (2.0, 50.0)


def r2(y: np.ndarray, prediction: np.ndarray) -> float:
    return float(1 - np.mean((y - prediction) ** 2) / np.var(y))


def swap_bound(alpha: float, b: float, m: int) -> float:
    """The per-record bound, whose own tests are those of the ridge module."""
    return record_sensitivity(alpha=alpha, label_bound=b, n_records=m, neighboring="replace_one")


@pytest.mark.claim("dprf-beyond-frontier")
@pytest.mark.parametrize("real", [False, True])
def test_frontier_equals_explicit_ridge_fits(real: bool) -> None:
    """Every number rebuilt with coefficients, noise vectors and the baselines from the streams."""
    rng = np.random.default_rng(0)
    data = _Prepared(rng.random((45, 2)), rng.random(45), ("a", "b")) if real else None
    result = frontier(data, seed=7, epsilon=2.0, alphas=ALPHAS, n_repeats=2, **SMALL)
    b = 0.5 if real else 1.0
    name = "dprf-beyond-frontier-data" if real else "dprf-beyond-frontier"
    for t in range(2):
        draw, public = stream(7, name, "data", t), stream(7, name, "public", t)
        noise = stream(7, name, "noise", t)
        if data is None:
            X, y = _smooth_data(60, rng=draw)
            train, test = np.arange(30), np.arange(30, 60)
        else:
            X, y = data.X, data.y - 0.5
            train, test = _split(15, groups=np.zeros(45), rng=draw)
        omegas = [random_frequencies(2, k, gamma=0.3, rng=public) for k in (20, 3)]
        F, T = (cos_sin_features(X[i], omegas[0]) for i in (train, test))
        few, few_test = (cos_sin_features(X[i], omegas[1]) for i in (train, test))
        z = noise.standard_normal((40, 2))
        for k, alpha in enumerate(ALPHAS):
            c = np.linalg.solve(F.T @ F + alpha * np.eye(40), F.T @ y[train])
            sigma = gaussian_sigma(epsilon=2.0, delta=1e-5, sensitivity=swap_bound(alpha, b, 30))
            crude = gaussian_sigma(
                epsilon=2.0, delta=1e-5, sensitivity=b * math.sqrt(30) / math.sqrt(alpha)
            )
            plain = r2(y[test], T @ c)
            assert result.values["nonprivate"][t, k] == pytest.approx(plain, rel=1e-9)
            assert result.values["simulated"][t, k] == pytest.approx(
                r2(y[test], T @ (c + sigma * z[:, k])), rel=1e-8
            )
            spread = np.var(y[test])
            assert result.values["record"][t, k] == pytest.approx(
                plain - sigma**2 / spread, rel=1e-8
            )
            assert result.values["crude"][t, k] == pytest.approx(
                plain - crude**2 / spread, rel=1e-8
            )
        statistics = sufficient_statistics(
            few, y[train], epsilon=2.0, delta=1e-5, data_norm=1.0, label_bound=b,
            neighboring="replace_one", rng=noise,
        )  # fmt: skip
        descent = noisy_gradient_descent(
            F, y[train], epsilon=2.0, delta=1e-5, clip=b, steps=50, learning_rate=1.0,
            neighboring="replace_one", rng=noise,
        )  # fmt: skip
        found = {key: values[t] for key, values in result.values.items()}
        assert found["sufficient statistics"] == pytest.approx(
            r2(y[test], few_test @ statistics.coef)
        )
        assert found["noisy gradient descent"] == pytest.approx(r2(y[test], T @ descent.coef))
        assert found["constant"] == pytest.approx(1 - np.mean(y[test] ** 2) / np.var(y[test]))
    np.testing.assert_array_equal(result.alphas, ALPHAS)
    means = result.mean("record")
    assert result.best == (ALPHAS[int(np.argmax(means))], means.max())


@pytest.mark.claim("dprf-beyond-frontier")
def test_noise_variance_gives_the_stated_budget() -> None:
    """The released coefficients are (epsilon, delta)-private for the swap bound, exactly."""
    options: dict[str, Any] = {"n_records": 1000, "label_bound": 1.0, "epsilon": 1.0, "delta": 1e-5}
    for alpha in (50.0, 100.0, 200.0):
        sigma = math.sqrt(noise_variance(alpha, **options))
        delta = gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=swap_bound(alpha, 1.0, 1000))
        assert delta == pytest.approx(1e-5, rel=1e-6)
    # below 2 b/(1 + alpha) (1 + sqrt(m - 1)/(2 sqrt(alpha))), the simpler per-record bound
    ratio = (math.sqrt(2 * math.log(1.25e5)) / gaussian_sigma(epsilon=1.0, delta=1e-5)) ** 2
    classical = np.array([ratio * noise_variance(a, **options) for a in (50.0, 100.0, 200.0)])
    assert np.all(classical < [0.378, 0.0613, 0.0104])
    crude = [ratio * noise_variance(a, bound="crude", **options) for a in (50.0, 100.0, 200.0)]
    np.testing.assert_allclose(crude, [469.4, 234.7, 117.4], rtol=1e-3)


@pytest.mark.claim("dprf-beyond-frontier")
def test_record_bound_covers_swaps_in_the_experiment() -> None:
    """200 swaps of the records of one fit: never above the bound that calibrates the noise."""
    rng = np.random.default_rng(1)
    X, y = _smooth_data(60, rng=rng)
    F = cos_sin_features(X, random_frequencies(2, 30, gamma=0.3, rng=rng))
    for alpha in (1.0, 10.0):
        sensitivity = math.sqrt(
            noise_variance(alpha, n_records=40, label_bound=1.0, epsilon=1.0, delta=1e-5)
        ) / gaussian_sigma(epsilon=1.0, delta=1e-5)

        def fit(rows: np.ndarray, labels: np.ndarray, a: float = alpha) -> np.ndarray:
            return np.linalg.solve(F[rows].T @ F[rows] + a * np.eye(60), F[rows].T @ labels)

        for _ in range(100):
            rows, labels = np.arange(40), np.where(rng.random() < 0.5, y[:40], np.sign(y[:40]))
            j = rng.integers(40)
            base = fit(rows, labels)
            rows = rows.copy()
            labels = labels.copy()
            rows[j], labels[j] = rng.integers(40, 60), rng.choice([-1.0, 1.0])
            assert np.linalg.norm(fit(rows, labels) - base) <= sensitivity


@pytest.mark.claim("dprf-beyond-frontier")
def test_private_models_beat_the_crude_bound_and_learn() -> None:
    """At m = 1000: the record bound learns (R^2 above .5) where the crude bound is below -100, and
    noisy gradient descent is better still. Expected values, no noise in the first two."""
    result = frontier(seed=0, n_repeats=2, alphas=(100.0,), n_components=300)
    assert result.values["record"].mean() > 0.5
    assert result.values["crude"].mean() < -100
    assert result.values["noisy gradient descent"].mean() > result.values["record"].mean() + 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frontier(seed=0, n_components=41), "must be even"),
        (lambda: frontier(seed=0, alphas=(0.0,)), "alphas must be positive"),
        (lambda: frontier(seed=0, epsilon=0.0, n_repeats=2), "epsilon must be positive"),
        (lambda: frontier(seed=0, delta=1.5, n_repeats=2), "delta must be"),
        (lambda: frontier(seed=0, n_repeats=1), "n_repeats must be"),
        (lambda: frontier(seed=0, gamma=-1.0, n_repeats=2), "gamma must be"),
        (
            lambda: frontier(_Prepared(np.ones((3, 1)), np.ones(3), ("a",)), seed=0, n_records=3),
            "n_records must be below 3",
        ),
        (
            lambda: noise_variance(
                1.0, n_records=5, label_bound=1.0, epsilon=1.0, delta=1e-5, bound="z"
            ),
            "bound must be one of",
        ),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
