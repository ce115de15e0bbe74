r"""Exact privacy of Laplace noise on subsampled features.

One record moves the sum by :math:`Q(x,h)=\alpha^{-1}\|\Phi(x)\odot h\|_1`. Far out in the direction
of the signs of :math:`\Phi(x)` every mask moves the log density by exactly :math:`Q/b`, so the
density ratios are :math:`E_he^{Q/b}` (a record is added) and :math:`1/E_he^{-Q/b}` (taken away):
for the four mask laws a product, two terms, or an elementary symmetric polynomial.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from dplit._checks import Array, check_choice, check_finite_array, check_positive, check_probability
from dplit.papers.sketching.masks import _MaskLaw, mask_support

_Direction = Literal["add", "remove"]


def _magnitudes(features: ArrayLike, *, norm: Literal[1, 2] = 1) -> Array:
    r"""Sizes (n_records, m) of features: :math:`|\Re|+|\Im|` for ``norm=1``, else the modulus."""
    values = check_finite_array("features", features, ndim=2)
    if norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    if norm == 2 or values.dtype.kind != "c":
        sizes: Array = np.abs(values).astype(float)
    else:
        sizes = np.abs(values.real) + np.abs(values.imag)
    return sizes


def masked_norms(
    features: ArrayLike,
    masks: ArrayLike,
    *,
    alpha: float,
    norm: Literal[1, 2] = 1,
    other: ArrayLike | None = None,
) -> Array:
    r"""How far one record moves the subsampled sum, for every mask: Q of (14) and (15).

    :math:`\alpha^{-1}\|\Phi(x)\odot h\|_p` of shape (n_records, S), in real coordinates; with
    :math:`\Phi(x)-\Phi(y)` where the records of ``other`` take the places.
    """
    alpha = check_probability("alpha", alpha, one=True)
    values = check_finite_array("features", features, ndim=2)
    chosen = check_finite_array("masks", masks, ndim=2)
    if chosen.shape[1] != values.shape[1] or not np.isin(chosen, (0, 1)).all():
        raise ValueError(f"masks must be binary with {values.shape[1]} columns, got {chosen.shape}")
    if other is not None:
        replaced = check_finite_array("other", other, ndim=2)
        if replaced.shape != values.shape:
            raise ValueError(f"other must have shape {values.shape}, got {replaced.shape}")
        values = values - replaced
    sizes = _magnitudes(values, norm=norm)
    return np.asarray((sizes**norm @ chosen.T.astype(float)) ** (1.0 / norm) / alpha)


def _log_symmetric_mean(logs: Array, degree: int) -> Array:
    r"""Logarithm :math:`\log e_r(w)/\binom mr` of the mean product of r of the w, per row.

    ``logs`` of shape (rows, m) are their logarithms; O(m r) operations a row.
    """
    rows, count = logs.shape
    if degree == 1:
        top = logs.max(axis=1, keepdims=True)
        return np.asarray(top[:, 0] + np.log(np.exp(logs - top).mean(axis=1)))
    table = np.full((rows, degree + 1), -np.inf)
    table[:, 0] = 0.0
    for j in range(count):
        table[:, 1:] = np.logaddexp(table[:, 1:], table[:, :-1] + logs[:, j : j + 1])
    choices = gammaln(count + 1) - gammaln(degree + 1) - gammaln(count - degree + 1)
    return np.asarray(table[:, degree] - choices)


def _log_mgf(sizes: Array, law: _MaskLaw, factor: float) -> Array:
    """``log E exp(factor * sum_j h_j sizes_j)`` for each row of sizes."""
    if law.n_kept is not None:
        blocks = sizes.reshape(len(sizes), -1, law.block).sum(axis=2)
        return _log_symmetric_mean(factor * blocks, law.n_kept // law.block)
    if law.scheme == "data":
        sizes = sizes.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-law.alpha)
    return np.asarray(np.logaddexp(rest, math.log(law.alpha) + factor * sizes).sum(axis=1))


def _checked_sizes(features: ArrayLike, law: _MaskLaw) -> Array:
    sizes = _magnitudes(features)
    if sizes.shape[1] != law.n_components:
        raise ValueError(f"features must have {law.n_components} columns, got {sizes.shape}")
    return sizes


def record_epsilon(
    features: ArrayLike, law: _MaskLaw, *, scale: float, direction: _Direction = "add"
) -> Array:
    r"""Exact privacy loss that a given record causes, for Laplace noise on subsampled features.

    Lemma 15: :math:`\log E_he^{Q/b}` ("add") or :math:`-\log E_he^{-Q/b}` ("remove", never larger).
    Independent entries: :math:`\sum_j\log(1+\alpha(e^{a_j/(\alpha b)}-1))`, with a the magnitudes.
    Fixed number of ones: :math:`\log e_r(w)/\binom mr`, :math:`w_j=e^{a_j/(\alpha b)}`, in O(mr).

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("data", 2, alpha=0.5)
    >>> record_epsilon([[1.0, 1.0]], law, scale=2.0).round(4)
    array([1.4338])
    """
    sizes = _checked_sizes(features, law)
    check_choice("direction", direction, ("add", "remove"))
    sign = 1.0 if direction == "add" else -1.0
    return sign * _log_mgf(sizes, law, sign / (law.alpha * check_positive("scale", scale)))


def enumerated_epsilon(
    features: ArrayLike, law: _MaskLaw, *, scale: float, direction: _Direction = "add"
) -> Array:
    """Privacy loss of a record by listing all masks: the slow second route."""
    check_choice("direction", direction, ("add", "remove"))
    _checked_sizes(features, law)
    masks, probabilities = mask_support(law)
    moved = masked_norms(features, masks, alpha=law.alpha) / check_positive("scale", scale)
    sign = 1.0 if direction == "add" else -1.0
    return np.asarray(sign * logsumexp(sign * moved, axis=1, b=probabilities))
