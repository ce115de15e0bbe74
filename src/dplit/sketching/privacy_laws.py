r"""Privacy losses of additive mechanisms: exact for Laplace noise, analytic for Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfinv

from dplit._checks import (
    check_finite_array,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.sketching.sensitivity import real_norm

__all__ = [
    "analytic_sigma",
    "composed_delta",
    "finite_delta",
    "laplace_epsilon",
    "laplace_loss",
    "noise_constant",
    "sigma_limit",
    "split_epsilon",
]

Array = NDArray[np.float64]


def laplace_loss(points: ArrayLike, value: ArrayLike, neighbour: ArrayLike, *, scale: float) -> Any:
    r"""Return the privacy loss of the Laplace mechanism at given outputs.

    Parameters
    ----------
    points : array_like of shape (..., m)
        Outputs, real or complex.
    value, neighbour : array_like of shape (m,)
        The query on the data set and on its neighbour.
    scale : float
        Scale b > 0 of each real coordinate.

    Returns
    -------
    ndarray of shape (...)
        :math:`(\|f(Y)-s\|_1-\|f(X)-s\|_1)/b`, the log ratio of the densities of the release. Its
        maximum :math:`\|f(X)-f(Y)\|_1/b` is attained at s = f(X), its minimum at s = f(Y).

    Raises
    ------
    TypeError, ValueError
        If an array is not finite or ``scale`` is not positive.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), proof of Theorem 1.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import laplace_loss
    >>> laplace_loss([[1 + 1j], [0j]], [1 + 1j], [0j], scale=0.5)
    array([ 4., -4.])
    """
    s = check_finite_array("points", points)
    f, g = check_finite_array("value", value), check_finite_array("neighbour", neighbour)
    loss = real_norm(s - g, norm=1) - real_norm(s - f, norm=1)
    return loss / check_positive("scale", scale)


def laplace_epsilon(*, sensitivity: float, scale: float) -> float:
    r"""Return the sharp budget :math:`\epsilon^*=\Delta_1/b` of the Laplace mechanism.

    Parameters
    ----------
    sensitivity : float
        :math:`\ell_1` sensitivity, real and imaginary parts counted, positive.
    scale : float
        Scale b > 0 of the noise.

    Returns
    -------
    float
        The mechanism is :math:`\epsilon`-private for this epsilon and for no smaller one.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Theorem 1.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import laplace_epsilon
    >>> laplace_epsilon(sensitivity=3.0, scale=6.0)
    0.5
    """
    return check_positive("sensitivity", sensitivity) / check_positive("scale", scale)


def split_epsilon(*, sensitivity: float, scale: float, count_scale: float) -> float:
    r"""Return the sharp budget of releasing a sum and a count, both with Laplace noise.

    Parameters
    ----------
    sensitivity : float
        :math:`\ell_1` sensitivity of the sum where a record is added.
    scale, count_scale : float
        Scales of the noise on the sum and of the independent noise on the count.

    Returns
    -------
    float
        :math:`\Delta_1/b+1/b_\zeta`. It is attained: one record moves both by their sensitivity,
        and the joint loss is the sum of the two.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive and finite.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemma 4.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import split_epsilon
    >>> split_epsilon(sensitivity=2.0, scale=4.0, count_scale=2.0)
    1.0
    """
    first = laplace_epsilon(sensitivity=sensitivity, scale=scale)
    return first + 1.0 / check_positive("count_scale", count_scale)


def finite_delta(first: ArrayLike, second: ArrayLike, *, epsilon: float) -> float:
    r"""Return the smallest delta for which two finite laws satisfy Definition 14 at ``epsilon``.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        Laws of the release on two neighbours: nonnegative, with sum 1.
    epsilon : float
        Nonnegative privacy loss.

    Returns
    -------
    float
        :math:`\max_S P(S)-e^\epsilon Q(S)`, in both directions: the sum over the outputs where
        the difference is positive.

    Raises
    ------
    TypeError, ValueError
        If a law is not a law, their sizes differ, or ``epsilon`` is negative.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 14 and equation (8).

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import finite_delta
    >>> round(finite_delta([0.5, 0.5], [0.1, 0.9], epsilon=0.0), 12)
    0.4
    """
    p, q = (check_finite_array(n, v, ndim=1) for n, v in (("first", first), ("second", second)))
    for name, law in (("first", p), ("second", q)):
        if law.min() < 0 or abs(law.sum() - 1.0) > 1e-9 or law.shape != p.shape:
            raise ValueError(f"{name} must be a law on the outputs of first, got {law!r}")
    factor = np.exp(check_nonnegative("epsilon", epsilon))
    return float(max(np.maximum(a - factor * b, 0.0).sum() for a, b in ((p, q), (q, p))))


def noise_constant(*, epsilon: float, delta: float) -> float:
    r"""Return :math:`\eta(\epsilon,\delta)=\sqrt{2\epsilon}\,\sigma^*/\Delta_2`.

    Parameters
    ----------
    epsilon : float
        Privacy loss, positive.
    delta : float
        Probability in [1e-300, 1).

    Returns
    -------
    float
        The constant of Theorem 2. It depends on epsilon, so sigma does not scale as
        :math:`\epsilon^{-1/2}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Theorem 2.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import noise_constant
    >>> round(noise_constant(epsilon=1.0, delta=1e-8), 9)
    7.21292586
    """
    number = check_positive("epsilon", epsilon)
    return float(np.sqrt(2.0 * number)) * gaussian_sigma(epsilon=number, delta=delta)


def analytic_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    r"""Return :math:`\sigma^*=\eta(\epsilon,\delta)\,\Delta_2/\sqrt{2\epsilon}`.

    Parameters
    ----------
    epsilon : float
        Privacy loss, positive.
    delta : float
        Probability in [1e-300, 1).
    sensitivity : float, default=1.0
        :math:`\ell_2` sensitivity, positive.

    Returns
    -------
    float
        The lowest noise per real coordinate with which the Gaussian mechanism is
        :math:`(\epsilon,\delta)`-private; complex vectors count as real ones.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Theorem 2; Balle and Wang, ICML 2018, Theorem 9.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import analytic_sigma
    >>> round(analytic_sigma(epsilon=1.0, delta=1e-5, sensitivity=2.0), 9)
    7.46126327
    """
    eta = noise_constant(epsilon=epsilon, delta=delta)
    return eta * check_positive("sensitivity", sensitivity) / float(np.sqrt(2.0 * epsilon))


def sigma_limit(*, delta: float, sensitivity: float = 1.0) -> float:
    r"""Return the limit of :math:`\sigma^*` as epsilon tends to 0.

    Parameters
    ----------
    delta : float
        Probability in (0, 1).
    sensitivity : float, default=1.0
        :math:`\ell_2` sensitivity, positive.

    Returns
    -------
    float
        :math:`\Delta_2/(2\Phi^{-1}((1+\delta)/2))`, about :math:`\Delta_2/(\sqrt{2\pi}\,\delta)`:
        there delta bounds the total variation distance.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    Notes
    -----
    At epsilon = 0 the profile is :math:`\Phi(\mu/2)-\Phi(-\mu/2)`. The limit is reached only where
    epsilon is of the order of delta.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import sigma_limit
    >>> f"{sigma_limit(delta=1e-5):.8e}"
    '3.98942280e+04'
    """
    quantile = np.sqrt(2.0) * erfinv(check_probability("delta", delta))
    return check_positive("sensitivity", sensitivity) / float(2.0 * quantile)


def composed_delta(
    *, epsilon: float, sigma: float, count_scale: float, sensitivity: float
) -> float:
    r"""Return the exact delta of releasing a sum with Gaussian and a count with Laplace noise.

    Parameters
    ----------
    epsilon : float
        Privacy loss of the pair, at least :math:`1/b_\zeta`.
    sigma : float
        Standard deviation of the noise on the sum, per real coordinate.
    count_scale : float
        Scale :math:`b_\zeta` of the independent Laplace noise on the count.
    sensitivity : float
        :math:`\ell_2` sensitivity of the sum where a record is added.

    Returns
    -------
    float
        The smallest delta of the pair at ``epsilon``, for a record that attains the sensitivity.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number in its range.

    Notes
    -----
    With :math:`c=1/b_\zeta` the loss L of the count is c with probability 1/2, -c with
    probability :math:`e^{-c}/2`, and has density :math:`\frac14e^{(t-c)/2}` between. The pair has
    :math:`\delta(\epsilon)=E\,\delta_G(\epsilon-L)`.

    Examples
    --------
    >>> from dplit.sketching.privacy_laws import composed_delta
    >>> f"{composed_delta(epsilon=1.5, sigma=4.0, count_scale=2.0, sensitivity=1.0):.3e}"
    '1.502e-06'
    """
    step = 1.0 / check_positive("count_scale", count_scale)
    if check_positive("epsilon", epsilon) < step:
        raise ValueError(f"epsilon must be at least 1 / count_scale, got epsilon={epsilon!r}")
    nodes, weights = np.polynomial.legendre.leggauss(64)
    losses = np.concatenate([[step, -step], step * nodes])
    masses = np.concatenate(
        [[0.5, 0.5 * np.exp(-step)], step * weights * np.exp((step * nodes - step) / 2) / 4]
    )
    left = np.maximum(epsilon - losses, 0.0)
    return float(masses @ gaussian_delta(epsilon=left, sigma=sigma, sensitivity=sensitivity))
