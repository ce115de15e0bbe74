"""What private linear regressions share: clipping to stated bounds, and warnings of few records."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._bounds import stated_ends, stated_norm
from dplit._checks import check_flag, warn_of_noise
from dplit._labels import check_weights
from dplit._numerics.clipping import clip_rows, silenced
from dplit._predictors import LinearRegressor
from dplit._records import labelled_records
from dplit._statements import state_guarantee
from dplit.linear._descent import PrivateCoefficients
from dplit.linear._moments import PrivateMoments

#: Default penalty of SufficientStatisticsRegressor over the one of the function.
NOISE_SHARE = math.sqrt(0.5)

#: Least ratio of the released weight of the constant to the default penalty.
LEAST_WEIGHT = 8.0


class ClippedLinearRegressor(LinearRegressor):
    """What the two estimators share: clipping to stated bounds, intercept, statement.

    Rows x, clipped to norm r, become ``(x, r) / (r sqrt(2))`` with an intercept and ``x / r``
    without; labels, clipped to the bounds, become ``(y - middle) / half``. Both then have unit
    bounds, and the released coefficients are put back into the units of the data.
    """

    #: All of its noise is Gaussian.
    _gaussian = True

    data_norm: float | None
    bounds: tuple[float, float] | None
    fit_intercept: bool

    def _limits(self) -> tuple[float, float, float]:
        """Return row norm, middle and half width of the label bounds; both must be stated."""
        check_flag("fit_intercept", self.fit_intercept)
        norm, (low, high) = stated_norm(self.data_norm), stated_ends(self.bounds)
        return norm, low / 2 + high / 2, high / 2 - low / 2

    def _unit_records(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows in the unit ball and labels in [-1, 1]; clipped before anything else."""
        records, labels = labelled_records(self, X, y)
        weights = check_weights("sample_weight", sample_weight, len(records))
        return self._unit_of(records, labels, weights)

    def _unit_of(
        self,
        records: NDArray[np.float64],
        labels: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return unit records of checked ones; those without a label, which is NaN, are zeros.

        A weight w in [0, 1] makes of a row x and a label y the row ``sqrt(w) x`` and the label
        ``sqrt(w) y``, which lie within the same bounds: what holds for all unit records holds for
        it. Its second moments are w times those of (x, y), and so is its squared loss.
        """
        norm, middle, half = self._limits()
        unit = clip_rows(records, norm) / norm
        if self.fit_intercept:
            unit = np.hstack([unit, np.ones((len(unit), 1))]) / np.sqrt(2.0)
        known = ~np.isnan(labels)
        inside = np.clip(np.where(known, labels, middle), middle - half, middle + half)
        rows, targets = silenced(unit, known), np.clip((inside - middle) / half, -1.0, 1.0)
        if weights is None:
            return rows, targets
        roots = np.sqrt(weights)
        return rows * roots[:, None], targets * roots

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records; they are not clipped.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_ + intercept_``, clipped to ``bounds`` as the labels were.
        """
        return np.asarray(np.clip(super().predict(X), *self._ends))

    def _publish(
        self, fitted: PrivateMoments | PrivateCoefficients, *, weighted: bool = False
    ) -> Self:
        """Set the private attributes from a release on unit records."""
        norm, middle, half = self._limits()
        self._ends = (middle - half, middle + half)
        coef, self.intercept_ = fitted.coef * half, middle
        if self.fit_intercept:
            coef = coef / np.sqrt(2.0)
            self.intercept_ += float(coef[-1])
            coef = coef[:-1]
        self.coef_ = coef / norm
        self.sigma_ = fitted.sigma
        added = fitted.neighboring == "add_remove"
        change = (
            f"{'adding or removing one record' if added else 'replacing one record'} (rows clipped "
            f"to norm {norm:g}, labels to [{middle - half:g}, {middle + half:g}]"
            f"{'' if added else '; their number is public'})"
        )
        promise = (fitted.epsilon, fitted.delta, fitted.neighboring, change)
        state_guarantee(self, *promise, weighted=weighted)
        return self


def warn_of_few(what: str) -> None:
    """Warn that so many records learn no more than a constant."""
    warn_of_noise(
        f"{what} are too few for this budget: expect predictions no better than a constant"
    )
