"""Private linear regression as estimators: noisy sufficient statistics and noisy gradient
descent.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, whole
from dplit._checks import (
    Neighboring,
    check_epsilon,
    check_flag,
    check_neighboring,
    check_positive,
    check_scale,
    quiet,
)
from dplit.linear._descent import noisy_gradient_descent, public_number
from dplit.linear._moments import sufficient_statistics
from dplit.linear._regressors import LEAST_WEIGHT, NOISE_SHARE, ClippedLinearRegressor, warn_of_few
from dplit.mechanisms import gaussian_sigma

#: Largest default number of steps of NoisyGradientRegressor, and the shortest time that learns.
_MOST_STEPS = 1000

_SHORTEST = 16.0

#: Its default clipping norms, and the time beyond which a budget goes into a larger one.
_CLIPS = (0.1, 0.5)

_AMPLE = 800.0

#: Clipping norm that clips nothing between label bounds, for budgets that have no other use.
_MOST_CLIP = 2.0


class SufficientStatisticsRegressor(ClippedLinearRegressor):
    r"""Private linear regression from one noisy release of second moments.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    alpha : float or None, default=None
        Ridge parameter on the scale of scikit-learn's ``Ridge``; None chooses it from the noise
        alone, see the notes. The intercept is penalised too, as
        ``alpha (intercept / data_norm)^2``, measured from the middle of the bounds.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    fit_intercept : bool, default=True
        Whether to fit a constant; False fixes it to the middle of the label bounds.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on the moments in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Default ``alpha``: ``sigma_ sqrt(d)`` in unit bounds, for d coefficients with the constant. The
    largest eigenvalue that the noise alone is expected to have, which
    :func:`~dplit.linear._moments.sufficient_statistics` takes, is sqrt(2) times that, and predicts
    worse on simulated laws. With an intercept, ``fit`` then warns where the released weight of the
    constant is below 8 alpha: noise and penalty pull all predictions towards the middle of the
    bounds. The warning reads the release alone. The noise is exact
    (:mod:`dplit.mechanisms`).

    A record of weight w adds what the record :math:`(\sqrt w\,x,\sqrt w\,y)` adds, in unit bounds,
    which lies within them as well: no sensitivity changes for weights in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> model = model.fit(X, 2.0 + X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1), model.neighboring_
    (True, 'add_remove')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        bounds: tuple[float, float] | None = None,
        alpha: float | None = None,
        neighboring: Neighboring = "add_remove",
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.alpha = alpha
        self.neighboring = neighboring
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Release the noisy moments of the clipped records and solve.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        SufficientStatisticsRegressor
        """
        check_epsilon(self.epsilon)
        penalty = self._unit_penalty()
        unit, labels = self._unit_records(X, y, sample_weight)
        moments = sufficient_statistics(
            unit,
            labels,
            epsilon=self.epsilon,
            delta=self.delta,
            data_norm=1.0,
            label_bound=1.0,
            neighboring=self.neighboring,
            alpha=penalty,
            rng=noise_source(self.random_state),
        )
        if self.alpha is None:  # from the noise alone, and the solution from the release
            alpha = NOISE_SHARE * moments.alpha
            moments = replace(moments, alpha=alpha, coef=moments.solve(alpha=alpha))
            weight = float(moments.gram[-1, -1])  # half the number of records, with noise
            if self.fit_intercept and weight < LEAST_WEIGHT * alpha:
                warn_of_few(f"about {max(2 * weight, 0):.0f} records (released with noise)")
        return self._publish(moments, weighted=sample_weight is not None)

    def _unit_penalty(self) -> float | None:
        """Return the stated penalty in unit bounds; solutions at it are floats."""
        if self.alpha is None:
            return None
        norm = self._limits()[0]
        alpha = check_positive("alpha", self.alpha)
        unit = alpha / (norm**2 * (2.0 if self.fit_intercept else 1.0))
        if not 1e-50 <= unit <= 1e50:
            raise ValueError(
                "alpha must be between 1e-50 and 1e50 times data_norm^2 (twice that with an "
                f"intercept), got alpha={self.alpha!r} at data_norm={norm:g}"
            )
        return unit


class NoisyGradientRegressor(ClippedLinearRegressor):
    """Private linear regression by noisy full-batch gradient descent on the squared loss.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    steps : int or None, default=None
        Number of gradient steps; the noise of each grows like its square root. None follows the
        number of records (where it is public, else ``public_size``), their dimension and the
        budget, see the notes; at most 1000.
    clip : float or None, default=None
        Norm to which gradients are clipped, in unit bounds: 1 clips none at the zero model. The
        noise is proportional to it, and a small one makes the fit robust: between mean and median.
        None is 0.1, and up to 0.5, or to 2, where the same numbers as for ``steps`` allow it.
    learning_rate : float, default=1.0
        Step length on the mean gradient in unit bounds, where the loss has curvature at most 1:
        below 2 the noiseless descent converges.
    radius : float or None, default=None
        Radius of the ball, in unit bounds, on which iterates are projected.
    average : bool, default=True
        Whether to return the mean of the last half of the iterates.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    public_size : int or None, default=None
        Number by which gradient sums are divided; must be given under ``add_remove``.
    fit_intercept : bool, default=True
        Whether to fit a constant; False fixes it to the middle of the label bounds.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on each sum of gradients, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Default steps: in T steps of length r the noise adds up to predictions of mean square at most
    ``r T d (s/n)^2 / 2`` over d coordinates, with s the noise of one release of a clipped gradient
    sum, and what a model of norm 2 has left to learn is at most ``2/(e r T)``, in unit bounds. The
    two are equal at ``r T = 2 n/(s sqrt(e d))``; no record is read. Where that is below 16 or below
    4/clip (for clipped steps to cross the range of the labels twice), ``fit`` warns. As s is
    proportional to ``clip``, the default of that is the one with ``r T = 800``, but at least 0.1,
    the best at small budgets on simulated laws, and at most 0.5; what 1000 steps leave of a budget
    goes into a larger one, up to 2, which clips nothing: smaller ones pull predictions of a skewed
    label towards its median. The noise is exact (:mod:`dplit.mechanisms`).

    Weights in [0, 1] multiply gradients before they are clipped, and change no sensitivity. Sums
    are divided by the public number of records and not by the sum of weights, which is as secret as
    they are: small ones learn more slowly.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = NoisyGradientRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> model = model.fit(X, 2.0 + X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1), model.neighboring_
    (True, 'replace_one')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        bounds: tuple[float, float] | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float = 1.0,
        radius: float | None = None,
        average: bool = True,
        neighboring: Neighboring = "replace_one",
        public_size: int | None = None,
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.radius = radius
        self.average = average
        self.neighboring = neighboring
        self.public_size = public_size
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Descend on the clipped records.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        NoisyGradientRegressor
        """
        unit, labels = self._unit_records(X, y, sample_weight)
        clip, steps = self._schedule(*unit.shape)
        fitted = noisy_gradient_descent(
            unit,
            labels,
            epsilon=self.epsilon,
            delta=self.delta,
            clip=clip,
            steps=steps,
            learning_rate=self.learning_rate,
            neighboring=self.neighboring,
            public_size=self.public_size,
            radius=self.radius,
            average=self.average,
            rng=noise_source(self.random_state),
        )
        return self._publish(fitted, weighted=sample_weight is not None)

    def _schedule(self, n_records: int, d: int) -> tuple[float, int]:
        """Return clipping norm and steps, from public numbers; warn where these are too few."""
        check_neighboring(self.neighboring)
        check_epsilon(self.epsilon)
        check_flag("average", self.average)
        rate = check_scale("learning_rate", self.learning_rate)
        n = public_number(n_records, self.neighboring, self.public_size)
        moved = 1.0 if self.neighboring == "add_remove" else 2.0
        noise = gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=moved)
        reach = 2.0 * n / (noise * math.sqrt(math.e * d))  # clipping norm times time
        if self.clip is None:
            clip = min(max(reach / _AMPLE, _CLIPS[0]), _CLIPS[1])
            if self.steps is None:
                clip = max(clip, min(reach / (_MOST_STEPS * rate), _MOST_CLIP))
        else:
            clip = check_scale("clip", self.clip)
        if self.steps is not None:
            return clip, self.steps
        time = reach / clip
        if time < max(_SHORTEST, 4.0 / clip):
            warn_of_few(f"{n} records with {d} coefficients")
        return clip, min(max(math.ceil(time / rate), 1), _MOST_STEPS)
