"""Table 2: which cells hold, which are too small, and by how much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.mechanisms import gaussian_sigma
from dplit.papers.sketching.masks import mask_law
from dplit.papers.sketching.subsampled_gaussian import fourier_sigma
from dplit.streams import stream
from dplit_studies.sketching import sensitivity_table, subsampled_table


@pytest.mark.claim("sketch-tab2")
def test_cells_of_fourier_features():
    law = mask_law("uniform", 6, n_kept=3)
    cells = sensitivity_table.fourier_cells(
        stream(0, "test-cells", "public").standard_normal((6, 6)), law
    )
    expected = [6 * math.sqrt(2), 12 * math.sqrt(2), 6 / math.sqrt(3), 12 / math.sqrt(3)]
    for column in ("printed", "reached", "safe"):
        values = [getattr(cell, column) for cell in cells]
        np.testing.assert_allclose(values, expected, rtol=1e-10)
    assert not any(cell.wrong for cell in cells)


@pytest.mark.claim("sketch-tab2")
def test_cells_of_one_basis():
    law = mask_law("block", 4, n_kept=2, block=2)
    twice = np.hstack([np.eye(2), np.eye(2)])
    cells = sensitivity_table.quadratic_cells(twice, law, name="basis", rng=stream(0, "t", "noise"))
    np.testing.assert_allclose([cell.printed for cell in cells], [2, 2, 2, 2], rtol=1e-9)
    root = 2 * math.sqrt(2)
    np.testing.assert_allclose([cell.reached for cell in cells], [2, 4, 2, root], rtol=1e-9)
    np.testing.assert_allclose([cell.safe for cell in cells], [2, 4, 2, root], rtol=1e-9)
    assert [cell.wrong for cell in cells] == [False, True, False, True]
    assert [cell.lemma for cell in cells][:2] == ["Lemma 22", "Lemmas 21, 23"]


@pytest.mark.claim("sketch-tab2")
def test_the_whole_table():
    """Four cells are too small, all of them for replaced records and quadratic features."""
    rng = stream(0, "table", "public")
    cells = sensitivity_table.table_cells(n_components=8, n_kept=4, n_features=4, rng=rng)
    wrong = [cell for cell in cells if cell.wrong]
    assert len(cells) == 12
    assert len(wrong) == 4
    assert {cell.neighboring for cell in wrong} == {"replace_one"}
    assert all(cell.features.startswith("quadratic") for cell in wrong)
    assert all(cell.reached <= cell.safe * (1 + 1e-9) for cell in cells)
    blocks = [cell for cell in cells if "blocks" in cell.features and cell.norm == 1]
    assert [cell.printed for cell in blocks] == pytest.approx([2.0, 2.0])
    assert blocks[1].reached == pytest.approx(4.0)


@pytest.mark.claim("sketch-beyond-subsampled")
def test_sigma_ratios_are_those_of_equal_guarantees():
    ratios = subsampled_table.sigma_ratios([0.25, 1.0], [(1.0, 1e-5)], n_components=16)
    law = mask_law("bernoulli", 16, alpha=0.25)
    plain = gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=4.0)
    expected = [fourier_sigma(law, epsilon=1.0, delta=1e-5) / plain, 1.0]
    np.testing.assert_allclose(ratios[1.0, 1e-5], expected, rtol=1e-12)
    assert expected[0] > 1.05
