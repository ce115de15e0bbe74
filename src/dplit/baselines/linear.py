"""Private linear regression: noisy sufficient statistics and noisy gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_rng,
    quiet,
    warn_caller,
)
from dplit._estimators import (
    LinearRegressor,
    RandomState,
    check_regression,
    clamp,
    clip_rows,
    silenced,
    spawn_generators,
    state_guarantee,
    stated_ends,
    stated_norm,
    whole,
)
from dplit._numerics.exact import GRAM_BITS, exact_gram, gram_rounding, grid_rows, grid_values
from dplit._records import labelled_records
from dplit.baselines.components import _noisy_gram
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.mechanisms.draws import record_draw, record_step

# Least squares from noisy second moments: one Gaussian release, then post-processing.


@dataclass(frozen=True)
class PrivateMoments:
    """A private linear model with the noisy moments it was made from; all of it may be published.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Ridge solution from the noisy moments, the second one projected on the positive cone.
    gram : ndarray of shape (d, d)
        Noisy ``X^T X``, symmetric, not projected.
    moment : ndarray of shape (d,)
        Noisy ``X^T y``.
    alpha : float
        Ridge parameter that was used.
    epsilon, delta : float
        Guarantee of the whole.
    neighboring : str
    sigma : float
        Standard deviation of the noise on the moments of rows of norm 1 and labels in [-1, 1].
    """

    coef: NDArray[np.float64]
    gram: NDArray[np.float64]
    moment: NDArray[np.float64]
    alpha: float
    epsilon: float
    delta: float
    neighboring: str
    sigma: float

    def solve(self, *, alpha: float) -> NDArray[np.float64]:
        """Return the ridge solution for another ``alpha``, at no further cost of privacy.

        Parameters
        ----------
        alpha : float
            Ridge parameter in (0, inf), on the scale of ``X^T X`` as in scikit-learn's ``Ridge``.

        Returns
        -------
        ndarray of shape (d,)
            ``(G_+ + alpha I)^-1 h``, where ``G_+`` is the noisy second moment with its negative
            eigenvalues set to zero.
        """
        return _ridge(self.gram, self.moment, check_positive("alpha", alpha))


def moment_sensitivity(
    *, data_norm: float, label_bound: float, neighboring: Neighboring = "add_remove"
) -> float:
    """Exact L2 sensitivity of the pair ``(X^T X, X^T y)`` for clipped records.

    Parameters
    ----------
    data_norm : float
        Bound r on the Euclidean norm of every row, in (0, inf).
    label_bound : float
        Bound b on ``|y|``, in (0, inf).
    neighboring : {"add_remove", "replace_one"}, default="add_remove"

    Returns
    -------
    float
        The largest distance in the norm ``sqrt(||G - G'||_F^2 + ||h - h'||_2^2)``, attained (in at
        least two dimensions for ``replace_one``).

    Notes
    -----
    One record contributes ``(x x^T, y x)`` of squared norm ``|x|^4 + y^2 |x|^2``, hence
    ``r sqrt(r^2 + b^2)`` for adding or removing it. Replacing (x, y) by (z, w) moves the pair by::

        |x|^4 + |z|^4 - 2 <x, z>^2 + y^2 |x|^2 + w^2 |z|^2 - 2 y w <x, z>,

    largest at full norms and labels ``y w = -b^2 sign<x, z>``: with ``t = |<x, z>|`` this is
    ``2 r^4 - 2 t^2 + 2 b^2 r^2 + 2 b^2 t``, whose maximum over ``0 <= t <= r^2`` is at
    ``t = min(b^2 / 2, r^2)``. So the sensitivity is ``sqrt(2) (r^2 + b^2 / 2)`` if
    ``b^2 <= 2 r^2`` and ``2 b r`` otherwise: between sqrt(2) and 2 times the other one.

    Examples
    --------
    >>> round(moment_sensitivity(data_norm=1.0, label_bound=1.0), 6)
    1.414214
    >>> round(moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring="replace_one"), 6)
    2.12132
    """
    r, b = check_positive("data_norm", data_norm), check_positive("label_bound", label_bound)
    check_neighboring(neighboring)
    if neighboring == "add_remove":
        return r * math.hypot(r, b)
    return math.sqrt(2.0) * (r * r + b * b / 2.0) if b * b <= 2.0 * r * r else 2.0 * b * r


def _ridge(
    gram: NDArray[np.float64], moment: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Solve ``(G_+ + alpha I) c = h`` through the eigenvalues of ``G``."""
    values, vectors = np.linalg.eigh(gram)
    coef: NDArray[np.float64] = vectors @ ((vectors.T @ moment) / (np.maximum(values, 0) + alpha))
    return coef


