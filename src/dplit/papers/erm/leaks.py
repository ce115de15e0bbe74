"""Two careless samplers of the Gaussian process, and the attack that separates them.

Noise must have a part in **every** direction in which two minimisers can differ: truncated
eigenvalues, or noise through features beside a fit with the exact kernel, leave directions with
signal and without noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, eigh, svd

from dplit._checks import (
    Array,
    check_at_least,
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._grams import check_gram
from dplit.kernels.gaussian_process import GaussianProcessOracle
from dplit.kernels.queries import Kernel
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.papers.erm.kernels import gaussian_gram
from dplit.streams import stream

#: Standard deviation granted to rounding, of answers of size one.
_ROUNDING = 2.0**-53

_CLAIM = "erm-beyond-gp-leaks"


@dataclass(frozen=True)
class _HingePair:
    """Two neighbouring hinge minimisers at the distance of Theorem 2, in closed form.

    ``labels`` and ``flipped`` differ in the last record; ``coefficients`` and ``neighbour`` are the
    minimisers' in the Gaussian kernel of this ``width``, ``sensitivity`` their distance.
    """

    records: Array
    labels: Array
    flipped: Array
    coefficients: Array
    neighbour: Array
    sensitivity: float
    width: float

    @property
    def kernel(self) -> Kernel:
        """Gaussian kernel of ``width``."""
        return partial(gaussian_gram, width=self.width)

    def difference(self, points: Array) -> Array:
        """Return the difference of the two minimisers at ``points`` of shape (q, 2)."""
        change = self.coefficients - self.neighbour
        return np.asarray(self.kernel(points, self.records) @ change)


def kernel_hinge_pair(
    n_records: int, *, width: float = 0.5, regularization: float = 0.5, rng: np.random.Generator
) -> _HingePair:
    r"""A pair of hinge minimisers that attains Theorem 2 with the Gaussian kernel.

    The records are uniform on [-1, 1]^2; ``regularization`` is at least 1/2, so that all margins
    are at most 1. Flipping the last label moves the minimiser by :math:`K_{x_m}/(\lambda m)`.
    """
    m, h = check_integer("n_records", n_records), check_positive("width", width)
    penalty = check_at_least("regularization", regularization, 0.5)
    records = check_rng(rng).uniform(-1.0, 1.0, (m, 2))
    labels = np.append(rng.choice([-1.0, 1.0], m - 1), 1.0)
    flipped = np.append(labels[:-1], -1.0)
    unit = 1.0 / (2.0 * penalty * m)
    return _HingePair(records, labels, flipped, unit * labels, unit * flipped, 2.0 * unit, h)


def truncated_root(gram: ArrayLike, *, cut: float) -> Array:
    """Root of a kernel matrix without its eigenvalues up to ``cut``: a leaking sampler."""
    values, vectors = eigh(check_gram(gram))
    kept = values > check_nonnegative("cut", cut)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def feature_root(
    points: ArrayLike, *, n_components: int, width: float, rng: np.random.Generator
) -> Array:
    """Random Fourier features at the points, one column each: noise drawn through them leaks."""
    D = check_integer("n_components", n_components, minimum=2)
    if D % 2:
        raise ValueError(f"n_components must be even, got n_components={n_components!r}")
    rows = check_real_array("points", points, 2)
    gamma = 0.5 / check_positive("width", width) ** 2
    frequencies = random_frequencies(rows.shape[1], D // 2, gamma=gamma, rng=check_rng(rng))
    return np.asarray(cos_sin_features(rows, frequencies))


def best_direction(
    difference: ArrayLike, root: ArrayLike, *, sigma: float, floor: float
) -> tuple[Array, float]:
    """The linear test that separates two hypotheses best, ``C^-1 difference``, and its power.

    The noise is ``sigma root z`` with standard normal z, plus independent noise of standard
    deviation ``floor``, positive; C is its covariance, the power a distance in standard deviations.
    """
    d = check_real_array("difference", difference, 1)
    A = check_real_array("root", root, 2)
    if len(A) != len(d):
        raise ValueError(f"root must have {len(d)} rows, got root of shape {A.shape}")
    U, s, _ = svd(A, full_matrices=True)
    spread = np.zeros(len(d))
    spread[: len(s)] = s
    variances = (check_positive("sigma", sigma) * spread) ** 2 + check_positive("floor", floor) ** 2
    along = U.T @ d
    return np.asarray(U @ (along / variances)), math.sqrt(float(np.sum(along**2 / variances)))


@dataclass(frozen=True)
class _LeakAudit:
    """Outcome of the attack on one implementation.

    ``mu`` is claimed; ``power``, in standard deviations, is what the noise as implemented leaves;
    ``hits_in`` and ``hits_out`` of ``runs`` releases were taken for the first data set.
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
    implementation: str,
    *,
    seed: int,
    side: int = 15,
    n_records: int = 50,
    epsilon: float = 0.5,
    delta: float = 1e-5,
    cut: float = 1e-12,
    n_components: int = 80,
    jitter: float = 1e-10,
    runs: int = 200,
) -> _LeakAudit:
    """Attack an implementation of the release on a grid, with the best linear test against it.

    ``"oracle"`` is the right one, with this ``jitter``; ``"truncated"`` (``cut``) and
    ``"features"`` (``n_components``) leak. The grid has ``side ** 2`` points, the record that
    changes is off it. Rounding is granted a standard deviation of ``2 ** -53`` per answer of size
    one.

    >>> audit_leak("features", seed=0, side=7, n_components=20, runs=20).rates
    (1.0, 0.0)
    """
    check_choice("implementation", implementation, ("oracle", "truncated", "features"))
    check_nonnegative("cut", cut)
    check_positive("jitter", jitter)
    check_integer("n_components", n_components, minimum=2)
    ticks = np.linspace(-1.0, 1.0, check_integer("side", side, minimum=2))
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    pair = kernel_hinge_pair(n_records, rng=stream(seed, _CLAIM, "data"))
    gram = pair.kernel(points, points)
    if implementation == "truncated":
        root = truncated_root(gram, cut=cut)
    elif implementation == "features":
        public = stream(seed, _CLAIM, "public")
        root = feature_root(points, n_components=n_components, width=pair.width, rng=public)
    else:
        root = np.asarray(cholesky(gram + jitter * np.eye(len(gram)), lower=True))
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=pair.sensitivity))
    direction, power = best_direction(pair.difference(points), root, sigma=sigma, floor=_ROUNDING)
    exact = pair.kernel(points, pair.records)

    def release(coefficients: Array, rng: np.random.Generator) -> Array:
        if implementation != "oracle":
            noise = root @ gaussian_noise(root.shape[1], sigma=sigma, rng=rng)
            return np.asarray(exact @ coefficients + noise)
        oracle = GaussianProcessOracle(
            pair.kernel,
            pair.records,
            coefficients,
            sensitivity=pair.sensitivity,
            epsilon=epsilon,
            delta=delta,
            jitter=jitter,
            rng=rng,
        )
        return oracle.answer(points)

    middle = exact @ (pair.coefficients + pair.neighbour) / 2
    hits_in, hits_out = (
        _hits(release, c, middle, direction, runs, stream(seed, _CLAIM, "noise", side))
        for side, c in enumerate((pair.coefficients, pair.neighbour))
    )
    return _LeakAudit(implementation, pair.sensitivity / sigma, power, hits_in, hits_out, runs)


def _hits(
    release: Callable[[Array, np.random.Generator], Array],
    coefficients: Array,
    middle: Array,
    direction: Array,
    runs: int,
    rng: np.random.Generator,
) -> int:
    """Count how often the linear test says "first data set"."""
    answers = (release(coefficients, rng) for _ in range(check_integer("runs", runs)))
    return sum(float((values - middle) @ direction) > 0 for values in answers)
