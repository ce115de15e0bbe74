"""What an experiment returns: errors by method, with means and standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dplit._checks import Array, check_choice
from dplit_studies.trials import Estimate, _QuantileBand, mean_and_se, quantile_band


@dataclass(frozen=True)
class Runs:
    """Results of several methods, all repetitions kept.

    Attributes
    ----------
    values : mapping of str to ndarray of shape (repeats, ...)
        Method -> its results; axis 0 is the repetition.

    Examples
    --------
    >>> runs = Runs({"ours": np.array([1.0, 3.0]), "theirs": np.array([2.0, 5.0])})
    >>> runs.gap("theirs", "ours")
    Estimate(mean=np.float64(1.5), se=np.float64(0.5))
    """

    values: Mapping[str, Array]

    @property
    def repeats(self) -> int:
        """Number of repetitions."""
        return len(next(iter(self.values.values())))

    def of(self, method: str) -> Array:
        """Return all results of a method; a ``ValueError`` lists the methods there are."""
        return self.values[check_choice("method", method, self.values)]

    def mean(self, method: str) -> Array:
        """Return the mean over repetitions."""
        return np.asarray(self.of(method).mean(axis=0))

    def se(self, method: str) -> Array:
        """Return the standard error of the mean; at least two repetitions."""
        return np.asarray(mean_and_se(self.of(method)).se)

    def median(self, method: str) -> Array:
        """Return the median over repetitions."""
        return np.asarray(np.median(self.of(method), axis=0))

    def band(self, method: str, *, coverage: float = 0.8) -> _QuantileBand:
        """Return the median between the quantiles that hold ``coverage`` of the repetitions."""
        return quantile_band(self.of(method), coverage=coverage)

    def gap(self, method: str, base: str) -> Estimate:
        """Return mean and standard error of the paired differences ``method - base``."""
        return mean_and_se(self.of(method) - self.of(base))
