r"""Many columns: public random signs, then objective perturbation in few.

Without a delta the noise of a linear rule is as long as its dimension, and a record meets the root
of it. Signs that are drawn before anybody looks at a record throw d columns together into k; what
is lost is that an inner product of unit vectors moves by about :math:`1/\sqrt k`.

With a delta a record meets noise that does not grow with d, but its length grows with the root of
d. That costs whoever keeps rules in a ball: the noise takes the room of what is learnt. Where
records lie in few directions signs turn all of them alike, and the noise becomes shorter; where
they fill all columns the signs move each of them in a direction of its own.

Bassily, Mohri and Suresh (2022) project in both of their linear learners. The efficient one has a
delta; the hinge grows with d because rules are scaled into a ball, which the paper knows: "we do
not constrain the algorithm to output a predictor with bounded norm, which circumvents the
necessary dependence on the dimension in constrained DP optimization" (Section 3). The pure one
draws a rule by lot, and projects for the size of a cover. Pure noise that is added is not in the
paper. Clipping after the projection makes privacy sure, and a margin is what a projection keeps.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import stated_norm
from dplit._checks import (
    Array,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
    check_scale,
    quiet,
    warn_of_noise,
)
from dplit._labels import check_weights
from dplit._numerics.clipping import clip_rows, lifted, lowered, silenced
from dplit._predictors import ClippedLinearClassifier, signs_of
from dplit._records import classified_records
from dplit._statements import state_guarantee
from dplit.features import sign_projection
from dplit.linear.objective import objective_noise, objective_perturbation, smallest_regularization
from dplit.linear.objective_classifier import objective_penalty
from dplit.margins.compressed import compress, expand
from dplit.mechanisms import gaussian_sigma

#: Margin that is guessed where none is given, over the norm of a record.
_MARGIN = 1.0 / 16.0

#: Fewest dimensions after a projection: fewer lose tables that have no margin to speak of.
_FEWEST = 40

#: Default penalty times records times epsilon over the dimension.
_PENALTY = 0.2

#: Half width of the rounded corner of the hinge.
CORNER = 0.5


def pure_components(
    *, n_samples: int, n_features: int, epsilon: float, margin: float, flips: float = 0.0
) -> int:
    r"""Dimension k to project to before pure noise, or d where a projection does not pay.

    :math:`k=\rho m\epsilon(1-2q)/2`, at least 40; d unless :math:`d>2k`. At a share q of
    flipped labels the mean of :math:`y\Phi x` tells :math:`(1-2q)\rho^2` of a unit record; the
    signs move that by some :math:`(1-2q)\rho/\sqrt k` and the noise, of mean length
    :math:`2k/(m\epsilon)`, by :math:`2\sqrt k/(m\epsilon)`: k makes both equal, and their squares
    are together less than that of the noise in d columns where d > 2k.

    >>> pure_components(n_samples=300, n_features=1000, epsilon=1.0, margin=0.5)
    75
    >>> pure_components(n_samples=300, n_features=100, epsilon=1.0, margin=0.5)
    100
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features)
    rho = check_probability("margin", margin, one=True)
    kept = 1.0 - 2.0 * (check_interval("flips", flips, 0.0, 0.5) if flips else 0.0)
    k = max(_FEWEST, round(rho * m * check_epsilon(epsilon) * kept / 2.0))
    return k if 2 * k < d else d


