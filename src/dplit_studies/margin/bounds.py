"""Simulated projections, compressed networks, and bounds beside what the learners do.

Two binomial sums a row draw exactly what a sign matrix makes of two vectors of equal entries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.accounting import gdp_budget
from dplit.features import (
    feature_gram,
    gaussian_kernel,
    hadamard_projection,
    random_frequencies,
    sign_projection,
)
from dplit.margin.compressed import best_slack, compressed_learner, plain_slack, printed_dimension
from dplit.margin.data import margin_data
from dplit.margin.exponential import (
    cover_terms,
    gaussian_prior_bound,
    gaussian_prior_draw,
    relative_bound,
)
from dplit.margin.losses import Ball, hinge_loss, zero_one_loss
from dplit.margin.plans import plan_learning
from dplit.trials import Estimate, Trial, mean_and_se, run_trials

# Appendix H: the part of a bound that grows with the norm of its comparator.


def comparator_slack(norm: float, *, margin: float, n_samples: int, data_norm: float) -> float:
    r"""Slack :math:`2\Lambda r/(\rho\sqrt m)` of a comparator of norm :math:`\Lambda`."""
    size = check_positive("norm", norm) * check_positive("data_norm", data_norm)
    root = np.sqrt(check_integer("n_samples", n_samples))
    return float(2 * size / (check_positive("margin", margin) * root))


@dataclass(frozen=True)
class LineDistribution:
    r"""Four points on a line, with labels that are the sign of x, noisy far out.

    Mass ``near_mass`` at :math:`\pm\gamma`, the rest at :math:`\pm r`, where labels are flipped
    with probability ``flip`` < 1/2.

    >>> LineDistribution(0.1, 0.5).minimiser
    10.0
    """

    gamma: float
    near_mass: float
    flip: float = 0.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_interval("gamma", self.gamma, 0.0, check_positive("radius", self.radius))
        check_probability("near_mass", self.near_mass)
        if self.flip != 0:
            check_interval("flip", self.flip, 0.0, 0.5)

    @property
    def atoms(self) -> tuple[Array, Array]:
        """Values y x of the distribution, and their probabilities."""
        far = 1 - self.near_mass
        values = np.array([self.gamma, self.radius, -self.radius])
        return values, np.array([self.near_mass, far * (1 - self.flip), far * self.flip])

    def expected_hinge(self, w: ArrayLike) -> Array:
        """Expected hinge loss of margin 1, for each weight w."""
        values, masses = self.atoms
        weights = np.atleast_1d(check_finite_array("w", w)).astype(float)
        return np.asarray(hinge_loss(np.multiply.outer(weights, values), margin=1.0) @ masses)

    def zero_one_error(self, w: ArrayLike) -> Array:
        """Expected zero-one error, for each weight w."""
        values, masses = self.atoms
        weights = np.atleast_1d(check_finite_array("w", w)).astype(float)
        return np.asarray(zero_one_loss(np.multiply.outer(weights, values)) @ masses)

    @property
    def critical_flip(self) -> float:
        r"""Noise level below which :math:`1/\gamma` minimises: :math:`p\gamma/((1-p)r)`."""
        return self.near_mass * self.gamma / ((1 - self.near_mass) * self.radius)

    @property
    def minimiser(self) -> float:
        r"""Least-norm minimiser of the expected hinge, :math:`1/\gamma` or :math:`1/r`."""
        return 1 / self.gamma if self.flip < self.critical_flip else 1 / self.radius


class _Failures(NamedTuple):
    """Shares of draws in which an inner product or a squared length was off."""

    inner: float
    length: float


def _sign_products(
    *, n_features: int, n_components: int, differing: int, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""Inner products and squared lengths (n_draws,) after independent sign projections.

    Of unit vectors with entries :math:`\pm1/\sqrt d` whose signs differ ``differing`` times.
    """
    d, k = check_integer("n_features", n_features), check_integer("n_components", n_components)
    other, count = (
        check_integer("differing", differing, minimum=0),
        check_integer("n_draws", n_draws),
    )
    if other > d:
        raise ValueError(f"differing must be at most n_features={d}, got differing={differing!r}")
    generator, size = check_rng(rng), (count, k)
    same = 2.0 * generator.binomial(d - other, 0.5, size) - (d - other)
    apart = 2.0 * generator.binomial(other, 0.5, size) - other
    products: Array = np.sum(same**2 - apart**2, axis=1) / (d * k)
    lengths: Array = np.sum((same + apart) ** 2, axis=1) / (d * k)
    return products, lengths


