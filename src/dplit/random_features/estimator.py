"""Private ridge regression on random Fourier features: the chapter's repair as an estimator."""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
)
from dplit._estimators import RandomState, spawn_generators
from dplit._prediction import feature_scores
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_noise, gaussian_sigma
from dplit.random_features.interpolation import ridge_fit
from dplit.random_features.ridge import crude_sensitivity, record_sensitivity

__all__ = ["PrivateRandomFeatureRegressor"]


class PrivateRandomFeatureRegressor(
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Private ridge regression on cos/sin features, with a sensitivity for all data sets.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in (0, inf).
    delta : float, default=1e-5
        In (0, 1).
    alpha : float, default=10.0
        Ridge penalty (scikit-learn's), positive. The noise falls below the signal from about
        ``n_samples ** (1/3)`` on. Choosing it by looking at the data is not covered.
    n_components : int, default=100
        Number of frequencies; each gives a cosine and a sine, so there are twice as many
        coefficients. The noise of a prediction does not depend on it.
    gamma : float, default=0.1
        Kernel ``exp(-gamma ||x - x'||^2)``, positive. ``X`` is used as it is: scale it with public
        constants.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given.
    neighboring : {"replace_one"}, default="replace_one"
        Neighbouring relation: the number of records is public. Under "add_remove" the sensitivity
        over all sizes is infinite, so it is refused.
    sensitivity : {"record", "crude"}, default="record"
        Which bound calibrates the noise: :func:`~dplit.random_features.ridge.record_sensitivity`
        or the diameter of the set of all fits.
    random_state : int, Generator, RandomState or None, default=None
        Source of the frequencies and of the noise, which get streams of their own. None takes
        entropy from the operating system; anything else is for reproduction and voids the privacy
        guarantee. ``clone`` copies a generator together with its state, so that two clones share
        their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (2 * n_components,)
        Private coefficients.
    intercept_ : float
        Middle of the label bounds: public, not fitted.
    frequencies_ : ndarray of shape (n_features, n_components)
        Public randomness, drawn without looking at the data.
    sensitivity_, sigma_ : float
        Bound on the change of the coefficients, and standard deviation of the noise on each.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Rows ``(cos <w_k, x>, sin <w_k, x>) / sqrt(n_components)`` have norm exactly 1 for every input,
    so nothing has to be clipped but the labels, and no hypothesis on the inputs is needed. The
    noise is calibrated exactly (analytic Gaussian mechanism). It is floating-point research noise,
    not a release. A prediction carries noise of variance ``sigma_ ** 2``, the same for every input
    and every group.

    References
    ----------
    The repair is ours; compare Liao, Needell, Schaeffer and Xue, Differentially private random
    feature model, manuscript of September 9, 2025, Algorithm 1.

    Examples
    --------
    >>> from dplit.random_features.estimator import PrivateRandomFeatureRegressor
    >>> X = np.linspace(-2.0, 2.0, 2000).reshape(-1, 1)
    >>> model = PrivateRandomFeatureRegressor(
    ...     bounds=(-1.0, 1.0), alpha=100.0, gamma=0.5, random_state=0
    ... ).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.8), model.neighboring_
    (True, 'replace_one')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        alpha: float = 10.0,
        n_components: int = 100,
        gamma: float = 0.1,
        bounds: tuple[float, float] | None = None,
        neighboring: Literal["replace_one"] = "replace_one",
        sensitivity: Literal["record", "crude"] = "record",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.n_components = n_components
        self.gamma = gamma
        self.bounds = bounds
        self.neighboring = neighboring
        self.sensitivity = sensitivity
        self.random_state = random_state

    def _limits(self) -> tuple[float, float]:
        """Return middle and half width of the label bounds."""
        if self.bounds is None:
            raise ValueError(
                "bounds must be given as (lowest label, highest label): bounds read from the data "
                "are not private, got bounds=None"
            )
        ends = check_finite_array("bounds", self.bounds, ndim=1)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise ValueError(f"bounds must be two increasing numbers, got bounds={self.bounds!r}")
        low, high = float(ends[0]), float(ends[1])
        return low / 2 + high / 2, high / 2 - low / 2

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_positive("alpha", self.alpha)
        check_positive("gamma", self.gamma)
        check_choice("sensitivity", self.sensitivity, ("record", "crude"))
        check_integer("n_components", self.n_components, minimum=1)
        if self.neighboring != "replace_one":
            raise ValueError(
                "neighboring must be 'replace_one' (over all numbers of records the sensitivity "
                f"to an added one is infinite), got neighboring={self.neighboring!r}"
            )

    def _sensitivity(self, n_records: int, half: float) -> float:
        if self.sensitivity == "crude":
            return crude_sensitivity(alpha=self.alpha, label_norm=half * math.sqrt(n_records))
        return record_sensitivity(
            alpha=self.alpha,
            label_bound=half,
            n_records=n_records,
            neighboring=self.neighboring,
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw frequencies, fit the ridge coefficients and release them with noise.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, used as they are.
        y : array_like of shape (n_samples,)
            Finite labels, clipped to ``bounds``.

        Returns
        -------
        PrivateRandomFeatureRegressor
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``bounds`` is missing, a parameter is out of its range, or the data are not finite
            arrays of matching length.
        """
        self._check_parameters()
        middle, half = self._limits()
        records, labels = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        public, noise = spawn_generators(self.random_state, 2)
        self.frequencies_ = random_frequencies(
            records.shape[1], self.n_components, gamma=self.gamma, rng=public
        )
        features = cos_sin_features(records, self.frequencies_)
        centred = np.clip(labels - middle, -half, half)
        self.sensitivity_ = self._sensitivity(len(records), half)
        self.sigma_ = float(
            gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity_)
        )
        exact = ridge_fit(features, centred, alpha=self.alpha)
        self.coef_ = exact + gaussian_noise(len(exact), sigma=self.sigma_, rng=noise)
        self.intercept_ = middle
        self.epsilon_, self.delta_ = float(self.epsilon), float(self.delta)
        self.neighboring_ = self.neighboring
        self.privacy_statement_ = (
            f"({self.epsilon_:g}, {self.delta_:g})-differential privacy for replacing one of "
            f"{len(records)} records (their number is public; labels clipped to "
            f"[{middle - half:g}, {middle + half:g}], inputs arbitrary). "
            "The noise is floating-point research noise; a fixed random_state voids the guarantee."
        )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept_`` plus the features times ``coef_``; not clipped to the bounds.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
        """
        scores = feature_scores(
            self, X, lambda records: cos_sin_features(records, self.frequencies_)
        )
        return scores + self.intercept_
