"""Searches from random starts: lower bounds of what records do, for the chapter's sharp claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import Array, check_choice, check_integer, check_positive, check_rng
from dplit._numerics.trigonometry import fast_cos
from dplit.papers.sketching.masks import _MaskLaw
from dplit.papers.sketching.nonresonance import (
    _columns,
    _deviations,
    fourier_distance_ratio,
    fourier_l1_ratio,
)
from dplit.papers.sketching.subsampled_quadratic import _masked_operators, quadratic_q1
from dplit.sketching._checks import check_norm


class _PairSearch(NamedTuple):
    """A pair of records of the unit ball, and how far apart their features lie."""

    value: float
    x: Array
    y: Array


def _distance(columns: Array, x: Array, y: Array, norm: int) -> tuple[Array, Array]:
    gap = (x @ columns) ** 2 - (y @ columns) ** 2
    return gap, np.linalg.norm(gap, ord=norm, axis=1)


def replace_search(
    frequencies: ArrayLike, *, norm: int, rng: np.random.Generator, n_starts: int = 50
) -> _PairSearch:
    r"""Return the farthest pair of records that an alternating ascent finds: a lower bound.

    With :math:`u=\Phi(x)-\Phi(y)` and w = sign(u), or u / ||u||, the next pair are the extreme
    eigenvectors of :math:`\Omega D_w\Omega^\top`: the norm is convex in u, so no step goes down.

    >>> found = replace_search(np.eye(2), norm=2, rng=np.random.default_rng(0))
    >>> round(found.value, 12)
    1.414213562373
    """
    columns = _columns(frequencies)
    check_choice("norm", str(norm), ("1", "2"))
    starts = check_integer("n_starts", n_starts), len(columns)
    x, y = check_rng(rng).standard_normal((2, *starts))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    gap, value = _distance(columns, x, y, norm)
    for _ in range(200):
        weights = np.where(gap >= 0, 1.0, -1.0) if norm == 1 else gap
        spectra, vectors = np.linalg.eigh((weights[:, None, :] * columns) @ columns.T)
        x = vectors[:, :, -1] * (spectra[:, -1:] > 0)
        y = vectors[:, :, 0] * (spectra[:, :1] < 0)
        before = value
        gap, value = _distance(columns, x, y, norm)
        if np.all(value <= before * (1 + 1e-13)):
            break
    best = int(value.argmax())
    return _PairSearch(float(value[best]), x[best], y[best])


class _Alignment(NamedTuple):
    """The best ratio that a search found, and the record (or difference) that has it."""

    ratio: float
    x: Array


def alignment_search(
    frequencies: ArrayLike,
    *,
    norm: Literal[1, 2],
    radius: float,
    rng: np.random.Generator,
    n_draws: int = 2000,
    n_starts: int = 40,
    max_iter: int = 200,
) -> _Alignment:
    r"""Return the best ratio to the bound of Lemma 7 (norm 1) or Lemma 12 (norm 2) that is found.

    Gaussian starts of standard deviation ``radius``; the best ``n_starts`` of ``n_draws`` go up by
    :math:`x\leftarrow x-(\Omega\Omega^\top)^+\Omega\sin\delta`, :math:`\delta_j` the distance of
    :math:`\omega_j^\top x` to its nearest target.
    """
    columns = _columns(frequencies)
    check_norm(norm)
    check_integer("max_iter", max_iter)
    draws = (check_integer("n_draws", n_draws), len(columns))
    x = check_rng(rng).normal(scale=check_positive("radius", radius), size=draws)
    ratio = fourier_l1_ratio if norm == 1 else fourier_distance_ratio
    best = np.argsort(-ratio(x, columns))[: check_integer("n_starts", n_starts)]
    x = x[best]
    inverse = np.linalg.pinv(columns.T)  # (d, m): (Omega Omega^T)^+ Omega
    value = ratio(x, columns)
    for _ in range(max_iter):
        x = x - fast_cos(_deviations(x, columns, norm) - np.pi / 2) @ inverse.T
        before, value = value, ratio(x, columns)
        if np.all(value <= before + 1e-14):
            break
    at = int(value.argmax())
    return _Alignment(float(value[at]), x[at])


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


def quadratic_epsilon(
    frequencies: ArrayLike, law: _MaskLaw, *, scale: float, rng: np.random.Generator
) -> _QuadraticEpsilon:
    r"""Exact epsilon of subsampled quadratic features with Laplace noise, under "add_remove".

    ``lower``: the largest :math:`\log E_he^{Q(x,h)/b}` that steps to the direction of the gradient
    find, at the record ``x``; ``upper``: the finer bound :math:`\log E_he^{\|\Omega_h\|^2/(\alpha
    b)}`.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("uniform", 2, n_kept=1)
    >>> found = quadratic_epsilon(np.eye(2), law, scale=2.0, rng=np.random.default_rng(0))
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.6201, 1.0)
    """
    operators, probabilities = _masked_operators(frequencies, law)
    b = check_positive("scale", scale) * law.alpha
    x = check_rng(rng).standard_normal((30, operators.shape[1]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    before = np.full(len(x), -np.inf)
    for _ in range(2000):
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
