"""What the estimators that learn from sketches share: the release, its guarantee, the statement."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from dplit._boxes import check_box
from dplit._checks import (
    Neighboring,
    check_choice,
    check_integer,
    check_neighboring,
    check_positive,
)
from dplit._estimators import RandomState, dp_statement, spawn_generators, validated
from dplit.features import random_frequencies
from dplit.mechanisms import gaussian_epsilon
from dplit.sketching.clompr import QUANTIZED_FACTOR, dequantized_sketch
from dplit.sketching.quadratic_sensitivity import (
    replace_l1_bound,
    s4_certificate,
    spectral_sensitivity,
)
from dplit.sketching.release import CountMode, NoiseKind, map_sensitivity, plan_release
from dplit.sketching.sketches import Kind, Sketch, SketchMap, sketch

__all__ = [
    "FourierSketchEstimator",
    "SketchEstimator",
    "default_gamma",
    "default_size",
    "fourier_map",
    "noise_deviation",
    "noise_sensitivity",
    "spent_epsilon",
    "unit_scale",
]

_Array = NDArray[np.float64]

#: Largest dimensions in which the certificate of S_4, an eigenproblem of size d^2 / 2, is computed:
#: for the best shift, and for one shift.
_BEST_SHIFT, _ONE_SHIFT = 24, 64
#: What the statements say of neighbours, and of sketches without noise.
_CHANGE: dict[str, str] = {
    "add_remove": "adding or removing one record",
    "replace_one": "replacing one record, their number being public",
}
_NO_NOISE = "No privacy: learned from a sketch without noise."


def noise_sensitivity(
    sketch_map: SketchMap, *, noise: NoiseKind, neighboring: Neighboring = "add_remove"
) -> float:
    r"""Bound of the sensitivity of a sum of features in the norm of a noise, for every map.

    Parameters
    ----------
    sketch_map : SketchMap
        The public map.
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        Law of the noise; the last two for complex features only.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        :func:`dplit.sketching.release.map_sensitivity` for Fourier features. For quadratic ones
        :math:`\lambda_1` or :math:`\lambda_1+\lambda_2` (Laplace), the certificate of
        :math:`S_4`, or that times :math:`\sqrt2` (Gaussian). The certificate takes the best shift
        up to dimension 24, the shift :math:`\sum_j\|\omega_j\|^4/(d(d+2))`, best for large
        sketches, up to 64, and gives way to :math:`\|\Omega\|_2\max_j\|\omega_j\|` beyond.

    Raises
    ------
    ValueError
        If the noise does not fit the map.
    """
    if sketch_map.kind != "quadratic":
        return map_sensitivity(sketch_map, noise=noise, neighboring=neighboring)
    check_neighboring(neighboring)
    check_choice("noise", noise, ("laplace", "gaussian"))
    omega = sketch_map.frequencies
    if noise == "laplace":
        added = neighboring == "add_remove"
        return spectral_sensitivity(omega) if added else replace_l1_bound(omega)
    d, lengths = sketch_map.n_features, np.linalg.norm(omega, axis=0)
    if d <= _BEST_SHIFT:
        quartic = s4_certificate(omega)
    elif d <= _ONE_SHIFT:
        quartic = s4_certificate(omega, shift=float((lengths**4).sum()) / (d * (d + 2)))
    else:
        quartic = math.sqrt(spectral_sensitivity(omega)) * float(lengths.max())
    return quartic * (1.0 if neighboring == "add_remove" else math.sqrt(2.0))


def spent_epsilon(
    released: Sketch, *, delta: float, neighboring: Neighboring = "add_remove"
) -> float:
    """Epsilon at ``delta`` of a released sketch, from the scales that it says it carries.

    Parameters
    ----------
    released : Sketch
        Whose noise is complete. Without noise the answer is infinite, and so it is under
        "add_remove" where the number of records is published exactly, as a release for
        "replace_one" may do.
    delta : float
        For Gaussian noise, in (0, 1); not used otherwise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation that is asked about, whichever the sketch was released for.

    Returns
    -------
    float
        Sensitivity over scale (or the exact Gaussian epsilon), plus that of a noisy count. Merged
        releases of disjoint records have the epsilon of one of them.

    Raises
    ------
    ValueError
        If shares of the noise are missing, or ``delta`` is not in (0, 1) for Gaussian noise.
    """
    check_neighboring(neighboring)
    record = released.noise
    if record is None:
        return math.inf
    if not record.complete:
        raise ValueError(
            f"sketch must carry all {record.n_shares} shares of its noise, got {record.collected}"
        )
    if record.kind == "gaussian" and not 0.0 < delta < 1.0:
        raise ValueError(
            "delta must be in (0, 1) for a sketch with Gaussian noise, whose epsilon depends on "
            f"it, got delta={delta!r}"
        )
    if released.count_is_exact and neighboring == "add_remove":
        return math.inf
    noise = cast("NoiseKind", record.kind)
    size = noise_sensitivity(released.map, noise=noise, neighboring=neighboring)
    if noise == "gaussian":
        spent = gaussian_epsilon(delta=delta, sigma=record.scale, sensitivity=size)
    else:
        spent = size / record.scale
    if record.count_scale is not None and neighboring == "add_remove":
        spent += 1.0 / record.count_scale
    return float(spent)


def default_gamma(n_features: int) -> float:
    """Scale of frequencies in units of the half widths of the box: ``min(12.5, 4 + 32 / d) / d``.

    The kernel ``exp(-gamma r^2)`` resolves clusters a tenth of the box wide in few dimensions. In
    many, every point of the box is about ``r^2 = 2 d / 3`` from every other one, and a decoder that
    starts at random points hears of a cluster only where ``2 gamma d / 3`` is not large.
    """
    return min(12.5, 4.0 + 32.0 / n_features) / n_features


def default_size(n_components: int, n_features: int) -> int:
    """Frequencies per component, times their number: ``k min(10 d, 60 + 3 d)``.

    Noise on the sum costs as much as ``sqrt(m)`` times more records, except for Gaussian noise.
    """
    return n_components * min(10 * n_features, 60 + 3 * n_features)


def noise_deviation(released: Sketch) -> float:
    """Standard deviation per real coordinate of the noise that a sketch says it carries."""
    record = released.noise
    if record is None:
        return 0.0
    size = 2.0 * released.map.n_components  # of the space in which the last two laws are radial
    radial = math.sqrt((size + 1.0) * (size + 2.0))
    unit = {
        "laplace": math.sqrt(2.0),
        "gaussian": 1.0,
        "polydisc": radial / 2.0,
        "cube": radial / math.sqrt(3.0),
    }[record.kind]
    return unit * record.scale * math.sqrt(record.variance_factor)


def fourier_map(
    kind: Literal["fourier", "quantized"],
    half_widths: _Array,
    n_frequencies: int,
    *,
    gamma: float | None,
    bound: _Array | None = None,
    rng: np.random.Generator,
) -> SketchMap:
    """Random Fourier map at a public scale: ``gamma``, or :func:`default_gamma` in box units.

    Parameters
    ----------
    kind : {"fourier", "quantized"}
        Which features.
    half_widths : ndarray of shape (d,)
        Half widths of the box, used where ``gamma`` is None.
    n_frequencies : int
        Number m of frequencies.
    gamma : float or None
        Frequencies are drawn from ``N(0, 2 gamma I)``.
    bound : ndarray of shape (d,), optional
        Public bound of the entries of records, which may lie far from zero in their box.
    rng : numpy.random.Generator
        Public randomness.

    Returns
    -------
    SketchMap
        With uniform dither if quantized.
    """
    check_choice("kind", kind, ("fourier", "quantized"))
    d = len(half_widths)
    if gamma is None:
        omega = random_frequencies(d, n_frequencies, gamma=default_gamma(d), rng=rng)
        omega = omega / half_widths[:, None]
    else:
        omega = random_frequencies(d, n_frequencies, gamma=gamma, rng=rng)
    dither = rng.uniform(0.0, 2.0 * np.pi, n_frequencies) if kind == "quantized" else None
    return SketchMap(cast("Kind", kind), omega, dither, bound)


class SketchEstimator(BaseEstimator):  # type: ignore[misc]
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
            check_positive("epsilon", self.epsilon)

    def _release(
        self,
        records: _Array,
        sketch_map: SketchMap,
        rng: np.random.Generator,
        *,
        count: CountMode,
        split: float | None = None,
    ) -> Sketch:
        """Return the sketch with this estimator's noise; without noise if epsilon is None."""
        if self.epsilon is None:
            return sketch(records, sketch_map)
        plan = plan_release(
            sketch_map,
            epsilon=self.epsilon,
            delta=self.delta,
            noise=self.noise,
            count=count,
            split=split,
            neighboring=self.neighboring,
            sensitivity=noise_sensitivity(
                sketch_map, noise=self.noise, neighboring=self.neighboring
            ),
        )
        return plan.apply(sketch(records, sketch_map), rng=rng)

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
        change = f"{_CHANGE[self.neighboring]} ({clipped}; sketch_ is covered with what is decoded)"
        statement = dp_statement(self.epsilon, self.delta, change, random_state=self.random_state)
        self._state(released, float(self.epsilon), self.delta, statement)

    def _accept(self, released: Any, kinds: tuple[str, ...]) -> Sketch:
        """Check a sketch that somebody else released."""
        if not isinstance(released, Sketch):
            raise TypeError(f"sketch must be a Sketch, got {type(released).__name__}")
        if released.map.kind not in kinds:
            raise ValueError(
                f"sketch must be of kind {' or '.join(kinds)}, got kind {released.map.kind!r}"
            )
        if not np.isfinite(released.sum).all():
            raise ValueError("sketch must be finite, got NaN or infinite entries")
        self.n_features_in_ = released.map.n_features
        return released

    def _state_given(self, released: Sketch) -> None:
        """Set the guarantee of a sketch that somebody else released."""
        delta = float(self.delta)
        if released.noise is not None and released.noise.kind != "gaussian":
            delta = 0.0
        spent = spent_epsilon(released, delta=delta, neighboring=self.neighboring)
        change = _CHANGE[self.neighboring]
        if released.noise is None:
            statement = _NO_NOISE
        elif math.isinf(spent):
            statement = (
                f"No privacy for {change}: the sketch publishes the number of records exactly. It "
                f"was released for {_CHANGE[released.noise.neighboring]}, and "
                f"neighboring={released.noise.neighboring!r} states that guarantee."
            )
        else:
            statement = (
                f"({spent:.4g}, {delta:g})-differential privacy for {change}, by the noise that "
                "the given sketch says it carries: who released it answers for how records were "
                "clipped and for the entropy of the noise. Decoding adds nothing to the loss."
            )
        self._state(released, spent, delta, statement)


