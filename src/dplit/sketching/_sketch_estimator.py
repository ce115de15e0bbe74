"""What the estimators that learn from sketches share: the release, its guarantee, the statement."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dplit._boxes import check_box
from dplit._checks import (
    Neighboring,
    check_choice,
    check_integer,
    check_neighboring,
    check_positive,
)
from dplit._estimators import RandomState, spawn_generators
from dplit.features import random_frequencies
from dplit.mechanisms import gaussian_epsilon
from dplit.sketching.clompr import dequantized_sketch
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
    "fourier_map",
    "noise_sensitivity",
    "spent_epsilon",
]

_Array = NDArray[np.float64]

#: Largest dimensions in which the certificate of S_4, an eigenproblem of size d^2 / 2, is computed:
#: for the best shift, and for one shift.
_BEST_SHIFT, _ONE_SHIFT = 24, 64


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
        Whose noise is complete. Without noise the answer is infinite.
    delta : float
        For Gaussian noise, in (0, 1); not used otherwise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Sensitivity over scale (or the exact Gaussian epsilon), plus that of a noisy count. Merged
        releases of disjoint records have the epsilon of one of them.

    Raises
    ------
    ValueError
        If shares of the noise are missing.
    """
    record = released.noise
    if record is None:
        return math.inf
    if not record.complete:
        raise ValueError(
            f"sketch must carry all {record.n_shares} shares of its noise, got {record.collected}"
        )
    noise = cast("NoiseKind", record.kind)
    size = noise_sensitivity(released.map, noise=noise, neighboring=neighboring)
    if noise == "gaussian":
        spent = gaussian_epsilon(delta=delta, sigma=record.scale, sensitivity=size)
    else:
        spent = size / record.scale
    if record.count_scale is not None and neighboring == "add_remove":
        spent += 1.0 / record.count_scale
    return float(spent)


def fourier_map(
    kind: Literal["fourier", "quantized"],
    half_widths: _Array,
    n_frequencies: int,
    *,
    gamma: float | None,
    bound: _Array | None = None,
    rng: np.random.Generator,
) -> SketchMap:
    """Random Fourier map at a public scale: ``gamma``, or 12.5 / d in the units of the box.

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
        omega = random_frequencies(d, n_frequencies, gamma=12.5 / d, rng=rng)
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

    def _state(self, released: Sketch, epsilon: float | None, delta: float, clipped: str) -> None:
        """Set the guarantee and its sentence; an exact sketch is used and never kept."""
        self.sketch_ = None if released.noise is None else released
        self.epsilon_ = math.inf if epsilon is None else float(epsilon)
        self.delta_ = 0.0 if math.isinf(self.epsilon_) else float(delta)
        self.neighboring_ = self.neighboring
        if math.isinf(self.epsilon_):
            self.privacy_statement_ = "No privacy: learned from a sketch without noise."
            return
        change = "adding or removing" if self.neighboring_ == "add_remove" else "replacing"
        self.privacy_statement_ = (
            f"({self.epsilon_:.4g}, {self.delta_:g})-differential privacy for {change} one record "
            f"({clipped}). Whatever else is learned from sketch_ is covered by the same guarantee. "
            "The noise is floating-point research noise; a fixed random_state voids the guarantee."
        )

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

    def _state_of(self, released: Sketch, clipped: str) -> None:
        """Set the guarantee of a sketch that somebody else released."""
        delta = float(self.delta)
        if released.noise is not None and released.noise.kind != "gaussian":
            delta = 0.0
        spent = spent_epsilon(released, delta=delta, neighboring=self.neighboring)
        self._state(released, spent, delta, clipped)


def frequency_count(value: Any, default: int) -> int:
    """Return the number of frequencies that a parameter asks for."""
    return default if value is None else check_integer("n_frequencies", value)


class FourierSketchEstimator(SketchEstimator, ABC):
    """Models decoded from Fourier features of records in a public box."""

    bounds: Any
    kind: Literal["fourier", "quantized"]
    gamma: float | None
    n_frequencies: int | None
    random_state: RandomState

    @abstractmethod
    def _decode(self, released: Sketch, rng: np.random.Generator) -> Self:
        """Fit the model to a released sketch."""

    def _fit_records(self, X: ArrayLike, *, per_dimension: int) -> Self:
        """Clip, release and decode; ``per_dimension`` times d frequencies unless they are given."""
        self._check_privacy(("laplace", "gaussian", "polydisc", "cube"))
        records = validate_data(self, X, dtype=np.float64)
        d = records.shape[1]
        box = check_box(self.bounds, d)
        public, noise, search = spawn_generators(self.random_state, 3)
        m = frequency_count(self.n_frequencies, per_dimension * d)
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        sketch_map = fourier_map(self.kind, box.half, m, gamma=self.gamma, bound=far, rng=public)
        clipped = np.clip(records, box.low, box.high)
        released = self._release(clipped, sketch_map, noise, count="withheld")
        self._state(released, self.epsilon, self.delta, "coordinates clipped to the bounds")
        return self._decode(released, search)

    def _fit_released(self, released: Any) -> Self:
        """Check, state and decode a sketch that somebody else released."""
        accepted = self._accept(released, ("fourier", "quantized"))
        self._state_of(accepted, "in the sketch that was given")
        return self._decode(accepted, spawn_generators(self.random_state, 3)[2])

    def _target(self, released: Sketch) -> NDArray[np.complex128]:
        """Return the sum of features as the decoders want it: one-bit features rotated back."""
        check_box(self.bounds, released.map.n_features)
        if released.map.dither is None:
            return released.sum
        return dequantized_sketch(released.sum, released.map.dither)
