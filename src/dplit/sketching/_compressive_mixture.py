"""Gaussian mixtures from a sketch as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import DensityMixin

from dplit._boxes import check_box
from dplit._checks import Neighboring, check_integer
from dplit._estimators import RandomState
from dplit._prediction import fitted_records
from dplit.sketching._sketch_estimator import FourierSketchEstimator, default_size
from dplit.sketching.gmm_decoder import decode_mixture, log_density
from dplit.sketching.release import NoiseKind
from dplit.sketching.sketches import Sketch

__all__ = ["CompressiveGaussianMixture"]

_Array = NDArray[np.float64]


def _size(n_components: int, n_features: int) -> int:
    """Three times as many frequencies as centres alone ask for."""
    return 3 * default_size(n_components, n_features)


def _hidden_variance(deviation: float, sizes: _Array, energies: _Array, omega: _Array) -> _Array:
    """Return what to add to variances (k, d): their standard errors, and the means' squared.

    A variance that noise made too small costs likelihood without bound, one too large little. The
    errors are those of one component alone: the derivatives of its sketch ``w a`` are ``i w omega
    a`` in the mean and ``-w omega^2 a / 2`` in the variance.
    """
    squares = omega.T**2
    with np.errstate(divide="ignore", over="ignore"):
        noise = (deviation / sizes[:, None]) ** 2  # infinite for weight 0
        errors = noise / (energies @ squares), 4.0 * noise / (energies @ squares**2)
    return np.asarray(errors[0] + np.sqrt(errors[1]))


class CompressiveGaussianMixture(DensityMixin, FourierSketchEstimator):  # type: ignore[misc]
    """Private Gaussian mixture with diagonal covariances, from one sketch of the data.

    Parameters
    ----------
    n_components : int, default=1
        Number k of components; ``k (2 d + 1)`` must not exceed twice the number of frequencies.
    epsilon : float or None, default=1.0
        In (0, inf); None learns without noise and without privacy.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for the other laws.
    bounds : pair
        Lowest and highest coordinate, numbers or one for each column: records are clipped to this
        box, and means searched in it. Must be given, and chosen without the data.
    n_frequencies : int or None, default=None
        Size m of the sketch; None takes ``3 k min(10 d, 60 + 3 d)``.
    kind : {"fourier", "quantized"}, default="fourier"
        Complex exponentials, or two bits per frequency, which keep 0.81 of the signal's energy.
    gamma : float or None, default=None
        Frequencies are drawn from ``N(0, 2 gamma I)``: a public scale, as in
        :class:`CompressiveKMeans`.
    min_variance : float, default=1e-3
        Least variance of a coordinate, in units of the squared half width of the box.
    noise : {"laplace", "gaussian", "polydisc", "cube"}, default="polydisc"
        Law of the noise, as in :class:`CompressiveKMeans`.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation of the guarantee.
    n_starts : int, default=3
        Starts of the decoder, of which the one of least cost is kept, at no cost of privacy.
    random_state : int, Generator, RandomState or None, default=None
        Source of frequencies, noise and decoding, in three streams. None takes entropy from the
        operating system; anything else is for reproduction and voids the privacy guarantee.
        ``clone`` copies a generator together with its state, so that two clones share their noise.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_ : ndarray of shape (n_components, n_features)
        Variances, as in scikit-learn's ``GaussianMixture(covariance_type="diag")``, wider by what
        the noise hides of them and of the means.
    sketch_ : Sketch or None
        The released sketch; None without privacy.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Warns
    -----
    UserWarning
        If less than half of what was decoded stands out of the noise; every component is then the
        Gaussian with the moments of the uniform law on the box. The warning is a function of the
        released sketch and names public numbers only.

    Notes
    -----
    Weights are fitted freely and then normalised: the number of records is neither needed nor
    released. The noise is floating-point research noise.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 3 and equation (3).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.estimators import CompressiveGaussianMixture
    >>> X = np.random.default_rng(0).normal([[2.0]], 0.5, (20_000, 1))
    >>> model = CompressiveGaussianMixture(bounds=(-5.0, 5.0), random_state=0).fit(X)
    >>> model.means_.round(1), model.covariances_.round(1)
    (array([[2.]]), array([[0.2]]))
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        n_frequencies: int | None = None,
        kind: Literal["fourier", "quantized"] = "fourier",
        gamma: float | None = None,
        min_variance: float = 1e-3,
        noise: NoiseKind = "polydisc",
        neighboring: Neighboring = "add_remove",
        n_starts: int = 3,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_frequencies = n_frequencies
        self.kind = kind
        self.gamma = gamma
        self.min_variance = min_variance
        self.noise = noise
        self.neighboring = neighboring
        self.n_starts = n_starts
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
        CompressiveGaussianMixture
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``bounds`` is missing, a parameter is out of its range, the sketch is too small for
            so many components, or ``X`` is not a finite matrix.
        """
        k = check_integer("n_components", self.n_components)
        return self._fit_records(X, _size, k)

    def fit_sketch(self, sketch: Sketch) -> Self:
        """Decode a sketch that was released before; its noise decides the guarantee.

        Parameters
        ----------
        sketch : Sketch
            Of Fourier features, with all of its noise (or none, and then without privacy).

        Returns
        -------
        CompressiveGaussianMixture
            The estimator itself. ``epsilon``, ``noise`` and the map's parameters are not used;
            ``delta`` says where the epsilon of Gaussian noise is stated.

        Raises
        ------
        TypeError, ValueError
            If ``sketch`` is no complete sketch of Fourier features, or ``bounds`` is missing.
        """
        return self._fit_released(sketch)

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        k = check_integer("n_components", self.n_components)
        target, deviation = self._target(released)
        omega = released.map.frequencies
        box = check_box(self.bounds, len(omega))
        lengths = np.zeros(k)
        if target.any():
            found = decode_mixture(
                target, omega, k, bounds=self.bounds, rng=rng, n_starts=self.n_starts,
                min_variance=self.min_variance,
            )  # fmt: skip
            energies = np.exp(-found.variances @ omega**2)  # |a_lj|^2, (k, m)
            sizes = found.mass * found.weights
            lengths = sizes * np.sqrt(energies.sum(axis=1))
        if self._hears(released, lengths, deviation):
            self.weights_, self.means_ = found.weights, found.means
            self.covariances_ = found.variances
            if deviation > 0.0:
                added = _hidden_variance(deviation, sizes, energies, omega)
                most = np.maximum(found.variances, box.half**2 / 3.0)
                self.covariances_ = np.minimum(found.variances + added, most)
        else:  # the moments of the uniform law on the box, in every component
            self.weights_, self.means_ = np.full(k, 1.0 / k), np.tile(box.middle, (k, 1))
            self.covariances_ = np.tile(box.half**2 / 3.0, (k, 1))
        return self

    def score_samples(self, X: ArrayLike) -> _Array:
        """Log-likelihood of every record, of shape (n_samples,)."""
        return log_density(fitted_records(self, X), self.weights_, self.means_, self.covariances_)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log-likelihood of the records; ``y`` is ignored."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: ArrayLike) -> _Array:
        """Posterior probability of every component, of shape (n_samples, n_components)."""
        records = fitted_records(self, X)
        parts = [
            log_density(records, [1.0], mean[None], variance[None])
            for mean, variance in zip(self.means_, self.covariances_, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return np.asarray(softmax(np.stack(parts, axis=1) + np.log(self.weights_), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Most probable component of every record, of shape (n_samples,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.intp)

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.intp]:
        """Fit on ``X`` and return the labels of its records, which are not private."""
        return self.fit(X).predict(X)
