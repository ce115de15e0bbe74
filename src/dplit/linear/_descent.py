"""Full-batch gradient descent with clipped gradients and Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._base import check_regression
from dplit._checks import (
    Neighboring,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    quiet,
)
from dplit._numerics.clipping import clamp
from dplit._numerics.exact import GRAM_BITS, check_size, exact_gram, gram_rounding, grid_rows
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms._bits import check_source
from dplit.mechanisms.values import Gaussian

_Derivative = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

#: Records with several scores whose gradients are added at a time: they stay in the second-level
#: cache between their scores and their sum.
_BLOCK = 1 << 11


@dataclass(frozen=True)
class PrivateCoefficients:
    """A private linear model.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Coefficients.
    epsilon, delta : float
        Guarantee of the whole run.
    neighboring : str
    sigma : float
        Standard deviation of the noise on each sum of clipped gradients.
    """

    coef: NDArray[np.float64]
    epsilon: float
    delta: float
    neighboring: str
    sigma: float


def squared_loss_derivative(scores: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Derivative of ``(s - y)^2 / 2`` in the score s, for every record.

    Parameters
    ----------
    scores, y : ndarray of shape (n,)
        Scores ``<x, w>`` and labels.

    Returns
    -------
    ndarray of shape (n,)
        ``scores - y``.
    """
    return np.asarray(scores - y)


class _Records(NamedTuple):
    """Records as ``directions`` (n, d), whole numbers of ``step`` of norm at most 1, times
    ``lengths``; their clipped gradients add exactly. ``inner`` is the norm of a direction
    before rounding.
    """

    directions: NDArray[np.float64]
    step: float
    inner: float
    lengths: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64]) -> _Records:
        """Split records whose squares may over- or underflow, on the same route for all."""
        rows = np.ascontiguousarray(clamp(X))
        powers = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
        rows = np.ldexp(rows, -powers)  # largest entry in [1/2, 1), or a row of zeros
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        directions, step = grid_rows(rows / np.maximum(norms, 0.25), 1.0)
        inner = 1.0 - (math.sqrt(X.shape[1]) / 2.0 + 1.0) * step
        return cls(directions, step, inner, np.ldexp(norms, powers)[:, 0])

    def scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """``<x, w>``, exact up to elementwise factors: no record depends on its place.

        The model, which is public, is rounded to 36 bits; products with directions of norm
        ``2^15`` steps then add exactly in any order, as does every part of their sum.
        """
        unit = math.ldexp(1.0, math.frexp(float(np.linalg.norm(w)))[1] - 36)
        exact = self.directions @ np.rint(w / unit)
        return np.asarray(exact * (unit * self.step / self.inner) * self.lengths)

    def gradient_step(self, clip: float) -> float:
        """Step of which sums of gradients clipped to ``clip`` are whole multiples."""
        return math.ldexp(1.0, math.frexp(clip)[1] - GRAM_BITS) * self.step

    def gradient_sum(self, slopes: NDArray[Any], clip: float) -> NDArray[np.float64]:
        """Sum of ``slope x``, every one of norm at most ``clip``: the same bits in every order."""
        step = math.ldexp(1.0, math.frexp(clip)[1] - GRAM_BITS)
        most = math.floor(clip / step) * step
        whole = np.rint(np.clip(clamp(slopes) * self.lengths, -most, most) / step)
        whole[np.isnan(whole)] = 0.0
        return exact_gram(self.directions, whole) * (step * self.step)

    def total(
        self, w: NDArray[np.float64], labels: NDArray[Any], derivative: _Derivative, clip: float
    ) -> NDArray[np.float64]:
        """Sum of the clipped gradients of a model."""
        return self.gradient_sum(derivative(self.scores(w), labels), clip)


