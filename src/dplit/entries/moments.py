r"""Least squares from noisy second moments at a budget per entry; the responses are public.

Who only fits needs no table: :math:`X^\top X` and :math:`X^\top y` are enough, and one entry moves
them by little. The noise is that of :func:`dplit.entries.variances.moment_variances`; a column of
ones, which nobody hides, is one more column.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, whole
from dplit._checks import Array, check_epsilon, check_flag, quiet
from dplit._numerics.exact import exact_gram, gram_rounding, grid_values
from dplit.entries._checks import check_least_delta
from dplit.entries._moments import (
    entry_variances,
    moment_epsilon,
    moment_mus,
    solve_moments,
)
from dplit.entries.estimators import _EntryPrivateRegressor
from dplit.linear._moments import Moments


class EntryMomentsRegressor(_EntryPrivateRegressor):
    r"""Least squares from noisy moments; every entry of X is protected, **the responses are not**.

    Parameters
    ----------
    epsilon : float, default=0.5
        Budget in **bits** per entry of X (mutual-information differential privacy), positive.
    delta : float, default=1e-5
        In (0, 1): where the statements in (epsilon, delta)-differential privacy are made. It does
        not change the noise.
    bounds : tuple of (float or array_like of shape (n_features,))
        Lowest and highest entry, for all columns or for each. Entries outside are clipped. Must be
        given, and chosen without the data.
    fit_intercept : bool, default=True
        Whether to fit a constant, through a public column of ones, whose moments get noise too.
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    gram_ : ndarray of shape (n_features, n_features)
        The release: noisy second moments of entries scaled to [-1, 1], about the noisy means if an
        intercept is fitted; not made definite.
    cross_ : ndarray of shape (n_features,)
        The release: their noisy moments with the responses, which are centred if an intercept is
        fitted.
    gram_sigma_, cross_sigma_ : float
        Standard deviations of the noise beside the diagonal of the former (times root two on it),
        and of the latter.
    alpha_ : float
        Penalty of the solution, chosen from the release and the responses; infinite, and the
        coefficients zero, where neither shows a signal.
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
    With g and c for the variances of the noise and u for responses in [-1, 1], an entry is seen
    through a Gaussian channel of power :math:`m/g+u^2/c`, m the number of the other columns, and
    through its square: at most ``epsilon`` bits if :math:`(m+\frac18 2^{2\epsilon})/g+1/c=
    2^{2\epsilon}-1`. Replacing it is :math:`\mu`-Gaussian with :math:`\mu=2\sqrt{m/g+1/c}`. Entries
    and responses are rounded to a public grid of 16 bits, on which sums are exact in every order;
    the penalty is the best for columns of equal energy and reads the release alone. Floating-point
    research noise, not a release.

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 2000).reshape(-1, 1)
    >>> model = EntryMomentsRegressor(epsilon=1.0, bounds=(-1.0, 1.0), random_state=0)
    >>> model = model.fit(X, 2.0 + 3.0 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 3.5) < 0.1), model.neighboring_
    (True, 'replace_entry')
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.5,
        delta: float = 1e-5,
        bounds: tuple[Any, Any] | None = None,
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_epsilon(self.epsilon)
        check_least_delta(self.delta, self._least_delta)
        check_flag("fit_intercept", self.fit_intercept)

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add noise to the second moments of the clipped entries, and solve.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and responses, **which are not protected**: their mean, bound and
            energy are used as they are.

        Returns
        -------
        EntryMomentsRegressor
        """
        rows, labels, box = self._scaled(X, y)
        noise = noise_source(self.random_state)
        (n, d), ones = rows.shape, int(bool(self.fit_intercept))
        middle = float(np.mean(labels)) if ones else 0.0
        largest = float(np.abs(labels - middle).max())
        unit = (labels - middle) / (largest or 1.0)
        energy = float(np.mean(unit**2))
        g, c = entry_variances(
            epsilon=self.epsilon, n_features=d, ones=ones, response_energy=energy
        )
        gram, cross = self._noisy(rows, unit, ones, (g, c), noise)
        self.cross_, means = cross, gram[:d, d:] / n
        self.gram_ = gram[:d, :d] - n * (means @ means.T)
        self.gram_sigma_, self.cross_sigma_ = math.sqrt(g), math.sqrt(c)
        theta, self.alpha_ = solve_moments(
            self.gram_, cross, variances=(g, c), n_samples=n, response_energy=energy
        )
        self.coef_ = largest * theta / box.half
        self.intercept_ = -float(box.middle @ self.coef_)
        if ones:
            self.intercept_ += middle - largest * float(means[:, 0] @ theta)
        entry, row = (moment_epsilon(self.delta, mu) for mu in moment_mus(d, ones, g, c))
        self._state(n, entry, row, "Noisy second moments")
        return self

    @staticmethod
    def _noisy(
        rows: Array,
        unit: Array,
        ones: int,
        variances: tuple[float, float],
        rng: np.random.Generator | None,
    ) -> tuple[Array, Array]:
        """Release the moments of ``[rows, 1]`` (or of the rows), and of the rows with ``unit``."""
        d, (g, c) = rows.shape[1], variances
        whole, step = grid_values(np.column_stack([rows, np.ones((len(rows), ones))]), 1.0)
        told, label_step = grid_values(unit[:, None], 1.0)
        others, loss = d - 1 + ones, gram_rounding(d * d + d)
        square = Fraction(step) ** 2
        exact = Moments(
            exact_gram(whole, whole),
            exact_gram(whole[:, :d], told)[:, 0],
            square,
            Fraction(step) * Fraction(label_step),
        )
        return exact.released(
            sigmas=(math.sqrt(2.0 * g), math.sqrt(c)),
            moved=(math.sqrt(max(8.0 * others, 1.0)) * (1.0 + loss), 2.0 * (1.0 + loss)),
            joint=moment_mus(d, ones, g, c)[0],
            rng=rng,
            responses="responses",
        )
