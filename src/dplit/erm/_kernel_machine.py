"""What the private kernel regressor and classifier share."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from dplit._checks import (
    check_choice,
    check_integer,
    check_interval,
    check_positive,
    check_probability,
)
from dplit._estimators import RandomState, clamp, dp_statement, spawn_generators
from dplit._prediction import feature_scores
from dplit.erm._defaults import default_regularization, default_width, expected_noise
from dplit.erm._feature_release import Release, release_weights
from dplit.features import cos_sin_features, random_frequencies

__all__ = ["KernelMachine"]


#: Noise of a prediction, for labels in [-1, 1], above which the defaults warn: labels deviate from
#: their mean by some tenths, and a decision function by up to 1.
_DROWNED = {"squared": 0.1, "pinball": 0.1, "hinge": 1.0, "logistic": 1.0}


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """Parameters, features, certified fit, release and statement; no fit of its own."""

    loss: Any
    regularization: float | None
    width: float | None
    n_components: int
    epsilon: float
    delta: float
    release: Release
    n_queries: int
    data_norm: float | None
    accuracy: float
    neighboring: str
    random_state: RandomState

    def _check_parameters(self, losses: tuple[str, ...]) -> None:
        """Check what does not depend on the data."""
        check_choice("loss", self.loss, losses)
        if self.regularization is not None:
            check_positive("regularization", self.regularization)
        if self.width is not None:  # angles of records up to 1e150 stay finite
            check_interval("width", self.width, 1e-100, 1e100)
        check_integer("n_components", self.n_components)
        check_positive("epsilon", self.epsilon)
        check_choice("release", self.release, ("gaussian_process", "gamma", "queries"))
        if self.release == "gaussian_process":
            check_probability("delta", self.delta)
        if self.release == "queries":
            check_integer("n_queries", self.n_queries)
            if self.data_norm is None:
                raise ValueError(
                    "data_norm must be given with release='queries': where the questions are asked "
                    "must not depend on the data, got data_norm=None"
                )
            check_positive("data_norm", self.data_norm)
        check_probability("accuracy", self.accuracy)
        if self.neighboring != "replace_one":
            raise ValueError(
                "neighboring must be 'replace_one' (the number of records enters the bound and is "
                f"public), got neighboring={self.neighboring!r}"
            )

    def _release_function(
        self, records: NDArray[np.float64], targets: NDArray[np.float64], tau: float, extra: str
    ) -> Self:
        """Fit and release on targets in [-1, 1]; set the private attributes."""
        public, noise = spawn_generators(self.random_state, 2)
        count, columns = records.shape
        width = default_width(columns) if self.width is None else self.width
        penalty = self._penalty(count, tau)
        gamma = 0.5 / width**2
        frequencies = random_frequencies(columns, self.n_components, gamma=gamma, rng=public)
        released = release_weights(
            clamp(records), targets, frequencies, loss=self.loss, tau=tau,
            regularization=penalty, epsilon=self.epsilon, delta=self.delta,
            release=self.release, n_queries=self.n_queries, data_norm=self.data_norm,
            accuracy=self.accuracy, public=public, noise=noise,
        )  # fmt: skip
        self.coef_, self.frequencies_, self.regularization_ = released.coef, frequencies, penalty
        self.sensitivity_, self.noise_scale_ = released.sensitivity, released.noise_scale
        self.epsilon_, self.delta_ = released.epsilon, released.delta
        self.neighboring_ = self.neighboring
        change = (
            f"replacing one of {count} records (their number is public; {extra}, inputs "
            "arbitrary); it covers the whole function"
        )
        self.privacy_statement_ = dp_statement(
            self.epsilon_, self.delta_, change, random_state=self.random_state
        )
        return self

    def _penalty(self, n_records: int, tau: float) -> float:
        """Return the penalty; the default warns where public numbers say that noise will win."""
        public: dict[str, Any] = {
            "loss": self.loss, "tau": tau, "n_records": n_records, "epsilon": self.epsilon,
            "delta": self.delta, "release": self.release, "n_queries": self.n_queries,
            "dimension": 2 * self.n_components,
        }  # fmt: skip
        if self.regularization is not None:
            return float(self.regularization)
        penalty = default_regularization(**public)
        noise = expected_noise(penalty, **public)
        if noise > _DROWNED[self.loss]:
            warnings.warn(
                f"the noise of a prediction has a standard deviation of {noise:.2g}, for labels in "
                f"[-1, 1], with {n_records} records and epsilon={self.epsilon:g}: a constant may "
                "predict as well (only public numbers say so)",
                UserWarning,
                stacklevel=3,
            )
        return penalty

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the released function at the rows of X."""
        return feature_scores(
            self, X, lambda records: cos_sin_features(clamp(records), self.frequencies_)
        )
