r"""Privacy of subsampled quadratic features :math:`(\omega_j^\top x)^2` on the unit ball.

With mask h a record moves the sum by :math:`\alpha^{-1}x^\top\Omega_h\Omega_h^\top x`. Where a
record is *replaced* the printed sensitivities are too small: nonnegative vectors with disjoint
supports add up. The corrected ones use the two largest eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import (
    Array,
    Neighboring,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_positive,
    check_rng,
)
from dplit.sketching.sensitivity import s4_ascent, s4_certificate
from dplit.sketching.subsampling.laplace import far_point, log_density
from dplit.sketching.subsampling.masks import _MaskLaw, mask_support


def _masked_operators(frequencies: ArrayLike, law: _MaskLaw) -> tuple[Array, Array]:
    r"""Matrices :math:`\Omega_h\Omega_h^\top` (S, d, d) of all masks, and their probabilities."""
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    masks, probabilities = mask_support(law)
    operators = np.einsum("aj,sj,bj->sab", columns, masks.astype(float), columns, optimize=True)
    return operators, probabilities


def _masked_spectra(frequencies: ArrayLike, law: _MaskLaw) -> Array:
    r"""Eigenvalues (S, d) of :math:`\Omega_h\Omega_h^\top` for every mask h, largest first."""
    operators, _ = _masked_operators(frequencies, law)
    return np.asarray(np.maximum(np.linalg.eigvalsh(operators)[:, ::-1], 0.0))


def quadratic_q1(
    frequencies: ArrayLike, law: _MaskLaw, *, neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:  # fmt: skip
    r"""Largest l1 distance, over masks and records, that one record moves the subsampled sum.

    :math:`\alpha^{-1}\max_h\lambda_1`, exact, or for "replace_one" the bound with
    :math:`\lambda_1+\lambda_2`, which Lemmas 19 and 20 as printed lack.
    """
    check_neighboring(neighboring)
    count = 1 if neighboring == "add_remove" or as_printed else 2
    spectra = _masked_spectra(frequencies, law)
    return float(spectra[:, :count].sum(axis=1).max()) / law.alpha


def masked_quartic(
    frequencies: ArrayLike, law: _MaskLaw, *, rng: np.random.Generator | None = None
) -> Array:
    r""":math:`S_4(\Omega_h)` of every mask, certified; with ``rng`` found from below."""
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    values = []
    for mask in mask_support(law)[0]:
        kept = columns[:, mask]
        if kept.shape[1] == 0:
            values.append(0.0)
        elif rng is None:
            values.append(s4_certificate(kept))
        else:
            values.append(s4_ascent(kept, rng=rng).value)
    return np.array(values)


def quadratic_q2(
    frequencies: ArrayLike, law: _MaskLaw, *, neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:  # fmt: skip
    r"""Bound of the l2 distance, over masks and records, that one record moves the sum.

    :math:`\alpha^{-1}\max_hS_4(\Omega_h)`, certified, times :math:`\sqrt2` for "replace_one", which
    Lemma 25 as printed lacks.
    """
    check_neighboring(neighboring)
    factor = 1.0 if neighboring == "add_remove" or as_printed else math.sqrt(2.0)
    return factor * float(masked_quartic(frequencies, law).max()) / law.alpha


def replaced_loss(
    frequencies: ArrayLike, law: _MaskLaw, x: ArrayLike, y: ArrayLike, *, scale: float
) -> float:
    """Log density ratio at a far release where y takes the place of x: a lower bound of epsilon."""
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    pair = [check_finite_array(n, v, ndim=1).astype(float) for n, v in (("x", x), ("y", y))]
    for name, record in zip(("x", "y"), pair, strict=True):
        if record.shape != (len(columns),) or np.linalg.norm(record) > 1 + 1e-12:
            raise ValueError(
                f"{name} must have {len(columns)} entries and norm at most 1, "
                f"got {name} of shape {record.shape} and norm {np.linalg.norm(record):.6g}"
            )
    first, second = ((record @ columns) ** 2 for record in pair)
    distance = 10.0 * float(max(first.max(), second.max())) / law.alpha + 1.0
    point = far_point(first - second, distance=distance)[None]
    densities = [log_density(point, [value], law, scale=scale)[0] for value in (first, second)]
    return float(densities[0] - densities[1])


# What subsampled quadratic features really spend, and when Lemma 20 is sharp.


class _QuadraticEpsilon(NamedTuple):
    """Exact epsilon between an ascent from below and the mean over masks from above."""

    lower: float
    upper: float
    x: Array


class _Spending(NamedTuple):
    """Budgets spent at the noise of Lemma 20 for epsilon = 1, for several mask laws."""

    exact: Array
    finer: Array
    plain: Array


def lemma20_ratio(frequencies: ArrayLike, law: _MaskLaw) -> float:
    r"""Noise that Lemma 20 asks for, over the noise that is needed without subsampling.

    :math:`\max_h\|\Omega_h\|^2/(\alpha\|\Omega\|^2)\ge1`; Lemma 20 is sharp if and only if it is 1.

    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> lemma20_ratio(np.eye(2), mask_law("uniform", 2, n_kept=1))
    2.0
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    whole = check_positive("norm of frequencies", float(np.linalg.norm(columns, 2)))
    return quadratic_q1(columns, law) / whole**2


