"""Leakage of entries: the reduction to two numbers against the full-dimensional release."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.projection.channels import scale_information, scale_total_variation
from dplit.papers.projection.leakage import (
    EntryChannel,
    _augmented,
    _entry_factors,
    binary_leakage,
    binary_total_variation,
    coherent_bound,
    entry_channels,
    single_entry,
)
from dplit.streams import stream


def _data(n=30, d=4, name="leakage"):
    rng = stream(0, name, "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


def _covariances(X, y, variance, row, column, values):
    covariances = []
    for value in values:
        Y = X.copy()
        Y[row, column] = value
        M = Y if y is None else np.column_stack([Y, y])
        covariance = M.T @ M
        covariance[range(X.shape[1]), range(X.shape[1])] += variance
        covariances.append(covariance)
    return covariances


def _full_likelihoods(covariances, n_components, count, rng):
    """Losses in bits and error rates of the full-dimensional likelihood-ratio test."""
    losses, rates = [], []
    for k, covariance in enumerate(covariances):
        root = np.linalg.cholesky(covariance).T
        Z = rng.standard_normal((count, n_components, len(covariance))) @ root
        logs = [
            -(
                n_components * np.linalg.slogdet(c)[1]
                + np.einsum("nij,jk,nik->n", Z, np.linalg.inv(c), Z)
            )
            / 2
            for c in covariances
        ]
        L = logs[1 - k] - logs[k]
        losses.append(np.logaddexp(0, L) / math.log(2))
        rates.append(np.mean(L < 0))
    return np.concatenate(losses), sum(rates) - 1


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("with_response", [True, False])
@pytest.mark.parametrize("variance", [0.0, 1.5])
def test_leakage_is_that_of_the_full_release(with_response, variance):
    """2 x 20,000 draws of the n' x (d + 1) release; 4 standard errors, false alarm 1e-4.

    Kills a forgotten y, the row not removed from A, and x_0 not subtracted from b.
    """
    X, y = _data()
    y = y if with_response else None
    rng = stream(0, "leakage-full", "noise", int(10 * variance) + with_response)
    losses, distance = _full_likelihoods(
        _covariances(X, y, variance, 3, 2, (-1.0, 1.0)), 12, 20_000, rng
    )
    channel = single_entry(X, y, variance=variance, row=3, column=2)
    value, error = binary_leakage(channel, n_components=12)
    assert abs(value - (1 - losses.mean())) < 4 * losses.std() / math.sqrt(len(losses))
    assert error < 1e-8
    measured = binary_total_variation(channel, n_components=12)
    assert abs(measured - distance) < 4 * math.sqrt(0.5 / 20_000)


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("with_response", [True, False])
@pytest.mark.parametrize("variance", [0.0, 0.7])
def test_all_entries_at_once_are_the_single_entries(with_response, variance):
    X, y = _data(20, 3)
    y = y if with_response else None
    every = entry_channels(X, y, variance=variance)
    some = entry_channels(X, y, variance=variance, rows=[4, 1])
    for i in range(20):
        for j in range(3):
            one = single_entry(X, y, variance=variance, row=i, column=j)
            np.testing.assert_allclose([part[i, j] for part in every], one, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(some, [part[[4, 1]] for part in every], rtol=1e-10, atol=1e-14)


@pytest.mark.claim("proj-lemma2")
def test_large_tables_go_through_their_gram_matrix():
    rng = stream(0, "leakage-large", "data")
    X, y = rng.uniform(-1, 1, (50_001, 20)), rng.standard_normal(50_001)
    channel = entry_channels(X, y, variance=2.0, rows=[0])
    one = single_entry(X, y, variance=2.0, row=0, column=7)
    np.testing.assert_allclose([part[0, 7] for part in channel], one, rtol=1e-6, atol=1e-14)


@pytest.mark.claim("proj-lemma2")
def test_generalised_eigenvalues_without_cancellation():
    """Against the plain eigenvalue problem, and where it has lost its digits: a huge outlier."""
    X, y = _data()
    channel = single_entry(X, y, variance=0.3, row=0, column=1)
    factors = _entry_factors(channel, -1.0, 0.4)
    first, second = _covariances(X, y, 0.3, 0, 1, (-1.0, 0.4))
    values = np.linalg.eigvals(np.linalg.solve(second, first)).real
    values = values[np.argsort(np.abs(values - 1))[-2:]]
    np.testing.assert_allclose(
        np.sort(values) - 1, [factors.minus, factors.plus], rtol=1e-9, atol=1e-12
    )
    assert factors.ratio == pytest.approx(np.linalg.det(first) / np.linalg.det(second), rel=1e-9)
    y[0] = 1e6
    huge = EntryChannel(*(part[0, 1] for part in entry_channels(X, y, variance=0.3)))
    y[0] = 1e4
    large = EntryChannel(*(part[0, 1] for part in entry_channels(X, y, variance=0.3)))
    a, b = (binary_leakage(c, n_components=9)[0] for c in (huge, large))
    assert a == pytest.approx(b, rel=1e-4)


@pytest.mark.claim("proj-cor1", "proj-lemma2")
def test_a_single_column_is_a_scale_channel():
    """x in {0, 1} beside two ones: variances 2 and 3, by the closed form of the crossing."""
    channel = single_entry(np.ones((3, 1)), None, variance=0.0, row=0, column=0)
    for n in (1, 5, 60):
        distance = binary_total_variation(channel, n_components=n, low=0.0)
        assert distance == pytest.approx(scale_total_variation(2.0, 3.0, n_samples=n), rel=1e-9)
        bits, _ = binary_leakage(channel, n_components=n, low=0.0)
        assert bits == pytest.approx(scale_information([2.0, 3.0], n_samples=n).value, rel=1e-8)


def test_parallel_pilot_hides_the_entry():
    """|b| to infinity along a: the leakage tends to 0, not to the coherent bound."""
    bits = []
    for size in (0.0, 1.0, 10.0, 100.0):
        a, b = np.array([0.1, 0.0]), np.array([size, 0.0])
        channel = EntryChannel(*(np.array(v) for v in (a @ a, a @ b, b @ b, 0.0)))
        bits.append(float(binary_leakage(channel, n_components=50)[0]))
    assert bits[0] < 1e-12  # -1 and 1 have the same square
    assert bits[1] > 0.1 > bits[2] > bits[3]
    scale = scale_information([1 + 0.9**2, 1 + 1.1**2], n_samples=50).value
    assert bits[1] == pytest.approx(scale, abs=1e-8)


@pytest.mark.claim("proj-lemma2")
def test_coherent_bound_is_never_exceeded_and_is_the_stated_formula():
    X, y = _data(25, 3)
    for variance in (0.0, 2.0):
        channel = entry_channels(X, y, variance=variance)
        bound = coherent_bound(channel, n_components=8)
        np.testing.assert_allclose(4.0**bound - 1, 8 * channel.aa, rtol=1e-12)
        assert np.all(binary_leakage(channel, n_components=8)[0] <= bound)


def test_column_that_only_this_row_fills_is_not_protected():
    """Without row 1 column 1 is empty: A is singular, and the bound is infinite."""
    X = np.array([[0.5, 0.2], [0.0, 1.0], [0.0, -1.0], [0.0, 0.5]])
    channel = entry_channels(X, None, variance=0.0)
    assert np.isinf(channel.aa[0, 0])
    assert np.isinf(coherent_bound(channel, n_components=3)[0, 0])
    assert np.isfinite(entry_channels(X, None, variance=1e-3).aa).all()


def test_augmented_matrix_has_the_stated_gram():
    """Kills noise on y, which the leakage of the tests above hardly feels."""
    X, y = _data(6, 2)
    _, M = _augmented(X, y, 3.0)
    expected = np.column_stack([X, y])
    np.testing.assert_allclose(M.T @ M, expected.T @ expected + np.diag([3.0, 3.0, 0.0]))
