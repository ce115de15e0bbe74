"""The privacy-utility frontier against explicit ridge fits; its noise against its closed form."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._certified_ridge import balanced_penalty
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.linear import _descent as descent
from dplit.linear import _moments as moments
from dplit.linear import regressors
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.streams import stream
from dplit_studies.random_features.frontier import _STEPS, _WIDTHS, frontier, prediction_noise
from dplit_studies.random_features.preparation import _Prepared, _split

pytestmark = pytest.mark.claim("dprf-beyond-frontier")

ALPHAS = (2.0, 50.0)
SETTINGS = ((30, 2.0), (20, 4.0))


def r2(y: np.ndarray, prediction: np.ndarray) -> float:
    return float(1 - np.mean((y - prediction) ** 2) / np.var(y))


def swap_bound(alpha: float, b: float, m: int) -> float:
    """The per-record bound, whose own tests are those of the ridge module."""
    return record_sensitivity(alpha=alpha, label_bound=b, n_records=m, neighboring="replace_one")


def redrawn(data: _Prepared | None, t: int) -> tuple[Any, ...]:
    """Training and test features by width, labels and the noise stream, from the streams alone."""
    name = f"dprf-beyond-frontier-{'tanh' if data is None else 'data'}"
    draw, public, noise = (stream(7, name, role, t) for role in ("data", "public", "noise"))
    if data is None:
        X = draw.standard_normal((1030, 2))
        y = np.tanh(X[:, 0] + 0.5 * X[:, 1])
        train, test = np.arange(30), np.arange(30, 1030)
    else:
        X, y = data.X, 2 * data.y - 1
        train, test = _split(15, groups=np.zeros(45), rng=draw)
    omega = random_frequencies(2, 50, gamma=0.3, rng=public)
    maps = {
        w: [cos_sin_features(X[i], omega[:, : w // 2]) for i in (train, test)]
        for w in (100, *_WIDTHS)
    }
    return maps, y[train], y[test], noise


@pytest.mark.parametrize("real", [False, True])
def test_frontier_equals_explicit_fits(real: bool) -> None:
    """Every number rebuilt with coefficients, noise vectors and the baselines from the streams."""
    rng = np.random.default_rng(0)
    data = _Prepared(rng.random((45, 2)), rng.random(45), ("a", "b")) if real else None
    options: dict[str, Any] = {"alphas": ALPHAS, "n_repeats": 2, "n_components": 100, "gamma": 0.3}
    result = frontier(data or "tanh", settings=SETTINGS, seed=7, **options)
    for t in range(2):
        maps, y, y_test, noise = redrawn(data, t)
        F, T = maps[100]
        for k, (m, epsilon) in enumerate(SETTINGS):
            found = {key: values[t, k] for key, values in result.values.items()}
            z = noise.standard_normal((100, 3))
            spread, unit = np.var(y_test), gaussian_sigma(epsilon=epsilon, delta=1e-5)
            own = balanced_penalty(m, 100, float(unit), "record")
            for j, alpha in enumerate((*ALPHAS, own)):
                c = np.linalg.solve(F[:m].T @ F[:m] + alpha * np.eye(100), F[:m].T @ y[:m])
                sigma, plain = unit * swap_bound(alpha, 1.0, m), r2(y_test, T @ c)
                crude = unit * math.sqrt(m / alpha)
                if j == 2:
                    assert found["default"] == pytest.approx(plain - sigma**2 / spread, rel=1e-8)
                    continue
                assert found["nonprivate"][j] == pytest.approx(plain, rel=1e-8)
                drawn = r2(y_test, T @ (c + sigma * z[:, j]))
                assert found["simulated"][j] == pytest.approx(drawn, rel=1e-8)
                assert found["record"][j] == pytest.approx(plain - sigma**2 / spread, rel=1e-8)
                assert found["crude"][j] == pytest.approx(plain - crude**2 / spread, rel=1e-8)
            budget: dict[str, Any] = {
                "epsilon": epsilon,
                "delta": 1e-5,
                "neighboring": "replace_one",
                "rng": noise,
            }
            for j, width in enumerate(_WIDTHS):
                S, P = maps[width]
                bounds = {"data_norm": 1.0, "label_bound": 1.0}
                fit = moments.sufficient_statistics(S[:m], y[:m], **bounds, **budget)
                assert found["sufficient statistics"][j] == pytest.approx(r2(y_test, P @ fit.coef))
            for j, steps in enumerate(_STEPS):
                walk = descent.noisy_gradient_descent(
                    F[:m], y[:m], clip=1.0, steps=steps, learning_rate=1.0, **budget
                )
                reached = r2(y_test, T @ walk.coef)
                assert found["noisy gradient descent"][j] == pytest.approx(reached)
            given: dict[str, Any] = {"epsilon": epsilon, "data_norm": 1.0, "bounds": (-1.0, 1.0)}
            given |= {"neighboring": "replace_one", "random_state": noise}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of the noise at small budgets
                fits = {
                    "sufficient statistics": regressors.SufficientStatisticsRegressor(**given),
                    "noisy gradient descent": regressors.NoisyGradientRegressor(**given),
                }
                for name, model in fits.items():
                    S, P = maps[_WIDTHS[0]] if name == "sufficient statistics" else maps[100]
                    own = r2(y_test, model.fit(S[:m], y[:m]).predict(P))
                    assert found[f"{name}, default"] == pytest.approx(own)
            assert found["constant"] == pytest.approx(1 - np.mean(y_test**2) / np.var(y_test))
    assert result.settings == SETTINGS
    np.testing.assert_array_equal(result.alphas, ALPHAS)
    np.testing.assert_array_equal(result.best("record"), result.mean("record").max(axis=1))


def test_noise_variance_gives_the_stated_budget() -> None:
    """The released coefficients are (epsilon, delta)-private for the swap bound, exactly."""
    options: dict[str, Any] = {"n_records": 1000, "label_bound": 1.0, "epsilon": 1.0, "delta": 1e-5}
    for alpha in (50.0, 100.0, 200.0):
        sigma = math.sqrt(prediction_noise(alpha, **options))
        delta = gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=swap_bound(alpha, 1.0, 1000))
        assert delta == pytest.approx(1e-5, rel=1e-6)
    # below 2 b/(1 + alpha) (1 + sqrt(m - 1)/(2 sqrt(alpha))), the simpler per-record bound
    ratio = (math.sqrt(2 * math.log(1.25e5)) / gaussian_sigma(epsilon=1.0, delta=1e-5)) ** 2
    classical = np.array([ratio * prediction_noise(a, **options) for a in (50.0, 100.0, 200.0)])
    assert np.all(classical < [0.378, 0.0613, 0.0104])
    crude = [ratio * prediction_noise(a, bound="crude", **options) for a in (50.0, 100.0, 200.0)]
    np.testing.assert_allclose(crude, [469.4, 234.7, 117.4], rtol=1e-3)


def test_order_of_the_methods_at_a_thousand_records() -> None:
    """tanh, m = 1000, epsilon 1: ridge learns, the crude bound does not, both rivals learn more.

    The kernel's parameter is one over the number of columns (kills: any other default).
    """
    result = frontier(settings=[(1000, 1.0)], seed=0, n_repeats=2, alphas=(100.0,))
    half = frontier(settings=[(1000, 1.0)], seed=0, n_repeats=2, alphas=(100.0,), gamma=0.5)
    np.testing.assert_array_equal(result.of("nonprivate"), half.of("nonprivate"))
    ridge = result.mean("default").item()
    assert ridge > 0.5 > -50 > result.mean("crude").item()
    assert result.mean("sufficient statistics")[0, 0] > ridge + 0.1
    assert result.mean("noisy gradient descent")[0, 0] > ridge + 0.2
