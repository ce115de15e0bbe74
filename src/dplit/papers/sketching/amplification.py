"""What sampling does to a budget.

Of any mechanism, and exactly for Fourier features, with the noise that the division by the
sampling rate adds.
"""

from __future__ import annotations

import math

from dplit._checks import check_nonnegative, check_positive, check_probability
from dplit.papers.sketching.masks import _MaskLaw


def amplified_epsilon(*, epsilon: float, sampling_rate: float) -> float:
    r"""Epsilon :math:`\log(1+\beta(e^\varepsilon-1))` of a mechanism on sampled records.

    Lemma 14; ``epsilon`` under "add_remove" for Poisson sampling, "replace_one" without
    replacement.
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    rate = check_probability("sampling_rate", sampling_rate, one=True)
    if epsilon > 30.0:  # e^-epsilon is below the last bit of 1
        return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon))
    return math.log1p(rate * math.expm1(epsilon))


def base_epsilon(*, epsilon: float, sampling_rate: float) -> float:
    r"""Budget :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)` of (22), the inverse."""
    epsilon = check_nonnegative("epsilon", epsilon)
    rate = check_probability("sampling_rate", sampling_rate, one=True)
    if epsilon > 30.0:
        return epsilon - math.log(rate) + math.log1p(-(1.0 - rate) * math.exp(-epsilon))
    return math.log1p(math.expm1(epsilon) / rate)


def fourier_epsilon(law: _MaskLaw, *, scale: float) -> float:
    r"""Exact epsilon, "add_remove", of subsampled Fourier features with Laplace noise.

    :math:`\sqrt2m/b` for a fixed number of ones; :math:`m\log(1+\alpha(e^{\sqrt2/(\alpha b)}-1))`
    for independent entries; :math:`\log(1+\alpha(e^{\sqrt2m/(\alpha b)}-1))` for all or nothing. A
    bound for all frequencies; attained for one-bit features, approached for nonresonant
    frequencies.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> law = mask_law("bernoulli", 100, alpha=0.01)
    >>> round(fourier_epsilon(law, scale=100 * 2**0.5), 4)
    1.7037
    """
    b, m, alpha = check_positive("scale", scale), law.n_components, law.alpha
    if law.n_kept is not None:
        return math.sqrt(2.0) * m / b
    count = m if law.scheme == "bernoulli" else 1
    inside = math.sqrt(2.0) * m / (count * alpha * b)
    return count * amplified_epsilon(epsilon=inside, sampling_rate=alpha)


def fourier_scale(law: _MaskLaw, *, epsilon: float) -> float:
    """Smallest Laplace scale that makes subsampled random Fourier features private."""
    epsilon, m = check_positive("epsilon", epsilon), law.n_components
    if law.n_kept is not None:
        return math.sqrt(2.0) * m / epsilon
    count = m if law.scheme == "bernoulli" else 1
    inside = base_epsilon(epsilon=epsilon / count, sampling_rate=law.alpha)
    return math.sqrt(2.0) * m / (count * law.alpha * inside)
