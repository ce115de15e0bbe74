r"""Learning curves of the scalar-shift release for the hinge loss, noise integrated out.

Predictors are linear in 80 sines and cosines, :math:`x\sim U[0,1]`, samples are nested.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_finite_array, check_integer, check_positive, check_real_array
from dplit.papers.erm.kernels import trigonometric_features
from dplit.papers.erm.minimisers import fit_linear
from dplit.papers.erm.noisy_loss import expected_loss_laplace, wrong_sign_probability
from dplit.papers.erm.rates import excess_bound, theorem4_schedule
from dplit.papers.erm.scales import noise_scale
from dplit_studies.runs import Runs
from dplit_studies.trials import Estimate, Trial, run_trials

#: Probability that a label of the classification problem is that of the square wave.
_LABEL_QUALITY = 0.9

#: Noises of the hinge curves along the last axis.
_NOISES = ("none", "printed", "doubled")

_GRID = 2000


class _Setting(NamedTuple):
    """How budget and lambda depend on m: the ``beta`` assumed, and ``epsilon`` if it is fixed."""

    name: str
    beta: float
    epsilon: float | None


_HINGE_SETTINGS = (
    _Setting("Theorem 4, β = 1/4", 0.25, None),
    _Setting("Theorem 4, β = 1/2", 0.5, None),
    _Setting("fixed ε = 1/2, β = 1/4", 0.25, 0.5),
    _Setting("fixed ε = 1/2, β = 1/2", 0.5, 0.5),
)


def _hinge_schedule(setting: _Setting, m: int) -> tuple[float, float]:
    r"""Theorem 4's budget and lambda, or :math:`\lambda=(m\epsilon)^{-1/(\beta+1)}`."""
    if setting.epsilon is None:
        return theorem4_schedule(m, beta=setting.beta)
    return setting.epsilon, (m * setting.epsilon) ** (-1.0 / (setting.beta + 1.0))


@dataclass(frozen=True)
class _HingeCurves(Runs):
    """Excess hinge risks by noise, shape (trials, s, n): by setting and number of records.
    ``misclassified`` is the excess misclassification of the sign; no fit is further from its
    minimiser than ``distance``, which bounds the error of values too.
    """

    sizes: NDArray[np.int64]
    settings: tuple[_Setting, ...]
    regularization: Array
    epsilon: Array
    misclassified: Runs
    distance: float


def _schedules(
    schedule: Callable[[_Setting, int], tuple[float, float]],
    settings: tuple[_Setting, ...],
    sizes: NDArray[np.int64],
) -> tuple[Array, Array]:
    """Budgets and penalties by setting and size."""
    pairs = np.array([[schedule(setting, m) for m in sizes.tolist()] for setting in settings])
    return pairs[..., 0], pairs[..., 1]


