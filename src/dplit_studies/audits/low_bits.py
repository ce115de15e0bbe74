"""What the last bits of a release tell of the sum beneath: neighbours 0 and 1, Gaussian noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from dplit._checks import Array, check_finite_array, check_integer, check_positive
from dplit.mechanisms import Gaussian


def releases(
    answer: int, *, sigma: float, runs: int, exact: bool, rng: np.random.Generator
) -> Array:
    """Return ``runs`` releases of a number with normal noise, in floating point or exact."""
    n, scale = check_integer("runs", runs), check_positive("sigma", sigma)
    if exact:
        return Gaussian(scale).add(
            np.full(n, float(answer)), hides="a number", sensitivity=1.0, rng=rng
        )
    return answer + rng.normal(scale=scale, size=n)


def impossible(released: Array) -> NDArray[np.bool_]:
    r"""Which releases cannot come from a 1 with floating-point noise, whatever the noise.

    A float z between -3/2 and -1/2 is a multiple of :math:`2^{-53}`, and so is 1 + z, which is
    exact. So y with \|y\| < 1/2 that is no such multiple has no z; most floats near 0 are none.

    >>> impossible(np.array([0.25, 2.0**-60, 0.7]))
    array([False,  True, False])
    """
    y = check_finite_array("released", released)
    units = y * 2.0**53
    return np.asarray((np.abs(y) < 0.5) & (units != np.rint(units)))


def one_law_of_low_bits(one: Array, other: Array, *, step: float, bits: int = 6) -> float:
    """P-value of the hypothesis that the last bits of the steps have one law in two samples."""
    mask = (1 << check_integer("bits", bits)) - 1
    counts = [
        np.bincount(np.rint(y / step).astype(np.int64) & mask, minlength=mask + 1)
        for y in (one, other)
    ]
    return float(chi2_contingency(counts).pvalue)