def normal_components(
    *,
    n_samples: int,
    n_features: int,
    epsilon: float,
    delta: float,
    margin: float,
    flips: float = 0.0,
) -> int:
    r"""Dimension k to project to before normal noise, or d where a projection is not tried.

    :math:`k=((1-2q)\rho m/\sigma)^2` with :math:`\sigma` the deviation that hides a change of 2, at
    least 40; d unless :math:`d>2k`. At this k the noise of the mean of :math:`y\Phi x`, of length
    :math:`\sigma\sqrt k/m`, is as long as the mean, :math:`(1-2q)\rho`. One prediction meets
    :math:`\sigma/m` of it, for every k: so this is a rule for learners in a ball.

    >>> normal_components(n_samples=1000, n_features=2000, epsilon=1.0, delta=1e-6, margin=0.1)
    140
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features)
    rho = check_probability("margin", margin, one=True)
    kept = 1.0 - 2.0 * (check_interval("flips", flips, 0.0, 0.5) if flips else 0.0)
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=2.0))
    k = max(_FEWEST, round(min((kept * rho * m / sigma) ** 2, float(d))))
    return k if 2 * k < d else d


class ProjectedObjectiveClassifier(ClippedLinearClassifier):
    r"""Private linear classifier in many columns: random signs, then a perturbed risk.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=0.0
        In [0, 1/2). With 0 the noise is pure, above it is normal.
    margin : float or None, default=None
        Public guess of the margin of records of length ``data_norm``, in (0, ``data_norm``]. It
        chooses ``n_components`` and nothing else. None is a sixteenth of ``data_norm``.
    n_components : int or None, default=None
        Dimension after the projection, at most the number of features. None is
        :func:`pure_components` of public numbers, or :func:`normal_components` with a delta: no
        projection where d is not above twice of that.
    regularization : float or None, default=None
        Factor of the squared norm beside the mean loss, in unit bounds. None is a tenth of the mean
        length of the noise over n, ``k / (5 n epsilon)`` without a delta, more where double
        precision or the mechanism asks for it. From about 2 on the rule is the noisy mean of the
        records, turned to the second class.
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    fit_intercept : bool, default=False
        Whether every projected row gets a constant coordinate as long as ``data_norm``.
    classes : tuple or None, default=None
        The two labels, the first for negative scores. A record with another label, or without
        one, contributes nothing. None takes them from the data, and then they are **assumed
        public**.
    random_state : int, Generator, RandomState or None, default=None
        Source of the signs, which are public, and of the noise, from streams of their own. None
        takes entropy from the operating system; anything else is for reproduction and voids the
        privacy guarantee. ``clone`` copies a generator together with its state, so that two clones
        share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the records as they are.
    intercept_ : float
    data_norm_ : float
        The norm to which records are clipped, new ones too.
    classes_ : ndarray of shape (2,)
        The labels.
    n_components_ : int
        Dimension in which was learnt, public; ``n_features_in_`` where nothing was projected.
    projection_ : ndarray of shape (k, n_features) or None
        The public signs, over the root of their number k.
    regularization_, noise_ : float
        Penalty, and rate of the noise or with a delta its deviation, public, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee; "replace_one".
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        By ``fit``, if public numbers say that the noise in one prediction is longer than the square
        of the margin, or that the signs move it by more.

    Notes
    -----
    **Privacy.** The signs :math:`\Phi` are drawn before the records are looked at. Given them,
    row i is a function of record i alone, :math:`\Phi x_i/r` scaled back to length 1 where it is
    longer: to replace a record replaces a row, and
    :func:`~dplit.linear.objective.objective_perturbation` is private at the stated budget for any
    rows of length 1. So is its answer with :math:`\Phi`, for every :math:`\Phi`, hence on average
    over them; weights :math:`\Phi^\top w` are made of these two. Scaling back makes that *sure*:
    unlucky signs cost accuracy and no privacy, where a bound on lengths that holds with probability
    :math:`1-\beta` would need a delta of that size. Weights of records in [0, 1] change no
    condition of it.

    **Accuracy.** :func:`~dplit.papers.margin.projected.pure_margin_bound` has a proof,
    :func:`~dplit.papers.margin.projected.pure_mean_error` what to expect on round records. It fails
    where k is far from its rule (a fifth and four times of it err some ten times more), where
    :math:`\rho^3m\epsilon(1-2q)` is not above some 10 (no k helps), and it is no gain where d is
    below 2k. With a delta the noise of a prediction does not grow with the dimension, and what a
    projection shortens is noise beside a rule in a ball. At 1,000 records of 2,000 columns, a
    margin of .1, epsilon 1 and a delta of 1e-6, where k is 140, it errs .02 against .30 of
    ``PrivateMarginClassifier`` in all columns if records lie in 5 directions beside that of the
    margin, .12 against .18 in 20, .18 against .19 in 100, and .21 against .18 in all (two fits
    each; ``results/margin_choice.json`` has 300 and 3,000).

    Of penalties of :math:`ck/(n\epsilon)`, c = .03, .1, .33, 1, 3, those between .1 and .33 were
    near the best on MNIST's fours and nines at epsilon .3 to 10 and on laws with a minority that
    contradicts the mean. On round records, where the mean is right about all, ``regularization=2``
    and more errs far less: at 300 records, 1,000 columns, half a margin and epsilon 1 about .0005,
    against .03 by default. The noise is exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Achlioptas, J. Comput. Syst. Sci. 66 (2003); Chaudhuri, Monteleoni and Sarwate, JMLR 12 (2011),
    Algorithm 2; Nguyen, Ullman and Zakynthinou, Efficient private algorithms for learning
    large-margin halfspaces, ALT 2020.

    Examples
    --------
    >>> from dplit.papers.margin.separable import margin_data
    >>> X, y = margin_data(2000, 1000, margin=0.5, rng=np.random.default_rng(0))
    >>> model = ProjectedObjectiveClassifier(margin=0.25, data_norm=1.0, random_state=0).fit(X, y)
    >>> model.n_components_, bool(model.score(X, y) > 0.98), model.delta_
    (250, True, 0.0)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        margin: float | None = None,
        n_components: int | None = None,
        regularization: float | None = None,
        data_norm: float | None = None,
        fit_intercept: bool = False,
        classes: tuple[Any, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.margin = margin
        self.n_components = n_components
        self.regularization = regularization
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.random_state = random_state

    def _margin(self, norm: float) -> float:
        """Guess of the margin of unit records."""
        if self.margin is None:
            return _MARGIN
        if check_positive("margin", self.margin) > norm:
            raise ValueError(
                f"margin must be at most data_norm = {norm:g}: no record has a larger one, got "
                f"margin={self.margin!r}"
            )
        return min(self.margin / norm, 1.0)

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Clip the records, throw their columns together, clip again and minimise.

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
        ProjectedObjectiveClassifier
        """
        norm, epsilon = stated_norm(self.data_norm), check_epsilon(self.epsilon)
        delta = check_delta(self.delta)
        rho, lifts = self._margin(norm), check_flag("fit_intercept", self.fit_intercept)
        records, self.classes_, places = classified_records(self, X, y, self.classes)
        own = check_weights("sample_weight", sample_weight, len(records))
        self.data_norm_ = norm
        m, d = records.shape
        public, noise = spawn_generators(self.random_state, 2)
        self.projection_ = self._draw(m, d, rho, public)
        rows = clip_rows(records, norm) / norm
        if self.projection_ is not None:
            rows = clip_rows(compress(rows, self.projection_), 1.0)
        if lifts:
            rows = lifted(rows)
        fitted = objective_perturbation(
            silenced(rows, places >= 0),
            signs_of(places),
            epsilon=epsilon,
            delta=delta,
            data_norm=1.0,
            loss="huberised_hinge",
            smoothing=CORNER,
            regularization=self._penalty(*rows.shape),
            weights=own,
            rng=noise_source(self.random_state, noise),
        )
        self.regularization_, self.noise_ = fitted.regularization, fitted.noise
        weights, constant = lowered(fitted.coef) if lifts else (fitted.coef, 0.0)
        self.intercept_ = float(constant)
        drawn = self.projection_
        self.coef_ = (weights if drawn is None else expand(weights, drawn)) / norm
        self._publish(m, norm, weighted=own is not None)
        projected = drawn is not None
        _warn_if_margins_drown(m, self.n_components_, epsilon, delta, rho, projected=projected)
        return self

    def _draw(self, m: int, d: int, rho: float, rng: np.random.Generator) -> Array | None:
        """Draw the public signs, if any; sets ``n_components_``."""
        if self.n_components is None:
            told: Any = {"n_samples": m, "n_features": d, "epsilon": self.epsilon, "margin": rho}
            if self.delta:
                k = normal_components(**told, delta=self.delta)
            else:
                k = pure_components(**told)
            self.n_components_ = k
            return sign_projection(d, k, rng=rng) if k < d else None
        self.n_components_ = check_integer("n_components", self.n_components, maximum=d)
        return sign_projection(d, self.n_components_, rng=rng)

    def _penalty(self, m: int, k: int) -> float:
        """Penalty from public numbers, never below the mechanism's own rules."""
        if self.regularization is not None:
            return check_scale("regularization", self.regularization)
        told: Any = {"n_records": m, "loss": "huberised_hinge", "smoothing": CORNER}
        least = smallest_regularization(epsilon=self.epsilon, data_norm=1.0, **told)
        wanted = max(_PENALTY * _half_length(k, self.epsilon, self.delta) / m, least)
        exact = objective_penalty(epsilon=self.epsilon, dimension=k, delta=self.delta, **told)
        return max(wanted, exact) if exact > 3.0 / (m * self.epsilon) else wanted

    def _publish(self, n_records: int, norm: float, *, weighted: bool) -> None:
        """State the guarantee."""
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = (
            f"replacing one of {n_records} records with its label (their number and the projection "
            f"are public; rows are clipped to norm {norm:g}, and again in "
            f"{self.n_components_} dimensions; the two labels are {labels})"
        )
        promise = (self.epsilon, float(self.delta), "replace_one", change)
        state_guarantee(self, *promise, weighted=weighted)


def _half_length(k: int, epsilon: float, delta: float) -> float:
    """Half of the mean length of the noise in k dimensions, before the Jacobian takes its part."""
    if not delta:
        return k / epsilon
    noise = objective_noise(epsilon=epsilon, delta=delta, data_norm=1.0, jacobian=0.0)
    return noise * math.sqrt(k) / 2.0


def _warn_if_margins_drown(
    m: int, k: int, epsilon: float, delta: float, rho: float, *, projected: bool
) -> None:
    """Warn, from public numbers alone, where noise or signs are longer than what is learnt."""
    noise = 2.0 * _half_length(k, epsilon, delta) / math.sqrt(k) / m
    signs = rho / math.sqrt(k) if projected else 0.0
    if max(noise, signs) > rho**2:
        warn_of_noise(
            f"at a margin of {rho:.3g} of the norm the mean record tells {rho**2:.2g} of a unit "
            f"record, the noise of {m} records in {k} dimensions at epsilon={epsilon:g} moves it "
            f"by {noise:.2g}, the projection by {signs:.2g}: accuracy may be no better than the "
            "majority class"
        )
