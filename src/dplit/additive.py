"""Private additive models: a shape for every column, on knots that are public."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplit._base import RandomState, noise_source, whole
from dplit._bounds import stated_ends
from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_epsilon,
    check_neighboring,
    check_probability,
    quiet,
)
from dplit._labels import check_weights
from dplit._maps import MapAxis, PairMap, draw_maps, split
from dplit._predictors import BATCH
from dplit._records import classified_records, fitted_records, labelled_records
from dplit._statements import only_replacement, state_guarantee
from dplit.features.hats import HatMap
from dplit.linear._descent import Schedule, descend, public_number
from dplit.linear._regressors import warn_of_few
from dplit.linear._schedules import descent_schedule, longest_time, paced
from dplit.linear.gradient_classifier import NoisyGradientClassifier, softmax
from dplit.linear.objective import SmoothLoss, objective_noise
from dplit.linear.objective_classifier import (
    ObjectivePerturbationClassifier,
    objective_default_penalty,
)
from dplit.linear.regressors import NoisyGradientRegressor
from dplit.mechanisms import gaussian_sigma

#: Knots of a column by default: more change no score on our tables, at most budgets.
_KNOTS = 8

#: By how much of the longest possible gradient more knots may lengthen a classifier's noise.
_LONGER = 0.05

#: Default penalty times records times epsilon, for pure and for Gaussian noise: of 3, 1.5, 0.75 and
#: 0.3 the first is best under pure noise, and under the other the second on tables with a strong
#: signal (by up to 0.05 of accuracy) and the first on those with next to none (by 0.015).
_PENALTIES = (3.0, 2.0)

#: Half width of the smoothed hinge's corner.
_CORNER = 0.5

#: Length of the model to be learnt, and step length.
_LENGTH = 4.0

_RATE = 1.8

#: Least and usual clipping norms, and the time beyond which the budget raises them.
_CLIPS = (0.1, 0.5)

_AMPLE = 800.0

#: Clipping norm that clips nothing between label bounds, for budgets that have no other use.
_MOST_CLIP = 2.0

#: Shortest time that learns, as for NoisyGradientRegressor.
_SHORTEST = 16.0


class AdditiveShape(NamedTuple):
    """What one column, or one category, adds to the score of a record.

    Attributes
    ----------
    columns : tuple of int
        The column, or the indicators of the category.
    knots : ndarray of shape (K,) or None
        Where the shape has its corners, in the units of the column; None for a category.
    values : ndarray of shape (K,) or (n_classes, K)
        Values at the knots, straight between them and constant beyond; or one for each indicator,
        of mean 0.
    band : ndarray or None
        Twice the standard deviation that the noise alone would give each value, if columns were
        uniform in the box, values of a category equally frequent, and all independent. None where
        the noise enters in another way.

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 2000)[:, None]
    >>> model = PrivateAdditiveRegressor(box=(-1.0, 1.0), bounds=(0.0, 1.0), random_state=0)
    >>> (shape,) = model.fit(X, X[:, 0] ** 2).shapes_
    >>> shape.columns, shape.knots.shape == shape.values.shape == shape.band.shape
    ((0,), True)
    """

    columns: tuple[int, ...]
    knots: Array | None
    values: Array
    band: Array | None


class PairShape(NamedTuple):
    """What two columns or categories add to the score together, beside the shape of each.

    Attributes
    ----------
    columns : tuple of two tuples of int
        The column, or the indicators of the category, of each.
    knots : tuple of two, ndarray of shape (K,) or None
        Corners of each, in the units of its column; None for a category.
    values : ndarray of shape (K, L) or (n_classes, K, L)
        Values where the first has one of its K knots or indicators and the second one of L: between
        knots straight in each column, and constant beyond.
    band : ndarray of shape (K, L) or None
        As of :class:`~dplit.additive.AdditiveShape`, but for the small mean of a pair's features,
        which it leaves out: in 200 fits the variance was a tenth more.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 2))
    >>> model = PrivateAdditiveRegressor(box=(-1.0, 1.0), bounds=(-1.0, 1.0), random_state=0,
    ...                                  interactions=((0, 1),))
    >>> *alone, pair = model.fit(X, X[:, 0] * X[:, 1]).shapes_
    >>> pair.columns, pair.values.shape == (len(pair.knots[0]), len(pair.knots[1]))
    (((0,), (1,)), True)
    """

    columns: tuple[tuple[int, ...], tuple[int, ...]]
    knots: tuple[Array | None, Array | None]
    values: Array
    band: Array | None


class _Additive(BaseEstimator):  # type: ignore[misc]
    """What both share: the map, shapes from coefficients, their picture."""

    box: Any
    indicators: Any
    interactions: Any
    n_hats: int | None
    coef_: Array
    intercept_: Any
    shapes_: tuple[AdditiveShape | PairShape, ...]
    _map: HatMap

    def _features(self, X: Array, knots: int) -> tuple[Array, float]:
        """Set the map for the columns of X; return its features and their largest norm."""
        self._map = HatMap.of(knots, self.box, self.indicators, X.shape[1], self.interactions)
        return self._map(X), math.sqrt(self._map.parts)

    def _spread(self) -> Array:
        """Eigenvalues of the second moments of unit rows if columns were uniform in the box."""
        m = self._map.parts
        return np.concatenate([*self._map.spread(), [float(m)]]) / (2.0 * m)

    def _set_shapes(self, bands: list[Array] | None = None) -> None:
        """Evaluate the coefficients, the last axis of ``coef_``, at the knots."""
        found: list[AdditiveShape | PairShape] = []
        of, n_groups = self._map, len(self._map.groups)
        for k, part in enumerate(of.slices()):
            values = of.shape(k, self.coef_[..., part])
            band = None if bands is None else bands[k]
            if k < n_groups:
                found.append(AdditiveShape(of.groups[k], of.knots(k), values, band))
                continue
            one, other = of.pairs[k - n_groups]
            knots = of.knots(one, paired=True), of.knots(other, paired=True)
            found.append(PairShape((of.groups[one], of.groups[other]), knots, values, band))
        self.shapes_ = tuple(found)

    def _scores(self, X: ArrayLike) -> Array:
        """Return the intercept and what the columns add to it, with some records in memory."""
        records = fitted_records(self, X)
        parts = [self._map(records[b]) @ self.coef_.T for b in gen_batches(len(records), BATCH)]
        return np.asarray(np.concatenate(parts) + self.intercept_)

    def plot(self) -> Any:
        """Draw the shapes, with their bands where they have some.

        Returns
        -------
        matplotlib.figure.Figure
            One panel for each column or category, all on one scale, and below a map for each pair,
            of more than two classes for each class, on one scale of colours.
        """
        from matplotlib.figure import Figure

        check_is_fitted(self)
        alone = [shape for shape in self.shapes_ if isinstance(shape, AdditiveShape)]
        across = min(4, len(alone))
        down = -(-len(alone) // across)
        figure = Figure(figsize=(2.6 * across, 2.1 * down), layout="constrained")
        numbered = [f"column {k}" for k in range(self.n_features_in_)]
        names = list(map(str, getattr(self, "feature_names_in_", numbered)))
        maps = self._maps(names)
        upper, lower = split(figure, maps)
        axes = upper.subplots(down, across, sharey=True, squeeze=False).ravel()
        for ax, shape in zip(axes, alone, strict=False):
            _draw(ax, shape, [names[k] for k in shape.columns])
        for ax in axes[len(alone) :]:
            ax.set_visible(False)
        if maps:
            draw_maps(lower, maps, "score")
        return figure

    def _maps(self, names: list[str]) -> list[PairMap]:
        """Return what pairs add, of each class, to be drawn."""
        maps = []
        for shape in self.shapes_:
            if isinstance(shape, AdditiveShape):
                continue
            across, up = (
                MapAxis(names[columns[0]], knots, [names[k] for k in columns])
                for columns, knots in zip(shape.columns, shape.knots, strict=True)
            )
            tables = shape.values if shape.values.ndim == 3 else [shape.values]
            titles = map(str, self.classes_) if shape.values.ndim == 3 else [""]
            maps += [
                PairMap(title, values, across, up, shape.band)
                for title, values in zip(titles, tables, strict=True)
            ]
        return maps


def _draw(ax: Any, shape: AdditiveShape, names: list[str]) -> None:
    """Draw one shape: a line with its band, or a point for each indicator."""
    values = np.atleast_2d(shape.values)
    for row in values:
        if shape.knots is None:
            ax.errorbar(range(len(row)), row, yerr=shape.band, fmt="o", capsize=2)
        else:
            ax.plot(shape.knots, row)
            if shape.band is not None:
                ax.fill_between(shape.knots, row - shape.band, row + shape.band, alpha=0.25)
    ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    if shape.knots is None:
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="small")
    else:
        ax.set_xlabel(names[0])


def _noise_gain(spread: Array, *, rate: float, steps: int, momentum: float = 0.0) -> Array:
    """Variance of each coordinate of a descent's mean over its last half, of noise of variance 1 in
    every mean gradient, where the loss has curvature ``spread``.

    Noise in step t arrives in the mean as the sum of its response in the last steps that are not
    before t, over their number.
    """
    first, hit = steps // 2, np.arange(steps)
    place, speed = np.zeros(len(spread)), np.full(len(spread), -rate)
    reached = np.zeros((steps + 1, len(spread)))
    for step in range(steps):
        place = place + speed
        reached[step + 1] = reached[step] + place
        speed = momentum * speed - rate * spread * place
    arrived = (reached[steps - hit] - reached[np.maximum(first - hit, 0)]) / (steps - first)
    return np.asarray((arrived**2).sum(axis=0))


class PrivateAdditiveRegressor(
    RegressorMixin,  # type: ignore[misc]
    _Additive,
):
    r"""Private additive regression: a constant, and a shape for every column or category.

    Parameters
    ----------
    n_hats : int or None, default=None
        Number of public knots of each column's shape, which is straight between them, at least 2
        (a line). None is 8, see the notes.
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    box : tuple
        Lowest and highest values of the columns: two numbers, or two rows with one for each. Must
        be given, and chosen without the data; values outside are clipped.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    indicators : tuple of tuples of int, default=()
        For each category the numbers of its indicator columns, as
        :class:`~dplit.features.hats.HatFeatures` says.
    interactions : tuple of pairs of int, default=()
        Pairs of columns that add something together, beside what each adds: two column numbers, of
        which one of its indicators stands for a category. Chosen without the data, for each pair
        costs budget, see the notes.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    public_size : int or None, default=None
        Number by which gradient sums are divided; must be given under ``add_remove``.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    shapes_ : tuple of AdditiveShape
        One for each column or category, in the order of their first columns, and then a
        :class:`~dplit.additive.PairShape` for each of ``interactions``; with ``columns``,
        ``knots``, ``values`` and ``band``: twice the standard deviation of the noise alone if
        columns were uniform in the box. Predictions are ``intercept_`` and what shapes add to it.
    coef_ : ndarray of shape (n_features_out,)
        Weights of the features of :class:`~dplit.features.hats.HatFeatures`.
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on each sum of gradients, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if public numbers say that the noise leaves no time to learn.

    Notes
    -----
    The features of m columns and categories, over sqrt(m), and a constant are rows of norm 1 for
    :func:`~dplit.linear._descent.noisy_gradient_descent` on the squared loss. In a time t (steps
    times their length) with gradients clipped to C, noise adds a mean square of at most
    :math:`t(Cs/n)^2D(t)/2` to predictions in unit bounds, with s the noise that would hide one sum
    of gradients of norm 1 and :math:`D(t)=\sum_j\min(2\lambda_jt,1)` the coordinates that have been
    reached by then; :math:`\lambda_j` is the curvature in each if columns were uniform in the box
    and values of a category equally frequent. What a model of norm L has left to learn is at most
    :math:`L^2/(2et)`. The two are equal at :math:`Ct\sqrt{eD(t)}=Ln/s`, the default time, for L =
    4: smooth shapes are learnt first, and corners for which a budget has no time stay flat and cost
    nothing, so that 8 knots are the default at every budget. C is 0.1, and up to 0.5 where the
    budget allows a time of 800. Steps have length 1.8 (the loss has curvature at most 1) and are at
    most 300: a longer time has momentum (Polyak's heavy ball), made of released sums alone, and is
    at most 10,125. What a budget has left beyond that goes into a C up to 2, which clips nothing:
    smaller ones pull predictions of a skewed label towards its median. The noise is exact
    (:mod:`dplit.mechanisms`). Weights of records in [0, 1] change no sensitivity, as in
    :class:`~dplit.linear.regressors.NoisyGradientRegressor`.

    Each of ``interactions`` is one more part of a row, on at most 6 knots for each of its columns,
    and counts as one more column. Where n epsilon was 900 and more, a pair that says something
    together left 0.38 to 0.98 of the error (1 less R2 or accuracy) that stayed without it on five
    made tables, one that descriptions of five real tables suggest 0.67 to 1.16, and one that says
    nothing 0.98 to 1.23, the most with several classes; where it was less, noise decided
    (``python -m benchmarks.pairs``: 309 to 10,000 records). A map may have a part of what either
    column adds alone.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 6000).reshape(-1, 1)
    >>> model = PrivateAdditiveRegressor(box=(-1.0, 1.0), bounds=(0.0, 1.0), random_state=0)
    >>> model = model.fit(X, X[:, 0] ** 2)
    >>> bool(abs(model.predict([[0.0], [0.9]]) - [0.0, 0.81]).max() < 0.15), model.neighboring_
    (True, 'replace_one')
    """

    #: All of its noise is Gaussian.
    _gaussian = True

    def __init__(
        self,
        *,
        n_hats: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        box: Any = None,
        bounds: tuple[float, float] | None = None,
        indicators: Any = (),
        interactions: Any = (),
        neighboring: Neighboring = "replace_one",
        public_size: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_hats = n_hats
        self.epsilon = epsilon
        self.delta = delta
        self.box = box
        self.bounds = bounds
        self.indicators = indicators
        self.interactions = interactions
        self.neighboring = neighboring
        self.public_size = public_size
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Descend on the features of the clipped records.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        PrivateAdditiveRegressor
        """
        low, high = stated_ends(self.bounds)
        records, labels = labelled_records(self, X, y)
        weights = check_weights("sample_weight", sample_weight, len(records))
        rows, norm = self._features(records, _KNOTS if self.n_hats is None else self.n_hats)
        plan = self._schedule(len(rows))
        linear = NoisyGradientRegressor(
            epsilon=self.epsilon,
            delta=self.delta,
            data_norm=norm,
            bounds=(low, high),
            random_state=self.random_state,
        )
        fitted = linear._publish(
            descend(
                *linear._unit_of(rows, labels, weights),
                plan,
                epsilon=self.epsilon,
                delta=self.delta,
                rng=noise_source(self.random_state),
            )
        )
        self._ends = (low, high)
        self.coef_, self.intercept_, self.sigma_ = fitted.coef_, fitted.intercept_, fitted.sigma_
        scale = self.sigma_ / plan.n_records * (high / 2 - low / 2) / (math.sqrt(2.0) * norm)
        self._set_shapes(self._bands(scale, plan))
        added = self.neighboring == "add_remove"
        change = (
            f"{'adding or removing one record' if added else 'replacing one record'} (columns are "
            f"clipped to the stated box, labels to [{low:g}, {high:g}]"
            f"{'' if added else '; their number is public'})"
        )
        promise = (fitted.epsilon_, fitted.delta_, fitted.neighboring_, change)
        state_guarantee(self, *promise, weighted=sample_weight is not None)
        return self

    def _schedule(self, n_records: int) -> Schedule:
        """Return what the descent does, from public numbers; warn of noise."""
        check_neighboring(self.neighboring)
        check_epsilon(self.epsilon)
        check_probability("delta", self.delta)
        n = public_number(n_records, self.neighboring, self.public_size)
        moved = 1.0 if self.neighboring == "add_remove" else 2.0
        noise = gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=moved)
        spread = self._spread()
        clip, time = descent_schedule(
            length=_LENGTH,
            n_records=n,
            noise=noise,
            spread=spread,
            clips=_CLIPS,
            ample=_AMPLE,
            longest=longest_time(_RATE),
            most=_MOST_CLIP,
        )
        if time < max(_SHORTEST, 4.0 / clip):
            warn_of_few(f"{n} records with {self._map.parts} shapes")
        return Schedule(clip, *paced(time, rate=_RATE), n, self.neighboring)

    def _bands(self, scale: float, plan: Schedule) -> list[Array]:
        """Return two standard deviations of the noise at the knots of each shape."""
        parts = range(self._map.parts)

        def variance(spread: Array) -> Array:
            spread = spread / (2.0 * len(parts))
            return _noise_gain(
                spread, rate=plan.learning_rate, steps=plan.steps, momentum=plan.momentum
            )

        return [2.0 * scale * self._map.deviations(k, variance) for k in parts]

    @quiet
    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to the box as in training.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept_`` and the shapes, clipped to ``bounds`` as the labels were.
        """
        scores = self._scores(X)
        return np.asarray(np.clip(scores, *self._ends))


class PrivateAdditiveClassifier(
    ClassifierMixin,  # type: ignore[misc]
    _Additive,
):
    r"""Private additive classification: scores that are sums of a shape for every column.

    Parameters
    ----------
    loss : {"huberised_hinge", "logistic"}, default="huberised_hinge"
        Loss of two classes, but for those of many records at a large budget, see the notes. More
        than two always have the softmax loss.
    n_hats : int or None, default=None
        Number of public knots of each column's shape, which is straight between them, at least 2
        (a line). None follows public numbers, see the notes.
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=1e-5
        In (0, 1/2); 0 for a pure guarantee, of two classes only.
    box : tuple
        Lowest and highest values of the columns: two numbers, or two rows with one for each. Must
        be given, and chosen without the data; values outside are clipped.
    indicators : tuple of tuples of int, default=()
        For each category the numbers of its indicator columns, as
        :class:`~dplit.features.hats.HatFeatures` says.
    interactions : tuple of pairs of int, default=()
        Pairs of columns that add something together, beside what each adds: two column numbers, of
        which one of its indicators stands for a category. Chosen without the data, for each pair
        costs budget, see the notes.
    classes : tuple or None, default=None
        All labels, in their order. Where they are given nothing is learnt from ``y``: a record
        with another label, or without one, contributes nothing. None takes them from the data, and
        then they are **assumed public**.
    class_weight : mapping or sequence of float, or None, default=None
        Public weight of each class in [0, 1], by class or in the order of ``classes``, by which the
        losses of its records are multiplied; None is 1 for all. Classes of public shares
        :math:`\pi_k` count alike with :math:`\min_j\pi_j/\pi_k`. No noise changes, as the two
        estimators of the notes say.
    neighboring : {"replace_one"}, default="replace_one"
        The number of records enters penalty and noise and is public.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    shapes_ : tuple of AdditiveShape
        One for each column or category, in the order of their first columns, and then a
        :class:`~dplit.additive.PairShape` for each of ``interactions``; with ``columns``,
        ``knots`` and ``values``, which have a row for each class if there are more than two. What
        they add to ``intercept_`` is the score.
    coef_ : ndarray of shape (n_features_out,) or (n_classes, n_features_out)
        Weights of the features of :class:`~dplit.features.hats.HatFeatures`.
    intercept_ : float or ndarray of shape (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    loss_ : str
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if public numbers say that the noise drowns the longest possible gradient.

    Notes
    -----
    Two classes: :class:`~dplit.linear.objective_classifier.ObjectivePerturbationClassifier` on the
    features of :class:`~dplit.features.hats.HatFeatures` and a constant, with a penalty of ``3 / (n
    epsilon)`` for delta = 0, more where the mechanism or double precision demands it, and ``2 / (n
    epsilon)`` for Gaussian noise; default knots are 8, 6 or 4, the most that lengthen the mean
    noise by at most a twentieth of the longest possible gradient of the records, or else 2, lines.

    More classes, and two with a positive delta where double precision would demand a larger penalty
    (many records, a large budget):
    :class:`~dplit.linear.gradient_classifier.NoisyGradientClassifier`, on the log-loss, with 8
    knots for more than two and the schedule of columns that are uniform in the box. Shapes have no
    bands: the noise arrives in them through a curvature that is not known. The noise is exact
    (:mod:`dplit.mechanisms`). What ``interactions`` gain and cost is said of
    :class:`~dplit.additive.PrivateAdditiveRegressor`.

    Which loss, for two classes: on five tables (250 to 30,000 records in 10 to 64 columns, epsilon
    0.1, 1 and 10, ``results/balance.json``) the logistic loss less the hinge had an accuracy of
    -0.034 to -0.017 in the mean where both classes were as frequent and of -0.034 to -0.012 where
    one was a fifth, and an AUC of -0.036 to -0.016 and -0.011 to -0.007. Of a class of a twentieth
    its AUC was larger by 0.010 and 0.011 at epsilon 0.1 and 1 (by more than 0.005 on 3 and 5 of 8
    tables, smaller on 0 and 1), and smaller by 0.018 at 10; of a hundredth neither led. So the
    hinge is the default, and the logistic loss for probabilities, or to rank a rare class by a
    small budget. Where a descent takes over both are one.

    Weights by which both classes count alike raised the balanced accuracy of the logistic loss by
    0.012 to 0.156 in the mean and lowered its AUC by 0.020 to 0.071, of classes of a fifth, a
    twentieth and a hundredth: records of small weights say less under the same noise. A public
    threshold on the score changes no AUC.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 6000).reshape(-1, 1)
    >>> model = PrivateAdditiveClassifier(box=(-1.0, 1.0), classes=("in", "out"), random_state=0)
    >>> model = model.fit(X, np.where(abs(X[:, 0]) > 0.5, "out", "in"))
    >>> model.predict([[-0.9], [0.0], [0.9]]).tolist(), model.neighboring_
    (['out', 'in', 'out'], 'replace_one')

    Of a rare class scores say more than labels; its share is public here, and so is the threshold.

    >>> y = np.where(X[:, 0] > 0.95, "rare", "common")
    >>> model = PrivateAdditiveClassifier(loss="logistic", box=(-1.0, 1.0),
    ...     classes=("common", "rare"), random_state=0).fit(X, y)
    >>> found = model.predict_proba(X)[:, 1] > 0.025
    >>> bool(found[y == "rare"].all()), bool(found[y == "common"].mean() < 0.5)
    (True, True)
    """

    def __init__(
        self,
        *,
        loss: SmoothLoss = "huberised_hinge",
        n_hats: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        box: Any = None,
        indicators: Any = (),
        interactions: Any = (),
        classes: tuple[Any, ...] | None = None,
        class_weight: Any = None,
        neighboring: Literal["replace_one"] = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.n_hats = n_hats
        self.epsilon = epsilon
        self.delta = delta
        self.box = box
        self.indicators = indicators
        self.interactions = interactions
        self.classes = classes
        self.class_weight = class_weight
        self.neighboring = neighboring
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the shapes to the clipped records.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Labels; with ``classes`` any labels.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        PrivateAdditiveClassifier
        """
        only_replacement(self.neighboring, "the number of records enters the noise and is public")
        check_choice("loss", self.loss, ("logistic", "huberised_hinge"))
        check_probability("delta", self.delta, zero=True)
        records, self.classes_, places = classified_records(self, X, y, self.classes, binary=False)
        own = check_weights("sample_weight", sample_weight, len(records))
        self.loss_ = self.loss
        epsilon, binary = check_epsilon(self.epsilon), len(self.classes_) == 2
        rows, norm = self._features(records, self._n_knots(len(records), records.shape[1], binary))
        given: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": self.delta,
            "data_norm": norm,
            "classes": self.classes,
            "class_weight": self.class_weight,
            "random_state": self.random_state,
        }
        fitted: Any
        penalty = self._penalty(*rows.shape) if binary else None
        if penalty is not None:
            fitted = ObjectivePerturbationClassifier(
                loss=self.loss, smoothing=_CORNER, regularization=penalty, **given
            )._fit(rows, self.classes_, places, own)
        else:
            fitted = NoisyGradientClassifier(**given)._fit(
                rows, self.classes_, places, spread=self._spread(), own=own
            )
        self.coef_, self.intercept_ = fitted.coef_, fitted.intercept_
        if binary and penalty is None:  # the score of the second class over the first
            self.coef_ = fitted.coef_[1] - fitted.coef_[0]
            self.intercept_ = float(fitted.intercept_[1] - fitted.intercept_[0])
        self._set_shapes()
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = (
            f"replacing one of {len(rows)} records with its label (their number is public; columns "
            f"are clipped to the stated box, the {len(self.classes_)} labels are {labels})"
        )
        promise = (fitted.epsilon_, fitted.delta_, fitted.neighboring_, change)
        state_guarantee(self, *promise, weighted=sample_weight is not None)
        return self

    def _penalty(self, n_records: int, width: int) -> float | None:
        """Return the penalty of two classes; None where a descent is better, by public numbers."""
        goal = _PENALTIES[self.delta > 0.0]
        found = objective_default_penalty(
            n_records=n_records,
            dimension=width + 1,
            epsilon=self.epsilon,
            delta=self.delta,
            loss=self.loss,
            smoothing=_CORNER,
            goal=goal,
        )
        raised = found > 1.001 * goal / (n_records * self.epsilon)
        return None if raised and self.delta > 0.0 else found

    def _n_knots(self, n_records: int, n_features: int, binary: bool) -> int:
        """Return ``n_hats``, or the most knots whose noise the number of records allows."""
        if self.n_hats is not None or not binary:
            return _KNOTS if self.n_hats is None else self.n_hats
        noise = objective_noise(epsilon=self.epsilon, delta=self.delta, data_norm=1.0, jacobian=0.0)

        def length(knots: int) -> float:
            """Mean length of the noise with so many knots, of so many features and a constant."""
            stated = self.box, self.indicators, n_features, self.interactions
            count = HatMap.of(knots, *stated).slices()[-1].stop + 1
            return count / noise if self.delta == 0.0 else noise * math.sqrt(count)

        allowed = _LONGER * n_records * (0.5 if self.loss == "logistic" else 1.0)
        for knots in (_KNOTS, 6, 4):
            if length(knots) - length(2) <= allowed:
                return knots
        return 2

    @quiet
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores: of two classes one, positive for the second; otherwise one for each class.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to the box as in training.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Classify by the sign of the score, or by the largest.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        scores = self.decision_function(X)
        first = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[first.astype(int)])

    def _has_probabilities(self) -> bool:
        """Only the logistic and the softmax loss model probabilities."""
        told = getattr(self, "classes_", () if self.classes is None else self.classes)
        loss = getattr(self, "loss_", self.loss)
        if loss != "logistic" and len(told) < 3:
            raise AttributeError(
                "predict_proba needs loss='logistic' or more than two classes: no other loss "
                f"models probabilities, got loss={loss!r}"
            )
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, **not calibrated**.

        The penalty, or stopping early, pulls them together and the noise, which lengthens the
        weights, apart; the records cannot correct either within the budget.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to the box as in training.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; rows add to 1.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores)
        second = expit(scores)
        return np.column_stack([1.0 - second, second])
