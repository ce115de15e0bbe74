"""Exact tests of the scale and the shape of a mechanism's noise, from its residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from dplit._checks import check_finite_array, check_positive, check_probability


@dataclass(frozen=True)
class NoiseTest:
    """Outcome of a test of noise against its claimed law.

    Attributes
    ----------
    size : int
        Number of residuals (real coordinates).
    scale_ratio : float
        Estimated over claimed scale; below 1 there is too little noise.
    deficit_p_value : float
        Probability of so little noise, or less, under the claim.
    excess_p_value : float
        Probability of so much noise, or more, under the claim.
    shape_p_value : float
        Of the two-sided Kolmogorov-Smirnov test against the claimed law.

    Examples
    --------
    >>> silent = chi_square_noise_test(np.zeros(10), sigma=1.0)
    >>> silent.size, silent.scale_ratio, silent.violated()
    (10, 0.0, True)
    """

    size: int
    scale_ratio: float
    deficit_p_value: float
    excess_p_value: float
    shape_p_value: float

    def violated(self, *, level: float = 1e-4) -> bool:
        """Whether the claim is refuted: too little noise, or another shape.

        Parameters
        ----------
        level : float, default=1e-4
            Total false-alarm probability in (0, 1), half of it for each of the two tests. Too much
            noise is no breach of privacy; the shape test sees it all the same.

        Returns
        -------
        bool
            True with probability at most ``level`` if the residuals follow the claimed law.
        """
        level = check_probability("level", level)
        return min(self.deficit_p_value, self.shape_p_value) < level / 2.0


def _coordinates(residuals: ArrayLike) -> NDArray[Any]:
    """Return residuals as one real vector; complex ones give real and imaginary parts."""
    array = check_finite_array("residuals", residuals).ravel()
    if array.dtype.kind == "c":
        return np.concatenate([array.real, array.imag])
    return array.astype(np.float64)


def chi_square_noise_test(residuals: ArrayLike, *, sigma: float) -> NoiseTest:
    """Test of residuals against independent Gaussian noise of standard deviation ``sigma``.

    Parameters
    ----------
    residuals : array_like
        Outputs minus exact values, any shape. A complex residual counts as two coordinates, each
        of standard deviation ``sigma``: noise in the real parts alone is found.
    sigma : float
        Claimed standard deviation of each real coordinate, in (0, inf).

    Returns
    -------
    NoiseTest
        Exact p-values of the scale and the Kolmogorov-Smirnov p-value of the shape.

    Notes
    -----
    ``sum (z / sigma)^2`` is chi-square with n degrees of freedom. With n = 1e5 a deficit of 1.5 %
    is found at level 5e-5 with power above 0.99; a single output projected on any unit vector
    counts as one residual.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noise = stream(0, "example", "noise").normal(scale=0.5, size=1000)
    >>> test = chi_square_noise_test(noise, sigma=1.0)
    >>> test.violated(), round(test.scale_ratio, 1)
    (True, 0.5)
    """
    sigma = check_positive("sigma", sigma)
    scaled = _coordinates(residuals) / sigma
    total, n = float(scaled @ scaled), scaled.size
    return NoiseTest(
        size=n,
        scale_ratio=float(np.sqrt(total / n)),
        deficit_p_value=float(special.chdtr(n, total)),
        excess_p_value=float(special.chdtrc(n, total)),
        shape_p_value=float(stats.kstest(scaled, "norm").pvalue),
    )


def gamma_noise_test(residuals: ArrayLike, *, scale: float, shape: float = 1.0) -> NoiseTest:
    """Test of the magnitudes of residuals against the law Gamma(``shape``, ``scale``).

    Parameters
    ----------
    residuals : array_like
        Outputs minus exact values, or their norms; only absolute values are used.
    scale : float
        Claimed scale, in (0, inf): b for Laplace noise, 1/rate for norm noise.
    shape : float, default=1.0
        1 for Laplace noise in each coordinate, d for the norm of noise with density proportional
        to ``exp(-rate ||z||_2)`` in d real dimensions.

    Returns
    -------
    NoiseTest
        Exact p-values of the scale and the Kolmogorov-Smirnov p-value of the magnitudes' shape.

    Notes
    -----
    ``sum |z| / scale`` follows Gamma(n * shape, 1).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> noise = stream(0, "example", "noise").laplace(scale=2.0, size=1000)
    >>> gamma_noise_test(noise, scale=2.0).violated()
    False
    """
    scale = check_positive("scale", scale)
    shape = check_positive("shape", shape)
    magnitudes = np.abs(check_finite_array("residuals", residuals).ravel()) / scale
    total, n = float(magnitudes.sum()), magnitudes.size
    return NoiseTest(
        size=n,
        scale_ratio=total / (n * shape),
        deficit_p_value=float(special.gammainc(n * shape, total)),
        excess_p_value=float(special.gammaincc(n * shape, total)),
        shape_p_value=float(stats.kstest(magnitudes, stats.gamma(shape).cdf).pvalue),
    )
