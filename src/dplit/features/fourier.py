"""Random Fourier features and their Gram matrices. Public through :mod:`dplit.features`."""

from __future__ import annotations

import math
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplit._base import RandomState, spawn_generators, whole
from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit._numerics.blocks import Kind, Plan, fill, frequency_blocks
from dplit._records import validated


def gaussian_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, gamma: float) -> Array:
    """Gaussian kernel ``exp(-gamma ||x - y||^2)`` of all pairs, of X with itself by default.

    Parameters
    ----------
    X, Y : array_like of shape (n_samples, n_features) and (n_others, n_features)
        Finite records; inner products of their features are unbiased for the kernel.
    gamma : float
        Positive; 1 / (2 h^2) for a kernel of width h.

    Returns
    -------
    ndarray of shape (n_samples, n_others)

    Examples
    --------
    >>> gaussian_kernel([[0.0], [1.0]], gamma=2.0).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """
    left = check_real_array("X", X, 2, copy=False)
    right = left if Y is None else check_real_array("Y", Y, 2, copy=False)
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"Y must have {left.shape[1]} columns, got Y of shape {right.shape}")
    squares = cdist(left, right, "sqeuclidean")
    with np.errstate(over="ignore"):  # far points
        return np.asarray(np.exp(-check_positive("gamma", gamma) * squares))


#: Bytes of one block of frequencies in :func:`feature_gram`.
_GRAM_BLOCK_BYTES = 1 << 26


def feature_gram(
    X: ArrayLike,
    frequencies: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    kind: Kind = "cos_sin",
    phases: ArrayLike | None = None,
    normalize: bool = True,
) -> NDArray[Any]:
    """Gram matrix ``<phi(x_j), phi(y_l)>`` of a random feature map that is never formed.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records; float32 gives a single-precision Gram matrix.
    frequencies : array_like of shape (n_features, K)
        One frequency per column.
    Y : array_like of shape (n_others, n_features), optional
        Other records; by default X itself, and the result is Hermitian.
    kind : {"cos_sin", "phased_cosine", "complex"}, default="cos_sin"
        Which of the three maps.
    phases : array_like of shape (K,), optional
        Needed by, and only by, ``"phased_cosine"``.
    normalize : bool, default=True
        Whether the map carries its factor ``1/sqrt(K)`` (``sqrt(2/K)`` for phased cosines).

    Returns
    -------
    ndarray of shape (n_samples, n_others)
        ``Phi(X) Phi(Y)^*``; complex for the complex map. Its expectation over the frequencies is
        the kernel matrix ``exp(-gamma ||x_j - y_l||^2)``.

    Notes
    -----
    Summed over blocks of frequencies; memory: the result, one product of its size and one block of
    64 MB (of one frequency if that is larger).

    Examples
    --------
    >>> feature_gram([[0.0], [1.0]], [[3.141592653589793]]).round(12)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    check_choice("kind", kind, get_args(Kind))
    left = Plan.make(X, frequencies, phases, kind=kind, normalize=normalize)
    right = left if Y is None else left.beside(Y)
    gram = np.zeros((len(left.X), len(right.X)), left.dtype)
    per_frequency = (len(left.X) + len(right.X)) * left.dtype.itemsize
    step = max(1, _GRAM_BLOCK_BYTES // per_frequency)
    if right is left:
        for block in frequency_blocks(left, step):
            gram += block @ block.conj().T
        return gram
    others = frequency_blocks(right, step)
    for block, other in zip(frequency_blocks(left, step), others, strict=True):
        gram += block @ other.conj().T
    return gram


def random_frequencies(
    n_features: int, n_components: int, *, gamma: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Frequencies ``w_k ~ N(0, 2 gamma I)``, the Fourier transform of ``exp(-gamma ||x||^2)``.

    Parameters
    ----------
    n_features, n_components : int
        Dimension d of the records and number N of frequencies, at least 1.
    gamma : float
        Inverse squared width of the kernel, in (0, inf).
    rng : numpy.random.Generator
        Source of the draw: public randomness, never the stream of the privacy noise.

    Returns
    -------
    ndarray of shape (n_features, n_components)
        One frequency per column; the columns are drawn one after the other, so that the first N of
        a longer draw from the same generator state are the draw of N.

    Notes
    -----
    By Bochner's theorem ``E exp(i <w, x - y>) = exp(-gamma ||x - y||^2)`` exactly when the
    coordinates of w are independent with variance ``2 gamma``.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, NeurIPS 2007, Section 3.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> random_frequencies(3, 5, gamma=0.5, rng=stream(0, "example", "public")).shape
    (3, 5)
    """
    check_integer("n_features", n_features)
    check_integer("n_components", n_components)
    gamma = check_positive("gamma", gamma)
    check_rng(rng)
    draws = rng.standard_normal((n_components, n_features))
    scale = math.sqrt(2.0) * math.sqrt(gamma) if gamma > 1e300 else math.sqrt(2.0 * gamma)
    frequencies: NDArray[np.float64] = np.ascontiguousarray(draws.T) * scale
    return frequencies


