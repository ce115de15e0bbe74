r"""Output perturbation: the exact minimiser of the penalised hinge loss, plus noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from dplit._checks import check_integer, check_nonnegative, check_positive, check_rng
from dplit.margin._records import Array, clipped_records
from dplit.margin.exact_hinge import minimise_hinge, steady_minimiser

__all__ = ["PerturbedMinimum", "perturbation_sensitivity", "perturbed_minimiser"]


@dataclass(frozen=True)
class PerturbedMinimum:
    """Noisy minimisers and the noise on them.

    Attributes
    ----------
    weights : ndarray of shape (n_draws, d)
    sigma : float
        Standard deviation per coordinate.
    tolerance : float
        Duality gap that the solver guarantees on every data set.
    """

    weights: Array
    sigma: float
    tolerance: float


def perturbation_sensitivity(
    *, margin: float, data_norm: float, penalty: float, n_samples: int, tolerance: float = 0.0
) -> float:
    r"""How far the penalised minimiser moves when one record is replaced.

    Parameters
    ----------
    margin, data_norm, penalty : float
        Positive: :math:`\rho`, r and :math:`\lambda`.
    n_samples : int
        Records m.
    tolerance : float, default=0.0
        Duality gap :math:`\tau` to which the minimiser is computed.

    Returns
    -------
    float
        :math:`2G/(m\lambda)+2\sqrt{2\tau/\lambda}` with :math:`G=r/\rho`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    The objective is :math:`\lambda`-strongly convex: neighbouring minimisers differ by at most
    :math:`\frac1\lambda` times the change :math:`2G/m` of the gradient, and a point of gap
    :math:`\tau` is within :math:`\sqrt{2\tau/\lambda}` of its minimiser.  The second term is the
    privacy of the *solver*: a tolerance of 1e-6 with the penalty 1 would already add 0.0028.

    References
    ----------
    K. Chaudhuri, C. Monteleoni, A. Sarwate, Differentially private empirical risk minimization,
    J. Mach. Learn. Res. 12 (2011), Section 3.2.

    Examples
    --------
    >>> from dplit.margin.output_perturbation import perturbation_sensitivity
    >>> perturbation_sensitivity(margin=0.5, data_norm=1.0, penalty=2.0, n_samples=100)
    0.02
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    curvature, m = check_positive("penalty", penalty), check_integer("n_samples", n_samples)
    gap = check_nonnegative("tolerance", tolerance)
    return 2.0 * gradient / (m * curvature) + 2.0 * math.sqrt(2.0 * gap / curvature)


def perturbed_minimiser(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    data_norm: float,
    penalty: float,
    mu: float,
    rng: np.random.Generator,
    tolerance: float = 1e-12,
    n_draws: int = 1,
) -> PerturbedMinimum:
    r"""Minimise the mean hinge loss with a quadratic penalty, and add Gaussian noise.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Finite records; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margin, data_norm, penalty : float
        As in :func:`perturbation_sensitivity`.
    mu : float
        Gaussian-DP level of one draw; infinity for no noise.
    rng : numpy.random.Generator
        Source of the noise: floating-point research noise, not a release.
    tolerance : float, default=1e-12
        Duality gap; it enters the noise.
    n_draws : int, default=1
        Independent draws of the noise. Each is mu-GDP.

    Returns
    -------
    PerturbedMinimum
        Each draw is ``mu``-GDP under replacement of one record.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or the tolerance below what float64 resolves.

    Notes
    -----
    Where the fast solver misses the tolerance, which depends on the records and must not be seen, a
    slow one takes over whose accuracy is known beforehand for every data set. The noise covers the
    tolerance, whichever of them was used.

    Examples
    --------
    >>> from dplit.margin.output_perturbation import perturbed_minimiser
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 500)
    >>> noisy = perturbed_minimiser(y[:, None] * [0.6, 0.8], y, margin=0.5, data_norm=1.0,
    ...     penalty=1.0, mu=0.5, rng=stream(0, "example", "noise"))
    >>> bool(noisy.weights[0] @ [0.6, 0.8] > 0.25)
    True
    """
    rows, labels = clipped_records(X, y, data_norm)
    level, draws = check_positive("mu", mu, infinite=True), check_integer("n_draws", n_draws)
    check_rng(rng)
    moved = perturbation_sensitivity(
        margin=margin, data_norm=data_norm, penalty=penalty, n_samples=len(rows),
        tolerance=check_positive("tolerance", tolerance),
    )  # fmt: skip
    finest = 2.0**-53 * (1.0 + (data_norm / margin) ** 2 / penalty)
    if tolerance < finest:
        raise ValueError(f"tolerance must be at least {finest:.2g}, got {tolerance=!r}")
    options = {"margin": margin, "penalty": penalty, "tolerance": tolerance}
    try:
        with np.errstate(all="ignore"):
            best = minimise_hinge(rows, labels, **options).weights
    except (RuntimeError, LinAlgError):
        best = steady_minimiser(rows, labels, data_norm=data_norm, **options)
    sigma = moved / level
    noise = sigma * rng.standard_normal((draws, rows.shape[1])) if sigma > 0.0 else 0.0
    return PerturbedMinimum(best + np.zeros((draws, 1)) + noise, sigma, float(tolerance))
