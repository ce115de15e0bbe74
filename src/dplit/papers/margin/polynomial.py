"""Polynomial kernels: the map to all monomials, its radius, and what the learner may do with it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_nonnegative, check_positive, check_real_array
from dplit.papers.margin.kernel_learner import _ENTRIES, _MONOMIALS


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
