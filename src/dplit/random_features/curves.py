"""What an experiment returns: errors by method, with means and standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice

__all__ = ["Curves"]

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Test errors of several methods along one axis, all repetitions.

    Attributes
    ----------
    axis : ndarray of shape (n,)
        Numbers of features N, or of records m.
    axis_name : str
    errors : mapping of str to ndarray
        Mean squared test error by method; axis 0 is the repetition, axis 1 the position on
        ``axis``, axis 2 (where there is one) the privacy budget or the learning rate.
    epsilons : tuple of float
        Privacy budgets along axis 2 of private methods.
    learning_rates : tuple of float
        Learning rates of the SGD baseline, in units of 1/m.
    components : tuple of int
        Number of features at each position.
    """

    axis: _Array
    axis_name: str
    errors: Mapping[str, _Array]
    epsilons: tuple[float, ...]
    components: tuple[int, ...]
    learning_rates: tuple[float, ...] = field(default=(1.0,))

    @property
    def repeats(self) -> int:
        """Number of repetitions."""
        return len(next(iter(self.errors.values())))

    def mean(self, method: str) -> _Array:
        """Return the mean error of a method over repetitions; shape (n,) or (n, q)."""
        check_choice("method", method, self.errors)
        return np.asarray(self.errors[method].mean(axis=0))

    def sd(self, method: str) -> _Array:
        """Return the standard deviation over repetitions; shape (n,) or (n, q)."""
        check_choice("method", method, self.errors)
        return np.asarray(self.errors[method].std(axis=0, ddof=1))

    def se(self, method: str) -> _Array:
        """Return the standard error of the mean; shape (n,) or (n, q)."""
        return np.asarray(self.sd(method) / np.sqrt(self.repeats))

    def increment(self, method: str = "ours", base: str = "nonprivate") -> tuple[_Array, _Array]:
        """Return mean and standard error of the private minus the non-private error, (n, q).

        Both fits share split, features and row sequence, so what the split does to both cancels.
        """
        check_choice("method", method, self.errors)
        check_choice("base", base, self.errors)
        private, plain = self.errors[method], self.errors[base]
        gap = private - (plain if plain.ndim == private.ndim else plain[:, :, None])
        return gap.mean(axis=0), gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
