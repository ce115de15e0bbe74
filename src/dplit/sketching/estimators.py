"""Estimators that learn from a released sketch: k-means, mixtures, principal components."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, DensityMixin

from dplit._base import RandomState, noise_source, spawn_generators, whole, whole_and_free
from dplit._bounds import check_box, check_squares, stated_norm
from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_epsilon,
    check_integer,
    check_interval,
    check_neighboring,
    check_probability,
    quiet,
    warn_of_noise,
)
from dplit._numerics.clipping import clip_rows
from dplit._predictors import CenterEstimator, ComponentsEstimator
from dplit._records import fitted_records, validated
from dplit._statements import dp_statement
from dplit.features import orthonormal_blocks, random_frequencies
from dplit.sketching._kinds import Kind, NoiseKind, Unit
from dplit.sketching.additive_noise import _noise_deviation
from dplit.sketching.decoders._quantized import QUANTIZED_FACTOR, dequantized_sketch
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.low_rank import compressive_pca, degrees_of_freedom
from dplit.sketching.decoders.mixtures import decode_mixture, log_densities
from dplit.sketching.plans import ReleasePlan, _CountMode, plan_release, spent_epsilon
from dplit.sketching.sketches import Sketch, SketchMap, sketch, sketch_persons

#: What the statements say of neighbours, and of sketches without noise.
_CHANGE: dict[tuple[Unit, Neighboring], str] = {
    ("record", "add_remove"): "adding or removing one record",
    ("record", "replace_one"): "replacing one record, their number being public",
    ("person", "add_remove"): "adding or removing one person with all records",
    ("person", "replace_one"): "replacing one person with all records, the number of persons being "
    "public",
}

_NO_NOISE = "No privacy: learned from a sketch without noise."


def _exact(records: Array, sketch_map: SketchMap, persons: ArrayLike | None) -> Sketch:
    """Return the exact sketch of records, or of persons."""
    if persons is None:
        return sketch(records, sketch_map)
    return sketch_persons(records, persons, sketch_map)


#: Beyond it single precision, in which decoders start, may have no number.
_LARGEST_ANGLE = 1e30


def _default_gamma(n_features: int) -> float:
    """Scale of frequencies in units of the half widths of the box: ``min(12.5, 4 + 32 / d) / d``.

    The kernel ``exp(-gamma r^2)`` resolves clusters a tenth of the box wide in few dimensions. In
    many, points of the box are about ``r^2 = 2 d / 3`` apart, and a decoder that starts at random
    points hears of a cluster only where ``2 gamma d / 3`` is not large.
    """
    return min(12.5, 4.0 + 32.0 / n_features) / n_features


def _default_size(n_components: int, n_features: int) -> int:
    """Frequencies per component, times their number: ``k min(10 d, 60 + 3 d)``.

    Noise on the sum costs as much as ``sqrt(m)`` times more records, except for Gaussian noise.
    """
    return n_components * min(10 * n_features, 60 + 3 * n_features)


def _fourier_map(
    kind: Literal["fourier", "quantized"],
    half_widths: Array,
    n_frequencies: int,
    *,
    gamma: float | None,
    bound: Array | None = None,
    rng: np.random.Generator,
) -> SketchMap:
    """Random Fourier map (m = ``n_frequencies``, uniform dither if quantized) at a public scale.

    Frequencies are from ``N(0, 2 gamma I)``, None: ``_default_gamma`` in units of ``half_widths``.
    ``bound`` (d,) is public, of the entries of records, which may lie far from zero in their box.
    """
    check_choice("kind", kind, ("fourier", "quantized"))
    d = len(half_widths)
    rate = _default_gamma(d) if gamma is None else gamma
    omega = random_frequencies(d, n_frequencies, gamma=rate, rng=rng)
    if gamma is None:
        omega = omega / half_widths[:, None]
    dither = rng.uniform(0.0, 2.0 * np.pi, n_frequencies) if kind == "quantized" else None
    return SketchMap(cast("Kind", kind), omega, dither, bound)


def _check_angles(far: Array, frequencies: Array, bounds: Any) -> None:
    """Refuse frequencies in whose angles decoders could not start."""
    angles = float((far[:, None] * np.abs(frequencies)).sum(axis=0).max())
    if not angles <= _LARGEST_ANGLE:
        raise ValueError(
            "gamma must leave angles of frequencies and points between the bounds below "
            f"{_LARGEST_ANGLE:g}, got {angles:.2g} for bounds={bounds!r}"
        )


class _SketchEstimator(BaseEstimator):  # type: ignore[misc]
    """Release of a sketch under the parameters of an estimator, and the guarantee it states."""

    epsilon: float | None
    delta: float
    noise: NoiseKind
    neighboring: Neighboring
    random_state: RandomState
    sketch_: Sketch | None

    def _check_privacy(self, choices: tuple[str, ...]) -> None:
        """Refuse parameters that are out of range before the data are looked at."""
        check_choice("noise", self.noise, choices)
        check_neighboring(self.neighboring)
        if self.epsilon is not None:
            check_epsilon(self.epsilon)

    def _plan(
        self, sketch_map: SketchMap, count: _CountMode, split: float | None = None
    ) -> ReleasePlan | None:
        """Return the plan of this estimator's noise; None if epsilon is None."""
        if self.epsilon is None:
            return None
        return plan_release(
            sketch_map,
            epsilon=self.epsilon,
            delta=self.delta,
            noise=self.noise,
            count=count,
            split=split,
            neighboring=self.neighboring,
        )

    def _state(self, released: Sketch, epsilon: float, delta: float, statement: str) -> None:
        """Set the guarantee and its sentence; an exact sketch is used and never kept."""
        self.sketch_ = None if released.noise is None else released
        self.epsilon_ = epsilon
        self.delta_ = 0.0 if math.isinf(epsilon) else float(delta)
        self.neighboring_ = self.neighboring
        self.privacy_statement_ = statement

    def _state_fit(self, released: Sketch, clipped: str) -> None:
        """Set the guarantee of a sketch that this estimator released."""
        if self.epsilon is None:
            self._state(released, math.inf, 0.0, _NO_NOISE)
            return
        told = _CHANGE[released.unit, self.neighboring]
        change = f"{told} ({clipped}; sketch_ is covered with what is decoded)"
        statement = dp_statement(self.epsilon, self.delta, change, random_state=self.random_state)
        self._state(released, float(self.epsilon), self.delta, statement)

    def _accept(self, released: Any, kinds: tuple[str, ...]) -> Sketch:
        """Check a sketch that somebody else released, and state its guarantee."""
        if not isinstance(released, Sketch):
            raise TypeError(f"sketch must be a Sketch, got {type(released).__name__}")
        if released.map.kind not in kinds:
            raise ValueError(
                f"sketch must be of kind {' or '.join(kinds)}, got kind {released.map.kind!r}"
            )
        if not np.isfinite(released.sum).all():
            raise ValueError("sketch must be finite, got NaN or infinite entries")
        self.n_features_in_ = released.map.n_features
        self._state_given(released)
        return released

    def _state_given(self, released: Sketch) -> None:
        """Set the guarantee of a sketch that somebody else released."""
        pure = released.noise is not None and released.noise.kind != "gaussian"
        delta = 0.0 if pure else float(self.delta)
        spent = spent_epsilon(released, delta=delta, neighboring=self.neighboring)
        change = _CHANGE[released.unit, self.neighboring]
        if released.noise is None:
            statement = _NO_NOISE
        elif math.isinf(spent):
            statement = (
                f"No privacy for {change}: the sketch publishes the number of {released.unit}s "
                f"exactly. It was released for {_CHANGE[released.unit, released.noise.neighboring]}"
                f", and neighboring={released.noise.neighboring!r} states that guarantee."
            )
        else:
            apart = ", that nobody is in two of the merged parts" * (released.unit == "person")
            statement = (
                f"({spent:.4g}, {delta:g})-differential privacy for {change}, by the noise that "
                "the given sketch says it carries: who released it answers for how records were "
                f"clipped{apart} and for the entropy of the noise. Decoding adds nothing to the "
                "loss."
            )
        self._state(released, spent, delta, statement)


