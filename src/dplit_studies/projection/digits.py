"""Figure 3: fours against nines from private least squares, on the digits that are at hand.

The paper uses MNIST's training images. Where only the test images are found, each is joined by
random affine copies, and training and test sets are split by original image.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from dplit._checks import Array, check_integer, check_rng
from dplit.entries.privacy import additive_sigma, fixed_variance
from dplit.notebook.datasets.digits import Digits
from dplit.papers.projection.samplers import projection_draws
from dplit.papers.projection.spectrum import (
    Spectrum,
    _shifted_solve,
    _spectra_from_moments,
    ridge_coefficients,
)
from dplit.streams import stream
from dplit_studies.projection.curves import _Setting, projection_sizes, setting
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials

_COPIES = 5

_PAPER_SAMPLES = 11_791

_STAND_IN = _Setting(40, 180, 90, tuple(range(1, 10)), (0.2,))

_SIZES = ("log", "linear", "full")


@dataclass(frozen=True)
class _PixelTable:
    """``chosen`` pixels (n, d) in [0, 1] of samples, labels +-1, and each one's original image."""

    pixels: Array
    labels: Array
    origin: NDArray[np.int64]
    chosen: NDArray[np.int64]


@dataclass(frozen=True)
class _DigitCurves(Runs):
    """Test errors (trials, p) of "ols", "additive", "<size> <noise>" by ``axis``; f(X)^2 / n."""

    axis: Array
    floor_share: Array
    source: str


def _augment(images: Array, *, rng: np.random.Generator) -> Array:
    """Distort every image (n, side, side) by one random affine map, bilinear and clipped to [0, 1].

    Rotation up to 12 degrees, scale 0.9 to 1.1, shear up to 0.15, shift up to 1.5 pixels of 28.
    """
    generator, n = check_rng(rng), len(images)
    side = images.shape[1]
    angle = np.deg2rad(generator.uniform(-12.0, 12.0, n))
    scale = generator.uniform(0.9, 1.1, (n, 1, 1))
    shear = generator.uniform(-0.15, 0.15, n)
    shift = generator.uniform(-1.5, 1.5, (n, 2)) * side / 28.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    skew = np.array([[np.ones(n), shear], [np.zeros(n), np.ones(n)]])
    maps = np.einsum("ijn,jkn->nik", turn, skew) / scale
    middle = np.full(2, (side - 1) / 2.0)
    offsets = middle - maps @ middle + shift
    moved = [
        affine_transform(image, matrix, offset, order=1)
        for image, matrix, offset in zip(images, maps, offsets, strict=True)
    ]
    return np.asarray(np.clip(np.array(moved), 0.0, 1.0))


def pixel_table(digits: Digits, *, n_features: int, rng: np.random.Generator) -> _PixelTable:
    """Samples of Figure 3: the d pixels of most energy in all samples, which is not private.

    Other images than the paper's come with five affine copies each, 11,791 samples at most.
    """
    images, origin = digits.images, np.arange(len(digits.images))
    d = check_integer("n_features", n_features, maximum=images[0].size)
    check_rng(rng)
    if digits.source != "paper":
        copies = [_augment(images, rng=rng) for _ in range(_COPIES)]
        images = np.concatenate([images, *copies])[:_PAPER_SAMPLES]
        origin = np.tile(origin, _COPIES + 1)[:_PAPER_SAMPLES]
    flat = images.reshape(len(images), -1)
    chosen = np.sort(np.argsort(np.sum(flat**2, axis=0), kind="stable")[-d:])
    return _PixelTable(np.ascontiguousarray(flat[:, chosen]), digits.labels[origin], origin, chosen)


