"""Exact privacy: log-ratios and divergences against direct sums, and the audit with controls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplit.papers.margin import covers
from dplit.papers.margin.exponential import cover_law, error_counts
from dplit.streams import stream
from dplit_studies.margin import selection_privacy


def _separable(m=50, k=2):
    rng = stream(0, f"audit-{k}", "data")
    X = rng.standard_normal((m, k))
    X *= 0.9 / np.linalg.norm(X, axis=1, keepdims=True)
    X[:, 0] = np.sign(X[:, 0]) * np.maximum(np.abs(X[:, 0]), 0.3)
    return X, np.sign(X[:, 0]).astype(int)


def _wrong(W, X, y):
    return (y * (W @ X.T) <= 0).astype(float)


@pytest.mark.claim("margin-beyond-audit", "margin-def21")
def test_log_ratio_by_enumeration_of_events():
    """All 2^6 events of six candidates never show more, and one candidate shows it."""
    rng = stream(0, "log-ratio", "data")
    counts = rng.integers(0, 5, 6).astype(float)
    moved = counts + rng.integers(-1, 2, 6)
    p, q = cover_law(counts, epsilon=0.7), cover_law(moved, epsilon=0.7)
    events = ((np.arange(1, 64)[:, None] >> np.arange(6)) & 1).astype(float)
    brute = np.max(np.abs(np.log((events @ p) / (events @ q))))
    ratio = selection_privacy.log_ratio(counts, moved, epsilon=0.7)
    assert ratio == pytest.approx(brute, rel=1e-9)
    assert ratio <= 0.7


@pytest.mark.claim("margin-beyond-audit")
@pytest.mark.parametrize("order", [1.5, 3.0])
def test_renyi_by_direct_sum(order):
    p = cover_law([0.0, 2.0, 1.0], epsilon=1.0)
    q = cover_law([1.0, 1.0, 1.0], epsilon=1.0)
    direct = np.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
    value = selection_privacy.renyi_divergence([0, 2, 1], [1, 1, 1], epsilon=1.0, order=order)
    assert value == pytest.approx(direct, rel=1e-12)


def test_replacements_by_hand():
    wrong = np.array([[1, 0], [0, 0]])
    others = np.array([[1, 0], [1, 1]])
    rows = selection_privacy._replacements(wrong, others)
    np.testing.assert_array_equal(rows, [[1, 1], [0, 1], [2, 1], [1, 1]])


@pytest.mark.claim("margin-beyond-audit")
@pytest.mark.claim("margin-thm31")
@pytest.mark.parametrize("k", [2, 3])
def test_exact_audit_approaches_epsilon(k):
    """All 50 records, each against its flipped, its mirrored and two other records.

    Between 0.99 epsilon (0.98 in three dimensions) and epsilon; a mechanism run at twice the
    budget is caught.
    """
    X, y = _separable(k=k)
    W = covers.ball_cover(k, radius=2.0, covering_radius={2: 0.1, 3: 0.35}[k])
    others = np.vstack([X[:2], -X[:2]])
    wrong, new = _wrong(W, X, y), _wrong(W, others, np.r_[y[:2], y[:2]])
    audit = selection_privacy.audit_replacements(wrong, new, epsilon=1.0)
    assert {2: 0.99, 3: 0.98}[k] < audit.epsilon <= 1 + 1e-12
    assert audit.rho <= 1 / 8 + 1e-12
    assert audit.n_pairs == 200
    hot = selection_privacy.audit_replacements(wrong, new, epsilon=2.0)
    assert hot.epsilon > 1.9  # what halving the noise would show


@pytest.mark.claim("margin-beyond-audit")
def test_audit_is_the_largest_of_its_pairs(monkeypatch):
    monkeypatch.setattr(selection_privacy, "_ORDERS", (2.0,))
    X, y = _separable(m=6)
    W = covers.ball_cover(2, radius=1.0, covering_radius=0.4)
    wrong, new = _wrong(W, X, y), _wrong(W, X[:1], -y[:1])
    audit = selection_privacy.audit_replacements(wrong, new, epsilon=0.5)
    losses, rhos = [], []
    for j in range(6):
        Z, z = X.copy(), y.copy()
        Z[j], z[j] = X[0], -y[0]
        p = cover_law(error_counts(W, X, y), epsilon=0.5)
        q = cover_law(error_counts(W, Z, z), epsilon=0.5)
        losses.append(np.max(np.abs(np.log(p / q))))
        rhos += [np.log(np.sum(p**2 / q)) / 2, np.log(np.sum(q**2 / p)) / 2]
    assert audit.epsilon == pytest.approx(max(losses), rel=1e-9)
    assert audit.rho == pytest.approx(max(rhos), rel=1e-9)


@pytest.mark.claim("margin-beyond-audit")
@pytest.mark.claim("margin-def21")
@given(
    counts=st.lists(st.integers(0, 30), min_size=2, max_size=20),
    steps=st.lists(st.integers(-1, 1), min_size=20, max_size=20),
    epsilon=st.floats(0.01, 5.0),
)
def test_no_pair_of_neighbours_exceeds_epsilon(counts, steps, epsilon):
    """Counts that differ by at most 1: log-ratio at most epsilon, divergences within theirs."""
    moved = [n + s for n, s in zip(counts, steps, strict=False)]
    assert selection_privacy.log_ratio(counts, moved, epsilon=epsilon) <= epsilon + 1e-9
    for order in (1.01, 2.0, 30.0):
        value = selection_privacy.renyi_divergence(counts, moved, epsilon=epsilon, order=order)
        assert -1e-9 <= value <= order * epsilon**2 / 8 + 1e-9


@pytest.mark.claim("margin-beyond-audit")
def test_the_divergence_bound_is_approached():
    """Two candidates that change places at epsilon = 0.1: 0.999 of epsilon^2 / 8."""
    options = {"epsilon": 0.1, "order": 1.001}
    value = selection_privacy.renyi_divergence([0, 1], [1, 0], **options) / 1.001
    assert 0.999 * 0.1**2 / 8 < value < 0.1**2 / 8
