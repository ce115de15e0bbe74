"""A linear classifier with a margin guarantee as a scikit-learn estimator."""

from __future__ import annotations

import math
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import stated_norm
from dplit._checks import (
    check_between,
    check_choice,
    check_epsilon,
    check_flag,
    check_integer,
    check_interval,
    check_probability,
    check_scale,
    quiet,
    warn_of_noise,
)
from dplit._numerics.clipping import clip_rows, silenced
from dplit._predictors import ClippedLinearClassifier, signs_of
from dplit._records import classified_records
from dplit._statements import state_guarantee
from dplit.accounting import gdp_budget
from dplit.margins._checks import check_geometry
from dplit.margins._kinds import LinearMap, Solver
from dplit.margins._learning import learn
from dplit.margins.compressed import (
    _Projection,
    compress,
    draw_projection,
    expand,
    printed_dimension,
)
from dplit.margins.plans import LearningPlan, _signal_to_noise, margin_grid, plan_learning

#: Default margin over the largest one.
_MARGIN = 1.0 / 32.0

#: Share of epsilon that a choice of the margin keeps; the candidates share the rest.
_SHARE = 0.2

#: Margins of a grid, each a quarter of the one before.
_MOST_MARGINS = 100

#: From this number of records times level over the root of the columns on an intercept pays.
_AMPLE = 400.0

#: Longest gradient over noise, below which our simulations sank to the majority class.
_LOUD = 2.0


def _warn_if_noise_rules(
    n_samples: int, noise_dimension: int, *, epsilon: float, delta: float
) -> None:
    """Warn, from public numbers alone, where the noise drowns what a linear learner can learn."""
    mu = gdp_budget(epsilon=epsilon, delta=delta)
    ratio = _signal_to_noise(n_samples=n_samples, noise_dimension=noise_dimension, mu=mu)
    if ratio < _LOUD:
        warn_of_noise(
            f"the noise of {n_samples} records in {noise_dimension} dimensions at "
            f"epsilon={epsilon:g} is {1 / ratio:.2g} times as long as the longest possible "
            "gradient: accuracy may be no better than the majority class"
        )


def _check_reach(radius: float, data_norm: float, share: float) -> None:
    """Refuse lengths of which the least margin, that share of their product, is too short."""
    check_between("radius * data_norm", radius * data_norm, 1e-50 / share, 1e50)


def _planned(
    model: Any, shape: tuple[int, ...], data_norm: float, inflation: float, **told: Any
) -> LearningPlan:
    r"""Plan an estimator's learner, at its margin or at those of the grid for "private".

    The grid is :math:`4^{-j}\Lambda r`, j = 1, ..., ``n_margins``; a fifth of epsilon chooses.
    """
    margin, radius, share = model.margin, check_scale("radius", model.radius), 0.0
    if isinstance(margin, str):
        check_choice("margin", margin, ("private",))
        size, share = 2 * model.n_margins + 1, _SHARE
        _check_reach(radius, data_norm, 0.25**model.n_margins)
        grid = margin_grid(radius=radius, data_norm=data_norm, size=size)[2::2].tolist()
    else:
        if margin is None:
            _check_reach(radius, data_norm, _MARGIN)
        grid = [radius * data_norm * _MARGIN if margin is None else margin]
    balls = [check_geometry(rho, radius, data_norm).inflated(inflation) for rho in grid]
    return plan_learning(
        shape,
        balls,
        epsilon=model.epsilon,
        delta=model.delta,
        n_steps=model.n_steps,
        choice=share * model.epsilon,
        **told,
    )


