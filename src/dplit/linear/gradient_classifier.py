"""Private classification in any number of classes by noisy full-batch gradient descent."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from dplit._base import RandomState, noise_source, whole
from dplit._bounds import stated_norm
from dplit._checks import (
    Neighboring,
    check_epsilon,
    check_flag,
    check_integer,
    check_neighboring,
    check_probability,
    check_scale,
    quiet,
    warn_of_noise,
)
from dplit._labels import check_weights, record_weights, stated_weights
from dplit._numerics.clipping import clip_rows, lifted, lowered, silenced
from dplit._records import classified_records, fitted_records
from dplit._statements import state_guarantee
from dplit.linear._descent import Schedule, descend, public_number
from dplit.linear._schedules import descent_schedule, paced
from dplit.mechanisms import gaussian_sigma

#: Default length of the model to be learnt, over which classes differ by many units of the scores.
_LENGTH = 64.0

#: Least and largest default clipping norms, and the time beyond which the budget raises them.
_CLIPS = (0.5, 1.0)

_AMPLE = 1000.0

#: Step length: the softmax loss has curvature at most 1/2 on rows of norm 1, and 4 is the limit.
_RATE = 2.0

#: Shortest time that learns: in less of it scores of the records differ by less than their noise.
_SHORTEST = 32.0


def softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities (n, k) of classes from their scores; every row by itself.

    >>> softmax(np.array([[0.0, 0.0], [1e9, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    # class by class: a sum over an axis adds in an order that follows layout and number of rows
    return np.asarray(powers / sum(powers.T)[:, None])


def _softmax_loss_derivative(scores: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Derivative ``p - e_y`` (n, k) of the log-loss in the scores of k classes.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        Whole numbers below k, the places of the labels.

    >>> _softmax_loss_derivative(np.zeros((1, 2)), np.array([1.0]))
    array([[ 0.5, -0.5]])
    """
    slopes = softmax(scores)
    slopes[np.arange(len(slopes)), y.astype(np.intp)] -= 1.0
    return slopes


def _weighted_derivative(scores: NDArray[Any], told: NDArray[Any]) -> NDArray[Any]:
    """Derivative of log-losses that are multiplied by weights: ``told`` (n, 2) has places of the
    labels and weights.
    """
    return np.asarray(told[:, 1:] * _softmax_loss_derivative(scores, told[:, 0]))


