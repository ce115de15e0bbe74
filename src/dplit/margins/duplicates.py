r"""What a record that is drawn several times costs: caps, the exact mixture, a permutation.

A pass of n draws from m records meets one :math:`N_i\sim\mathrm{Bin}(n_i,1/m)` times in phase i,
moves by at most :math:`2G\eta_iN_i` and has noise :math:`cG\eta_i`: given the draws, which do not
depend on the data, it is :math:`\mu_1\sqrt{\sum_iN_i^2}`-GDP, :math:`\mu_1=2/c`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from dplit._checks import Array, check_choice, check_integer, check_positive, check_probability
from dplit.accounting import gdp_budget
from dplit.mechanisms import gaussian_delta

_Accounting = Literal["permutation", "mixture", "tight_cap", "log_cap"]


class _CopyLaw(NamedTuple):
    """Law of the sum of squared copies: values, probabilities, and the mass beyond the values."""

    values: Array
    probabilities: Array
    beyond: float


def _phase_sizes(n_draws: int) -> tuple[int, ...]:
    r"""Sizes :math:`\lfloor n/2^i\rfloor`, :math:`1\le i\le\log_2n`: no phase is empty."""
    n = check_integer("n_draws", n_draws, minimum=2)
    return tuple(n >> i for i in range(1, n.bit_length()))


def copy_law(n_samples: int, *, runs: int = 1, tail: float = 1e-18) -> _CopyLaw:
    r"""Law of :math:`\sum_iN_i^2` of one record over the phases of all runs, exactly.

    A convolution, since phases draw independently, m draws a run. Counts of a phase whose upper
    tail is below ``tail`` are moved into ``beyond``.

    >>> law = copy_law(1000)
    >>> round(float(law.values @ law.probabilities), 3)  # sum_i n_i (1 - 1/m) / m + (n_i / m)^2
    1.326
    """
    m, count = check_integer("n_samples", n_samples, minimum=2), check_integer("runs", runs)
    check_probability("tail", tail)
    law = np.ones(1)
    for size in _phase_sizes(m):
        top = int(np.argmax(binom.sf(np.arange(size + 1), size, 1.0 / m) <= tail))
        square = np.zeros(top**2 + 1)
        square[np.arange(top + 1) ** 2] = binom.pmf(np.arange(top + 1), size, 1.0 / m)
        law = np.convolve(law, square)
    once = law
    for _ in range(count - 1):
        law = np.convolve(law, once)
    keep = np.flatnonzero(np.cumsum(law[::-1])[::-1] > tail)[-1] + 1
    phases = len(_phase_sizes(m)) * count
    beyond = float(law[keep:].sum()) + phases * tail  # upper bound on all mass left out
    return _CopyLaw(np.arange(keep, dtype=np.float64), law[:keep], beyond)


def mixture_delta(
    *, epsilon: float, mu: float, n_samples: int, law: _CopyLaw | None = None
) -> float:
    r"""Delta of a pass with replacement whose single copies are :math:`\mu_1`-GDP.

    :math:`\sum_sP(\sum_iN_i^2=s)\,\delta_{\mathrm{Gauss}}(\epsilon;\mu_1\sqrt s)`, rounded up by
    the mass beyond the law. It holds with the draws published.

    >>> f"{mixture_delta(epsilon=1.0, mu=0.2367, n_samples=1000):.1e}"
    '1.8e-03'
    """
    counts = copy_law(n_samples) if law is None else law
    levels = check_positive("mu", mu) * np.sqrt(counts.values[1:])
    deltas = gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=levels)
    return min(1.0, math.fsum(counts.probabilities[1:] * deltas) + counts.beyond)


def copy_cap(*, n_samples: int, failure: float) -> int:
    r"""Smallest c with :math:`P(N>c)\le` ``failure`` for :math:`N\sim\mathrm{Bin}(m,1/m)` copies.

    >>> copy_cap(n_samples=1000, failure=5e-7)
    9
    """
    m = check_integer("n_samples", n_samples, minimum=2)
    limit = check_probability("failure", failure)
    return 1 + bisect_left(range(1, m), True, key=lambda c: binom.sf(c, m, 1.0 / m) <= limit)


def _single_copy_mu(
    *,
    epsilon: float,
    delta: float,
    n_samples: int,
    accounting: _Accounting,
    runs: int = 1,
    spare: bool = False,
) -> float:
    r"""Level :math:`\mu_1` of one copy that keeps the budget over all runs, each of m draws. Noise
    is then :math:`2G\eta_i/\mu_1` per coordinate in phase i. ``permutation``: a record occurs once.
    ``mixture``: :func:`mixture_delta`. ``tight_cap``: c copies at :math:`\delta/2`, see
    :func:`copy_cap`, or with ``spare`` at :math:`\delta` minus the exact tail. ``log_cap``:
    :math:`c=\log(1/\delta)`, the order of a textbook tail bound, with constant 1.
    """
    check_choice("accounting", accounting, get_args(_Accounting))
    check_probability("delta", delta)
    count = check_integer("runs", runs)
    if accounting == "permutation":
        return gdp_budget(epsilon=epsilon, delta=delta) / math.sqrt(count)
    if accounting == "mixture":
        return _mixture_mu(epsilon, delta, n_samples, count)
    return _capped_mu(epsilon, delta, n_samples, accounting, count, spare)


def _capped_mu(
    epsilon: float, delta: float, m: int, accounting: str, runs: int, spare: bool
) -> float:
    if accounting == "log_cap":
        if delta * m >= 1.0 or epsilon > math.log(1.0 / delta):
            raise ValueError(
                "accounting='log_cap' needs delta < 1/m and epsilon <= log(1/delta), as Lemma 3.1 "
                f"does, got epsilon={epsilon!r} and delta={delta!r} for m={m} records"
            )
        cap = math.log(1.0 / delta)
    else:
        cap = float(copy_cap(n_samples=m, failure=delta / (2 * runs)))
    tail = runs * float(binom.sf(math.floor(cap), m, 1.0 / m))
    if tail >= delta:
        raise ValueError(
            f"delta must exceed the tail {tail:.3g} of more than {cap:g} copies, got {delta=!r}"
        )
    left = delta - tail if spare else delta / 2
    if not spare and tail > delta / 2:
        raise ValueError(
            f"delta must be at least twice the tail {tail:.3g} of more than {cap:g} copies, "
            f"got {delta=!r}"
        )
    return gdp_budget(epsilon=epsilon, delta=left) / (cap * math.sqrt(runs))


def _mixture_mu(epsilon: float, delta: float, m: int, runs: int) -> float:
    """Return the root of the mixture's delta, rounded to the private side."""
    law = copy_law(m, runs=runs, tail=min(1e-18, delta * 1e-9))
    top = gdp_budget(epsilon=epsilon, delta=delta)

    def gap(log_mu: float) -> float:
        mu = math.exp(log_mu)
        reached = mixture_delta(epsilon=epsilon, mu=mu, n_samples=m, law=law)
        return math.log(reached / delta) if reached > 0 else -1e3

    high = math.log(top)
    if gap(high) <= 0:  # few draws: most passes do not meet the record
        return top
    root = float(brentq(gap, high - 8.0, high, xtol=1e-12, rtol=1e-12))
    return math.exp(root - 1e-10)


def copies_multiplier(
    *,
    epsilon: float,
    delta: float,
    n_samples: int,
    accounting: _Accounting,
    runs: int = 1,
    spare: bool = False,
) -> float:
    """How many times more noise an accounting of duplicates asks for than a permutation.

    >>> budget = {"epsilon": 1.0, "delta": 1e-6, "n_samples": 1000}
    >>> [round(copies_multiplier(**budget, accounting=a), 2) for a in ("mixture", "tight_cap")]
    [2.85, 9.3]
    """
    base = _single_copy_mu(
        epsilon=epsilon, delta=delta, n_samples=n_samples, accounting="permutation", runs=runs
    )
    used = _single_copy_mu(
        epsilon=epsilon,
        delta=delta,
        n_samples=n_samples,
        accounting=accounting,
        runs=runs,
        spare=spare,
    )
    return base / used
