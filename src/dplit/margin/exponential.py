r"""Algorithm 1, Theorem 3.1, and the exponential mechanism with a Gaussian prior.

The law is :math:`P(w)\propto\exp(-\frac\epsilon2N(w))`, N(w) the number of errors, zero products
among them. Exact samplers: Gumbel variables over the cover, rejection, arcs in two dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.linalg.lapack import dormqr
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr, softmax

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit._estimators import clip_rows
from dplit.features import sign_projection
from dplit.margin.covers import (
    _jl_dimension,
    _lattice_blocks,
    _lattice_side,
    _log_cover_bound,
    _reach_squared,
    log_lattice_size,
)
from dplit.margin.losses import _labelled_records, _normalized_margin, _scaled_rows
from dplit.mechanisms import exponential_mechanism
from dplit.mechanisms.draws import record_draw

#: Logarithm of the largest number of points that an enumeration accepts.
_LARGEST = np.log(1e9)


class _MarginSelection(NamedTuple):
    """Output of Algorithm 1: weights of shape (d,), and the public map (k, d) it went through."""

    coef: Array
    projection: Array


def _labelled_rows(X: ArrayLike, y: ArrayLike) -> Array:
    """Rows y_i x_i of a checked labelled sample: all that a loss of linear functions sees."""
    records, labels = _labelled_records(X, y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    return np.asarray(records * labels[:, None])


def error_counts(W: ArrayLike, X: ArrayLike, y: ArrayLike) -> Array:
    """Number of records that each row of ``W`` classifies wrongly; zero products count."""
    weights, rows = check_finite_array("W", W, ndim=2), _labelled_rows(X, y)
    if weights.shape[1] != rows.shape[1]:
        raise ValueError(f"W must have {rows.shape[1]} columns, got W of shape {weights.shape}")
    return _counts(weights, _scaled_rows(rows))


def _counts(weights: Array, rows: Array) -> Array:
    return np.asarray(np.count_nonzero(weights @ rows.T <= 0, axis=1).astype(float))


def cover_law(counts: ArrayLike, *, epsilon: float) -> Array:
    r"""Law :math:`P(i)\propto e^{-\epsilon N_i/2}` from the error counts of all candidates."""
    values = check_finite_array("counts", counts, ndim=1)
    return np.asarray(softmax(-0.5 * check_positive("epsilon", epsilon) * values))


def _streaming_choice(
    blocks: Iterable[Array], X: ArrayLike, y: ArrayLike, *, epsilon: float, rng: np.random.Generator
) -> int:
    """Position of a draw from :func:`cover_law`; each block (n, k) is dropped before the next."""
    rows = _scaled_rows(_labelled_rows(X, y))
    scores = chain.from_iterable(_counts(block, rows).tolist() for block in blocks)
    options = {"epsilon": epsilon, "sensitivity": 1.0}
    return exponential_mechanism(scores, better="lower", rng=rng, **options)


@quiet
def rejection_draws(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, radius: float, covering_radius: float,
    n_draws: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    r"""Independent draws (n, k) from the exponential mechanism on the lattice cover, by rejection.

    Uniform lattice points of a cube are kept if they lie within reach of the ball, moved into it,
    and accepted with probability :math:`e^{-\epsilon N(w)/2}`. The run time depends on the data.
    """
    rows, count = _scaled_rows(_labelled_rows(X, y)), check_integer("n_draws", n_draws)
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


def _margin_selection(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, margin: float, beta: float, data_norm: float,
    weight_norm: float = 1.0, n_components: int | None = None, public_rng: np.random.Generator,
    rng: np.random.Generator,
) -> _MarginSelection:  # fmt: skip
    """Algorithm 1: project by signs, select in a cover of the small ball, come back. Rows longer
    than ``data_norm`` are clipped; epsilon-private under replacement of one record whatever k is,
    by default ``_jl_dimension``; from d on without a map. A cover of more than 1e9 points is
    refused.
    """
    rows, r = _labelled_rows(X, y), check_positive("data_norm", data_norm)
    if check_rng(public_rng) is check_rng(rng):
        raise ValueError("rng must not be public_rng: the map is public, the selection is not")
    m, d = rows.shape
    a = _normalized_margin(margin=margin, data_norm=r, weight_norm=weight_norm)
    check_interval("beta", beta, 0.0, 1.0)
    rule = _jl_dimension(normalized_margin=a, n_samples=m, beta=beta / 3)
    k = min(d, rule if n_components is None else check_integer("n_components", n_components))
    rows = clip_rows(rows, r)
    phi = np.eye(d) if k == d else sign_projection(d, k, rng=check_rng(public_rng))
    ball, gamma = 2 * weight_norm, margin / (10 * r)
    size = log_lattice_size(k, radius=ball, covering_radius=gamma)
    if size > _LARGEST:
        raise ValueError(
            f"the cover must have at most 1e9 points, got about exp({size:.0f}) for "
            f"n_components={k}: use a smaller one"
        )
    cover, again = (_lattice_blocks(k, radius=ball, covering_radius=gamma) for _ in range(2))
    ones = np.ones(m, dtype=int)
    chosen = _streaming_choice(cover, rows @ phi.T, ones, epsilon=epsilon, rng=rng)
    return _MarginSelection(_at(again, chosen) @ phi, phi)


def _at(blocks: Iterator[Array], position: int) -> Array:
    """Return one point of a stream, by its position."""
    for block in blocks:
        if position < len(block):
            return np.asarray(block[position])
        position -= len(block)
    raise IndexError("the position is behind the end of the stream")


# Theorem 3.1 with constants: what the exponential mechanism on a cover is shown to achieve.


class _CoverTerms(NamedTuple):
    """Dimension k, log of the size of the cover, that plus log(3/beta), and the excess."""

    n_components: int
    log_cover: float
    log_budget: float
    excess: float


def cover_terms(
    *, normalized_margin: float, n_samples: int, epsilon: float, beta: float
) -> _CoverTerms:
    r"""Quantities of Theorem 3.1: k for failure :math:`\beta/3`, :math:`k\log(1+40/a)`, and more.

    :math:`\ell=k\log(1+40/a)+\log(3/\beta)`, and the excess :math:`2\ell/(\epsilon m)` of training
    error.
    """
    probability = check_probability("beta", beta)
    k = _jl_dimension(
        normalized_margin=normalized_margin, n_samples=n_samples, beta=probability / 3
    )
    log_cover = _log_cover_bound(k, radius=2.0, covering_radius=normalized_margin / 10)
    budget = log_cover + math.log(3 / probability)
    excess = 2 * budget / (check_positive("epsilon", epsilon) * n_samples)
    return _CoverTerms(k, log_cover, budget, excess)


def chernoff_upper(error: float, *, rate: float) -> float:
    r"""Largest population error :math:`A+t+\sqrt{t^2+2tA}` that a training error A allows.

    It fails for one fixed classifier with probability at most :math:`e^{-tm}`, t = ``rate``.
    """
    value, t = check_nonnegative("error", error), check_nonnegative("rate", rate)
    return value + t + math.sqrt(t * t + 2 * t * value)


def relative_bound(
    margin_error: float, *, log_budget: float, n_samples: int, epsilon: float
) -> float:
    r"""Right side of Theorem 3.1, :math:`\hat R+\sqrt{2\hat R\ell/m}+6\ell/(\min(1,\epsilon)m)`.

    >>> round(relative_bound(0.0, log_budget=2030.0, n_samples=10_000, epsilon=1.0), 3)
    1.218
    """
    share = check_probability("margin_error", margin_error, zero=True, one=True)
    t = check_nonnegative("log_budget", log_budget) / check_integer("n_samples", n_samples)
    return share + math.sqrt(2 * share * t) + 6 * t / min(1.0, check_positive("epsilon", epsilon))


# The exponential mechanism with a Gaussian prior: no projection, no cover, any dimension.


#: Proposals that are tried at a time.
_BATCH = 512


class _GibbsDraw(NamedTuple):
    """Weights of shape (d,), and two numbers that are **not private**: errors and proposals."""

    coef: Array
    error: float
    proposals: int


def gaussian_prior_draw(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, rng: np.random.Generator,
    max_proposals: int = 10**7,
) -> Array:  # fmt: skip
    r"""One draw from the exponential mechanism with a standard Gaussian prior, epsilon-private.

    A proposal from the prior is accepted with probability :math:`\max(e^{-\epsilon N(w)/2},1/K)`, K
    = ``max_proposals``: the mechanism for the score :math:`\min(N,\frac2\epsilon\log K)`, of
    sensitivity 1 like N. More than tK proposals have probability at most :math:`e^{-t}` on every
    data set; their number is not published. Records (m, d) may have any length.
    """
    return watched_prior_draw(X, y, epsilon=epsilon, rng=rng, max_proposals=max_proposals).coef


@quiet
def watched_prior_draw(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, rng: np.random.Generator,
    max_proposals: int = 10**7,
) -> _GibbsDraw:  # fmt: skip
    """Draw as :func:`gaussian_prior_draw` does; of the fields only ``coef`` is private."""
    rows, generator = _scaled_rows(_labelled_rows(X, y)), check_rng(rng)
    factor = check_positive("epsilon", epsilon) / 2
    floor = 1.0 / check_integer("max_proposals", max_proposals)
    m, d = rows.shape
    record_draw(
        "event", "weights by their errors", scale=1.0 / factor, stated=lambda _: 2.0 * factor
    )
    basis, inside = (None, rows.T) if d <= m else qr(rows.T, mode="raw")  # rows.T = Q inside
    tried = 0
    while True:
        proposals = generator.standard_normal((_BATCH, len(inside)))
        counts = np.count_nonzero(proposals @ inside <= 0, axis=1)
        chance = np.maximum(np.exp(-factor * counts), floor)
        accepted = np.flatnonzero(generator.random(_BATCH) < chance)
        if len(accepted):
            first = int(accepted[0])
            coef, error = proposals[first], float(counts[first]) / m
            if basis is not None:  # a proposal in the span, the prior outside
                rotate = partial(dormqr, "L", a=basis[0], tau=basis[1], lwork=1 << 13)
                whole = rotate(trans="T", c=generator.standard_normal((d, 1)))[0]
                whole[:m, 0] = coef
                coef = rotate(trans="N", c=whole)[0][:, 0]
            # a copy: a view would bring the array along that it looks at
            return _GibbsDraw(coef.copy(), error, tried + first + 1)
        tried += _BATCH


def prior_mass(z: float, *, normalized_margin: float, sharpened: bool = True) -> float:
    r"""Prior mass :math:`\bar\Phi(s)` of weights that err on a point of margin :math:`\rho` rarely.

    That is with probability :math:`\bar\Phi(z)`; :math:`s=z\sqrt{1-a^2}/a`, or :math:`z/a` if not
    ``sharpened``.
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    spread = math.sqrt(1 - a * a) if sharpened else 1.0
    return float(ndtr(-check_positive("z", z) * spread / a))


