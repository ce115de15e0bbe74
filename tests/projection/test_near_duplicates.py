"""Full-rank examples: near-duplicate columns and outlying responses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.projection.attacks import _near_duplicate_columns, near_duplicate_audit, outlier_leakage
from dplit.projection.leakage import binary_leakage, binary_total_variation, single_entry
from dplit.projection.projection import printed_variance
from dplit.streams import stream


def test_columns_differ_where_they_should_and_have_full_rank_without_alice():
    X = _near_duplicate_columns(1000, redrawn=0.01, rng=stream(0, "dup", "data"))
    different = np.flatnonzero(X[:, 0] != X[:, 1])
    np.testing.assert_array_equal(different, np.arange(11))
    assert np.linalg.matrix_rank(X[1:]) == 2
    assert np.abs(X).max() <= 1
    assert tuple(X[0]) == (0.0, -1.0)
    assert (
        _near_duplicate_columns(50, redrawn=0.1, alice=0.0, rng=stream(0, "dup", "data"))[0, 1] == 0
    )


@pytest.mark.claim("proj-lemma2")
def test_every_draw_exceeds_the_budget_without_noise():
    """Five draws at the paper's kind of size: above half a bit by many standard errors."""
    for trial in range(5):
        audit = near_duplicate_audit(
            1000, redrawn=0.01, epsilon=0.5, n_components=300, n_draws=400,
            rng=stream(0, "dup-audit", "data", trial),
        )  # fmt: skip
        assert audit.variance == 0.0
        assert audit.bits - 6 * audit.error > 0.5
        assert audit.total_variation > 0.833


def test_audit_is_the_channel_of_its_table():
    """The same stream gives the same table: total variation and two-value leakage agree."""
    X = _near_duplicate_columns(300, redrawn=0.02, rng=stream(0, "dup-same", "data"))
    audit = near_duplicate_audit(
        300, redrawn=0.02, epsilon=0.5, n_components=90, n_draws=1000,
        rng=stream(0, "dup-same", "data"),
    )  # fmt: skip
    assert printed_variance(X, epsilon=0.5, n_components=90) == 0.0
    channel = single_entry(X, None, variance=0.0, row=0, column=0)
    distance = binary_total_variation(channel, n_components=90)
    assert audit.total_variation == pytest.approx(distance, rel=1e-12)
    two = binary_leakage(channel, n_components=90)[0]
    assert audit.bits > two - 4 * audit.error


@pytest.mark.claim("proj-lemma2")
def test_outlying_response_approaches_its_coherent_limit():
    bits, bound, variance = outlier_leakage(
        [0.0, 10.0, 100.0, 1000.0, 1e4], rng=stream(0, "dup-outlier", "data")
    )
    assert variance == 0.0
    assert np.all(np.diff(bits) > 0)
    assert bits[0] < 0.05 < 0.3 < bits[-1] < bound < 0.6
    assert bits[-1] == pytest.approx(bits[-2], rel=0.02)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"redrawn": 0.0}, ValueError, "redrawn must be in"),
        ({"n_records": 2}, ValueError, "n_records must be at least 3"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"epsilon": -1.0}, ValueError, "epsilon must be positive"),
        ({"rng": 1}, TypeError, "rng must be"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    given = {"n_records": 20, "redrawn": 0.1, "epsilon": 0.5, "n_components": 5,
             "rng": stream(0, "bad", "data"), **change}  # fmt: skip
    with pytest.raises(error, match=message):
        near_duplicate_audit(given.pop("n_records"), **given)
    with pytest.raises(ValueError, match="responses must be finite"):
        outlier_leakage([math.inf], rng=stream(0, "bad", "data"))
