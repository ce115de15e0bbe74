"""Fair private baselines: linear models on given features, and k-means.

Strong simple methods, with exact calibration and tight sensitivities, so that a comparison with
them means something: noisy sufficient statistics (one release, then any ridge parameter for free)
and full-batch noisy gradient descent, for regression, each as a function on arrays and as a
scikit-learn estimator that clips records and labels to bounds the caller must state; objective
perturbation, for classification, as a function; Lloyd's algorithm with noisy sums and counts, for
clustering, as a function and as an estimator.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._centers import nearest_center
from dplit._checks import (
    Neighboring,
    check_finite_array,
    check_neighboring,
    check_positive,
)
from dplit._dp_lloyd import (
    LloydNoise,
    PrivateCenters,
    lloyd_noise,
    private_lloyd,
    spread_centers,
)
from dplit._estimators import RandomState, clip_rows, dp_statement, spawn_generators, validated
from dplit._noisy_gradient import (
    PrivateCoefficients,
    noisy_gradient_descent,
    public_number,
    squared_loss_derivative,
)
from dplit._objective_perturbation import (
    PerturbedObjective,
    objective_noise,
    objective_perturbation,
    smallest_regularization,
)
from dplit._prediction import LinearRegressor
from dplit._private_lloyd import PrivateLloyd
from dplit._sufficient_statistics import (
    PrivateMoments,
    moment_sensitivity,
    sufficient_statistics,
)
from dplit.mechanisms import gaussian_sigma

__all__ = [
    "LloydNoise",
    "NoisyGradientRegressor",
    "PerturbedObjective",
    "PrivateCenters",
    "PrivateCoefficients",
    "PrivateLloyd",
    "PrivateMoments",
    "SufficientStatisticsRegressor",
    "lloyd_noise",
    "moment_sensitivity",
    "nearest_center",
    "noisy_gradient_descent",
    "objective_noise",
    "objective_perturbation",
    "private_lloyd",
    "smallest_regularization",
    "spread_centers",
    "squared_loss_derivative",
    "sufficient_statistics",
]


#: Largest default number of steps of NoisyGradientRegressor, and the shortest time that learns.
_MOST_STEPS = 1000
_SHORTEST = 16.0
#: Least ratio of the released weight of the constant to the default penalty.
_LEAST_WEIGHT = 4.0


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
        if self.data_norm is None:
            raise ValueError(
                "data_norm must be given: a bound read from the data is not private, "
                "got data_norm=None"
            )
        if self.bounds is None:
            raise ValueError(
                "bounds must be given as (lowest label, highest label): bounds read from the data "
                "are not private, got bounds=None"
            )
        ends = check_finite_array("bounds", self.bounds, ndim=1)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise ValueError(f"bounds must be two increasing numbers, got bounds={self.bounds!r}")
        low, high = float(ends[0]), float(ends[1])
        return check_positive("data_norm", self.data_norm), low / 2 + high / 2, high / 2 - low / 2

    def _unit_records(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows in the unit ball and labels in [-1, 1]; clipped before anything else."""
        norm, middle, half = self._limits()
        records, labels = validated(self, X, y, dtype=np.float64, y_numeric=True)
        unit = clip_rows(records, norm) / norm
        if self.fit_intercept:
            unit = np.hstack([unit, np.ones((len(unit), 1))]) / np.sqrt(2.0)
        inside = np.clip(labels, middle - half, middle + half)
        return unit, np.clip((inside - middle) / half, -1.0, 1.0)

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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
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
        self.epsilon_ = float(fitted.epsilon)
        self.delta_ = float(fitted.delta)
        self.neighboring_ = fitted.neighboring
        self.sigma_ = fitted.sigma
        added = self.neighboring_ == "add_remove"
        change = (
            f"{'adding or removing one record' if added else 'replacing one record'} (rows clipped "
            f"to norm {norm:g}, labels to [{middle - half:g}, {middle + half:g}]"
            f"{'' if added else '; their number is public'})"
        )
        self.privacy_statement_ = dp_statement(
            self.epsilon_, self.delta_, change, random_state=self.random_state
        )
        return self


