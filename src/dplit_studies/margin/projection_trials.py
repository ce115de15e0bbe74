"""Simulated projections: failures of signs, distortions, and the growth that Appendix H leaves
out.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from dplit.features import hadamard_projection, sign_projection
from dplit.margins.losses import hinge_loss, zero_one_loss
from dplit_studies.trials import Estimate, mean_and_se


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
    *,
    n_features: int,
    n_components: int,
    differing: int,
    distortion: float,
    n_draws: int,
    rng: np.random.Generator,
) -> _Failures:
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
    u: ArrayLike,
    v: ArrayLike,
    *,
    n_components: int,
    kind: str,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
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
