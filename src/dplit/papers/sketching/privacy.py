"""Privacy losses of additive mechanisms: exact for Laplace noise, analytic for Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfinv

from dplit._checks import check_finite_array, check_positive, check_probability
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.papers.sketching.enumeration import real_norm


def laplace_loss(points: ArrayLike, value: ArrayLike, neighbour: ArrayLike, *, scale: float) -> Any:
    r"""Return the privacy loss :math:`(\|f(Y)-s\|_1-\|f(X)-s\|_1)/b` at outputs s: Theorem 1.

    ``points`` has shape (..., m), real or complex; ``value`` and ``neighbour`` are f(X) and f(Y).
    The maximum is attained at f(X), the minimum at f(Y).
    """
    s = check_finite_array("points", points)
    f, g = check_finite_array("value", value), check_finite_array("neighbour", neighbour)
    loss = real_norm(s - g, norm=1) - real_norm(s - f, norm=1)
    return loss / check_positive("scale", scale)


def laplace_epsilon(*, sensitivity: float, scale: float) -> float:
    r"""Return the sharp budget :math:`\epsilon^*=\Delta_1/b` of Laplace noise: Theorem 1."""
    return check_positive("sensitivity", sensitivity) / check_positive("scale", scale)


def split_epsilon(*, sensitivity: float, scale: float, count_scale: float) -> float:
    r"""Return the sharp budget :math:`\Delta_1/b+1/b_\zeta` of a sum and a count, both Laplace.

    Lemma 4. One record moves both by their sensitivity, and the losses add.
    """
    first = laplace_epsilon(sensitivity=sensitivity, scale=scale)
    return first + 1.0 / check_positive("count_scale", count_scale)


def noise_constant(*, epsilon: float, delta: float) -> float:
    r"""Return :math:`\eta(\epsilon,\delta)=\sqrt{2\epsilon}\,\sigma^*/\Delta_2` of Theorem 2.

    >>> round(noise_constant(epsilon=1.0, delta=1e-8), 9)
    7.21292586
    """
    number = check_positive("epsilon", epsilon)
    return float(np.sqrt(2.0 * number)) * gaussian_sigma(epsilon=number, delta=delta)


def analytic_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    r"""Return :math:`\sigma^*=\eta(\epsilon,\delta)\,\Delta_2/\sqrt{2\epsilon}`, Theorem 2.

    Per real coordinate; complex vectors count as real ones.

    >>> round(analytic_sigma(epsilon=1.0, delta=1e-5, sensitivity=2.0), 9)
    7.46126327
    """
    eta = noise_constant(epsilon=epsilon, delta=delta)
    return eta * check_positive("sensitivity", sensitivity) / float(np.sqrt(2.0 * epsilon))


def sigma_limit(*, delta: float, sensitivity: float = 1.0) -> float:
    r"""Return the limit :math:`\Delta_2/(2\Phi^{-1}((1+\delta)/2))` of sigma at epsilon = 0."""
    quantile = np.sqrt(2.0) * erfinv(check_probability("delta", delta))
    return check_positive("sensitivity", sensitivity) / float(2.0 * quantile)


def split_delta(*, epsilon: float, sigma: float, count_scale: float, sensitivity: float) -> float:
    r"""Return the exact delta of a sum with Gaussian and a count with Laplace noise: Lemma 10.

    With :math:`c=1/b_\zeta\le\epsilon` the loss L of the count is c with probability 1/2, -c with
    probability :math:`e^{-c}/2`, and has density :math:`\frac14e^{(t-c)/2}` between. The pair has
    :math:`\delta(\epsilon)=E\,\delta_G(\epsilon-L)`.

    >>> f"{split_delta(epsilon=1.5, sigma=4.0, count_scale=2.0, sensitivity=1.0):.3e}"
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
