"""Noise and its calibration: exact Gaussian profiles, samplers, and private selection.

Every privacy or noise argument is keyword-only and validated.  The calibration functions take
scalars or arrays, which broadcast; all-scalar input gives a float.  ``Gaussian``, ``Laplace``,
``GammaNorm``, ``Polydisc`` and ``Cube`` add exact noise, and choices are exact: what they give may
be published.  The samplers that end in ``_noise`` draw floating-point noise, for research alone.
"""

from __future__ import annotations

from dplit.mechanisms.gaussian import (
    classical_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    laplace_scale,
)
from dplit.mechanisms.noise import (
    cube_noise,
    gamma_norm_noise,
    gaussian_noise,
    laplace_noise,
    polydisc_noise,
)
from dplit.mechanisms.selection import (
    exponential_mechanism,
    generalized_exponential_mechanism,
    report_noisy_min,
)
from dplit.mechanisms.values import Cube, GammaNorm, Gaussian, Laplace, Polydisc

__all__ = [
    "Cube",
    "GammaNorm",
    "Gaussian",
    "Laplace",
    "Polydisc",
    "classical_gaussian_sigma",
    "cube_noise",
    "exponential_mechanism",
    "gamma_norm_noise",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_noise",
    "gaussian_sigma",
    "generalized_exponential_mechanism",
    "laplace_noise",
    "laplace_scale",
    "polydisc_noise",
    "report_noisy_min",
]
