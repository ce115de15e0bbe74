"""The scans: every entry against single-entry computations, and what they are known to find."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.entries.privacy import fixed_variance
from dplit.notebook.datasets.classification import scaled_table
from dplit.papers.projection.calibration import printed_variance
from dplit.papers.projection.leakage import binary_leakage, single_entry
from dplit.papers.projection.regression import column_energy_floor
from dplit.streams import stream
from dplit_studies.projection.entry_scan import MULTIPLES, leak_sweeps, scan_entries, uniform_scan


def test_tables_are_scaled_to_their_extremes():
    for name, shape in (("breast_cancer", (569, 30)), ("diabetes", (442, 10))):
        X, y = scaled_table(name)
        assert X.shape == shape
        np.testing.assert_allclose(X.min(axis=0), -1.0)
        np.testing.assert_allclose(X.max(axis=0), 1.0)
        assert y.mean() == pytest.approx(0.0, abs=1e-12)
        assert y.std() == pytest.approx(1.0)


@pytest.mark.claim("proj-beyond-scan")
@pytest.mark.parametrize("as_printed", [True, False])
def test_scan_is_the_single_entries(as_printed):
    X, y = scaled_table("diabetes")
    scan = scan_entries(X, y, epsilon=0.5, n_components=40, as_printed=as_printed)
    assert scan.bits.shape == X.shape
    assert scan.error < 5e-3
    expected = printed_variance(X, epsilon=0.5, n_components=40) if as_printed else 40.0
    assert scan.variance == pytest.approx(expected)
    for row, column in ((0, 0), (17, 4), (441, 9), (230, 5)):
        channel = single_entry(X, y, variance=scan.variance, row=row, column=column)
        exact, _ = binary_leakage(channel, n_components=40, nodes=96)
        assert scan.bits[row, column] == pytest.approx(float(exact), abs=2e-3)
        assert scan.bound[row, column] == pytest.approx(np.log2(1 + 40 * channel.aa) / 2)
    assert np.all(scan.bits <= scan.bound + scan.error)
    assert scan.median == np.median(scan.bits)
    assert scan.largest == scan.bits.max()


@pytest.mark.claim("proj-beyond-scan")
def test_breast_cancer_leaks_without_the_response():
    """The first 380 rows are enough for the sentence: most entries exceed half a bit."""
    X, _ = scaled_table("breast_cancer")
    scan = scan_entries(X[:380], None, epsilon=0.5, n_components=30, as_printed=True, nodes=24)
    assert scan.variance == 0.0
    assert scan.share_above > 0.5
    repaired = scan_entries(X[:380], None, epsilon=0.5, n_components=30, nodes=16)
    assert repaired.variance == fixed_variance(epsilon=0.5, n_components=30)
    assert repaired.share_above == 0.0
    assert repaired.largest < 0.2
    assert np.all(repaired.bound <= 0.5)


@pytest.mark.claim("proj-beyond-uniform")
def test_uniform_scan_is_the_channel_of_its_table():
    scan = uniform_scan(300, n_components=120, n_features=20, rng=stream(0, "scan-u", "data"))
    rng = stream(0, "scan-u", "data")
    X = rng.uniform(-1, 1, (300, 20))
    y = X @ rng.standard_normal(20) + rng.standard_normal(300)
    assert scan.variance == pytest.approx(printed_variance(X, epsilon=0.5, n_components=120))
    for row, column in ((0, 3), (1, 19)):
        channel = single_entry(X, y, variance=scan.variance, row=row, column=column)
        exact, _ = binary_leakage(channel, n_components=120)
        assert scan.bits[row, column] == pytest.approx(float(exact), rel=1e-4)
        assert scan.bound[row, column] == pytest.approx(np.log2(1 + 120 * channel.aa) / 2)
    assert scan.bits.max() < 0.25
    assert np.all((scan.distance > 0) & (scan.distance < 0.6))


@pytest.mark.claim("proj-beyond-scan")
def test_sweeps_agree_with_the_scan_and_end_above_the_floor():
    """Breast cancer by another route: all its entries where (13) begins. Entries drawn differ by 4
    standard errors. False alarm 1e-4; none at 1.3 times as many rows, or repaired, is far away.
    """
    found = leak_sweeps(budgets=(0.5, 0.9), n_entries=300, seed=5)
    assert set(found) == {"cancer", "diabetes", "digits", "uniform"}
    X, y = scaled_table("breast_cancer")
    cancer, at = found["cancer"], MULTIPLES.index(1.0)
    assert cancer.components[:, at].tolist() == [60, 150]  # f^2 = 60.8, and 2.48 times that
    counts = 300 * cancer.printed
    assert np.abs(counts - counts.round()).max() < 1e-9  # kills a factor on the shares
    for k, (bits, n) in enumerate(((0.5, 60), (0.9, 150))):
        scan = scan_entries(X, y, epsilon=bits, n_components=n, as_printed=True, nodes=24)
        assert scan.variance == 0.0
        share = scan.share_above
        assert abs(cancer.printed[k, at] - share) < 4 * (share * (1 - share) / 300) ** 0.5
        assert cancer.printed[k, at] > cancer.printed[k, at + 2] > cancer.printed[k, at + 4] == 0.0
    # kills a floor that counts the largest entry of a column, 1 here, too
    assert cancer.floor == pytest.approx(column_energy_floor(X, squared=True), rel=1e-12)
    assert all(sweep.repaired.max() == 0.0 for sweep in found.values())
    assert found["uniform"].printed.max() == 0.0
