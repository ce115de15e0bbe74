r"""What sampling does to a budget: of any mechanism, and exactly for Fourier features.

Sampling lowers the privacy loss of a mechanism. But a sum of sampled terms must be divided by the
sampling rate to estimate the whole sum, and this raises the noise again; :func:`fourier_epsilon`
counts both.
"""

from __future__ import annotations

import math

from dplit._checks import check_nonnegative, check_positive, check_probability
from dplit.sketching.masks import MaskLaw

__all__ = ["amplified_epsilon", "base_epsilon", "fourier_epsilon", "fourier_scale"]


def amplified_epsilon(*, epsilon: float, sampling_rate: float) -> float:
    r"""Epsilon of a private mechanism that sees each record with a given probability.

    Parameters
    ----------
    epsilon : float
        Guarantee of the mechanism, nonnegative; "add_remove" for Poisson sampling, "replace_one"
        for sampling without replacement.
    sampling_rate : float
        Probability in (0, 1] that a record is seen.

    Returns
    -------
    float
        :math:`\log(1+\beta(e^\varepsilon-1))`, under "add_remove".

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), Lemma 14; Balle, Barthe and Gaboardi, NeurIPS 2018, Theorems 8 and 9.

    Examples
    --------
    >>> from dplit.sketching.amplification import amplified_epsilon
    >>> round(amplified_epsilon(epsilon=1.0, sampling_rate=0.1), 4)
    0.1586
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    rate = check_probability("sampling_rate", sampling_rate, one=True)
    if epsilon > 30.0:  # e^-epsilon is below the last bit of 1
        return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon))
    return math.log1p(rate * math.expm1(epsilon))


def base_epsilon(*, epsilon: float, sampling_rate: float) -> float:
    r"""Budget that a mechanism may spend if it sees each record with a given probability.

    Parameters
    ----------
    epsilon : float
        Budget of the whole, nonnegative.
    sampling_rate : float
        Probability in (0, 1] that a record is seen.

    Returns
    -------
    float
        :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)`, the inverse of
        :func:`amplified_epsilon`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), (22).

    Examples
    --------
    >>> from dplit.sketching.amplification import base_epsilon
    >>> round(base_epsilon(epsilon=1.0, sampling_rate=0.5), 4)
    1.4899
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    rate = check_probability("sampling_rate", sampling_rate, one=True)
    if epsilon > 30.0:
        return epsilon - math.log(rate) + math.log1p(-(1.0 - rate) * math.exp(-epsilon))
    return math.log1p(math.expm1(epsilon) / rate)


def fourier_epsilon(law: MaskLaw, *, scale: float) -> float:
    r"""Exact epsilon of subsampled random Fourier features with Laplace noise.

    Parameters
    ----------
    law : MaskLaw
    scale : float
        Scale b of the noise per real coordinate, positive.

    Returns
    -------
    float
        Under "add_remove": :math:`\sqrt2m/b` for a fixed number of ones, whatever it is;
        :math:`m\log(1+\alpha(e^{\sqrt2/(\alpha b)}-1))` for independent entries;
        :math:`\log(1+\alpha(e^{\sqrt2m/(\alpha b)}-1))` for all or nothing. An upper bound for all
        frequencies; attained for quantized features, and in the limit for nonresonant frequencies.

    Raises
    ------
    ValueError
        If ``scale`` is not positive.

    References
    ----------
    Chatalic et al. (2022), Lemma 18 and (17); independent entries are ours.

    Examples
    --------
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.amplification import fourier_epsilon
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


def fourier_scale(law: MaskLaw, *, epsilon: float) -> float:
    """Smallest Laplace scale that makes subsampled random Fourier features private.

    Parameters
    ----------
    law : MaskLaw
    epsilon : float
        Budget under "add_remove", positive.

    Returns
    -------
    float
        The scale at which :func:`fourier_epsilon` is ``epsilon``.

    Raises
    ------
    ValueError
        If ``epsilon`` is not positive.

    References
    ----------
    Chatalic et al. (2022), Lemma 18 and (22).

    Examples
    --------
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.amplification import fourier_scale
    >>> round(fourier_scale(mask_law("uniform", 10, n_kept=3), epsilon=1.0) / 2**0.5, 12)
    10.0
    """
    epsilon, m = check_positive("epsilon", epsilon), law.n_components
    if law.n_kept is not None:
        return math.sqrt(2.0) * m / epsilon
    count = m if law.scheme == "bernoulli" else 1
    inside = base_epsilon(epsilon=epsilon / count, sampling_rate=law.alpha)
    return math.sqrt(2.0) * m / (count * law.alpha * inside)