class _Scored(_Records):
    """Records with k scores each: the same bits in every order, as of those with one."""

    __slots__ = ()

    def scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (n, k) by coefficients (d, k)."""
        unit = math.ldexp(1.0, math.frexp(float(np.linalg.norm(w)))[1] - 36)
        exact = np.ascontiguousarray((self.directions @ np.rint(w / unit)).T)  # class by class
        return np.asarray((exact * (unit * self.step / self.inner) * self.lengths).T)

    def gradient_sum(self, slopes: NDArray[Any], clip: float) -> NDArray[np.float64]:
        """Sum of ``x slope^T``, each of Frobenius norm at most ``clip``, the product of two."""
        longer = np.nan_to_num(clamp(slopes), nan=0.0) * self.lengths[:, None]
        whole, step = grid_rows(longer, clip)
        return exact_gram(self.directions, whole) * (step * self.step)

    def total(
        self, w: NDArray[np.float64], labels: NDArray[Any], derivative: _Derivative, clip: float
    ) -> NDArray[np.float64]:
        """Sum of the clipped gradients of a model, block by block, in whole steps."""
        check_size(len(labels))
        step, whole = self.gradient_step(clip), np.zeros(w.shape, np.int64)
        for at in range(0, len(labels), _BLOCK):
            cut = slice(at, at + _BLOCK)
            part = self._replace(directions=self.directions[cut], lengths=self.lengths[cut])
            slopes = derivative(part.scores(w), labels[cut])
            whole += (part.gradient_sum(slopes, clip) / step).astype(np.int64)
        return np.asarray(whole * step)


class Schedule(NamedTuple):
    """What a descent does, from public numbers alone; ``n_records`` is the public one.

    Steps are of length ``learning_rate`` for the mean gradient, with Polyak's ``momentum``, made of
    released sums alone; ``radius`` is that of the ball to which the model is projected, and
    ``average`` asks for the mean of the last half of the iterates in the place of the last one.
    """

    clip: float
    steps: int
    learning_rate: float
    momentum: float
    n_records: int
    neighboring: Neighboring
    radius: float = math.inf
    average: bool = True


@quiet
def descend(
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    schedule: Schedule,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator | None,
    derivative: _Derivative = squared_loss_derivative,
    n_scores: int | None = None,
) -> PrivateCoefficients:
    """Follow a schedule on the exact sums of clipped gradients, each released with exact noise.

    Arguments are checked by the callers. With k ``n_scores`` the coefficients are (d, k), scores
    and derivatives (n, k), and gradients are clipped in the Frobenius norm.
    """
    clip, steps, rate, momentum, n_records, neighboring, radius, average = schedule
    shape = (rows.shape[1],) if n_scores is None else (rows.shape[1], n_scores)
    rounding = gram_rounding(math.prod(shape))
    moved = clip * ((1.0 if neighboring == "add_remove" else 2.0) + rounding)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved * math.sqrt(steps))
    records = (_Records if n_scores is None else _Scored).of(rows)
    known = clamp(labels)
    w, speed, sums = np.zeros((3, *shape))
    noisy = Gaussian(sigma).repeatedly(
        shape,
        steps=steps,
        hides="sums of clipped gradients",
        sensitivity=moved,
        grid=records.gradient_step(clip),
        rng=rng,
    )
    for step in range(steps):
        with np.errstate(all="ignore"):  # a warning would tell of a record
            total = records.total(w, known, derivative, clip)
        released = noisy(total)
        speed = momentum * speed - rate / n_records * released
        w = w + speed
        if radius < math.inf:
            w = w * (radius / max(radius, float(np.linalg.norm(w))))
        sums = sums + (w if step >= steps // 2 else 0.0)
    coef = sums / (steps - steps // 2) if average else w
    return PrivateCoefficients(coef, epsilon, delta, neighboring, sigma)


@quiet
def noisy_gradient_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    clip: float,
    steps: int,
    learning_rate: float,
    neighboring: Neighboring = "replace_one",
    public_size: int | None = None,
    radius: float | None = None,
    average: bool = True,
    derivative: _Derivative = squared_loss_derivative,
    rng: np.random.Generator | None = None,
) -> PrivateCoefficients:
    """Linear model by full-batch gradient descent, (epsilon, delta)-private by clipping and noise.

    Parameters
    ----------
    X, y : array_like of shapes (n_samples, d) and (n_samples,)
        Finite records or features, and labels.
    epsilon, delta : float
        In (0, inf) and (0, 1).
    clip : float
        Norm C to which every record's gradient is scaled back, in (0, inf). The guarantee rests
        on it alone: no bound on X or y is needed.
    steps : int
        Number T of steps, at least 1.
    learning_rate : float
        Step length on the mean gradient, in (0, inf).
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation. Under ``add_remove`` the number of records is private, and
        ``public_size`` must be given.
    public_size : int or None, default=None
        Number by which gradient sums are divided; None: the number of records, where it is public.
    radius : float or None, default=None
        Radius of the ball on which every iterate is projected; None: no projection.
    average : bool, default=True
        Return the mean of the last half of the iterates instead of the last one.
    derivative : callable, default=squared_loss_derivative
        ``derivative(scores, y)``: the derivative of any loss in the score, record by record. It
        must not raise, whatever the scores; NaN counts as 0.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    PrivateCoefficients
        The coefficients and the guarantee; every iterate could be published as well.

    Notes
    -----
    One record moves a sum of clipped gradients by at most ``s = C`` (add_remove) or ``2 C``
    (replace_one). Each step is therefore ``s/sigma``-GDP, the T adaptive steps compose exactly to
    ``sqrt(T) s/sigma``-GDP, and ``sigma = gaussian_sigma(sensitivity=s sqrt(T))``.

    The bound holds for what the machine computes: a gradient is the direction of its record times
    a clipped size, both on a public grid of 16 bits, so that the sum has the same bits in every
    order; ``2^-21 C sqrt(d)`` is added to s for totals beyond 2^53 steps. Entries and labels are
    clamped to 1e150 in size.

    References
    ----------
    Bassily, Smith and Thakurta, Private empirical risk minimization, FOCS 2014, arXiv:1405.7085;
    Dong, Roth and Su, Gaussian differential privacy, J. R. Stat. Soc. B 84 (2022), Corollary 2.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = stream(0, "example", "data").uniform(-1, 1, (5000, 1))
    >>> model = noisy_gradient_descent(X, 0.5 * X[:, 0], epsilon=1.0, delta=1e-6, clip=0.5,
    ...     steps=40, learning_rate=1.0, rng=stream(0, "example", "noise"))
    >>> bool(abs(model.coef[0] - 0.5) < 0.05)
    True
    """
    rows, labels = check_regression(X, y)
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    check_neighboring(neighboring)
    steps = check_integer("steps", steps)
    clip = check_positive("clip", clip)
    rate = check_positive("learning_rate", learning_rate)
    n = public_number(len(rows), neighboring, public_size)
    limit = math.inf if radius is None else check_positive("radius", radius)
    check_source(rng)
    return descend(
        rows,
        labels,
        Schedule(clip, steps, rate, 0.0, n, neighboring, limit, average),
        epsilon=epsilon,
        delta=delta,
        rng=rng,
        derivative=derivative,
    )


def public_number(n_records: int, neighboring: str, public_size: int | None) -> int:
    """Return the public number of records; where it is private, none may be read from the data."""
    if public_size is not None:
        return check_integer("public_size", public_size)
    if neighboring == "add_remove":
        raise ValueError(
            "public_size must be given under add_remove, where the number of records is private, "
            "got public_size=None"
        )
    return n_records
