"""The synthetic data of Figures 1 to 3: two test functions of Gaussian inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_choice, check_integer, check_real_array, check_rng
from dplit.papers.random_features.counterexamples import _f1


def _f2(X: ArrayLike) -> Array:
    """Second test function, ``sum_i exp(-|x_i|)``: kinks wherever a coordinate is 0."""
    return np.asarray(np.exp(-np.abs(check_real_array("X", X, 2))).sum(axis=1))


def _draw_data(
    n: int, dimension: int, function: str, *, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Standard normal inputs and labels f1 or f2, divided by the norm of all n labels (Section
    4.1): their mean square is 1/n, which is why every error of Figures 1 and 2 looks small.
    """
    check_choice("function", function, ("f1", "f2"))
    shape = (check_integer("n", n), check_integer("dimension", dimension))
    X = check_rng(rng).standard_normal(shape)
    y = _f1(X) if function == "f1" else _f2(X)
    return X, y / np.linalg.norm(y)
