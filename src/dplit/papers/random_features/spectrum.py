"""Spectrum of a Gram matrix of random features, and the edges of Marchenko and Pastur."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_positive, check_probability
from dplit.papers.random_features.interpolation import _square_matrix, gram_matrix


class _Edges(NamedTuple):
    """Ends of the limiting spectrum."""

    lower: float
    upper: float


def gram_spectrum(
    features: ArrayLike | None = None, *, gram: ArrayLike | None = None, scale: float = 1.0
) -> Array:
    """Eigenvalues of ``scale * A A*`` in increasing order, from features A or their Gram matrix.

    ``scale`` is 1/N for the paper's unnormalised features.
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
    """
    root = math.sqrt(check_probability("ratio", ratio, one=True))
    return _Edges((1.0 - root) ** 2, (1.0 + root) ** 2)
