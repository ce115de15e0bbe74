"""Entries with several values: Monte-Carlo information against the exact two-value integral."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.projection.information import scale_information
from dplit.projection.leakage import (
    EntryChannel,
    _levels_leakage,
    _log_likelihoods,
    binary_leakage,
    coherent_bound,
    single_entry,
)
from dplit.streams import stream


def _channel(variance=0.5):
    rng = stream(0, "levels", "data")
    X, y = rng.uniform(-1, 1, (25, 3)), rng.standard_normal(25)
    return X, y, single_entry(X, y, variance=variance, row=2, column=1)


@pytest.mark.claim("proj-lemma2")
def test_likelihoods_are_those_of_the_full_release():
    """Differences over levels agree with the (d + 1)-dimensional Gaussian densities: algebra."""
    X, y, channel = _channel()
    Z = stream(0, "levels-release", "noise").standard_normal((9, 4))
    levels = np.array([-1.0, -0.2, 0.7])
    rest = np.column_stack([np.delete(X, 2, 0), np.delete(y, 2)])
    A = rest.T @ rest + np.diag([0.5, 0.5, 0.5, 0.0])
    unit, start = np.eye(4)[1], np.array([X[2, 0], 0.0, X[2, 2], y[2]])
    seen = Z @ np.linalg.solve(A, np.column_stack([unit, start]))
    fast = _log_likelihoods(channel, levels, seen.T @ seen, n_components=9)
    full = []
    for level in levels:
        r = start + level * unit
        Sigma = A + np.outer(r, r)
        full.append(-(9 * np.linalg.slogdet(Sigma)[1] + np.sum(Z * (Z @ np.linalg.inv(Sigma)))) / 2)
    np.testing.assert_allclose(np.diff(fast), np.diff(full), rtol=1e-9)


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("n", [1, 6, 40])
def test_two_levels_agree_with_the_integral(n):
    """4 standard errors, false alarm 1e-4. Kills n - 1 for n in the Wishart draw."""
    _, _, channel = _channel()
    bits = _levels_leakage(
        channel,
        [-1.0, 1.0],
        n_components=n,
        rng=stream(0, "levels-two", "noise", n),
        n_draws=20_000,
    )
    assert abs(bits.value - binary_leakage(channel, n_components=n)[0]) < 4 * bits.error


@pytest.mark.claim("proj-lemma2")
def test_scale_channel_with_four_levels():
    """b = 0: the exact scale information; 4 standard errors, false alarm 1e-4."""
    channel = EntryChannel(*np.array([3.0, 0.0, 0.0, 0.0]))
    levels = [0.1, 0.4, 0.7, 1.0]
    bits = _levels_leakage(
        channel, levels, n_components=12, rng=stream(0, "levels-four", "noise"), n_draws=10_000
    )
    exact = scale_information([1 + 3 * x**2 for x in levels], n_samples=12).value
    assert abs(bits.value - exact) < 4 * bits.error


def test_optimised_prior_does_not_lose_and_stays_below_the_bound():
    channel = EntryChannel(*np.array([0.4, 0.05, 0.8, 0.3]))
    levels = np.linspace(-1, 1, 9)
    uniform, best = (
        _levels_leakage(
            channel, levels, n_components=30, rng=stream(0, "levels-best", "noise"), n_draws=3000,
            optimise=optimise,
        )
        for optimise in (False, True)
    )  # fmt: skip
    assert best.value > uniform.value + 4 * math.hypot(best.error, uniform.error)
    assert best.value < coherent_bound(channel, n_components=30)
    two = binary_leakage(channel, n_components=30)[0]
    assert best.value > two - 4 * best.error


def test_error_is_the_spread_over_seeds():
    channel = EntryChannel(*np.array([0.4, 0.05, 0.8, 0.3]))
    runs = [
        _levels_leakage(channel, [-1, 0, 1], n_components=10,
                       rng=stream(0, "levels-se", "noise", t), n_draws=400)
        for t in range(100)
    ]  # fmt: skip
    spread = np.std([bits.value for bits in runs], ddof=1)
    stated = np.mean([bits.error for bits in runs])
    assert spread == pytest.approx(stated, rel=0.3)  # 4 standard errors of a sd from 100 runs


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"levels": []}, ValueError, "levels must not be empty"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_draws": 1}, ValueError, "n_draws must be at least 2"),
        ({"rng": 3}, TypeError, "rng must be"),
        ({"channel": EntryChannel(*np.array([np.inf, 0, 0, 0]))}, ValueError, "finite aa"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    given = {"channel": _channel()[2], "levels": [-1, 1], "n_components": 3,
             "rng": stream(0, "bad", "noise"), **change}  # fmt: skip
    with pytest.raises(error, match=message):
        _levels_leakage(given.pop("channel"), given.pop("levels"), **given)
