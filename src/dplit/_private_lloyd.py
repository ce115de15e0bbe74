"""Private Lloyd iterations as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from dplit._boxes import check_box
from dplit._centers import CenterEstimator
from dplit._checks import Neighboring, check_integer
from dplit._dp_lloyd import Noise, private_lloyd, spread_centers
from dplit._estimators import RandomState, dp_statement, spawn_generators

__all__ = ["PrivateLloyd"]


class PrivateLloyd(CenterEstimator):
    """Private k-means by noisy Lloyd steps from a public start.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        In (0, inf).
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    bounds : pair
        Lowest and highest coordinate, numbers or one for each column; records outside are clipped.
        Must be given, and chosen without the data.
    start : array_like of shape (n_clusters, n_features) or None, default=None
        Public starting centres; None spreads them in the box.
    n_iter : int, default=5
        Number of steps.
    noise : {"laplace", "gaussian"}, default="laplace"
        Law of the noise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation of the guarantee.
    random_state : int, Generator, RandomState or None, default=None
        Source of the start and, in a stream of its own, of the noise. None takes entropy from the
        operating system; anything else is for reproduction and voids the privacy guarantee.
        ``clone`` copies a generator together with its state, so that two clones share their noise.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Private centres.
    counts_ : ndarray of shape (n_clusters,)
        Noisy counts of the last step.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    No labels of the training records are published, and it is no ``ClusterMixin`` for that reason:
    ``predict`` labels records that the caller holds. The noise is floating-point research noise.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.baselines import PrivateLloyd
    >>> X = np.repeat([[-0.5], [0.5]], 5000, axis=0)
    >>> model = PrivateLloyd(2, bounds=(-1.0, 1.0), random_state=0).fit(X)
    >>> bool(abs(np.sort(model.cluster_centers_.ravel()) - [-0.5, 0.5]).max() < 0.05)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        start: ArrayLike | None = None,
        n_iter: int = 5,
        noise: Noise = "laplace",
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.start = start
        self.n_iter = n_iter
        self.noise = noise
        self.neighboring = neighboring
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Run the noisy steps on the clipped records; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : object, default=None
            Ignored.

        Returns
        -------
        PrivateLloyd
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``bounds`` is missing, a parameter is out of its range, or ``X`` is not a finite
            matrix.
        """
        k = check_integer("n_clusters", self.n_clusters)
        records = validate_data(self, X, dtype=np.float64)
        d = records.shape[1]
        box = check_box(self.bounds, d)
        public, noise = spawn_generators(self.random_state, 2)
        start = self.start
        if start is None:
            start = spread_centers(k, d, bounds=self.bounds, rng=public)
        elif np.shape(start) != (k, d):
            raise ValueError(
                f"start must have shape {(k, d)}, got start of shape {np.shape(start)}"
            )
        run = private_lloyd(
            records, start, bounds=self.bounds, epsilon=self.epsilon, delta=self.delta,
            n_iter=self.n_iter, noise=self.noise, neighboring=self.neighboring, rng=noise,
        )  # fmt: skip
        self.cluster_centers_, self.counts_ = run.centers, run.counts
        self.epsilon_, self.delta_, self.neighboring_ = run.epsilon, run.delta, run.neighboring
        change = "adding or removing" if self.neighboring == "add_remove" else "replacing"
        self.privacy_statement_ = dp_statement(
            run.epsilon,
            run.delta,
            f"{change} one record (coordinates clipped to bounds within [{box.low.min():g}, "
            f"{box.high.max():g}])",
            random_state=self.random_state,
        )
        self._n_features_out = k
        return self
