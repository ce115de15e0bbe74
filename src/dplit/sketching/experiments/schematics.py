"""The paper's three schematics, drawn from a small run instead of by hand.

Figure 1 is the pipeline from records to parameters, Figure 2 who sees what when the records live on
several devices, Figure 3 the subsampling of features by masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dplit._checks import check_integer, check_rng
from dplit.features import random_frequencies
from dplit.sketching.release import noise_share
from dplit.sketching.sketches import SketchMap, sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MaskRun",
    "attack_figure",
    "back_projection",
    "example_data",
    "mask_figure",
    "mask_run",
    "pipeline_figure",
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


def pipeline_figure(records: NDArray[np.float64], sketch_map: SketchMap) -> Figure:
    """Draw Figure 1: records, their features, the sketch, and what it says about the records.

    Parameters
    ----------
    records : ndarray of shape (n, 2)
        Of :func:`example_data`.
    sketch_map : SketchMap
        A complex map of the plane.

    Returns
    -------
    matplotlib.figure.Figure
        Four panels.
    """
    mean = sketch(records, sketch_map).mean
    fig, (left, middle, disc, right) = plt.subplots(
        1, 4, figsize=(10.5, 3.1), width_ratios=[1, 1.15, 1, 1]
    )
    left.plot(records[:, 0], records[:, 1], "o", ms=3, alpha=0.7)
    left.set(title=f"{len(records)} records", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    shown = sketch_map.transform(records[:24]).real
    middle.imshow(shown, cmap="cividis", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    middle.set(title="features (real parts)", xlabel="feature $j$", ylabel="record $i$ (first 24)")
    middle.grid(False)
    angle = np.linspace(0, 2 * np.pi, 200)
    disc.plot(np.cos(angle), np.sin(angle), color="gray", lw=1, linestyle="-")
    disc.plot(mean.real, mean.imag, "D", ms=3, linestyle="none")
    disc.set(
        title=f"their mean: {len(mean)} numbers", xlabel=r"$\Re z_j$", ylabel=r"$\Im z_j$",
        aspect="equal",
    )  # fmt: skip
    axis = np.linspace(-3, 3, 81)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    level = back_projection(mean, sketch_map, grid).reshape(81, 81)
    right.contourf(axis, axis, level, levels=12, cmap="cividis")
    right.plot(CENTRES[:, 0], CENTRES[:, 1], "X", color="white", mec="black", ms=8)
    right.set(title="what it remembers", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    right.grid(False)
    return fig


def _box(axes: Axes, x: float, y: float, text: str, width: float, style: str = "-") -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - 0.32), width, 0.64, boxstyle="round,pad=0.04", linestyle=style,
            facecolor="#ffffff", edgecolor="#0072B2", linewidth=1.4,
        )
    )  # fmt: skip
    axes.text(x, y, text, ha="center", va="center", fontsize=9, color="black")


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color="#D55E00", lw=1.4)
    )


def attack_figure(counts: tuple[int, ...], sketch_map: SketchMap) -> Figure:
    """Draw Figure 2: every device adds its noise before anything leaves it.

    Parameters
    ----------
    counts : tuple of int
        Number of records of every device.
    sketch_map : SketchMap
        The public map.

    Returns
    -------
    matplotlib.figure.Figure
        One diagram without axes.
    """
    m = sketch_map.n_components
    fig, axes = plt.subplots(figsize=(9.0, 1.15 * len(counts) + 0.9))
    rows = np.arange(len(counts))[::-1] * 1.0
    middle = float(rows.mean())
    for k, (n, y) in enumerate(zip(counts, rows, strict=True), start=1):
        _box(axes, 0.0, y, f"device {k}\n{n} records", 1.3)
        _box(axes, 2.1, y, f"sum of {m} features\nand count, plus noise", 1.9)
        _arrow(axes, (0.7, y), (1.08, y))
        _arrow(axes, (3.12, y), (4.6, middle + 0.12 * (y - middle)))
    axes.axvline(3.55, color="gray", linestyle="--", lw=1.2)
    top = rows.max() + 0.62
    axes.text(3.45, top, "secret", ha="right", fontsize=9, style="italic", color="#8c6d1f")
    axes.text(3.65, top, "public", ha="left", fontsize=9, style="italic", color="#8c6d1f")
    _box(axes, 5.35, middle, "sums add,\ncounts add", 1.3)
    _box(axes, 7.6, middle + 0.55, "analyst\nlearns from them", 1.7)
    _box(axes, 7.6, middle - 0.55, "adversary sees\nall of them, and $\\Omega$", 1.7, "--")
    _arrow(axes, (6.05, middle + 0.1), (6.7, middle + 0.45))
    _arrow(axes, (6.05, middle - 0.1), (6.7, middle - 0.45))
    axes.set(xlim=(-0.8, 8.6), ylim=(-0.5, top + 0.25))
    axes.set_axis_off()
    return fig


def mask_figure(run: MaskRun) -> Figure:
    """Draw Figure 3: features, masks, what is left of the features, and the released sum.

    Parameters
    ----------
    run : MaskRun
        Of few records and features, so that cells can be seen.

    Returns
    -------
    matplotlib.figure.Figure
        Four panels.
    """
    fig, panels = plt.subplots(1, 4, figsize=(10.5, 3.1), width_ratios=[1, 1, 1, 1.3])
    n, m = run.features.shape
    peak = float(np.abs(run.kept.real).max())
    left = np.ma.masked_array(run.kept.real, mask=~run.masks)
    pictures = (
        ("features", run.features.real, 1.0), ("masks", run.masks, 1.0), ("kept", left, peak)
    )  # fmt: skip
    for axes, (title, image, limit) in zip(panels, pictures, strict=False):
        low = 0.0 if title == "masks" else -limit
        colours = plt.get_cmap("Greys" if title == "masks" else "cividis").with_extremes(bad="w")
        axes.imshow(image, cmap=colours, vmin=low, vmax=limit, aspect="auto")
        axes.set(title=title, xlabel="feature $j$", ylabel="record $i$")
        axes.grid(False)
    sums = panels[3]
    place = np.arange(m)
    sums.plot(place, run.features.sum(axis=0).real, "o", label="all", linestyle="none")
    sums.plot(place, run.total.real, "s", label="masked", linestyle="none", mfc="none")
    sums.plot(place, run.released.real, "^", label="and noise", linestyle="none", mfc="none")
    sums.set(title=f"sum over {n} records", xlabel="feature $j$", ylabel="real part")
    for axes in panels:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    fig.legend(loc="outside lower right", ncols=3, fontsize=8.5)
    return fig
