"""The small runs behind the paper's three schematics.

Figure 1 is the pipeline from records to parameters, Figure 2 who sees what when the records live on
several devices, Figure 3 the subsampling of features by masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_rng
from dplit.features import random_frequencies
from dplit.sketching.release import noise_share
from dplit.sketching.sketches import SketchMap

__all__ = [
    "MaskRun",
    "back_projection",
    "example_data",
    "mask_run",
    "stage_sizes",
]


#: Centres of the three groups of the example.
CENTRES = np.array([[-1.5, -1.0], [1.5, -0.5], [0.0, 1.6]])


def example_data(
    n_samples: int, n_components: int, *, data_rng: np.random.Generator,
    map_rng: np.random.Generator,
) -> tuple[NDArray[np.float64], SketchMap]:  # fmt: skip
    """Records of three groups in the plane, and a Fourier map for them.

    Parameters
    ----------
    n_samples : int
        Number of records.
    n_components : int
        Number of features.
    data_rng, map_rng : numpy.random.Generator
        Streams of data and of public randomness.

    Returns
    -------
    tuple
        Records of shape (n_samples, 2) and the map.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.experiments.schematics import example_data
    >>> rng = np.random.default_rng(0)
    >>> example_data(6, 4, data_rng=rng, map_rng=rng)[0].shape
    (6, 2)
    """
    n = check_integer("n_samples", n_samples)
    groups = np.arange(n) % len(CENTRES)
    records = CENTRES[groups] + 0.25 * check_rng(data_rng).standard_normal((n, 2))
    frequencies = random_frequencies(2, n_components, gamma=1.0, rng=map_rng)
    return records, SketchMap("fourier", frequencies)


def stage_sizes(sketch_map: SketchMap, *, n_samples: int, n_devices: int = 1) -> dict[str, int]:
    """How many real numbers exist at every stage of the pipeline.

    Parameters
    ----------
    sketch_map : SketchMap
        The map.
    n_samples : int
        Number of records.
    n_devices : int, default=1
        Among which they are distributed.

    Returns
    -------
    dict
        ``records`` (n d), ``features`` (all of them, never stored at once), ``released`` (a sum and
        a count per device) and ``merged`` (one sum and one count, whatever n).

    Examples
    --------
    >>> from dplit.sketching.experiments.schematics import stage_sizes
    >>> from dplit.sketching.sketches import SketchMap
    >>> stage_sizes(SketchMap("fourier", [[1.0, 2.0]]), n_samples=100, n_devices=3)
    {'records': 100, 'features': 400, 'released': 15, 'merged': 5}
    """
    n, devices = check_integer("n_samples", n_samples), check_integer("n_devices", n_devices)
    reals = sketch_map.n_components * (2 if sketch_map.is_complex else 1)
    return {
        "records": n * sketch_map.n_features,
        "features": n * reals,
        "released": devices * (reals + 1),
        "merged": reals + 1,
    }


class MaskRun(NamedTuple):
    """Arrays of one run with masks: features, masks (both records by features), sums."""

    features: NDArray[np.complex128]
    masks: NDArray[np.bool_]
    kept: NDArray[np.complex128]
    total: NDArray[np.complex128]
    released: NDArray[np.complex128]


def mask_run(
    records: NDArray[np.float64], sketch_map: SketchMap, *, n_kept: int, scale: float,
    mask_rng: np.random.Generator, noise_rng: np.random.Generator,
) -> MaskRun:  # fmt: skip
    r"""Sum of features of which every record contributes ``n_kept``, with Laplace noise.

    Parameters
    ----------
    records : ndarray of shape (n, d)
        The data.
    sketch_map : SketchMap
        The map, of m complex features.
    n_kept : int
        Number r of features that a record contributes, at most m.
    scale : float
        Laplace scale of the noise per real coordinate.
    mask_rng, noise_rng : numpy.random.Generator
        Streams of the masks (secret here) and of the noise.

    Returns
    -------
    MaskRun
        With ``total`` the sum of :math:`(m/r)\,\Phi(x_i)\odot h_i`, whose mean over the masks is
        the plain sum, and ``released`` the same with noise.

    Raises
    ------
    ValueError
        If ``n_kept`` is not between 1 and m.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.experiments.schematics import example_data, mask_run
    >>> rng = np.random.default_rng(0)
    >>> X, features = example_data(5, 4, data_rng=rng, map_rng=rng)
    >>> mask_run(X, features, n_kept=2, scale=1.0, mask_rng=rng, noise_rng=rng).masks.sum(axis=1)
    array([2, 2, 2, 2, 2])
    """
    m = sketch_map.n_components
    r = check_integer("n_kept", n_kept)
    if r > m:
        raise ValueError(f"n_kept must be at most {m}, got n_kept={n_kept}")
    features = sketch_map.transform(records)
    ranks = check_rng(mask_rng).random(features.shape).argsort(axis=1).argsort(axis=1)
    masks = ranks < r
    kept = np.asarray(features * masks * (m / r), dtype=np.complex128)
    total = kept.sum(axis=0)
    noise = noise_share("laplace", m, scale=scale, complex=True, rng=noise_rng)
    return MaskRun(features, masks, kept, total, total + noise)


def back_projection(
    mean: NDArray[Any], sketch_map: SketchMap, points: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Correlation :math:`\Re\langle\Phi(\theta),z\rangle/m` of a sketch with a point.

    Parameters
    ----------
    mean : ndarray of shape (m,)
        The sketch z.
    sketch_map : SketchMap
        Its map.
    points : ndarray of shape (n_points, d)
        Candidates theta.

    Returns
    -------
    ndarray of shape (n_points,)
        A smoothed density of the records at the points, seen through the sketch alone.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.experiments.schematics import back_projection
    >>> from dplit.sketching.sketches import SketchMap
    >>> features = SketchMap("fourier", [[1.0, 2.0]])
    >>> back_projection(np.ones(2), features, np.zeros((1, 1)))
    array([1.])
    """
    atoms = sketch_map.transform(points)
    return np.asarray((atoms.conj() @ mean).real / sketch_map.n_components)
