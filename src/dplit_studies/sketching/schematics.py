"""The small runs behind the schematics: Figure 1 from records to parameters, Figure 2 who sees
what on several devices, Figure 3 the subsampling of features by masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_rng
from dplit.features import random_frequencies
from dplit.mechanisms import laplace_noise
from dplit.sketching.sketches import SketchMap

#: Centres of the three groups of the example.
CENTRES = np.array([[-1.5, -1.0], [1.5, -0.5], [0.0, 1.6]])


def example_data(
    n_samples: int,
    n_components: int,
    *,
    data_rng: np.random.Generator,
    map_rng: np.random.Generator,
) -> tuple[NDArray[np.float64], SketchMap]:
    """Records of three groups in the plane, and a Fourier map for them."""
    n = check_integer("n_samples", n_samples)
    groups = np.arange(n) % len(CENTRES)
    records = CENTRES[groups] + 0.25 * check_rng(data_rng).standard_normal((n, 2))
    frequencies = random_frequencies(2, n_components, gamma=1.0, rng=map_rng)
    return records, SketchMap("fourier", frequencies)


def stage_sizes(sketch_map: SketchMap, *, n_samples: int, n_devices: int = 1) -> dict[str, int]:
    """How many real numbers exist at every stage of the pipeline."""
    n, devices = check_integer("n_samples", n_samples), check_integer("n_devices", n_devices)
    reals = sketch_map.n_components * (2 if sketch_map.is_complex else 1)
    return {
        "records": n * sketch_map.n_features,
        "features": n * reals,
        "released": devices * (reals + 1),
        "merged": reals + 1,
    }


class _MaskRun(NamedTuple):
    """Arrays of one run with masks: features, masks (both records by features), sums."""

    features: NDArray[np.complex128]
    masks: NDArray[np.bool_]
    kept: NDArray[np.complex128]
    total: NDArray[np.complex128]
    released: NDArray[np.complex128]


def mask_run(
    records: NDArray[np.float64],
    sketch_map: SketchMap,
    *,
    n_kept: int,
    scale: float,
    mask_rng: np.random.Generator,
    noise_rng: np.random.Generator,
) -> _MaskRun:
    r"""Sum of :math:`(m/r)\,\Phi(x_i)\odot h_i`, masks of r ones, with Laplace noise."""
    m = sketch_map.n_components
    r = check_integer("n_kept", n_kept, maximum=m)
    features = sketch_map.transform(records)
    ranks = check_rng(mask_rng).random(features.shape).argsort(axis=1).argsort(axis=1)
    masks = ranks < r
    kept = np.asarray(features * masks * (m / r), dtype=np.complex128)
    total = kept.sum(axis=0)
    noise = laplace_noise(m, scale=scale, complex=True, rng=noise_rng)
    return _MaskRun(features, masks, kept, total, total + noise)


def back_projection(
    mean: NDArray[Any], sketch_map: SketchMap, points: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Correlation :math:`\Re\langle\Phi(\theta),z\rangle/m` of a sketch with points."""
    atoms = sketch_map.transform(points)
    return np.asarray((atoms.conj() @ mean).real / sketch_map.n_components)
