"""Audits of the estimators: what two fits on neighbouring data give away, with both controls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._base import spawn_generators
from dplit._checks import check_choice, check_integer
from dplit.audit import Controls, EventAudit, audit_event, run_controls
from dplit.clusters.estimator import PrivateLloyd
from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma
from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, CompressivePCA
from dplit.sketching.sketches import Sketch, SketchMap, sketch
from dplit.streams import stream

_Array = NDArray[np.float64]

#: Label -> (class, parameters). Sketches of one or two frequencies leave the attacker no averaging.
AUDITED: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "kmeans-laplace": (CompressiveKMeans, {"kind": "quantized", "noise": "laplace"}),
    "kmeans-cube": (CompressiveKMeans, {"kind": "quantized", "noise": "cube"}),
    "kmeans-polydisc": (CompressiveKMeans, {"noise": "polydisc"}),
    "mixture-gaussian": (CompressiveGaussianMixture, {"noise": "gaussian"}),
    "pca-laplace": (CompressivePCA, {"noise": "laplace"}),
    "pca-replace": (CompressivePCA, {"noise": "laplace", "neighboring": "replace_one"}),
    "lloyd-laplace": (PrivateLloyd, {"noise": "laplace"}),
}

#: Where a Gaussian release is audited: far above any sensible delta, to be seen in 200 runs.
_DELTA = 0.2

#: Share of the largest loss from which on a pure release counts as a hit.
_SHARE = 0.8


def _make_estimator(label: str, *, epsilon: float, random_state: Any) -> Any:
    """Return one of the audited estimators with small public parameters."""
    check_choice("label", label, AUDITED)
    kind, parameters = AUDITED[label]
    options: dict[str, Any] = {"epsilon": epsilon, "random_state": random_state, **parameters}
    if parameters["noise"] == "gaussian":
        options["delta"] = _DELTA
    if kind is CompressivePCA:
        count = 1 if label == "pca-laplace" else 2
        return CompressivePCA(1, data_norm=1.0, n_frequencies=count, count_share=1e-9, **options)
    options["bounds"] = (-1.0, 1.0)
    if kind is PrivateLloyd:
        return PrivateLloyd(1, start=[[0.0]], n_iter=1, **options)
    if kind is CompressiveKMeans:
        return CompressiveKMeans(1, n_frequencies=1, n_restarts=1, **options)
    return CompressiveGaussianMixture(1, n_frequencies=2, n_starts=1, **options)


def _neighbours(label: str, frequencies: _Array | None = None) -> tuple[_Array, _Array]:
    """Return two neighbouring data sets: a record more, or another in its place.

    "pca-replace": the vectors of the (public) orthonormal basis, as far apart as records can be.
    """
    if label == "pca-replace":
        base, pair = np.zeros((3, 2)), np.eye(2) if frequencies is None else frequencies.T
        return np.vstack([base, pair[:1]]), np.vstack([base, pair[1:]])
    base = np.zeros((60 if label == "lloyd-laplace" else 3, 1))
    return np.vstack([base, [[1.0]]]), base


def _log_likelihood_ratio(released: Sketch, X: _Array, Y: _Array) -> float:
    """Return ``log p(s | X) - log p(s | Y)`` of a released sum, for clipped data."""
    if released.noise is None:
        raise ValueError("released must carry noise, got noise=None")
    exponents = []
    for records in (X, Y):
        rest = released.sum - released.map.transform(records).sum(axis=0)
        parts = np.concatenate([rest.real, rest.imag]) / released.noise.scale
        size = {
            "laplace": np.abs(parts).sum(),
            "gaussian": 0.5 * (parts**2).sum(),
            "cube": np.abs(parts).max(),
            "polydisc": np.abs(rest).max() / released.noise.scale,
        }[released.noise.kind]
        exponents.append(float(size))
    return exponents[1] - exponents[0]


def _event(label: str, epsilon: float) -> Callable[[Any], bool]:
    """Return the event that is counted: a threshold on what is published, fixed in advance."""
    if label == "lloyd-laplace":  # S >= 1 and N >= 61: the loss is exactly epsilon
        return lambda m: bool(
            m.cluster_centers_[0, 0] * m.counts_[0] >= 1.0 and m.counts_[0] >= 61.0
        )
    gaussian = AUDITED[label][1]["noise"] == "gaussian"

    def event(model: Any) -> bool:
        # pure noise: most of the loss that the fit's own budget allows; Gaussian: the optimal test
        level = epsilon if gaussian else _SHARE * model.epsilon_
        pair = _neighbours(label, model.sketch_.map.frequencies)
        return _log_likelihood_ratio(model.sketch_, *pair) >= level

    return event


def _half_noise_epsilon(label: str, epsilon: float) -> float:
    """Return the budget at which the estimator adds half the noise of ``epsilon``."""
    if AUDITED[label][1]["noise"] != "gaussian":
        return 2.0 * epsilon
    half = gaussian_sigma(epsilon=epsilon, delta=_DELTA) / 2.0
    return gaussian_epsilon(delta=_DELTA, sigma=half)


def audit_estimator(
    label: str, *, runs: int, epsilon: float = 1.0, confidence: float = 0.9999, seed: int, name: str
) -> Controls[EventAudit]:
    """Fit an estimator many times on two neighbours and bound its epsilon from below."""
    check_choice("label", label, AUDITED)
    check_integer("runs", runs)
    gaussian = AUDITED[label][1]["noise"] == "gaussian"

    def audit(factor: float) -> EventAudit:
        budget = epsilon if factor == 1.0 else _half_noise_epsilon(label, epsilon)

        def release(side: int, rng: np.random.Generator) -> Any:
            state = int(rng.integers(2**62))
            model = _make_estimator(label, epsilon=budget, random_state=state)
            omega = None
            if label == "pca-replace":  # the first of the estimator's three streams
                omega = orthonormal_blocks(2, 2, rng=spawn_generators(state, 3)[0])
            with warnings.catch_warnings():  # three records: that noise hides them is the point
                warnings.simplefilter("ignore", UserWarning)
                return model.fit(_neighbours(label, omega)[side])

        return audit_event(
            release,
            0,
            1,
            _event(label, epsilon),
            runs=runs,
            epsilon=epsilon,
            delta=_DELTA if gaussian else 0.0,
            confidence=confidence,
            rng=stream(seed, f"{name}-{label}-{factor:g}", "noise"),
        )

    return run_controls(audit)


#: Records of a block of ``_single_precision_sum``, and of a pattern that is repeated.
_PATTERN = 128


def _single_precision_sum(X: NDArray[np.float64], sketch_map: SketchMap) -> NDArray[np.complex128]:
    """Sum of Fourier features in float32 blocks of 128 records, blocks added in float64.

    The mean is right to 1e-7, and one record moves the sum by more than its feature.
    """
    omega = sketch_map.frequencies.astype(np.float32)
    total = np.zeros((2, sketch_map.n_components))
    ones = np.ones((1, _PATTERN), np.float32)
    for start in range(0, len(X), _PATTERN):
        angles = X[start : start + _PATTERN].astype(np.float32) @ omega
        parts = np.stack([np.cos(angles), np.sin(angles)])
        total += (ones[:, : len(angles)] @ parts)[:, 0]
    return np.asarray(total[0] + 1j * total[1])


def _exact_sum(X: NDArray[np.float64], sketch_map: SketchMap) -> NDArray[np.complex128]:
    """Sum of :func:`dplit.sketching.sketches.sketch`."""
    return np.asarray(sketch(X, sketch_map).sum)


def largest_move(
    total: Callable[[NDArray[np.float64], SketchMap], NDArray[np.complex128]],
    sketch_map: SketchMap,
    n_samples: int,
    *,
    n_patterns: int,
    rng: np.random.Generator,
) -> float:
    """Largest move of an entry that a search finds when the first record is removed.

    The pattern of 128 records whose block changes most when rolled by one is repeated: a removal
    rolls every block. Half are short, half as long as the bound.
    """
    best, gain = np.zeros((_PATTERN, sketch_map.n_features)), -1.0
    for index in range(n_patterns):
        longest = np.asarray(sketch_map.bound) if index % 2 else 0.15
        pattern = longest * rng.uniform(-1.0, 1.0, best.shape)
        rolled = np.roll(pattern, -1, axis=0)
        change = float(np.abs(total(pattern, sketch_map) - total(rolled, sketch_map)).max())
        if change > gain:
            best, gain = pattern, change
    X = np.tile(best, (-(-n_samples // _PATTERN), 1))[:n_samples]
    moved = total(X, sketch_map) - total(X[1:], sketch_map)
    return float(np.abs(moved).max())


@dataclass(frozen=True)
class _FloatCurve:
    """Largest moves found at every number of records."""

    sizes: tuple[int, ...]
    single: tuple[float, ...]
    exact: tuple[float, ...]


def float_curve(sizes: Sequence[int], *, n_patterns: int, seed: int, name: str) -> _FloatCurve:
    """Search at every size with both sums, on eight frequencies in two dimensions."""
    fourier = SketchMap("fourier", stream(seed, name, "public").standard_normal((2, 8)))
    found = {
        total: [
            largest_move(total, fourier, n, n_patterns=n_patterns, rng=stream(seed, name, "data"))
            for n in sizes
        ]
        for total in (_single_precision_sum, _exact_sum)
    }
    single, exact = found.values()
    return _FloatCurve(tuple(sizes), tuple(single), tuple(exact))
