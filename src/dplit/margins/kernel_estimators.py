"""A private kernel classifier with a margin, on public random features."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._checks import (
    check_at_least,
    check_epsilon,
    check_integer,
    check_positive,
    check_probability,
    check_scale,
    quiet,
)
from dplit._numerics.clipping import silenced
from dplit._predictors import SignClassifier, feature_scores, signs_of
from dplit._records import classified_records
from dplit._statements import only_replacement, state_guarantee
from dplit.margins._learning import learn
from dplit.margins.estimators import _MOST_MARGINS, _planned, _warn_if_noise_rules
from dplit.margins.feature_maps import DirectFeatures, _direct_features
from dplit.margins.plans import LearningPlan
from dplit.margins.streamed import StreamedProjection, streamed_projection


class PrivateKernelMarginClassifier(
    SignClassifier,
    BaseEstimator,  # type: ignore[misc]
):
    r"""Private classifier of two classes with the kernel ``exp(-gamma ||x - x'||^2)``.

    Parameters
    ----------
    gamma : float or None, default=None
        Inverse squared width of the kernel, positive. ``X`` is used as it is: scale it with public
        constants. None is ``2 / n_features``, which suits columns scaled to [-1, 1]. Choosing
        ``gamma`` by looking at the data is not covered.
    n_components : int, default=200
        Number of coordinates in which the noise is drawn; rounded up to an even number if
        ``n_frequencies`` is None.
    n_frequencies : int or None, default=None
        None: half as many frequencies, used as they are. A number: so many frequencies,
        streamed and compressed to ``n_components`` coordinates as in Algorithm 3. With
        fewer than ``n_components / 2`` of them nothing is compressed: then None is better.
    inflation : float, default=1.0
        Factor s >= 1 at which compressed records are clipped and by which the ball grows; noise
        grows by its square. Algorithm 2 takes 2, which its proof of accuracy uses. Privacy rests on
        clipping and holds for every s; at 1 a distortion costs a part of the margin instead.
        Features that are not compressed keep their length and have no use for it.
    margin : float, "private" or None, default=None
        The paper's rho, in (0, radius]. None is ``radius / 32``; ``"private"`` chooses among
        ``radius / 4^j`` by the number of training errors, with a fifth of epsilon (the candidates
        share the rest).
    n_margins : int, default=3
        Number of candidates of the private choice, j = 1, 2, ..., at most 100.
    radius : float, default=1.0
        The paper's Lambda: norm of the predictors with which the result competes.
    n_steps : int or None, default=None
        Steps of accelerated noisy full-batch gradient descent. None: as many as it takes for noise
        to be what limits the accuracy, from public numbers alone; 100 to 400.
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=1e-5
        In (0, 1).
    classes : tuple or None, default=None
        The two labels, the first for negative values of the function. A record with another
        label, or without one, contributes nothing. None takes them from the data, and then they are
        **assumed public**.
    neighboring : {"replace_one"}, default="replace_one"
        Neighbouring relation: the number of records is public.
    random_state : int, Generator, RandomState or None, default=None
        Source of the features and of the noise, which get streams of their own. None takes entropy
        from the operating system; anything else is for reproduction and voids the privacy
        guarantee. ``clone`` copies a generator together with its state, so that two clones share
        their noise.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    coef_ : ndarray of shape (n_components,)
        Private weights.
    gamma_, margin_ : float
        Kernel parameter and margin that were used; the margin is private if it was chosen.
    features_ : object
        The public map, with a method ``transform``.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Mapped records have norm 1 whatever the input is, so that no bound on ``X`` is needed. The
    budget is spent exactly through Gaussian DP and needs neither ``delta < 1/m`` nor ``epsilon <=
    log(1/delta)``. The noise is exact (:mod:`dplit.mechanisms`).

    The defaults of ``gamma`` and ``margin`` read the number of columns and the radius alone. They
    come from simulated laws with columns in [-1, 1], 2 to 64 of them, and 200 to 2000 records at
    epsilon 1 and 10, where accuracy is flat around them: within a factor of two of either the mean
    over all changes by at most 0.015. Functions that are far smoother or rougher ask for others.

    References
    ----------
    Bassily, Mohri and Suresh (2022), arXiv:2204.10376, Algorithm 3 and Appendix F.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 2000).reshape(-1, 1)
    >>> model = PrivateKernelMarginClassifier(n_components=40, classes=("out", "in"),
    ...     random_state=0)
    >>> model = model.fit(X, np.where(np.abs(X[:, 0]) < 1.0, "in", "out"))
    >>> model.predict([[-2.0], [0.0]]).tolist(), model.neighboring_
    (['out', 'in'], 'replace_one')
    """

    def __init__(
        self,
        *,
        gamma: float | None = None,
        n_components: int = 200,
        n_frequencies: int | None = None,
        inflation: float = 1.0,
        margin: float | Literal["private"] | None = None,
        n_margins: int = 3,
        radius: float = 1.0,
        n_steps: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: tuple[Any, Any] | None = None,
        neighboring: Literal["replace_one"] = "replace_one",
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.inflation = inflation
        self.margin = margin
        self.n_margins = n_margins
        self.radius = radius
        self.n_steps = n_steps
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.neighboring = neighboring
        self.random_state = random_state

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        if self.gamma is not None:
            check_positive("gamma", self.gamma)
        check_integer("n_components", self.n_components)
        if self.n_frequencies is not None:
            check_integer("n_frequencies", self.n_frequencies)
        radius = check_scale("radius", self.radius)
        if isinstance(self.margin, str):
            if self.margin != "private":
                raise ValueError(f"margin must be a number or 'private', got {self.margin!r}")
            check_integer("n_margins", self.n_margins, maximum=_MOST_MARGINS)
        elif self.margin is not None and check_positive("margin", self.margin) > radius:
            raise ValueError(
                f"margin must be at most radius = {radius:g}: no predictor of the ball has a "
                f"larger one, got margin={self.margin!r}"
            )
        check_at_least("inflation", self.inflation, 1.0)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps)
        check_epsilon(self.epsilon)
        check_probability("delta", self.delta)
        only_replacement(self.neighboring, "the number of records is public")

    def _draw_features(
        self, n_features: int, rng: np.random.Generator
    ) -> DirectFeatures | StreamedProjection:
        """Draw the public map."""
        if self.n_frequencies is None:
            count = (self.n_components + 1) // 2
            return _direct_features(n_features, count, gamma=self.gamma_, rng=rng, double=True)
        return streamed_projection(
            n_features,
            self.n_frequencies,
            self.n_components,
            gamma=self.gamma_,
            rng=rng,
            double=True,
        )

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw the features and learn the weights privately.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records, used as they are.
        y : array_like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        PrivateKernelMarginClassifier
        """
        self._check_parameters()
        records, self.classes_, places = classified_records(self, X, y, self.classes)
        public, noise = spawn_generators(self.random_state, 2)
        self.gamma_ = 2.0 / records.shape[1] if self.gamma is None else float(self.gamma)
        self.features_ = self._draw_features(records.shape[1], public)
        rows = silenced(self.features_.transform(records), places >= 0)
        inflation = 1.0 if self.n_frequencies is None else self.inflation
        plan = _planned(self, rows.shape, 1.0, inflation, solver="accelerated")
        learnt = learn(rows, signs_of(places), plan, rng=noise_source(self.random_state, noise))
        self.coef_, self.margin_ = learnt.weights, plan.balls[learnt.chosen].margin
        self._publish(len(records), plan)
        _warn_if_noise_rules(*rows.shape, epsilon=self.epsilon, delta=self.delta)
        return self

    def _publish(self, count: int, plan: LearningPlan) -> None:
        """Set the attributes that state the guarantee."""
        labels = "given" if self.classes is not None else "taken from the data as public"
        margin = "chosen within the budget" if isinstance(self.margin, str) else "given"
        change = (
            f"replacing one of {count} records with its label (their number is public; the two "
            f"labels are {labels}, the margin is {margin}, inputs arbitrary; {plan})"
        )
        state_guarantee(self, self.epsilon, self.delta, self.neighboring, change)

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
        return feature_scores(self, X, lambda records: self.features_.transform(records))
