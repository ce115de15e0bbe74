"""Draws from the cover, and exact privacy over a finite set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import Array, check_integer, check_positive, check_real_array, check_rng, quiet
from dplit._numerics.clipping import scaled_rows
from dplit.mechanisms._draws import record_draw
from dplit.papers.margin.covers import _lattice_side, _reach_squared
from dplit.papers.margin.exponential import _counts, _labelled_rows


@quiet
def rejection_draws(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    radius: float,
    covering_radius: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    r"""Independent draws (n, k) from the exponential mechanism on the lattice cover, by rejection.

    Uniform lattice points of a cube are kept if they lie within reach of the ball, moved into it,
    and accepted with probability :math:`e^{-\epsilon N(w)/2}`. The run time depends on the data.
    """
    rows, count = scaled_rows(_labelled_rows(X, y)), check_integer("n_draws", n_draws)
    eps, generator = check_positive("epsilon", epsilon), check_rng(rng)
    record_draw(
        "event", "weights by their errors", scale=2.0 / eps, copies=count, stated=lambda _: eps
    )
    k, ball = rows.shape[1], check_positive("radius", radius)
    side = _lattice_side(n_components=k, covering_radius=covering_radius)
    limit = _reach_squared(ball, covering_radius, side)
    edge, size = int(np.sqrt(limit)), max(1024, (1 << 21) // len(rows))
    kept: list[Array] = []
    found = 0
    while found < count:
        points = generator.integers(-edge, edge + 1, size=(size, k)).astype(float)
        points = points[np.einsum("ij,ij->i", points, points) <= limit] * side
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        points *= ball / np.maximum(norms, ball)
        accepted = generator.random(len(points)) < np.exp(-0.5 * eps * _counts(points, rows))
        kept.append(points[accepted])
        found += int(accepted.sum())
    return np.concatenate(kept)[:count]


#: Orders of the Renyi divergences that an audit looks at.
_ORDERS = (1.1, 2.0, 8.0)


class _PrivacyAudit(NamedTuple):
    """Largest absolute log-ratio, and largest Renyi divergence over order, over all pairs tried."""

    epsilon: float
    rho: float
    n_pairs: int


def _log_law(counts: Array, epsilon: float) -> Array:
    """Return the logarithmic law of every row of counts."""
    logits = -0.5 * epsilon * counts
    return np.asarray(logits - logsumexp(logits, axis=-1, keepdims=True))


def _divergence(left: Array, right: Array, order: float) -> Array:
    """Return the Renyi divergence of every row of logarithmic laws."""
    alpha = check_positive("order", order)
    if alpha <= 1:
        raise ValueError(f"order must be above 1, got order={order!r}")
    logs = alpha * left + (1 - alpha) * right
    return np.asarray(logsumexp(logs, axis=-1) / (alpha - 1))


def log_ratio(counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float) -> float:
    """Largest absolute log-ratio of the laws of error counts on a sample and on its neighbour."""
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(np.max(np.abs(_log_law(left, eps) - _log_law(right, eps))))


def _pair(counts: ArrayLike, neighbour: ArrayLike) -> tuple[Array, Array]:
    left = check_real_array("counts", counts, 1)
    right = check_real_array("neighbour", neighbour, 1)
    if left.shape != right.shape:
        raise ValueError(
            f"neighbour must have one count per candidate, got {len(right)} for {len(left)}"
        )
    return left, right


def renyi_divergence(
    counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float, order: float
) -> float:
    r"""Renyi divergence of two such laws, at most :math:`\alpha\epsilon^2/8` for neighbours."""
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(_divergence(_log_law(left, eps), _log_law(right, eps), order))


def _replacements(wrong: ArrayLike, others: ArrayLike) -> Array:
    """Error counts (m * p, n) of all samples with one record replaced by one of the given ones.
    ``wrong`` (n, m) says which candidate errs on which record, ``others`` (n, p) on which newcomer.
    """
    old = check_real_array("wrong", wrong, 2)
    new = check_real_array("others", others, 2)
    if len(old) != len(new):
        raise ValueError(f"others must have {len(old)} rows, got others of shape {new.shape}")
    left = old.sum(axis=1, keepdims=True) - old
    both = left[:, :, None] + new[:, None, :]
    return np.asarray(both.reshape(len(old), -1).T)


def audit_replacements(wrong: ArrayLike, others: ArrayLike, *, epsilon: float) -> _PrivacyAudit:
    """Largest log-ratio and divergence over order of all ``_replacements`` of one record."""
    old = check_real_array("wrong", wrong, 2)
    eps = check_positive("epsilon", epsilon)
    base, pairs = (_log_law(v, eps) for v in (old.sum(axis=1), _replacements(wrong, others)))
    rho = max(
        float(_divergence(p, q, order).max()) / order
        for p, q in ((base, pairs), (pairs, base))
        for order in _ORDERS
    )
    return _PrivacyAudit(float(np.abs(base - pairs).max()), rho, len(pairs))
