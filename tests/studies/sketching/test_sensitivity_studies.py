"""The table of sensitivities, and the studies over draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dplit.features import complex_features, orthonormal_blocks
from dplit.streams import stream
from dplit_studies.sketching import sensitivity_curves, sensitivity_table


@pytest.mark.claim("sketch-tab1", "sketch-tab2", "sketch-lem17")
def test_opposite_pair_has_opposite_features_of_equal_parts() -> None:
    """Kills pi for 5 pi / 4, a missing quarter, factors 0.5 and 1.05."""
    omega = stream(0, "test-pair", "public").standard_normal((5, 4))
    features = complex_features(sensitivity_table.opposite_pair(omega), omega, normalize=False)
    np.testing.assert_allclose(features[0], np.exp(0.25j * np.pi), atol=1e-12)
    np.testing.assert_allclose(features[1], -features[0], atol=1e-12)


@pytest.mark.claim("sketch-tab1")
def test_only_the_quadratic_replacement_cells_fail() -> None:
    cells = sensitivity_table.sensitivity_table(4, 12, rng=stream(0, "test-table", "public"))
    assert len(cells) == 16
    for cell in cells:
        wrong = cell.features.startswith("quadratic") and cell.neighboring == "replace_one"
        assert cell.holds is not wrong
        assert cell.reached <= cell.corrected * (1 + 1e-9)
        assert cell.printed == pytest.approx(cell.corrected) or wrong
    assert [cell.reached / cell.printed for cell in cells[:8]] == pytest.approx([1.0] * 8)


@pytest.mark.parametrize("design", ["gaussian", "blocks"])
def test_replacement_ratios_lie_between_one_and_the_bounds(design: Any) -> None:
    runs = sensitivity_curves.replacement_curves(3, [3, 12], design=design, n_trials=3, seed=0)
    assert runs.shape == (4, 3, 2)
    assert (runs[0] <= runs[1] + 1e-9).all()
    assert (runs[2] <= runs[3] + 1e-9).all()
    assert (runs >= 0.99).all()
    if design == "blocks":
        np.testing.assert_allclose(runs[1], 2.0, rtol=1e-9)
        np.testing.assert_allclose(runs[0, :, 0], 2.0, rtol=1e-6)  # one basis attains


def test_more_blocks_need_not_attain_the_bound() -> None:
    omega = orthonormal_blocks(3, 60, rng=stream(0, "test-blocks", "public"))
    found = sensitivity_curves._replacement_ratios(omega, rng=stream(0, "test-blocks", "data"))
    assert 4 / np.pi * 0.98 < found.reached_l1 < 1.9


def test_alignment_falls_with_the_number_of_frequencies() -> None:
    """Seeds fixed: m = d attains both bounds, m = 40 d is near a typical record."""
    runs = sensitivity_curves.alignment_curves(
        3, [3, 12, 120], [10.0, 1e3], n_trials=2, seed=0, n_draws=500
    )
    assert runs.shape == (2, 2, 3, 2)
    np.testing.assert_allclose(runs[:, :, 0], 1.0, rtol=1e-9)
    assert (runs[:, :, 0] > runs[:, :, 1]).all()
    assert (runs[:, :, 1] > runs[:, :, 2]).all()
    assert (runs[0, :, 2] > 4 / (np.pi * np.sqrt(2.0))).all()


def test_studies_depend_on_the_seed_alone() -> None:
    first, again, other = (
        sensitivity_curves.alignment_curves(2, [3], [5.0], n_trials=1, seed=seed, n_draws=50)
        for seed in (4, 4, 5)
    )
    assert (first == again).all()
    assert (first != other).all()
