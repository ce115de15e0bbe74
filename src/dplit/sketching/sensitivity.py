r"""Sensitivities of sketches: by enumeration, for sums on a finite domain, and for the three maps.

Complex vectors count as real ones: :math:`\|\Re z\|_1+\|\Im z\|_1`, not the sum of the moduli.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    check_real_array,
    check_rng,
)
from dplit.mechanisms import cube_noise, laplace_noise, polydisc_noise

# Sums of quadratic features :math:`(\omega_j^\top x)^2` on the unit ball. An ascent gives lower
# bounds of their sensitivities; a calibration needs the upper ones.


_MOST_SIGNS = 20  # 2^19 eigenproblems

_BLOCK = 4096


class _S4Search(NamedTuple):
    """The best value of an ascent, its record, and the share of the starts that reached it."""

    value: float
    x: Array
    share: float


def _columns(frequencies: ArrayLike) -> Array:
    return check_real_array("frequencies", frequencies, 2, copy=False)


def _eigenvalues(columns: Array) -> Array:
    """Return the eigenvalues of Omega Omega^T, largest first, never negative."""
    return np.asarray(np.linalg.svd(columns, compute_uv=False), dtype=np.float64) ** 2


def spectral_sensitivity(frequencies: ArrayLike) -> float:
    r"""Return :math:`\|\Omega\|_2^2`, the :math:`\ell_1` add-or-remove sensitivity: Lemma 9."""
    return float(_eigenvalues(_columns(frequencies))[0])


def replace_l1_bound(frequencies: ArrayLike) -> float:
    r"""Return :math:`\lambda_1+\lambda_2`, a bound of the :math:`\ell_1` replace-one sensitivity.

    Exact for unions of orthonormal bases in the worst case, for d = 1 and for rank 1.
    """
    return float(_eigenvalues(_columns(frequencies))[:2].sum())


def replace_l1_exact(frequencies: ArrayLike) -> float:
    r"""Return the exact :math:`\ell_1` replace-one sensitivity, by all sign vectors.

    At most 20 frequencies; the last sign is fixed, because -s exchanges the records.
    """
    columns = _columns(frequencies)
    m = columns.shape[1]
    if m > _MOST_SIGNS:
        raise ValueError(f"frequencies must have at most {_MOST_SIGNS} columns, got {m}")
    codes, best = np.arange(2 ** (m - 1)), 0.0
    for start in range(0, len(codes), _BLOCK):
        bits = (codes[start : start + _BLOCK, None] >> np.arange(m)) & 1
        spectra = np.linalg.eigvalsh(((1.0 - 2.0 * bits)[:, None, :] * columns) @ columns.T)
        spread = np.maximum(spectra[:, -1], 0.0) - np.minimum(spectra[:, 0], 0.0)
        best = max(best, float(spread.max()))
    return best


def s4_ascent(
    frequencies: ArrayLike, *, rng: np.random.Generator, n_starts: int = 50, max_iter: int = 500,
    tolerance: float = 1e-6,
) -> _S4Search:  # fmt: skip
    r"""Return the largest :math:`(\sum_j(\omega_j^\top x)^4)^{1/2}` found: no calibration.

    :math:`x\leftarrow\Omega(\Omega^\top x)^3`, normalised, never decreases the convex quartic. A
    start succeeds if it ends within ``tolerance`` (relative) of the best.

    >>> round(s4_ascent(np.eye(3), rng=np.random.default_rng(0)).value, 9)
    1.0
    """
    columns = _columns(frequencies)
    n_starts, max_iter = check_integer("n_starts", n_starts), check_integer("max_iter", max_iter)
    x = check_rng(rng).standard_normal((n_starts, columns.shape[0]))
    value = np.zeros(n_starts)
    for _ in range(max_iter):
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
        inner = x @ columns
        before, value = value, np.sqrt(np.sum(inner**4, axis=1))
        if np.all(value <= before * (1 + 1e-11)):
            break
        x = inner**3 @ columns.T
    best = int(value.argmax())
    share = float(np.mean(value >= value[best] * (1 - tolerance)))
    return _S4Search(float(value[best]), x[best] / max(np.linalg.norm(x[best]), 1e-300), share)


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
    tensors, identity = _symmetric_coordinates(_columns(frequencies))
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


_MapKind = Literal["fourier", "quantized", "quadratic"]

_MOST_DATASETS = 200_000

#: Largest dimensions of the certificate of S_4 for the best shift, and for one shift.
_BEST_SHIFT, _ONE_SHIFT = 24, 64


def _check_norm(norm: int) -> int:
    if check_integer("norm", norm) > 2:
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    return norm


def real_norm(features: ArrayLike, *, norm: Literal[1, 2]) -> NDArray[np.float64]:
    r"""Return :math:`\|\Re z\|_1+\|\Im z\|_1` (norm 1) or :math:`\|z\|_2` along the last axis."""
    values = check_finite_array("features", features)
    if _check_norm(norm) == 1:
        sums: NDArray[np.float64] = (np.abs(values.real) + np.abs(values.imag)).sum(axis=-1)
        return sums
    return np.asarray(np.linalg.norm(values, axis=-1), dtype=np.float64)


def enumerated_sensitivity(
    query: Callable[[Any], ArrayLike], domain: ArrayLike, *, n_records: int, norm: Literal[1, 2],
    neighboring: Neighboring,
) -> float:  # fmt: skip
    """Return the sensitivity of any query by going through all neighbouring data sets.

    ``domain`` lists the values of a record, ``n_records`` counts the larger data set: Definitions
    9, 10, 13 and 16.
    """
    values = check_finite_array("domain", domain)
    add = check_neighboring(neighboring) == "add_remove"
    n = check_integer("n_records", n_records, minimum=2 if add else 1)
    if len(values) ** n > _MOST_DATASETS:
        raise ValueError(f"n_records must leave at most {_MOST_DATASETS} data sets, got {n}")
    answers: dict[tuple[int, ...], NDArray[Any]] = {
        rows: np.atleast_1d(query(values[list(rows)]))
        for size in ({n - 1, n} if add else {n})
        for rows in product(range(len(values)), repeat=size)
    }
    best = 0.0
    for rows in product(range(len(values)), repeat=n):
        for at in range(n):
            rest = [()] if add else [(value,) for value in range(len(values))]
            others = [answers[rows[:at] + middle + rows[at + 1 :]] for middle in rest]
            gaps = real_norm(np.stack(others) - answers[rows], norm=norm)
            best = max(best, float(gaps.max()))
    return best


def sum_sensitivity(
    features: ArrayLike, *, norm: Literal[1, 2], neighboring: Neighboring = "add_remove"
) -> float:
    """Return the sensitivity of a sum of features over a finite domain, (k, m): Lemma 5, (9).

    The largest norm of a feature vector or difference; a lower bound for infinite domains.
    """
    rows = check_finite_array("features", features, ndim=2)
    check_neighboring(neighboring)
    if neighboring == "add_remove":
        return float(real_norm(rows, norm=norm).max())
    return max(float(real_norm(rows - row, norm=norm).max()) for row in rows)


def sketch_sensitivity(
    kind: _MapKind, frequencies: ArrayLike, *, norm: Literal[1, 2],
    neighboring: Neighboring = "add_remove", as_printed: bool = False,
) -> float:  # fmt: skip
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
    check_choice("kind", kind, get_args(_MapKind))
    columns = check_finite_array("frequencies", frequencies, ndim=2)
    replace = check_neighboring(neighboring) == "replace_one"
    first = _check_norm(norm) == 1
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


# K-norm noise: density :math:`e^{-\epsilon\|z\|_K}`, K the polydisc :math:`\max_j|z_j|\le1` that
# holds all Fourier features, or the cube inside it that holds the one-bit ones.


_PureNoise = Literal["laplace", "polydisc", "cube"]

NoiseKind = Literal["laplace", "gaussian", "polydisc", "cube"]


def _body_norm(vectors: ArrayLike, *, noise: _PureNoise) -> NDArray[np.float64]:
    r"""Return the norm (...) in which a feature vector has at most unit length, per law of noise.

    :math:`(\|\Re z\|_1+\|\Im z\|_1)/(m\sqrt2)`, :math:`\max|z_j|`, or for the cube
    :math:`\sqrt2\max(|\Re z_j|,|\Im z_j|)`, in which Fourier features may exceed 1, one-bit ones
    not.
    """
    z = check_finite_array("vectors", vectors)
    check_choice("noise", noise, get_args(_PureNoise))
    if noise == "laplace":
        sums = (np.abs(z.real) + np.abs(z.imag)).sum(axis=-1)
        return np.asarray(sums / (np.sqrt(2.0) * z.shape[-1]))
    if noise == "polydisc":
        return np.asarray(np.abs(z).max(axis=-1))
    return np.asarray(np.sqrt(2.0) * np.maximum(np.abs(z.real), np.abs(z.imag)).max(axis=-1))


def knorm_loss(
    noise_draws: ArrayLike, feature: ArrayLike, *, noise: _PureNoise, epsilon: float
) -> NDArray[np.float64]:
    r"""Return the loss :math:`\epsilon(\|\xi+\Phi(x)\|_K-\|\xi\|_K)` of an added record."""
    draws = check_finite_array("noise_draws", noise_draws)
    step = check_finite_array("feature", feature, ndim=1)
    change = _body_norm(draws + step, noise=noise) - _body_norm(draws, noise=noise)
    return check_positive("epsilon", epsilon) * change


def noise_variance(
    noise: NoiseKind, *, n_components: int, scale: float = 1.0, complex_valued: bool = True
) -> float:
    r"""Mean squared modulus of one entry of the noise (Definitions 11, 12 and 15, Appendix D).

    :math:`4b^2` (Laplace), :math:`2\sigma^2` (Gaussian); half of these for real entries. Otherwise,
    for ``scale`` one over the rate :math:`\xi`, the radius R is Gamma(2m + 1), so that
    :math:`ER^2=(2m+1)(2m+2)/\xi^2`, and a uniform point has mean square 1/2 in the unit disc, 2/3
    in the square :math:`[-1,1]^2`.
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


