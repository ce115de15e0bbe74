"""Output perturbation: the exact minimiser of the penalised hinge loss, plus noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_nonnegative, check_positive, check_rng
from dplit.margins._checks import clipped_records
from dplit.mechanisms._draws import record_draw
from dplit.papers.margin.exact_hinge import _steady_minimiser, minimise_hinge


@dataclass(frozen=True)
class _PenalisedHinge:
    """What is minimised, for records of a norm, and to which gap."""

    margin: float
    data_norm: float
    penalty: float
    tolerance: float = 1e-12


@dataclass(frozen=True)
class _PerturbedMinimum:
    """Noisy minimisers (n_draws, d), noise per coordinate, and the gap that is guaranteed."""

    weights: Array
    sigma: float
    tolerance: float


def perturbation_sensitivity(
    *, margin: float, data_norm: float, penalty: float, n_samples: int, tolerance: float = 0.0
) -> float:
    r"""How far the penalised minimiser moves when one record is replaced.

    :math:`\frac{2G}{m\lambda}+2\sqrt{2\tau/\lambda}`, :math:`G=r/\rho`: the second term pays for
    the *solver*, whose point has a gap of at most ``tolerance`` (Chaudhuri, Monteleoni, Sarwate
    2011).
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    curvature, m = check_positive("penalty", penalty), check_integer("n_samples", n_samples)
    gap = check_nonnegative("tolerance", tolerance)
    return 2.0 * gradient / (m * curvature) + 2.0 * math.sqrt(2.0 * gap / curvature)


def _perturbed_minimiser(
    X: ArrayLike,
    y: ArrayLike,
    task: _PenalisedHinge,
    *,
    mu: float,
    rng: np.random.Generator,
    n_draws: int = 1,
) -> _PerturbedMinimum:
    """Minimise the mean hinge loss with a quadratic penalty, and add Gaussian noise. Each draw is
    mu-GDP under replacement of one record. Where the fast solver misses the tolerance, which
    depends on the records and must not be seen, ``_steady_minimiser`` takes over, of an accuracy
    known beforehand, which the noise covers in any case.
    """
    norm, tolerance = task.data_norm, check_positive("tolerance", task.tolerance)
    rows, labels = clipped_records(X, y, norm)
    level, draws = check_positive("mu", mu, infinite=True), check_integer("n_draws", n_draws)
    check_rng(rng)
    moved = perturbation_sensitivity(n_samples=len(rows), **vars(task))
    finest = 2.0**-53 * (1.0 + (norm / task.margin) ** 2 / task.penalty)
    if tolerance < finest:
        raise ValueError(f"tolerance must be at least {finest:.2g}, got {tolerance=!r}")
    options = {"margin": task.margin, "penalty": task.penalty, "tolerance": tolerance}
    try:
        with np.errstate(all="ignore"):
            best = minimise_hinge(rows, labels, **options).weights
    except (RuntimeError, LinAlgError):
        best = _steady_minimiser(rows, labels, data_norm=norm, **options)
    sigma = moved / level
    record_draw(
        "gaussian",
        "minimiser",
        of=best,
        sensitivity=moved,
        scale=sigma,
        shape=(draws, rows.shape[1]),
        copies=draws,
    )
    noise = sigma * rng.standard_normal((draws, rows.shape[1])) if sigma > 0.0 else 0.0
    return _PerturbedMinimum(best + np.zeros((draws, 1)) + noise, sigma, float(tolerance))
