r"""Algorithm 1: the exponential mechanism with zero-one score over a cover, sampled exactly.

The law is :math:`P(w)\propto\exp(-\frac\epsilon2N(w))` with N(w) the number of records that w
classifies wrongly. Two samplers of this module draw from it, a stream of Gumbel variables over the
cover and rejection from the lattice; :mod:`dplit.margin.arcs` has a third for two dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_rng,
)
from dplit._estimators import clip_rows
from dplit.features import sign_projection
from dplit.margin._records import scaled_rows
from dplit.margin.covers import lattice_blocks, lattice_side, log_lattice_size, reach_squared
from dplit.margin.dimensions import jl_dimension
from dplit.margin.losses import normalized_margin
from dplit.mechanisms import exponential_mechanism

__all__ = [
    "MarginSelection",
    "cover_law",
    "error_counts",
    "labelled_rows",
    "margin_selection",
    "rejection_draws",
    "streaming_choice",
]

Array = NDArray[np.float64]

#: Logarithm of the largest number of points that an enumeration accepts.
LARGEST = np.log(1e9)


class MarginSelection(NamedTuple):
    """Output of Algorithm 1: weights of shape (d,), and the public map it went through."""

    coef: Array
    projection: Array


def labelled_rows(X: ArrayLike, y: ArrayLike) -> Array:
    """Rows y_i x_i of a checked labelled sample.

    Parameters
    ----------
    X : array_like of shape (m, k)
        Features, finite.
    y : array_like of shape (m,)
        Labels -1 and 1.

    Returns
    -------
    ndarray of shape (m, k)
        All that a zero-one or hinge loss of linear functions sees.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, shapes disagree or a label is neither -1 nor 1.

    Examples
    --------
    >>> labelled_rows([[1.0, 2.0]], [-1])
    array([[-1., -2.]])
    """
    records = check_finite_array("X", X, ndim=2)
    labels = check_finite_array("y", y, ndim=1)
    if len(labels) != len(records):
        raise ValueError(f"y must have one label per row of X, got {len(labels)}, {len(records)}")
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError("y must hold -1 and 1 only")
    rows: Array = records * labels[:, None].astype(float)
    return rows


def error_counts(W: ArrayLike, X: ArrayLike, y: ArrayLike) -> Array:
    r"""Number of records that each weight vector classifies wrongly.

    Parameters
    ----------
    W : array_like of shape (n, k)
        Weight vectors, one a row.
    X : array_like of shape (m, k)
        Features.
    y : array_like of shape (m,)
        Labels -1 and 1.

    Returns
    -------
    ndarray of shape (n,)
        :math:`\#\{i:y_i\langle w,x_i\rangle\le0\}`; zero products count as errors.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, shapes disagree or a label is neither -1 nor 1.

    Examples
    --------
    >>> error_counts([[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [-1.0, 0.0]], [1, 1])
    array([1., 2.])
    """
    weights, rows = check_finite_array("W", W, ndim=2), labelled_rows(X, y)
    if weights.shape[1] != rows.shape[1]:
        raise ValueError(f"W must have {rows.shape[1]} columns, got W of shape {weights.shape}")
    return _counts(weights, scaled_rows(rows))


def _counts(weights: Array, rows: Array) -> Array:
    counts: Array = np.count_nonzero(weights @ rows.T <= 0, axis=1).astype(float)
    return counts


def cover_law(counts: ArrayLike, *, epsilon: float) -> Array:
    r"""Enumerated law of the exponential mechanism from the error counts of all candidates.

    Parameters
    ----------
    counts : array_like of shape (n,)
        Errors of each candidate.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    ndarray of shape (n,)
        :math:`P(i)\propto e^{-\epsilon N_i/2}`: one replaced record changes each count by at most
        1, each probability by a factor of at most :math:`e^\epsilon`.

    Raises
    ------
    TypeError, ValueError
        If the counts are not finite or epsilon is not positive.

    References
    ----------
    R. Bassily, M. Mohri, A. T. Suresh, Differentially private learning with margin guarantees,
    NeurIPS 2022, Algorithm 1, line 5.

    Examples
    --------
    >>> cover_law([0.0, 2.0], epsilon=1.0).round(4)
    array([0.7311, 0.2689])
    """
    values = check_finite_array("counts", counts, ndim=1)
    law: Array = softmax(-0.5 * check_positive("epsilon", epsilon) * values)
    return law


def streaming_choice(
    blocks: Iterable[Array],
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
) -> int:
    """Position of the candidate that the exponential mechanism chooses, candidates in a stream.

    Parameters
    ----------
    blocks : iterable of ndarray (n, k)
        Candidates, such as :func:`dplit.margin.covers.lattice_blocks`; each block is dropped
        before the next one is made.
    X : array_like of shape (m, k)
        Features.
    y : array_like of shape (m,)
        Labels -1 and 1.
    epsilon : float
        Privacy loss, positive; neighbours replace one record.
    rng : numpy.random.Generator
        Source of privacy noise.

    Returns
    -------
    int
        Position in the stream. It has exactly the law of
        :func:`dplit.margin.exponential.cover_law`; the choice is epsilon-private.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, shapes disagree, there is no candidate or epsilon is not
        positive.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.margin.covers import lattice_blocks
    >>> blocks = lattice_blocks(2, radius=1.0, covering_radius=0.5)
    >>> X, rng = np.tile([[1.0, 0.2]], (200, 1)), np.random.default_rng(0)
    >>> position = streaming_choice(blocks, X, np.ones(200), epsilon=1.0, rng=rng)
    """
    rows = scaled_rows(labelled_rows(X, y))
    scores = chain.from_iterable(_counts(block, rows).tolist() for block in blocks)
    options = {"epsilon": epsilon, "sensitivity": 1.0}
    return exponential_mechanism(scores, better="lower", rng=rng, **options)


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
    r"""Independent draws from the exponential mechanism on the lattice cover, by rejection.

    Parameters
    ----------
    X : array_like of shape (m, k)
        Features.
    y : array_like of shape (m,)
        Labels -1 and 1.
    epsilon : float
        Privacy loss of one draw, positive.
    radius, covering_radius : float
        Of the cover, as in :func:`dplit.margin.covers.lattice_blocks`.
    n_draws : int
        Number of draws, at least 1.
    rng : numpy.random.Generator
        Source of privacy noise.

    Returns
    -------
    ndarray of shape (n_draws, k)
        Points of the cover with exactly its law. How many lattice points were tried is not
        published; the run time depends on the data.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, shapes disagree or an argument is out of its range.

    Notes
    -----
    Uniform points of the lattice in a cube are kept if they lie within reach of the ball, moved
    into it, and accepted with probability :math:`e^{-\epsilon N(w)/2}`.

    Examples
    --------
    >>> import numpy as np
    >>> options = dict(epsilon=1.0, radius=1.0, covering_radius=0.5, n_draws=3)
    >>> rng = np.random.default_rng(0)
    >>> rejection_draws([[1.0, 0.2]], [1], rng=rng, **options).shape
    (3, 2)
    """
    rows, count = scaled_rows(labelled_rows(X, y)), check_integer("n_draws", n_draws)
    eps, generator = check_positive("epsilon", epsilon), check_rng(rng)
    k, ball = rows.shape[1], check_positive("radius", radius)
    side = lattice_side(n_components=k, covering_radius=covering_radius)
    limit = reach_squared(ball, covering_radius, side)
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


def margin_selection(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    margin: float,
    beta: float,
    data_norm: float,
    weight_norm: float = 1.0,
    n_components: int | None = None,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
) -> MarginSelection:
    r"""Algorithm 1: project by signs, select in a cover of the small ball, come back.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Features; rows longer than ``data_norm`` are clipped to it.
    y : array_like of shape (m,)
        Labels -1 and 1.
    epsilon : float
        Privacy loss, positive; neighbours replace one record.
    margin : float
        Confidence margin in :math:`(0,\Lambda r]`, chosen without looking at the data.
    beta : float
        Failure probability of the guarantee in (0, 1).
    data_norm, weight_norm : float
        Public radii r and :math:`\Lambda`, positive.
    n_components : int, optional
        Dimension k; the rule with our constants if it is not given. From d on there is no
        projection: the map is the identity.
    public_rng : numpy.random.Generator
        Draws the projection, which may be published.
    rng : numpy.random.Generator
        Draws the selection: another stream.

    Returns
    -------
    MarginSelection
        Weights :math:`\Phi^\top\tilde w`, :math:`\epsilon`-private whatever k is, and the map.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range, or the cover has more than 1e9 points.

    References
    ----------
    R. Bassily, M. Mohri, A. T. Suresh, Differentially private learning with margin guarantees,
    NeurIPS 2022, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng, public = np.random.default_rng(0), np.random.default_rng(1)
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 0.1]] * 90), np.array([1, -1] * 90)
    >>> options = dict(epsilon=1.0, margin=0.8, beta=0.05, data_norm=1.0)
    >>> w = margin_selection(X, y, rng=rng, public_rng=public, **options).coef
    >>> bool(np.all(y * (X @ w) > 0))
    True
    """
    rows, r = labelled_rows(X, y), check_positive("data_norm", data_norm)
    if check_rng(public_rng) is check_rng(rng):
        raise ValueError("rng must not be public_rng: the map is public, the selection is not")
    m, d = rows.shape
    a = normalized_margin(margin=margin, data_norm=r, weight_norm=weight_norm)
    check_interval("beta", beta, 0.0, 1.0)
    rule = jl_dimension(normalized_margin=a, n_samples=m, beta=beta / 3)
    k = min(d, rule if n_components is None else check_integer("n_components", n_components))
    rows = clip_rows(rows, r)
    phi = np.eye(d) if k == d else sign_projection(d, k, rng=check_rng(public_rng))
    ball, gamma = 2 * weight_norm, margin / (10 * r)
    size = log_lattice_size(k, radius=ball, covering_radius=gamma)
    if size > LARGEST:
        raise ValueError(
            f"the cover must have at most 1e9 points, got about exp({size:.0f}) for "
            f"n_components={k}: use a smaller one"
        )
    cover, again = (lattice_blocks(k, radius=ball, covering_radius=gamma) for _ in range(2))
    ones = np.ones(m, dtype=int)
    chosen = streaming_choice(cover, rows @ phi.T, ones, epsilon=epsilon, rng=rng)
    return MarginSelection(_at(again, chosen) @ phi, phi)


def _at(blocks: Iterator[Array], position: int) -> Array:
    """Return one point of a stream, by its position."""
    for block in blocks:
        if position < len(block):
            point: Array = block[position]
            return point
        position -= len(block)
    raise IndexError("the position is behind the end of the stream")
