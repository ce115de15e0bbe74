r"""Objective perturbation on the line.

W determines its noise :math:`b(w)=\sum_ia_iu_i-2\lambda nw`, :math:`a_i=-\ell'(u_iw)`, and its
density is that of b times :math:`|b'(w)|`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from dplit._checks import Array, check_integer, check_real_array
from dplit.linear.objective import (
    PerturbedObjective,
    SmoothLoss,
    loss_slopes,
    objective_perturbation,
)
from dplit.streams import stream


class _LineAudit(NamedTuple):
    """What two neighbours on the line show of the guarantee, by quadrature. ``log_ratio`` is the
    largest logarithm of the ratio of the two densities, ``delta`` the larger hockey-stick
    divergence at the claimed epsilon.
    """

    log_ratio: float
    delta: float


def line_log_density(
    w: Array, u: Array, model: PerturbedObjective, *, loss: SmoothLoss, smoothing: float = 0.5
) -> Array:
    """Logarithm of the density, at ``w``, of the weight that objective perturbation releases.

    ``u`` are the products of record and label; of ``model`` only noise and regularisation are used.
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
    u: ArrayLike,
    v: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    regularization: float,
    loss: SmoothLoss = "huberised_hinge",
    smoothing: float = 0.5,
    n_points: int = 200_001,
) -> _LineAudit:
    """Compare the exact densities of the release on two neighbouring data sets on the line.

    ``u`` and ``v`` are products of record and label in [-1, 1] that differ in one entry.
    """
    first, second = check_real_array("u", u, 1), check_real_array("v", v, 1)
    if first.shape != second.shape or np.sum(first != second) > 1:
        raise ValueError(f"v must differ from u in one entry, got {first.tolist()} and {v!r}")
    model = objective_perturbation(
        first[:, None],
        np.ones(len(first)),
        epsilon=epsilon,
        delta=delta,
        data_norm=1.0,
        regularization=regularization,
        loss=loss,
        smoothing=smoothing,
        rng=stream(0, "erm-line", "noise"),
    )
    spread = 30.0 / model.noise if delta == 0.0 else 10.0 * model.noise
    reach = (spread + len(first)) / (2.0 * model.regularization * len(first))
    w = np.linspace(-reach, reach, check_integer("n_points", n_points, minimum=3))
    logs = [
        line_log_density(w, points, model, loss=loss, smoothing=smoothing)
        for points in (first, second)
    ]
    p, q = np.exp(logs[0]), np.exp(logs[1])
    growth = math.exp(epsilon)
    excess = [np.maximum(p - growth * q, 0.0), np.maximum(q - growth * p, 0.0)]
    largest = max(float(np.trapezoid(values, w)) for values in excess)
    return _LineAudit(float(np.abs(logs[0] - logs[1]).max()), largest)


def random_line_pairs(
    count: int, *, epsilon: float, delta: float, loss: SmoothLoss, rng: np.random.Generator
) -> list[_LineAudit]:
    """Audit random neighbours of 1 to 20 records, one of which is replaced by an end."""
    audits = []
    for _ in range(check_integer("count", count)):
        u = rng.uniform(-1.0, 1.0, int(rng.integers(1, 21)))
        v = u.copy()
        v[-1] = rng.choice([-1.0, 1.0])
        penalty = float(10.0 ** rng.uniform(-3.0, 1.0))
        audits.append(
            audit_line(
                u,
                v,
                epsilon=epsilon,
                delta=delta,
                regularization=penalty,
                loss=loss,
                n_points=20_001,
            )
        )
    return audits
