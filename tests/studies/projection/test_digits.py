"""Figure 3: augmentation, choice of pixels, split, and the errors of the schemes."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.notebook.datasets.digits import Digits, load_fours_and_nines
from dplit.papers.projection.spectrum import spectrum
from dplit.streams import stream
from dplit_studies.projection import digits as module
from dplit_studies.projection.digits import _augment, digit_curves, pixel_table

pytestmark = pytest.mark.claim("proj-fig3")


def _rng(name="test-digits"):
    return stream(0, name, "public")


@pytest.fixture(scope="module")
def bundled():
    return load_fours_and_nines("bundled")


def test_affine_copies_move_a_blob_a_little_and_keep_its_mass():
    """A blob in the middle: its centre moves by at most 1.5 pixels, its mass changes by 1.1^2."""
    grid = np.arange(28) - 13.5
    blob = np.exp(-(grid[:, None] ** 2 + grid**2) / 18)
    moved = _augment(np.repeat(blob[None], 300, axis=0), rng=_rng())
    mass = moved.sum(axis=(1, 2))
    ratio = mass / blob.sum()
    assert 0.9**2 * 0.97 < ratio.min() < 0.9
    assert 1.1 < ratio.max() < 1.1**2 * 1.03
    centre = np.array([(moved.sum(axis=2) @ grid) / mass, (moved.sum(axis=1) @ grid) / mass])
    assert 1.2 < np.abs(centre).max() < 1.9
    assert np.abs(centre.mean(axis=1)).max() < 4.5 * 1.5 / np.sqrt(3 * 300)
    assert moved.min() >= 0
    assert moved.max() <= 1


def test_affine_copies_turn_a_bar_by_twelve_degrees_at_most():
    bar = np.zeros((28, 28))
    bar[4:24, 12:16] = 1.0
    moved = _augment(np.repeat(bar[None], 200, axis=0), rng=_rng("test-turn"))
    rows, columns = np.indices((28, 28))
    mass = moved.sum(axis=(1, 2))
    up = (moved * rows).sum(axis=(1, 2)) / mass
    across = (moved * columns).sum(axis=(1, 2)) / mass
    lean = np.array(
        [
            np.sum(m * (rows - u) * (columns - a)) / np.sum(m * (rows - u) ** 2)
            for m, u, a in zip(moved, up, across, strict=True)
        ]
    )
    assert 0.15 < np.abs(lean).max() < np.tan(np.deg2rad(12)) + 0.15 + 0.05


def test_pixels_are_those_of_most_energy_and_copies_keep_their_label(bundled):
    table = pixel_table(bundled, n_features=20, rng=_rng())
    assert table.pixels.shape == (361 * 6, 20)
    copies = [_augment(bundled.images, rng=rng) for rng in [_rng()] for _ in range(5)]
    flat = np.concatenate([bundled.images, *copies]).reshape(361 * 6, 64)
    energy = np.sum(flat**2, axis=0)
    assert energy[table.chosen].min() >= np.sort(energy)[-20]
    np.testing.assert_array_equal(table.pixels, flat[:, table.chosen])
    np.testing.assert_array_equal(table.labels, bundled.labels[table.origin])
    np.testing.assert_array_equal(table.origin, np.tile(np.arange(361), 6))


def test_training_images_are_used_as_they_are():
    images = _rng("test-train").uniform(size=(12, 4, 4))
    training = Digits("paper", images, np.repeat([1.0, -1.0], 6), "")
    table = pixel_table(training, n_features=16, rng=_rng())
    np.testing.assert_array_equal(table.pixels, images.reshape(12, 16))
    assert table.origin.tolist() == list(range(12))


def test_no_original_image_is_on_both_sides_of_the_split(bundled):
    table = pixel_table(bundled, n_features=20, rng=_rng())
    train, test = module._split(table, _rng("test-split"))
    assert len(train) + len(test) == len(table.labels)
    assert not set(table.origin[train]) & set(table.origin[test])
    assert len(test) == 6 * round(0.2 * 361)
    assert not (np.diff(train) > 0).all()  # in random order, so that prefixes are samples


@pytest.fixture(scope="module")
def curves(bundled):
    return digit_curves(bundled, seed=0, n_repeats=6)


def test_errors_are_those_of_the_fits_on_the_same_split(bundled, curves):
    table = pixel_table(bundled, n_features=40, rng=stream(0, "proj-fig3", "public"))
    train, test = module._split(table, stream(0, "proj-fig3", "data", 2))
    noise = stream(0, "proj-fig3", "noise", 2).standard_normal((len(train), 40))
    sigma = (2**0.4 - 1) ** -0.5
    for at in (0, 8):
        n = 180 * (at + 1)
        X, y = table.pixels[train[:n]], table.labels[train[:n]]
        for scheme, design in (("ols", X), ("additive", X + sigma * noise[:n])):
            theta = np.linalg.lstsq(design, y, rcond=None)[0]
            wrong = np.mean(np.sign(table.pixels[test] @ theta) != table.labels[test])
            assert curves.of(scheme)[2, at] == pytest.approx(wrong, abs=1e-12)
        floor = np.min(np.sum(X**2, axis=0) - np.max(X**2, axis=0)) / n
        assert curves.floor_share[2, at] == pytest.approx(floor, rel=1e-12)
        assert spectrum(X, y).residual > 0
    assert curves.axis.tolist() == [180.0 * k for k in range(1, 10)]
    assert curves.source == "bundled"
    assert curves.repeats == 6
    assert (curves.mean("ols") < curves.mean("additive")).all()


def test_projected_errors_have_the_mean_of_the_mechanism(bundled, curves):
    """200 naive projections per trial against 4 fast ones; 4.5 standard errors over trials."""
    from dplit_studies.projection.simulation import naive_projection_draws

    table = pixel_table(bundled, n_features=40, rng=stream(0, "proj-fig3", "public"))
    n, rows = 360, round(90 * (np.log(2) + 1))
    gaps = []
    for trial in range(6):
        train, test = module._split(table, stream(0, "proj-fig3", "data", trial))
        X, y = table.pixels[train[:n]], table.labels[train[:n]]
        lam = rows / (2**0.4 - 1)
        rng = stream(0, "test-digit-naive", "noise", trial)
        fits = naive_projection_draws(X, y, penalty=lam, n_components=rows, size=200, rng=rng)
        wrong = np.sign(table.pixels[test] @ fits.T) != table.labels[test][:, None]
        gaps.append((curves.of("log repaired")[trial, 1], wrong.mean(), wrong.mean(0).std()))
    fast, naive, sd = np.array(gaps).T
    se = np.sqrt(np.mean(sd**2) * (1 / 4 + 1 / 200) / 6)
    assert abs(fast.mean() - naive.mean()) < 4.5 * se
