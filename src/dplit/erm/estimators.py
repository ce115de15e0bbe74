r"""Private kernel machines on public random features: the chapter's repairs as estimators.

The function is fitted **in** the features through which the noise is drawn, so nothing leaks, and
what is published is a vector of coefficients and the frequencies: no record, no support vector.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from dplit._checks import check_finite_array, check_probability
from dplit._estimators import LARGEST_INPUT, RandomState, binary_signs, validated
from dplit._prediction import SignClassifier
from dplit.erm._feature_release import Release
from dplit.erm._kernel_machine import KernelMachine

__all__ = ["PrivateKernelClassifier", "PrivateKernelMachine"]


class PrivateKernelMachine(
    RegressorMixin,  # type: ignore[misc]
    KernelMachine,
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
        records, the budget, the release. Choosing it by looking at the data is not covered.
    width : float or None, default=None
        Kernel ``exp(-||x - x'||^2 / (2 width^2))``, in (1e-100, 1e100). ``X`` is used as it is:
        scale it with public constants. None is 0.35 times the root of the number of columns,
        which suits columns scaled to [-1, 1].
    n_components : int, default=100
        Number of random frequencies; each gives a cosine and a sine.
    epsilon : float, default=1.0
        Privacy budget, in (0, inf).
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
    accuracy : float, default=0.01
        Distance of the solver to the minimiser, as a fraction of the sensitivity, in (0, 1), which
        holds for every data set. Twice this fraction is added to the sensitivity: neither neighbour
        is exact. What float64 cannot certify for so many records is refused.
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
        Number of columns of X.

    Warns
    -----
    UserWarning
        By ``fit``, if ``regularization`` is None and public numbers say that noise will drown the
        fit.

    Notes
    -----
    Rows have norm 1, so the sensitivity is ``C_L / (lambda m)`` by Theorem 2 for the pinball loss,
    and :func:`~dplit.erm.least_squares.least_squares_stability` for least squares. The noise is
    floating-point research noise, not a release. For the exact kernel see
    :class:`~dplit.erm.gaussian_process.GaussianProcessOracle`, which stays with the curator.

    References
    ----------
    The repairs are ours, after Hall, Rinaldo and Wasserman (JMLR 14, 2013) and Chaudhuri,
    Monteleoni and Sarwate (JMLR 12, 2011); compare Nie and Wang (2017), equation (2).

    Examples
    --------
    >>> from dplit.erm.estimators import PrivateKernelMachine
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
        accuracy: float = 0.01,
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
        if self.bounds is None:
            raise ValueError(
                "bounds must be given as (lowest label, highest label): bounds read from the data "
                "are not private, got bounds=None"
            )
        ends = check_finite_array("bounds", self.bounds, ndim=1)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise ValueError(f"bounds must be two increasing numbers, got bounds={self.bounds!r}")
        low, high = float(ends[0]), float(ends[1])
        if max(-low, high) > LARGEST_INPUT or high - low < 1.0 / LARGEST_INPUT:
            raise ValueError(
                f"bounds must be at most {LARGEST_INPUT:g} in size and at least "
                f"{1.0 / LARGEST_INPUT:g} apart, got bounds={self.bounds!r}"
            )
        return low, high

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw frequencies, fit the function and release it.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, used as they are.
        y : array_like of shape (n_samples,)
            Finite labels, clipped to ``bounds``.

        Returns
        -------
        PrivateKernelMachine

        Raises
        ------
        TypeError, ValueError
            If ``bounds`` is missing, a parameter is out of its range, or the data are not finite
            arrays of matching length.
        """
        self._check_parameters(("squared", "pinball"))
        tau = check_probability("tau", self.tau)
        low, high = self._limits()
        middle, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        records, labels = validated(self, X, y, dtype=np.float64, y_numeric=True)
        targets = np.clip((np.clip(labels, low, high) - middle) / half, -1.0, 1.0)
        extra = f"labels clipped to [{low:g}, {high:g}]"
        self._release_function(records, targets, tau, extra)
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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If ``fit`` was not called.
        ValueError
            If ``X`` is not a finite matrix with the fitted number of columns.
        """
        return np.asarray(np.clip(self._scores(X) + self.intercept_, *self.bounds_))


class PrivateKernelClassifier(
    SignClassifier,
    KernelMachine,
):
    """Private kernel classifier of two classes: the decision function itself is released.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        Both have slopes of at most 1.
    regularization : float or None, default=None
        The paper's lambda: factor of the squared norm beside the mean loss, positive. None and
        everything else as for :class:`PrivateKernelMachine`.
    width, n_components, epsilon, delta, release, n_queries, data_norm, accuracy
        As for :class:`PrivateKernelMachine`.
    classes : tuple or None, default=None
        The two labels, the first for negative values of the function. Where they are given nothing
        is learnt from ``y``: it may hold one class only, and every other label counts as the first.
        None takes them from the data, and then they are **assumed public**.
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
        Number of columns of X.

    Warns
    -----
    UserWarning
        By ``fit``, if ``regularization`` is None and public numbers say that noise will drown the
        fit.

    Notes
    -----
    The sensitivity is ``1 / (lambda m)`` by Theorem 2, which the hinge attains. ``fit`` refuses no
    records, as for :class:`PrivateKernelMachine`. The noise is floating-point research noise, not a
    release.

    Examples
    --------
    >>> from dplit.erm.estimators import PrivateKernelClassifier
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
        accuracy: float = 0.01,
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

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, the data are not finite arrays of matching length,
            or ``classes`` is None and the labels are not of two classes.
        """
        self._check_parameters(("hinge", "logistic"))
        records, labels = validated(self, X, y, dtype=np.float64)
        extra = "labels given" if self.classes is not None else "the two labels taken as public"
        self.classes_, signs = binary_signs(labels, self.classes)
        return self._release_function(records, signs, 0.5, extra)

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

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            As for ``predict``.
        """
        return self._scores(X)
