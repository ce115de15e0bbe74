"""Algorithm 3 and its shorter relatives: private kernel classifiers on public random features.

Features and compression do not look at the data: the guarantee is that of the linear learner. r is
``data_norm``, the norm of every record in the space of the kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.margins._checks import check_geometry
from dplit.margins._kinds import Solver
from dplit.margins._learning import learn
from dplit.margins.balls import Ball
from dplit.margins.compressed import printed_dimension
from dplit.margins.plans import LearningPlan, plan_learning
from dplit.margins.streamed import StreamedProjection, streamed_projection
from dplit.papers.margin.kernel_features import frequencies_of_algorithm3

#: Largest numbers of monomials and of entries of an explicit map.
_MONOMIALS, _ENTRIES = 100_000, 50_000_000


@dataclass(frozen=True)
class _KernelPredictor:
    """Released weights (p,), and the public map that they belong to."""

    weights: Array
    features: StreamedProjection

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
    n_samples: int,
    ball: Ball,
    *,
    epsilon: float,
    delta: float,
    beta: float,
    n_components: int | None = None,
    n_steps: int = 100,
    solver: Solver = "noisy_gradient",
) -> LearningPlan:
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
    doubled = check_geometry(rho, 2.0 * check_positive("weight_norm", size), norm).inflated(2.0)
    return plan_learning(
        (n_samples, check_integer("n_components", k)),
        [doubled],
        epsilon=epsilon,
        delta=delta,
        solver=solver,
        n_steps=n_steps,
        beta=half,
    )


def algorithm3(
    X: ArrayLike,
    y: ArrayLike,
    plan: LearningPlan,
    *,
    gamma: float,
    beta: float,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
) -> _KernelPredictor:
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
