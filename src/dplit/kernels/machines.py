"""Private kernel machines on public random features: the chapter's repairs as estimators.

The function is fitted **in** the features through which the noise is drawn, so nothing leaks, and
what is published is a vector of coefficients and the frequencies: no record, no support vector.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import LARGEST_INPUT, stated_ends, stated_norm
from dplit._checks import (
    Array,
    check_choice,
    check_epsilon,
    check_integer,
    check_interval,
    check_probability,
    check_scale,
    quiet,
    warn_of_noise,
)
from dplit._numerics.clipping import clamp
from dplit._numerics.rows import cos_sin_rows
from dplit._predictors import SignClassifier, feature_scores, signs_of
from dplit._records import classified_records, labelled_records
from dplit._statements import only_replacement, state_guarantee
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._defaults import (
    KernelPlan,
    _expected_noise,
    default_regularization,
    default_width,
)
from dplit.kernels._feature_release import Release, _add_noise, _ball_points, _certified_weights

#: Noise of a prediction, for labels in [-1, 1], above which the defaults warn: labels deviate from
#: their mean by some tenths, and a decision function by up to 1.
_DROWNED = {"squared": 0.1, "pinball": 0.1, "hinge": 1.0, "logistic": 1.0}


class _KernelMachine(BaseEstimator):  # type: ignore[misc]
    """Parameters, features, certified fit, release and statement; no fit of its own."""

    loss: Any
    regularization: float | None
    width: float | None
    n_components: int
    epsilon: float
    delta: float
    release: Release
    n_queries: int
    data_norm: float | None
    accuracy: float | None
    neighboring: str
    random_state: RandomState

    def _check_parameters(self, losses: tuple[str, ...]) -> None:
        """Check what does not depend on the data."""
        check_choice("loss", self.loss, losses)
        if self.regularization is not None:
            check_scale("regularization", self.regularization)
        if self.width is not None:  # angles of records up to 1e150 stay finite
            check_interval("width", self.width, 1e-100, 1e100)
        check_integer("n_components", self.n_components)
        check_epsilon(self.epsilon)
        check_choice("release", self.release, ("gaussian_process", "gamma", "queries"))
        if self.release == "gaussian_process":
            check_probability("delta", self.delta)
        if self.release == "queries":
            check_integer("n_queries", self.n_queries)
            if self.data_norm is None:
                raise ValueError(
                    "data_norm must be given with release='queries': where the questions are asked "
                    "must not depend on the data, got data_norm=None"
                )
            stated_norm(self.data_norm)
        if self.accuracy is not None:
            check_probability("accuracy", self.accuracy)
        only_replacement(self.neighboring, "the number of records enters the bound and is public")

    def _release_function(
        self, records: Array, targets: Array, known: NDArray[np.bool_], tau: float, extra: str
    ) -> Self:
        """Fit and release on targets in [-1, 1]; set the private attributes.

        Of records that are not ``known`` to have one the features are zeros: their loss is a
        constant, and they are still counted. Theorem 2 is about features of norm at most 1.
        """
        public, noise = spawn_generators(self.random_state, 2)
        count, columns = records.shape
        width = default_width(columns) if self.width is None else self.width
        penalty = self._penalty(count, tau)
        gamma = 0.5 / width**2
        frequencies = random_frequencies(columns, self.n_components, gamma=gamma, rng=public)
        kept = known.astype(np.float64)
        weights, sensitivity = _certified_weights(
            cos_sin_rows(clamp(records), frequencies) * kept[:, None],
            targets,
            loss=self.loss,
            regularization=penalty,
            tau=tau,
            accuracy=self.accuracy,
        )
        released = _add_noise(
            weights,
            sensitivity,
            self._asked(frequencies, public),
            release=self.release,
            epsilon=self.epsilon,
            delta=self.delta,
            rng=noise_source(self.random_state, noise),
        )
        self.coef_, self.frequencies_, self.regularization_ = released.coef, frequencies, penalty
        self.sensitivity_, self.noise_scale_ = released.sensitivity, released.noise_scale
        change = (
            f"replacing one of {count} records (their number is public; {extra}, inputs "
            "arbitrary); it covers the whole function"
        )
        state_guarantee(self, released.epsilon, released.delta, self.neighboring, change)
        return self

    def _asked(self, frequencies: Array, rng: np.random.Generator) -> Array | None:
        """Return the features of the public points, for queries."""
        if self.release != "queries":
            return None
        radius = stated_norm(self.data_norm)
        points = _ball_points(self.n_queries, len(frequencies), radius=radius, rng=rng)
        return cos_sin_features(points, frequencies)

    def _penalty(self, n_records: int, tau: float) -> float:
        """Return the penalty; the default warns where public numbers say that noise will win."""
        if self.regularization is not None:
            return float(self.regularization)
        plan = KernelPlan(
            loss=self.loss,
            tau=tau,
            n_records=n_records,
            dimension=2 * self.n_components,
            epsilon=self.epsilon,
            delta=self.delta,
            release=self.release,
            n_queries=self.n_queries,
        )
        penalty = default_regularization(plan)
        noise = _expected_noise(penalty, plan)
        if noise > _DROWNED[self.loss]:
            warn_of_noise(
                f"the noise of a prediction has a standard deviation of {noise:.2g}, for labels in "
                f"[-1, 1], with {n_records} records and epsilon={self.epsilon:g}: a constant may "
                "predict as well (only public numbers say so)"
            )
        return penalty

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the released function at the rows of X."""
        return feature_scores(
            self, X, lambda records: cos_sin_features(clamp(records), self.frequencies_)
        )


