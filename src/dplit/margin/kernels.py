"""Algorithm 3 and its shorter relatives: private kernel classifiers on public random features.

Features and compression do not look at the data: the guarantee is that of the linear learner. r is
``data_norm``, the norm of every record in the space of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit._numerics.trigonometry import angle_factor, scaled_cosine_and_sine
from dplit.accounting import gdp_budget
from dplit.features import cos_sin_features, random_frequencies
from dplit.margin.compressed import learn, printed_dimension
from dplit.margin.losses import Ball, _check_geometry
from dplit.margin.plans import LearningPlan, Solver, plan_learning

# Random features of a shift-invariant kernel with ``K(x, x) = r^2``, and how far they can err.


def margin_features(
    X: ArrayLike, frequencies: ArrayLike, *, data_norm: float = 1.0
) -> NDArray[np.floating[Any]]:
    r"""Random Fourier features of equation (2), of norm r: all cosines, then all sines.

    :math:`\frac r{\sqrt D}(\cos\langle\omega_j,x\rangle,\sin\langle\omega_j,x\rangle)` for the
    columns of ``frequencies`` (d, D); the factor, lost in print, is that of Theorem 4.1. float32
    stays float32.
    """
    r = check_positive("data_norm", data_norm)
    rows = cos_sin_features(X, frequencies)
    rows *= rows.dtype.type(r)
    return rows


def frequencies_of_algorithm3(n_samples: int, *, beta: float) -> int:
    r"""Number of frequencies of Algorithm 3: :math:`D=\lceil m^2\log(2m/\beta)\rceil`.

    >>> frequencies_of_algorithm3(1000, beta=0.05)
    10596635
    """
    m = check_integer("n_samples", n_samples)
    beta = check_probability("beta", beta)
    return math.ceil(m * m * math.log(2 * m / beta))


def sup_deviation_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""Bound of Theorem 4.1 on all Gram entries: :math:`2r^2\sqrt{\log(2m/\beta)/D}`.

    The radical, lost in print, makes it :math:`2r^2/m` for Algorithm 3.
    """
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return 2.0 * r * r * math.sqrt(math.log(2 * m / beta) / count)


def union_failure(n_samples: int, *, beta: float) -> float:
    r"""What the proof of Theorem 4.1 gives for its failure: :math:`\beta^2(m-1)/(4m)`."""
    m = check_integer("n_samples", n_samples, minimum=2)
    beta = check_probability("beta", beta)
    return beta * beta * (m - 1) / (4.0 * m)


