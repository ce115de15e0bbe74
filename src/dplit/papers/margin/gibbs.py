"""The exponential mechanism with a Gaussian prior: no projection, no cover, any dimension."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.linalg.lapack import dormqr
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr

from dplit._checks import Array, check_integer, check_positive, check_probability, check_rng, quiet
from dplit._numerics.clipping import scaled_rows
from dplit.mechanisms._draws import record_draw
from dplit.papers.margin.exponential import _labelled_rows

#: Proposals that are tried at a time.
_BATCH = 512


class _GibbsDraw(NamedTuple):
    """Weights of shape (d,), and two numbers that are **not private**: errors and proposals."""

    coef: Array
    error: float
    proposals: int


def gaussian_prior_draw(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    max_proposals: int = 10**7,
) -> Array:
    r"""One draw from the exponential mechanism with a standard Gaussian prior, epsilon-private.

    A proposal from the prior is accepted with probability :math:`\max(e^{-\epsilon N(w)/2},1/K)`, K
    = ``max_proposals``: the mechanism for the score :math:`\min(N,\frac2\epsilon\log K)`, of
    sensitivity 1 like N. More than tK proposals have probability at most :math:`e^{-t}` on every
    data set; their number is not published. Records (m, d) may have any length.
    """
    return watched_prior_draw(X, y, epsilon=epsilon, rng=rng, max_proposals=max_proposals).coef


@quiet
def watched_prior_draw(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    max_proposals: int = 10**7,
) -> _GibbsDraw:
    """Draw as :func:`gaussian_prior_draw` does; of the fields only ``coef`` is private."""
    rows, generator = scaled_rows(_labelled_rows(X, y)), check_rng(rng)
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
