"""The attack: its statistic, its law, and its hit rate against the exact total variation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi, kstest

from dplit.entries.projections import release_projection
from dplit.papers.projection.attacks import (
    attack_entry,
    likeliest_entry,
    rms_attack,
    rms_attack_quantiles,
)
from dplit.papers.projection.counterexamples import paired_columns
from dplit.papers.projection.leakage import binary_total_variation, single_entry
from dplit.streams import stream


def _data(n=25, d=3):
    rng = stream(0, "attack", "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


@pytest.mark.claim("proj-beyond-attack")
def test_root_mean_square_has_a_chi_law():
    """1000 naive releases of paired columns, n' = 9: Kolmogorov-Smirnov at 1e-4, and a control."""
    rng, x = stream(0, "attack-rms", "noise"), 0.4
    X = paired_columns(x, n_records=12)
    found = np.array(
        [
            rms_attack(release_projection(X, np.zeros(12), n_components=9, variance=0.0, rng=rng))
            for _ in range(1000)
        ]
    )
    assert kstest(found * 3 / x, chi(9).cdf).pvalue > 1e-4
    assert kstest(found * 3 / x * 1.1, chi(9).cdf).pvalue < 1e-4
    low, high = rms_attack_quantiles(x, [0.05, 0.95], n_components=9)
    inside = np.mean((found > low) & (found < high))
    assert abs(inside - 0.9) < 4 * math.sqrt(0.09 / 1000)
    assert rms_attack_quantiles(1.0, 0.5, n_components=10**6) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.claim("proj-beyond-attack")
def test_hit_rate_is_the_total_variation():
    """Two values with equal odds: hit rate (1 + TV)/2; 4 standard errors of 2 x 300 trials.

    Kills a filter that forgets the noise, the response, or the row's other entries.
    """
    X, y = _data()
    y[3] = 8.0
    for variance in (0.0, 2.0):
        attack = attack_entry(
            X,
            y,
            variance=variance,
            n_components=30,
            row=3,
            column=1,
            truth=[-1.0, 1.0],
            levels=[-1.0, 1.0],
            n_trials=300,
            rng=stream(0, "attack-hits", "noise"),
        )
        np.testing.assert_array_equal(attack.truth, [-1.0, 1.0])
        np.testing.assert_array_equal(np.unique(attack.guesses), [-1.0, 1.0])
        hits = np.mean(attack.guesses == attack.truth[:, None])
        channel = single_entry(X, y, variance=variance, row=3, column=1)
        expected = (1 + binary_total_variation(channel, n_components=30)) / 2
        assert abs(hits - expected) < 4 * math.sqrt(0.25 / 600)
        assert hits > 0.6


@pytest.mark.claim("proj-beyond-attack")
def test_likeliest_entry_is_the_maximum_of_the_full_likelihood():
    X, y = _data()
    levels = np.linspace(-1, 1, 21)
    release = release_projection(
        X, y, n_components=40, variance=0.3, rng=stream(0, "attack-full", "noise")
    )
    Z, logs = np.column_stack([release.X, release.y]), []
    for level in levels:
        Y = X.copy()
        Y[3, 1] = level
        M = np.column_stack([Y, y])
        Sigma = M.T @ M + np.diag([0.3, 0.3, 0.3, 0.0])
        quadratic = np.sum(Z * (Z @ np.linalg.inv(Sigma)))
        logs.append(-(40 * np.linalg.slogdet(Sigma)[1] + quadratic) / 2)
    for own in (X[3, 1], 0.987):  # the entry itself is not read
        X[3, 1] = own
        found = likeliest_entry(release, X, y, variance=0.3, row=3, column=1, levels=levels)
        assert found == levels[int(np.argmax(logs))]
