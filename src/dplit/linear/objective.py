r"""Objective perturbation for classification: a random linear term before minimising.

The minimiser w of :math:`\sum_i\ell(y_i\langle x_i,w\rangle)+\lambda n\|w\|^2+\langle b,w\rangle`
determines b, so densities of w under two data sets compare through the law of b and the Jacobian of
the map. Both conditions below are for **replacing** one record, and are derived for linear models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from dplit._base import spawn_generators
from dplit._checks import (
    check_between,
    check_choice,
    check_delta,
    check_epsilon,
    check_integer,
    check_positive,
    check_real_array,
    check_scale,
    quiet,
)
from dplit._labels import check_weights
from dplit._numerics.clipping import clip_rows
from dplit._numerics.rounding import round_down
from dplit._solvers.accelerated import accelerated_minimum, smooth_steps
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.mechanisms._bits import check_source
from dplit.mechanisms._draws import record_draw
from dplit.mechanisms._exact import rounded_gamma_norm, rounded_normal
from dplit.mechanisms.values import GammaNorm

SmoothLoss = Literal["logistic", "huberised_hinge"]

_LOSSES = ("logistic", "huberised_hinge")

_UNIT = 2.0**-53

#: Part of epsilon (of 1 where epsilon is more) that hides the error of the minimiser.
_SOLVER_SHARE = 1e-3


@dataclass(frozen=True)
class PerturbedObjective:
    """A private linear classifier.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Minimiser of the perturbed objective; the sign of ``<x, coef>`` is the class.
    regularization : float
        The factor lambda that was used: the given one, or the least that leaves half of epsilon.
    noise : float
        Rate of the gamma-norm noise (delta = 0) or standard deviation of the Gaussian one, in the
        objective.
    epsilon, delta : float
        The guarantee.
    neighboring : str
        "replace_one".

    Examples
    --------
    >>> model = objective_perturbation([[1.0], [-1.0]], [1, -1], epsilon=1.0, data_norm=1.0,
    ...     regularization=1e-9, rng=np.random.default_rng(0))
    >>> least = smallest_regularization(n_records=2, epsilon=1.0, data_norm=1.0)
    >>> model.regularization == least, model.neighboring
    (True, 'replace_one')
    """

    coef: NDArray[np.float64]
    regularization: float
    noise: float
    epsilon: float
    delta: float
    neighboring: str


def _curvature(loss: str, smoothing: float) -> float:
    """Return the largest second derivative of a loss with slopes in [-1, 0]."""
    return 0.25 if loss == "logistic" else 0.5 / smoothing


def smallest_regularization(
    *,
    n_records: int,
    epsilon: float,
    data_norm: float,
    loss: SmoothLoss = "logistic",
    smoothing: float = 0.5,
) -> float:
    r"""Least lambda for which the Jacobian costs at most half of epsilon.

    Parameters
    ----------
    n_records : int
        Number n of records, public.
    epsilon : float
        Positive.
    data_norm : float
        Bound r on the Euclidean norm of every row, positive.
    loss : {"logistic", "huberised_hinge"}, default="logistic"
    smoothing : float, default=0.5
        Half width h of the quadratic part of the huberised hinge, positive.

    Returns
    -------
    float
        ``c r^2 / (2 n (e^(epsilon / 2) - 1))`` with c the largest second derivative of the loss.

    Notes
    -----
    With :math:`H=2\lambda nI+\sum_{i<n}\ell_i''x_ix_i^\top` common to both data sets, the Jacobians
    are :math:`\det(H+axx^\top)` and :math:`\det(H+a'x'x'^\top)`; the second is at least
    :math:`\det H`, so their ratio is at most :math:`1+a\,x^\top H^{-1}x\le1+cr^2/(2\lambda n)`. The
    published condition has the square of this.

    Examples
    --------
    >>> round(smallest_regularization(n_records=100, epsilon=1.0, data_norm=1.0), 6)
    0.001927
    """
    curvature = _curvature(check_choice("loss", loss, _LOSSES), check_scale("smoothing", smoothing))
    growth = math.expm1(min(check_epsilon(epsilon) / 2.0, 700.0))
    norm2 = check_positive("data_norm", data_norm) ** 2
    return curvature * norm2 / (2.0 * check_integer("n_records", n_records) * growth)


def _excess_delta(mu: float, epsilon: float) -> float:
    """Return E(1 - exp(epsilon - loss))_+ for a normal loss of mean mu^2/2 and sd mu/2."""
    gap = mu - 2.0 * epsilon / mu  # (mean - epsilon) / sd
    tail = epsilon - 3.0 * mu**2 / 8.0 + float(norm.logcdf(gap - mu / 2.0))
    return max(0.0, float(norm.cdf(gap)) - math.exp(min(tail, 0.0)))


def objective_noise(*, epsilon: float, delta: float, data_norm: float, jacobian: float) -> float:
    r"""Noise of the linear term: a rate for delta = 0, a standard deviation for delta > 0.

    Parameters
    ----------
    epsilon : float
        Budget, positive.
    delta : float
        In [0, 1/2); 0 asks for gamma-norm noise.
    data_norm : float
        Bound r on the Euclidean norm of every row, positive. Slopes of the loss lie in [-1, 0].
    jacobian : float
        Part of epsilon that the Jacobian costs, in [0, epsilon).

    Returns
    -------
    float
        Rate :math:`(\epsilon-j)/(2r)` of the density :math:`e^{-\text{rate}\|b\|}`, or the least
        standard deviation that our proof covers.

    Notes
    -----
    Replacing u = yx by u' moves the b that belongs to w by :math:`v=au-a'u'` with
    :math:`a,a'\in[0,1]`, so :math:`\|v\|\le2r`: pure epsilon by the triangle inequality.

    For Gaussian b the loss is at most
    :math:`j+(\langle b,v\rangle+\|v\|^2/2)/\sigma^2`, but a and a' depend on w, hence on b, and
    the inner product is **not** normal. It is at most :math:`\max(0,P,Q,P+Q)` with
    :math:`P=\langle b,u\rangle`, :math:`Q=-\langle b,u'\rangle`, which are jointly normal: P + Q
    has standard deviation at most :math:`2r\sigma`, P and Q at most :math:`r\sigma`. With
    :math:`\mu=2r/\sigma` a union gives, as long as :math:`\mu^2/2\le\epsilon-j`,

    .. math:: \delta\le\delta_\mu(\epsilon-j)+2\,E(1-e^{\epsilon-j-\mu^2/2-\mu N/2})_+,

    the first term being the profile of the Gaussian mechanism, the second far smaller.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, JMLR 12 (2011), Algorithm 2; Kifer, Smith and Thakurta,
    Private convex empirical risk minimization and high-dimensional regression, COLT 2012.

    Examples
    --------
    >>> objective_noise(epsilon=1.0, delta=0.0, data_norm=1.0, jacobian=0.5)
    0.25
    >>> round(objective_noise(epsilon=1.0, delta=1e-5, data_norm=1.0, jacobian=0.0), 3)
    7.461
    """
    norm2 = 2.0 * check_positive("data_norm", data_norm)
    left = check_positive("epsilon - jacobian", epsilon - jacobian)
    target = check_delta(delta)
    if target == 0.0:
        return left / norm2

    def excess(mu: float) -> float:
        main = float(gaussian_delta(epsilon=left, sigma=1.0, sensitivity=mu))
        return main + 2.0 * _excess_delta(mu, left) - target

    top = min(math.sqrt(2.0 * left), 1.0 / float(gaussian_sigma(epsilon=left, delta=target)))
    if excess(top) <= 0.0:
        return norm2 / top
    bottom = top
    while excess(bottom) > 0.0:
        bottom /= 2.0
    mu = float(brentq(excess, bottom, top, xtol=1e-14, rtol=1e-13)) * (1.0 - 1e-12)
    return norm2 / mu


def loss_slopes(
    margins: NDArray[np.float64], loss: str, h: float
) -> tuple[NDArray[np.float64], ...]:
    """Return values, first and second derivatives of the loss at margins.

    Parameters
    ----------
    margins : ndarray
        ``y_i <x_i, w>``, of any shape, which the three results share.
    loss : {"logistic", "huberised_hinge"}
        The hinge's corner is a parabola between margins 1 - h and 1 + h.
    h : float
        Half the width of that corner; the logistic loss takes no notice of it.

    Examples
    --------
    >>> [part.round(4).tolist() for part in loss_slopes(np.zeros(1), "logistic", 0.5)]
    [[0.6931], [-0.5], [0.25]]
    """
    if loss == "logistic":
        p = expit(-margins)
        return np.logaddexp(0.0, -margins), -p, p * expit(margins)
    t = np.clip((1.0 + h - margins) / (2.0 * h), 0.0, 1.0)
    values = np.where(margins < 1.0 - h, 1.0 - margins, h * t**2)
    return values, -t, np.where((t > 0.0) & (t < 1.0), 0.5 / h, 0.0)


@dataclass(frozen=True)
class _Problem:
    """sum l(<u_i, w>) + penalty/2 ||w||^2 + <b, w> for rows u_i of norm at most r."""

    U: NDArray[np.float64]
    b: NDArray[np.float64]
    penalty: float
    loss: str
    h: float
    weights: NDArray[np.float64] | None = None

    def losses(self, w: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return values and first and second derivatives of the weighted losses."""
        found = loss_slopes(self.U @ w, self.loss, self.h)
        return found if self.weights is None else tuple(self.weights * part for part in found)

    def value(self, w: NDArray[np.float64]) -> float:
        terms = self.losses(w)[0].sum()
        return float(terms + 0.5 * self.penalty * w @ w + self.b @ w)

    def gradient(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        first = self.losses(w)[1]
        return np.asarray(self.U.T @ first + self.penalty * w + self.b)

    def newton(self, goal: float) -> NDArray[np.float64]:
        """Damped Newton iteration until the gradient is a hundredth of ``goal``, or 200 steps."""
        w = np.zeros(len(self.b))
        for _ in range(200):
            gradient = self.gradient(w)
            if float(np.linalg.norm(gradient)) <= 0.01 * goal:
                break
            second = self.losses(w)[2]
            hessian = (self.U * second[:, None]).T @ self.U
            hessian.flat[:: len(w) + 1] += self.penalty
            step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
            length, now, slope = 1.0, self.value(w), float(gradient @ step)
            limit = now + 1e-15 * abs(now)
            while length > 1e-9 and self.value(w - length * step) > limit - 1e-4 * length * slope:
                length *= 0.5
            w = w - length * step
            if length * float(np.linalg.norm(step)) <= 1e-15 * float(np.linalg.norm(w)):
                break
        return w


def _largest_noise(noise: float, delta: float, dimension: int) -> float:
    """Length that the linear term exceeds with a probability below 1e-30."""
    if delta == 0.0:
        return (2.0 * dimension + 100.0) / noise
    return noise * (math.sqrt(dimension) + 14.0)


def _linear_step(noise: float, delta: float, dimension: int) -> float:
    """Return the grid's step of the linear term, a power of two that is about 2^-44 of the noise.

    Over the number of coordinates where these share a radius.
    """
    scale, spread = (1.0 / noise, dimension + 2) if delta == 0.0 else (noise, 1)
    return math.ldexp(1.0, math.frexp(scale)[1] - 45 + spread.bit_length())


def _linear_term(
    noise: float, delta: float, dimension: int, rng: np.random.Generator | None
) -> NDArray[np.float64]:
    """Return b rounded to multiples of its step: every coordinate is within half of one of b."""
    step = Fraction(_linear_step(noise, delta, dimension))
    if delta == 0.0:
        whole = rounded_gamma_norm(dimension, scale=1 / (Fraction(noise) * step), rng=rng)[0]
    else:
        whole = rounded_normal(dimension, sigma=Fraction(noise) / step, rng=rng)
    return np.asarray(whole * float(step))


def _solver_distance(
    n: int, d: int, *, r: float, penalty: float, smoothness: float, largest: float, step: float
) -> float:
    """Distance to the minimiser that float64 certifies for every data set: public numbers.

    That for the b which is rounded to multiples of ``step``, and by how much its minimiser is
    from that for b: the length of the difference over the penalty.
    """
    units = n + d * smoothness / penalty + 64.0
    rounding = 0.5 * step * math.sqrt(d)
    return (8.0 * _UNIT * units * (n * r + largest) + rounding) / penalty


def _minimise(problem: _Problem, *, r: float, smoothness: float, distance: float) -> NDArray[Any]:
    """Return a point within ``distance`` of the minimiser, whatever the data, without a warning.

    Newton's method where the gradient certifies it (half of the distance is left for the rounding
    of the gradient), else accelerated gradients, whose number of steps is public: at -b / penalty
    the gradient is at most n r.
    """
    penalty, n = problem.penalty, len(problem.U)
    goal = 0.5 * penalty * distance
    with np.errstate(all="ignore"):
        try:
            w = problem.newton(goal)
            if float(np.linalg.norm(problem.gradient(w))) <= goal:
                return w
        except (LinAlgError, ArithmeticError):
            pass
        steps = smooth_steps(
            smoothness=smoothness,
            convexity=penalty,
            start=(n * r) ** 2 / (2.0 * penalty),
            target=0.125 * penalty * distance**2,
        )
        return accelerated_minimum(
            problem.gradient,
            -problem.b / penalty,
            smoothness=smoothness,
            convexity=penalty,
            steps=steps,
        )


def _event(epsilon: float, delta: float) -> Callable[[float], float]:
    """Return what an (epsilon, delta)-private event says of its epsilon at any other delta."""
    return lambda asked: epsilon if asked >= delta else math.inf


@quiet
def objective_perturbation(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    data_norm: float,
    regularization: float,
    loss: SmoothLoss = "logistic",
    smoothing: float = 0.5,
    weights: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> PerturbedObjective:
    r"""Private linear classifier: the minimiser of a risk with a random linear term.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records or features; rows longer than ``data_norm`` are scaled back.
    y : array_like of shape (n_samples,)
        Finite labels: +1, and everything else counts as -1.
    epsilon : float
        Positive.
    delta : float, default=0.0
        0 for gamma-norm noise and a pure guarantee; in (0, 1/2) for Gaussian noise.
    data_norm : float
        Positive, chosen without the data.
    regularization : float
        Factor lambda of the squared norm beside the **mean** loss, positive; raised to
        :func:`smallest_regularization` where it is less.
    loss : {"logistic", "huberised_hinge"}, default="logistic"
        Convex with slopes in [-1, 0] and a bounded second derivative; the hinge has none.
    smoothing : float, default=0.5
        Half width of the quadratic part of the huberised hinge, positive.
    weights : array_like of shape (n_samples,) or None, default=None
        Factors of the losses in [0, 1], each made of its record alone, such as of its label, and of
        what is public.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    PerturbedObjective

    Notes
    -----
    The conditions are for the exact minimiser w, and what a solver returns is within a distance a
    of it, which public numbers fix for every data set. So noise of density proportional to
    :math:`e^{-t\|\nu\|/a}` is added: by the triangle inequality the law of what is released
    compares with that of :math:`w+\nu` within a factor :math:`e^t`, on either data set, so that
    :math:`(\epsilon_1,\delta_1)` for w gives :math:`(\epsilon_1+2t,e^t\delta_1)`. We take
    :math:`2t=\min(\epsilon,1)/1000`. At a few thousand records the noise is some 1e-5 of the
    mechanism's; it grows as the penalty falls, and at 1e5 records, 50 columns, ``epsilon = 10`` and
    a penalty of 3e-6 it is the larger of the two. The distance holds unless the linear term is
    longer than all but a share 1e-30 of its draws.

    A weight c in [0, 1] changes no condition: they ask that slopes lie in [-1, 0] and second
    derivatives in [0, :math:`\ell''_{\max}`], and those of :math:`c\ell` do. A replaced record may
    bring another weight: a and a' of :func:`objective_noise` are then products of slopes and
    weights, each in [0, 1] still. With weights up to 2 they would not be, and the noise too small.

    References
    ----------
    See :func:`objective_noise`, where the conditions are derived.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = stream(0, "example", "data").uniform(-1, 1, (2000, 1))
    >>> model = objective_perturbation(X, np.sign(X[:, 0]), epsilon=1.0, data_norm=1.0,
    ...     regularization=0.01, rng=stream(0, "example", "noise"))
    >>> bool(model.coef[0] > 1.0)
    True
    """
    r = check_positive("data_norm", data_norm)
    rows = clip_rows(check_real_array("X", X, 2), r)
    labels = check_real_array("y", y, 1)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must hold {len(rows)} labels -1 or +1, got shape {labels.shape}")
    (n, d), h = rows.shape, check_scale("smoothing", smoothing)
    factors = check_weights("weights", weights, n)
    least = smallest_regularization(
        n_records=n, epsilon=epsilon, data_norm=r, loss=loss, smoothing=h
    )
    used = max(check_between("regularization", regularization, 1e-100, 1e100), least)
    hidden = _SOLVER_SHARE * min(epsilon, 1.0)
    penalty, curvature = 2.0 * used * n, _curvature(loss, h) * r**2
    noise = objective_noise(
        epsilon=epsilon - hidden,
        delta=check_delta(delta) * math.exp(-hidden / 2.0),
        data_norm=r,
        jacobian=math.log1p(curvature / penalty),
    )
    check_source(rng)
    record_draw(
        "event",
        "risk with a random linear term",
        scale=1.0 / noise if delta == 0.0 else noise,
        stated=_event(epsilon - hidden, delta * math.exp(-hidden / 2.0)),
        shape=(d + (delta == 0.0),),
    )
    b = _linear_term(noise, delta, d, rng)
    smoothness = n * curvature + penalty
    distance = _solver_distance(
        n,
        d,
        r=r,
        penalty=penalty,
        smoothness=smoothness,
        largest=_largest_noise(noise, delta, d),
        step=_linear_step(noise, delta, d),
    )
    problem = _Problem(
        rows * np.where(labels == 1, 1.0, -1.0)[:, None], b, penalty, loss, h, factors
    )
    coef = _minimise(problem, r=r, smoothness=smoothness, distance=distance)
    coef = GammaNorm(round_down(Fraction(hidden) / (2 * Fraction(distance)))).add(
        coef,
        hides="distance of what the solver found",
        sensitivity=2.0 * distance,
        of=None,  # the distance is hidden, not the minimiser
        rng=rng if rng is None else spawn_generators(rng, 1)[0],
    )
    return PerturbedObjective(coef, used, noise, float(epsilon), float(delta), "replace_one")