def _warn_hidden(model: object, released: Sketch, what: str, then: str) -> None:
    """Warn that the noise hides something; a function of the released sketch."""
    d, m = released.map.frequencies.shape
    warn_of_noise(
        f"{type(model).__name__}: the noise of standard deviation {_noise_deviation(released):.3g} "
        f"on each of {m} frequencies hides {what} in {d} dimensions; {then}. More records, a "
        "larger epsilon, fewer components or frequencies, or Gaussian noise with a delta would help"
    )


def _unit_scale(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return values times ``2^-e`` with a largest part in [1/2, 1), and e; zeros stay zeros.

    A power of two changes no digit, and decoders then square whatever is finite.
    """
    parts = np.ascontiguousarray(values).view(np.float64)
    exponent = int(np.frexp(np.abs(parts).max())[1])
    return np.ldexp(parts, -exponent).view(values.dtype), exponent


class _FourierSketchEstimator(_SketchEstimator, ABC):
    """Models decoded from Fourier features of records in a public box."""

    bounds: Any
    kind: Literal["fourier", "quantized"]
    gamma: float | None
    n_frequencies: int | None
    #: Parameter that counts the components, and frequencies for each in units of the default.
    _counted: str
    _per_component = 1
    #: Numbers of a component for each column, beside its weight.
    _per_column = 1

    @abstractmethod
    def _check_search(self) -> None:
        """Refuse parameters of the decoder that are out of range before anything is drawn."""

    @abstractmethod
    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        """Fit the model to a released sketch."""

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: object = None, *, persons: ArrayLike | None = None) -> Self:
        """Release the noisy sketch of the clipped records and decode it; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored
        persons : array_like of shape (n_samples,), optional
            Whose record each is, integers or texts. A person then counts once, by the mean of the
            features of their records, and the guarantee is for a person with all records.
        """
        count = check_integer(self._counted, getattr(self, self._counted))
        self._check_privacy(("laplace", "gaussian", "polydisc", "cube"))
        self._check_search()
        records = validated(self, X, dtype=np.float64)
        d = records.shape[1]
        box = check_box(self.bounds, d)
        public, noise, search = spawn_generators(self.random_state, 3)
        check_squares(box, self.bounds)  # all of it before anything is drawn
        size, given = self._per_component * _default_size(count, d), self.n_frequencies
        m = size if given is None else check_integer("n_frequencies", given)
        if count * (self._per_column * d + 1) > 2 * m:
            rule = f"{self._counted} ({'2 ' * (self._per_column - 1)}d + 1) <= 2 m"
            raise ValueError(
                f"{self._counted} must satisfy {rule}, as a sketch of m frequencies holds 2 m "
                f"numbers; got {self._counted}={count}, n_frequencies={m} and {d} columns"
            )
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        sketch_map = _fourier_map(self.kind, box.half, m, gamma=self.gamma, bound=far, rng=public)
        _check_angles(far, sketch_map.frequencies, self.bounds)
        plan = self._plan(sketch_map, "withheld")
        exact = _exact(np.clip(records, box.low, box.high), sketch_map, persons)
        released = (
            exact if plan is None else plan.apply(exact, rng=noise_source(self.random_state, noise))
        )
        self._state_fit(released, "coordinates clipped to the bounds")
        return self._decode(released, search)

    @whole_and_free
    def fit_sketch(self, sketch: Sketch) -> Self:
        """Decode a sketch that was released before; its noise decides the guarantee.

        Parameters
        ----------
        sketch : Sketch
            Of Fourier features, with all of its noise (or none, and then without privacy).

        Returns
        -------
        self
            ``epsilon``, ``noise`` and the map's parameters are not used; ``delta`` says where the
            epsilon of Gaussian noise is stated.
        """
        check_box(self.bounds, self._accept(sketch, ("fourier", "quantized")).map.n_features)
        return self._decode(sketch, spawn_generators(self.random_state, 3)[2])

    def _target(self, released: Sketch) -> tuple[NDArray[np.complex128], float]:
        """Return the features' sum as the decoders want it, and the deviation of its noise.

        Its size is about 1, and one-bit features are rotated back.
        """
        unit, exponent = _unit_scale(released.sum)
        with np.errstate(over="ignore"):
            deviation = float(np.ldexp(_noise_deviation(released), -exponent))
        if released.map.dither is None:
            return unit, deviation
        return dequantized_sketch(unit, released.map.dither), deviation / QUANTIZED_FACTOR

    def _hears(self, released: Sketch, lengths: Array, deviation: float) -> bool:
        r"""Whether at least half of what was decoded stands out of the noise; warn if not.

        ``lengths`` (k,) are the norms of the components' parts in the sketch, ``deviation`` that of
        the noise on each of the 2 m numbers. The level is :math:`(1+kd/m)(2+1.8\sqrt d)`
        deviations: the longest of k components that are fitted to nothing but noise stay below 0.9
        of it (d from 1 to 100, k to 6, m from 2.5 k d). A function of the released sketch: it costs
        nothing.
        """
        (d, m), k = released.map.frequencies.shape, len(lengths)
        level = (1.0 + k * d / m) * (2.0 + 1.8 * math.sqrt(d)) * deviation
        total = float(lengths.sum())
        if total > 0.0 and 2.0 * float(lengths[lengths > level].sum()) >= total:
            return True
        fit = "the fit may be no better than the middle of the bounds"
        _warn_hidden(self, released, f"{k} components", fit)
        return False


class CompressivePCA(ComponentsEstimator, _SketchEstimator):
    """Private principal components of second moments, from one sketch of quadratic features.

    Parameters
    ----------
    n_components : int, default=2
        Number k of components, at most the number of columns.
    epsilon : float or None, default=1.0
        From 1e-50 to 1e20; None learns without noise and without privacy.
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
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    count_share : float, default=0.05
        Share of ``epsilon`` for the number of records, in (1e-15, 1); under "replace_one" that is
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

    Warns
    -----
    UserWarning
        If the largest second moment in the released sketch is no larger than the noise makes one.
        The warning is a function of that sketch and names public numbers only.

    Notes
    -----
    Records are not centred: a private mean would need its own budget. Where one record is replaced,
    the sensitivities are those that hold, larger than the printed ones. In small dimensions
    noisy second moments (:class:`dplit.components.PrivatePCA`) are at least as good; the
    sketch has fewer numbers where ``2 m < d^2``. The noise is exact
    (:mod:`dplit.mechanisms`).

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 5 and 6, equation (5), Lemmas 9 and 13.

    Examples
    --------
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

    def _draw_map(self, d: int, rng: np.random.Generator) -> SketchMap:
        """Return the public map, large enough for the components."""
        check_choice("frequencies", self.frequencies, ("orthonormal", "gaussian"))
        k = check_integer("n_components", self.n_components, maximum=d)
        given = self.n_frequencies
        m = 4 * k * d if given is None else check_integer("n_frequencies", given)
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

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: object = None, *, persons: ArrayLike | None = None) -> Self:
        """Release the noisy sketch of the clipped records and decode it; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored
        persons : array_like of shape (n_samples,), optional
            Whose record each is, integers or texts. A person then counts once, by the mean of the
            features of their records, and the guarantee is for a person with all records.
        """
        self._check_privacy(("laplace", "gaussian"))
        share = check_interval("count_share", self.count_share, 1e-15, 1.0)
        norm = stated_norm(self.data_norm)
        records = validated(self, X, dtype=np.float64)
        public, noise, search = spawn_generators(self.random_state, 3)
        sketch_map = self._draw_map(records.shape[1], public)
        hidden = self.neighboring == "add_remove"
        plan = self._plan(sketch_map, *(("split", 1.0 - share) if hidden else ("public",)))
        rows = clip_rows(records, norm) / norm  # else the norm overflows
        exact = _exact(rows, sketch_map, persons)
        released = (
            exact if plan is None else plan.apply(exact, rng=noise_source(self.random_state, noise))
        )
        self._state_fit(released, f"rows clipped to norm {norm:g}")
        return self._decode(released, search)

    @whole_and_free
    def fit_sketch(self, sketch: Sketch) -> Self:
        """Decode a sketch that was released before; its noise decides the guarantee.

        Parameters
        ----------
        sketch : Sketch
            Of quadratic features of records divided by ``data_norm``, with all of its noise (or
            none, and then without privacy). Without a count ``second_moments_`` are sums.

        Returns
        -------
        self
            ``epsilon``, ``noise`` and the map's parameters are not used; ``delta`` says where the
            epsilon of Gaussian noise is stated.
        """
        stated_norm(self.data_norm)
        released = self._accept(sketch, ("quadratic",))
        return self._decode(released, spawn_generators(self.random_state, 3)[2])

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        norm = stated_norm(self.data_norm)
        count = 1.0 if released.count is None else max(float(released.count), 1.0)
        unit, exponent = _unit_scale(released.sum)
        found = compressive_pca(unit, released.map.frequencies, self.n_components, rng=rng)
        self._warn_if_hidden(released, float(found.eigenvalues[0]), exponent)
        self.components_ = found.components.T.copy()
        with np.errstate(over="ignore"):
            moments = np.ldexp(found.eigenvalues / count, exponent) * norm * norm
        self.second_moments_ = np.minimum(moments, np.finfo(np.float64).max)
        self._n_features_out = len(self.components_)
        return self

    def _warn_if_hidden(self, released: Sketch, largest: float, exponent: int) -> None:
        r"""Warn if the largest eigenvalue, of the sketch times ``2^-exponent``, may be noise alone.

        Of m unit vectors in dimension d, noise of deviation s on the sketch makes an eigenvalue of
        about :math:`s\,d\sqrt{d/m}/2`. Noise alone passes :math:`1/2+2/\sqrt d` times
        :math:`s\,d\sqrt{d/m}` in fewer than 3 fits of 100 (measured for d from 1 to 64).
        """
        d, m = released.map.frequencies.shape
        deviation = _noise_deviation(released)
        squares = float(np.mean(np.sum(released.map.frequencies**2, axis=0)))
        with np.errstate(over="ignore"):
            unit = (0.5 + 2.0 / np.sqrt(d)) * d * np.sqrt(d / m) / squares
            level = float(np.ldexp(unit * deviation, -exponent))
        if deviation > 0.0 and largest <= level:
            fit = "the components may be no better than any others"
            _warn_hidden(self, released, "the second moments", fit)