def gaussian_prior_bound(
    *, normalized_margin: float, n_samples: int, epsilon: float, beta: float, sharpened: bool = True
) -> float:
    r"""Bound on the excess training error of the Gaussian prior over the best margin loss.

    The least over z of :math:`2\bar\Phi(z)+\frac2{\epsilon
    m}(\log\frac2\beta+\log\frac1{\bar\Phi(s)})`, s as in :func:`prior_mass`. With the floor 1/K of
    :func:`gaussian_prior_draw` it holds where margin loss plus bound stay below
    :math:`\frac2{\epsilon m}\log K`.

    >>> options = dict(normalized_margin=0.5, n_samples=300, epsilon=1.0, beta=0.05)
    >>> round(gaussian_prior_bound(sharpened=False, **options), 3)
    0.133
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    scale = 2 / (check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples))
    fixed = scale * math.log(2 / check_probability("beta", beta))
    ratio = (math.sqrt(1 - a * a) if sharpened else 1.0) / a

    def slack(z: float) -> float:
        return float(2 * ndtr(-z) - scale * log_ndtr(-z * ratio))

    if ratio == 0.0:  # every point on the line of the comparator: half of the prior is right
        return fixed + scale * math.log(2)
    best = minimize_scalar(slack, bounds=(1e-6, 12.0), method="bounded", options={"xatol": 1e-10})
    return fixed + float(best.fun)


# Exact privacy of the exponential mechanism over a finite set, by enumeration.


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
    r"""Renyi divergence of two such laws, at most :math:`\alpha\epsilon^2/8` for neighbours."""
    left, right = _pair(counts, neighbour)
    eps = check_positive("epsilon", epsilon)
    return float(_divergence(_log_law(left, eps), _log_law(right, eps), order))


def _replacements(wrong: ArrayLike, others: ArrayLike) -> Array:
    """Error counts (m * p, n) of all samples with one record replaced by one of the given ones.
    ``wrong`` (n, m) says which candidate errs on which record, ``others`` (n, p) on which newcomer.
    """
    old = check_finite_array("wrong", wrong, ndim=2).astype(float)
    new = check_finite_array("others", others, ndim=2).astype(float)
    if len(old) != len(new):
        raise ValueError(f"others must have {len(old)} rows, got others of shape {new.shape}")
    left = old.sum(axis=1, keepdims=True) - old
    both = left[:, :, None] + new[:, None, :]
    return np.asarray(both.reshape(len(old), -1).T)


def audit_replacements(
    wrong: ArrayLike, others: ArrayLike, *, epsilon: float, orders: ArrayLike = (1.1, 2.0, 8.0)
) -> _PrivacyAudit:
    """Largest log-ratio and divergence over order of all ``_replacements`` of one record."""
    old = check_finite_array("wrong", wrong, ndim=2).astype(float)
    eps = check_positive("epsilon", epsilon)
    base, pairs = (_log_law(v, eps) for v in (old.sum(axis=1), _replacements(wrong, others)))
    rho = max(
        float(_divergence(p, q, order).max()) / order
        for p, q in ((base, pairs), (pairs, base))
        for order in np.atleast_1d(orders).astype(float).tolist()
    )
    return _PrivacyAudit(float(np.abs(base - pairs).max()), rho, len(pairs))


# The exponential mechanism with zero-one score on the whole disc, exactly, in two dimensions.


class _Arcs(NamedTuple):
    """Arcs of directions on which the number of errors is constant."""

    start: Array
    length: Array
    errors: Array


def constant_arcs(X: ArrayLike, y: ArrayLike) -> _Arcs:
    r"""The at most 2 m arcs of directions in the plane on which the number of errors is constant.

    In order of their start in :math:`[0,2\pi)`; a record is wrong on the closed half circle
    opposite to y x, and everywhere if x = 0. Time O(m log m).

    >>> constant_arcs([[1.0, 0.0]], [1]).errors
    array([1., 0.])
    """
    rows = _labelled_rows(X, y)
    if rows.shape[1] != 2:
        raise ValueError(f"X must have 2 columns, got X of shape {rows.shape}")
    live = rows[np.any(rows != 0, axis=1)]
    always, turn = len(rows) - len(live), 2 * np.pi
    if not len(live):
        return _Arcs(np.zeros(1), np.full(1, turn), np.full(1, float(always)))
    angle = np.arctan2(live[:, 1], live[:, 0])
    enter, leave = np.mod(angle + np.pi / 2, turn), np.mod(angle - np.pi / 2, turn)
    at = np.concatenate([enter, leave])
    order = np.argsort(at, kind="stable")
    step = np.repeat([1.0, -1.0], len(live))[order]
    at = at[order]
    length = np.diff(np.append(at, at[0] + turn))
    changes = np.concatenate([[0.0], np.cumsum(step[1:])])
    widest = int(length.argmax())  # arcs between equal angles are empty
    middle = np.mod(at[widest] + length[widest] / 2 - angle, turn)
    wrong = np.count_nonzero((middle > np.pi / 2) & (middle < 3 * np.pi / 2))
    errors: Array = float(always + wrong) + changes - changes[widest]
    return _Arcs(at, length, errors)


def arc_law(arcs: _Arcs, *, epsilon: float) -> Array:
    r"""Probability of each arc on the disc: length times :math:`e^{-\epsilon N/2}`, normed."""
    weights = np.exp(-0.5 * check_positive("epsilon", epsilon) * (arcs.errors - arcs.errors.min()))
    mass = arcs.length * weights
    return np.asarray(mass / mass.sum())


@quiet
def arc_draws(arcs: _Arcs, *, epsilon: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Angles in [0, 2 pi) drawn from the exponential mechanism on the disc, exactly."""
    law, count = arc_law(arcs, epsilon=epsilon), check_integer("n_draws", n_draws)
    record_draw(
        "event", "angles by their errors", scale=2.0 / epsilon, copies=count,
        stated=lambda _: epsilon,
    )  # fmt: skip
    chosen = check_rng(rng).choice(len(law), size=count, p=law)
    angles: Array = np.mod(arcs.start[chosen] + arcs.length[chosen] * rng.random(count), 2 * np.pi)
    return angles


def arc_log_ratio(left: _Arcs, right: _Arcs, *, epsilon: float) -> float:
    """Largest absolute log-ratio of the densities of two samples on the circle, by integration.

    >>> one, other = constant_arcs([[1.0, 0.0]], [1]), constant_arcs([[1.0, 0.0]], [-1])
    >>> round(arc_log_ratio(one, other, epsilon=1.0), 9)
    0.5
    """
    eps = check_positive("epsilon", epsilon)
    starts = np.unique(np.concatenate([left.start, right.start]))
    ends = np.append(starts[1:], starts[0] + 2 * np.pi)
    middles = np.mod((starts + ends) / 2, 2 * np.pi)[ends - starts > 1e-12]
    gap = _log_density(left, middles, eps) - _log_density(right, middles, eps)
    return float(np.max(np.abs(gap)))


def _log_density(arcs: _Arcs, angles: Array, epsilon: float) -> Array:
    logits = -0.5 * epsilon * arcs.errors
    total = logsumexp(logits, b=arcs.length)
    return np.asarray(logits[np.searchsorted(arcs.start, angles, side="right") - 1] - total)
