r"""Gaussian noise on a fixed number of Fourier features: the guarantee, by simulation.

The likelihood ratio of one masked record is an elementary symmetric polynomial of exponentials, so
delta is the mean of a bounded function of Gaussian draws. Common random numbers make it a smooth
function of sigma.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dplit._checks import (
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_sigma
from dplit.sketching.masks import MaskLaw, mask_law
from dplit.sketching.subsampled_gaussian import lemma23_sigma
from dplit.sketching.subsampled_laplace import log_symmetric_mean

__all__ = ["Simulated", "simulated_delta", "simulated_ratios", "simulated_sigma"]

Array = NDArray[np.float64]


class Simulated(NamedTuple):
    """A simulated number and its standard error."""

    value: float
    se: float


def _check_fixed(law: MaskLaw) -> int:
    if law.scheme != "uniform" or law.n_kept is None:
        raise ValueError(f"law must be of scheme 'uniform', got scheme={law.scheme!r}")
    return law.n_kept


def _log_ratio(noise: Array, sigma: float, law: MaskLaw, *, shifted: bool) -> Array:
    """Log likelihood ratio of mixture and base at points ``sigma * noise`` (plus one mask)."""
    r, alpha = _check_fixed(law), law.alpha
    points = sigma * noise
    if shifted:  # by symmetry every mask gives the same law of the ratio
        points[:, :r] += 1.0 / alpha
    constant = -r / (2.0 * alpha**2 * sigma**2)
    return constant + log_symmetric_mean(points / (alpha * sigma**2), r)


def simulated_delta(
    law: MaskLaw,
    *,
    epsilon: float,
    sigma: float,
    n_draws: int,
    rng: np.random.Generator,
    direction: Literal["remove", "add"] = "remove",
) -> Simulated:
    r"""Delta of subsampled Fourier features for a fixed number of ones, by simulation.

    Parameters
    ----------
    law : MaskLaw
        Of scheme ``"uniform"``.
    epsilon : float
        Nonnegative privacy loss.
    sigma : float
        Standard deviation of the noise per real coordinate of the rescaled sum, positive.
    n_draws : int
        Number of draws of the release, at least 2.
    rng : numpy.random.Generator
        Source of the draws.
    direction : {"remove", "add"}, default="remove"

    Returns
    -------
    Simulated
        Mean of :math:`(1-e^\varepsilon/L)_+` over releases with the record (for "add" of
        :math:`(1-e^\varepsilon L)_+` without it) and its standard error; an estimate, no bound.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range or the law is not uniform.

    Notes
    -----
    Likelihood ratio :math:`L=e^{-m^2/(2r\sigma^2)}e_r(w)/\binom mr` with
    :math:`w_j=e^{y_j/(\alpha\sigma^2)}` and the elementary symmetric polynomial :math:`e_r`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.gaussian_simulation import simulated_delta
    >>> law, rng = mask_law("uniform", 16, n_kept=1), np.random.default_rng(0)
    >>> found = simulated_delta(law, epsilon=1.0, sigma=12.0, n_draws=1000, rng=rng)
    >>> 0 < found.value < 0.1
    True
    """
    epsilon, sigma = check_nonnegative("epsilon", epsilon), check_positive("sigma", sigma)
    check_choice("direction", direction, ("remove", "add"))
    draws = check_integer("n_draws", n_draws, minimum=2)
    noise = check_rng(rng).standard_normal((draws, law.n_components))
    return _excess(noise, law, epsilon, sigma, direction)


def _excess(noise: Array, law: MaskLaw, epsilon: float, sigma: float, direction: str) -> Simulated:
    logs = _log_ratio(noise, sigma, law, shifted=direction == "remove")
    loss = logs if direction == "remove" else -logs
    terms = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return Simulated(float(terms.mean()), float(terms.std(ddof=1) / math.sqrt(len(terms))))


def simulated_sigma(
    law: MaskLaw,
    *,
    epsilon: float,
    delta: float,
    n_draws: int,
    rng: np.random.Generator,
    direction: Literal["remove", "add"] = "remove",
) -> Simulated:
    """Least sigma for a fixed number of ones, by simulation with common random numbers.

    Parameters
    ----------
    law : MaskLaw
        Of scheme ``"uniform"``.
    epsilon, delta : float
        Budget under "add_remove", positive; ``n_draws * delta`` should be at least 100.
    n_draws : int
        Number of draws of the release, at least 2.
    rng : numpy.random.Generator
        Source of the draws.
    direction : {"remove", "add"}, default="remove"

    Returns
    -------
    Simulated
        Value and standard error (of delta, over the slope of delta in sigma). An estimate: not
        fit for calibration, where Lemma 23 is the safe choice.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range or the law is not uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.gaussian_simulation import simulated_sigma
    >>> law, rng = mask_law("uniform", 4, n_kept=2), np.random.default_rng(0)
    >>> found = simulated_sigma(law, epsilon=1.0, delta=0.01, n_draws=20_000, rng=rng)
    >>> 3.0 < found.value < 4.0
    True
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    draws = check_integer("n_draws", n_draws, minimum=2)
    noise = check_rng(rng).standard_normal((draws, law.n_components))
    bound = lemma23_sigma(law, epsilon=epsilon, delta=delta)

    def gap(log_sigma: float) -> float:
        found = _excess(noise, law, epsilon, math.exp(log_sigma), direction)
        return math.log(max(found.value, 1e-300)) - math.log(delta)

    top = math.log(bound) + 0.3
    root = float(brentq(gap, top - 3.0, top, xtol=1e-5))
    step = 0.02
    slope = (gap(root + step) - gap(root - step)) / (2 * step)
    error = _excess(noise, law, epsilon, math.exp(root), direction).se / delta
    return Simulated(math.exp(root), math.exp(root) * error / abs(slope))


def simulated_ratios(
    cases: Sequence[tuple[int, int, float]],
    *,
    delta: float,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Noise for a fixed number of features over that without subsampling, by simulation.

    Parameters
    ----------
    cases : sequence of (m, r, epsilon)
        Numbers of features and of kept ones, and budgets.
    delta : float
        Common failure probability.
    n_draws : int
        Draws of a release for each case.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    ratios, errors : ndarrays of shape (n_cases,)
        Least sigmas at equal guarantee under "add_remove", and standard errors.

    Raises
    ------
    TypeError, ValueError
        As in :func:`simulated_sigma`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.gaussian_simulation import simulated_ratios
    >>> sizes = dict(delta=0.01, n_draws=20_000, rng=np.random.default_rng(0))
    >>> bool(abs(simulated_ratios([(4, 4, 1.0)], **sizes)[0][0] - 1) < 0.05)
    True
    """
    rows = []
    for m, r, epsilon in cases:
        law = mask_law("uniform", m, n_kept=r)
        found = simulated_sigma(law, epsilon=epsilon, delta=delta, n_draws=n_draws, rng=rng)
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(m))
        rows.append((found.value / plain, found.se / plain))
    ratios, errors = np.array(rows).T
    return ratios, errors