class PrivateKernelMachine(
    RegressorMixin,  # type: ignore[misc]
    _KernelMachine,
):
    """Private kernel regression or quantile regression: the function itself is released.

    Parameters
    ----------
    loss : {"squared", "pinball"}, default="squared"
        Least squares, or the quantile of level ``tau``.
    tau : float, default=0.5
        Level of the pinball loss, in (0, 1); least squares ignores it.
    regularization : float or None, default=None
        The paper's lambda: factor of the squared norm beside the mean loss of labels scaled to
        [-1, 1]; positive. None balances noise against bias from public numbers: the number of
        records, the budget, the release. For m records the noise of a prediction falls like
        ``1 / (lambda m epsilon)`` for the pinball loss, but like ``1 / (lambda^(3/2) m epsilon)``
        for least squares, where a lambda of the order ``m^(-2/3)`` leaves noise of order 1 at every
        m. Choosing it by looking at the data is not covered.
    width : float or None, default=None
        Kernel ``exp(-||x - x'||^2 / (2 width^2))``, in (1e-100, 1e100). ``X`` is used as it is:
        scale it with public constants. None is 0.35 times the root of the number of columns,
        which suits columns scaled to [-1, 1].
    n_components : int, default=100
        Number of random frequencies; each gives a cosine and a sine.
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=1e-5
        In (0, 1); used by the Gaussian process alone. The other releases have delta 0.
    bounds : tuple of float
        Lowest and highest label, up to 1e150 in size and at least 1e-150 apart; labels outside
        are clipped, and how many is not published. Must be given.
    release : {"gaussian_process", "gamma", "queries"}, default="gaussian_process"
        Gaussian noise on the coefficients, which is the Gaussian process with the features' kernel;
        noise with a gamma-distributed norm; or Laplace noise on the values at ``n_queries`` public
        points, from which the coefficients are computed afterwards.
    n_queries : int, default=20
        Number of public points, uniform in the ball of radius ``data_norm``; for "queries".
    data_norm : float or None, default=None
        Radius of that ball; must be given with "queries". Rows of X are never clipped.
    accuracy : float or None, default=None
        Distance of the solver to the minimiser, as a fraction of the sensitivity, in (0, 1), which
        holds for every data set. Twice this fraction is added to the sensitivity: neither neighbour
        is exact. What float64 cannot certify for so many records is refused. None is 0.01, or twice
        what float64 can certify, if that is more.
    neighboring : {"replace_one"}, default="replace_one"
        Neighbouring relation: the number of records is public.
    random_state : int, Generator, RandomState or None, default=None
        Source of the frequencies and of the noise, which get streams of their own. None takes
        entropy from the operating system; anything else is for reproduction and voids the privacy
        guarantee. ``clone`` copies a generator together with its state, so that two clones share
        their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (2 * n_components,)
        Private coefficients, in the units of the labels.
    intercept_ : float
        Middle of the label bounds: public, not fitted. An unpenalised intercept would have no
        stability bound.
    bounds_ : tuple of float
        The bounds, to which predictions are clipped.
    frequencies_ : ndarray of shape (n_features, n_components)
        Public randomness, drawn without looking at the data.
    regularization_ : float
        The penalty that was used: public.
    sensitivity_ : float
        Bound on the change of the coefficients for labels in [-1, 1], solver included.
    noise_scale_ : float
        For labels in [-1, 1]: standard deviation of the noise on a coefficient; mean length of the
        noise per dimension; or Laplace scale of an answer.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if ``regularization`` is None and public numbers say that noise will drown the
        fit.

    Notes
    -----
    Rows have norm 1 (0 where a label is missing), so the sensitivity is ``C_L / (lambda m)`` by
    Theorem 2 for the pinball loss, and
    :func:`~dplit.kernels.lipschitz.least_squares_stability` for least squares. The noise is exact
    (:mod:`dplit.mechanisms`). For the exact kernel see
    :class:`~dplit.kernels.gaussian_process.GaussianProcessOracle`, which stays with the curator.

    References
    ----------
    The Gaussian process is the mechanism of Hall, Rinaldo and Wasserman (JMLR 14, 2013), the gamma
    norm that of Chaudhuri, Monteleoni and Sarwate (JMLR 12, 2011); fits in random features were
    released by Rubinstein, Bartlett, Huang and Taft (2012). Compare Nie and Wang (2017),
    equation (2).

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 5000).reshape(-1, 1)
    >>> model = PrivateKernelMachine(bounds=(-1.0, 1.0), regularization=0.05, random_state=0)
    >>> model = model.fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.8), model.neighboring_
    (True, 'replace_one')
    """

    def __init__(
        self,
        *,
        loss: Literal["squared", "pinball"] = "squared",
        tau: float = 0.5,
        regularization: float | None = None,
        width: float | None = None,
        n_components: int = 100,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: tuple[float, float] | None = None,
        release: Release = "gaussian_process",
        n_queries: int = 20,
        data_norm: float | None = None,
        accuracy: float | None = None,
        neighboring: Literal["replace_one"] = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.tau = tau
        self.regularization = regularization
        self.width = width
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.release = release
        self.n_queries = n_queries
        self.data_norm = data_norm
        self.accuracy = accuracy
        self.neighboring = neighboring
        self.random_state = random_state

    def _limits(self) -> tuple[float, float]:
        """Return the label bounds, between which nothing overflows or vanishes."""
        low, high = stated_ends(self.bounds)
        if high - low < 1.0 / LARGEST_INPUT:
            raise ValueError(
                f"bounds must be at least {1.0 / LARGEST_INPUT:g} apart, got bounds={self.bounds!r}"
            )
        return low, high

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw frequencies, fit the function and release it.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, used as they are.
        y : array_like of shape (n_samples,)
            Labels, clipped to ``bounds``; a record without a finite one contributes nothing.

        Returns
        -------
        PrivateKernelMachine
        """
        self._check_parameters(("squared", "pinball"))
        tau = check_probability("tau", self.tau)
        low, high = self._limits()
        middle, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        records, labels = labelled_records(self, X, y)
        known = ~np.isnan(labels)
        inside = np.clip(np.where(known, labels, middle), low, high)
        targets = np.clip((inside - middle) / half, -1.0, 1.0)
        extra = f"labels clipped to [{low:g}, {high:g}]"
        self._release_function(records, targets, known, tau, extra)
        self.coef_ = half * self.coef_
        self.intercept_ = middle
        self.bounds_ = (low, high)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Evaluate the released function between the bounds of the labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept_`` plus the features times ``coef_``, clipped to ``bounds``.
        """
        return np.asarray(np.clip(self._scores(X) + self.intercept_, *self.bounds_))


class PrivateKernelClassifier(SignClassifier, _KernelMachine):
    """Private kernel classifier of two classes: the decision function itself is released.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        Both have slopes of at most 1.
    regularization : float or None, default=None
        The paper's lambda: factor of the squared norm beside the mean loss, positive; the noise
        falls like ``1 / (lambda m epsilon)``. None and everything else as for
        :class:`PrivateKernelMachine`.
    width, n_components, epsilon, delta, release, n_queries, data_norm, accuracy
        As for :class:`PrivateKernelMachine`.
    classes : tuple or None, default=None
        The two labels, the first for negative values of the function. Where they are given nothing
        is learnt from ``y``: it may hold one class only, and a record with another label, or
        without one, contributes nothing. None takes them from the data, and then they are **assumed
        public**.
    neighboring : {"replace_one"}, default="replace_one"
        Neighbouring relation: the number of records is public.
    random_state : int, Generator, RandomState or None, default=None
        As for :class:`PrivateKernelMachine`: anything but None voids the privacy guarantee, and
        clones of a generator share their noise.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    coef_, frequencies_, regularization_, sensitivity_, noise_scale_
        As for :class:`PrivateKernelMachine`.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if ``regularization`` is None and public numbers say that noise will drown the
        fit.

    Notes
    -----
    The sensitivity is ``1 / (lambda m)`` by Theorem 2, which the hinge attains. ``fit`` refuses no
    records, as for :class:`PrivateKernelMachine`. The noise is exact
    (:mod:`dplit.mechanisms`).

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 2000).reshape(-1, 1)
    >>> model = PrivateKernelClassifier(classes=("low", "high"), random_state=0)
    >>> model = model.fit(X, np.where(X[:, 0] > 0, "high", "low"))
    >>> model.predict([[-1.0], [1.0]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        loss: Literal["hinge", "logistic"] = "hinge",
        regularization: float | None = None,
        width: float | None = None,
        n_components: int = 100,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: tuple[Any, Any] | None = None,
        release: Release = "gaussian_process",
        n_queries: int = 20,
        data_norm: float | None = None,
        accuracy: float | None = None,
        neighboring: Literal["replace_one"] = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.regularization = regularization
        self.width = width
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.release = release
        self.n_queries = n_queries
        self.data_norm = data_norm
        self.accuracy = accuracy
        self.neighboring = neighboring
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw frequencies, fit the decision function and release it.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, used as they are.
        y : array_like of shape (n_samples,)
            Labels of two classes; with ``classes`` any labels.

        Returns
        -------
        PrivateKernelClassifier
        """
        self._check_parameters(("hinge", "logistic"))
        extra = "labels given" if self.classes is not None else "the two labels taken as public"
        records, self.classes_, places = classified_records(self, X, y, self.classes)
        return self._release_function(records, signs_of(places), places >= 0, 0.5, extra)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Evaluate the released function.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for the second class.
        """
        return self._scores(X)
