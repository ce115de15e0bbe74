"""Sketches of data that do not fit in memory or live on several machines.

Every part is sketched where it lies, optionally with noise added before anything leaves, and the
parts are merged. A part that contains a NaN stops everything: nothing is returned, noisy or not.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_integer, check_rng
from dplit.sketching.release import ReleasePlan, plan_release
from dplit.sketching.sketches import BLOCK_ROWS, Sketch, SketchMap, sketch

__all__ = ["merge_all", "merged_noise_energy", "sketch_dask", "sketch_files", "sketch_parts"]


def merge_all(parts: Iterable[Sketch]) -> Sketch:
    """Return the sketch of the union of disjoint parts.

    Parameters
    ----------
    parts : iterable of Sketch
        At least one; of one map, and all exact or all with the same noise.

    Returns
    -------
    Sketch
        With a complete noise record if all parts carry noise.

    Raises
    ------
    ValueError
        If there is no part, two do not fit together, or noise shares are missing: a sum of fewer
        shares than planned is less private than planned.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sketches import SketchMap, sketch
    >>> from dplit.sketching.sources import merge_all
    >>> fourier = SketchMap("fourier", [[1.0]])
    >>> merge_all(sketch(np.zeros((n, 1)), fourier) for n in (1, 2)).count
    3
    """
    found = list(parts)
    if not found:
        raise ValueError("parts must not be empty, got 0 sketches")
    whole = functools.reduce(Sketch.merge, found)
    if whole.noise is not None and not whole.noise.complete:
        raise ValueError(
            f"all {whole.noise.n_shares} noise shares must be merged, "
            f"got {whole.noise.collected} of them; nothing is released"
        )
    return whole


def _part(
    index: int,
    X: Any,
    sketch_map: SketchMap,
    block_rows: int,
    plan: ReleasePlan | None,
    rng: np.random.Generator | None,
) -> Sketch:
    """Return the sketch of one part, with its noise; runs on the worker that holds the part."""
    try:
        exact = sketch(X, sketch_map, block_rows=block_rows)
    except (TypeError, ValueError) as error:
        raise type(error)(f"part {index}: {error}; nothing is released") from None
    return exact if plan is None or rng is None else plan.apply(exact, rng=rng)


def _generators(
    count: int, plan: ReleasePlan | None, rng: np.random.Generator | None
) -> list[np.random.Generator | None]:
    """Return one generator per part, or Nones without a plan; check that shares and parts agree."""
    if plan is None:
        if rng is not None:
            raise ValueError("rng must be None without a plan: exact sketches draw nothing")
        return [None] * count
    if plan.n_shares not in (1, count):
        raise ValueError(
            f"n_shares must be 1 or the number of parts {count}, got n_shares={plan.n_shares}"
        )
    return list(check_rng(rng).spawn(count))


def sketch_parts(
    parts: Sequence[Any],
    sketch_map: SketchMap,
    *,
    plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Sketch:
    """Sketch the data of several holders, each adding its noise before the sums meet.

    Parameters
    ----------
    parts : sequence
        What each holder has: an array, a memory map or an iterable of chunks. Empty ones are fine.
    sketch_map : SketchMap
        The public map.
    plan : ReleasePlan, optional
        Noise of every holder: a whole one (``n_shares=1``, holders trust nobody, and the variance
        is multiplied by their number) or one share each (``n_shares=len(parts)``, the sum alone is
        seen). Without a plan the result is exact and must not be published.
    rng : numpy.random.Generator, optional
        Noise; with a plan only. Every holder gets a generator of its own, made here: a simulation
        of holders, who in earnest each draw their own noise.
    block_rows : int, default=128
        As in :func:`dplit.sketching.sketches.sketch`.

    Returns
    -------
    Sketch
        Of all records together.

    Raises
    ------
    TypeError, ValueError
        If a part is not finite (the message names part, chunk and record), or arguments do not
        fit together. Nothing is returned then.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.release import plan_release
    >>> from dplit.sketching.sketches import SketchMap
    >>> from dplit.sketching.sources import sketch_parts
    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> plan = plan_release(fourier, epsilon=1.0, count="withheld", n_shares=2)
    >>> parts = [np.zeros((5, 1)), np.ones((0, 1))]
    >>> sketch_parts(parts, fourier, plan=plan, rng=np.random.default_rng(0)).noise.complete
    True
    """
    generators = _generators(len(parts), plan, rng)
    return merge_all(
        _part(index, part, sketch_map, block_rows, plan, generator)
        for index, (part, generator) in enumerate(zip(parts, generators, strict=True))
    )


def merged_noise_energy(
    n_holders: int, *, n_shares: int, n_components: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Energy of the noise that merged releases carry, over that of one release.

    Parameters
    ----------
    n_holders : int
        Number L of holders.
    n_shares : int
        1 if each adds a whole Laplace noise, L if each adds a share.
    n_components : int
        Number of features, each an independent draw.
    rng : numpy.random.Generator
        Stream of noise.

    Returns
    -------
    ndarray of shape (n_components,)
        :math:`|\xi_j|^2/4b^2`; its expectation is L with whole noises and 1 with shares.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sources import merged_noise_energy
    >>> rng = np.random.default_rng(0)
    >>> merged_noise_energy(3, n_shares=3, n_components=5, rng=rng).shape
    (5,)
    """
    holders, m = check_integer("n_holders", n_holders), check_integer("n_components", n_components)
    flat = SketchMap("fourier", np.ones((1, m)))
    plan = plan_release(flat, epsilon=1.0, count="withheld", n_shares=n_shares)
    whole = sketch_parts([np.empty((0, 1))] * holders, flat, plan=plan, rng=rng)
    return np.asarray(np.abs(whole.sum) ** 2 / (4.0 * plan.scale**2))


