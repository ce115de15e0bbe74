"""The run behind the three schematics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit_studies.sketching.schematics import (
    CENTRES,
    back_projection,
    example_data,
    mask_run,
    stage_sizes,
)

pytestmark = pytest.mark.claim("sketch-fig1")


def _example(n: int = 60, m: int = 30) -> tuple[np.ndarray, SketchMap]:
    return example_data(
        n, m, data_rng=stream(0, "schematics", "data"), map_rng=stream(0, "schematics", "public")
    )


def test_sizes_are_those_of_the_arrays() -> None:
    X, sketch_map = _example()
    sizes = stage_sizes(sketch_map, n_samples=len(X), n_devices=3)
    features = sketch_map.transform(X)
    assert sizes["records"] == X.size
    assert sizes["features"] == features.view(float).size
    assert sizes["merged"] == sketch(X, sketch_map).sum.view(float).size + 1
    assert sizes["released"] == 3 * sizes["merged"]
    more = stage_sizes(sketch_map, n_samples=10 * len(X), n_devices=3)
    assert more["merged"] == sizes["merged"]
    quadratic = SketchMap("quadratic", np.ones((2, 5)))
    assert stage_sizes(quadratic, n_samples=7)["features"] == 35


def test_masks_keep_their_number_and_the_sum_follows() -> None:
    X, sketch_map = _example(12, 6)
    rngs = {"mask_rng": stream(0, "masks", "noise"), "noise_rng": stream(1, "masks", "noise")}
    run = mask_run(X, sketch_map, n_kept=2, scale=0.5, **rngs)
    assert (run.masks.sum(axis=1) == 2).all()
    pairs = zip(X, run.masks, strict=True)
    expected = sum(3.0 * sketch_map.transform(x[None])[0] * h for x, h in pairs)
    np.testing.assert_allclose(run.total, expected, atol=1e-12)
    np.testing.assert_allclose(run.features, sketch_map.transform(X), atol=1e-12)
    assert np.abs(run.released - run.total).max() > 0


def test_masks_are_uniform_and_unbiased() -> None:
    """All 15 masks of 2 among 6, 6000 draws: chi-square below its 1e-5 quantile of 14 degrees."""
    X, sketch_map = _example(6000, 6)
    run = mask_run(
        X,
        sketch_map,
        n_kept=2,
        scale=1.0,
        mask_rng=stream(2, "masks", "noise"),
        noise_rng=stream(3, "masks", "noise"),
    )
    pairs = list(itertools.combinations(range(6), 2))
    seen = [tuple(np.flatnonzero(h)) for h in run.masks]
    counts = np.array([seen.count(pair) for pair in pairs])
    assert np.sum((counts - 400.0) ** 2 / 400.0) < 50.5
    gap = np.abs(run.total - run.features.sum(axis=0)) / np.sqrt(6000)
    assert gap.max() < 5 * np.sqrt(2.0)  # variance m / r - 1 = 2 a record


def test_back_projection_peaks_at_the_groups() -> None:
    X, sketch_map = _example(300, 200)
    mean = sketch(X, sketch_map).mean
    at_groups = back_projection(mean, sketch_map, CENTRES)
    elsewhere = back_projection(mean, sketch_map, np.array([[3.0, 3.0], [-3.0, 2.0]]))
    assert at_groups.min() > 0.15
    assert elsewhere.max() < 0.1
    kernel = np.mean(np.exp(1j * (X - CENTRES[0]) @ sketch_map.frequencies), axis=0).mean()
    assert at_groups[0] == pytest.approx(kernel.real, abs=float(sketch_map.feature_error.max()))
