"""Eigenvalues of random-feature Gram matrices: Theorem 8's hypotheses and the sharp reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)
from dplit.random_features.interpolation import _square_matrix, gram_matrix

__all__ = [
    "concentration_conditions",
    "gram_spectrum",
    "marchenko_pastur_edges",
]


class _Edges(NamedTuple):
    """Ends of the limiting spectrum."""

    lower: float
    upper: float


@dataclass(frozen=True)
class _Inequality:
    """One hypothesis ``left >= right``."""

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether ``left >= right``."""
        return self.left >= self.right


@dataclass(frozen=True)
class _ConcentrationConditions:
    """The three hypotheses of Theorem 8 at given constants, and its conclusion.

    ``||A A*/N - I|| <= deviation`` = 2 eta with at least ``probability`` = 1 - 3 failure.
    """

    dimension: _Inequality
    bandwidth: _Inequality
    components: _Inequality
    deviation: float
    probability: float

    @property
    def holds(self) -> bool:
        """Whether all three hypotheses hold."""
        return self.dimension.holds and self.bandwidth.holds and self.components.holds


def gram_spectrum(
    features: ArrayLike | None = None, *, gram: ArrayLike | None = None, scale: float = 1.0
) -> Array:
    """Eigenvalues of ``scale * A A*`` in increasing order, from features A or their Gram matrix.

    ``scale`` is 1/N for the paper's unnormalised features.

    Examples
    --------
    >>> gram_spectrum([[1.0, 1.0], [1.0, -1.0]], scale=0.5)
    array([1., 1.])
    """
    if (features is None) == (gram is None):
        raise TypeError("gram_spectrum takes exactly one of features and gram")
    if gram is not None:
        matrix = _square_matrix(gram)
    else:
        assert features is not None  # the first check
        matrix = gram_matrix(features)
    return np.asarray(check_positive("scale", scale) * np.linalg.eigvalsh(matrix))


def marchenko_pastur_edges(ratio: float) -> _Edges:
    """Ends of the spectrum of ``A A*/N`` when the kernel between records is nearly zero.

    ``(1 -+ sqrt(ratio))^2`` with ratio = m / N in (0, 1], sharp as m and N grow.

    Examples
    --------
    >>> marchenko_pastur_edges(0.25)
    _Edges(lower=0.25, upper=2.25)
    """
    root = math.sqrt(check_probability("ratio", ratio, one=True))
    return _Edges((1.0 - root) ** 2, (1.0 + root) ** 2)


def concentration_conditions(
    *, n_samples: int, n_components: int, n_features: int, spread: float, eta: float,
    failure: float, c1: float = 1.0, c2: float = 1.0,
) -> _ConcentrationConditions:  # fmt: skip
    """Both sides of ``d >= C1 log(m/failure)``, ``spread >= 4 log(2m/eta)`` and
    ``N >= C2 eta^-2 m log(2m/failure)``, the hypotheses of Theorem 8.

    ``spread`` is gamma^2 sigma_omega^2: variance of the inputs (all d components together) times
    variance of the frequencies (per component). The paper leaves C1 and C2 unspecified, and states
    eta in (0, 1), but everything after the theorem needs 1/2.

    Examples
    --------
    >>> options = dict(n_samples=1000, n_components=5000, n_features=5, spread=200.0)
    >>> concentration_conditions(**options, eta=0.375, failure=0.05).bandwidth.holds
    True
    """
    m = check_integer("n_samples", n_samples, minimum=1)
    n = check_integer("n_components", n_components, minimum=1)
    d = check_integer("n_features", n_features, minimum=1)
    half = check_interval("eta", eta, 0.0, 0.5)
    probability = check_probability("failure", failure)
    return _ConcentrationConditions(
        dimension=_Inequality(float(d), check_positive("c1", c1) * math.log(m / probability)),
        bandwidth=_Inequality(check_positive("spread", spread), 4.0 * math.log(2 * m / half)),
        components=_Inequality(
            float(n), check_positive("c2", c2) * m * math.log(2 * m / probability) / half**2
        ),
        deviation=2.0 * half,
        probability=1.0 - 3.0 * probability,
    )