def sketch_files(
    paths: Sequence[str | PathLike[str]], sketch_map: SketchMap, **options: Any
) -> Sketch:
    """Sketch ``.npy`` files through memory maps, one part per file.

    Parameters
    ----------
    paths : sequence of path
        Files of real arrays of shape (n_samples, n_features).
    sketch_map : SketchMap
        The public map.
    **options
        ``plan``, ``rng`` and ``block_rows`` of :func:`sketch_parts`.

    Returns
    -------
    Sketch
        Of all records; no more than one block of them is in memory at a time.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    TypeError, ValueError
        As :func:`sketch_parts`.
    """
    return sketch_parts([np.load(path, mmap_mode="r") for path in paths], sketch_map, **options)


def sketch_dask(
    X: Any,
    sketch_map: SketchMap,
    *,
    plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Sketch:
    """Sketch a dask array where its chunks lie; only sketches travel.

    Parameters
    ----------
    X : dask.array.Array
        Real, of shape (n_samples, n_features); chunked along records at will, sizes may be unknown.
    sketch_map : SketchMap
        The public map.
    plan : ReleasePlan, optional
        Noise added by the worker that holds a chunk, before the sketch leaves it: whole or in
        shares, as in :func:`sketch_parts`, with chunks of records in the place of holders.
    rng : numpy.random.Generator, optional
        Noise; with a plan only. Every task carries a generator of its own, so that a chunk that is
        computed again (its worker died) gets the same noise again.
    block_rows : int, default=128
        As in :func:`dplit.sketching.sketches.sketch`.

    Returns
    -------
    Sketch
        The bits of the array in memory.

    Raises
    ------
    TypeError, ValueError
        If a chunk is not finite (the message names it), or arguments do not fit together.
    RuntimeError
        If workers died again and again over one chunk. Nothing is returned then.

    Notes
    -----
    The scheduler is the one in force: threads by default, or the workers of a ``Client``. A worker
    that dies is replaced by dask up to ``distributed.scheduler.allowed-failures`` times.

    The caller makes the generators and could subtract the noise: this protects records from
    readers of the result, not from the caller. Holders who do not trust the caller apply a
    :class:`dplit.sketching.release.ReleasePlan` with a generator of their own.
    """
    if X.ndim != 2:
        raise ValueError(
            f"X must have shape (n, {sketch_map.n_features}), got {X.ndim} axes; "
            "nothing is released"
        )
    dask: Any = importlib.import_module("dask")
    whole_rows = X.rechunk({1: -1})
    blocks = whole_rows.to_delayed().ravel().tolist()
    generators = _generators(len(blocks), plan, rng)
    run = dask.delayed(_part, pure=False)
    tasks = [
        run(index, block, sketch_map, block_rows, plan, generator)
        for index, (block, generator) in enumerate(zip(blocks, generators, strict=True))
    ]
    try:
        return merge_all(dask.compute(*tasks))
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise RuntimeError(
                f"workers died while sketching, nothing is released: {error}"
            ) from error
        raise