def hoeffding_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""The union bound of Theorem 4.1 spent in full: :math:`r^2\sqrt{2\log(m(m-1)/\beta)/D}`."""
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return r * r * math.sqrt(2.0 * math.log(m * (m - 1) / beta) / count)


# Polynomial kernels: the map to all monomials, its radius, and what the learner may do with it.


#: Largest numbers of monomials and of entries of an explicit map.
_MONOMIALS, _ENTRIES = 100_000, 50_000_000


def polynomial_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, degree: int, offset: float
) -> Array:
    r"""Kernel :math:`(\langle x,x'\rangle+c)^p` of all pairs (n, n'), c = ``offset``."""
    left = check_real_array("X", X, 2)
    right = left if Y is None else check_real_array("Y", Y, 2)
    p, c = check_integer("degree", degree), check_nonnegative("offset", offset)
    return np.asarray((left @ right.T + c) ** p)


def polynomial_radius(data_norm: float, *, degree: int, offset: float) -> float:
    """Norm :math:`(r^2+c)^{p/2}` of the features on a ball; the text's :math:`r^p` at c = 0."""
    r, c = check_positive("data_norm", data_norm), check_nonnegative("offset", offset)
    return float((r * r + c) ** (check_integer("degree", degree) / 2))


def _monomial_count(n_features: int, *, degree: int, offset: float) -> int:
    """Number of monomials: of degree p without offset, of degree at most p with one."""
    d, p = check_integer("n_features", n_features), check_integer("degree", degree)
    variables = d + 1 if check_nonnegative("offset", offset) > 0 else d
    return math.comb(variables + p - 1, p)


def _exponents(variables: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield all exponent vectors of a degree, the first variable first."""
    if variables == 1:
        yield (degree,)
        return
    for first in range(degree, -1, -1):
        for rest in _exponents(variables - 1, degree - first):
            yield (first, *rest)


def monomial_features(X: ArrayLike, *, degree: int, offset: float) -> Array:
    r"""Map to all weighted monomials, whose inner products are the polynomial kernel.

    With the extra variable :math:`\sqrt c` the coordinate of :math:`\prod x_i^{e_i}` weighs
    :math:`\sqrt{p!/\prod e_i!}`. At most 100,000 columns and 50 million entries.
    """
    records = check_real_array("X", X, 2)
    count = _monomial_count(records.shape[1], degree=degree, offset=offset)
    if count > _MONOMIALS or count * len(records) > _ENTRIES:
        raise ValueError(
            f"degree must leave at most {_MONOMIALS} monomials and {_ENTRIES} entries, "
            f"got {len(records)} x {count}: "
            "choose a lower degree"
        )
    if offset > 0:
        column = np.full((len(records), 1), math.sqrt(offset))
        records = np.hstack([records, column])
    variables = records.shape[1]
    powers = records[None] ** np.arange(degree + 1)[:, None, None]  # (p + 1, n, variables)
    out = np.empty((len(records), count))
    for index, exponents in enumerate(_exponents(variables, degree)):
        weight = math.factorial(degree) / math.prod(math.factorial(e) for e in exponents)
        used = [i for i, e in enumerate(exponents) if e]
        product = np.prod([powers[exponents[i], :, i] for i in used], axis=0)
        out[:, index] = math.sqrt(weight) * product
    return out


# Random features followed by a Johnson-Lindenstrauss map, one block of frequencies at a time.
# Algorithm 3 has ten million frequencies for a thousand records: a block and its signs are drawn
# from a seed of their own, used and forgotten, and new records meet the same blocks again. As D
# grows the law tends to that of k paths of the Gaussian process with the kernel as covariance.


_Single = NDArray[np.float32]

#: Rows that meet one block of frequencies at a time.
_ROWS = 1024

#: Entries are clipped here, so that every angle is finite in single precision.
_LARGEST = 1e15


@dataclass(frozen=True)
class _StreamedProjection:
    r"""Public map :math:`x\mapsto\Phi\hat\psi(x)` to k coordinates, block after block. Entries of
    :math:`\Phi` are :math:`\pm1/\sqrt k`: inner products are unbiased. ``entropy`` seeds all blocks
    of ``block`` frequencies; ``double`` computes in float64.
    """

    n_features: int
    n_frequencies: int
    n_components: int
    gamma: float
    entropy: int
    block: int
    double: bool = False

    def blocks(self) -> Iterator[tuple[_Single, _Single]]:
        """Yield frequencies (d, b) and signs (2 b, k) of every block, drawn in float32."""
        for index, start in enumerate(range(0, self.n_frequencies, self.block)):
            count = min(self.block, self.n_frequencies - start)
            rng = np.random.default_rng(np.random.SeedSequence([self.entropy, index]))
            frequencies = rng.standard_normal((self.n_features, count), dtype=np.float32)
            frequencies *= np.float32(np.sqrt(2.0 * self.gamma))
            size = 2 * count * self.n_components
            bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size // 8)), np.uint8), count=size)
            signs = bits.reshape(2 * count, self.n_components).astype(np.float32)
            signs *= 2.0
            signs -= 1.0
            yield frequencies, signs

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compress records (n, d) to (n, k), of mean squared norm 1, not clipped."""
        records = check_real_array("X", X, 2, copy=False)
        dtype = np.dtype(np.float64 if self.double else np.float32)
        records = np.clip(records, -_LARGEST, _LARGEST).astype(dtype)
        if records.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got X of shape {np.shape(X)}")
        n, rows = len(records), min(_ROWS, len(records))
        out = np.zeros((n, self.n_components))
        angle = np.empty(rows * self.block, dtype)
        features = np.empty(rows * 2 * self.block, dtype)
        for frequencies, signs in self.blocks():
            width = frequencies.shape[1]
            weights = frequencies.astype(dtype) * dtype.type(angle_factor(dtype))
            signs = signs.astype(dtype, copy=False)
            for start in range(0, n, rows):
                part = slice(start, min(start + rows, n))
                count = part.stop - start
                angles = angle[: count * width].reshape(count, width)
                pair = features[: count * 2 * width].reshape(count, 2 * width)
                np.matmul(records[part], weights, out=angles)
                scaled_cosine_and_sine(angles, pair[:, :width], pair[:, width:], 1.0)
                out[part] += pair @ signs
        out *= 1.0 / np.sqrt(self.n_frequencies * self.n_components)
        return out


def streamed_projection(
    n_features: int, n_frequencies: int, n_components: int, *, gamma: float,
    rng: np.random.Generator, block: int = 1024, double: bool = False,
) -> _StreamedProjection:  # fmt: skip
    """Draw a streamed map of D frequencies to k coordinates: nothing but one public seed.

    Another block size is another map; ``double`` changes the precision alone.
    """
    check_integer("n_features", n_features)
    check_integer("n_frequencies", n_frequencies)
    check_integer("n_components", n_components)
    check_integer("block", block)
    gamma = check_positive("gamma", gamma)
    entropy = int(check_rng(rng).integers(2**63))
    width = min(block, n_frequencies)
    return _StreamedProjection(
        n_features, n_frequencies, n_components, gamma, entropy, width, double
    )


def gram_entry_variance(value: float, n_components: int, *, method: str) -> float:
    r"""Variance of one inner product of compressed records of Gaussian kernel ``value``, r = 1.

    :math:`(1-\kappa^2)^2/k` for ``direct`` features, k = 2 D, and :math:`(1+\kappa^2)/k` for
    ``projected`` ones.
    """
    kappa = check_positive("value", value)
    if kappa > 1:
        raise ValueError(f"value must be at most 1, got value={value!r}")
    k = check_integer("n_components", n_components)
    if check_choice("method", method, ("direct", "projected")) == "direct":
        return (1.0 - kappa**2) ** 2 / k
    return (1.0 + kappa**2) / k


@dataclass(frozen=True)
class DirectFeatures:
    """Random features of norm r as they are, without compression."""

    frequencies: Array
    data_norm: float
    double: bool = False

    def transform(self, X: ArrayLike) -> Array:
        """Map records to 2 D coordinates."""
        rows = np.clip(check_real_array("X", X, 2, copy=False), -_LARGEST, _LARGEST)
        rows = rows.astype(np.float64 if self.double else np.float32)
        mapped: Array = margin_features(rows, self.frequencies, data_norm=self.data_norm).astype(
            np.float64
        )
        return mapped


def _direct_features(
    n_features: int, n_frequencies: int, *, gamma: float, rng: np.random.Generator,
    double: bool = False,
) -> DirectFeatures:  # fmt: skip
    """Draw the map of equation (2) with D frequencies, 2 D coordinates."""
    frequencies = random_frequencies(n_features, n_frequencies, gamma=gamma, rng=rng)
    return DirectFeatures(frequencies, 1.0, double)


@dataclass(frozen=True)
class _KernelPredictor:
    """Released weights (p,), and the public map that they belong to."""

    weights: Array
    features: _StreamedProjection

    def scores(self, X: ArrayLike) -> Array:
        """Evaluate the predictor; the sign is the class."""
        return np.asarray(self.features.transform(X) @ self.weights)


def meets_hypotheses(*, epsilon: float, delta: float, n_samples: int) -> bool:
    r"""Whether Theorem 3.2 speaks: :math:`\delta<1/m` and :math:`\varepsilon\le\log(1/\delta)`."""
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    return delta < 1.0 / check_integer("n_samples", n_samples) and epsilon <= math.log(1.0 / delta)


def repaired_budget(*, epsilon: float, delta: float, n_samples: int) -> tuple[float, float]:
    r"""Budget with which Theorem 4.2 may call Algorithm 2, for every epsilon and delta.

    :math:`\delta'=\min(\delta,1/(2m))` and :math:`\varepsilon'=\min(\varepsilon,\log(1/\delta'))`
    imply the wanted guarantee.

    >>> epsilon, delta = repaired_budget(epsilon=20.0, delta=0.3, n_samples=1000)
    >>> round(epsilon, 3), delta
    (7.601, 0.0005)
    """
    wanted, m = check_probability("delta", delta), check_integer("n_samples", n_samples)
    smaller = min(wanted, 1.0 / (2.0 * m))
    return min(check_positive("epsilon", epsilon), math.log(1.0 / smaller)), smaller


def plan_algorithm3(
    n_samples: int, ball: Ball, *, epsilon: float, delta: float, beta: float,
    n_components: int | None = None, n_steps: int = 100, solver: Solver = "noisy_gradient",
) -> LearningPlan:  # fmt: skip
    """Plan Algorithm 3 at the repaired budget, for every epsilon > 0 and delta in (0, 1).

    Algorithm 2 is called with norm bound 2 Lambda and doubles it once more: eight times the noise
    of a direct learner against the signal. None is the printed dimension of Algorithm 2.
    """
    rho, size, norm = ball
    epsilon, delta = repaired_budget(epsilon=epsilon, delta=delta, n_samples=n_samples)
    half = check_probability("beta", beta) / 2
    k = n_components
    if k is None:
        k = printed_dimension(n_samples=n_samples, epsilon=epsilon, delta=delta, beta=half)
    doubled = _check_geometry(rho, 2.0 * check_positive("weight_norm", size), norm).inflated(2.0)
    return plan_learning(
        (n_samples, check_integer("n_components", k)), [doubled], epsilon=epsilon, delta=delta,
        solver=solver, n_steps=n_steps, beta=half,
    )  # fmt: skip


def algorithm3(
    X: ArrayLike, y: ArrayLike, plan: LearningPlan, *, gamma: float, beta: float,
    public_rng: np.random.Generator, rng: np.random.Generator,
) -> _KernelPredictor:  # fmt: skip
    """Algorithm 3 with all its frequencies, streamed, at r = 1; as private as its plan.

    The map comes from ``public_rng``, the noise from another stream.
    """
    rows = check_finite_array("X", X, ndim=2)
    if check_rng(public_rng) is check_rng(rng):
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    m, d = rows.shape
    count = frequencies_of_algorithm3(m, beta=beta)
    features = streamed_projection(d, count, plan.n_features, gamma=gamma, rng=public_rng)
    weights = learn(features.transform(rows), y, plan, rng=rng).weights
    return _KernelPredictor(weights, features)


# What random features can cost the reference predictor: by all pairs, or record by record.


@dataclass(frozen=True)
class _Balance:
    """Reference size n0, number 2 D of features, and the two terms of the hinge loss."""

    n0: float
    n_components: int
    approximation: float
    private: float

    @property
    def total(self) -> float:
        """Sum of the two terms."""
        return self.approximation + self.private


def reference_regularization(
    n0: float, *, margin: float, weight_norm: float, data_norm: float = 1.0
) -> float:
    r"""Regularisation of the reference predictor: :math:`\lambda=r/(\rho\Lambda\sqrt{n_0})`.

    Its coefficients then sum to at most :math:`\Lambda\sqrt{n_0}/r`.
    """
    bound = check_positive("margin", margin) * check_positive("weight_norm", weight_norm)
    return check_positive("data_norm", data_norm) / (bound * math.sqrt(check_positive("n0", n0)))


def pairwise_transfer_bound(
    n_samples: int, *, margin: float, weight_norm: float, data_norm: float = 1.0
) -> tuple[float, float]:
    r"""Excess :math:`2.5\Lambda r/(\rho\sqrt m)` and norm :math:`\sqrt3\Lambda` of the transfer.

    In Theorem 4.2, with Algorithm 3's frequencies and n0 = m, over the best hinge loss of the ball.
    """
    m = check_integer("n_samples", n_samples)
    size = check_positive("weight_norm", weight_norm)
    ratio = size * check_positive("data_norm", data_norm) / check_positive("margin", margin)
    return 2.5 * ratio / math.sqrt(m), math.sqrt(3.0) * size


def pointwise_deviation(
    n_samples: int, n_frequencies: int, *, norm: float, weight_sum: float, beta: float,
    data_norm: float = 1.0,
) -> float:  # fmt: skip
    r"""Bound on the change of the scores at all records, by Bernstein's inequality.

    :math:`r\|f\|\sqrt{2\mathcal L/D}+r^2\|\alpha\|_1\mathcal L/(3D)` with :math:`\mathcal
    L=\log(2m/\beta)` and ``weight_sum`` :math:`\|\alpha\|_1`.
    """
    m, count = check_integer("n_samples", n_samples), check_integer("n_frequencies", n_frequencies)
    log = math.log(2 * m / check_probability("beta", beta)) / count
    r = check_positive("data_norm", data_norm)
    first = r * check_positive("norm", norm) * math.sqrt(2.0 * log)
    return first + r * r * check_positive("weight_sum", weight_sum) * log / 3.0


def _pointwise_transfer_bound(
    n_samples: int, n_frequencies: int, *, n0: float, margin: float, weight_norm: float,
    beta: float, data_norm: float = 1.0,
) -> float:  # fmt: skip
    r"""Increase of the hinge loss over the best of the ball, with D frequencies and size n0.
    :math:`\frac{\Lambda r}\rho\big(\frac1{2\sqrt{n_0}}+\sqrt{2\mathcal L/D}+ \sqrt{n_0}\mathcal
    L/(3D)\big)`.
    """
    ratio = check_positive("weight_norm", weight_norm) * check_positive("data_norm", data_norm)
    ratio /= check_positive("margin", margin)
    root = math.sqrt(check_positive("n0", n0))
    moved = pointwise_deviation(n_samples, n_frequencies, norm=1.0, weight_sum=root, beta=beta)
    return ratio * (0.5 / root + moved)


def private_term(
    n_samples: int, n_components: int, *, margin: float, weight_norm: float, epsilon: float,
    delta: float, data_norm: float = 1.0,
) -> float:  # fmt: skip
    r"""Excess loss :math:`\frac{\Lambda r}\rho\frac{2\sqrt p}{m\mu}` of many noisy steps in a ball.

    >>> loss = private_term(10_000, 258_000, margin=0.3, weight_norm=2.0, epsilon=1.0, delta=1e-6)
    >>> round(loss, 2)
    2.86
    """
    ratio = check_positive("weight_norm", weight_norm) * check_positive("data_norm", data_norm)
    ratio /= check_positive("margin", margin)
    level = check_integer("n_samples", n_samples) * gdp_budget(epsilon=epsilon, delta=delta)
    return ratio * 2.0 * math.sqrt(check_integer("n_components", n_components)) / level


def balanced_size(
    n_samples: int, *, margin: float, weight_norm: float, epsilon: float, delta: float, beta: float,
    data_norm: float = 1.0, n0: float | None = None,
) -> _Balance:  # fmt: skip
    r"""Reference size n0, and so the number of direct features, that costs least in total.

    The sum of ``_pointwise_transfer_bound`` at :math:`D=n_0\mathcal L` and of
    :func:`private_term` in the ball 2 Lambda; a given ``n0`` is taken as it is.
    """
    m, beta = check_integer("n_samples", n_samples), check_probability("beta", beta)
    log = math.log(2 * m / beta)

    def at(size: float) -> _Balance:
        count = math.ceil(size * log)
        loss = _pointwise_transfer_bound(
            m,
            count,
            n0=size,
            margin=margin,
            weight_norm=weight_norm,
            beta=beta,
            data_norm=data_norm,
        )
        noise = private_term(
            m, 2 * count, margin=margin, weight_norm=2.0 * weight_norm, epsilon=epsilon,
            delta=delta, data_norm=data_norm,
        )  # fmt: skip
        return _Balance(size, 2 * count, loss, noise)

    if n0 is not None:
        return at(check_positive("n0", n0))
    found = minimize_scalar(
        lambda x: at(math.exp(x)).total, bounds=(0.0, math.log(m)), method="bounded"
    )
    return at(math.exp(float(found.x)))