def sign_failures(
    *, n_features: int, n_components: int, differing: int, distortion: float, n_draws: int,
    rng: np.random.Generator,
) -> _Failures:  # fmt: skip
    """How often a sign projection moves an inner product, or a squared length, too far."""
    eta = check_interval("distortion", distortion, 0.0, 1.0)
    products, lengths = _sign_products(
        n_features=n_features,
        n_components=n_components,
        differing=differing,
        n_draws=n_draws,
        rng=rng,
    )
    correlation = 1 - 2 * differing / n_features
    inner = float(np.mean(np.abs(products - correlation) > eta))
    return _Failures(inner, float(np.mean(np.abs(lengths - 1) > eta)))


def product_errors(
    u: ArrayLike, v: ArrayLike, *, n_components: int, kind: str, n_draws: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Errors of one inner product under independent projections of one kind."""
    pair = np.stack([check_finite_array("u", u, ndim=1), check_finite_array("v", v, ndim=1)])
    check_choice("kind", kind, ("sign", "hadamard"))
    d, errors = pair.shape[1], np.empty(check_integer("n_draws", n_draws))
    for t in range(n_draws):
        if kind == "sign":
            small = pair @ sign_projection(d, n_components, rng=rng).T
        else:
            small = hadamard_projection(d, n_components, rng=rng).transform(pair)
        errors[t] = small[0] @ small[1]
    return np.asarray(errors - pair[0] @ pair[1])


def fast_distortions(
    vectors: ArrayLike, *, n_components: int, n_draws: int, rng: np.random.Generator
) -> Array:
    """Largest relative change of a squared length under each of several fast projections."""
    rows = check_real_array("vectors", vectors, 2)
    squares = np.einsum("ij,ij->i", rows, rows)
    if not np.all(squares > 0):
        raise ValueError("vectors must be nonzero, got a row of zeros")
    worst = np.empty(check_integer("n_draws", n_draws))
    for t in range(n_draws):
        small = hadamard_projection(rows.shape[1], n_components, rng=rng).transform(rows)
        worst[t] = np.max(np.abs(np.einsum("ij,ij->i", small, small) / squares - 1))
    return worst


def adjoint_growth(
    w: ArrayLike, n_features: int, *, n_draws: int, rng: np.random.Generator
) -> Estimate:
    r"""Mean of :math:`\|\Phi^\top w\|^2/\|w\|^2`, d / k, over sign projections, and its error."""
    weights = check_real_array("w", w, 1)
    k, count = len(weights), check_integer("n_draws", n_draws, minimum=2)
    lengths = np.empty(count)
    for t in range(count):
        lengths[t] = np.sum((weights @ sign_projection(n_features, k, rng=rng)) ** 2)
    return mean_and_se(lengths / np.sum(weights**2))


# Errors of random features on a sample, all pairs at once.


def _sup_deviation(gram: ArrayLike, kernel: ArrayLike) -> float:
    """Largest error of a Gram matrix off the diagonal, as in Theorem 4.1."""
    left = check_finite_array("gram", gram, ndim=2)
    right = check_finite_array("kernel", kernel, ndim=2)
    if left.shape != right.shape or left.shape[0] != left.shape[1] or len(left) < 2:
        raise ValueError(
            f"gram and kernel must be square of one shape, got {left.shape} and {right.shape}"
        )
    error = np.abs(left - right)
    np.fill_diagonal(error, 0.0)
    return float(error.max())


def sup_deviation_draws(
    X: ArrayLike, n_frequencies: int, *, gamma: float, draws: int, rng: np.random.Generator
) -> Array:
    """Suprema of the Gram error over independent draws of D frequencies of the Gaussian kernel."""
    records = check_finite_array("X", X, ndim=2)
    kernel = gaussian_kernel(records, gamma=gamma)
    out = np.empty(check_integer("draws", draws))
    for k in range(len(out)):
        frequencies = random_frequencies(records.shape[1], n_frequencies, gamma=gamma, rng=rng)
        gram = feature_gram(records, frequencies)
        out[k] = _sup_deviation(gram, kernel)
    return out


# Bounds and truth: what the explicit margin bounds promise, and what the learners do.


#: Bounds that are compared; the last is not private.
BOUNDS = ("Theorem 3.1", "Gaussian prior", "Theorem 3.2", "no privacy")

#: Coordinates of the records, by learner, and test records of the measurements.
_DIMENSIONS, _TEST = {"prior": 100, "compressed": 1000}, 20_000


def bound_value(
    name: str, n_samples: int, *, normalized_margin: float, epsilon: float, delta: float = 1e-6,
    beta: float = 0.05,
) -> float:  # fmt: skip
    """Value of one of ``BOUNDS`` where the comparator makes no error and no hinge loss.

    That of the Gaussian prior is on the training error; Theorem 3.2 is taken at its best dimension.
    """
    check_choice("name", name, BOUNDS)
    m, a = check_integer("n_samples", n_samples), normalized_margin
    if name == "Theorem 3.1":
        terms = cover_terms(normalized_margin=a, n_samples=m, epsilon=epsilon, beta=beta)
        return relative_bound(0.0, log_budget=terms.log_budget, n_samples=m, epsilon=epsilon)
    if name == "Gaussian prior":
        return gaussian_prior_bound(normalized_margin=a, n_samples=m, epsilon=epsilon, beta=beta)
    if name == "Theorem 3.2":
        mu = gdp_budget(epsilon=epsilon, delta=delta)
        return best_slack(normalized_margin=a, n_samples=m, mu=mu, beta=beta).total
    return plain_slack(normalized_margin=a, n_samples=m, beta=beta)


def informative_from(
    name: str, *, normalized_margin: float, epsilon: float, delta: float = 1e-6, beta: float = 0.05,
    level: float = 0.5,
) -> int:  # fmt: skip
    """Smallest number of records from which a bound is below a level."""
    limit = check_positive("level", level)

    def below(m: int) -> bool:
        value = bound_value(
            name, m, normalized_margin=normalized_margin, epsilon=epsilon, delta=delta, beta=beta
        )
        return value < limit

    sizes = range(9, 1 << 40)
    return sizes[bisect_left(sizes, True, key=below)]


@dataclass(frozen=True)
class _MeasuredErrors:
    """Test errors of a learner, with their standard errors."""

    learner: str
    sizes: tuple[int, ...]
    mean: Array
    se: Array


def _prior(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    X, y = margin_data(m, _DIMENSIONS["prior"], margin=a, rng=trial.stream("data"))
    coef = gaussian_prior_draw(X, y, epsilon=epsilon, rng=trial.stream("noise"))
    return _error(coef, a, trial)


def _compressed(trial: Trial, m: int, a: float, epsilon: float, delta: float) -> float:
    d = _DIMENSIONS["compressed"]
    X, y = margin_data(m, d, margin=a, rng=trial.stream("data"))
    k = printed_dimension(n_samples=m, epsilon=epsilon, delta=delta, beta=0.05)
    doubled = Ball(a, 1.0, 1.0).inflated(2.0)
    plan = plan_learning((m, min(k, d)), [doubled], epsilon=epsilon, delta=delta, n_steps=50)
    public, noise = trial.stream("public"), trial.stream("noise")
    model = compressed_learner(X, y, plan, data_norm=1.0, public_rng=public, rng=noise)
    return _error(model.coef, a, trial)


def _error(coef: Array, a: float, trial: Trial) -> float:
    """Error on fresh records, for which only one random coordinate has to be drawn."""
    rng = trial.stream("public").spawn(1)[0]
    rest = float(np.linalg.norm(coef[1:]))
    # a coordinate of a uniform direction on the sphere of R^(d-1): normal over the norm
    normal, others = rng.standard_normal(_TEST), rng.chisquare(len(coef) - 2, _TEST)
    along = normal / np.sqrt(normal**2 + others)
    return float(np.mean(a * coef[0] + np.sqrt(1 - a * a) * rest * along <= 0))


def measured_errors(
    learner: str, sizes: tuple[int, ...], *, normalized_margin: float, epsilon: float, draws: int,
    seed: int, delta: float = 1e-6, n_jobs: int | None = 1,
) -> _MeasuredErrors:  # fmt: skip
    """Measure what a learner does where the bounds are evaluated, on ``draws`` fresh samples.

    "prior" draws in 100 dimensions, "compressed" is Algorithm 2 with 50 steps in 1000.
    """
    check_choice("learner", learner, ("prior", "compressed"))
    function: Callable[..., float] = _prior if learner == "prior" else _compressed
    estimates = []
    for m in sizes:
        run = partial(function, m=m, a=normalized_margin, epsilon=epsilon, delta=delta)
        name = f"margin-exp-bound-gap {learner} {m}"
        estimates.append(mean_and_se(run_trials(run, draws, seed=seed, name=name, n_jobs=n_jobs)))
    mean, se = np.array(estimates, dtype=float).T
    return _MeasuredErrors(learner, tuple(sizes), mean, se)
