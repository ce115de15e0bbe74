"""Noisy second moments at a budget of bits per entry, beside the curves of Figures 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import LinAlgError

from dplit._checks import Array
from dplit.projection.additive import moment_variances
from dplit.projection.regression import Spectrum, _shifted_solve


def moment_errors(
    problems: Mapping[str, Spectrum],
    *,
    n_samples: int,
    largest: Sequence[float],
    epsilons: Sequence[float],
    rng: np.random.Generator,
) -> list[dict[str, float]]:
    """Draw one relative error per budget and response; ``largest``: the responses' largest moduli.

    The penalty is half of the noise's expected largest eigenvalue, doubled until it is definite.
    """
    d = next(iter(problems.values())).n_features
    square, line = rng.standard_normal((d, d)), rng.standard_normal(d)
    square = (square + square.T) / math.sqrt(2.0)
    found: list[dict[str, float]] = []
    for epsilon in epsilons:
        errors = {}
        for (name, problem), bound in zip(problems.items(), largest, strict=True):
            total = problem.residual + float(problem.scores @ problem.scores)
            gram, cross = moment_variances(
                epsilon=epsilon, n_features=d, response_bound=bound, energy=3 * total / n_samples
            )
            matrix = math.sqrt(gram) * square
            matrix.flat[:: d + 1] += problem.energies
            target = np.sqrt(problem.energies) * problem.scores + math.sqrt(cross) * line
            fit = _positive_solve(matrix, target, math.sqrt(gram * d))
            errors[name] = float(problem.errors(fit))
        found.append(errors)
    return found


def _positive_solve(matrix: Array, target: Array, penalty: float) -> Array:
    while True:
        try:
            return _shifted_solve(matrix, target, -penalty)
        except LinAlgError:
            penalty *= 2.0
