r"""The exponential mechanism with a Gaussian prior: no projection, no cover, any dimension.

The density is proportional to :math:`e^{-|w|^2/2-\epsilon N(w)/2}` with N(w) the number of
records that w classifies wrongly. It is sampled by rejection, up to a public floor on the chance
of acceptance, and its error depends on the margin only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from dplit._checks import check_integer, check_positive, check_probability, check_rng
from dplit.margin._records import scaled_rows
from dplit.margin.exponential import labelled_rows

__all__ = [
    "GibbsDraw",
    "gaussian_prior_bound",
    "gaussian_prior_draw",
    "prior_mass",
    "watched_prior_draw",
]

Array = NDArray[np.float64]

#: Proposals that are tried at a time.
_BATCH = 512


class GibbsDraw(NamedTuple):
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
    r"""One draw from the exponential mechanism with a standard Gaussian prior.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Features; no bound on their length is needed for privacy.
    y : array_like of shape (m,)
        Labels -1 and 1.
    epsilon : float
        Privacy loss, positive; neighbours replace one record.
    rng : numpy.random.Generator
        Source of privacy noise.
    max_proposals : int, default=10000000
        Number K of proposals that are expected at most, whatever the data are.

    Returns
    -------
    ndarray of shape (d,)
        Weights, purely :math:`\epsilon`-private.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    A proposal from the prior is accepted with probability :math:`\max(e^{-\epsilon N(w)/2},1/K)`.
    That is the exponential mechanism for the score :math:`\min(N,\frac2\epsilon\log K)`, of
    sensitivity 1 like N: nothing is given up, and a draw needs more than tK proposals with
    probability at most :math:`e^{-t}` on every data set. The number of proposals is not published.
    Where a share p of the prior would be accepted without the floor 1/K, the law is within
    :math:`1/(pK)` of the one without; where p is much less, the draw is one from the prior. N
    depends on the part of w in the span of the data only: proposals are drawn there, in min(m, d)
    coordinates, and the orthogonal part of an accepted one comes from the prior.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[1.0, 0.0]], (40, 1))
    >>> coef = gaussian_prior_draw(X, np.ones(40), epsilon=1.0, rng=np.random.default_rng(0))
    >>> coef.shape, bool(coef[0] > 0)
    ((2,), True)
    """
    return watched_prior_draw(X, y, epsilon=epsilon, rng=rng, max_proposals=max_proposals).coef


def watched_prior_draw(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    max_proposals: int = 10**7,
) -> GibbsDraw:
    """Draw as :func:`gaussian_prior_draw` does, and say what only an experiment may know.

    Parameters
    ----------
    X, y, epsilon, rng, max_proposals
        As in :func:`gaussian_prior_draw`.

    Returns
    -------
    GibbsDraw
        Of its fields only ``coef`` is private.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[1.0, 0.0]], (40, 1))
    >>> watched_prior_draw(X, np.ones(40), epsilon=1.0, rng=np.random.default_rng(0)).error
    0.0
    """
    rows, generator = scaled_rows(labelled_rows(X, y)), check_rng(rng)
    factor = check_positive("epsilon", epsilon) / 2
    floor = 1.0 / check_integer("max_proposals", max_proposals)
    m, d = rows.shape
    basis, inside = (None, rows.T) if d <= m else np.linalg.qr(rows.T)  # rows = inside.T @ basis.T
    tried = 0
    while True:
        proposals = generator.standard_normal((_BATCH, len(inside)))
        counts = np.count_nonzero(proposals @ inside <= 0, axis=1)
        chance = np.maximum(np.exp(-factor * counts), floor)
        accepted = np.flatnonzero(generator.random(_BATCH) < chance)
        if len(accepted):
            first = int(accepted[0])
            coef, error = proposals[first], float(counts[first]) / m
            if basis is not None:
                free = generator.standard_normal(d)
                coef = free + basis @ (coef - basis.T @ free)
            return GibbsDraw(coef, error, tried + first + 1)
        tried += _BATCH


def prior_mass(z: float, *, normalized_margin: float, sharpened: bool = True) -> float:
    r"""Prior mass of the weights that err on a point of margin :math:`\rho` rarely.

    Parameters
    ----------
    z : float
        Quantile: the conditional error is :math:`\bar\Phi(z)`. Positive.
    normalized_margin : float
        :math:`a=\rho/(\Lambda r)` in (0, 1].
    sharpened : bool, default=True
        Whether the rest of the point is counted as what it is, of squared length at most
        :math:`r^2-\alpha^2` at margin :math:`\alpha`, instead of :math:`r^2`.

    Returns
    -------
    float
        :math:`\bar\Phi(s)` with :math:`s=z\sqrt{1-a^2}/a`, or :math:`s=z/a`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(prior_mass(2.0, normalized_margin=0.8), 4)
    0.0668
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    spread = math.sqrt(1 - a * a) if sharpened else 1.0
    return float(norm.sf(check_positive("z", z) * spread / a))


def gaussian_prior_bound(
    *,
    normalized_margin: float,
    n_samples: int,
    epsilon: float,
    beta: float,
    sharpened: bool = True,
) -> float:
    r"""Bound on the excess training error of the Gaussian prior over the best margin loss.

    Parameters
    ----------
    normalized_margin : float
        :math:`a=\rho/(\Lambda r)` in (0, 1].
    n_samples : int
        Number m of records, at least 1.
    epsilon : float
        Privacy loss, positive.
    beta : float
        Failure probability in (0, 1).
    sharpened : bool, default=True
        See :func:`dplit.margin.gibbs.prior_mass`.

    Returns
    -------
    float
        The least over z of
        :math:`2\bar\Phi(z)+\frac2{\epsilon m}(\log\frac2\beta+\log\frac1{\bar\Phi(s)})`. With
        probability at least :math:`1-\beta` the training error of the draw is at most the margin
        loss of any comparator plus this; no dimension appears. With the floor 1/K of
        :func:`gaussian_prior_draw` it holds where the margin loss plus the bound stay below
        :math:`\frac2{\epsilon m}\log K`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Given :math:`\langle w,w^*\rangle=t\ge s` a point of margin :math:`\alpha>\rho` is wrong with
    probability :math:`\bar\Phi(t\alpha/|x_\perp|)\le\bar\Phi(z)`. By Markov's inequality at least
    half of these weights have at most twice that share of errors beyond the margin loss.

    Examples
    --------
    >>> options = dict(normalized_margin=0.5, n_samples=300, epsilon=1.0, beta=0.05)
    >>> round(gaussian_prior_bound(sharpened=False, **options), 3)
    0.133
    >>> round(gaussian_prior_bound(**options), 3)
    0.114
    """
    a = check_probability("normalized_margin", normalized_margin, one=True)
    scale = 2 / (check_positive("epsilon", epsilon) * check_integer("n_samples", n_samples))
    fixed = scale * math.log(2 / check_probability("beta", beta))
    ratio = (math.sqrt(1 - a * a) if sharpened else 1.0) / a

    def slack(z: float) -> float:
        return float(2 * norm.sf(z) - scale * norm.logsf(z * ratio))

    if ratio == 0.0:  # every point on the line of the comparator: half of the prior is right
        return fixed + scale * math.log(2)
    best = minimize_scalar(slack, bounds=(1e-6, 12.0), method="bounded", options={"xatol": 1e-10})
    return fixed + float(best.fun)
