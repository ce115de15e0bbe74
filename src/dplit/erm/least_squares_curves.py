r"""Learning curves of the scalar-shift release for least squares, from growing sums.

Records, features and noise as in :mod:`dplit.erm.learning_curves`. The excess risk is a weighted
sum of squared differences of weights, and the noise adds its variance: nothing is simulated but the
sample.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._checks import check_choice, check_positive
from dplit.erm.kernels import trigonometric_features
from dplit.erm.learning_curves import Setting, check_sizes
from dplit.erm.least_squares_rates import least_squares_bound, least_squares_noise
from dplit.trials import Trial, run_trials

__all__ = [
    "LEAST_SQUARES_SETTINGS",
    "LeastSquaresCurves",
    "least_squares_approximation",
    "least_squares_bounds",
    "least_squares_curves",
]

Array = NDArray[np.float64]

#: Amplitude of the regression function and of the noise in its labels.
AMPLITUDE = 0.5
LEAST_SQUARES_SETTINGS = (
    Setting("Section 5.1, β = 1", 1.0, None),
    Setting("fixed ε = 1/2, β = 1", 1.0, 0.5),
)


def least_squares_schedule(setting: Setting, m: int) -> tuple[float, float]:
    r"""Budget and lambda: those of Section 5.1, or :math:`\lambda=m^{-2/(3+\beta)}` at fixed
    epsilon."""
    if setting.epsilon is None:
        penalty = float(m) ** (-2.0 / (3.0 * (setting.beta + 1.0)))
        return 1.0 / (penalty * float(m) ** (2.0 / 3.0)), penalty
    return setting.epsilon, float(m) ** (-2.0 / (3.0 + setting.beta))


@dataclass(frozen=True)
class LeastSquaresCurves:
    r"""Excess squared risks of the released function, noise integrated out.

    Attributes
    ----------
    sizes : ndarray of int, shape (n,)
    settings : tuple of Setting
    regularization, epsilon : ndarray, shape (s, n)
    plain : ndarray, shape (trials, s, n)
        Excess risk without noise.
    noise : dict of str to ndarray, shape (s, n)
        What the noise adds, for the scales "printed", "doubled" and "sharp"; the same in every
        trial.
    """

    sizes: NDArray[np.int64]
    settings: tuple[Setting, ...]
    regularization: Array
    epsilon: Array
    plain: Array
    noise: dict[str, Array]

    def excess(self, scale: str) -> Array:
        """Return the excess with noise, shape (trials, s, n); ``"none"`` is without."""
        check_choice("scale", scale, ("none", *self.noise))
        return self.plain if scale == "none" else self.plain + self.noise[scale]


def _regression_weights() -> tuple[Array, Array]:
    """Coefficients of the regression function and second moments of the features."""
    moments = trigonometric_features([0.0])[0]
    frequencies = len(moments) // 2
    half = 0.5 * moments[:frequencies] ** 2
    target = np.zeros(2 * frequencies)
    target[frequencies] = AMPLITUDE / moments[0]
    return target, np.concatenate([half, half])


def least_squares_approximation(regularization: float) -> tuple[float, float]:
    r"""Least :math:`D(\lambda)` of the regression problem of the curves, and its least risk.

    Parameters
    ----------
    regularization : float
        lambda, positive.

    Returns
    -------
    approximation, risk : float
        :math:`\frac18\frac\lambda{\mu_1+\lambda}` with the eigenvalue :math:`\mu_1` of the
        regression function :math:`\frac12\sin2\pi x`, and :math:`\mathcal E(f_\rho)=\frac1{12}`.

    Raises
    ------
    TypeError, ValueError
        If ``regularization`` is not positive and finite.

    Examples
    --------
    >>> [round(value, 4) for value in least_squares_approximation(0.01)]
    [0.0039, 0.0833]
    """
    penalty = check_positive("regularization", regularization)
    target, moments = _regression_weights()
    share = penalty / (moments + penalty)
    return float(np.sum(moments * target**2 * share)), AMPLITUDE**2 / 3.0


def least_squares_trial(trial: Trial, sizes: NDArray[np.int64]) -> Array:
    """One repetition of :func:`least_squares_curves` from sums over growing samples."""
    rng, largest = trial.stream("data"), int(sizes[-1])
    x = rng.random(largest)
    y = AMPLITUDE * (np.sin(2.0 * math.pi * x) + rng.uniform(-1.0, 1.0, largest))
    target, moments = _regression_weights()
    gram, right = np.zeros((len(target), len(target))), np.zeros(len(target))
    excess, start = np.empty((len(LEAST_SQUARES_SETTINGS), len(sizes))), 0
    for j, m in enumerate(sizes.tolist()):
        features = trigonometric_features(x[start:m])
        gram += features.T @ features
        right += features.T @ y[start:m]
        start = m
        for i, setting in enumerate(LEAST_SQUARES_SETTINGS):
            shifted = gram.copy()
            shifted.flat[:: len(target) + 1] += m * least_squares_schedule(setting, m)[1]
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
) -> LeastSquaresCurves:
    r"""Learning curves of least squares for :math:`y=\frac12\sin2\pi x+\frac12U[-1,1]`.

    Parameters
    ----------
    n_trials, seed, sizes, name, n_jobs
        As in :func:`dplit.erm.learning_curves.hinge_curves`.

    Returns
    -------
    LeastSquaresCurves
        The excess is the distance to the regression function in :math:`L^2`, a weighted sum of
        squared differences of weights: no test set. The function 0 has excess 1/8.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Gram matrix and right side of the features are sums over records; they grow with the sample,
    and each fit is a system of 80 equations whatever m is.

    Examples
    --------
    >>> curves = least_squares_curves(2, seed=0, sizes=[64, 128])
    >>> curves.plain.shape, round(float(curves.noise["printed"][0, 0]), 6)
    ((2, 2, 2), 2.0)
    """
    records = check_sizes(sizes)
    one = functools.partial(least_squares_trial, sizes=records)
    results = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    settings = LEAST_SQUARES_SETTINGS
    pairs = np.array([[least_squares_schedule(s, m) for m in records.tolist()] for s in settings])
    noise = {
        scale: np.array(
            [
                [
                    least_squares_noise(
                        n_records=m,
                        regularization=pairs[i, j, 1],
                        epsilon=pairs[i, j, 0],
                        label_bound=2.0 * AMPLITUDE,
                        scale=scale,
                    )
                    for j, m in enumerate(records.tolist())
                ]
                for i in range(len(settings))
            ]
        )
        for scale in ("printed", "doubled", "sharp")
    }
    return LeastSquaresCurves(
        records, settings, pairs[..., 1], pairs[..., 0], np.array(results), noise
    )


def least_squares_bounds(curves: LeastSquaresCurves) -> Array:
    r"""Bound on the excess squared risk without noise, by leaving one record out.

    Parameters
    ----------
    curves : LeastSquaresCurves

    Returns
    -------
    ndarray, shape (s, n)
        By setting and size, with the least approximation error of the regression problem.

    Examples
    --------
    >>> curves = least_squares_curves(1, seed=0, sizes=[64, 128])
    >>> bool((curves.plain[0] < least_squares_bounds(curves)).all())
    True
    """
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
