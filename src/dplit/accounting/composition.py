"""Composition of (subsampled) Gaussian releases by privacy loss distributions of dp-accounting."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

from dplit._checks import (
    Neighboring,
    check_integer,
    check_neighboring,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit._numerics.rounding import round_down, round_up
from dplit.accounting.sampled import _LEAST_MULTIPLIER, _REACH, _step_spread
from dplit.mechanisms import gaussian_delta, gaussian_epsilon

#: Cells of dp-accounting's grid, a hundred bytes each.
_LARGEST_GRID = 1 << 20


def _dp_accounting(submodule: str = "") -> Any:
    try:
        return importlib.import_module("dp_accounting" + submodule)
    except ImportError as error:
        raise ImportError(
            "composition needs dp-accounting: install it with pip install 'dplit[accounting]'"
        ) from error


def noise_multiplier(*, sigma: float, sensitivity: float) -> float:
    r"""Return the noise multiplier :math:`\sigma/\Delta` that dp-accounting expects.

    Parameters
    ----------
    sigma : float
        Standard deviation per real coordinate, positive.
    sensitivity : float
        :math:`\ell_2` sensitivity under the neighbouring relation of the release, positive.

    Returns
    -------
    float
        The ratio, which has no unit, rounded down.

    Examples
    --------
    >>> noise_multiplier(sigma=4.0, sensitivity=2.0)
    2.0
    """
    numerator = Fraction(check_positive("sigma", sigma))
    ratio = round_down(numerator / Fraction(check_positive("sensitivity", sensitivity)))
    return check_positive("sigma / sensitivity", ratio)


def gaussian_event(
    *,
    sigma: float,
    sensitivity: float,
    steps: int = 1,
    sampling_rate: float = 1.0,
    neighboring: Neighboring = "add_remove",
) -> Any:
    r"""Return the dp-accounting event of ``steps`` Gaussian releases, Poisson-subsampled or not.

    Parameters
    ----------
    sigma : float
        Standard deviation per real coordinate of each release, positive.
    sensitivity : float
        :math:`\ell_2` sensitivity of each release under ``neighboring``, positive.
    steps : int, default=1
        Number of releases, at least 1.
    sampling_rate : float, default=1.0
        Probability in (0, 1] with which each record enters a release, independently; 1 is none.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Relation for which ``sensitivity`` holds.

    Returns
    -------
    dp_accounting.DpEvent
        An event for accountants with ``NeighboringRelation.ADD_OR_REMOVE_ONE``.

    Raises
    ------
    ValueError
        Also if subsampling is asked for under "replace_one" (the amplification that is computed
        here is proved for "add_remove").
    ImportError
        If the extra ``accounting`` is not installed.

    Examples
    --------
    >>> gaussian_event(sigma=4.0, sensitivity=2.0).noise_multiplier
    2.0
    """
    steps, sampling_rate, multiplier = _checked(
        sigma, sensitivity, steps, sampling_rate, neighboring
    )
    library = _dp_accounting()
    event = library.GaussianDpEvent(multiplier)
    if sampling_rate < 1:
        event = library.PoissonSampledDpEvent(sampling_rate, event)
    return event if steps == 1 else library.SelfComposedDpEvent(event, steps)


def _checked(
    sigma: float, sensitivity: float, steps: int, sampling_rate: float, neighboring: Neighboring
) -> tuple[int, float, float]:
    """Return steps, rate and noise multiplier of releases that are composed, or refuse them."""
    count = check_integer("steps", steps)
    rate = check_probability("sampling_rate", sampling_rate, one=True)
    check_neighboring(neighboring)
    if rate < 1 and neighboring != "add_remove":
        raise ValueError(f"sampling_rate must be 1 under replace_one, got {sampling_rate=!r}")
    return count, rate, noise_multiplier(sigma=sigma, sensitivity=sensitivity)


def _accountant(steps: int, rate: float, multiplier: float) -> Any:
    """Return dp-accounting's composition of subsampled steps, on a grid of bounded size.

    The losses of one step span 1 / (2 s^2) + 10 / s for the multiplier s, those of all steps twenty
    standard deviations. The grid is as fine as dp-accounting's own wherever that is small enough; a
    coarser one gives a larger bound.
    """
    span = 0.5 / multiplier**2 + _REACH / multiplier
    spread = _step_spread(multiplier, rate) if multiplier >= _LEAST_MULTIPLIER else 0.5 * span
    interval = max(1e-4, max(span, 20.0 * math.sqrt(steps) * spread) / _LARGEST_GRID)
    library = _dp_accounting()
    accountant = _dp_accounting(".pld").PLDAccountant(
        library.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
    )
    event = library.PoissonSampledDpEvent(rate, library.GaussianDpEvent(multiplier))
    return accountant.compose(event, steps)


def _together(sensitivity: float, steps: int) -> float:
    """Return the sensitivity of the one Gaussian release that several equal: squares add."""
    square = steps * Fraction(sensitivity) ** 2
    return math.nextafter(math.sqrt(round_up(square)), math.inf) if steps > 1 else sensitivity


def composed_epsilon(
    *,
    delta: float,
    sigma: float,
    sensitivity: float,
    steps: int = 1,
    sampling_rate: float = 1.0,
    neighboring: Neighboring = "add_remove",
) -> float:
    """Return the epsilon at ``delta`` of ``steps`` (subsampled) Gaussian releases together.

    Parameters
    ----------
    delta : float
        Probability in (0, 1).
    sigma, sensitivity, steps, sampling_rate, neighboring
        As in :func:`gaussian_event`.

    Returns
    -------
    float
        Without subsampling exact: ``gaussian_epsilon(sensitivity=sensitivity * steps**0.5)``, which
        needs no extra.  With it an upper bound, as tight as the discretisation of the privacy loss
        allows: 1e-4, or what a grid of a million cells has where the losses span more than 100.

    References
    ----------
    S. Meiser and E. Mohammadi, Tight on budget?, CCS 2018; A. Koskela, J. Jälkö, A. Honkela,
    Computing tight differential privacy guarantees using FFT, AISTATS 2020, arXiv:1906.03049.

    Examples
    --------
    >>> round(composed_epsilon(delta=1e-5, sigma=2.0, sensitivity=1.0), 3)
    1.993
    """
    delta = check_probability("delta", delta)
    count, rate, multiplier = _checked(sigma, sensitivity, steps, sampling_rate, neighboring)
    whole = gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=_together(sensitivity, count))
    if rate == 1.0:
        return float(whole)
    sampled = _accountant(count, rate, multiplier).get_epsilon(delta)
    return min(float(whole), float(sampled))  # a record that is taken less often loses no more


def composed_delta(
    *,
    epsilon: float,
    sigma: float,
    sensitivity: float,
    steps: int = 1,
    sampling_rate: float = 1.0,
    neighboring: Neighboring = "add_remove",
) -> float:
    """Return the delta at ``epsilon`` of ``steps`` (subsampled) Gaussian releases together.

    Parameters
    ----------
    epsilon : float
        Nonnegative privacy loss.
    sigma, sensitivity, steps, sampling_rate, neighboring
        As in :func:`gaussian_event`.

    Returns
    -------
    float
        As for :func:`composed_epsilon`.

    Examples
    --------
    >>> f"{composed_delta(epsilon=1.0, sigma=4.0, sensitivity=1.0):.2e}"
    '2.92e-06'
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    count, rate, multiplier = _checked(sigma, sensitivity, steps, sampling_rate, neighboring)
    whole = gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=_together(sensitivity, count))
    if rate == 1.0:
        return float(whole)
    sampled = _accountant(count, rate, multiplier).get_delta(epsilon)
    return min(float(whole), float(sampled))  # a record that is taken less often loses no more
