r"""Exact privacy of the exponential mechanism over a finite set, by enumeration.

Nothing is estimated here: both laws are known, so the largest log-ratio and the divergences of two
neighbours are sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import check_finite_array, check_positive

__all__ = ["PrivacyAudit", "audit_replacements", "log_ratio", "renyi_divergence", "replacements"]

Array = NDArray[np.float64]


class PrivacyAudit(NamedTuple):
    """Largest absolute log-ratio, and largest Renyi divergence over order, over all pairs tried."""

    epsilon: float
    rho: float
    n_pairs: int


def _log_law(counts: Array, epsilon: float) -> Array:
    logits = -0.5 * epsilon * counts
    law: Array = logits - logsumexp(logits)
    return law


def log_ratio(counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float) -> float:
    r"""Largest absolute log-ratio of two laws of the exponential mechanism.

    Parameters
    ----------
    counts, neighbour : array_like of shape (n,)
        Error counts of all candidates on a sample and on its neighbour.
    epsilon : float
        Parameter of the mechanism, positive.

    Returns
    -------
    float
        :math:`\max_i|\log P(i)-\log P'(i)|`, at most epsilon if the counts differ by at most 1.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not finite vectors of one length or epsilon is not positive.

    Examples
    --------
    >>> round(log_ratio([0.0, 1.0], [1.0, 0.0], epsilon=1.0), 4)
    0.5
    """
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(np.max(np.abs(_log_law(left, eps) - _log_law(right, eps))))


def _pair(counts: ArrayLike, neighbour: ArrayLike) -> tuple[Array, Array]:
    left = check_finite_array("counts", counts, ndim=1).astype(float)
    right = check_finite_array("neighbour", neighbour, ndim=1).astype(float)
    if left.shape != right.shape:
        raise ValueError(
            f"neighbour must have one count per candidate, got {len(right)} for {len(left)}"
        )
    return left, right


def renyi_divergence(
    counts: ArrayLike, neighbour: ArrayLike, *, epsilon: float, order: float
) -> float:
    r"""Renyi divergence of two laws of the exponential mechanism.

    Parameters
    ----------
    counts, neighbour : array_like of shape (n,)
        Error counts of all candidates on a sample and on its neighbour.
    epsilon : float
        Parameter of the mechanism, positive.
    order : float
        Order above 1.

    Returns
    -------
    float
        :math:`\frac1{\alpha-1}\log\sum_iP(i)^\alpha P'(i)^{1-\alpha}`, at most
        :math:`\alpha\epsilon^2/8` because the log-ratio has a range of at most epsilon.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not finite vectors of one length, epsilon is not positive or the order is
        not above 1.

    References
    ----------
    M. Cesar and R. Rogers, Bounding, concentrating, and truncating: unifying privacy loss
    composition for data analytics, ALT 2021, arXiv:2004.07223.

    Examples
    --------
    >>> round(renyi_divergence([0.0, 1.0], [1.0, 0.0], epsilon=1.0, order=2.0), 4)
    0.2273
    """
    left, right = _pair(counts, neighbour)
    eps, alpha = check_positive("epsilon", epsilon), check_positive("order", order)
    if alpha <= 1:
        raise ValueError(f"order must be above 1, got order={order!r}")
    logs = alpha * _log_law(left, eps) + (1 - alpha) * _log_law(right, eps)
    return float(logsumexp(logs) / (alpha - 1))


def replacements(wrong: ArrayLike, others: ArrayLike) -> Array:
    """Error counts of all samples with one record replaced by one of the given ones.

    Parameters
    ----------
    wrong : array_like of shape (n, m)
        Whether candidate i classifies record j wrongly.
    others : array_like of shape (n, p)
        The same for the records that may come in.

    Returns
    -------
    ndarray of shape (m * p, n)
        Counts of all candidates, one row per neighbour.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not matrices with one row per candidate.

    Examples
    --------
    >>> replacements([[True, True], [False, False]], [[False], [True]])
    array([[1., 1.],
           [1., 1.]])
    """
    old = check_finite_array("wrong", wrong, ndim=2).astype(float)
    new = check_finite_array("others", others, ndim=2).astype(float)
    if len(old) != len(new):
        raise ValueError(f"others must have {len(old)} rows, got others of shape {new.shape}")
    left = old.sum(axis=1, keepdims=True) - old
    both = left[:, :, None] + new[:, None, :]
    counts: Array = both.reshape(len(old), -1).T
    return counts


def audit_replacements(
    wrong: ArrayLike, others: ArrayLike, *, epsilon: float, orders: ArrayLike = (1.1, 2.0, 8.0)
) -> PrivacyAudit:
    r"""Exact privacy of the exponential mechanism over all replacements of one record.

    Parameters
    ----------
    wrong : array_like of shape (n, m)
        Whether candidate i classifies record j wrongly.
    others : array_like of shape (n, p)
        The same for the records that may come in.
    epsilon : float
        Parameter of the mechanism, positive.
    orders : array_like, default=(1.1, 2, 8)
        Orders above 1 of the divergences.

    Returns
    -------
    PrivacyAudit
        The privacy loss that some pair of neighbours shows, at most epsilon; the largest
        divergence over its order, both directions, at most :math:`\epsilon^2/8`; and the number of
        pairs.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not matrices with one row per candidate or epsilon is not positive.

    Examples
    --------
    >>> wrong = [[False] * 30, [True] * 30]
    >>> round(audit_replacements(wrong, [[True], [False]], epsilon=1.0).epsilon, 4)
    1.0
    """
    old = check_finite_array("wrong", wrong, ndim=2).astype(float)
    base, pairs = old.sum(axis=1), replacements(wrong, others)
    loss = max(log_ratio(base, counts, epsilon=epsilon) for counts in pairs)
    both = [(base, counts) for counts in pairs] + [(counts, base) for counts in pairs]
    rho = max(
        renyi_divergence(p, q, epsilon=epsilon, order=float(order)) / float(order)
        for p, q in both
        for order in np.atleast_1d(orders)
    )
    return PrivacyAudit(loss, rho, len(pairs))