def noise_energy(n_components: int, *, noise: _PureNoise, epsilon: float) -> float:
    r"""Return :math:`E|\xi_j|^2` of one entry of the noise on a sum of Fourier features.

    >>> [round(noise_energy(50, noise=k, epsilon=1.0)) for k in ("laplace", "polydisc", "cube")]
    [20000, 5151, 3434]
    """
    check_choice("noise", noise, get_args(_PureNoise))
    root, m = np.sqrt(2.0).item(), check_integer("n_components", n_components)
    unit = {"laplace": root * m, "polydisc": 1.0, "cube": 1.0 / root}[noise]
    return noise_variance(noise, n_components=m, scale=unit / check_positive("epsilon", epsilon))


def pure_noise(
    n_components: int, *, noise: _PureNoise, epsilon: float, rng: np.random.Generator,
    size: int | None = None,
) -> NDArray[np.complex128]:  # fmt: skip
    r"""Return noise that makes a sum of Fourier features epsilon-private where a record is added.

    Density :math:`\propto e^{-\epsilon\|z\|_K}`, K of ``_body_norm``; shape (m,) or (size, m).
    """
    m = check_integer("n_components", n_components)
    check_choice("noise", noise, get_args(_PureNoise))
    epsilon = check_positive("epsilon", epsilon)
    if noise == "laplace":
        shape = (m,) if size is None else (check_integer("size", size), m)
        return laplace_noise(shape, scale=np.sqrt(2.0).item() * m / epsilon, rng=rng, complex=True)
    if noise == "polydisc":
        return polydisc_noise(m, rate=epsilon, rng=rng, size=size)
    return cube_noise(m, rate=np.sqrt(2.0).item() * epsilon, rng=rng, size=size)