class PrivateMarginClassifier(ClippedLinearClassifier):
    r"""Private linear classifier that minimises a hinge loss of a margin, projected or not.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, from 1e-50 to 1e20.
    delta : float, default=1e-6
        In (0, 1). Neither delta < 1/m nor epsilon <= log(1/delta) is needed: the noise is
        calibrated to the exact Gaussian profile.
    margin : float, "private" or None, default=None
        Margin of the hinge loss in (0, radius * data_norm], chosen without the data. None: 1/32 of
        the largest, see the notes. "private" chooses a quarter, a sixteenth,
        ... of the largest by the number of training errors: a fifth of epsilon goes to the choice,
        the rest to all candidates together, which pays where budgets are ample or margins wide.
    radius : float, default=1.0
        Norm of the comparators. Only ``margin / radius`` matters.
    data_norm : float or None, default=None
        Public bound on the norm of a record. Must be given; longer records are clipped.
    projection : {None, "fast", "sign"}, default=None
        Learn on the records, or on a random projection of them.
    n_components : int or None, default=None
        Projected dimension, at most the number of features; None: the published formula with
        constant 1, and no projection where that is not below the number of features.
    inflation : float, default=1.0
        Factor s >= 1 on both lengths after a projection; noise grows by its square. The paper's
        Algorithm 2 takes 2 for its accuracy; privacy rests on clipping and holds for every s.
    solver : {"accelerated", "noisy_gradient", "phased"}, default="accelerated"
        Full-batch gradient descent on a hinge with a rounded corner, accelerated; on the hinge
        itself; or the phased one with boosting.
    n_steps : int or None, default=None
        Steps of the full-batch descents. None: as many as it takes for noise to be what limits the
        accuracy, from the number of records, the dimension and the budget; 100 to 400 if
        accelerated, else 100 to 2000.
    n_margins : int, default=3
        Margins of the grid for ``margin="private"``, at most 100.
    fit_intercept : bool or None, default=None
        Whether to add a constant coordinate ``data_norm`` to every record, which lengthens the
        noise by the root of 2. None: where :math:`m\mu\ge400\sqrt d`, see the notes.
    beta : float, default=0.05
        Failure probability of the accuracy guarantees, in (1e-100, 1); privacy does not depend on
        it.
    classes : tuple or None, default=None
        The two labels, first the negative one. A record with another label, or without one,
        contributes nothing. None takes them from the data, as public.
    random_state : int, Generator, RandomState or None, default=None
        Source of projection and noise. None takes entropy from the operating system; anything else
        is for reproduction and voids the privacy guarantee. ``clone`` copies a generator together
        with its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the records as they are.
    intercept_ : float
    data_norm_ : float
        The norm to which records are clipped, new ones too.
    classes_ : ndarray of shape (2,)
        The classes, sorted unless given; public.
    margin_ : float
        The margin that was used.
    epsilon_, delta_ : float
    neighboring_ : str
        "replace_one".
    privacy_statement_ : str
        The guarantee in words, with its limits.
    n_features_in_ : int

    Notes
    -----
    The defaults read the numbers m and d of records and columns and the level :math:`\mu` of the
    budget in Gaussian differential privacy. On eight tables (wine and breast cancer with stated
    ranges, simulated ones of 3 to 50 columns, 400 to 39,000 records, epsilon .3 to 10) a margin of
    1/32 is within .02 of the best of 1/16, 1/32, 1/64 and 1/128 where m exceeds 500, and the
    intercept costs up to .04 of accuracy below the stated size and gains up to .01 above it, more
    where columns are not centred.

    New records are clipped as those of the training were, which matters with an intercept. A
    warning says, from public numbers alone, where the noise leaves little to learn. The noise is
    exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Bassily, Mohri and Suresh (2022), Algorithms 2 and 4; Appendix F (reconstruction).

    Examples
    --------
    >>> y = np.repeat(["no", "yes"], 2000)
    >>> X = np.where(y == "yes", 1.0, -1.0)[:, None] * [0.6, 0.8]
    >>> model = PrivateMarginClassifier(margin=0.5, data_norm=1.0, random_state=0).fit(X, y)
    >>> model.score(X, y), model.neighboring_
    (1.0, 'replace_one')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        margin: float | str | None = None,
        radius: float = 1.0,
        data_norm: float | None = None,
        projection: _Projection | None = None,
        n_components: int | None = None,
        inflation: float = 1.0,
        solver: Solver = "accelerated",
        n_steps: int | None = None,
        n_margins: int = 3,
        fit_intercept: bool | None = None,
        beta: float = 0.05,
        classes: tuple[Any, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.margin = margin
        self.radius = radius
        self.data_norm = data_norm
        self.projection = projection
        self.n_components = n_components
        self.inflation = inflation
        self.solver = solver
        self.n_steps = n_steps
        self.n_margins = n_margins
        self.fit_intercept = fit_intercept
        self.beta = beta
        self.classes = classes
        self.random_state = random_state

    def _check_parameters(self) -> float:
        check_epsilon(self.epsilon)
        check_probability("delta", self.delta)
        check_choice("solver", self.solver, get_args(Solver))
        check_scale("inflation", self.inflation)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps)
        check_integer("n_margins", self.n_margins, maximum=_MOST_MARGINS)
        if self.fit_intercept is not None:
            check_flag("fit_intercept", self.fit_intercept)
        check_interval("beta", self.beta, 1e-100, 1.0)
        if self.projection is not None:
            check_choice("projection", self.projection, get_args(_Projection))
        return stated_norm(self.data_norm)

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Clip the records, project them if asked, and learn privately.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : array_like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        PrivateMarginClassifier
        """
        norm = self._check_parameters()
        records, self.classes_, places = classified_records(self, X, y, self.classes)
        rows = clip_rows(records, norm)
        lifted = self._lifts(*rows.shape)
        if lifted:
            rows, norm = np.column_stack([rows, np.full(len(rows), norm)]), math.sqrt(2.0) * norm
        public, noise = spawn_generators(self.random_state, 2)
        phi = self._draw_map(rows.shape, public)
        if phi is not None:
            rows = compress(rows, phi)
        rows = silenced(rows, places >= 0)
        inflation = 1.0 if phi is None else self.inflation
        how = {"solver": self.solver, "beta": self.beta}
        plan = _planned(self, rows.shape, norm, inflation, **how)
        learnt = learn(rows, signs_of(places), plan, rng=noise_source(self.random_state, noise))
        self.margin_ = plan.balls[learnt.chosen].margin
        coef = learnt.weights if phi is None else expand(learnt.weights, phi)
        self.coef_ = coef[: records.shape[1]]
        self.data_norm_ = stated_norm(self.data_norm)
        self.intercept_ = float(coef[-1] * self.data_norm_) if lifted else 0.0
        self._state(len(rows), plan)
        _warn_if_noise_rules(*rows.shape, epsilon=self.epsilon, delta=self.delta)
        return self

    def _draw_map(self, shape: tuple[int, ...], public: np.random.Generator) -> LinearMap | None:
        """Draw the public projection, if one is asked for and does not keep all columns."""
        (m, d), k = shape, self.n_components
        if k is None:
            rule = printed_dimension(
                n_samples=m, epsilon=self.epsilon, delta=self.delta, beta=self.beta
            )
            k = min(d, rule)
        if self.projection is None or (self.n_components is None and k == d):
            return None
        return draw_projection(d, k, kind=self.projection, rng=public)

    def _lifts(self, m: int, d: int) -> bool:
        """Whether to learn an intercept: as asked, or where the noise is short."""
        if self.fit_intercept is not None:
            return self.fit_intercept
        mu = gdp_budget(epsilon=self.epsilon, delta=self.delta)
        return 2.0 * _signal_to_noise(n_samples=m, noise_dimension=d, mu=mu) >= _AMPLE

    def _state(self, n_records: int, plan: LearningPlan) -> None:
        chosen = "chosen privately within the budget" if self.margin == "private" else "given"
        labels = "given" if self.classes is not None else "taken from the data as public"
        change = (
            f"replacing one of {n_records} records with its label (their number is public; records "
            f"are clipped to norm {self.data_norm:g}, the two labels are {labels}, the margin is "
            f"{chosen}; {plan})"
        )
        state_guarantee(self, self.epsilon, self.delta, "replace_one", change)
