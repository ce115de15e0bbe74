r"""What one limited entry can leak through noise at most, and the least noise for a budget.

:math:`x\mapsto x+\sigma Z` with :math:`|x|\le1` (Lemma 1); its capacity is that of finitely many
input points. Then Remark 1: one released column, :math:`\mathcal N(0,(x^2+\nu)I_{n'})` with
:math:`\nu=\sigma^2+f^2`, under average and under peak power.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, softmax

from dplit._checks import Array, check_at_least, check_integer, check_positive
from dplit.entries.privacy import additive_sigma
from dplit.papers.projection.finite_channels import _Bracket

_LN2 = math.log(2.0)

_SMALLEST_SIGMA = 0.06

_LARGEST_BITS = 3.0

_SMALLEST_BITS = 1e-4  # below it the average-power noise is the least to 1e-12

# trapezoidal rule: its error decays like exp(-2 pi w / step), w = width of analyticity
_STEP = 0.1

_Z = np.arange(-9.0, 9.0 + _STEP / 2, _STEP)

_WEIGHTS = _STEP * np.exp(-(_Z**2) / 2) / math.sqrt(2 * math.pi)


class _InputLaw(NamedTuple):
    """A symmetric input law: mass ``weights[k] / 2`` at each of ``points[k]`` and its negative."""

    points: Array
    weights: Array


def average_power_capacity(sigma: float) -> float:
    r"""Capacity in bits at input power at most 1, (17)-(19): :math:`\tfrac12\log_2(1+1/\sigma^2)`.

    The bound of Lemma 1, attained by a Gaussian input, which limited entries exclude.
    """
    return 0.5 * math.log1p(check_positive("sigma", sigma) ** -2) / _LN2


def _divergence(x: Array, law: _InputLaw, sigma: float) -> tuple[Array, Array]:
    """Return D(N(x, sigma^2) || output law) in nats at inputs x, and its derivative.

    The log of the ratio of densities at x + sigma z is a log of a mean of exp(-u z - u^2/2) over
    the input points c, with u = (x - c) / sigma: no digits are lost where it is small.
    """
    u = (x[:, None, None] - np.concatenate([law.points, -law.points])) / sigma
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([law.weights, law.weights]) / 2)
    z = _Z[:, None]
    terms = logs - u * z - u**2 / 2  # inputs, nodes, points
    top = terms.max(axis=-1)
    mass = np.exp(terms - top[..., None])
    sums = mass.sum(axis=-1)
    total = top + np.log(sums)
    pull = np.sum(mass * (u + z), axis=-1) / (sums * sigma)
    return -(total @ _WEIGHTS), pull @ _WEIGHTS


def _improve(law: _InputLaw, sigma: float) -> _InputLaw:
    """Raise the information over inner points and weights by a quasi-Newton search."""
    k = len(law.points)
    logits = np.log(np.maximum(law.weights, 1e-12))

    def negative(v: Array) -> tuple[float, Array]:
        here = _InputLaw(v[:k], softmax(v[k:]))
        D, slope = _divergence(here.points, here, sigma)
        information = float(here.weights @ D)
        gradient = np.concatenate([here.weights * slope, here.weights * (D - information)])
        return -information, -gradient

    bounds = [(0.0, 1.0)] * k + [(None, None)] * k
    start = np.concatenate([law.points, logits])
    # with its usual ten pairs of steps in memory the search stalls at 3 bits
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 60}
    end = minimize(  # type: ignore[call-overload]
        negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    return _InputLaw(end[:k], softmax(end[k:]))


def _upper(law: _InputLaw, sigma: float, target: float) -> tuple[float, float]:
    """Return a bound on D over [0, 1] in nats, near ``target`` if D is below it, and the best x.

    1/sigma^2 - 1/sigma^4 <= D'' <= 1/sigma^2, so on an interval of length h D exceeds the larger
    end by at most h^2/8 times the opposite of the first, and on the half next to an end its tangent
    by at most h^2/8 times the second; intervals whose smaller bound exceeds the target are halved.
    """
    bend = max(0.0, sigma**-4 - sigma**-2)
    x = np.linspace(0.0, 1.0, 65)
    D, slope = _divergence(x, law, sigma)
    for _ in range(40):
        h = np.diff(x)
        right = D[:-1] + np.maximum(0.0, slope[:-1] * h / 2 + h**2 / (8 * sigma**2))
        left = D[1:] + np.maximum(0.0, -slope[1:] * h / 2 + h**2 / (8 * sigma**2))
        chord = np.maximum(D[1:], D[:-1]) + bend * h**2 / 8
        bounds = np.minimum(chord, np.maximum(left, right))
        open_ones = bounds > max(target, float(D.max()))
        if not open_ones.any() or D.max() > target:
            break
        middle = (x[1:] + x[:-1])[open_ones] / 2
        new = _divergence(middle, law, sigma)
        order = np.argsort(np.concatenate([x, middle]), kind="stable")
        D, slope = (np.concatenate(pair)[order] for pair in zip((D, slope), new, strict=True))
        x = np.concatenate([x, middle])[order]
    return float(bounds.max()), float(x[np.argmax(D)])


_COIN = _InputLaw(np.ones(1), np.ones(1))


@cache
def _solve(sigma: float, tolerance: float) -> tuple[_InputLaw, _Bracket]:
    """Raise the information of a fair coin until the bounds are ``tolerance`` bits apart."""
    return _raised(_COIN, sigma, tolerance)


def _toward(law: _InputLaw, x: float, near: float) -> _InputLaw:
    """Put weight on x: on a new point, or where one is ``near`` that lost the slope of its logit.

    One near it that has weight is left to the search, which moves it.
    """
    k = int(np.argmin(np.abs(law.points - x)))
    if abs(law.points[k] - x) > near:
        return _InputLaw(np.append(law.points, x), np.append(0.95 * law.weights, 0.05))
    if law.weights[k] > 1e-2:
        return law
    return _InputLaw(law.points, 0.95 * law.weights + 0.05 * (np.arange(len(law.points)) == k))


def _raised(law: _InputLaw, sigma: float, tolerance: float) -> tuple[_InputLaw, _Bracket]:
    """Raise the information of an input law until the bounds are ``tolerance`` bits apart."""
    width = tolerance * _LN2
    for k in range(60):
        lower = float(law.weights @ _divergence(law.points, law, sigma)[0])
        upper, worst = _upper(law, sigma, lower + width)
        if upper - lower <= width * (1 + 1e-9):
            break
        if k:
            law = _toward(law, worst, 1e-2 * sigma)
        law = _improve(law, sigma)
    return law, _Bracket(lower / _LN2, upper / _LN2)


def peak_capacity(sigma: float, *, tolerance: float = 1e-6) -> _Bracket:
    r"""Bounds in bits on what one noisy entry in [-1, 1] leaks, at most ``tolerance`` apart.

    :math:`\sup_{|x|\le1}I(x;x+\sigma Z)` up to the rounding of float64; ``sigma`` is at least 0.06.
    Any input law gives a lower bound, its information, and an upper one,
    :math:`\max_{|x|\le1}D(N(x,\sigma^2)\|q)` with its output density q.

    >>> round(peak_capacity(1.0).upper, 4)
    0.4859
    """
    noise = check_at_least("sigma", sigma, _SMALLEST_SIGMA)
    return _solve(noise, check_positive("tolerance", tolerance))[1]


def uniform_input_bound(sigma: float) -> float:
    r"""Lower bound of the peak capacity: :math:`\tfrac12\log_2(1+\tfrac2{\pi e\,\sigma^2})`."""
    return 0.5 * math.log1p(2 / (math.pi * math.e) / check_positive("sigma", sigma) ** 2) / _LN2


#: Bits, and the least noise over that of (9) to two digits: where a search starts.
_GUESS = ([0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [1.0, 0.98, 0.8, 0.69, 0.62, 0.58, 0.55])


@cache
def _least_sigma(bits: float) -> float:
    enough = additive_sigma(epsilon=bits)
    sigma = enough * float(np.interp(bits, *_GUESS))
    width, law = 1e-6 * min(bits, 1.0), _COIN
    rate, before = min(2.0, 1.3 / bits), (math.nan, sigma)
    for _ in range(40):  # secants of the logarithms, from one law to the next
        law, found = _raised(law, sigma, width)
        over = math.log((found.upper + width) / bits)
        if -width / bits <= over <= 0.0:
            return min(sigma, enough)
        change = math.log(sigma / before[1])
        if abs(change) > 1e-5:
            rate = min(max((before[0] - over) / change, 0.2), 3.0)
        before = over, sigma
        sigma *= math.exp((over + width / (2 * bits)) / rate)
    return enough  # nothing smaller was certified


def exact_sigma(*, epsilon: float) -> float:
    r"""Least noise on entries in [-1, 1] that is :math:`\epsilon`-MI-DP, for at most 3 bits.

    Its certified capacity is at most ``epsilon``, and at least that less 3e-6, or 3e-6 times it.

    >>> round(exact_sigma(epsilon=0.5), 4)
    0.9787
    """
    bits = check_positive("epsilon", epsilon)
    if bits > _LARGEST_BITS:
        raise ValueError(f"epsilon must be at most {_LARGEST_BITS:g} bits, got epsilon={epsilon!r}")
    return additive_sigma(epsilon=bits) if bits < _SMALLEST_BITS else _least_sigma(bits)


def quantised_channel(sigma: float, *, inputs: int = 41, outputs: int = 400) -> Array:
    """The noisy entry as a finite channel (inputs, outputs), for Blahut and Arimoto.

    Equidistant inputs in [-1, 1] and exact probabilities of output bins that miss less than 1e-15:
    its capacity is below that of the continuous channel.
    """
    noise = check_positive("sigma", sigma)
    x = np.linspace(-1.0, 1.0, check_integer("inputs", inputs, minimum=2))
    bins = check_integer("outputs", outputs, minimum=2)
    edges = np.linspace(-1 - 8 * noise, 1 + 8 * noise, bins + 1)[1:-1]
    below = ndtr((edges - x[:, None]) / noise)
    above = ndtr((x[:, None] - edges) / noise)
    inner = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
    return np.hstack([below[:, :1], inner, above[:, -1:]])
