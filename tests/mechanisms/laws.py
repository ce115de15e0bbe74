"""What the tests of several mechanisms compare with."""

from __future__ import annotations

from typing import Any

import mpmath


def exact_delta(epsilon: float | mpmath.mpf, mu: float | mpmath.mpf) -> mpmath.mpf:
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) to at least 60 digits after cancellation."""
    digits = 60
    while True:
        with mpmath.workdps(digits):
            epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
            x, root = epsilon / mu - mu / 2, mpmath.sqrt(2)
            first = mpmath.erfc(x / root) / 2
            delta = first - mpmath.exp(epsilon) * mpmath.erfc((x + mu) / root) / 2
            if delta > first * mpmath.mpf(10) ** (60 - digits):
                return delta
        digits += 60


def two_sided(law: Any, value: float) -> float:
    return 2 * float(min(law.cdf(value), law.sf(value)))
