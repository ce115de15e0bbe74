r"""Two careless samplers of the Gaussian process, and the attack that separates them.

A release of the whole function hides the difference of two minimisers because its noise has a part
in **every** direction in which they can differ. Dropping small eigenvalues of the kernel matrix, or
drawing the noise through random features of a function fitted with the exact kernel, leaves
directions with signal and without noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, eigh, svd

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_rng,
)
from dplit.erm._oracle import Kernel
from dplit.erm.gaussian_process import GaussianProcessOracle
from dplit.erm.kernels import check_gram, gaussian_kernel
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.streams import stream

__all__ = [
    "HingePair",
    "LeakAudit",
    "audit_leak",
    "best_direction",
    "feature_root",
    "hinge_pair",
    "truncated_root",
]

_Array = NDArray[np.float64]
#: Standard deviation granted to rounding, of answers of size one.
ROUNDING = 2.0**-53
_CLAIM = "erm-beyond-gp-leaks"


@dataclass(frozen=True)
class HingePair:
    """Two neighbouring hinge minimisers at the distance of Theorem 2, in closed form.

    Attributes
    ----------
    records : ndarray of shape (m, 2)
        Points of both data sets.
    labels, flipped : ndarray of shape (m,)
        Their labels, which differ in the last one.
    coefficients, neighbour : ndarray of shape (m,)
        Kernel coefficients of the two minimisers.
    sensitivity : float
        Their distance in the kernel norm.
    width : float
        Of the Gaussian kernel.
    kernel : callable
        ``kernel(X, Z)``.
    """

    records: _Array
    labels: _Array
    flipped: _Array
    coefficients: _Array
    neighbour: _Array
    sensitivity: float
    width: float

    @property
    def kernel(self) -> Kernel:
        """Gaussian kernel of ``width``."""
        return partial(gaussian_kernel, width=self.width)

    def difference(self, points: _Array) -> _Array:
        """Return the difference of the two minimisers at ``points`` of shape (q, 2)."""
        change = self.coefficients - self.neighbour
        return np.asarray(self.kernel(points, self.records) @ change)


def hinge_pair(
    n_records: int, *, width: float = 0.5, regularization: float = 0.5, rng: np.random.Generator
) -> HingePair:
    r"""A pair of hinge minimisers that attains Theorem 2 with the Gaussian kernel.

    Parameters
    ----------
    n_records : int
        Number m of records, uniform on [-1, 1]^2 with random labels.
    width : float, default=0.5
        Width h of the kernel ``exp(-||x - z||^2 / (2 h^2))``, positive.
    regularization : float, default=0.5
        Factor of the squared norm, at least 1/2.
    rng : numpy.random.Generator
        Source of the data.

    Returns
    -------
    HingePair

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    For :math:`\lambda\ge\frac12` the function
    :math:`\frac1{2\lambda m}\sum_iy_iK_{x_i}` has all margins at most 1, where the hinge has the
    subgradient -1: it satisfies the optimality condition. Flipping the last label moves it by
    :math:`K_{x_m}/(\lambda m)`, of norm :math:`1/(\lambda m)`: the bound with
    :math:`\kappa=C_L=1`, :math:`\gamma=2`.

    Examples
    --------
    >>> pair = hinge_pair(10, rng=np.random.default_rng(0))
    >>> pair.sensitivity
    0.2
    """
    m, h = check_integer("n_records", n_records), check_positive("width", width)
    penalty = check_positive("regularization", regularization)
    if penalty < 0.5:
        raise ValueError(f"regularization must be at least 0.5, got regularization={penalty!r}")
    records = check_rng(rng).uniform(-1.0, 1.0, (m, 2))
    labels = np.append(rng.choice([-1.0, 1.0], m - 1), 1.0)
    flipped = np.append(labels[:-1], -1.0)
    unit = 1.0 / (2.0 * penalty * m)
    return HingePair(records, labels, flipped, unit * labels, unit * flipped, 2.0 * unit, h)


def truncated_root(gram: ArrayLike, *, cut: float) -> _Array:
    """Root of a kernel matrix without its eigenvalues below ``cut``: a leaking sampler.

    Parameters
    ----------
    gram : array_like of shape (q, q)
        Kernel matrix of the points asked.
    cut : float
        Eigenvalues up to this value are set to zero; nonnegative.

    Returns
    -------
    ndarray of shape (q, r)
        Matrix A such that ``A z`` with standard normal z is the noise that the sampler draws.

    Raises
    ------
    TypeError, ValueError
        If ``gram`` is no Gram matrix or ``cut`` is negative.

    Examples
    --------
    >>> root = truncated_root(np.diag([4.0, 1e-9]), cut=1e-6)
    >>> (root @ root.T).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = eigh(check_gram(gram))
    kept = values > check_nonnegative("cut", cut)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def feature_root(
    points: ArrayLike, *, n_components: int, width: float, rng: np.random.Generator
) -> _Array:
    """Random Fourier features at the points: noise drawn through them leaks.

    Parameters
    ----------
    points : array_like of shape (q, d)
        Points asked.
    n_components : int
        Even number D of cosines and sines.
    width : float
        Width of the Gaussian kernel that they approximate, positive.
    rng : numpy.random.Generator
        Source of the frequencies.

    Returns
    -------
    ndarray of shape (q, D)
        Matrix A such that ``A z`` with standard normal z is the noise that the sampler draws.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> feature_root([[0.0], [1.0]], n_components=6, width=1.0, rng=np.random.default_rng(0)).shape
    (2, 6)
    """
    D = check_integer("n_components", n_components, minimum=2)
    if D % 2:
        raise ValueError(f"n_components must be even, got n_components={n_components!r}")
    rows = check_finite_array("points", points, ndim=2)
    gamma = 0.5 / check_positive("width", width) ** 2
    frequencies = random_frequencies(rows.shape[1], D // 2, gamma=gamma, rng=check_rng(rng))
    return np.asarray(cos_sin_features(rows, frequencies))


def best_direction(
    difference: ArrayLike, root: ArrayLike, *, sigma: float, floor: float
) -> tuple[_Array, float]:
    r"""The linear test that separates two hypotheses best, and its power.

    Parameters
    ----------
    difference : array_like of shape (q,)
        Difference of the two means.
    root : array_like of shape (q, r)
        The noise is ``sigma root z`` with standard normal z.
    sigma : float
        Factor of the noise, positive.
    floor : float
        Standard deviation of further independent noise, positive: jitter, or a bound on rounding.

    Returns
    -------
    direction : ndarray of shape (q,)
        ``C^-1 difference`` with C the covariance, the floor included.
    power : float
        Distance of the two means of ``<direction, answers>`` in standard deviations.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> direction, power = best_direction([1.0, 1e-6], [[1.0], [0.0]], sigma=1.0, floor=1e-9)
    >>> round(power)
    1000
    """
    d = check_finite_array("difference", difference, ndim=1)
    A = check_finite_array("root", root, ndim=2)
    if len(A) != len(d):
        raise ValueError(f"root must have {len(d)} rows, got root of shape {A.shape}")
    U, s, _ = svd(A, full_matrices=True)
    spread = np.zeros(len(d))
    spread[: len(s)] = s
    variances = (check_positive("sigma", sigma) * spread) ** 2 + check_positive("floor", floor) ** 2
    along = U.T @ d
    return np.asarray(U @ (along / variances)), math.sqrt(float(np.sum(along**2 / variances)))


@dataclass(frozen=True)
class LeakAudit:
    """Outcome of the attack on one implementation.

    Attributes
    ----------
    implementation : str
        ``"oracle"``, ``"truncated"`` or ``"features"``.
    mu : float
        Gaussian-DP parameter that the release claims.
    power : float
        Separation, in standard deviations, that the noise as implemented leaves to the attack.
    hits_in, hits_out, runs : int
        How often the attack said "first data set" on the first and on the second.
    """

    implementation: str
    mu: float
    power: float
    hits_in: int
    hits_out: int
    runs: int

    @property
    def rates(self) -> tuple[float, float]:
        """True-positive and false-positive rate of the attack."""
        return self.hits_in / self.runs, self.hits_out / self.runs


def audit_leak(
    implementation: str, *, seed: int, side: int = 15, n_records: int = 50, epsilon: float = 0.5,
    delta: float = 1e-5, cut: float = 1e-12, n_components: int = 80, jitter: float = 1e-10,
    runs: int = 200,
) -> LeakAudit:  # fmt: skip
    """Attack an implementation of the release on a grid, with the best linear test against it.

    Parameters
    ----------
    implementation : {"oracle", "truncated", "features"}
        The right one, or one of the two leaks.
    seed : int
        Of the streams.
    side : int, default=15
        The grid has ``side ** 2`` points on [-1, 1]^2.
    n_records : int, default=50
        Records of :func:`hinge_pair`.
    epsilon, delta : float
        The claimed guarantee.
    cut : float, default=1e-12
        Of :func:`truncated_root`.
    n_components : int, default=80
        Of :func:`feature_root`.
    jitter : float, default=1e-10
        Of the oracle.
    runs : int, default=200
        Releases on each of the two data sets.

    Returns
    -------
    LeakAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The record that changes is an ordinary one, off the grid. Rounding is granted a standard
    deviation of ``2 ** -53`` per answer, about what answers of size one have.

    Examples
    --------
    >>> audit = audit_leak("features", seed=0, side=7, n_components=20, runs=20)
    >>> audit.rates, bool(audit.power > 1e6)
    ((1.0, 0.0), True)
    """
    check_choice("implementation", implementation, ("oracle", "truncated", "features"))
    ticks = np.linspace(-1.0, 1.0, check_integer("side", side, minimum=2))
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    pair = hinge_pair(n_records, rng=stream(seed, _CLAIM, "data"))
    gram = pair.kernel(points, points)
    if implementation == "truncated":
        root = truncated_root(gram, cut=cut)
    elif implementation == "features":
        public = stream(seed, _CLAIM, "public")
        root = feature_root(points, n_components=n_components, width=pair.width, rng=public)
    else:
        root = np.asarray(cholesky(gram + jitter * np.eye(len(gram)), lower=True))
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=pair.sensitivity))
    direction, power = best_direction(pair.difference(points), root, sigma=sigma, floor=ROUNDING)
    exact = pair.kernel(points, pair.records)

    def release(coefficients: _Array, rng: np.random.Generator) -> _Array:
        if implementation != "oracle":
            noise = root @ gaussian_noise(root.shape[1], sigma=sigma, rng=rng)
            return np.asarray(exact @ coefficients + noise)
        oracle = GaussianProcessOracle(
            pair.kernel, pair.records, coefficients, sensitivity=pair.sensitivity,
            epsilon=epsilon, delta=delta, jitter=jitter, rng=rng,
        )  # fmt: skip
        return oracle.answer(points)

    middle = exact @ (pair.coefficients + pair.neighbour) / 2
    hits_in, hits_out = (
        _hits(release, c, middle, direction, runs, stream(seed, _CLAIM, "noise", side))
        for side, c in enumerate((pair.coefficients, pair.neighbour))
    )
    return LeakAudit(implementation, pair.sensitivity / sigma, power, hits_in, hits_out, runs)


def _hits(
    release: Callable[[_Array, np.random.Generator], _Array], coefficients: _Array, middle: _Array,
    direction: _Array, runs: int, rng: np.random.Generator,
) -> int:  # fmt: skip
    """Count how often the linear test says "first data set"."""
    answers = (release(coefficients, rng) for _ in range(check_integer("runs", runs)))
    return sum(float((values - middle) @ direction) > 0 for values in answers)
