"""Private selection: choose an index by its score.  Public through :mod:`dplit.mechanisms`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_flag,
    check_interval,
    check_iterable,
    check_positive,
    quiet,
)
from dplit._numerics.rounding import round_up
from dplit.mechanisms._bits import check_source
from dplit.mechanisms._choices import largest
from dplit.mechanisms._draws import record_draw

_CHUNK = 4096  # scores held at a time

_LARGE = 1e280


def _real_vector(name: str, value: ArrayLike) -> Array:
    array = check_finite_array(name, value, ndim=1)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    return array.astype(np.float64)


def _chunks(scores: Iterable[float]) -> Iterator[Array]:
    """Yield validated pieces of ``scores``; an iterable is consumed once and never stored."""
    if isinstance(scores, np.ndarray):
        vector = _real_vector("scores", scores)
        yield from (vector[i : i + _CHUNK] for i in range(0, len(vector), _CHUNK))
        return
    iterator = check_iterable("scores", scores)
    piece = list(islice(iterator, _CHUNK))
    yield _real_vector("scores", piece)  # an empty iterable is refused here
    while piece := list(islice(iterator, _CHUNK)):
        yield _real_vector("scores", piece)


def _noise_scale(epsilon: float, sensitivity: float, factor: int) -> float:
    """Return ``factor * sensitivity / epsilon``, rounded up."""
    epsilon, sensitivity = (
        check_positive("epsilon", epsilon),
        check_positive("sensitivity", sensitivity),
    )
    check_positive("epsilon / sensitivity", epsilon / sensitivity)
    return check_positive(
        "sensitivity / epsilon", round_up(factor * Fraction(sensitivity) / Fraction(epsilon))
    )


@quiet
def exponential_mechanism(
    scores: Iterable[float],
    *,
    epsilon: float,
    sensitivity: float,
    rng: np.random.Generator | None = None,
    better: Literal["higher", "lower"] = "higher",
) -> int:
    r"""Return an index with probability proportional to :math:`e^{\pm\epsilon s_i/(2\Delta)}`.

    Parameters
    ----------
    scores : iterable of float
        One finite score per candidate, in order; a generator is consumed in chunks and not stored,
        so that memory does not grow with the number of candidates.
    epsilon : float
        Positive privacy loss.
    sensitivity : float
        Largest change of any single score between neighbours, positive.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.
    better : {"higher", "lower"}, default="higher"
        Whether high or low scores are good: the sign in the exponent.

    Returns
    -------
    int
        The chosen index.  The choice is :math:`\epsilon`-private, and with probability at least
        :math:`1-\beta` its score is within :math:`(2\Delta/\epsilon)\log(n/\beta)` of the best.

    Notes
    -----
    The maximum of :math:`\pm s_i+(2\Delta/\epsilon)G_i`, with independent standard Gumbel
    :math:`G_i`, sits at :math:`i` with exactly this probability.  No exponential is formed, the
    noise is real, and the sums are compared exactly (``_choices``): nothing
    underflows or overflows for finite scores of any size, huge ones do not swallow the noise, and
    the law of the choice is this one to the last bit.

    References
    ----------
    F. McSherry and K. Talwar, Mechanism design via differential privacy, FOCS 2007, Theorem 6;
    C. Dwork and A. Roth, The algorithmic foundations of differential privacy, 2014, Theorem 3.11.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> exponential_mechanism([0.0, 1e6, 3.0], epsilon=1.0, sensitivity=1.0, rng=rng)
    1
    """
    check_choice("better", better, ("higher", "lower"))
    scale = _noise_scale(epsilon, sensitivity, 2)
    check_source(rng)
    record_draw(
        "noisy_max",
        "scores of a choice",
        of=scores if isinstance(scores, np.ndarray) else None,
        sensitivity=sensitivity,
        scale=scale,
        norm="max",
    )
    sign = 1.0 if better == "higher" else -1.0
    return largest(_chunks(scores), scale=scale, law="gumbel", sign=sign, rng=rng)


@quiet
def report_noisy_min(
    scores: Iterable[float],
    *,
    epsilon: float,
    sensitivity: float,
    rng: np.random.Generator | None = None,
    monotone: bool = False,
) -> int:
    r"""Return the index of the smallest score after subtracting one-sided exponential noise.

    Parameters
    ----------
    scores : iterable of float
        One finite score per candidate (low is good), in order; consumed in chunks, not stored.
    epsilon : float
        Positive privacy loss.
    sensitivity : float
        Largest change of any single score between neighbours, positive.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.
    monotone : bool, default=False
        Set only if, between neighbours, all scores move in the same direction (counts under
        add/remove): half the noise is then enough.

    Returns
    -------
    int
        The chosen index; the noisy score itself is not released.  The choice is
        :math:`\epsilon`-private.

    Notes
    -----
    The noise has mean :math:`2\Delta/\epsilon` (:math:`\Delta/\epsilon` if monotone).  Proof: fix
    the noise of all others; candidate :math:`i` wins iff its own noise exceeds a threshold, which
    moves by at most :math:`2\Delta` between neighbours (:math:`\Delta` if all scores move
    together); and :math:`P(E>t+c)\ge e^{-c/b}P(E>t)` for :math:`E` exponential with mean :math:`b`.
    The law is that of permute-and-flip, never worse in expectation than the exponential mechanism
    at the same epsilon.  The noise is real and sums are compared exactly.

    References
    ----------
    C. Dwork and A. Roth, The algorithmic foundations of differential privacy, 2014, Section 3.3;
    R. McKenna and D. Sheldon, Permute-and-flip, NeurIPS 2020, arXiv:2010.12603;
    Z. Ding, D. Kifer, S. Steinke, Y. Wang, Y. Xiao, D. Zhang, The permute-and-flip mechanism is
    identical to report-noisy-max with exponential noise, 2021, arXiv:2105.07260.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> report_noisy_min([40.0, 1.0, 30.0], epsilon=1.0, sensitivity=1.0, rng=rng)
    1
    """
    factor = 1 if check_flag("monotone", monotone) else 2
    scale = _noise_scale(epsilon, sensitivity, factor)
    check_source(rng)
    record_draw(
        "monotone_noisy_max" if monotone else "noisy_max",
        "scores of a choice",
        of=scores if isinstance(scores, np.ndarray) else None,
        sensitivity=sensitivity,
        scale=scale,
        norm="max",
    )
    return largest(_chunks(scores), scale=scale, law="exponential", sign=-1.0, rng=rng)


def _normalised(q: Array, widths: Array, margin: float) -> Array:
    """Return the normalised scores, at most the largest float; differences cannot overflow.

    Tiny widths are raised to 1e-300: a larger sensitivity is safe, and a quarter of it is positive.
    """
    quarter_q, quarter = q / 4, np.maximum(widths, 1e-300) / 4
    normalised = np.zeros_like(q)
    with np.errstate(over="ignore"):
        for other, width in zip(quarter_q, quarter, strict=True):
            together = quarter + width
            gained = margin * ((quarter - width) / together)
            np.maximum(normalised, (quarter_q - other) / together + gained, out=normalised)
    return np.minimum(normalised, np.finfo(np.float64).max)


@quiet
def generalized_exponential_mechanism(
    scores: ArrayLike,
    sensitivities: ArrayLike,
    *,
    epsilon: float,
    beta: float,
    rng: np.random.Generator | None = None,
) -> int:
    r"""Return an index chosen privately among low scores of unequal sensitivities.

    Parameters
    ----------
    scores : array_like of shape (n,)
        Finite scores :math:`q_i`; low is good.
    sensitivities : array_like of shape (n,)
        Largest change :math:`\Delta_i` > 0 of :math:`q_i` between neighbours, public.
    epsilon : float
        Positive privacy loss.
    beta : float
        Failure probability in (0, 1) of the utility guarantee; privacy does not depend on it.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    int
        The chosen index :math:`\hat\imath`.  The choice is :math:`\epsilon`-private, and
        :math:`q_{\hat\imath}\le\min_j(q_j+\frac4\epsilon\log(\frac n\beta)\,\Delta_j)` with
        probability at least :math:`1-\beta`.

    Notes
    -----
    With :math:`t=\frac2\epsilon\log\frac n\beta` the normalised scores

    .. math:: s_i=\max_j\frac{(q_i+t\Delta_i)-(q_j+t\Delta_j)}{\Delta_i+\Delta_j}\ge0

    move by at most 1 between neighbours and enter the exponential mechanism.  The minimiser of
    :math:`q+t\Delta` has score 0, so :math:`s_{\hat\imath}\le t` with probability :math:`1-\beta`,
    which is the utility bound.  Time :math:`O(n^2)`, memory :math:`O(n)`.

    References
    ----------
    S. Raskhodnikova and A. Smith, Lipschitz extensions for node-private graph statistics and the
    generalized exponential mechanism, FOCS 2016, pages 495-504.

    Examples
    --------
    >>> generalized_exponential_mechanism(
    ...     [0.5, 0.0], [0.001, 10.0], epsilon=1.0, beta=0.05, rng=np.random.default_rng(0)
    ... )
    0
    """
    q = _real_vector("scores", scores)
    widths = _real_vector("sensitivities", sensitivities)
    if widths.shape != q.shape:
        raise ValueError(
            f"sensitivities must have one entry per score, got {len(widths)} for {len(q)} scores"
        )
    check_positive("sensitivities", widths.min())
    epsilon = check_positive("epsilon", epsilon)
    log_ratio = math.log(len(q)) - math.log(check_interval("beta", beta, 0.0, 1.0))
    margin = min(2 * log_ratio / epsilon, _LARGE)  # privacy does not depend on it
    return exponential_mechanism(
        _normalised(q, widths, margin), epsilon=epsilon, sensitivity=1.0, rng=rng, better="lower"
    )