@quiet
def sufficient_statistics(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    data_norm: float,
    label_bound: float,
    neighboring: Neighboring = "add_remove",
    alpha: float | None = None,
    rng: np.random.Generator,
) -> PrivateMoments:
    """Linear regression from one (epsilon, delta)-private release of ``X^T X`` and ``X^T y``.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records or features; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (n_samples,)
        Finite labels, clipped to ``[-label_bound, label_bound]``.
    epsilon, delta : float
        In (0, inf) and (0, 1).
    data_norm, label_bound : float
        Bounds chosen without looking at the data, in (0, inf).
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    alpha : float or None, default=None
        Ridge parameter on the scale of ``X^T X``. None takes ``sigma r^2 sqrt(2 d)``, the largest
        eigenvalue that the noise alone is expected to have: a choice that reads no data.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    PrivateMoments
        The solution and the noisy moments, all under one (epsilon, delta) guarantee.

    Notes
    -----
    Moments are taken in the units of the bounds (rows of norm at most 1, labels in [-1, 1]), which
    makes the result equivariant under scaling of X and y with their bounds and balances the two
    parts. The symmetric noise has variance sigma^2 on the diagonal and sigma^2/2 off it, the
    isotropic Gaussian of the Frobenius norm, calibrated exactly for :func:`moment_sensitivity`.
    That bound also holds for what the machine adds up: clipped records are rounded to a public grid
    (16 bits of each bound), on which their moments are exact in every order, and totals beyond
    2^53 steps are rounded once, for which the calibration has a further ``2^-21 sqrt(d^2 + d)``.

    References
    ----------
    Vu and Slavkovic, Differential privacy for clinical trial data, ICDM workshops 2009; Wang,
    Revisiting differentially private linear regression, UAI 2018, arXiv:1803.02596, Algorithm 2
    (which splits the budget in three; here one joint release and no private norm).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = stream(0, "example", "data").uniform(-1, 1, (5000, 1))
    >>> model = sufficient_statistics(X, 0.5 * X[:, 0], epsilon=1.0, delta=1e-6, data_norm=1.0,
    ...                               label_bound=1.0, rng=stream(0, "example", "noise"))
    >>> bool(abs(model.coef[0] - 0.5) < 0.05)
    True
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    r, b = check_positive("data_norm", data_norm), check_positive("label_bound", label_bound)
    ridge = None if alpha is None else check_positive("alpha", alpha)
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=neighboring)
    rows, labels = check_regression(X, y)
    check_rng(rng)
    d = rows.shape[1]
    sigma = gaussian_sigma(
        epsilon=epsilon, delta=delta, sensitivity=unit + gram_rounding(d * d + d)
    )
    rows, step = grid_rows(rows, r)
    labels, label_step = grid_values(labels, b)
    record_draw(
        "gaussian", "second moments", of=lambda: exact_gram(rows, rows) * (step / r) ** 2,
        sensitivity=(1.0 if neighboring == "add_remove" else math.sqrt(2.0)) + gram_rounding(d * d),
        scale=sigma, shape=(d, d),
    )  # fmt: skip
    gram = _noisy_gram(rows, (r / step) ** 2, sigma=sigma, rng=rng) * step * step
    record_draw(
        "gaussian", "moments with the labels",
        of=lambda: exact_gram(rows, labels) * (step / r) * (label_step / b),
        sensitivity=(1.0 if neighboring == "add_remove" else 2.0) + gram_rounding(d), scale=sigma,
        shape=(d,), joint=(unit + gram_rounding(d * d + d)) / sigma,
    )  # fmt: skip
    noise = gaussian_noise(d, sigma=sigma, rng=rng) * (r / step) * (b / label_step)
    moment = (exact_gram(rows, labels) + noise) * step * label_step
    if ridge is None:
        ridge = sigma * r * r * math.sqrt(2.0 * d)
    coef = _ridge(gram, moment, ridge)
    return PrivateMoments(coef, gram, moment, ridge, epsilon, delta, neighboring, sigma)


# Full-batch gradient descent with clipped gradients and Gaussian noise.


_Derivative = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


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

    def gradient_sum(self, slopes: NDArray[Any], clip: float) -> NDArray[np.float64]:
        """Sum of ``slope x``, every one of norm at most ``clip``: the same bits in every order."""
        step = math.ldexp(1.0, math.frexp(clip)[1] - GRAM_BITS)
        most = math.floor(clip / step) * step
        whole = np.rint(np.clip(clamp(slopes) * self.lengths, -most, most) / step)
        whole[np.isnan(whole)] = 0.0
        return exact_gram(self.directions, whole) * (step * self.step)


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
    rng: np.random.Generator,
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
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

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
    rate = check_positive("learning_rate", learning_rate) / _public_number(
        len(rows), neighboring, public_size
    )
    limit = math.inf if radius is None else check_positive("radius", radius)
    check_rng(rng)
    d = rows.shape[1]
    moved = clip * ((1.0 if neighboring == "add_remove" else 2.0) + gram_rounding(d))
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved * math.sqrt(steps))
    records, labels = _Records.of(rows), clamp(labels)
    w = np.zeros(d)
    total = np.zeros_like(w)
    record_draw(
        "gaussian", "sums of clipped gradients", sensitivity=moved, scale=sigma, shape=(d,),
        steps=steps,
    )  # fmt: skip
    for step in range(steps):
        with np.errstate(all="ignore"):  # a warning would tell of a record
            slopes = derivative(records.scores(w), labels)
        gradient = records.gradient_sum(slopes, clip)
        record_step(gradient)
        w = w - rate * (gradient + sigma * rng.standard_normal(w.shape))
        w = w * (limit / max(limit, float(np.linalg.norm(w)))) if limit < math.inf else w
        total += w if step >= steps // 2 else 0.0
    coef = total / (steps - steps // 2) if average else w
    return PrivateCoefficients(coef, epsilon, delta, neighboring, sigma)


def _public_number(n_records: int, neighboring: str, public_size: int | None) -> int:
    """Return the public number of records; where it is private, none may be read from the data."""
    if public_size is not None:
        return check_integer("public_size", public_size)
    if neighboring == "add_remove":
        raise ValueError(
            "public_size must be given under add_remove, where the number of records is private, "
            "got public_size=None"
        )
    return n_records


#: Largest default number of steps of NoisyGradientRegressor, and the shortest time that learns.
_MOST_STEPS = 1000

_SHORTEST = 16.0

#: Its default clipping norms, and the time beyond which a budget goes into a larger one.
_CLIPS = (0.1, 0.5)

_AMPLE = 800.0

#: Default penalty of SufficientStatisticsRegressor over the one of the function.
_SHARE = math.sqrt(0.5)

#: Least ratio of the released weight of the constant to the default penalty.
_LEAST_WEIGHT = 8.0


class _ClippedLinearRegressor(LinearRegressor):
    """What the two estimators share: clipping to stated bounds, intercept, statement.

    Rows x, clipped to norm r, become ``(x, r) / (r sqrt(2))`` with an intercept and ``x / r``
    without; labels, clipped to the bounds, become ``(y - middle) / half``. Both then have unit
    bounds, and the released coefficients are put back into the units of the data.
    """

    data_norm: float | None
    bounds: tuple[float, float] | None
    fit_intercept: bool

    def _limits(self) -> tuple[float, float, float]:
        """Return row norm, middle and half width of the label bounds; both must be stated."""
        norm, (low, high) = stated_norm(self.data_norm), stated_ends(self.bounds)
        return norm, low / 2 + high / 2, high / 2 - low / 2

    def _unit_records(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows in the unit ball and labels in [-1, 1]; clipped before anything else."""
        return self._unit_of(*labelled_records(self, X, y))

    def _unit_of(
        self, records: NDArray[np.float64], labels: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return unit records of checked ones; those without a label, which is NaN, are zeros."""
        norm, middle, half = self._limits()
        unit = clip_rows(records, norm) / norm
        if self.fit_intercept:
            unit = np.hstack([unit, np.ones((len(unit), 1))]) / np.sqrt(2.0)
        known = ~np.isnan(labels)
        inside = np.clip(np.where(known, labels, middle), middle - half, middle + half)
        return silenced(unit, known), np.clip((inside - middle) / half, -1.0, 1.0)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_ + intercept_``, clipped to ``bounds`` as the labels were.
        """
        return np.asarray(np.clip(super().predict(X), *self._ends))

    def _publish(self, fitted: PrivateMoments | PrivateCoefficients) -> Self:
        """Set the private attributes from a release on unit records."""
        norm, middle, half = self._limits()
        self._ends = (middle - half, middle + half)
        coef, self.intercept_ = fitted.coef * half, middle
        if self.fit_intercept:
            coef = coef / np.sqrt(2.0)
            self.intercept_ += float(coef[-1])
            coef = coef[:-1]
        self.coef_ = coef / norm
        self.sigma_ = fitted.sigma
        added = fitted.neighboring == "add_remove"
        change = (
            f"{'adding or removing one record' if added else 'replacing one record'} (rows clipped "
            f"to norm {norm:g}, labels to [{middle - half:g}, {middle + half:g}]"
            f"{'' if added else '; their number is public'})"
        )
        state_guarantee(self, fitted.epsilon, fitted.delta, fitted.neighboring, change)
        return self


class SufficientStatisticsRegressor(_ClippedLinearRegressor):
    """Private linear regression from one noisy release of second moments.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        In (0, inf) and (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    alpha : float or None, default=None
        Ridge parameter on the scale of scikit-learn's ``Ridge``; None chooses it from the noise
        alone, see the notes. The intercept is penalised too, as
        ``alpha (intercept / data_norm)^2``, measured from the middle of the bounds.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    fit_intercept : bool, default=True
        Whether to fit a constant; False fixes it to the middle of the label bounds.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on the moments in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Default ``alpha``: ``sigma_ sqrt(d)`` in unit bounds, for d coefficients with the constant. The
    largest eigenvalue that the noise alone is expected to have, which :func:`sufficient_statistics`
    takes, is sqrt(2) times that, and predicts worse on simulated laws. With an intercept, ``fit``
    then warns where the released weight of the constant is below 8 alpha: noise and penalty pull
    all predictions towards the middle of the bounds. The warning reads the release alone. The noise
    is floating-point research noise, not a release.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> model = model.fit(X, 2.0 + X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1), model.neighboring_
    (True, 'add_remove')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        bounds: tuple[float, float] | None = None,
        alpha: float | None = None,
        neighboring: Neighboring = "add_remove",
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.alpha = alpha
        self.neighboring = neighboring
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the noisy moments of the clipped records and solve.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.

        Returns
        -------
        SufficientStatisticsRegressor
        """
        unit, labels = self._unit_records(X, y)
        norm, _, _ = self._limits()
        squared = norm**2 * (2.0 if self.fit_intercept else 1.0)
        moments = sufficient_statistics(
            unit,
            labels,
            epsilon=self.epsilon,
            delta=self.delta,
            data_norm=1.0,
            label_bound=1.0,
            neighboring=self.neighboring,
            alpha=None if self.alpha is None else check_positive("alpha", self.alpha) / squared,
            rng=spawn_generators(self.random_state, 1)[0],
        )
        if self.alpha is None:  # from the noise alone, and the solution from the release
            alpha = _SHARE * moments.alpha
            moments = replace(moments, alpha=alpha, coef=moments.solve(alpha=alpha))
            weight = float(moments.gram[-1, -1])  # half the number of records, with noise
            if self.fit_intercept and weight < _LEAST_WEIGHT * alpha:
                _warn_of_noise(f"about {max(2 * weight, 0):.0f} records (released with noise)")
        return self._publish(moments)


class NoisyGradientRegressor(_ClippedLinearRegressor):
    """Private linear regression by noisy full-batch gradient descent on the squared loss.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        In (0, inf) and (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    steps : int or None, default=None
        Number of gradient steps; the noise of each grows like its square root. None follows the
        number of records (where it is public, else ``public_size``), their dimension and the
        budget, see the notes; at most 1000.
    clip : float or None, default=None
        Norm to which gradients are clipped, in unit bounds: 1 clips none at the zero model. The
        noise is proportional to it, and a small one makes the fit robust: between mean and median.
        None is 0.1, and up to 0.5 where the same numbers as for ``steps`` allow it.
    learning_rate : float, default=1.0
        Step length on the mean gradient in unit bounds, where the loss has curvature at most 1:
        below 2 the noiseless descent converges.
    radius : float or None, default=None
        Radius of the ball, in unit bounds, on which iterates are projected.
    average : bool, default=True
        Whether to return the mean of the last half of the iterates.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    public_size : int or None, default=None
        Number by which gradient sums are divided; must be given under ``add_remove``.
    fit_intercept : bool, default=True
        Whether to fit a constant; False fixes it to the middle of the label bounds.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on each sum of gradients, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Default steps: in T steps of length r the noise adds up to predictions of mean square at most
    ``r T d (s/n)^2 / 2`` over d coordinates, with s the noise of one release of a clipped gradient
    sum, and what a model of norm 2 has left to learn is at most ``2/(e r T)``, in unit bounds. The
    two are equal at ``r T = 2 n/(s sqrt(e d))``; no record is read. Where that is below 16 or below
    4/clip (for clipped steps to cross the range of the labels twice), ``fit`` warns. As s is
    proportional to ``clip``, the default of that is the one with ``r T = 800``, but at least 0.1,
    the best at small budgets on simulated laws, and at most 0.5. The noise is
    floating-point research noise, not a release.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = NoisyGradientRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> model = model.fit(X, 2.0 + X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1), model.neighboring_
    (True, 'replace_one')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        bounds: tuple[float, float] | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float = 1.0,
        radius: float | None = None,
        average: bool = True,
        neighboring: Neighboring = "replace_one",
        public_size: int | None = None,
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.radius = radius
        self.average = average
        self.neighboring = neighboring
        self.public_size = public_size
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Descend on the clipped records.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.

        Returns
        -------
        NoisyGradientRegressor
        """
        unit, labels = self._unit_records(X, y)
        clip, steps = self._schedule(*unit.shape)
        fitted = noisy_gradient_descent(
            unit,
            labels,
            epsilon=self.epsilon,
            delta=self.delta,
            clip=clip,
            steps=steps,
            learning_rate=self.learning_rate,
            neighboring=self.neighboring,
            public_size=self.public_size,
            radius=self.radius,
            average=self.average,
            rng=spawn_generators(self.random_state, 1)[0],
        )
        return self._publish(fitted)

    def _schedule(self, n_records: int, d: int) -> tuple[float, int]:
        """Return clipping norm and steps, from public numbers; warn where these are too few."""
        check_neighboring(self.neighboring)
        n = _public_number(n_records, self.neighboring, self.public_size)
        moved = 1.0 if self.neighboring == "add_remove" else 2.0
        noise = gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=moved)
        reach = 2.0 * n / (noise * math.sqrt(math.e * d))  # clipping norm times time
        if self.clip is None:
            clip = min(max(reach / _AMPLE, _CLIPS[0]), _CLIPS[1])
        else:
            clip = check_positive("clip", self.clip)
        if self.steps is not None:
            return clip, self.steps
        time, rate = reach / clip, check_positive("learning_rate", self.learning_rate)
        if time < max(_SHORTEST, 4.0 / clip):
            _warn_of_noise(f"{n} records with {d} coefficients")
        return clip, min(max(math.ceil(time / rate), 1), _MOST_STEPS)


def _warn_of_noise(what: str) -> None:
    warn_caller(f"{what} are too few for this budget: expect predictions no better than a constant")
