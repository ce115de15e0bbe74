r"""Channels with finitely many inputs and outputs: the definitions of privacy, computed.

A channel is a matrix with one row per input, whose rows are laws of the output; a mechanism on a
database of N finite entries is an array with N input axes and one output axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr, xlogy

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = [
    "Bracket",
    "capacity_bracket",
    "channel_delta",
    "channel_information",
    "conditional_information",
    "database_leakage",
    "entry_distance",
    "erasure_channel",
    "symmetric_channel",
]

_Array = NDArray[np.float64]
_LN2 = float(np.log(2.0))


class Bracket(NamedTuple):
    """A number in bits between two bounds that were both computed."""

    lower: float
    upper: float


def _laws(name: str, value: ArrayLike, ndim: int | None = None) -> _Array:
    """Return an array whose last axis holds probabilities that sum to 1."""
    laws = np.asarray(check_finite_array(name, value, ndim=ndim), dtype=np.float64)
    if laws.min() < 0 or np.abs(laws.sum(axis=-1) - 1.0).max() > 1e-9:
        raise ValueError(f"{name} must hold laws: nonnegative numbers with sum 1 along the end")
    return laws


def erasure_channel(reveal: float) -> _Array:
    """Return the channel that publishes a bit with probability ``reveal``, and else nothing.

    Parameters
    ----------
    reveal : float
        Probability in [0, 1].

    Returns
    -------
    ndarray of shape (2, 3)
        Laws of (0, 1, nothing). Its capacity is ``reveal`` bits, under the uniform prior.

    Raises
    ------
    TypeError, ValueError
        If ``reveal`` is not a probability.

    Examples
    --------
    >>> from dplit.projection.finite_channels import erasure_channel
    >>> erasure_channel(0.25)[0]
    array([0.25, 0.  , 0.75])
    """
    p = check_probability("reveal", reveal, zero=True, one=True)
    return np.array([[p, 0.0, 1.0 - p], [0.0, p, 1.0 - p]])


def symmetric_channel(flip: float, *, reveal: float = 0.0) -> _Array:
    """Return the channel that flips a bit with probability ``flip``, unless it reveals it.

    Parameters
    ----------
    flip : float
        Probability in [0, 1] of a lie, given that the bit is not revealed.
    reveal : float, default=0.0
        Probability in [0, 1] with which the bit is published and said to be true.

    Returns
    -------
    ndarray of shape (2, 2) or (2, 4)
        Laws of the noisy bit; with ``reveal`` two further outputs are the certified bits.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a probability.

    Examples
    --------
    >>> from dplit.projection.finite_channels import symmetric_channel
    >>> symmetric_channel(0.25)[0]
    array([0.75, 0.25])
    """
    q = check_probability("flip", flip, zero=True, one=True)
    p = check_probability("reveal", reveal, zero=True, one=True)
    noisy = np.array([[1.0 - q, q], [q, 1.0 - q]])
    return np.hstack([(1.0 - p) * noisy, p * np.eye(2)]) if p else noisy


def channel_information(prior: ArrayLike, channel: ArrayLike) -> float:
    r"""Return the mutual information in bits between the input and the output of a channel.

    Parameters
    ----------
    prior : array_like of shape (k,)
        Law of the input.
    channel : array_like of shape (k, m)
        Laws of the output, one row per input.

    Returns
    -------
    float
        :math:`I=\sum_xp_x\sum_zW_{xz}\log_2(W_{xz}/\sum_{x'}p_{x'}W_{x'z})`, in [0, log2 k].

    Raises
    ------
    TypeError, ValueError
        If the arrays are not laws, or their sizes disagree.

    Examples
    --------
    >>> from dplit.projection.finite_channels import channel_information, symmetric_channel
    >>> round(channel_information([0.5, 0.5], symmetric_channel(0.11)), 3)
    0.5
    """
    p, W = _laws("prior", prior, 1), _laws("channel", channel, 2)
    if len(p) != len(W):
        raise ValueError(f"prior must have {len(W)} entries, got prior of shape {p.shape}")
    return max(float(p @ _divergences(W, p @ W)), 0.0)


def _divergences(W: _Array, q: _Array) -> _Array:
    """Return the divergences in bits of the rows of W from q; 0 mass in both counts nothing."""
    return np.asarray(rel_entr(W, q).sum(axis=1) / _LN2)


def capacity_bracket(
    channel: ArrayLike, *, tolerance: float = 1e-6, max_steps: int = 100_000
) -> Bracket:
    r"""Return lower and upper bounds on the capacity of a channel, by Blahut and Arimoto.

    Parameters
    ----------
    channel : array_like of shape (k, m)
        Laws of the output, one row per input.
    tolerance : float, default=1e-6
        The iteration ends when the bounds differ by at most so many bits.
    max_steps : int, default=100_000
        It ends after so many steps too; the bounds are valid whenever it ends.

    Returns
    -------
    Bracket
        ``lower`` is the information under the last prior p; ``upper`` is
        :math:`\max_xD(W_x\|pW)`, which no prior exceeds.

    Raises
    ------
    TypeError, ValueError
        If the array does not hold laws, or a setting is not positive.

    Notes
    -----
    For every law q of the output, :math:`I(p')\le\sum_xp'_xD(W_x\|q)\le\max_xD(W_x\|q)`.

    References
    ----------
    R. Blahut, IEEE Trans. Inform. Theory 18, 1972, 460-473; S. Arimoto, same volume, 14-20.

    Examples
    --------
    >>> from dplit.projection.finite_channels import capacity_bracket, erasure_channel
    >>> round(capacity_bracket(erasure_channel(0.2)).upper, 6)
    0.2
    """
    W = _laws("channel", channel, 2)
    width, steps = check_positive("tolerance", tolerance), check_integer("max_steps", max_steps)
    p = np.full(len(W), 1.0 / len(W))
    for _ in range(steps):
        divergences = _divergences(W, p @ W)
        lower, upper = float(p @ divergences), float(divergences.max())
        if upper - lower <= width:
            break
        p = p * np.exp2(divergences - upper)
        p /= p.sum()
    return Bracket(max(lower, 0.0), max(upper, 0.0))


def channel_delta(channel: ArrayLike, *, epsilon: float) -> float:
    r"""Return the smallest :math:`\delta` with which a channel is (epsilon, delta)-DP.

    Parameters
    ----------
    channel : array_like of shape (k, m)
        Laws of the output; every two inputs are neighbours.
    epsilon : float
        The :math:`\varepsilon` of differential privacy, **not bits**; nonnegative. At 0 the result
        is the largest total variation distance.

    Returns
    -------
    float
        :math:`\max_{x,x'}\sum_z(W_{xz}-e^\varepsilon W_{x'z})_+`.

    Raises
    ------
    TypeError, ValueError
        If the array does not hold laws, or ``epsilon`` is negative.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Definition 3, equation (3): the worst event
    collects the outputs on which the difference is positive.

    Examples
    --------
    >>> from dplit.projection.finite_channels import channel_delta, erasure_channel
    >>> channel_delta(erasure_channel(0.2), epsilon=10.0)
    0.2
    """
    W = _laws("channel", channel, 2)
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(np.maximum(W[:, None] - factor * W[None], 0.0).sum(axis=2).max())


def conditional_information(joint: ArrayLike, mechanism: ArrayLike, *, entry: int) -> float:
    r"""Return :math:`I(D_i;q(D)\mid D^{-i})` in bits for one law of a finite database.

    Parameters
    ----------
    joint : array_like of shape (k_1, ..., k_N)
        Law of the database.
    mechanism : array_like of shape (k_1, ..., k_N, m)
        Law of the output given the database.
    entry : int
        Index i of the entry, in 0, ..., N - 1.

    Returns
    -------
    float
        The information that the output adds about entry i to all other entries.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not laws, or their shapes disagree.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, the functional in (2).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.finite_channels import conditional_information
    >>> exclusive_or = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    >>> conditional_information(np.full((2, 2), 0.25), exclusive_or, entry=0)
    1.0
    """
    W = _laws("mechanism", mechanism)
    P = np.asarray(check_finite_array("joint", joint, ndim=W.ndim - 1), dtype=np.float64)
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
    return max(float(inside - outside) / _LN2, 0.0)


def database_leakage(mechanism: ArrayLike, *, tolerance: float = 1e-6) -> Bracket:
    r"""Return bounds on the smallest :math:`\epsilon` in bits with which a mechanism is MI-DP.

    Parameters
    ----------
    mechanism : array_like of shape (k_1, ..., k_N, m)
        Law of the output given a database of N finite entries.
    tolerance : float, default=1e-6
        Difference of the bounds at which each capacity is taken.

    Returns
    -------
    Bracket
        Bounds on :math:`\sup_{i,P}I(D_i;q(D)\mid D^{-i})`.

    Raises
    ------
    TypeError, ValueError
        If the array does not hold laws.

    Notes
    -----
    The conditional information is an average over the values of the other entries of what a channel
    with the i-th entry as its input transmits. The worst prior therefore fixes the others: the
    supremum is the largest **capacity** among the channels that fixed others leave.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Definition 1, equation (2).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.finite_channels import database_leakage
    >>> both = np.array([[[1.0, 0], [1, 0]], [[1, 0], [0, 1]]])  # the logical "and"
    >>> round(database_leakage(both).upper, 6)
    1.0
    """
    W = _laws("mechanism", mechanism)
    if W.ndim < 2:
        raise ValueError(f"mechanism must have input axes, got shape {W.shape}")
    brackets = [
        capacity_bracket(channel, tolerance=tolerance)
        for axis in range(W.ndim - 1)
        for channel in np.moveaxis(W, axis, -2).reshape(-1, W.shape[axis], W.shape[-1])
    ]
    return Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def entry_distance(first: ArrayLike, second: ArrayLike) -> int:
    """Return in how many entries two tables differ; neighbours of the paper differ in one.

    Parameters
    ----------
    first, second : array_like of shape (n, d)
        Tables of one shape.

    Returns
    -------
    int
        Number of different entries. A person who joins with a new row of d features is up to d
        entries away.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, or the shapes differ.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, Definition 2.

    Examples
    --------
    >>> from dplit.projection.finite_channels import entry_distance
    >>> entry_distance([[0, 1], [2, 3]], [[0, 1], [5, 6]])
    2
    """
    a, b = check_finite_array("first", first), check_finite_array("second", second)
    if a.shape != b.shape:
        raise ValueError(f"second must have shape {a.shape}, got second of shape {b.shape}")
    return int(np.sum(a != b))