class SufficientStatisticsRegressor(_ClippedLinearRegressor):
    """Private linear regression from one noisy release of second moments.

    Parameters
    ----------
    epsilon : float, default=1.0
        In (0, inf).
    delta : float, default=1e-5
        In (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    alpha : float or None, default=None
        Ridge parameter on the scale of scikit-learn's ``Ridge``; None chooses it from the noise
        alone (see :func:`sufficient_statistics`). The intercept is penalised too, as
        ``alpha (intercept / data_norm)^2``, measured from the middle of the bounds.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation of the guarantee.
    fit_intercept : bool, default=True
        Whether to fit a constant; False fixes it to the middle of the label bounds.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Private coefficients.
    intercept_ : float
        Private constant.
    sigma_ : float
        Standard deviation of the noise on the moments in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    With the default ``alpha`` and an intercept, ``fit`` warns where the released weight of the
    constant is below 4 alpha: the noise then pulls all predictions towards the middle of the
    bounds. The warning reads the release alone. The noise is floating-point research noise, not a
    release.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.baselines import SufficientStatisticsRegressor
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release the noisy moments of the clipped records and solve.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Finite labels.

        Returns
        -------
        SufficientStatisticsRegressor
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``data_norm`` or ``bounds`` is missing, a parameter is out of its range, or the
            data are not finite arrays of matching length.
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
        if self.alpha is None and self.fit_intercept:
            weight = float(moments.gram[-1, -1])  # half the number of records, with noise
            if weight < _LEAST_WEIGHT * moments.alpha:
                _warn_of_noise(f"about {max(2 * weight, 0):.0f} records (released with noise)")
        return self._publish(moments)


class NoisyGradientRegressor(_ClippedLinearRegressor):
    """Private linear regression by noisy full-batch gradient descent on the squared loss.

    Parameters
    ----------
    epsilon : float, default=1.0
        In (0, inf).
    delta : float, default=1e-5
        In (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    steps : int or None, default=None
        Number of gradient steps; the noise of each grows like its square root. None follows the
        number of records (where it is public, else ``public_size``), their dimension and the
        budget, see the notes; at most 1000.
    clip : float, default=0.1
        Norm to which gradients are clipped, in unit bounds: 1 clips none at the zero model. The
        noise is proportional to it, and a small one makes the fit robust: between mean and median.
    learning_rate : float, default=1.0
        Step length on the mean gradient in unit bounds, where the loss has curvature at most 1:
        below 2 the noiseless descent converges.
    radius : float or None, default=None
        Radius of the ball, in unit bounds, on which iterates are projected.
    average : bool, default=True
        Whether to return the mean of the last half of the iterates.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation of the guarantee.
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
        Private coefficients.
    intercept_ : float
        Private constant.
    sigma_ : float
        Standard deviation of the noise on each sum of gradients, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Default steps: in T steps of length r the noise adds up to predictions of mean square at most
    ``r T d (s/n)^2 / 2`` over d coordinates, with s the noise of one release of a clipped gradient
    sum, and what a model of norm 2 has left to learn is at most ``2/(e r T)``, in unit bounds. The
    two are equal at ``r T = 2 n/(s sqrt(e d))``; no record is read. Where that is below 16 or below
    4/clip (for clipped steps to cross the range of the labels twice), ``fit`` warns. The noise is
    floating-point research noise, not a release.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.baselines import NoisyGradientRegressor
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
        clip: float = 0.1,
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Descend on the clipped records.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Finite labels.

        Returns
        -------
        NoisyGradientRegressor
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``data_norm``, ``bounds`` or (under ``add_remove``) ``public_size`` is missing, a
            parameter is out of its range, or the data are not finite arrays of matching length.
        """
        unit, labels = self._unit_records(X, y)
        steps = self._steps(*unit.shape) if self.steps is None else self.steps
        fitted = noisy_gradient_descent(
            unit,
            labels,
            epsilon=self.epsilon,
            delta=self.delta,
            clip=self.clip,
            steps=steps,
            learning_rate=self.learning_rate,
            neighboring=self.neighboring,
            public_size=self.public_size,
            radius=self.radius,
            average=self.average,
            rng=spawn_generators(self.random_state, 1)[0],
        )
        return self._publish(fitted)

    def _steps(self, n_records: int, d: int) -> int:
        """Return the default number of steps, from public numbers; warn where it is too small."""
        check_neighboring(self.neighboring)
        rate = check_positive("learning_rate", self.learning_rate)
        n = public_number(n_records, self.neighboring, self.public_size)
        clip = check_positive("clip", self.clip)
        moved = clip if self.neighboring == "add_remove" else 2.0 * clip
        noise = gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=moved)
        time = 2.0 * n / (noise * math.sqrt(math.e * d))
        if time < max(_SHORTEST, 4.0 / clip):
            _warn_of_noise(f"{n} records with {d} coefficients")
        return min(max(math.ceil(time / rate), 1), _MOST_STEPS)


def _warn_of_noise(what: str) -> None:
    warnings.warn(
        f"{what} are too few for this budget: expect predictions no better than a constant",
        UserWarning,
        stacklevel=4,
    )
