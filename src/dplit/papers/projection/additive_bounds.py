"""Theorem 1 and what additive noise does to the relative error: bounds, worst cases, an augmented
problem.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svdvals

from dplit._checks import (
    Array,
    check_flag,
    check_integer,
    check_nonnegative,
    check_probability,
    check_real_array,
)
from dplit.entries._checks import check_pair
from dplit.entries.privacy import additive_sigma
from dplit.papers.projection.regression import _singular_values, condition_number, root_snr


def singular_value_tail(t: float, *, as_printed: bool = True) -> float:
    r"""Proposition 3, (27): :math:`P(\sigma_{\max}(N)>\sqrt n+\sqrt d+t)\le2e^{-t^2/2}`.

    Not ``as_printed`` it lacks the factor 2 of a two-sided statement. Above 1 it says nothing
    (printed: up to t = 1.18).
    """
    bound = math.exp(-(check_nonnegative("t", t) ** 2) / 2)
    return 2.0 * bound if check_flag("as_printed", as_printed) else bound


def noise_quotient(
    X: ArrayLike, *, epsilon: float, failure: float, as_printed: bool = True
) -> float:
    r""":math:`\kappa(\Delta+\delta)` of Theorem 1, the noise over the smallest singular value.

    :math:`\sigma_{AN}(\sqrt n+\sqrt d+t)/\sigma_{\min}(X)` with the t at which
    :func:`singular_value_tail` is ``failure``, in (0, 1]. Theorem 1 speaks **strictly** below 1.

    >>> round(noise_quotient(np.ones((100, 1)), epsilon=0.5, failure=1.0, as_printed=False), 9)
    1.1
    """
    allowed = check_probability("failure", failure, one=True)
    t = math.sqrt(2 * math.log((2.0 if check_flag("as_printed", as_printed) else 1.0) / allowed))
    smallest = float(_singular_values(X)[-1])
    n, d = np.shape(X)
    size = math.sqrt(n) + math.sqrt(d) + t
    return additive_sigma(epsilon=epsilon) * size / smallest


def _bound(u: float, kappa: float, snr: float, improved: bool) -> float:
    if u >= 1.0 or math.isinf(snr):
        return math.inf if u > 0 else 1.0
    q = u / (1.0 - u)
    return 1.0 + (q * (1.0 + snr)) ** 2 if improved else (1.0 + q * (kappa + snr)) ** 2


def theorem1_bound(
    X: ArrayLike, y: ArrayLike, *, epsilon: float, failure: float, improved: bool = False
) -> float:
    r"""Theorem 1, (11): bound on the relative error of additive noise that fails rarely.

    :math:`(1+q(\kappa+r))^2`, or ``improved`` :math:`1+q^2(1+r)^2`, with :math:`q=u/(1-u)` and u
    from :func:`noise_quotient`; **infinite** for :math:`u\ge1`, where nothing is claimed.

    >>> X, y = np.ones((100, 1)), np.arange(100.0)
    >>> theorem1_bound(X, y, epsilon=0.5, failure=0.05)
    inf
    """
    allowed, better = check_probability("failure", failure), check_flag("improved", improved)
    u = noise_quotient(X, epsilon=epsilon, failure=allowed, as_printed=not better)
    return _bound(u, condition_number(X), root_snr(X, y), better)


def perturbation_bound(
    X: ArrayLike, y: ArrayLike, E: ArrayLike, *, improved: bool = False
) -> float:
    r"""Square of Lemma 3, (26), or the sharper bound: relative error of least squares on X + E.

    As :func:`theorem1_bound` with :math:`u=\|E\|/\sigma_{\min}(X)`. For :math:`u<1` the perturbed
    design has rank d by itself.

    >>> X, y, E = [[1.0], [0.0]], [1.0, 1.0], [[-0.5], [0.0]]
    >>> perturbation_bound(X, y, E), perturbation_bound(X, y, E, improved=True)
    (9.0, 5.0)
    """
    design, response = check_pair(X, y)
    snr, values = root_snr(design, response), _singular_values(design)
    change = check_real_array("E", E, 2)
    if change.shape != design.shape:
        raise ValueError(f"E must have shape {design.shape}, got E of shape {change.shape}")
    u = float(svdvals(change)[0] / values[-1])
    return _bound(u, float(values[0] / values[-1]), snr, check_flag("improved", improved))


def worst_perturbation(*, u: float, root_snr: float) -> tuple[Array, Array, Array]:
    r"""X, y and E on which the improved bound is attained as r grows.

    :math:`X=(1,0)^\top`, :math:`y=(r,1)^\top` and :math:`E=-uX` with u in (0, 1): the excess of the
    relative error is :math:`q^2r^2`, the bound :math:`q^2(1+r)^2`.
    """
    size = check_probability("u", u)
    X = np.array([[1.0], [0.0]])
    return X, np.array([check_nonnegative("root_snr", root_snr), 1.0]), np.array([[-size], [0.0]])


def smallest_epsilon(X: ArrayLike) -> float:
    r"""Budget in bits at which :math:`\kappa\Delta=1`: Theorem 1 is empty for every smaller one."""
    ratio = float(_singular_values(X)[-1]) / sum(math.sqrt(size) for size in np.shape(X))
    return 0.5 * math.log2(1 + ratio**-2)


def necessary_epsilon(*, n_samples: int, n_features: int) -> float:
    r"""Budget in bits below which Theorem 1 is empty for **every** design with entries in [-1, 1].

    :math:`\tfrac12\log_2\big(1+(1+\sqrt{d/n})^2\big)`, always above half a bit.

    >>> round(necessary_epsilon(n_samples=10_000, n_features=800), 3)
    0.702
    """
    n = check_integer("n_samples", n_samples, minimum=2)
    d = check_integer("n_features", n_features)
    if n <= d:
        raise ValueError(f"n_samples must exceed n_features={d}, got n_samples={n}")
    return 0.5 * math.log2(1 + (1 + math.sqrt(d / n)) ** 2)


class _Augmented(NamedTuple):
    r"""The stacked problem: ``design`` is :math:`[X;\sigma I]`, ``response`` is :math:`[y;0]`."""

    design: Array
    response: Array


def augmented_problem(X: ArrayLike, y: ArrayLike, *, sigma: float) -> _Augmented:
    r"""Regression problem of which a noisy projection is a noiseless one, (24)-(25) and (28)-(29).

    :math:`SX+\sigma N=\tilde S\,[X;\sigma I]` and :math:`Sy=\tilde S\,[y;0]` with :math:`\tilde
    S=[S\ N]` of shape (n', n + d). Its least-squares fit is ridge regression with penalty
    :math:`\sigma^2`.
    """
    table, response = check_pair(X, y)
    d = table.shape[1]
    ridge = check_nonnegative("sigma", sigma) * np.eye(d)
    return _Augmented(np.vstack([table, ridge]), np.concatenate([response, np.zeros(d)]))