def unit_scale(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return values times ``2^-e`` with a largest part in [1/2, 1), and e; zeros stay zeros.

    A power of two changes no digit, and decoders then square whatever is finite.
    """
    parts = np.ascontiguousarray(values).view(np.float64)
    exponent = int(np.frexp(np.abs(parts).max())[1])
    return np.ldexp(parts, -exponent).view(values.dtype), exponent


def frequency_count(value: Any, default: int) -> int:
    """Return the number of frequencies that a parameter asks for."""
    return default if value is None else check_integer("n_frequencies", value)


class FourierSketchEstimator(SketchEstimator, ABC):
    """Models decoded from Fourier features of records in a public box."""

    bounds: Any
    kind: Literal["fourier", "quantized"]
    gamma: float | None
    n_frequencies: int | None

    @abstractmethod
    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        """Fit the model to a released sketch."""

    def _fit_records(self, X: ArrayLike, size: Callable[[int, int], int], count: int) -> Self:
        """Clip, release and decode; ``size(count, d)`` frequencies unless they are given."""
        self._check_privacy(("laplace", "gaussian", "polydisc", "cube"))
        records = validated(self, X, dtype=np.float64)
        d = records.shape[1]
        box = check_box(self.bounds, d)
        public, noise, search = spawn_generators(self.random_state, 3)
        m = frequency_count(self.n_frequencies, size(count, d))
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        sketch_map = fourier_map(self.kind, box.half, m, gamma=self.gamma, bound=far, rng=public)
        clipped = np.clip(records, box.low, box.high)
        released = self._release(clipped, sketch_map, noise, count="withheld")
        self._state_fit(released, "coordinates clipped to the bounds")
        return self._decode(released, search)

    def _fit_released(self, released: Any) -> Self:
        """Check, state and decode a sketch that somebody else released."""
        accepted = self._accept(released, ("fourier", "quantized"))
        check_box(self.bounds, accepted.map.n_features)
        self._state_given(accepted)
        return self._decode(accepted, spawn_generators(self.random_state, 3)[2])

    def _target(self, released: Sketch) -> tuple[NDArray[np.complex128], float]:
        """Return the features' sum as the decoders want it, and the deviation of its noise.

        Its size is about 1, and one-bit features are rotated back.
        """
        unit, exponent = unit_scale(released.sum)
        with np.errstate(over="ignore"):
            deviation = float(np.ldexp(noise_deviation(released), -exponent))
        if released.map.dither is None:
            return unit, deviation
        return dequantized_sketch(unit, released.map.dither), deviation / QUANTIZED_FACTOR

    def _hears(self, released: Sketch, lengths: _Array, deviation: float) -> bool:
        r"""Whether at least half of what was decoded stands out of the noise; warn if not.

        Parameters
        ----------
        released : Sketch
            The sketch, of m features.
        lengths : ndarray of shape (k,)
            Euclidean norms of the components' parts in the sketch.
        deviation : float
            Of the noise on each of the 2 m numbers.

        Notes
        -----
        The level is :math:`(1+kd/m)(2+1.8\sqrt d)` deviations: the longest of k components that are
        fitted to nothing but noise stay below 0.9 of it (d from 1 to 100, k to 6, m from 2.5 k d).
        The answer is a function of the released sketch, and costs nothing.
        """
        (d, m), k = released.map.frequencies.shape, len(lengths)
        level = (1.0 + k * d / m) * (2.0 + 1.8 * math.sqrt(d)) * deviation
        total = float(lengths.sum())
        if total > 0.0 and 2.0 * float(lengths[lengths > level].sum()) >= total:
            return True
        size = noise_deviation(released)
        warnings.warn(
            f"{type(self).__name__}: the noise of standard deviation {size:.3g} on each of {m} "
            f"frequencies hides {k} components in {d} dimensions; the fit may be no better than "
            "the middle of the bounds. More records, a larger epsilon, fewer components or "
            "frequencies, or Gaussian noise with a delta would help",
            UserWarning,
            stacklevel=5,
        )
        return False
