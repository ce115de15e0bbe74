"""k-means from a sketch as a scikit-learn estimator."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from dplit._boxes import check_box
from dplit._centers import CenterEstimator
from dplit._checks import Neighboring, check_integer
from dplit._estimators import RandomState
from dplit.sketching._sketch_estimator import FourierSketchEstimator, default_size
from dplit.sketching.clompr import decode_kmeans
from dplit.sketching.release import NoiseKind
from dplit.sketching.sketches import Sketch

__all__ = ["CompressiveKMeans"]


class CompressiveKMeans(CenterEstimator, FourierSketchEstimator):
    """Private k-means from one sketch of the data, or from a sketch that was released before.

    Parameters
    ----------
    n_clusters : int, default=8
        Number k of centres; ``k (d + 1)`` must not exceed twice the number of frequencies.
    epsilon : float or None, default=1.0
        In (0, inf); None learns without noise and without privacy.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for the other laws.
    bounds : pair
        Lowest and highest coordinate, numbers or one for each column: records are clipped to this
        box, and centres searched in it. Must be given, and chosen without the data.
    n_frequencies : int or None, default=None
        Size m of the sketch; None takes ``k min(10 d, 60 + 3 d)``. Below 2 k d the decoding fails.
    kind : {"fourier", "quantized"}, default="fourier"
        Complex exponentials, or two bits per frequency, which keep 0.81 of the signal's energy.
    gamma : float or None, default=None
        Frequencies are drawn from ``N(0, 2 gamma I)``: a public scale. None takes
        ``min(12.5, 4 + 32 / d) / d`` in units of the half width of the box, at which a decoder that
        starts anywhere in the box finds clusters anywhere in it. A larger one, as ``1 / (2 d s^2)``
        for separated clusters of small standard deviation s, resolves more and finds less: in many
        dimensions, or for small s, decoding then fails even without noise.
    noise : {"laplace", "gaussian", "polydisc", "cube"}, default="polydisc"
        Law of the noise. All but "gaussian" are pure; "polydisc" has a quarter of the variance of
        "laplace", and "cube" a sixth, which is for "quantized".
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation of the guarantee.
    n_restarts : int, default=2
        Decodings of which the one of least cost is kept, at no cost of privacy.
    random_state : int, Generator, RandomState or None, default=None
        Source of frequencies, noise and decoding, in three streams. None takes entropy from the
        operating system; anything else is for reproduction and voids the privacy guarantee.
        ``clone`` copies a generator together with its state, so that two clones share their noise.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Private centres.
    weights_ : ndarray of shape (n_clusters,)
        Their weights in the sketch, with sum 1.
    sketch_ : Sketch or None
        The released sketch, from which other things may be learned; None without privacy.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Warns
    -----
    UserWarning
        If less than half of what was decoded stands out of the noise; the centre of least weight is
        then the middle of the box, so that the cost is at most that of the middle alone. The
        warning is a function of the released sketch and names public numbers only.

    Notes
    -----
    The number of records is neither needed nor released: the whole budget goes to the sum. Labels
    of the training records are no attribute (they are as sensitive as the records), which is why
    this is no ``ClusterMixin``. The noise is floating-point research noise.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 2 and 17, equation (3).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.estimators import CompressiveKMeans
    >>> X = np.repeat([[-0.5, 0.5], [0.5, 0.0]], 5000, axis=0)
    >>> model = CompressiveKMeans(2, epsilon=1.0, bounds=(-1.0, 1.0), random_state=0).fit(X)
    >>> model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])].round(1) + 0.0
    array([[-0.5,  0.5],
           [ 0.5,  0. ]])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        n_frequencies: int | None = None,
        kind: Literal["fourier", "quantized"] = "fourier",
        gamma: float | None = None,
        noise: NoiseKind = "polydisc",
        neighboring: Neighboring = "add_remove",
        n_restarts: int = 2,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_frequencies = n_frequencies
        self.kind = kind
        self.gamma = gamma
        self.noise = noise
        self.neighboring = neighboring
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release the noisy sketch of the clipped records and decode it; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : object, default=None
            Ignored.

        Returns
        -------
        CompressiveKMeans
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``bounds`` is missing, a parameter is out of its range, the sketch is too small for
            so many clusters, or ``X`` is not a finite matrix.
        """
        k = check_integer("n_clusters", self.n_clusters)
        return self._fit_records(X, default_size, k)

    def fit_sketch(self, sketch: Sketch) -> Self:
        """Decode a sketch that was released before; its noise decides the guarantee.

        Parameters
        ----------
        sketch : Sketch
            Of Fourier features, with all of its noise (or none, and then without privacy).

        Returns
        -------
        CompressiveKMeans
            The estimator itself. ``epsilon``, ``noise`` and the map's parameters are not used;
            ``delta`` says where the epsilon of Gaussian noise is stated.

        Raises
        ------
        TypeError, ValueError
            If ``sketch`` is no complete sketch of Fourier features, or ``bounds`` is missing.
        """
        return self._fit_released(sketch)

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        k = check_integer("n_clusters", self.n_clusters)
        target, deviation = self._target(released)
        d, m = released.map.frequencies.shape
        middle = check_box(self.bounds, d).middle
        centres, weights = np.tile(middle, (k, 1)), np.zeros(k)
        if target.any():
            found = decode_kmeans(
                target, released.map.frequencies, k, bounds=self.bounds, rng=rng,
                n_restarts=self.n_restarts,
            )  # fmt: skip
            centres, weights = found.centroids, found.weights
        if not self._hears(released, weights * math.sqrt(m), deviation):
            centres[int(np.argmin(weights))] = middle  # never worse than the middle alone
        self.cluster_centers_ = centres
        total = float(weights.sum())
        self.weights_ = weights / total if total > 0 else np.full(k, 1.0 / k)
        self._n_features_out = k
        return self
