"""Learning curves of the scalar-shift release for least squares, from growing sums.

Only the sample is simulated, the noise adds its variance.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._checks import Array, check_positive
from dplit.papers.erm.kernels import trigonometric_features
from dplit.papers.erm.least_squares_rates import _Scale, least_squares_bound, least_squares_noise
from dplit_studies.erm.learning_curves import _check_sizes, _schedules, _Setting
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials

#: Amplitude of the regression function and of the noise in its labels.
_AMPLITUDE = 0.5

_LEAST_SQUARES_SETTINGS = (
    _Setting("Section 5.1, β = 1", 1.0, None),
    _Setting("fixed ε = 1/2, β = 1", 1.0, 0.5),
)


def _least_squares_schedule(setting: _Setting, m: int) -> tuple[float, float]:
    r"""Section 5.1's budget and lambda, or :math:`\lambda=m^{-2/(3+\beta)}` at fixed epsilon."""
    if setting.epsilon is None:
        penalty = float(m) ** (-2.0 / (3.0 * (setting.beta + 1.0)))
        return 1.0 / (penalty * float(m) ** (2.0 / 3.0)), penalty
    return setting.epsilon, float(m) ** (-2.0 / (3.0 + setting.beta))


@dataclass(frozen=True)
class _LeastSquaresCurves(Runs):
    """Excess squared risks by noise, shape (trials, s, n): by setting and number of records.

    ``noise`` is what each scale adds to them, shape (s, n), the same in every trial.
    """

    sizes: NDArray[np.int64]
    settings: tuple[_Setting, ...]
    regularization: Array
    epsilon: Array
    noise: dict[str, Array]


def _regression_weights() -> tuple[Array, Array]:
    """Coefficients of the regression function and second moments of the features."""
    moments = trigonometric_features([0.0])[0]
    frequencies = len(moments) // 2
    half = 0.5 * moments[:frequencies] ** 2
    target = np.zeros(2 * frequencies)
    target[frequencies] = _AMPLITUDE / moments[0]
    return target, np.concatenate([half, half])


def least_squares_approximation(regularization: float) -> tuple[float, float]:
    r"""Least :math:`D(\lambda)` of the regression problem of the curves, and its risk 1/12."""
    penalty = check_positive("regularization", regularization)
    target, moments = _regression_weights()
    share = penalty / (moments + penalty)
    return float(np.sum(moments * target**2 * share)), _AMPLITUDE**2 / 3.0


def _least_squares_trial(trial: Trial, sizes: NDArray[np.int64]) -> Array:
    """One repetition of :func:`least_squares_curves` from sums over growing samples."""
    rng, largest = trial.stream("data"), int(sizes[-1])
    x = rng.random(largest)
    y = _AMPLITUDE * (np.sin(2.0 * math.pi * x) + rng.uniform(-1.0, 1.0, largest))
    target, moments = _regression_weights()
    gram, right = np.zeros((len(target), len(target))), np.zeros(len(target))
    excess, start = np.empty((len(_LEAST_SQUARES_SETTINGS), len(sizes))), 0
    for j, m in enumerate(sizes.tolist()):
        features = trigonometric_features(x[start:m])
        gram += features.T @ features
        right += features.T @ y[start:m]
        start = m
        for i, setting in enumerate(_LEAST_SQUARES_SETTINGS):
            shifted = gram.copy()
            shifted.flat[:: len(target) + 1] += m * _least_squares_schedule(setting, m)[1]
            weights = cho_solve(cho_factor(shifted, check_finite=False), right)
            excess[i, j] = float(moments @ (weights - target) ** 2)
    return excess


def least_squares_curves(
    n_trials: int,
    *,
    seed: int,
    sizes: ArrayLike,
    name: str = "erm-beyond-curves-squared",
    n_jobs: int | None = 1,
) -> _LeastSquaresCurves:
    r"""Learning curves of least squares for :math:`y=\frac12\sin2\pi x+\frac12U[-1,1]`.

    The excess is the distance to the regression function in :math:`L^2`, exactly; that of 0 is 1/8.
    """
    records = _check_sizes(sizes)
    one = functools.partial(_least_squares_trial, sizes=records)
    plain = np.array(run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    epsilon, penalty = _schedules(_least_squares_schedule, _LEAST_SQUARES_SETTINGS, records)
    noise = {scale: np.empty(penalty.shape) for scale in get_args(_Scale)}
    for scale, (i, j) in itertools.product(get_args(_Scale), np.ndindex(penalty.shape)):
        noise[scale][i, j] = least_squares_noise(
            n_records=int(records[j]),
            regularization=float(penalty[i, j]),
            epsilon=float(epsilon[i, j]),
            label_bound=2.0 * _AMPLITUDE,
            scale=scale,
        )
    excess = {"none": plain} | {scale: plain + added for scale, added in noise.items()}
    return _LeastSquaresCurves(excess, records, _LEAST_SQUARES_SETTINGS, penalty, epsilon, noise)


def least_squares_bounds(curves: _LeastSquaresCurves) -> Array:
    """Bound on the excess squared risk without noise, by leaving one record out."""
    bounds = np.empty(curves.regularization.shape)
    for (i, j), penalty in np.ndenumerate(curves.regularization):
        bias, risk = least_squares_approximation(float(penalty))
        bounds[i, j] = least_squares_bound(
            n_records=int(curves.sizes[j]),
            regularization=float(penalty),
            approximation=bias,
            target_risk=risk,
        )
    return bounds