def quadratic_epsilon(
    frequencies: ArrayLike, law: _MaskLaw, *, scale: float, rng: np.random.Generator,
    n_starts: int = 30, max_iter: int = 2000,
) -> _QuadraticEpsilon:  # fmt: skip
    r"""Exact epsilon of subsampled quadratic features with Laplace noise, under "add_remove".

    ``lower``: the largest :math:`\log E_he^{Q(x,h)/b}` that steps to the direction of the gradient
    find, at the record ``x``; ``upper``: the finer bound :math:`\log E_he^{\|\Omega_h\|^2/(\alpha
    b)}`.

    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> law = mask_law("uniform", 2, n_kept=1)
    >>> found = quadratic_epsilon(np.eye(2), law, scale=2.0, rng=np.random.default_rng(0))
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.6201, 1.0)
    """
    operators, probabilities = _masked_operators(frequencies, law)
    b = check_positive("scale", scale) * law.alpha
    x = check_rng(rng).standard_normal((check_integer("n_starts", n_starts), operators.shape[1]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    before = np.full(len(x), -np.inf)
    for _ in range(check_integer("max_iter", max_iter)):
        moved = np.einsum("na,sab,nb->ns", x, operators, x, optimize=True) / b
        value = logsumexp(moved, axis=1, b=probabilities)
        if np.all(value <= before + 1e-14):
            break
        before = value
        weights = probabilities * np.exp(moved - value[:, None])
        x = np.einsum("ns,sab,nb->na", weights, operators, x, optimize=True)
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
    best = int(value.argmax())
    norms = np.linalg.eigvalsh(operators)[:, -1]
    upper = float(logsumexp(norms / b, b=probabilities))
    return _QuadraticEpsilon(float(value[best]), upper, x[best])


def lemma20_spending(
    frequencies: ArrayLike, laws: Sequence[_MaskLaw], *, rng: np.random.Generator
) -> _Spending:
    r"""What is really spent where Lemma 20 says that epsilon is 1, for each law.

    Exactly, by the finer bound, and :math:`\|\Omega\|^2/b`, its noise without subsampling.
    """
    rows = []
    for law in laws:
        scale = quadratic_q1(frequencies, law)
        found = quadratic_epsilon(frequencies, law, scale=scale, rng=rng)
        whole = float(np.linalg.norm(np.asarray(frequencies, dtype=float), 2)) ** 2
        rows.append((found.lower, found.upper, whole / scale))
    return _Spending(*np.array(rows).T)
