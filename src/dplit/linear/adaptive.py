"""AdaSSP: linear regression from noisy moments, with a penalty that is chosen privately."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._base import RandomState, noise_source, whole
from dplit._checks import (
    Neighboring,
    check_epsilon,
    check_interval,
    check_neighboring,
    check_probability,
    quiet,
)
from dplit._numerics.exact import exact_gram, grid_rows
from dplit.linear._adaptive import LEAST_PENALTY, budget_of, released_eigenvalue, three_releases
from dplit.linear._moments import sufficient_statistics
from dplit.linear._regressors import ClippedLinearRegressor
from dplit.mechanisms import gaussian_sigma


class AdaSSPRegressor(ClippedLinearRegressor):
    r"""Private linear regression from noisy moments, the penalty by a noisy least eigenvalue.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    bounds : tuple of float
        Lowest and highest label; labels outside are clipped. Must be given as well.
    rho : float, default=0.05
        Probability, in (1e-100, 1), with which the noise may pass the bound that the penalty
        covers.
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
    least_eigenvalue_ : float
        Released lower bound on the least eigenvalue of the second moments, in unit bounds; 0 where
        the noise leaves nothing of it.
    alpha_ : float
        Penalty that was chosen from it, in unit bounds.
    sigma_ : float
        Standard deviation of the noise on each of the three releases, in unit bounds.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Notes
    -----
    Three releases share the noise, of deviation s in unit bounds: the least eigenvalue of
    :math:`X^\top X`, this matrix, and :math:`X^\top y`. With
    :math:`\tilde\lambda=\max(\lambda+sz-s\sqrt{\log(6/\delta)},0)` the penalty is

    .. math:: \alpha=\max\bigl(0,\ s\sqrt{d\log(2d^2/\varrho)}-\tilde\lambda\bigr).

    The paper takes :math:`s=3\sqrt{\log(6/\delta)}/\epsilon`, thirds of the budget. Here s is exact
    for the three together, 0.62 of that at epsilon = 1 and delta = 1e-6, and holds at
    every budget; the noise on the matrix is isotropic, half its variance off the diagonal; and
    negative eigenvalues of the released matrix are set to 0. The same repairs as
    :class:`~dplit.linear.regressors.SufficientStatisticsRegressor` has, which spends nothing on the
    penalty and takes about :math:`s\sqrt d`. The noise is exact (:mod:`dplit.mechanisms`). Weights
    of records in [0, 1] change no sensitivity, as there.

    References
    ----------
    Wang, Revisiting differentially private linear regression: optimal and adaptive prediction and
    estimation in unbounded domain, UAI 2018, arXiv:1803.02596, Algorithm 2.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = AdaSSPRegressor(data_norm=1.0, bounds=(0.0, 4.0), random_state=0)
    >>> model = model.fit(X, 2.0 + X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1), model.alpha_ == model.sigma_ * 2**-20
    (True, True)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        bounds: tuple[float, float] | None = None,
        rho: float = 0.05,
        neighboring: Neighboring = "add_remove",
        fit_intercept: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.rho = rho
        self.neighboring = neighboring
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Release the least eigenvalue and the moments of the clipped records, and solve.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, n_features) and (n_samples,)
            Finite records, and labels; a record without a finite one contributes nothing.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each record in [0, 1], as secret as the record, by which its loss is
            multiplied; None is 1 for all.

        Returns
        -------
        AdaSSPRegressor
        """
        check_neighboring(self.neighboring)
        budget = check_epsilon(self.epsilon), check_probability("delta", self.delta)
        rho = check_interval("rho", self.rho, 1e-100, 1.0)
        unit, labels = self._unit_records(X, y, sample_weight)
        d = unit.shape[1]
        alone, together = three_releases(d, self.neighboring)
        sigma = gaussian_sigma(
            epsilon=budget[0], delta=budget[1], sensitivity=math.hypot(alone, together)
        )
        rng = noise_source(self.random_state)
        noisy = _noisy_least_eigenvalue(unit, sensitivity=alone, sigma=sigma, rng=rng)
        epsilon, delta = budget_of(sigma, together)
        moments = sufficient_statistics(
            unit,
            labels,
            epsilon=epsilon,
            delta=delta,
            data_norm=1.0,
            label_bound=1.0,
            neighboring=self.neighboring,
            rng=rng,
        )
        self.least_eigenvalue_ = max(noisy - sigma * math.sqrt(math.log(6.0 / budget[1])), 0.0)
        reach = sigma * math.sqrt(d * math.log(2.0 * d * d / rho))
        self.alpha_ = max(reach - self.least_eigenvalue_, LEAST_PENALTY * sigma)
        coef = moments.solve(alpha=self.alpha_)
        whole: dict[str, Any] = {"epsilon": budget[0], "delta": budget[1], "sigma": sigma}
        told = replace(moments, coef=coef, alpha=self.alpha_, **whole)
        return self._publish(told, weighted=sample_weight is not None)


def _noisy_least_eigenvalue(
    unit: NDArray[np.float64], *, sensitivity: float, sigma: float, rng: np.random.Generator | None
) -> float:
    """Return the least eigenvalue of the second moments of rows of norm 1, with noise.

    Rows are on the grid of :func:`~dplit.linear._moments.sufficient_statistics`: the matrix has the
    same bits in every order of the records.
    """
    rows, step = grid_rows(unit, 1.0)
    least = float(np.linalg.eigvalsh(exact_gram(rows, rows))[0]) * step * step
    return released_eigenvalue(least, sensitivity=sensitivity, sigma=sigma, rng=rng)
