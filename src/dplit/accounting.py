"""Composition of (subsampled) Gaussian releases through privacy loss distributions.

A thin adapter to dp-accounting, installed by the extra ``accounting`` and imported on first use.

dp-accounting knows no sensitivity: its ``noise_multiplier`` is the standard deviation divided by
the sensitivity, and passing sigma itself understates epsilon wherever the sensitivity exceeds 1.
Under ``replace_one`` that is the rule: records of norm at most 1 give a sum of sensitivity 2.  (Its
own ``REPLACE_ONE`` accountant doubles the shift itself, for multipliers in units of one record.)
Every function here takes both numbers and does the division; the accountant always runs with its
add/remove semantics, in which a Gaussian event is the pair N(0, 1), N(1 / noise_multiplier, 1).

``sampled_gaussian_delta`` and ``sampled_gaussian_sigma`` need no extra: they compose
Poisson-subsampled releases themselves, show either direction, and calibrate in a fraction of a
second.
"""

from __future__ import annotations

import importlib
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
from dplit._rounding import round_down
from dplit._sampled_gaussian import sampled_gaussian_delta, sampled_gaussian_sigma

__all__ = [
    "composed_delta",
    "composed_epsilon",
    "gaussian_event",
    "noise_multiplier",
    "sampled_gaussian_delta",
    "sampled_gaussian_sigma",
]


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

    Raises
    ------
    TypeError, ValueError
        If an argument is not a positive finite number.

    Examples
    --------
    >>> from dplit.accounting import noise_multiplier
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
    ImportError
        If the extra ``accounting`` is not installed.
    TypeError, ValueError
        If an argument is out of its range, or subsampling is asked for under "replace_one" (the
        amplification that is computed here is proved for "add_remove").

    Examples
    --------
    >>> from dplit.accounting import gaussian_event
    >>> gaussian_event(sigma=4.0, sensitivity=2.0).noise_multiplier
    2.0
    """
    steps = check_integer("steps", steps)
    sampling_rate = check_probability("sampling_rate", sampling_rate, one=True)
    check_neighboring(neighboring)
    if sampling_rate < 1 and neighboring != "add_remove":
        raise ValueError(f"sampling_rate must be 1 under replace_one, got {sampling_rate=!r}")
    multiplier = noise_multiplier(sigma=sigma, sensitivity=sensitivity)
    library = _dp_accounting()
    event = library.GaussianDpEvent(multiplier)
    if sampling_rate < 1:
        event = library.PoissonSampledDpEvent(sampling_rate, event)
    return event if steps == 1 else library.SelfComposedDpEvent(event, steps)


def _accountant(event: Any) -> Any:
    relation = _dp_accounting().NeighboringRelation.ADD_OR_REMOVE_ONE
    return _dp_accounting(".pld").PLDAccountant(relation).compose(event)


def composed_epsilon(
    *,
    delta: float,
    sigma: float,
    sensitivity: float,
    steps: int = 1,
    sampling_rate: float = 1.0,
    neighboring: Neighboring = "add_remove",
) -> float:
    r"""Return the epsilon at ``delta`` of ``steps`` (subsampled) Gaussian releases together.

    Parameters
    ----------
    delta : float
        Probability in (0, 1).
    sigma, sensitivity, steps, sampling_rate, neighboring
        As in :func:`gaussian_event`.

    Returns
    -------
    float
        An upper bound, as tight as the discretisation of the privacy loss (1e-4) allows.  Without
        subsampling the exact value is ``gaussian_epsilon(sensitivity=sensitivity * steps**0.5)``.

    Raises
    ------
    ImportError
        If the extra ``accounting`` is not installed.
    TypeError, ValueError
        As in :func:`gaussian_event`.

    References
    ----------
    S. Meiser and E. Mohammadi, Tight on budget?, CCS 2018; A. Koskela, J. Jälkö, A. Honkela,
    Computing tight differential privacy guarantees using FFT, AISTATS 2020, arXiv:1906.03049.

    Examples
    --------
    >>> from dplit.accounting import composed_epsilon
    >>> round(composed_epsilon(delta=1e-5, sigma=2.0, sensitivity=1.0), 3)
    1.993
    """
    delta = check_probability("delta", delta)
    event = gaussian_event(
        sigma=sigma,
        sensitivity=sensitivity,
        steps=steps,
        sampling_rate=sampling_rate,
        neighboring=neighboring,
    )
    return float(_accountant(event).get_epsilon(delta))


def composed_delta(
    *,
    epsilon: float,
    sigma: float,
    sensitivity: float,
    steps: int = 1,
    sampling_rate: float = 1.0,
    neighboring: Neighboring = "add_remove",
) -> float:
    r"""Return the delta at ``epsilon`` of ``steps`` (subsampled) Gaussian releases together.

    Parameters
    ----------
    epsilon : float
        Nonnegative privacy loss.
    sigma, sensitivity, steps, sampling_rate, neighboring
        As in :func:`gaussian_event`.

    Returns
    -------
    float
        An upper bound, as tight as the discretisation of the privacy loss (1e-4) allows.

    Raises
    ------
    ImportError
        If the extra ``accounting`` is not installed.
    TypeError, ValueError
        As in :func:`gaussian_event`.

    References
    ----------
    As in :func:`composed_epsilon`.

    Examples
    --------
    >>> from dplit.accounting import composed_delta
    >>> f"{composed_delta(epsilon=1.0, sigma=4.0, sensitivity=1.0):.2e}"
    '2.92e-06'
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    event = gaussian_event(
        sigma=sigma,
        sensitivity=sensitivity,
        steps=steps,
        sampling_rate=sampling_rate,
        neighboring=neighboring,
    )
    return float(_accountant(event).get_delta(epsilon))
