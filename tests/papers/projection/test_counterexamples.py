"""Blackboard counterexamples: the printed variance is computed, the leakage exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.entries.projections import release_projection
from dplit.papers.projection.calibration import noise_free_epsilon, printed_variance
from dplit.papers.projection.channels import scale_information
from dplit.papers.projection.counterexamples import paired_columns, scale_leakage
from dplit.papers.projection.leakage import coherent_bound, entry_channels
from dplit.papers.projection.regression import column_energy_floor
from dplit.streams import stream


@pytest.mark.claim("proj-lemma2", "proj-cor2")
@settings(max_examples=30)
@given(x=st.floats(-1, 1), n=st.integers(3, 60))
def test_paired_columns_get_no_noise(x, n):
    X = paired_columns(x, n_records=n)
    assert column_energy_floor(X) ** 2 == pytest.approx(n - 2)
    assert printed_variance(X, epsilon=0.5, n_components=n - 2) == pytest.approx(0.0, abs=1e-9)
    assert np.abs(X).max() <= 1
    if abs(x) > 1e-6:
        assert np.linalg.matrix_rank(X) == 2


@pytest.mark.claim("proj-cor2")
def test_noise_free_budget_of_paired_columns_tends_to_zero():
    budgets = [
        noise_free_epsilon(
            floor=column_energy_floor(paired_columns(0.5, n_records=n)) ** 2,
            n_components=int(n**0.5),
        )
        for n in (100, 10_000, 1_000_000)
    ]
    assert budgets[0] > budgets[1] > budgets[2]
    assert budgets[2] == pytest.approx(math.log2(1 + 1000 / 999_998) / 2, rel=1e-9)


@pytest.mark.claim("proj-lemma2")
def test_difference_of_released_columns_is_the_entry_times_a_normal():
    """Naive release with known S: Z_1 - Z_2 = s_1 x and X_RP - S y = s_1 x exactly."""
    n, m, x = 5, 4, 0.3
    S = stream(0, "counter", "noise").standard_normal((m, n))
    Z = release_projection(
        paired_columns(x, n_records=n),
        np.zeros(n),
        n_components=m,
        variance=0.0,
        rng=stream(0, "counter", "noise"),
    ).X
    np.testing.assert_allclose(Z[:, 0] - Z[:, 1], x * S[:, 0], rtol=1e-10)
    both = paired_columns(x, n_records=n)
    X, y = both[:, :1], both[:, 1]
    one = release_projection(X, y, n_components=m, variance=0.0, rng=stream(0, "counter", "noise"))
    np.testing.assert_allclose(one.X[:, 0] - one.y, x * S[:, 0], rtol=1e-10)


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize(
    ("count", "one_row", "twenty_rows"),
    [(2, 0.625, 1.0), (4, 1.413, 2.0), (8, 2.306, 3.0), (16, 3.252, 4.0)],
)
def test_leakage_grows_without_limit(count, one_row, twenty_rows):
    levels = 10.0 ** -np.arange(count)
    assert scale_information(levels**2, n_samples=1).value == pytest.approx(one_row, abs=6e-4)
    many = scale_information(levels**2, n_samples=20).value
    assert many == pytest.approx(twenty_rows, abs=6e-4)


def collinear_bystanders(square):
    """Columns 2 and 3 never meet row 1, and their difference shows the printed variance."""
    X = np.zeros((25, 3))
    X[0, 0], X[24, 2] = square**0.5, 1e-3
    X[1:11, 0] = X[11:24, 1] = X[11:24, 2] = 1.0
    return X


def disjoint_columns(square, *, ones, n_features):
    """Columns whose supports do not meet: the shared S plays no role, the variance does."""
    X = np.kron(np.eye(n_features), np.ones((ones, 1)))
    X[0, 0] = square**0.5
    return X


@pytest.mark.claim("proj-lemma2-scale")
@pytest.mark.parametrize("square", [0.0, 0.3, 0.99, 1.0])
def test_bystanders_have_the_printed_variance_of_the_text(square):
    X = collinear_bystanders(square)
    assert X.shape == (25, 3)
    assert column_energy_floor(X) ** 2 == pytest.approx(9 + square)
    printed = printed_variance(X, epsilon=0.5, n_components=10)
    assert printed == pytest.approx(1 - square, abs=1e-12)
    if square < 1:
        assert np.linalg.matrix_rank(X) == 3


@pytest.mark.claim("proj-lemma2-scale")
def test_bystanders_reveal_the_variance_and_a_frozen_one_does_not():
    gaps = [1.0, 1e-2, 1e-4, 1e-6]
    tables = [collinear_bystanders(1 - gap) for gap in gaps]
    for count, bits in ((2, 1.0), (4, 2.0)):
        measured = scale_leakage(tables[:count], [0, 1, -1], epsilon=0.5, n_components=10)
        assert measured.value == pytest.approx(bits, abs=2e-3)
        direct = scale_information([1e-6 + 2 * g for g in gaps[:count]], n_samples=10).value
        assert measured.value == pytest.approx(direct, rel=1e-6)
    for table, gap in zip(tables, gaps, strict=True):  # frozen: shared S plays no role here
        channel = entry_channels(table, None, variance=gap)
        assert coherent_bound(channel, n_components=10)[0, 0] <= 0.5 + 1e-9


@pytest.mark.claim("proj-lemma2-scale")
@pytest.mark.parametrize(("d", "bits"), [(41, 0.231), (401, 0.901)])
def test_disjoint_columns_reveal_the_variance_by_numbers(d, bits):
    """m = 3 ones; every other column has variance c + 2 - x^2, and all are independent."""
    tables = [disjoint_columns(square, ones=3, n_features=d) for square in (0.0, 1.0)]
    for square, table in zip((0.0, 1.0), tables, strict=True):
        printed = printed_variance(table, epsilon=0.5, n_components=10)
        assert printed == pytest.approx(10 - 1 - square)
    weights = np.eye(d)[1:]
    measured = scale_leakage(tables, weights, epsilon=0.5, n_components=10)
    assert measured.value == pytest.approx(bits, abs=6e-4)
    direct = scale_information([12.0, 11.0], n_samples=10 * (d - 1)).value
    assert measured.value == pytest.approx(direct, rel=1e-6)