def _check_sizes(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return increasing positive integers as an array."""
    values = np.asarray(check_finite_array("sizes", sizes, ndim=1))
    if values.dtype.kind not in "iu" or values.min() < 1 or np.any(np.diff(values) <= 0):
        raise ValueError(f"sizes must be increasing positive integers, got {values[:5].tolist()}")
    return values.astype(np.int64)


def _hinge_risks(weights: Array, scales: Sequence[float]) -> tuple[Array, Array]:
    """Excess hinge risk and excess misclassification of a linear function for several scales."""
    grid, features = _hinge_grid()
    wave, values = np.sign(np.sin(2.0 * math.pi * grid)), features @ weights
    hinge, wrong = np.empty(len(scales)), np.empty(len(scales))
    q = _LABEL_QUALITY
    for j, s in enumerate(scales):
        right = expected_loss_laplace("hinge", values, wave, scale=s)
        other = expected_loss_laplace("hinge", values, -wave, scale=s)
        hinge[j] = np.mean(q * right + (1.0 - q) * other) - 2.0 * (1.0 - q)
        wrong[j] = (2.0 * q - 1.0) * np.mean(wrong_sign_probability(values, wave, scale=s))
    return hinge, wrong


@functools.cache
def _hinge_grid() -> tuple[Array, Array]:
    grid = (np.arange(_GRID) + 0.5) / _GRID
    return grid, trigonometric_features(grid)


def _hinge_trial(trial: Trial, sizes: NDArray[np.int64], tol: float) -> tuple[Array, Array, float]:
    """One repetition of :func:`hinge_curves`: risks by setting, size and noise, and accuracy."""
    rng, largest = trial.stream("data"), int(sizes[-1])
    x = rng.random(largest)
    y = np.sign(np.sin(2.0 * math.pi * x)) * np.where(rng.random(largest) < _LABEL_QUALITY, 1, -1)
    features = trigonometric_features(x)
    shape = (len(_HINGE_SETTINGS), len(sizes), len(_NOISES))
    excess, wrong, distance = np.empty(shape), np.empty(shape), 0.0
    for i, setting in enumerate(_HINGE_SETTINGS):
        for j, m in enumerate(sizes.tolist()):
            epsilon, penalty = _hinge_schedule(setting, m)
            fit = fit_linear(features[:m], y[:m], loss="hinge", regularization=penalty, tol=tol)
            scale = noise_scale(
                epsilon=epsilon, lipschitz=1.0, kappa=1.0, regularization=penalty, n_records=m
            )
            excess[i, j], wrong[i, j] = _hinge_risks(fit.weights, (0.0, 0.5 * scale, scale))
            distance = max(distance, fit.distance)
    return excess, wrong, distance


def hinge_curves(
    n_trials: int,
    *,
    seed: int,
    sizes: ArrayLike,
    name: str = "erm-beyond-curves",
    n_jobs: int | None = 1,
    tol: float = 1e-10,
) -> _HingeCurves:
    """Learning curves of the hinge loss with labels of a noisy square wave.

    Risks on 2000 midpoints of the unit interval; ``tol`` is the duality gap of every fit.
    """
    records = _check_sizes(sizes)
    one = functools.partial(_hinge_trial, sizes=records, tol=check_positive("tol", tol))
    results = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    excess, wrong, distances = zip(*results, strict=True)
    by_noise = [
        {noise: np.array(table)[..., k] for k, noise in enumerate(_NOISES)}
        for table in (excess, wrong)
    ]
    epsilon, penalty = _schedules(_hinge_schedule, _HINGE_SETTINGS, records)
    return _HingeCurves(
        by_noise[0], records, _HINGE_SETTINGS, penalty, epsilon, Runs(by_noise[1]), max(distances)
    )


def hinge_approximation(regularization: float) -> float:
    r"""Approximation error :math:`D(\lambda)` of the classification problem of the curves.

    With :math:`f_\lambda=(L_K+\lambda)^{-1}L_Kf_c` in the span of the features, on the same grid.
    """
    penalty = check_positive("regularization", regularization)
    grid, features = _hinge_grid()
    target = features.T @ np.sign(np.sin(2.0 * math.pi * grid)) / _GRID
    mu = np.mean(features**2, axis=0)  # features are orthogonal on the grid
    weights = target / (mu + penalty)
    return float(_hinge_risks(weights, (0.0,))[0][0] + penalty * weights @ weights)


def hinge_bounds(curves: _HingeCurves) -> Array:
    """Bound by stability on the excess hinge risk with the doubled noise, by setting and size."""
    bounds = np.empty(curves.regularization.shape)
    for (i, j), penalty in np.ndenumerate(curves.regularization):
        bounds[i, j] = excess_bound(
            n_records=int(curves.sizes[j]),
            regularization=float(penalty),
            epsilon=float(curves.epsilon[i, j]),
            lipschitz=1.0,
            width=1.0,
            approximation=hinge_approximation(float(penalty)),
        )
    return bounds


def log_slope(values: ArrayLike, sizes: ArrayLike) -> Estimate:
    """Slope of the logarithm of a mean curve against log m; ``values`` has shape (trials, n).

    The standard error is a jackknife's: it respects that one trial's results are dependent.
    """
    table = check_real_array("values", values, 2)
    m = check_real_array("sizes", sizes, 1)
    trials = check_integer("the number of trials", len(table), minimum=2)
    if table.shape[1] != len(m) or min(table.min(), m.min()) <= 0 or np.ptp(m) == 0:
        raise ValueError(
            f"values must be positive with a column for each of the different sizes, got shapes "
            f"{table.shape} and {m.shape}, least {min(table.min(), m.min()):g}"
        )
    centred = np.log(m) - np.log(m).mean()
    weights = centred / float(centred @ centred)
    total = table.sum(axis=0)
    slope = float(np.log(total / trials) @ weights)
    without = np.log((total - table) / (trials - 1)) @ weights
    spread = float(np.sum((without - without.mean()) ** 2))
    return Estimate(slope, math.sqrt(spread * (trials - 1) / trials))
