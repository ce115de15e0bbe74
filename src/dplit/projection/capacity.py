r"""What one limited entry can leak through noise at most, and the least noise for a budget.

The channel is :math:`x\mapsto x+\sigma Z` with :math:`|x|\le1`. Its capacity is that of finitely
many input points; we raise their information by gradient steps and by adding points, and stop when
the largest divergence over **all** inputs, a rigorous upper bound, is close enough.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import logsumexp, ndtr, softmax

from dplit._checks import Array, check_integer, check_positive
from dplit.projection.information import Bracket, additive_sigma, scale_information

__all__ = [
    "InputLaw",
    "PeakBracket",
    "average_power_capacity",
    "coherent_capacity_bound",
    "exact_sigma",
    "flash_information",
    "noncoherent_bound",
    "peak_capacity",
    "peak_capacity_bracket",
    "peak_input",
    "peak_law",
    "quantised_channel",
    "uniform_input_bound",
]


_LN2 = math.log(2.0)

_SMALLEST_SIGMA = 0.1

_LARGEST_BITS = 2.5

_SMALLEST_BITS = 1e-4  # below it the average-power noise is the least to 1e-12

# trapezoidal rule: its error decays like exp(-2 pi w / step), w = width of analyticity
_STEP = 0.1

_Z = np.arange(-9.0, 9.0 + _STEP / 2, _STEP)

_WEIGHTS = _STEP * np.exp(-(_Z**2) / 2) / math.sqrt(2 * math.pi)


class InputLaw(NamedTuple):
    """A symmetric input law: mass ``weights[k] / 2`` at each of ``points[k]`` and its negative."""

    points: Array
    weights: Array


def average_power_capacity(sigma: float) -> float:
    r"""Return the capacity in bits of the Gaussian channel with input power at most 1.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, positive.

    Returns
    -------
    float
        :math:`\tfrac12\log_2(1+1/\sigma^2)`: the bound of Lemma 1, attained by a Gaussian input,
        which is not allowed when the input is limited.

    Raises
    ------
    TypeError, ValueError
        If ``sigma`` is not positive.

    References
    ----------
    M. Showkatbakhsh, C. Karakus, S. Diggavi, ISIT 2018, equations (17)-(19).

    Examples
    --------
    >>> from dplit.projection.capacity import average_power_capacity
    >>> average_power_capacity(1.0)
    0.5
    """
    return 0.5 * math.log1p(check_positive("sigma", sigma) ** -2) / _LN2


def _divergence(x: Array, law: InputLaw, sigma: float) -> tuple[Array, Array]:
    """Return D(N(x, sigma^2) || output law) in nats at inputs x, and its derivative.

    The log of the ratio of densities at x + sigma z is a log of a mean of exp(-u z - u^2/2) over
    the input points c, with u = (x - c) / sigma: no digits are lost where it is small.
    """
    u = (x[:, None, None] - np.concatenate([law.points, -law.points])) / sigma
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([law.weights, law.weights]) / 2)
    z = _Z[:, None]
    terms = logs - u * z - u**2 / 2  # inputs, nodes, points
    total = logsumexp(terms, axis=-1)
    pull = np.sum(np.exp(terms - total[..., None]) * (u + z), axis=-1) / sigma
    return -(total @ _WEIGHTS), pull @ _WEIGHTS


def _improve(law: InputLaw, sigma: float) -> InputLaw:
    """Raise the information over inner points and weights by a quasi-Newton search."""
    k = len(law.points)
    logits = np.log(np.maximum(law.weights, 1e-12))

    def negative(v: Array) -> tuple[float, Array]:
        here = InputLaw(v[:k], softmax(v[k:]))
        D, slope = _divergence(here.points, here, sigma)
        information = float(here.weights @ D)
        gradient = np.concatenate([here.weights * slope, here.weights * (D - information)])
        return -information, -gradient

    bounds = [(0.0, 1.0)] * k + [(None, None)] * k
    start = np.concatenate([law.points, logits])
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10}
    end = minimize(  # type: ignore[call-overload]
        negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    return InputLaw(end[:k], softmax(end[k:]))


def _upper(law: InputLaw, sigma: float, target: float) -> tuple[float, float]:
    """Return a bound on D over [0, 1] in nats, near ``target`` if D is below it, and the best x.

    D'' >= 1/sigma^2 - 1/sigma^4, so between two points at distance h D exceeds the larger end by at
    most h^2/8 times the opposite of that; intervals whose bound exceeds the target are halved.
    """
    bend = max(0.0, sigma**-4 - sigma**-2)
    x = np.linspace(0.0, 1.0, 65)
    D = _divergence(x, law, sigma)[0]
    for _ in range(40):
        bounds = np.maximum(D[1:], D[:-1]) + bend * np.diff(x) ** 2 / 8
        open_ones = bounds > max(target, float(D.max()))
        if not open_ones.any() or D.max() > target:
            break
        middle = (x[1:] + x[:-1])[open_ones] / 2
        order = np.argsort(np.concatenate([x, middle]), kind="stable")
        D = np.concatenate([D, _divergence(middle, law, sigma)[0]])[order]
        x = np.concatenate([x, middle])[order]
    return float(bounds.max()), float(x[np.argmax(D)])


@cache
def _solve(sigma: float, tolerance: float) -> tuple[InputLaw, Bracket]:
    """Raise the information of an input law until the bounds are ``tolerance`` bits apart."""
    law = InputLaw(np.ones(1), np.ones(1))
    width = tolerance * _LN2
    for _ in range(60):
        lower = float(law.weights @ _divergence(law.points, law, sigma)[0])
        upper, worst = _upper(law, sigma, lower + width)
        if upper - lower <= width * (1 + 1e-9):
            break
        if (np.abs(law.points - worst) > 1e-2 * sigma).all():
            law = InputLaw(np.append(law.points, worst), np.append(0.95 * law.weights, 0.05))
        law = _improve(law, sigma)
    return law, Bracket(lower / _LN2, upper / _LN2)


def _check_sigma(sigma: object) -> float:
    noise = check_positive("sigma", sigma)
    if noise < _SMALLEST_SIGMA:
        raise ValueError(f"sigma must be at least {_SMALLEST_SIGMA:g}, got sigma={sigma!r}")
    return noise


def peak_input(sigma: float, *, tolerance: float = 1e-6) -> InputLaw:
    r"""Return an input law whose information is within ``tolerance`` bits of the capacity.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, at least 0.1, for inputs in [-1, 1].
    tolerance : float, default=1e-6
        In bits.

    Returns
    -------
    InputLaw
        Points in [0, 1] and weights with sum 1; each point stands for itself and its negative. For
        ``sigma >= 1`` it is the fair coin on the two ends, exactly.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    J. G. Smith, Information and Control 18, 1971, 203-219: the optimal law is discrete.

    Examples
    --------
    >>> from dplit.projection.capacity import peak_input
    >>> peak_input(1.0).points
    array([1.])
    """
    law, _ = _solve(_check_sigma(sigma), check_positive("tolerance", tolerance))
    return InputLaw(law.points.copy(), law.weights.copy())


def peak_capacity(sigma: float, *, tolerance: float = 1e-6) -> Bracket:
    r"""Return bounds on what one noisy entry in [-1, 1] leaks at most, in bits.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, at least 0.1.
    tolerance : float, default=1e-6
        Largest difference of the bounds, in bits.

    Returns
    -------
    Bracket
        Bounds on :math:`\sup_{|x|\le1}I(x;x+\sigma Z)`, up to the rounding of float64.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    Any input law with output density q gives a lower bound, its information, and an upper one,
    :math:`\max_{|x|\le1}D(x)` with :math:`D(x)=D(N(x,\sigma^2)\|q)`. Because q is a mixture of
    normals with centres c in [-1, 1],

    .. math:: D''(x)=E\Big[\frac1{\sigma^2}-\frac{\mathrm{Var}(c\mid x+\sigma Z)}{\sigma^4}\Big]
              \ge\frac1{\sigma^2}-\frac1{\sigma^4},

    so that the maximum over the interval is bounded from finitely many values. For
    :math:`\sigma\ge1`, that is up to half a bit of the paper's budget, D is convex, its maximum is
    at the ends, and the fair coin on them is optimal.

    Examples
    --------
    >>> from dplit.projection.capacity import peak_capacity
    >>> round(peak_capacity(1.0).upper, 4)
    0.4859
    """
    return _solve(_check_sigma(sigma), check_positive("tolerance", tolerance))[1]


def uniform_input_bound(sigma: float) -> float:
    r"""Return a closed lower bound in bits on the capacity for inputs in [-1, 1].

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, positive.

    Returns
    -------
    float
        :math:`\tfrac12\log_2\big(1+\tfrac2{\pi e\,\sigma^2}\big)`.

    Raises
    ------
    TypeError, ValueError
        If ``sigma`` is not positive.

    Notes
    -----
    The entropy power of a uniform input is :math:`2/(\pi e)`, and entropy powers of independent
    variables add up at least. So the least variance is never below
    :math:`2/(\pi e)=0.2342` times the paper's; the ratio tends to that for large budgets.

    Examples
    --------
    >>> from dplit.projection.capacity import uniform_input_bound
    >>> round(uniform_input_bound(0.1), 3)
    2.305
    """
    return 0.5 * math.log1p(2 / (math.pi * math.e) / check_positive("sigma", sigma) ** 2) / _LN2


@cache
def _least_sigma(bits: float) -> float:
    high = additive_sigma(epsilon=bits)
    low = max(high * math.sqrt(2 / (math.pi * math.e)), _SMALLEST_SIGMA)
    sigma = float(brentq(lambda s: peak_capacity(s).upper - bits, low, high, xtol=1e-9))
    while peak_capacity(sigma).upper > bits:
        sigma *= 1 + 1e-9
    return sigma


def exact_sigma(*, epsilon: float) -> float:
    r"""Return the least noise on entries in [-1, 1] that is :math:`\epsilon`-MI-DP.

    Parameters
    ----------
    epsilon : float
        MI-DP budget of one entry in bits, in (0, 2.5].

    Returns
    -------
    float
        Standard deviation; the certified upper bound on its capacity is at most ``epsilon``, and
        exceeds the capacity by 1e-6 bits at most.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is not in (0, 2.5].

    Examples
    --------
    >>> from dplit.projection.capacity import exact_sigma
    >>> round(exact_sigma(epsilon=0.5), 4)
    0.9787
    """
    bits = check_positive("epsilon", epsilon)
    if bits > _LARGEST_BITS:
        raise ValueError(f"epsilon must be at most {_LARGEST_BITS:g} bits, got epsilon={epsilon!r}")
    return additive_sigma(epsilon=bits) if bits < _SMALLEST_BITS else _least_sigma(bits)


def quantised_channel(sigma: float, *, inputs: int = 41, outputs: int = 400) -> Array:
    r"""Return the noisy entry as a finite channel, for the algorithm of Blahut and Arimoto.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, positive.
    inputs : int, default=41
        Equidistant inputs in [-1, 1], at least 2.
    outputs : int, default=400
        Bins of the output, at least 2, on an interval that misses less than 1e-15.

    Returns
    -------
    ndarray of shape (inputs, outputs)
        Exact bin probabilities. Its capacity is below that of the continuous channel: inputs are
        fewer and the bin is a function of the output.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from dplit.projection.capacity import quantised_channel
    >>> quantised_channel(1.0, inputs=2, outputs=4).shape
    (2, 4)
    """
    noise = check_positive("sigma", sigma)
    x = np.linspace(-1.0, 1.0, check_integer("inputs", inputs, minimum=2))
    bins = check_integer("outputs", outputs, minimum=2)
    edges = np.linspace(-1 - 8 * noise, 1 + 8 * noise, bins + 1)[1:-1]
    below = ndtr((edges - x[:, None]) / noise)
    above = ndtr((x[:, None] - edges) / noise)
    inner = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
    return np.hstack([below[:, :1], inner, above[:, -1:]])


# Remark 1: what one column alone reveals, under average and under peak power.
#
# One released column is :math:`\mathcal N(0,(x^2+\nu)I_{n'})` with :math:`\nu=\sigma^2+f^2`: a
# non-coherent channel. The remark bounds it under an average-power constraint. Entries of X are
# bounded by 1, a peak constraint, and there the channel carries far less.


_LOG2_E = float(np.log2(np.e))


class PeakBracket(NamedTuple):
    """Bounds in bits between which a capacity lies."""

    lower: float
    upper: float


def coherent_capacity_bound(noise: float, *, n_components: int) -> float:
    r"""Coherent bound used in the proof of Lemma 2, in bits.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu` of the rest of the column, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac12\log_2(1+n'/\nu)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (23).

    Examples
    --------
    >>> coherent_capacity_bound(4.0, n_components=12)
    1.0
    """
    n = check_integer("n_components", n_components)
    return float(np.log1p(n / check_positive("noise", noise)) * _LOG2_E / 2)


def noncoherent_bound(noise: float, *, n_components: int) -> float:
    r"""Non-coherent bound (16) of Remark 1, in bits.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu=\sigma_{RP}^2+f^2`, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac{n'}2\log_2(1+1/\nu)`; by Bernoulli's inequality never below the coherent one.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (16).

    Examples
    --------
    >>> noncoherent_bound(1.0, n_components=2)
    1.0
    """
    n = check_integer("n_components", n_components)
    return float(n * np.log1p(1.0 / check_positive("noise", noise)) * _LOG2_E / 2)


def flash_information(
    noise: float, *, n_components: int, amplitude: float | None = None
) -> float:  # fmt: skip
    r"""Information of on-off signalling of unit average power: rarely, and then loudly.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu`, positive.
    n_components : int
        Rows n' of the release.
    amplitude : float, optional
        Value A of the "on" symbol, above 1; it is sent with probability :math:`A^{-2}`. By default
        the best one.

    Returns
    -------
    float
        Bits. At fixed n' the best value approaches :math:`\frac{n'}{2\nu}\log_2e`, the leading term
        of (16), as :math:`\nu` grows, but only logarithmically.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> bits = flash_information(1e3, n_components=1)
    >>> round(bits / noncoherent_bound(1e3, n_components=1), 2)
    0.56
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    if amplitude is None:
        found = minimize_scalar(
            lambda u: -_on_off(nu, 1.0 + np.exp(u), n), bounds=(-12.0, 12.0 + np.log(nu)),
            method="bounded", options={"xatol": 1e-4},
        )  # fmt: skip
        return -float(found.fun)
    if check_positive("amplitude", amplitude) <= 1:
        raise ValueError(f"amplitude must exceed 1, got amplitude={amplitude!r}")
    return _on_off(nu, amplitude**2, n)


def _on_off(nu: float, power: float, n: int) -> float:
    levels = [1.0, 1.0 + power / nu]
    return scale_information(levels, n_samples=n, prior=[1 - 1 / power, 1 / power]).value


def peak_capacity_bracket(noise: float, *, n_components: int) -> PeakBracket:
    r"""Capacity of one released column for an entry in [-1, 1]: certified lower and upper bounds.

    Parameters
    ----------
    noise : float
        Variance :math:`\nu`, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    PeakBracket
        ``lower``: information of a fair choice between :math:`x^2=0` and 1, less the error of the
        quadrature. ``upper``: the divergence of either end from the Gaussian that has the same
        divergence from both.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    For any Q the capacity is at most :math:`\max_xD(P_x\|Q)`. With :math:`Q=\mathcal N(0,w)` the
    divergence :math:`\frac{n'}2(v/w-1-\ln(v/w))` is convex in v, so its maximum is at an end. For
    large :math:`\nu` both bounds are :math:`\frac{n'}{16\nu^2}\log_2e`.

    Examples
    --------
    >>> bracket = peak_capacity_bracket(10.0, n_components=10)
    >>> bool(bracket.lower < bracket.upper < 0.01)
    True
    """
    nu, n = check_positive("noise", noise), check_integer("n_components", n_components)
    lower = scale_information([nu, nu + 1.0], n_samples=n)

    def divergence(variance: float, w: float) -> float:
        return float(n / 2 * (variance / w - 1 - np.log(variance / w)))

    w = brentq(lambda w: divergence(nu, w) - divergence(nu + 1, w), nu, nu + 1, xtol=1e-14 * nu)
    upper = max(divergence(nu, w), divergence(nu + 1, w)) * _LOG2_E
    return PeakBracket(lower.value - lower.error, upper)


def peak_law(*, epsilon: float, n_components: int) -> float:
    r"""Leading term of the leakage of one column at the total noise that the paper prescribes.

    Parameters
    ----------
    epsilon : float
        Budget in bits, positive.
    n_components : int
        Rows n' of the release.

    Returns
    -------
    float
        :math:`\frac{(2^{2\epsilon}-1)^2}{16n'}\log_2e` bits.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(peak_law(epsilon=0.5, n_components=100), 5)
    0.0009
    """
    gain = float(np.expm1(2 * np.log(2.0) * check_positive("epsilon", epsilon)))
    return gain**2 * _LOG2_E / (16 * check_integer("n_components", n_components))