def _split(table: _PixelTable, rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Split sample numbers 80/20 by original image, both parts in random order."""
    originals = rng.permutation(np.unique(table.origin))
    held_out = np.isin(table.origin, originals[: round(0.2 * len(originals))])
    return rng.permutation(np.flatnonzero(~held_out)), np.flatnonzero(held_out)


def _nested(
    X: Array, y: Array, noise: Array, chosen: _Setting
) -> Iterator[tuple[Spectrum, Array, float]]:
    """Yield spectrum, fit under ``noise`` and f(X) squared of the first rows at every position."""
    d, energies = chosen.n_features, 0.0
    (gram, noisy), cross, (total, peak) = np.zeros((2, d, d)), np.zeros((2, d)), np.zeros((2, d))
    for begin, end in pairwise(chosen.row_unit * k for k in (0, *chosen.positions)):
        rows, labels = X[begin:end], y[begin:end]
        released = rows + noise[begin:end]
        gram += rows.T @ rows
        noisy += released.T @ released
        cross += labels @ rows, labels @ released
        energies += float(labels @ labels)
        total += np.sum(rows**2, axis=0)
        np.maximum(peak, np.max(rows**2, axis=0), out=peak)
        (problem,) = _spectra_from_moments(gram, cross[0][:, None], [energies])
        yield problem, _shifted_solve(noisy, cross[1], 0.0), float(np.min(total - peak))


def _trial(trial: Trial, table: _PixelTable, chosen: _Setting, n_draws: int) -> dict[str, Array]:
    data, noise = trial.stream("data"), trial.stream("noise")
    train, test = _split(table, data)
    (epsilon,) = chosen.epsilons
    hidden = noise.standard_normal((len(train), chosen.n_features))
    hidden *= additive_sigma(epsilon=epsilon)

    pixels, labels = table.pixels[test], table.labels[test]

    def wrong(coefficients: Array) -> float:
        signs = np.where(pixels @ coefficients.T > 0, 1.0, -1.0)
        return float(np.mean(signs != labels.reshape(-1, *[1] * (signs.ndim - 1))))

    found: dict[str, list[float]] = defaultdict(list)
    blocks = _nested(table.pixels[train], table.labels[train], hidden, chosen)
    for k, (problem, noisy, floor) in zip(chosen.positions, blocks, strict=True):
        found["floor"].append(floor / (chosen.row_unit * k))
        found["ols"].append(wrong(ridge_coefficients(problem, penalty=0.0)))
        found["additive"].append(wrong(noisy))
        for scheme, size in _sizes(chosen, k).items():
            safe = fixed_variance(epsilon=epsilon, n_components=size)
            for name, lam in (("printed", max(safe - floor, 0.0)), ("repaired", safe)):
                fits = projection_draws(
                    problem, penalty=lam, n_components=size, size=n_draws, rng=noise
                )
                found[f"{scheme} {name}"].append(wrong(fits))
    return {key: np.array(values) for key, values in found.items()}


def _sizes(chosen: _Setting, k: int) -> dict[str, int]:
    """Return the projection sizes, in the units of the setting."""
    share = chosen.sketch_unit / setting("fig3").sketch_unit
    return {s: round(share * projection_sizes("fig3", k)[s]) for s in _SIZES}


def digit_curves(
    digits: Digits, *, seed: int, n_repeats: int = 10, n_draws: int = 4, n_jobs: int = 1
) -> _DigitCurves:
    """Run Figure 3: test errors against the number of training samples at 0.2 bit per entry.

    ``n_draws`` projections per trial and size; bundled digits run with 40 pixels and n = 180 k.
    """
    chosen = _STAND_IN if digits.source == "bundled" else setting("fig3")
    public = stream(seed, "proj-fig3", "public")
    table = pixel_table(digits, n_features=chosen.n_features, rng=public)
    work = partial(_trial, table=table, chosen=chosen, n_draws=check_integer("n_draws", n_draws))
    trials = run_trials(work, n_repeats, seed=seed, name="proj-fig3", n_jobs=n_jobs)
    stacked = {key: np.array([t[key] for t in trials]) for key in trials[0]}
    share = stacked.pop("floor")
    axis = np.array(chosen.positions, dtype=float) * chosen.row_unit
    return _DigitCurves(stacked, axis, share, digits.source)
