"""Objective perturbation as a scikit-learn classifier."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from dplit._base import RandomState, noise_source, whole
from dplit._bounds import stated_norm
from dplit._checks import (
    check_choice,
    check_epsilon,
    check_flag,
    check_integer,
    check_scale,
    quiet,
    warn_of_noise,
)
from dplit._labels import check_weights, record_weights, stated_weights
from dplit._numerics.clipping import clip_rows, lifted, lowered, silenced
from dplit._predictors import ClippedLinearClassifier, signs_of
from dplit._records import classified_records
from dplit._statements import only_replacement, state_guarantee
from dplit.linear.objective import (
    _SOLVER_SHARE,
    PerturbedObjective,
    SmoothLoss,
    _curvature,
    _largest_noise,
    _linear_step,
    _solver_distance,
    objective_noise,
    objective_perturbation,
    smallest_regularization,
)

#: Default penalty times records times epsilon: of 0.3, 1, 3, 10 and 30 the best on simulated laws
#: with 300 and 3,000 records, 2 to 50 columns, epsilon from 0.1 to 10, for both laws of noise.
_PENALTY = 3.0

#: Mean length of the noise that hides the solver's error, beside weights of some units.
_HIDDEN = 0.2

#: Longest possible gradient over the noise, below which our simulations saw a majority class.
_LOUD = 2.0


def objective_penalty(
    *,
    n_records: int,
    dimension: int,
    epsilon: float,
    delta: float,
    loss: SmoothLoss,
    smoothing: float,
) -> float:
    """Penalty of :class:`ObjectivePerturbationClassifier`, from public numbers, in unit bounds.

    ``3 / (n epsilon)``, not below what the mechanism demands for half of epsilon, and doubled until
    the noise that hides the error of the minimiser has a mean length of at most a fifth.

    >>> objective_penalty(n_records=1000, dimension=5, epsilon=0.5, delta=0.0, loss="logistic",
    ...     smoothing=0.5)
    0.006
    """
    return objective_default_penalty(
        n_records=n_records,
        dimension=check_integer("dimension", dimension),
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        smoothing=smoothing,
    )


def objective_default_penalty(
    *,
    n_records: int,
    dimension: int,
    epsilon: float,
    delta: float,
    loss: SmoothLoss,
    smoothing: float,
    goal: float = _PENALTY,
) -> float:
    """Return the penalty for checked numbers, ``goal / (n epsilon)`` where nothing demands more.

    >>> few, many = (
    ...     objective_default_penalty(n_records=n, dimension=5, epsilon=1.0, delta=0.0,
    ...                               loss="logistic", smoothing=0.5)
    ...     for n in (10_000, 100_000)
    ... )
    >>> round(few / many, 6)
    10.0
    """
    least = smallest_regularization(
        n_records=n_records, epsilon=epsilon, data_norm=1.0, loss=loss, smoothing=smoothing
    )
    noise = objective_noise(
        epsilon=epsilon, delta=delta, data_norm=1.0, jacobian=epsilon / 2.0
    )  # the most it can be
    curvature, largest = _curvature(loss, smoothing), _largest_noise(noise, delta, dimension)
    step = _linear_step(noise, delta, dimension)
    used = max(goal / (n_records * epsilon), least)
    while math.isfinite(2.0 * used * n_records):
        penalty = 2.0 * used * n_records
        distance = _solver_distance(
            n_records,
            dimension,
            r=1.0,
            penalty=penalty,
            largest=largest,
            smoothness=n_records * curvature + penalty,
            step=step,
        )
        length = 2.0 * distance * dimension / (_SOLVER_SHARE * min(epsilon, 1.0))
        if length <= _HIDDEN:
            return used
        used *= 2.0
    raise ValueError(
        f"epsilon must be so large that double precision finds a minimiser, got epsilon={epsilon!r}"
    )


class ObjectivePerturbationClassifier(ClippedLinearClassifier):
    r"""Private linear classifier: the minimiser of a risk with a random linear term.

    Parameters
    ----------
    loss : {"huberised_hinge", "logistic"}, default="huberised_hinge"
        The hinge's corner is a parabola of half width ``smoothing``: the mechanism asks for a
        second derivative. It errs less than the logistic loss at small budgets, whose slope at
        the zero model is half as large under the same noise.
    regularization : float or None, default=None
        Factor of the squared norm beside the mean loss, in unit bounds (see the notes). None is
        ``3 / (n epsilon)``, more where that is beyond what double precision minimises; public
        numbers alone. Whatever is less than the mechanism demands is raised to that. Choosing it by
        looking at the data is not covered.
    smoothing : float, default=0.5
        Half width of the parabola, from 1e-50 to 1e50; ``"logistic"`` takes no notice of it.
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=0.0
        0 for a pure guarantee by noise of gamma-distributed length; in (0, 1/2) for Gaussian noise,
        which in more than a few columns is far less.
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    fit_intercept : bool, default=True
        Whether every row gets a constant coordinate as long as ``data_norm``.
    classes : tuple or None, default=None
        The two labels, the first for negative scores. Where they are given nothing is learnt from
        ``y``: it may hold one class only, and a record with another label, or without one,
        contributes nothing. None takes them from the data, and then they are **assumed public**.
    class_weight : mapping or sequence of float, or None, default=None
        Public weight of each class in [0, 1], by class or in the order of ``classes``, by which the
        losses of its records are multiplied; None is 1 for all. Classes of public shares
        :math:`\pi_k` count alike with :math:`\min_j\pi_j/\pi_k`. No noise changes, see the notes.
    neighboring : {"replace_one"}, default="replace_one"
        The number of records enters penalty and noise and is public.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the records as they are.
    intercept_ : float
    data_norm_, loss_ : float, str
        The norm to which records are clipped, new ones too, and the loss.
    classes_ : ndarray of shape (2,)
        The labels.
    regularization_ : float
        The penalty that was used, public.
    noise_ : float
        In unit bounds: rate of the noise (delta = 0) or its standard deviation.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if public numbers say that the noise drowns the longest possible gradient.

    Notes
    -----
    Rows x, clipped to norm r, become ``(x, r) / (r sqrt(2))`` with an intercept and ``x / r``
    without, of norm at most 1, for :func:`~dplit.linear.objective.objective_perturbation`; the
    intercept is penalised with the rest. New records are clipped as those of the training were.
    That the minimiser is found up to an error only is paid for with a thousandth of epsilon. The
    noise is exact (:mod:`dplit.mechanisms`).

    With weights, of the class times of the record, the mean loss is
    :math:`n^{-1}\sum_i c_{y_i}w_i\ell(\cdot)`. As c w is in [0, 1] on both sides of a replacement,
    slopes and second derivatives stay within the bounds of the loss, from which alone the noise
    follows (:func:`~dplit.linear.objective.objective_perturbation`); larger ones are refused.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, JMLR 12 (2011), Algorithm 2; Kifer, Smith and Thakurta,
    COLT 2012; for minimisers found approximately Iyengar et al., IEEE S&P 2019.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = ObjectivePerturbationClassifier(data_norm=1.0, classes=("low", "high"),
    ...     random_state=0)
    >>> model = model.fit(X, np.where(X[:, 0] > 0.25, "high", "low"))
    >>> model.predict([[-0.5], [0.75]]).tolist(), model.neighboring_
    (['low', 'high'], 'replace_one')

    One of twenty records is of the rare class, which is public; by weight it is half of them.

    >>> y = np.where(X[:, 0] > 0.9, "rare", "common")
    >>> told = {"data_norm": 1.0, "classes": ("common", "rare"), "random_state": 0}
    >>> plain = ObjectivePerturbationClassifier(**told)
    >>> alike = ObjectivePerturbationClassifier(class_weight={"common": 1 / 19, "rare": 1}, **told)
    >>> [float((m.fit(X, y).predict(X[y == "rare"]) == "rare").mean()) for m in (plain, alike)]
    [0.0, 1.0]
    """

    def __init__(
        self,
        *,
        loss: SmoothLoss = "huberised_hinge",
        regularization: float | None = None,
        smoothing: float = 0.5,
        epsilon: float = 1.0,
        delta: float = 0.0,
        data_norm: float | None = None,
        fit_intercept: bool = True,
        classes: tuple[Any, Any] | None = None,
        class_weight: Any = None,
        neighboring: Literal["replace_one"] = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.regularization = regularization
        self.smoothing = smoothing
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.class_weight = class_weight
        self.neighboring = neighboring
        self.random_state = random_state

    def _unit_rows(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return clipped rows in the unit ball, with a constant coordinate if asked."""
        norm = stated_norm(self.data_norm)
        rows = clip_rows(X, norm) / norm
        if check_flag("fit_intercept", self.fit_intercept):
            rows = lifted(rows)
        return rows

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Clip the records and minimise the perturbed risk.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Labels of two classes; with ``classes`` any labels.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        ObjectivePerturbationClassifier
        """
        self._check_parameters()
        found = classified_records(self, X, y, self.classes)
        return self._fit(*found, check_weights("sample_weight", sample_weight, len(found[0])))

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        only_replacement(self.neighboring, "the number of records enters the noise and is public")
        stated_norm(self.data_norm)
        check_choice("loss", self.loss, ("logistic", "huberised_hinge"))
        check_scale("smoothing", self.smoothing)
        if self.regularization is not None:
            check_scale("regularization", self.regularization)
        check_epsilon(self.epsilon)

    def _fit(
        self,
        records: NDArray[np.float64],
        classes: NDArray[Any],
        places: NDArray[np.intp],
        own: NDArray[np.float64] | None = None,
    ) -> Self:
        """Fit to checked records, which have weights of their ``own`` or not."""
        self.classes_ = classes
        weights = stated_weights(self.class_weight, classes)
        smoothing, epsilon = float(self.smoothing), float(self.epsilon)
        unit = silenced(self._unit_rows(records), places >= 0)
        if self.regularization is None:
            penalty = objective_default_penalty(
                n_records=len(records),
                dimension=unit.shape[1],
                epsilon=epsilon,
                delta=self.delta,
                loss=self.loss,
                smoothing=smoothing,
            )
        else:
            penalty = float(self.regularization)
        fitted = objective_perturbation(
            unit,
            signs_of(places),
            epsilon=epsilon,
            delta=self.delta,
            data_norm=1.0,
            regularization=penalty,
            loss=self.loss,
            smoothing=smoothing,
            weights=record_weights(weights, places, own),
            rng=noise_source(self.random_state),
        )
        self._publish(fitted, len(records), weighted=own is not None)
        return self

    def _publish(self, fitted: PerturbedObjective, n_records: int, *, weighted: bool) -> None:
        """Set the private attributes and the statement; warn from public numbers."""
        coef, norm = fitted.coef, stated_norm(self.data_norm)
        self.regularization_, self.noise_ = fitted.regularization, fitted.noise
        coef, constant = lowered(coef) if self.fit_intercept else (coef, 0.0)
        self.coef_, self.intercept_ = coef / norm, float(constant)
        self.data_norm_, self.loss_ = norm, self.loss
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = (
            f"replacing one of {n_records} records with its label (their number is public; rows "
            f"are clipped to norm {norm:g}, the two labels are {labels})"
        )
        promise = (fitted.epsilon, fitted.delta, fitted.neighboring, change)
        state_guarantee(self, *promise, weighted=weighted)
        _warn_if_noise_rules(
            n_records=n_records,
            dimension=len(fitted.coef),
            epsilon=fitted.epsilon,
            delta=fitted.delta,
            loss=self.loss,
        )

    def _has_probabilities(self) -> bool:
        """Only the logistic loss models probabilities."""
        loss = getattr(self, "loss_", self.loss)
        if loss != "logistic":
            raise AttributeError(
                f"predict_proba needs loss='logistic': no other loss models probabilities, "
                f"got loss={loss!r}"
            )
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logistic probabilities of the two classes, **not calibrated**.

        The penalty pulls them towards one half and the noise, which lengthens the weights, away
        from it; the records cannot correct either within the budget.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, clipped to ``data_norm`` as in training.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``; rows add to 1.
        """
        second = expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])


def _warn_if_noise_rules(
    *, n_records: int, dimension: int, epsilon: float, delta: float, loss: SmoothLoss
) -> None:
    """Warn, from public numbers alone, where noise drowns the longest gradient that records have.

    Slopes at the zero model are 1/2 (logistic) or 1; a mean length of the noise is that of the
    mechanism without the cost of the Jacobian, which is at most half of epsilon.
    """
    noise = objective_noise(epsilon=epsilon, delta=delta, data_norm=1.0, jacobian=0.0)
    length = dimension / noise if delta == 0.0 else noise * math.sqrt(dimension)
    longest = n_records * (0.5 if loss == "logistic" else 1.0)
    if longest < _LOUD * length:
        warn_of_noise(
            f"the noise of {n_records} records in {dimension} dimensions at epsilon={epsilon:g} is "
            f"{length / longest:.2g} times as long as the longest possible gradient: accuracy may "
            "be no better than the majority class"
        )