def _hidden_variance(deviation: float, sizes: Array, energies: Array, omega: Array) -> Array:
    """Return what to add to variances (k, d): their standard errors, and the means' squared.

    A variance that noise made too small costs likelihood without bound, one too large little. The
    errors are those of one component alone, whose sketch ``w a`` has derivatives ``i w omega a`` in
    the mean and ``-w omega^2 a / 2`` in the variance.
    """
    squares = omega.T**2
    with np.errstate(divide="ignore", over="ignore"):
        noise = (deviation / sizes[:, None]) ** 2  # infinite for weight 0
        errors = noise / (energies @ squares), 4.0 * noise / (energies @ squares**2)
    return np.asarray(errors[0] + np.sqrt(errors[1]))


class CompressiveGaussianMixture(DensityMixin, _FourierSketchEstimator):  # type: ignore[misc]
    """Private Gaussian mixture with diagonal covariances, from one sketch of the data.

    Parameters
    ----------
    n_components : int, default=1
        Number k of components; ``k (2 d + 1)`` must not exceed twice the number of frequencies.
    epsilon : float or None, default=1.0
        From 1e-50 to 1e20; None learns without noise and without privacy.
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

    Warns
    -----
    UserWarning
        If less than half of what was decoded stands out of the noise; every component is then the
        Gaussian with the moments of the uniform law on the box. The warning is a function of the
        released sketch and names public numbers only.

    Notes
    -----
    Weights are fitted freely and then normalised: the number of records is neither needed nor
    released. The noise is exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definition 3 and equation (3).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal([[2.0]], 0.5, (20_000, 1))
    >>> model = CompressiveGaussianMixture(bounds=(-5.0, 5.0), random_state=0).fit(X)
    >>> model.means_.round(1), model.covariances_.round(1)
    (array([[2.]]), array([[0.2]]))
    """

    _counted = "n_components"
    _per_component = 3
    _per_column = 2

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

    def _check_search(self) -> None:
        check_integer("n_starts", self.n_starts)
        check_probability("min_variance", self.min_variance)

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        k = check_integer("n_components", self.n_components)
        target, deviation = self._target(released)
        omega = released.map.frequencies
        box = check_box(self.bounds, len(omega))
        lengths = np.zeros(k)
        if target.any():
            found = decode_mixture(
                target,
                omega,
                k,
                bounds=self.bounds,
                rng=rng,
                n_starts=self.n_starts,
                min_variance=self.min_variance,
            )
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

    def score_samples(self, X: ArrayLike) -> Array:
        """Log-likelihood of every record, of shape (n_samples,)."""
        return log_densities(fitted_records(self, X), self.weights_, self.means_, self.covariances_)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log-likelihood of the records; ``y`` is ignored."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probability of every component, of shape (n_samples, n_components)."""
        records = fitted_records(self, X)
        parts = [
            log_densities(records, [1.0], mean[None], variance[None])
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


class CompressiveKMeans(CenterEstimator, _FourierSketchEstimator):
    """Private k-means from one sketch of the data, or from a sketch that was released before.

    Parameters
    ----------
    n_clusters : int, default=8
        Number k of centres; ``k (d + 1)`` must not exceed twice the number of frequencies.
    epsilon : float or None, default=1.0
        From 1e-50 to 1e20; None learns without noise and without privacy.
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
        Law of the noise. All but "gaussian" are pure; with m frequencies "polydisc" has
        ``(1 + 1 / m) (1 + 1 / (2 m)) / 4`` of the variance of "laplace", and "cube", which is for
        "quantized", two thirds of that.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
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
    this is no ``ClusterMixin``. The noise is exact (:mod:`dplit.mechanisms`).

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 2 and 17, equation (3).

    Examples
    --------
    >>> X = np.repeat([[-0.5, 0.5], [0.5, 0.0]], 5000, axis=0)
    >>> model = CompressiveKMeans(2, epsilon=1.0, bounds=(-1.0, 1.0), random_state=0).fit(X)
    >>> model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])].round(1) + 0.0
    array([[-0.5,  0.5],
           [ 0.5,  0. ]])
    """

    _counted = "n_clusters"

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

    def _check_search(self) -> None:
        check_integer("n_restarts", self.n_restarts)

    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        k = check_integer("n_clusters", self.n_clusters)
        target, deviation = self._target(released)
        d, m = released.map.frequencies.shape
        middle = check_box(self.bounds, d).middle
        centres, weights = np.tile(middle, (k, 1)), np.zeros(k)
        if target.any():
            found = decode_kmeans(
                target,
                released.map.frequencies,
                k,
                bounds=self.bounds,
                rng=rng,
                n_restarts=self.n_restarts,
            )
            centres, weights = found.centroids, found.weights
        if not self._hears(released, weights * math.sqrt(m), deviation):
            centres[int(np.argmin(weights))] = middle  # never worse than the middle alone
        self.cluster_centers_ = centres
        total = float(weights.sum())
        self.weights_ = weights / total if total > 0 else np.full(k, 1.0 / k)
        self._n_features_out = k
        return self
