"""Private ridge regression on random Fourier features: the chapter's repair as an estimator."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import LARGEST_INPUT, check_box, stated_ends
from dplit._checks import (
    check_choice,
    check_epsilon,
    check_flag,
    check_integer,
    check_positive,
    check_probability,
    check_scale,
    quiet,
    warn_caller,
    warn_of_noise,
)
from dplit._predictors import feature_scores
from dplit._records import labelled_records
from dplit._statements import only_replacement, state_guarantee
from dplit.features import random_frequencies
from dplit.kernels._certified_ridge import (
    LABEL_VARIANCE,
    balanced_penalty,
    certified_sensitivity,
    feature_ridge,
    feature_rows,
    mean_share,
    noisy_mean,
    public_waves,
)
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms.values import Gaussian

#: Fewest frequencies by default: more never add noise, and fewer were seen to learn less.
_FEWEST = 100


class PrivateRandomFeatureRegressor(
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Private ridge regression on cos/sin features, with a sensitivity for all data sets.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=1e-5
        In (0, 1).
    alpha : float or None, default=None
        Ridge penalty (scikit-learn's), positive. None balances the noise of a prediction against
        the bias of ridge for labels that use half of their bounds: it reads the number of records,
        ``epsilon``, ``delta`` and ``n_components``, no data. Choosing it by looking at the data is
        not covered. Penalties too small for the solve in double precision are refused, whatever
        the data.
    n_components : int or None, default=None
        Number of frequencies; each gives a cosine and a sine, so there are twice as many
        coefficients. The noise of a prediction does not depend on it. None is what
        :func:`~dplit.advice.kernels.waves` says of the numbers of records and columns,
        ``epsilon`` and ``delta``, and at least 100.
    gamma : float or None, default=None
        Kernel ``exp(-gamma ||z - z'||^2)``, positive, of records whose columns ``box`` scales. None
        is what :func:`~dplit.advice.kernels.waves` says of the same public numbers. Where
        something is thought of the target, ask it with ``shape=``: that is worth more than any
        other setting. Where most columns are indicators, state ``1 / n_features`` (see Notes).
    box : tuple or None, default=None
        Lowest and highest value of the columns, two numbers or two rows of ``n_features``, public:
        they are scaled to [-1, 1] by it. Records outside are not clipped. With None records are
        taken as they are; where ``gamma`` is None too they are thought to be in [-1, 1], and
        ``fit`` warns that it cannot know.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped, and so are predictions. Must be given.
    fit_intercept : bool, default=True
        Whether the mean of the labels is released first, with Gaussian noise and a share of the
        budget that follows from ``epsilon``, ``delta`` and the number of records: waves are then
        fitted to what labels are beyond it, clipped to half the width of ``bounds``. Otherwise
        predictions tend to the middle of ``bounds`` where waves learn nothing.
    neighboring : {"replace_one"}, default="replace_one"
        Neighbouring relation: the number of records is public. Under "add_remove" the sensitivity
        over all sizes is infinite, so it is refused.
    sensitivity : {"record", "crude"}, default="record"
        What calibrates the noise: :func:`~dplit.kernels.ridge_sensitivity.record_sensitivity` or
        the diameter of the set of all fits.
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
        The private mean, the middle of the bounds where it is within two deviations of its noise
        from there; without ``fit_intercept`` the middle, which is public.
    frequencies_ : ndarray of shape (n_features, n_components)
        Public randomness, drawn without looking at the data; in the units of ``X``.
    alpha_, gamma_, bounds_ : float, float, tuple of float
        The penalty, the kernel's parameter and the label bounds that were used.
    sensitivity_, sigma_ : float
        Bound on the change of the coefficients, and standard deviation of the noise on each. No
        error bar: what ridge does not learn is often several times as large.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Rows ``(cos <w_k, x>, sin <w_k, x>) / sqrt(n_components)`` have norm exactly 1 for every input,
    so nothing has to be clipped but the labels, and no hypothesis on the inputs is needed (entries
    beyond 1e150 count as 1e150). ``sensitivity_`` holds for the coefficients that the machine
    computes: the distance of any computed fit from the exact one has a bound in the numbers of
    records and of coefficients and ``alpha`` alone, which is added for both neighbours, and a row's
    features do not depend on its place among the others. The noise is calibrated exactly (analytic
    Gaussian mechanism). It is exact (:mod:`dplit.mechanisms`). Before it is clipped a
    prediction carries noise of variance ``sigma_ ** 2``, the same for every input and every group,
    and the error of ``intercept_``, one number for all.

    The two releases cost what one does: with u the deviation of the noise that hides a change of 1,
    the mean, which one record moves by ``2 / n_samples`` of half the width of ``bounds``, gets that
    times ``u / sqrt(f)``, and coefficients, *whatever mean they were told*, ``sensitivity_`` times
    ``u / sqrt(1 - f)``. Gaussian mechanisms one after the other add their squared ratios of
    sensitivity to noise (Dong, Roth and Su 2022, Corollary 3.3), here ``f / u**2`` and
    ``(1 - f) / u**2``. The bound of the second holds since residuals are clipped to what labels
    were. The share f is 0.05 to 0.4, such that the mean's deviation is near a tenth where it can.

    Where that exceeds 1/12 of the squared half width of the bounds, the variance of labels that use
    half of them, a constant is better, and ``fit`` warns: for a given ``alpha``, from public
    numbers. The default never comes to that, because it tends to the constant in the middle of the
    bounds as the budget or the number of records falls. It cannot see how much of their bounds
    labels fill: where they fill a tenth of them, errors are 4 times those of a constant (3.3
    without ``fit_intercept``), from 2.0 to 5.5 times over 300 and 3,000 records and epsilon of 0.3
    to 10. Give bounds that are no wider than what is known.

    Width: on the map of `results/random_features_choice.json`, 40 frequencies with ``gamma`` of
    ``4 / n_features`` explain 0.04 of the target more than with ``1 / n_features``, 160 another
    0.02; told the shape of the target, :func:`~dplit.advice.kernels.waves` explains 0.04
    more than 40 of the first kind. Smooth targets alone want the wider kernel, and lose 0.06.

    Mean, and width beside it (`results/random_features_mean.json`; squared errors over the variance
    of the target, over epsilon of 0.3 to 10): a mean first costs 0.01 on the laws of that map,
    whose targets have none, and nothing on five others. It takes tables of indicators from 5.8 to
    1.0, as a kernel learns a mean last where records lie far apart, and medical costs at epsilon 1
    from 2.0 to 0.8. Those want the wider kernel too (0.8 and 0.7), which costs 0.05 on the map:
    **where most columns are indicators, state** ``gamma`` **of** ``1 / n_features``.

    References
    ----------
    The repair is ours; compare Liao, Needell, Schaeffer and Xue, Differentially private random
    feature model, manuscript of September 9, 2025, Algorithm 1.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 2000).reshape(-1, 1)
    >>> model = PrivateRandomFeatureRegressor(
    ...     box=(-2.0, 2.0), bounds=(-1.0, 1.0), random_state=0
    ... ).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.8), model.neighboring_
    (True, 'replace_one')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        alpha: float | None = None,
        n_components: int | None = None,
        gamma: float | None = None,
        box: Any = None,
        bounds: tuple[float, float] | None = None,
        fit_intercept: bool = True,
        neighboring: Literal["replace_one"] = "replace_one",
        sensitivity: Literal["record", "crude"] = "record",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.n_components = n_components
        self.gamma = gamma
        self.box = box
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.neighboring = neighboring
        self.sensitivity = sensitivity
        self.random_state = random_state

    def _limits(self) -> tuple[float, float]:
        """Return the label bounds."""
        return stated_ends(self.bounds)

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        check_epsilon(self.epsilon)
        check_probability("delta", self.delta)
        if self.alpha is not None:
            check_scale("alpha", self.alpha)
        if self.gamma is not None:
            check_positive("gamma", self.gamma)
        check_flag("fit_intercept", self.fit_intercept)
        check_choice("sensitivity", self.sensitivity, ("record", "crude"))
        if self.n_components is not None:
            check_integer("n_components", self.n_components, minimum=1)
        reason = "over all numbers of records the sensitivity to an added one is infinite"
        only_replacement(self.neighboring, reason)

    def _widths(self, n_features: int) -> NDArray[np.float64] | float:
        """Return half widths of the columns; without a box, 1."""
        if self.box is None:
            if self.gamma is None:
                warn_caller(
                    "no width of the kernel can be known: give box=(lowest, highest) of the "
                    "columns, or gamma; they are taken to be in [-1, 1]"
                )
            return 1.0
        try:
            half = check_box(self.box, n_features).half
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("bounds", "box")) from None
        if half.min() < 1.0 / LARGEST_INPUT:
            raise ValueError(
                f"box must be wider than {2.0 / LARGEST_INPUT:g}, got box={self.box!r}"
            )
        return half

    def _penalty(self, n_records: int, size: int, unit: float) -> tuple[float, float]:
        """Return penalty and sensitivity for labels in [-1, 1]; ``unit`` is the noise's for 1."""
        if self.alpha is None:
            alpha = balanced_penalty(n_records, size, unit, self.sensitivity)
        else:
            alpha = float(self.alpha)
        sensitivity = certified_sensitivity(alpha, n_records, size, self.sensitivity)
        if math.isinf(sensitivity):
            raise ValueError(
                f"alpha must be large enough for {n_records} records and {size} coefficients to be "
                "solved in double precision, where rounding may be a thousandth of the "
                f"sensitivity, got alpha={self.alpha!r}"
            )
        return alpha, sensitivity

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw frequencies, release the mean of labels and ridge coefficients with noise.

        Parameters
        ----------
        X, y : array_like of shape (n_samples, n_features) and (n_samples,)
            Finite records, used as they are, and labels, clipped to ``bounds``; a record without a
            finite one contributes nothing.

        Returns
        -------
        PrivateRandomFeatureRegressor
        """
        self._check_parameters()
        low, high = self._limits()
        half, middle = high / 2 - low / 2, low / 2 + high / 2
        records, labels = labelled_records(self, X, y)
        known = ~np.isnan(labels)
        n_records, n_features = records.shape
        half_widths = self._widths(n_features)
        unit = float(gaussian_sigma(epsilon=self.epsilon, delta=self.delta))
        count, gamma = public_waves(n_records / unit, n_features)
        count = max(count, _FEWEST) if self.n_components is None else int(self.n_components)
        gamma = gamma if self.gamma is None else float(self.gamma)
        share = mean_share(n_records / unit) if self.fit_intercept else 0.0
        left = math.sqrt(1.0 - share)
        alpha, sensitivity = self._penalty(n_records, 2 * count, unit / left)
        budget = {"epsilon": self.epsilon, "delta": self.delta}
        sigma = float(gaussian_sigma(sensitivity=sensitivity, **budget)) / left
        public, noise = spawn_generators(self.random_state, 2)
        bits = noise_source(self.random_state, noise)
        frequencies = random_frequencies(n_features, count, gamma=gamma, rng=public)
        frequencies = frequencies / np.reshape(half_widths, (-1, 1))
        inside = np.clip(np.where(known, labels, middle), low, high)
        units = np.clip((inside - middle) / half, -1.0, 1.0)
        mean = noisy_mean(units, unit / math.sqrt(share), bits) if share else 0.0
        left_over = np.clip(units - mean, -1.0, 1.0)
        exact = feature_ridge(records, left_over, frequencies, alpha, known)
        self.coef_ = half * Gaussian(sigma).add(
            exact, hides="coefficients", sensitivity=sensitivity, rng=bits
        )
        self.intercept_, self.bounds_ = middle + half * mean, (low, high)
        self.frequencies_, self.gamma_, self.alpha_ = frequencies, gamma, alpha
        self.sensitivity_, self.sigma_ = half * sensitivity, half * sigma
        change = (
            f"replacing one of {n_records} records (their number is public; labels clipped to "
            f"[{low:g}, {high:g}], inputs arbitrary)"
        )
        state_guarantee(self, self.epsilon, self.delta, self.neighboring, change)
        if sigma**2 > LABEL_VARIANCE:
            warn_of_noise(
                f"the noise of a prediction has a standard deviation of {sigma:.2g} times half the "
                "width of the label bounds: a constant predicts better; take a larger alpha "
                "(None chooses one), a larger epsilon or more records"
            )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept_`` plus features times ``coef_``, clipped: processing of what is released.
        """
        scores = feature_scores(self, X, lambda rows: feature_rows(rows, self.frequencies_))
        return np.asarray(np.clip(scores + self.intercept_, *self.bounds_))
