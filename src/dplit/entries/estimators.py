"""The two mechanisms as scikit-learn estimators, with noise that does not look at the data.

**The responses are public in this paper.** Both estimators protect the entries of X, and only them:
whoever sees the fitted model may learn everything about y.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, spawn_generators, whole
from dplit._bounds import LARGEST_INPUT, Box, check_box
from dplit._checks import Array, check_choice, check_epsilon, check_flag, check_integer, quiet
from dplit._numerics.clipping import clamp
from dplit._predictors import LinearRegressor
from dplit._records import labelled_records
from dplit._statements import dp_statement
from dplit.entries._checks import LEAST_DELTA, check_least_delta
from dplit.entries.privacy import additive_sigma, fixed_variance, row_epsilon
from dplit.entries.projections import (
    ProjectionRelease,
    fit_projection,
    release_projection,
    useful_correction,
)
from dplit.mechanisms import gaussian_epsilon
from dplit.mechanisms.values import Gaussian

#: Larger budgets get the noise of this one.
_MOST_BITS = 300.0


class _EntryPrivateRegressor(LinearRegressor):
    """What the two estimators share: bounds, clipping, the solution, the statement."""

    epsilon: float
    delta: float
    bounds: tuple[ArrayLike, ArrayLike] | None
    correction: str
    fit_intercept: bool
    random_state: RandomState

    #: What the guarantee is of: less than a record.
    _unit = "entry"

    #: That of the conversion by which the guarantee is stated.
    _least_delta = 1e-300

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_least_delta(self.delta, self._least_delta)
        check_choice("correction", self.correction, ("none", "attenuation"))
        check_flag("fit_intercept", self.fit_intercept)

    def _scaled(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Box]:
        """Return entries clipped to [-1, 1], responses, and the box of the bounds.

        Records without a response are left out: who has one is as public as the responses are.
        """
        self._check_parameters()
        records, labels = labelled_records(self, X, y)
        box, known = check_box(self.bounds, records.shape[1]), ~np.isnan(labels)
        if box.half.min() < 1.0 / LARGEST_INPUT:  # coefficients are divided by it
            raise ValueError(
                f"bounds must be more than {2.0 / LARGEST_INPUT:g} apart in every column (measure "
                f"it in another unit), got bounds={self.bounds!r}"
            )
        return box.unit(records[known]), clamp(labels[known]), box

    def _publish(self, release: ProjectionRelease, noise: float, box: Box) -> None:
        """Solve from a release whose second column of ``y`` (if any) is the public constant."""
        Z, seen = np.asarray(release.X), np.asarray(release.y)
        target, shift = seen[:, 0], 0.0
        weights = np.zeros(0)
        if self.fit_intercept:  # take the public column out of everything
            one = seen[:, 1] / np.linalg.norm(seen[:, 1])
            weights, shift = one @ Z, float(one @ target)
            Z, target = Z - np.outer(one, weights), target - one * shift
        left = ProjectionRelease(Z, target)
        share = (len(Z) - len(seen[0]) + 1) / len(Z)  # of the rows: the rest lost its noise
        corrected = self.correction == "attenuation"
        amount = useful_correction(left, variance=share * noise) if corrected else 0.0
        theta = fit_projection(left, correction=amount)
        self.coef_ = theta / box.half
        self.intercept_ = -float(box.middle @ self.coef_)
        if self.fit_intercept:
            self.intercept_ += (shift - float(weights @ theta)) / float(np.linalg.norm(seen[:, 1]))

    def _state(
        self, n_records: int, entry: float, row: float, scheme: str, *, exact: bool = True
    ) -> None:
        """Set the guarantee and its sentence."""
        self.epsilon_, self.delta_ = float(self.epsilon), float(self.delta)
        self.neighboring_ = "replace_entry"
        self.entry_epsilon_, self.row_epsilon_ = entry, row
        change = (
            f"one entry and ({row:.4g}, {self.delta_:g}) for replacing one ROW of "
            f"{self.n_features_in_} entries, out of {n_records} (their number is public; entries "
            "clipped to the bounds). THE RESPONSES y, and which are missing, ARE TREATED AS PUBLIC "
            "AND ARE NOT PROTECTED"
        )
        self.privacy_statement_ = (
            f"{scheme}: {self.epsilon_:g} bits of mutual-information differential privacy for each "
            "ENTRY of X, all other entries being known; in the usual terms "
            + dp_statement(entry, self.delta_, change, random_state=self.random_state, exact=exact)
        )


class AdditiveNoiseRegressor(_EntryPrivateRegressor):
    """Least squares on noisy data; every entry of X is protected, **the responses are not**.

    Parameters
    ----------
    epsilon : float, default=0.5
        Budget in **bits** per entry of X (mutual-information differential privacy), positive. Half
        a bit is about (10, 1e-5)-differential privacy for one entry, and far more for a row.
    delta : float, default=1e-5
        In (0, 1): where the statements in (epsilon, delta)-differential privacy are made. It does
        not change the noise.
    bounds : tuple of (float or array_like of shape (n_features,))
        Lowest and highest entry, for all columns or for each. Entries outside are clipped. Must be
        given, and chosen without the data.
    correction : {"none", "attenuation"}, default="attenuation"
        "attenuation" takes off the Gram matrix as much of the noise's share as is worth it
        (:func:`dplit.entries.projections.useful_correction`; nothing where the release is mostly
        noise), at most 0.8 of its smallest eigenvalue. It reads the release alone, and so costs no
        privacy; where few directions carry the signal it can still cost accuracy.
    fit_intercept : bool, default=True
        Whether to fit a constant, through a public column of ones.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on entries scaled to [-1, 1].
    epsilon_ : float
        Budget in bits per entry.
    delta_, entry_epsilon_, row_epsilon_ : float
        (``entry_epsilon_``, ``delta_``)-differential privacy for one entry,
        (``row_epsilon_``, ``delta_``) for one row.
    neighboring_ : str
        "replace_entry".
    privacy_statement_ : str
        The guarantee in words, with its limits.
    n_features_in_ : int

    Notes
    -----
    The noise is exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (8)-(10) and Lemma 1.

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 2000).reshape(-1, 1)
    >>> model = AdditiveNoiseRegressor(epsilon=3.0, bounds=(-1.0, 1.0), random_state=0)
    >>> model = model.fit(X, 2.0 + 3.0 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 3.5) < 0.2), model.neighboring_
    (True, 'replace_entry')
    >>> "NOT PROTECTED" in model.privacy_statement_
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.5,
        delta: float = 1e-5,
        bounds: tuple[Any, Any] | None = None,
        correction: Literal["none", "attenuation"] = "attenuation",
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.correction = correction
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add noise to the clipped entries and solve least squares.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and responses, **used as they are and not protected**.

        Returns
        -------
        AdditiveNoiseRegressor
        """
        rows, labels, box = self._scaled(X, y)
        self.sigma_ = additive_sigma(epsilon=min(self.epsilon, _MOST_BITS))
        noisy = Gaussian(self.sigma_).add(
            rows,
            hides="entries of a table",
            sensitivity=2.0,
            rng=noise_source(self.random_state),
        )
        public = np.column_stack([labels, np.ones(len(rows))] if self.fit_intercept else [labels])
        self._publish(ProjectionRelease(noisy, public), self.sigma_**2, box)
        entry, row = (
            _epsilon(self.delta, self.sigma_, change)
            for change in (2.0, 2.0 * math.sqrt(rows.shape[1]))
        )
        self._state(len(rows), entry, row, "Additive noise")
        return self


def _epsilon(delta: float, sigma: float, change: float) -> float:
    """Epsilon of the Gaussian mechanism; infinite where the noise has all but vanished."""
    if change**2 > 1e15 * sigma**2:
        return math.inf
    return float(gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=change))


class RandomProjectionRegressor(_EntryPrivateRegressor):
    """Least squares on a noisy projection; every entry of X is protected, **the responses not**.

    The noise is ``n_components / (2 ** (2 epsilon) - 1)``, whatever the data: the published
    variance, which subtracts the energy of the columns, does not keep its promise.

    Parameters
    ----------
    epsilon : float, default=0.5
        Budget in **bits** per entry of X (mutual-information differential privacy), positive.
    delta : float, default=1e-5
        In (0, 1): where the statements in (epsilon, delta)-differential privacy are made. It does
        not change the noise.
    n_components : int, default=100
        Rows of the projection. With fewer rows than coefficients the fit is the one of least norm:
        still private, seldom useful.
    bounds : tuple of (float or array_like of shape (n_features,))
        Lowest and highest entry, for all columns or for each. Entries outside are clipped. Must be
        given, and chosen without the data.
    correction : {"none", "attenuation"}, default="none"
        "attenuation" takes off the Gram matrix as much of the noise's share as is worth it
        (:func:`dplit.entries.projections.useful_correction`; nothing where the release is mostly
        noise), at most 0.8 of its smallest eigenvalue. It reads the release alone, and so costs no
        privacy; where few directions carry the signal it can still cost accuracy.
    fit_intercept : bool, default=True
        Whether to fit a constant, through a public column of ones that is projected with the rest.
    random_state : int, Generator, RandomState or None, default=None
        Source of projection and noise. None takes entropy from the operating system; anything else
        is for reproduction and voids the privacy guarantee. ``clone`` copies a generator together
        with its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    sigma_ : float
        Standard deviation of the noise on the projection of entries scaled to [-1, 1].
    epsilon_ : float
        Budget in bits per entry.
    delta_, entry_epsilon_, row_epsilon_ : float
        (``entry_epsilon_``, ``delta_``)-differential privacy for one entry,
        (``row_epsilon_``, ``delta_``) for one row; both hold even if the projection were published.
    neighboring_ : str
        "replace_entry".
    privacy_statement_ : str
        The guarantee in words, with its limits.
    n_features_in_ : int

    Notes
    -----
    The guarantee holds for all X within the bounds and every fixed y, even if the projection is
    published: given S, an entry is seen through a Gaussian channel of power ``|s_i|^2 / sigma^2``,
    whose mean is ``2 ** (2 epsilon) - 1``. The noise is floating-point noise, for research.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), (12) and (14); the variance is ours.

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 2000).reshape(-1, 1)
    >>> model = RandomProjectionRegressor(epsilon=2.0, bounds=(-1.0, 1.0), random_state=0)
    >>> model = model.fit(X, 2.0 + 3.0 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 3.5) < 0.5), model.neighboring_
    (True, 'replace_entry')
    """

    _least_delta = LEAST_DELTA

    def __init__(
        self,
        *,
        epsilon: float = 0.5,
        delta: float = 1e-5,
        n_components: int = 100,
        bounds: tuple[Any, Any] | None = None,
        correction: Literal["none", "attenuation"] = "none",
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_components = n_components
        self.bounds = bounds
        self.correction = correction
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Project the clipped entries and the responses, add noise to the former and solve.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and responses, **projected without noise and not protected**.

        Returns
        -------
        RandomProjectionRegressor
        """
        n = check_integer("n_components", self.n_components)
        rows, labels, box = self._scaled(X, y)
        (noise,) = spawn_generators(self.random_state, 1)
        variance = fixed_variance(epsilon=min(self.epsilon, _MOST_BITS), n_components=n)
        self.sigma_ = math.sqrt(variance)
        public = np.column_stack([labels, np.ones(len(rows))] if self.fit_intercept else [labels])
        release = release_projection(rows, public, n_components=n, variance=variance, rng=noise)
        self._publish(release, variance, box)
        entry, row = (
            row_epsilon(delta=self.delta, variance=variance, n_components=n, row_change=change)
            for change in (2.0, 2.0 * math.sqrt(rows.shape[1]))
        )
        self._state(len(rows), entry, row, f"Random projection on {n} rows", exact=False)
        return self
