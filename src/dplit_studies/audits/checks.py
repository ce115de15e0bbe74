"""Noise laws, side channels and distances of every case; one release guessed entry by entry."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dplit._checks import Array, check_choice
from dplit.audit import (
    Controls,
    NoiseTest,
    chi_square_noise_test,
    gamma_noise_test,
    ledger,
    one_run_audit,
    run_controls,
)
from dplit.components import PrivatePCA
from dplit.entries.privacy import additive_sigma
from dplit.kernels._certified_ridge import mean_share
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear._moments import sufficient_statistics
from dplit.mechanisms import gaussian_sigma
from dplit.papers.projection.additive_noise import release_additive
from dplit.papers.projection.information import entry_dp_epsilon
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS, RELEASES
from dplit_studies.audits.events import DELTA, Line, after_mean, budget_at

_BOX = (-1.0, 1.0)

#: A budget at which there is no noise to speak of.
_NO_NOISE = 1e9


class Heard(NamedTuple):
    """What the tool for side channels says: pairs, alarm, largest distance (NaN: none is known)."""

    pairs: int
    violated: bool
    moved: float


def look_beside(name: str, *, every: int, confidence: float, seed: int) -> Heard:
    """Run one case of :mod:`dplit_studies.audits.cases` on one in ``every`` of its pairs.

    ``moved`` is the largest distance under equal noise, over the sensitivity that is stated.
    """
    check_choice("name", name, (*ESTIMATORS, *RELEASES))
    case = ESTIMATORS[name] if name in ESTIMATORS else RELEASES[name]
    found: list[float] = []
    known = case.distance
    if known is not None:

        def distance(one: Any, other: Any) -> float:
            found.append(known(one, other))
            return found[-1]

        case = replace(case, distance=distance)
    report = case.report(seed, every=every, confidence=confidence)
    return Heard(report.n_pairs, report.violated, max(found, default=float("nan")))


class Spent(NamedTuple):
    """Number of draws that a fit made, and the epsilon that they come to together."""

    draws: int
    epsilon: float


def _small_fit(name: str, seed: int) -> Any:
    """Fit one of the estimators to 41 records."""
    case, rng = ESTIMATORS[name], stream(seed, "audits-ledger", "data")
    X = rng.uniform(-0.5, 0.25, (41, 2))
    if isinstance(case.labels, tuple):
        y: Any = np.where(np.arange(41) % 3 == 0, *case.labels)
    else:
        y = None if case.labels is None else rng.uniform(-0.5, 0.25, 41)
    with warnings.catch_warnings():  # so few records drown in the noise
        warnings.simplefilter("ignore", UserWarning)
        return clone(case.release).set_params(random_state=seed).fit(X, y)


def promised(name: str, *, seed: int = 0) -> tuple[float, float]:
    """(epsilon, delta) that an estimator of :mod:`dplit_studies.audits.cases` states; of one entry
    where
    it protects entries.
    """
    model = _small_fit(name, seed)
    return float(getattr(model, "entry_epsilon_", model.epsilon_)), float(model.delta_)


def spent(name: str, *, delta: float, seed: int = 0) -> Spent:
    """What the ledger heard of a fit, composed by dp-accounting at ``delta``.

    >>> draws, epsilon = spent("PrivateKernelMachine gamma", delta=0.0)
    >>> draws, round(epsilon, 12), epsilon <= 1.0
    (1, 1.0, True)
    """
    with ledger() as book:
        _small_fit(name, seed)
    return Spent(len(book), book.epsilon(delta=delta))


def _symmetric(residuals: Array) -> Array:
    """Return a symmetric matrix of residuals as independent numbers of one law."""
    rows, columns = np.triu_indices(len(residuals), 1)
    return np.concatenate([np.diag(residuals), np.sqrt(2.0) * residuals[rows, columns]])


def _moments(factor: float, rng: np.random.Generator) -> NoiseTest:
    X, y = np.zeros((3, 150)), np.zeros(3)
    budget = budget_at("gaussian", 1.0, factor=factor)
    found = sufficient_statistics(
        X, y, epsilon=budget, delta=DELTA, data_norm=1.0, label_bound=1.0, rng=rng
    )
    sigma = gaussian_sigma(epsilon=1.0, delta=DELTA, sensitivity=np.sqrt(2.0))
    return chi_square_noise_test(np.append(_symmetric(found.gram), found.moment), sigma=sigma)


def _components(factor: float, rng: np.random.Generator) -> NoiseTest:
    budget = budget_at("gaussian", 1.0, factor=factor)
    model = PrivatePCA(1, epsilon=budget, delta=DELTA, data_norm=1.0, random_state=rng)
    noise = model.fit(np.zeros((3, 150))).moments_
    return chi_square_noise_test(_symmetric(noise), sigma=gaussian_sigma(epsilon=1.0, delta=DELTA))


def _coefficients(estimator: Any) -> Callable[[float, np.random.Generator], NoiseTest]:
    """Test coefficients against those of equal seeds and no noise."""

    def test(factor: float, rng: np.random.Generator) -> NoiseTest:
        seed = int(rng.integers(2**31))
        X, y = np.linspace(-1.0, 1.0, 9)[:, None], (-1.0) ** np.arange(9)
        budget = budget_at("gaussian", 1.0, factor=factor)
        noisy, exact = (
            estimator.set_params(epsilon=epsilon, random_state=seed).fit(X, y).coef_.copy()
            for epsilon in (budget, _NO_NOISE)
        )
        sigma = gaussian_sigma(epsilon=1.0, delta=DELTA, sensitivity=estimator.sensitivity_)
        return chi_square_noise_test(noisy - exact, sigma=sigma)

    return test


def _weights(factor: float, rng: np.random.Generator) -> NoiseTest:
    """Test weights of waves against those of the mean of .5 that was told before them."""
    X, y = np.linspace(-1.0, 1.0, 1000)[:, None], np.full(1000, 0.5)
    model = PrivateRandomFeatureRegressor(
        n_components=500,
        gamma=1.0,
        bounds=_BOX,
        delta=DELTA,
        random_state=rng,
        epsilon=budget_at("gaussian", 1.0, factor=factor),
        alpha=30.0,
    ).fit(X, y)
    unit = gaussian_sigma(epsilon=1.0, delta=DELTA)
    sigma = model.sensitivity_ * unit / np.sqrt(1.0 - mean_share(1000 / unit))
    return chi_square_noise_test(model.coef_ - after_mean(X, y, model), sigma=sigma)


def _table(factor: float, rng: np.random.Generator) -> NoiseTest:
    budget = budget_at("bits", 0.5, factor=factor)
    table = release_additive(np.zeros((200, 50)), epsilon=budget, rng=rng)
    return chi_square_noise_test(table, sigma=additive_sigma(epsilon=0.5))


def _sketched(factor: float, rng: np.random.Generator) -> NoiseTest:
    public = SketchMap("fourier", np.linspace(-3.0, 3.0, 2000)[None])
    plan = plan_release(public, epsilon=1.0 / factor, count="withheld")
    exact = sketch(np.zeros((3, 1)), public)
    residuals = plan.apply(exact, rng=rng).sum - exact.sum
    claimed = np.sqrt(2.0) * public.n_components
    return gamma_noise_test(np.r_[residuals.real, residuals.imag], scale=claimed)


#: Releases whose noise has a closed law.
NOISES: dict[str, Callable[[float, np.random.Generator], NoiseTest]] = {
    "sufficient_statistics": _moments,
    "PrivatePCA": _components,
    "PrivateKernelMachine": _coefficients(
        PrivateKernelMachine(n_components=1000, regularization=0.3, bounds=_BOX)
    ),
    "PrivateKernelClassifier": _coefficients(
        PrivateKernelClassifier(n_components=300, regularization=0.3, classes=(-1.0, 1.0))
    ),
    "PrivateRandomFeatureRegressor": _weights,
    "release_additive": _table,
    "plan_release laplace and count": _sketched,
}


class _Law(NamedTuple):
    """A test of noise, and whether it refutes the claim at its level."""

    test: NoiseTest
    level: float

    @property
    def violated(self) -> bool:
        return self.test.violated(level=self.level)


def audit_noise(name: str, *, level: float, seed: int) -> Controls[_Law]:
    """Test the noise of a release against its law, as it is and, planted, at half its size."""
    check_choice("name", name, NOISES)

    def law(factor: float) -> _Law:
        with warnings.catch_warnings():  # that noise hides so few records is the point
            warnings.simplefilter("ignore", UserWarning)
            rng = stream(seed, f"audits-law-{name}-{factor:g}", "noise")
            return _Law(NOISES[name](factor, rng), level)

    return run_controls(law)


def audit_one_run(*, bits: float, confidence: float, seed: int, n: int = 300) -> Controls[Line]:
    """Guess the surest tenth of the signs of n^2 entries from one noisy table.

    The planted control has a fifth of the noise: one run sees less than many.
    """
    delta = 1e-12

    def line(factor: float) -> Line:
        coins = stream(seed, "audits-one-run", "data").integers(0, 2, (n, n)) > 0
        budget = budget_at("bits", bits, factor=factor)
        noise = stream(seed, f"audits-one-run-{factor:g}", "noise")
        table = release_additive(2.0 * coins - 1.0, epsilon=budget, rng=noise)
        found = one_run_audit(
            table.ravel(), coins.ravel(), guesses=n * n // 10, delta=delta, confidence=confidence
        )
        claimed = float(entry_dp_epsilon(epsilon=bits, delta=delta))
        return Line("one run", claimed, found.epsilon_lower, 1)

    return run_controls(line, planted=0.2)
