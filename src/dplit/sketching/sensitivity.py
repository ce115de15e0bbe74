"""Sensitivities of sketches of the three maps, and variances of the noise that hides them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_positive,
)
from dplit.sketching._checks import check_norm, symmetric_columns
from dplit.sketching._kinds import Kind, NoiseKind


def _eigenvalues(columns: Array) -> Array:
    """Return the eigenvalues of Omega Omega^T, largest first, never negative."""
    return np.asarray(np.linalg.svd(columns, compute_uv=False), dtype=np.float64) ** 2


def spectral_sensitivity(frequencies: ArrayLike) -> float:
    r"""Return :math:`\|\Omega\|_2^2`, the :math:`\ell_1` add-or-remove sensitivity: Lemma 9.

    >>> spectral_sensitivity(np.diag([2.0, 1.0]))
    4.0
    """
    return float(_eigenvalues(symmetric_columns(frequencies))[0])


def replace_l1_bound(frequencies: ArrayLike) -> float:
    r"""Return :math:`\lambda_1+\lambda_2`, a bound of the :math:`\ell_1` replace-one sensitivity.

    Exact for unions of orthonormal bases in the worst case, for d = 1 and for rank 1.

    >>> replace_l1_bound(np.diag([2.0, 1.0]))
    5.0
    """
    return float(_eigenvalues(symmetric_columns(frequencies))[:2].sum())


def _symmetric_coordinates(columns: Array) -> tuple[Array, Array]:
    """Return w w^T of every column, and the identity, in an orthonormal basis of Sym(d)."""
    rows, cols = np.triu_indices(columns.shape[0])
    weights = np.where(rows == cols, 1.0, np.sqrt(2.0))[:, None]
    return weights * columns[rows] * columns[cols], (rows == cols).astype(np.float64)


def s4_certificate(frequencies: ArrayLike, *, shift: float | None = None) -> float:
    r"""Return a certified upper bound of :math:`S_4(\Omega)`, for calibration; exact for d = 2.

    The root of the largest eigenvalue, on symmetric matrices, of
    :math:`\sum_j(\omega_j\omega_j^\top)^{\otimes2}-t\,I\otimes I+t\,\mathrm{Id}`, for the best
    ``shift`` t or a given one: every t is valid, 0 is the plain flattening. Size d (d + 1) / 2.

    >>> round(s4_certificate(np.eye(2)), 6)
    1.0
    """
    tensors, identity = _symmetric_coordinates(symmetric_columns(frequencies))
    gram = tensors @ tensors.T
    size = len(gram)

    def largest(t: float) -> float:
        matrix = gram - t * np.outer(identity, identity)
        return t + float(eigh(matrix, eigvals_only=True, subset_by_index=[size - 1, size - 1])[0])

    flat = largest(0.0)
    if shift is None:
        low = -flat / max(identity.sum() - 1.0, 1.0)
        best = minimize_scalar(largest, bounds=(low, flat), method="bounded")
        shift = float(best.x) if best.fun < flat else 0.0
    rounding = 8 * size * np.finfo(float).eps * (flat + abs(shift) * float(identity.sum()))
    return float(np.sqrt(largest(shift) + rounding))


#: Largest dimensions of the certificate of S_4 for the best shift, and for one shift.
_BEST_SHIFT, _ONE_SHIFT = 24, 64


def sketch_sensitivity(
    kind: Kind,
    frequencies: ArrayLike,
    *,
    norm: Literal[1, 2],
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Return the sensitivity to which the noise on a sum of features is calibrated: Table 1.

    :math:`\sqrt2m` or :math:`\sqrt m`, doubled for a replacement; quadratic features:
    :math:`\|\Omega\|_2^2` or a certified :math:`S_4`, for a replacement :math:`\lambda_1+\lambda_2`
    or :math:`\sqrt2` times the certificate. As printed (too small there, by up to 2) for study
    only. The certificate takes the best shift up to dimension 24, the shift
    :math:`\sum_j\|\omega_j\|^4/(d(d+2))`, best for large sketches, up to 64, and gives way to
    :math:`\|\Omega\|_2\max_j\|\omega_j\|` beyond.

    >>> [sketch_sensitivity("quadratic", np.eye(2), norm=1, neighboring="replace_one",
    ...                     as_printed=printed) for printed in (True, False)]
    [1.0, 2.0]
    """
    check_choice("kind", kind, get_args(Kind))
    columns = check_finite_array("frequencies", frequencies, ndim=2)
    replace = check_neighboring(neighboring) == "replace_one"
    first = check_norm(norm) == 1
    if kind != "quadratic":
        m = columns.shape[1]
        return float(np.sqrt(2.0) * m if first else np.sqrt(m)) * (2.0 if replace else 1.0)
    corrected = replace and not as_printed
    if first:
        return replace_l1_bound(columns) if corrected else spectral_sensitivity(columns)
    return _quartic(columns) * (np.sqrt(2.0).item() if corrected else 1.0)


def _quartic(columns: Array) -> float:
    """Return a bound of S_4 that any dimension can pay: the certificate is of size d^2 / 2."""
    d, lengths = len(columns), np.linalg.norm(columns, axis=0)
    if d <= _BEST_SHIFT:
        return s4_certificate(columns)
    if d <= _ONE_SHIFT:
        return s4_certificate(columns, shift=float((lengths**4).sum()) / (d * (d + 2)))
    return float(np.sqrt(spectral_sensitivity(columns)) * lengths.max())


def noise_variance(
    noise: NoiseKind, *, n_components: int, scale: float = 1.0, complex_valued: bool = True
) -> float:
    r"""Mean squared modulus of one entry of the noise (Definitions 11, 12 and 15, Appendix D).

    :math:`4b^2` (Laplace), :math:`2\sigma^2` (Gaussian); half of these for real entries. Otherwise,
    for ``scale`` one over the rate :math:`\xi`, the radius R is Gamma(2m + 1), so that
    :math:`ER^2=(2m+1)(2m+2)/\xi^2`, and a uniform point has mean square 1/2 in the unit disc, 2/3
    in the square :math:`[-1,1]^2`.

    >>> [noise_variance(noise, n_components=1) for noise in ("laplace", "gaussian", "polydisc")]
    [4.0, 2.0, 6.0]
    """
    check_choice("noise", noise, get_args(NoiseKind))
    square, m = check_positive("scale", scale) ** 2, check_integer("n_components", n_components)
    parts = 2 if complex_valued else 1
    if noise == "laplace":
        return parts * 2.0 * square
    if noise == "gaussian":
        return parts * square
    if not complex_valued:
        raise ValueError(f"complex_valued must be True for {noise!r} noise, got {complex_valued!r}")
    radius = (2.0 * m + 1.0) * (2.0 * m + 2.0) * square
    return radius / 2.0 if noise == "polydisc" else radius * 2.0 / 3.0
