"""Principal components from a sketch as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dplit._checks import (
    Neighboring,
    check_choice,
    check_integer,
    check_positive,
    check_probability,
)
from dplit._estimators import RandomState, clip_rows, spawn_generators, validated
from dplit._prediction import fitted_records
from dplit.features import orthonormal_blocks
from dplit.sketching._sketch_estimator import (
    SketchEstimator,
    frequency_count,
    noise_deviation,
    unit_scale,
)
from dplit.sketching.pca_decoder import compressive_pca, degrees_of_freedom
from dplit.sketching.release import NoiseKind
from dplit.sketching.sketches import Sketch, SketchMap

__all__ = ["CompressivePCA"]

_Array = NDArray[np.float64]


class CompressivePCA(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    SketchEstimator,
):
    """Private principal components of second moments, from one sketch of quadratic features.

    Parameters
    ----------
    n_components : int, default=2
        Number k of components, at most the number of columns.
    epsilon : float or None, default=1.0
        In (0, inf); None learns without noise and without privacy.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    n_frequencies : int or None, default=None
        Size m of the sketch, a multiple of the number of columns for "orthonormal"; None takes the
        least multiple that is at least 4 k d.
    frequencies : {"orthonormal", "gaussian"}, default="orthonormal"
        Union of random orthonormal bases, of least sensitivity, or independent Gaussian vectors.
    noise : {"laplace", "gaussian"}, default="laplace"
        Law of the noise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation of the guarantee.
    count_share : float, default=0.05
        Share of ``epsilon`` for the number of records, in (0, 1); under "replace_one" the number is
        public and nothing is spent on it.
    random_state : int, Generator, RandomState or None, default=None
        Source of frequencies, noise and decoding, in three streams. None takes entropy from the
        operating system; anything else is for reproduction and voids the privacy guarantee.
        ``clone`` copies a generator together with its state, so that two clones share their noise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, in order of falling second moment; the entry of largest modulus of each is
        positive.
    second_moments_ : ndarray of shape (n_components,)
        Mean squared lengths along the components, in the units of the data.
    sketch_ : Sketch or None
        The released sketch, of records divided by ``data_norm``; None without privacy.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int
        Number of columns of X.

    Warns
    -----
    UserWarning
        If the largest second moment in the released sketch is no larger than the noise makes one.
        The warning is a function of that sketch and names public numbers only.

    Notes
    -----
    Records are not centred: a private mean would need its own budget. Where one record is replaced,
    the sensitivities are those that hold, larger than the printed ones. In small dimensions
    a noisy covariance matrix (:mod:`dplit.sketching.covariance_release`) is at least as good; the
    sketch has fewer numbers where ``2 m < d^2``. The noise is floating-point research noise.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 5 and 6, equation (5), Lemmas 9 and 13.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.estimators import CompressivePCA
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [1.0, 0.1, 0.1]
    >>> model = CompressivePCA(1, data_norm=3.0, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 0]) > 0.99)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        data_norm: float | None = None,
        n_frequencies: int | None = None,
        frequencies: Literal["orthonormal", "gaussian"] = "orthonormal",
        noise: NoiseKind = "laplace",
        neighboring: Neighboring = "add_remove",
        count_share: float = 0.05,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.n_frequencies = n_frequencies
        self.frequencies = frequencies
        self.noise = noise
        self.neighboring = neighboring
        self.count_share = count_share
        self.random_state = random_state

    def _norm(self) -> float:
        if self.data_norm is None:
            raise ValueError(
                "data_norm must be given: a bound read from the data is not private, "
                "got data_norm=None"
            )
        return check_positive("data_norm", self.data_norm)

    def _draw_map(self, d: int, rng: np.random.Generator) -> SketchMap:
        """Return the public map, large enough for the components."""
        check_choice("frequencies", self.frequencies, ("orthonormal", "gaussian"))
        k = check_integer("n_components", self.n_components)
        if k > d:
            raise ValueError(f"n_components must be at most {d}, got n_components={k}")
        m = frequency_count(self.n_frequencies, 4 * k * d)
        if m < degrees_of_freedom(d, k):
            raise ValueError(
                f"n_frequencies must be at least {degrees_of_freedom(d, k)} for {k} components in "
                f"dimension {d}, got n_frequencies={m}"
            )
        if self.frequencies == "gaussian":
            return SketchMap("quadratic", rng.standard_normal((d, m)) / np.sqrt(d))
        if m % d:
            raise ValueError(f"n_frequencies must be a multiple of {d}, got n_frequencies={m}")
        return SketchMap("quadratic", orthonormal_blocks(d, m, rng=rng))

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
        CompressivePCA
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If ``data_norm`` is missing, a parameter is out of its range, the sketch is too small
            for so many components, or ``X`` is not a finite matrix.
        """
        self._check_privacy(("laplace", "gaussian"))
        share = check_probability("count_share", self.count_share)
        norm = self._norm()
        records = validated(self, X, dtype=np.float64)
        public, noise, search = spawn_generators(self.random_state, 3)
        sketch_map = self._draw_map(records.shape[1], public)
        unit = clip_rows(records, norm) / norm  # the other way round overflows
        if self.neighboring == "add_remove":
            released = self._release(unit, sketch_map, noise, count="split", split=1.0 - share)
        else:
            released = self._release(unit, sketch_map, noise, count="public")
        self._state_fit(released, f"rows clipped to norm {norm:g}")
        return self._decode(released, search)

    def fit_sketch(self, sketch: Sketch) -> Self:
        """Decode a sketch that was released before; its noise decides the guarantee.

        Parameters
        ----------
        sketch : Sketch
            Of quadratic features of records divided by ``data_norm``, with all of its noise (or
            none, and then without privacy). Without a count ``second_moments_`` are sums.

        Returns
        -------
        CompressivePCA
            The estimator itself. ``epsilon``, ``noise`` and the map's parameters are not used;
            ``delta`` says where the epsilon of Gaussian noise is stated.

        Raises
        ------
        TypeError, ValueError
            If ``sketch`` is no complete sketch of quadratic features, or ``data_norm`` is missing.
        """
        self._norm()
        released = self._accept(sketch, ("quadratic",))
        self._state_given(released)
        return self._decode(released, spawn_generators(self.random_state, 3)[2])

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        count = 1.0 if released.count is None else max(float(released.count), 1.0)
        unit, exponent = unit_scale(released.sum)
        found = compressive_pca(unit, released.map.frequencies, self.n_components, rng=rng)
        self._warn_of_noise(released, float(found.eigenvalues[0]), exponent)
        self.components_ = found.components.T.copy()
        with np.errstate(over="ignore"):
            moments = np.ldexp(found.eigenvalues / count, exponent) * self._norm() * self._norm()
        self.second_moments_ = np.minimum(moments, np.finfo(np.float64).max)
        self._n_features_out = len(self.components_)
        return self

    def _warn_of_noise(self, released: Sketch, largest: float, exponent: int) -> None:
        r"""Warn if the largest eigenvalue, of the sketch times ``2^-exponent``, may be noise alone.

        Of m unit vectors in dimension d, noise of deviation s on the sketch makes an eigenvalue of
        about :math:`s\,d\sqrt{d/m}/2`. Noise alone passes :math:`1/2+2/\sqrt d` times
        :math:`s\,d\sqrt{d/m}` in fewer than 3 fits of 100 (measured for d from 1 to 64).
        """
        d, m = released.map.frequencies.shape
        deviation = noise_deviation(released)
        squares = float(np.mean(np.sum(released.map.frequencies**2, axis=0)))
        with np.errstate(over="ignore"):
            unit = (0.5 + 2.0 / np.sqrt(d)) * d * np.sqrt(d / m) / squares
            level = float(np.ldexp(unit * deviation, -exponent))
        if deviation > 0.0 and largest <= level:
            warnings.warn(
                f"CompressivePCA: the noise of standard deviation {deviation:.3g} on each of {m} "
                f"frequencies hides the second moments in {d} dimensions; the components may be no "
                "better than any others. More records, a larger epsilon, fewer components or "
                "frequencies, or Gaussian noise with a delta would help",
                UserWarning,
                stacklevel=4,
            )

    def transform(self, X: ArrayLike) -> _Array:
        """Coordinates ``X @ components_.T`` of every record, of shape (n_samples, n_components)."""
        return np.asarray(fitted_records(self, X) @ self.components_.T)

    def inverse_transform(self, Z: ArrayLike) -> _Array:
        """Records ``Z @ components_`` of coordinates, of shape (n_samples, n_features)."""
        check_is_fitted(self)
        return np.asarray(np.asarray(Z, dtype=np.float64) @ self.components_)
