r"""Objective perturbation on the line, where the density of the released weight is known exactly.

The released w determines the noise that it needs, :math:`b(w)=\sum_ia_iu_i-2\lambda nw` with
:math:`a_i=-\ell'(u_iw)`, and its density is that of b times :math:`|b'(w)|`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from dplit._checks import check_finite_array, check_integer
from dplit._objective_perturbation import SmoothLoss, loss_slopes
from dplit.baselines import PerturbedObjective, objective_perturbation
from dplit.streams import stream

__all__ = ["LineAudit", "audit_line", "line_log_density", "random_line_pairs"]

_Array = NDArray[np.float64]


class LineAudit(NamedTuple):
    """What two neighbours on the line show of the guarantee, by quadrature.

    ``log_ratio`` is the largest logarithm of the ratio of the two densities, ``delta`` the larger
    hockey-stick divergence at the claimed epsilon.
    """

    log_ratio: float
    delta: float


def line_log_density(
    w: _Array, u: _Array, model: PerturbedObjective, *, loss: SmoothLoss, smoothing: float = 0.5
) -> _Array:
    """Logarithm of the density of the weight that objective perturbation releases on the line.

    Parameters
    ----------
    w : ndarray of shape (k,)
        Weights.
    u : ndarray of shape (n,)
        Products of record and label.
    model : PerturbedObjective
        Its noise and regularisation are used, not its coefficient.
    loss : {"logistic", "huberised_hinge"}
    smoothing : float, default=0.5

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> model = PerturbedObjective(np.zeros(1), 0.5, 1.0, 2.0, 0.0, "replace_one")
    >>> w = np.linspace(-50, 50, 20_001)
    >>> density = np.exp(line_log_density(w, np.array([1.0]), model, loss="logistic"))
    >>> round(float(np.trapezoid(density, w)), 4)
    1.0
    """
    margins = np.multiply.outer(w, u)
    _, first, second = loss_slopes(margins, loss, smoothing)
    penalty = 2.0 * model.regularization * len(u)
    b = -(first @ u) - penalty * w
    jacobian = np.log(second @ u**2 + penalty)
    if model.delta == 0.0:
        return np.asarray(math.log(model.noise / 2.0) - model.noise * np.abs(b) + jacobian)
    return np.asarray(norm.logpdf(b, scale=model.noise) + jacobian)


def audit_line(
    u: ArrayLike, v: ArrayLike, *, epsilon: float, delta: float, regularization: float,
    loss: SmoothLoss = "huberised_hinge", n_points: int = 200_001,
) -> LineAudit:  # fmt: skip
    """Compare the exact densities of the release on two neighbouring data sets on the line.

    Parameters
    ----------
    u, v : array_like of shape (n,)
        Products of record and label in [-1, 1], which differ in one entry.
    epsilon, delta, regularization
        As for :func:`~dplit.baselines.objective_perturbation`.
    loss : {"logistic", "huberised_hinge"}, default="huberised_hinge"
    n_points : int, default=200001
        Points of the quadrature.

    Returns
    -------
    LineAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> audit = audit_line([1.0], [-1.0], epsilon=1.0, delta=0.0, regularization=50.0)
    >>> 0.98 < audit.log_ratio <= 1.0, audit.delta < 1e-12
    (True, True)
    """
    first, second = (check_finite_array(*pair, ndim=1) for pair in (("u", u), ("v", v)))
    if first.shape != second.shape or np.sum(first != second) > 1:
        raise ValueError(f"v must differ from u in one entry, got {first.tolist()} and {v!r}")
    model = objective_perturbation(
        first[:, None], np.ones(len(first)), epsilon=epsilon, delta=delta, data_norm=1.0,
        regularization=regularization, loss=loss, rng=stream(0, "erm-line", "noise"),
    )  # fmt: skip
    spread = 30.0 / model.noise if delta == 0.0 else 10.0 * model.noise
    reach = (spread + len(first)) / (2.0 * model.regularization * len(first))
    w = np.linspace(-reach, reach, check_integer("n_points", n_points, minimum=3))
    logs = [line_log_density(w, points, model, loss=loss) for points in (first, second)]
    p, q = np.exp(logs[0]), np.exp(logs[1])
    growth = math.exp(epsilon)
    excess = [np.maximum(p - growth * q, 0.0), np.maximum(q - growth * p, 0.0)]
    largest = max(float(np.trapezoid(values, w)) for values in excess)
    return LineAudit(float(np.abs(logs[0] - logs[1]).max()), largest)


def random_line_pairs(
    count: int, *, epsilon: float, delta: float, loss: SmoothLoss, rng: np.random.Generator
) -> list[LineAudit]:
    """Audit random neighbours of 1 to 20 records; a record is turned round or replaced by an end.

    Parameters
    ----------
    count : int
        At least 1.
    epsilon, delta : float
    loss : {"logistic", "huberised_hinge"}
    rng : numpy.random.Generator

    Returns
    -------
    list of LineAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> audits = random_line_pairs(2, epsilon=1.0, delta=0.0, loss="logistic",
    ...     rng=np.random.default_rng(0))
    >>> all(audit.log_ratio <= 1.0 for audit in audits)
    True
    """
    audits = []
    for _ in range(check_integer("count", count)):
        u = rng.uniform(-1.0, 1.0, int(rng.integers(1, 21)))
        v = u.copy()
        v[-1] = rng.choice([-1.0, 1.0])
        penalty = float(10.0 ** rng.uniform(-3.0, 1.0))
        audits.append(
            audit_line(
                u, v, epsilon=epsilon, delta=delta, regularization=penalty, loss=loss,
                n_points=20_001,
            )
        )  # fmt: skip
    return audits
