"""Nonresonant frequencies: integer relations, Kronecker's theorem, and the search it promises."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_finite_array, check_integer, check_real_array
from dplit._numerics.trigonometry import fast_cos

_TURN = 2.0 * np.pi

_BLOCK = 1 << 20

#: Period and offset of the phases at which a Fourier feature is worst, per norm.
_TARGETS = {1: (np.pi / 2, np.pi / 4), 2: (_TURN, np.pi)}


def _columns(frequencies: ArrayLike) -> Array:
    columns = check_finite_array("frequencies", frequencies)
    if columns.ndim > 2 or columns.dtype.kind == "c":
        raise ValueError(f"frequencies must be real with 1 or 2 axes, got shape {columns.shape}")
    return np.atleast_2d(columns).astype(np.float64)


def relation_gap(
    frequencies: ArrayLike, *, max_coefficient: int
) -> tuple[float, NDArray[np.int64]]:
    r"""Return the smallest :math:`\|\sum_jk_j\omega_j\|` over integer vectors k, and that k.

    Definitions 18 and 23: zero for a resonance. ``frequencies`` of shape (m,) or (d, m),
    coefficients up to ``max_coefficient`` in modulus, at most 1e7 vectors.
    """
    columns = _columns(frequencies)
    top, m = check_integer("max_coefficient", max_coefficient), columns.shape[1]
    if (2 * top + 1) ** m > 10_000_000:
        raise ValueError(f"max_coefficient must leave at most 1e7 vectors, got {max_coefficient}")
    half = (2 * top + 1) ** m // 2  # the code of k = 0; the codes beyond are -k of those before
    best, winner = np.inf, np.zeros(m, dtype=np.int64)
    for start in range(0, half, _BLOCK):
        codes = np.arange(start, min(start + _BLOCK, half))[:, None]
        k = codes // (2 * top + 1) ** np.arange(m) % (2 * top + 1) - top
        gaps = np.linalg.norm(k @ columns.T, axis=1)
        at = int(gaps.argmin())
        if gaps[at] < best:
            best, winner = float(gaps[at]), k[at]
    return best, winner


def kronecker_gap(
    frequencies: ArrayLike, targets: ArrayLike, *, n_turns: int
) -> tuple[float, float]:
    r"""Return how close all :math:`\omega_jt` come to given angles modulo full turns, and t.

    Lemma 29, scalar frequencies: over the first ``n_turns`` times at which the first is on target.

    >>> kronecker_gap([1.0, 2**0.5], [0.0, 1.0], n_turns=10_000)[0] < 1e-3
    True
    """
    omega = check_real_array("frequencies", frequencies, 1)
    phi = check_real_array("targets", targets, 1)
    if phi.shape != omega.shape or omega[0] == 0:
        raise ValueError(f"targets must match frequencies, the first nonzero, got {phi.shape}")
    best, winner = np.inf, 0.0
    for start in range(0, check_integer("n_turns", n_turns), _BLOCK):
        turns = np.arange(start, min(start + _BLOCK, n_turns))
        times = (phi[0] + _TURN * turns) / omega[0]
        angles = np.multiply.outer(times, omega) - phi
        gaps = np.abs(angles - _TURN * np.round(angles / _TURN)).max(axis=1)
        at = int(gaps.argmin())
        if gaps[at] < best:
            best, winner = float(gaps[at]), float(times[at])
    return best, winner


def fourier_l1_ratio(records: ArrayLike, frequencies: ArrayLike) -> Array:
    r"""Return :math:`Q_1(x)/(m\sqrt2)` of plain Fourier features of records (n, d): Lemma 7.

    In :math:`[1/\sqrt2,1]`, and :math:`4/(\pi\sqrt2)` on average far from the origin.
    """
    x = check_finite_array("records", records, ndim=2)
    return np.asarray(fast_cos(_deviations(x, _columns(frequencies), 1)).mean(axis=1))


def fourier_distance_ratio(differences: ArrayLike, frequencies: ArrayLike) -> Array:
    r"""Return :math:`\|\Phi(x)-\Phi(y)\|_2/(2\sqrt m)` for differences x - y (n, d): Lemma 12."""
    z = check_finite_array("differences", differences, ndim=2)
    mean = fast_cos(_deviations(z, _columns(frequencies), 2)).mean(axis=1)
    return np.asarray(np.sqrt((1.0 + mean) / 2))


def _deviations(x: Array, columns: Array, norm: int) -> Array:
    """Return the distance of every angle to its nearest target, with sign."""
    period, offset = _TARGETS[norm]
    angles = x @ columns - offset
    return np.asarray(angles - period * np.round(angles / period))
