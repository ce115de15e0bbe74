r"""Theorem 3.1 with constants: what the exponential mechanism on a cover is shown to achieve.

The constants are ours. They come from one projection, one cover, one tail of the mechanism and one
Chernoff bound, each with a third of the failure probability.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.features import sign_projection
from dplit.margin.covers import log_cover_bound
from dplit.margin.dimensions import jl_dimension
from dplit.margin.exponential import labelled_rows
from dplit.margin.losses import normalized_margin as share_of_margin

__all__ = ["CoverTerms", "chernoff_upper", "cover_terms", "relative_bound", "rounded_margins"]

Array = NDArray[np.float64]


class CoverTerms(NamedTuple):
    """Dimension k, log of the size of the cover, that plus log(3/beta), and the excess."""

    n_components: int
    log_cover: float
    log_budget: float
    excess: float


def cover_terms(
    *, normalized_margin: float, n_samples: int, epsilon: float, beta: float
) -> CoverTerms:
    r"""Quantities of Theorem 3.1 for one setting.

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

    Returns
    -------
    CoverTerms
        k for failure :math:`\beta/3`; :math:`k\log(1+40/a)`; their
        :math:`\ell=k\log(1+40/a)+\log(3/\beta)`; and :math:`2\ell/(\epsilon m)`, what the
        mechanism may lose on the training error.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> options = dict(normalized_margin=0.5, n_samples=1000, epsilon=1.0, beta=0.05)
    >>> terms = cover_terms(**options)
    >>> terms.n_components, round(terms.log_cover), round(terms.excess, 3)
    (390, 1714, 3.436)
    """
    probability = check_probability("beta", beta)
    k = jl_dimension(normalized_margin=normalized_margin, n_samples=n_samples, beta=probability / 3)
    log_cover = log_cover_bound(k, radius=2.0, covering_radius=normalized_margin / 10)
    budget = log_cover + math.log(3 / probability)
    excess = 2 * budget / (check_positive("epsilon", epsilon) * n_samples)
    return CoverTerms(k, log_cover, budget, excess)


def chernoff_upper(error: float, *, rate: float) -> float:
    r"""Largest population error that a training error leaves plausible.

    Parameters
    ----------
    error : float
        Training error A, nonnegative.
    rate : float
        t, nonnegative: the failure probability is :math:`e^{-tm}` for one fixed classifier.

    Returns
    -------
    float
        :math:`A+t+\sqrt{t^2+2tA}`, the solution R of :math:`R-\sqrt{2tR}=A`; at most
        :math:`A+\sqrt{2tA}+2t`.

    Raises
    ------
    TypeError, ValueError
        If an argument is negative.

    Notes
    -----
    For a mean A of m independent zeros and ones with expectation R,
    :math:`P(A\le R-\sqrt{2tR})\le e^{-tm}`.

    Examples
    --------
    >>> round(chernoff_upper(0.1, rate=0.01), 4)
    0.1558
    """
    value, t = check_nonnegative("error", error), check_nonnegative("rate", rate)
    return value + t + math.sqrt(t * t + 2 * t * value)


def relative_bound(
    margin_error: float, *, log_budget: float, n_samples: int, epsilon: float
) -> float:
    r"""Right side of Theorem 3.1 with our constants.

    Parameters
    ----------
    margin_error : float
        Empirical margin loss :math:`\hat R^\rho_S(w)` of a comparator, in [0, 1].
    log_budget : float
        :math:`\ell`, nonnegative.
    n_samples : int
        Number m of records, at least 1.
    epsilon : float
        Privacy loss, positive.

    Returns
    -------
    float
        :math:`\hat R+\sqrt{2\hat R\ell/m}+6\ell/(\min(1,\epsilon)m)`; vacuous from 1 on.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    With :math:`A=\hat R+2t/\epsilon` and :math:`t=\ell/m`, the Chernoff bound is at most
    :math:`\hat R+\sqrt{2\hat Rt}+(2/\epsilon+2/\sqrt\epsilon+2)t`.

    Examples
    --------
    >>> round(relative_bound(0.0, log_budget=2030.0, n_samples=10_000, epsilon=1.0), 3)
    1.218
    """
    share = check_probability("margin_error", margin_error, zero=True, one=True)
    t = check_nonnegative("log_budget", log_budget) / check_integer("n_samples", n_samples)
    return share + math.sqrt(2 * share * t) + 6 * t / min(1.0, check_positive("epsilon", epsilon))


def rounded_margins(
    X: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    *,
    margin: float,
    data_norm: float = 1.0,
    n_components: int,
    rng: np.random.Generator,
) -> Array:
    r"""Margins that are left after a sign projection and the worst rounding to the cover.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Features.
    y : array_like of shape (m,)
        Labels -1 and 1.
    w : array_like of shape (d,)
        Comparator.
    margin : float
        :math:`\rho` in :math:`(0,|w|r]`.
    data_norm : float, default=1.0
        Radius r of the features.
    n_components : int
        Dimension k, at least 1.
    rng : numpy.random.Generator
        Draws the projection.

    Returns
    -------
    ndarray of shape (m,)
        :math:`(y\langle\Phi w,\Phi x\rangle-\gamma|\Phi x|)/\rho` with
        :math:`\gamma=\rho/(10r)`: positive where no rounding can turn the label.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> rng, X = np.random.default_rng(0), np.eye(3)[:1]
    >>> rounded_margins(X, [1], X[0], margin=1.0, n_components=5, rng=rng).round(2)
    array([0.9])
    """
    rows, weights = labelled_rows(X, y), check_finite_array("w", w, ndim=1)
    length = float(np.linalg.norm(weights))
    share_of_margin(margin=margin, data_norm=data_norm, weight_norm=length)
    phi = sign_projection(rows.shape[1], n_components, rng=check_rng(rng))
    small = rows @ phi.T
    kept = small @ (phi @ weights)
    worst: Array = kept - margin / (10 * data_norm) * np.linalg.norm(small, axis=1)
    return worst / margin
