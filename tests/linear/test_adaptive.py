"""AdaSSP: the contract, the law of its three releases, its penalty, the noise as printed.

Every seed is fixed; a fresh seed would raise a false alarm with the probability each test states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dplit import AdaSSPRegressor, audit
from dplit._numerics.exact import gram_rounding
from dplit.linear import _moments as linear
from dplit.linear import adaptive
from dplit.linear._adaptive import budget_of
from dplit.linear._moments import moment_sensitivity
from dplit.mechanisms import gaussian_delta, gaussian_epsilon, gaussian_sigma
from dplit.streams import stream

_GIVEN: dict[str, Any] = {"data_norm": 1.0, "bounds": (-1.0, 1.0), "random_state": 0}


def _data(n: int = 4000, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X = stream(0, "adassp", "data").uniform(-1.0, 1.0, (n, d)) / math.sqrt(d)
    return X, np.clip(X @ np.linspace(1.0, -1.0, d) + 0.2, -1.0, 1.0)


def _eigenvalue(X: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(X.T @ X)[0])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_three_releases_spend_the_budget_together(relation: Any) -> None:
    """Exact composition of Gaussians; kills noise of thirds, one release forgotten, and the
    sensitivity of a removed record where one is replaced."""
    X, y = _data()
    model = AdaSSPRegressor(neighboring=relation, fit_intercept=False, **_GIVEN).fit(X, y)
    moments = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=relation)
    together = math.hypot(1.0, moments)
    spent = gaussian_epsilon(delta=1e-5, sigma=model.sigma_, sensitivity=together)
    assert 0.999 < spent < 1.0
    rounding = math.hypot(1.0 + 3 * 2.0**-19, moments + gram_rounding(12))
    exact = gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=rounding)
    assert model.sigma_ == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_least_eigenvalue_moves_by_at_most_what_calibrates_its_noise(relation: Any) -> None:
    """Equal seeds cancel the noise; attained. Kills half of the sensitivity, and eigenvalues of
    records off the grid."""

    def release(X: Any) -> np.ndarray:
        model = AdaSSPRegressor(
            epsilon=1e9,
            delta=0.5,
            data_norm=1.0,
            bounds=(-1.0, 1.0),
            neighboring=relation,
            fit_intercept=False,
            random_state=0,
        )
        return np.array([model.fit(X, np.zeros(len(X))).least_eigenvalue_])

    pairs = audit.nasty_pairs(2, relation=relation, labels=1.0, sizes=(129, 4097))
    moved = audit.float_sensitivity(lambda X, _: release(X), pairs)
    assert moved <= 1.0 + 2.0**-18
    base = np.eye(2).repeat([1000, 1], 0)
    gone = base[:-1] if relation == "add_remove" else base[np.r_[:1000, 0]]
    assert abs(release(base) - release(gone))[0] > 0.999


def test_noise_of_the_least_eigenvalue_has_the_stated_deviation() -> None:
    """4,000 releases in unit bounds, level 1e-5, against a route of its own for the eigenvalue;
    kills noise of a third and bounds that do not scale it."""
    X = _data(3000)[0]
    true = _eigenvalue(X)
    noise = []
    for seed in range(4000):
        noisy = adaptive._noisy_least_eigenvalue(
            X, sensitivity=1.0, sigma=7.0, rng=stream(seed, "adassp", "noise")
        )
        noise.append(noisy - true)
    found = audit.chi_square_noise_test(np.array(noise), sigma=7.0)
    assert not found.violated(level=1e-5)
    assert found.excess_p_value > 1e-5
    assert audit.chi_square_noise_test(np.array(noise), sigma=8.0).violated()
    assert abs(np.mean(noise)) < 4.5 * 7.0 / math.sqrt(4000) + 0.1


def test_noise_of_the_moments_has_the_stated_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    """6,000 numbers of 300 fits, level 1e-5; kills a budget of the moments alone, which would
    spend more than all (the noise would be 0.82 of what is stated), and equal streams."""
    X, y = np.zeros((50, 4)), np.zeros(50)
    kept: list[Any] = []

    def spied(*args: Any, **options: Any) -> Any:
        kept.append(linear.sufficient_statistics(*args, **options))
        return kept[-1]

    monkeypatch.setattr(adaptive, "sufficient_statistics", spied)
    first = []
    for seed in range(300):
        model = AdaSSPRegressor(
            data_norm=1.0, bounds=(-1.0, 1.0), fit_intercept=False, random_state=seed
        ).fit(X, y)
        first.append(model.alpha_)
    upper = np.triu_indices(4, 1)
    numbers = np.concatenate(
        [np.r_[np.diag(m.gram), m.gram[upper] * math.sqrt(2.0), m.moment] for m in kept]
    )
    test = audit.chi_square_noise_test(numbers, sigma=model.sigma_)
    assert not test.violated(level=1e-5)
    assert test.excess_p_value > 1e-5
    assert audit.chi_square_noise_test(numbers, sigma=model.sigma_ / 0.82).violated()
    assert len({m.moment[0] for m in kept}) == 300


def test_the_penalty_follows_the_released_eigenvalue_as_the_paper_says() -> None:
    """Both by hand, from the released attributes; kills another tail, rho or dimension."""
    X, y = _data()
    for intercept, rho in ((False, 0.05), (True, 0.5)):
        model = AdaSSPRegressor(fit_intercept=intercept, rho=rho, epsilon=0.05, **_GIVEN)
        model.fit(X, y)
        d = 3 + intercept
        reach = model.sigma_ * math.sqrt(d * math.log(2.0 * d**2 / rho))
        assert model.least_eigenvalue_ < reach
        assert model.alpha_ == pytest.approx(reach - model.least_eigenvalue_)
    many = AdaSSPRegressor(**_GIVEN).fit(np.tile(X, (20, 1)), np.tile(y, 20))
    assert many.least_eigenvalue_ > many.sigma_ * math.sqrt(4 * math.log(2.0 * 16 / 0.05))
    assert many.alpha_ == many.sigma_ * 2.0**-20


def test_the_released_eigenvalue_is_below_the_true_one() -> None:
    """Of 300 releases: a margin of 3.6 deviations fails 300 times with probability 5e-5, a mean off
    by 4.5 standard errors has 7e-6; kills the other sign of the margin."""
    X, y = _data(2000)
    unit = np.hstack([X, np.ones((len(X), 1))]) / math.sqrt(2.0)
    true = _eigenvalue(unit)
    told = [
        AdaSSPRegressor(data_norm=1.0, bounds=(-1.0, 1.0), random_state=seed).fit(X, y)
        for seed in range(300)
    ]
    least = np.array([m.least_eigenvalue_ for m in told])
    assert (least <= true).all()
    margin = told[0].sigma_ * math.sqrt(math.log(6.0 / 1e-5))
    assert abs(least.mean() - (true - margin)) < 4.5 * told[0].sigma_ / math.sqrt(300)


def test_with_a_huge_budget_it_is_least_squares() -> None:
    X, y = _data()
    model = AdaSSPRegressor(**{**_GIVEN, "epsilon": 1e8}).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linspace(1.0, -1.0, 3), atol=0.05)
    assert model.intercept_ == pytest.approx(0.2, abs=0.01)
    assert model.score(X, y) > 0.999


def test_one_budget_of_the_moments_means_their_noise() -> None:
    """Two inverse functions of another room; kills a budget that is short by a part in 1e8."""
    for sigma in (1e-3, 0.4, 3.0, 1e5):
        for sensitivity in (math.sqrt(2.0), 2.2):
            epsilon, delta = budget_of(sigma, sensitivity)
            again = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
            assert sigma <= again <= sigma * (1.0 + 1e-8)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_printed_noise_holds_at_small_budgets_and_not_at_large_ones(delta: float) -> None:
    """``3 sqrt(log(6 / delta)) / epsilon`` for each of three: what the docstring says of it."""

    def spent(epsilon: float) -> float:
        sigma = 3.0 * math.sqrt(math.log(6.0 / delta)) / epsilon
        return float(gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=math.sqrt(3.0)))

    assert all(spent(epsilon) <= delta for epsilon in (0.1, 1.0, 10.0))
    assert spent(100.0) > delta
