"""Finite channels: capacity in brackets, information between entries, leakage of small
databases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr, xlogy

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.entries._quadrature import LN2


class _Bracket(NamedTuple):
    """A number in bits between two bounds that were both computed."""

    lower: float
    upper: float


def _laws(name: str, value: ArrayLike, ndim: int | None = None) -> Array:
    """Return an array whose last axis holds probabilities that sum to 1."""
    laws = check_real_array(name, value, ndim)
    if laws.min() < 0 or np.abs(laws.sum(axis=-1) - 1.0).max() > 1e-9:
        raise ValueError(f"{name} must hold laws: nonnegative numbers with sum 1 along the end")
    return laws


def symmetric_channel(flip: float, *, reveal: float = 0.0) -> Array:
    """Channel that flips a bit with probability ``flip``, unless it reveals it.

    With ``reveal``, the probability of publishing the bit and saying that it is true, two certified
    outputs follow the two noisy ones.
    """
    q = check_probability("flip", flip, zero=True, one=True)
    p = check_probability("reveal", reveal, zero=True, one=True)
    noisy = np.array([[1.0 - q, q], [q, 1.0 - q]])
    return np.hstack([(1.0 - p) * noisy, p * np.eye(2)]) if p else noisy


def channel_information(prior: ArrayLike, channel: ArrayLike) -> float:
    """Mutual information in bits between input and output of a channel (k, m), prior (k,)."""
    p, W = _laws("prior", prior, 1), _laws("channel", channel, 2)
    if len(p) != len(W):
        raise ValueError(f"prior must have {len(W)} entries, got prior of shape {p.shape}")
    return max(float(p @ _divergences(W, p @ W)), 0.0)


def _divergences(W: Array, q: Array) -> Array:
    """Return the divergences in bits of the rows of W from q; 0 mass in both counts nothing."""
    return np.asarray(rel_entr(W, q).sum(axis=1) / LN2)


def capacity_bracket(
    channel: ArrayLike, *, tolerance: float = 1e-6, max_steps: int = 100_000
) -> _Bracket:
    r"""Bounds on the capacity of a channel (k, m), by Blahut and Arimoto.

    ``lower`` is the information under the last prior p, ``upper`` :math:`\max_xD(W_x\|pW)`, which
    no prior exceeds. It ends when they differ by at most ``tolerance`` bits or after ``max_steps``;
    the bounds are valid whenever it ends.
    """
    W = _laws("channel", channel, 2)
    width, steps = check_positive("tolerance", tolerance), check_integer("max_steps", max_steps)
    p, own = np.full(len(W), 1.0 / len(W)), xlogy(W, W).sum(axis=1)
    for _ in range(steps):
        # the least float for outputs that no input has: 0 times it is 0
        divergences = (own - W @ np.log(np.maximum(p @ W, 1e-300))) / LN2
        lower, upper = float(p @ divergences), float(divergences.max())
        if upper - lower <= width:
            break
        p = p * np.exp2(divergences - upper)
        p /= p.sum()
    return _Bracket(max(lower, 0.0), max(upper, 0.0))


def channel_delta(channel: ArrayLike, *, epsilon: float) -> float:
    r"""Smallest :math:`\delta` with which a channel is (epsilon, delta)-DP, Definition 3.

    :math:`\max_{x,x'}\sum_z(W_{xz}-e^\varepsilon W_{x'z})_+`: every two inputs are neighbours.
    ``epsilon`` is **not bits**; at 0 the result is the largest total variation distance.
    """
    W = _laws("channel", channel, 2)
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(np.maximum(W[:, None] - factor * W[None], 0.0).sum(axis=2).max())


def conditional_information(joint: ArrayLike, mechanism: ArrayLike, *, entry: int) -> float:
    r""":math:`I(D_i;q(D)\mid D^{-i})` of (2) in bits, for one law of a finite database.

    ``joint`` is the law of the database, an array (k_1, ..., k_N); ``mechanism`` (k_1, ..., k_N, m)
    that of the output given the database; ``entry`` the index i from 0.

    >>> exclusive_or = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    >>> conditional_information(np.full((2, 2), 0.25), exclusive_or, entry=0)
    1.0
    """
    W = _laws("mechanism", mechanism)
    P = check_real_array("joint", joint, W.ndim - 1)
    if P.shape != W.shape[:-1]:
        raise ValueError(f"joint must have shape {W.shape[:-1]}, got joint of shape {P.shape}")
    if P.min() < 0 or abs(P.sum() - 1.0) > 1e-9:
        raise ValueError("joint must be a law: nonnegative numbers with sum 1")
    axis = check_integer("entry", entry, minimum=0)
    if axis >= P.ndim:
        raise ValueError(f"entry must be below {P.ndim}, got entry={entry!r}")
    triple = P[..., None] * W  # (k_1, ..., k_N, m): law of database and output
    rest = triple.sum(axis=axis, keepdims=True)
    inside = xlogy(triple, W).sum() - xlogy(triple, 1.0).sum()
    outside = xlogy(rest, rest).sum() - xlogy(rest, rest.sum(axis=-1, keepdims=True)).sum()
    return max(float(inside - outside) / LN2, 0.0)


def database_leakage(mechanism: ArrayLike, *, tolerance: float = 1e-6) -> _Bracket:
    r"""Bounds on the smallest :math:`\epsilon` in bits of Definition 1.

    The largest capacity among the channels that fixed other entries leave, each up to ``tolerance``
    bits; ``mechanism`` as in :func:`conditional_information`.
    """
    W = _laws("mechanism", mechanism)
    if W.ndim < 2:
        raise ValueError(f"mechanism must have input axes, got shape {W.shape}")
    brackets = [
        capacity_bracket(channel, tolerance=tolerance)
        for axis in range(W.ndim - 1)
        for channel in np.moveaxis(W, axis, -2).reshape(-1, W.shape[axis], W.shape[-1])
    ]
    return _Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def entry_distance(first: ArrayLike, second: ArrayLike) -> int:
    """In how many entries two tables differ; neighbours, Definition 2, differ in one."""
    a, b = check_finite_array("first", first), check_finite_array("second", second)
    if a.shape != b.shape:
        raise ValueError(f"second must have shape {a.shape}, got second of shape {b.shape}")
    return int(np.sum(a != b))