class NoisyGradientClassifier(
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Private linear classifier in two or more classes, by noisy descent on the softmax loss.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    steps : int or None, default=None
        Number of gradient steps. None follows public numbers, see the notes; at most 300, with
        momentum where that is not enough.
    clip : float or None, default=None
        Frobenius norm to which gradients are clipped, in unit bounds, where none is longer than
        sqrt(2). None is 0.5, and up to 1 where the same numbers as for ``steps`` allow it.
    learning_rate : float, default=2.0
        Step length on the mean gradient in unit bounds, where the loss has curvature at most 1/2:
        below 4 the noiseless descent converges.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    public_size : int or None, default=None
        Number by which gradient sums are divided; must be given under ``add_remove``.
    fit_intercept : bool, default=True
        Whether every row gets a constant coordinate as long as ``data_norm``.
    classes : tuple or None, default=None
        All labels, in their order. Where they are given nothing is learnt from ``y``: a record
        with another label, or without one, contributes nothing. None takes them from the data, and
        then they are **assumed public**.
    class_weight : mapping or sequence of float, or None, default=None
        Public weight of each class in [0, 1], by class or in the order of ``classes``, by which the
        losses of its records are multiplied; None is 1 for all. Classes of
        public shares :math:`\pi_k` count alike with :math:`\min_j\pi_j/\pi_k`.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the records as they are; two classes have one row each as well.
    intercept_ : ndarray of shape (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    data_norm_ : float
        The norm to which records are clipped, new ones too.
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
    Rows x, clipped to norm r, become ``(x, r) / (r sqrt(2))`` with an intercept and ``x / r``
    without. A record's gradient is :math:`x(p-e_y)^\top` with p its probabilities, a matrix whose
    Frobenius norm is clipped; one Gaussian release a step serves all classes, and the steps compose
    as :func:`~dplit.linear._descent.noisy_gradient_descent` says. New records are clipped as those
    of the training were.

    Weights, of a class times of a record, multiply p - e_y, before the gradient is clipped:
    whatever they are, no record moves a sum by more than the clip, for which the noise is made.
    None above 1 is taken, so that weights lengthen no gradient either. Sums are divided by the
    number of records, which is public, and not by the sum of weights: small ones learn more slowly.

    Default schedule: that of :class:`~dplit.additive.PrivateAdditiveRegressor` for a model of
    length 64, with a curvature of 1/(2 k) in each of d (k - 1) coordinates for k classes. The noise
    is exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Bassily, Smith and Thakurta, Private empirical risk minimization, FOCS 2014, arXiv:1405.7085.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 6000).reshape(-1, 1)
    >>> model = NoisyGradientClassifier(data_norm=1.0, classes=("a", "b", "c"), random_state=0)
    >>> model = model.fit(X, np.where(X[:, 0] > 0.4, "c", np.where(X[:, 0] > -0.4, "b", "a")))
    >>> model.predict([[-0.9], [0.9]]).tolist(), model.neighboring_
    (['a', 'c'], 'replace_one')
    """

    #: All of its noise is Gaussian.
    _gaussian = True

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float = _RATE,
        neighboring: Neighboring = "replace_one",
        public_size: int | None = None,
        fit_intercept: bool = True,
        classes: tuple[Any, ...] | None = None,
        class_weight: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.neighboring = neighboring
        self.public_size = public_size
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.class_weight = class_weight
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Descend on the clipped records.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Labels of two or more classes; with ``classes`` any labels.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        NoisyGradientClassifier
        """
        found = classified_records(self, X, y, self.classes, binary=False)
        own = check_weights("sample_weight", sample_weight, len(found[0]))
        return self._fit(*found, spread=None, own=own)

    def _fit(
        self,
        records: NDArray[np.float64],
        classes: NDArray[Any],
        places: NDArray[np.intp],
        *,
        spread: NDArray[np.float64] | None,
        own: NDArray[np.float64] | None = None,
    ) -> Self:
        """Fit, on the schedule of public eigenvalues of the rows' second moments if any, with the
        ``own`` weights of records if they have some.
        """
        norm = stated_norm(self.data_norm)
        self.classes_, self.data_norm_ = classes, norm
        weights = record_weights(stated_weights(self.class_weight, classes), places, own)
        unit = clip_rows(records, norm) / norm
        if check_flag("fit_intercept", self.fit_intercept):
            unit = lifted(unit)
        k = len(self.classes_)
        spread = np.full(unit.shape[1], 0.5) if spread is None else spread
        known = np.maximum(places, 0)
        fitted = descend(
            silenced(unit, places >= 0),
            known if weights is None else np.column_stack([known, weights]),
            self._schedule(len(unit), k, spread),
            epsilon=self.epsilon,
            delta=self.delta,
            derivative=_softmax_loss_derivative if weights is None else _weighted_derivative,
            n_scores=k,
            rng=noise_source(self.random_state),
        )
        coef = fitted.coef.T
        coef, constants = lowered(coef) if self.fit_intercept else (coef, np.zeros(k))
        self.coef_, self.intercept_, self.sigma_ = coef / norm, constants, fitted.sigma
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = (
            "adding or removing one record with its label ("
            if self.neighboring == "add_remove"
            else f"replacing one of {len(unit)} records with its label (their number is public; "
        )
        change += f"rows are clipped to norm {norm:g}, the {k} labels are {labels})"
        promise = (fitted.epsilon, fitted.delta, fitted.neighboring, change)
        state_guarantee(self, *promise, weighted=own is not None)
        return self

    def _schedule(self, n_records: int, k: int, spread: NDArray[np.float64]) -> Schedule:
        """Return what a descent does, from public numbers; warn of noise."""
        check_neighboring(self.neighboring)
        check_epsilon(self.epsilon)
        check_probability("delta", self.delta)
        n = public_number(n_records, self.neighboring, self.public_size)
        moved = 1.0 if self.neighboring == "add_remove" else 2.0
        clips = _CLIPS if self.clip is None else (check_scale("clip", self.clip), float(self.clip))
        clip, time = descent_schedule(
            length=_LENGTH,
            n_records=n,
            clips=clips,
            ample=_AMPLE,
            noise=gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=moved),
            spread=np.repeat(spread / k, k - 1),
        )
        rate = check_scale("learning_rate", self.learning_rate)
        if self.steps is not None:
            steps = check_integer("steps", self.steps)
            return Schedule(clip, steps, rate, 0.0, n, self.neighboring)
        if time < _SHORTEST:
            warn_of_noise(
                f"{n} records with {len(spread)} coefficients in each of {k} classes are too few "
                "for this budget: accuracy may be no better than the majority class"
            )
        return Schedule(clip, *paced(time, rate=rate), n, self.neighboring)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores of the classes; of two classes the second's minus the first's.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to ``data_norm`` as in training.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = clip_rows(fitted_records(self, X), self.data_norm_)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Classify by the largest score.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        first = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[first])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, **not calibrated**.

        Stopping early pulls them together and the noise, which lengthens the weights, apart; the
        records cannot correct either within the budget.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to ``data_norm`` as in training.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; rows add to 1.
        """
        return softmax(self._scores(X))