def phased_cosine_features(
    X: ArrayLike,
    frequencies: ArrayLike,
    phases: ArrayLike,
    *,
    normalize: bool = True,
    n_jobs: int | None = 1,
) -> NDArray[Any]:
    """Random cosine features ``sqrt(2/N) cos(<w_k, x> + b_k)`` of every record.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records. float32 gives a float32 map; anything else float64.
    frequencies : array_like of shape (n_features, N)
        One frequency per column, as :func:`random_frequencies` draws them.
    phases : array_like of shape (N,)
        Phases in radians; unbiasedness needs them uniform on [0, 2 pi).
    normalize : bool, default=True
        With False the factor ``sqrt(2/N)`` is left out and the coordinates are plain cosines.
    n_jobs : int or None, default=1
        Threads that share the blocks of rows, counted as joblib does (-1: all processors). While
        several run, each has one BLAS thread. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples, N)
        The map. With ``normalize=True`` every row has norm at most ``sqrt(2)``, and about 1.

    Notes
    -----
    ``E 2 cos(<w, x> + b) cos(<w, y> + b) = E cos<w, x - y>``: the mean over the uniform phase of
    the other term, ``cos(<w, x + y> + 2b)``, is zero. Without the factor 2 the mean is half the
    kernel. Memory: the output and one block per thread.

    Examples
    --------
    >>> phased_cosine_features([[0.0]], [[1.0, 2.0]], [0.0, 0.0])
    array([[1., 1.]])
    """
    plan = Plan.make(X, frequencies, phases, kind="phased_cosine", normalize=normalize)
    return fill(plan, n_jobs)


def cos_sin_features(
    X: ArrayLike, frequencies: ArrayLike, *, normalize: bool = True, n_jobs: int | None = 1
) -> NDArray[Any]:
    """Pairs ``[cos<w_k, x>, sin<w_k, x>] / sqrt(K)`` of every record, of norm exactly one.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records. float32 gives a float32 map; anything else float64.
    frequencies : array_like of shape (n_features, K)
        One frequency per column.
    normalize : bool, default=True
        With False the factor ``1/sqrt(K)`` is left out.
    n_jobs : int or None, default=1
        Threads, as in :func:`phased_cosine_features`.

    Returns
    -------
    ndarray of shape (n_samples, 2 K)
        All cosines, then all sines. With ``normalize=True`` every row has Euclidean norm 1 (up to
        rounding): a data-independent bound, which is why private estimators use this map.

    Notes
    -----
    ``<phi(x), phi(y)> = (1/K) sum_k cos<w_k, x - y>``, the real part of the complex map's product.

    Examples
    --------
    >>> cos_sin_features([[0.0]], [[1.0]])
    array([[1., 0.]])
    """
    plan = Plan.make(X, frequencies, None, kind="cos_sin", normalize=normalize)
    return fill(plan, n_jobs)


def complex_features(
    X: ArrayLike, frequencies: ArrayLike, *, normalize: bool = True, n_jobs: int | None = 1
) -> NDArray[Any]:
    """Complex Fourier features ``exp(i <w_k, x>) / sqrt(N)`` of every record.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Finite records. float32 gives a complex64 map; anything else complex128.
    frequencies : array_like of shape (n_features, N)
        One frequency per column.
    normalize : bool, default=True
        With False the factor ``1/sqrt(N)`` is left out and every entry has modulus 1.
    n_jobs : int or None, default=1
        Threads, as in :func:`phased_cosine_features`.

    Returns
    -------
    ndarray of shape (n_samples, N), complex
        The map. With ``normalize=True`` every row has norm 1 (up to rounding).

    Notes
    -----
    ``<phi(x), phi(y)> = (1/N) sum_k exp(i <w_k, x - y>)``, whose expectation is the kernel.

    References
    ----------
    Liao, Needell, Schaeffer and Xue, Differentially private random feature model, manuscript of
    September 9, 2025, Theorem 6 and equations (2) and (3).

    Examples
    --------
    >>> complex_features([[0.0]], [[1.0]])
    array([[1.+0.j]])
    """
    plan = Plan.make(X, frequencies, None, kind="complex", normalize=normalize)
    return fill(plan, n_jobs)


class RandomFourierFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Random Fourier features of ``exp(-gamma ||x - y||^2)`` as a scikit-learn transformer.

    Parameters
    ----------
    n_components : int, default=100
        Number of output coordinates; even for ``"cos_sin"``, which spends two on a frequency.
    gamma : float, default=1.0
        Inverse squared width of the kernel, in (0, inf), as in scikit-learn's ``RBFSampler``.
    kind : {"phased_cosine", "cos_sin", "complex"}, default="phased_cosine"
        ``sqrt(2/N) cos(<w, x> + b)``, ``sqrt(2/N) [cos<w, x>, sin<w, x>]`` (rows of norm exactly
        1) or ``exp(i <w, x>) / sqrt(N)``.
    normalize : bool, default=True
        With False the factor in front is left out.
    dtype : {"float64", "float32"} or None, default=None
        Precision of the map (``"float32"`` with ``kind="complex"`` gives complex64). None follows
        the records that are mapped, as scikit-learn's transformers do: float32 gives float32, all
        else float64. Private estimators clip what a map gives them, in either precision.
    random_state : int, Generator, RandomState or None, default=None
        Source of frequencies and phases. They are public randomness: knowing them does no harm to
        privacy, but they must never come from the stream of the privacy noise. ``clone`` copies a
        generator together with its state, so that two clones draw the same frequencies.
    n_jobs : int or None, default=1
        Threads of ``transform``; the result does not depend on it.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_frequencies)
        Columns drawn from ``N(0, 2 gamma I)``.
    phases_ : ndarray of shape (n_components,)
        Uniform on [0, 2 pi); only for ``"phased_cosine"``.
    n_features_in_ : int

    Notes
    -----
    ``fit`` draws and looks at nothing but the number of columns; ``transform`` is deterministic.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, NeurIPS 2007, Algorithm 1.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> features = RandomFourierFeatures(10_000, gamma=0.5, kind="cos_sin", random_state=0)
    >>> Z = features.fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1.0)) < 0.03)
    True
    """

    frequencies_: NDArray[np.float64]
    phases_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float = 1.0,
        kind: Kind = "phased_cosine",
        normalize: bool = True,
        dtype: Literal["float64", "float32"] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.kind = kind
        self.normalize = normalize
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs

    @whole
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw frequencies (and phases) for the number of columns of ``X``; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored

        Returns
        -------
        RandomFourierFeatures
        """
        count = check_integer("n_components", self.n_components)
        check_choice("kind", self.kind, get_args(Kind))
        if self.dtype is not None:
            check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.kind == "cos_sin" and count % 2:
            raise ValueError(
                f"n_components must be even for cos_sin, got n_components={self.n_components!r}"
            )
        records = validated(self, X, dtype=_precisions(self.dtype))
        (rng,) = spawn_generators(self.random_state, 1)
        drawn = count // 2 if self.kind == "cos_sin" else count
        self.frequencies_ = random_frequencies(records.shape[1], drawn, gamma=self.gamma, rng=rng)
        if self.kind == "phased_cosine":
            self.phases_ = rng.uniform(0.0, 2.0 * np.pi, count)
        self._n_features_out = count
        self._how = (self.kind, self.normalize, self.dtype)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Map every record to its coordinates.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            In the precision of ``dtype``, or of ``X``.
        """
        check_is_fitted(self)
        kind, normalize, dtype = self._how
        records = validated(self, X, dtype=_precisions(dtype), reset=False)
        phases = self.phases_ if kind == "phased_cosine" else None
        plan = Plan.make(records, self.frequencies_, phases, kind=kind, normalize=normalize)
        return fill(plan, self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kept = {None: ["float64", "float32"], "float64": ["float64"]}.get(self.dtype, [])
        tags.transformer_tags.preserves_dtype = kept if self.kind != "complex" else []
        return tags


def _precisions(dtype: str | None) -> Any:
    """Return what records may be of; the first is what all others become."""
    return [np.float64, np.float32] if dtype is None else dtype
