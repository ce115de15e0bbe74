"""The naive route agrees with the exact one, on each of the chapter's kinds of table."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.papers.projection.channels import scale_information
from dplit.papers.projection.counterexamples import paired_columns
from dplit.papers.projection.leakage import binary_leakage, single_entry
from dplit.streams import stream
from dplit_studies.projection.simulation import simulated_leakage


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize(("levels", "n"), [((1.0, 0.1), 1), ((1.0, 0.1, 0.01), 2)])
def test_counterexample_by_naive_releases(levels, n):
    """4 standard errors, false alarm 1e-4. Kills rows of S that are shared between draws."""
    bits = simulated_leakage(
        [paired_columns(x) for x in levels],
        None,
        variance=0.0,
        n_components=n,
        rng=stream(0, "simulation", "noise", n),
        n_draws=4000,
    )
    exact = scale_information(np.square(levels), n_samples=n).value
    assert abs(bits.value - exact) < 4 * bits.error
    assert bits.error < 0.02


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("with_response", [True, False])
def test_an_entry_of_a_noisy_release(with_response):
    rng = stream(0, "simulation-data", "data")
    X, y = rng.uniform(-1, 1, (20, 3)), rng.standard_normal(20)
    y[5] = 6.0
    response = y if with_response else None
    tables = []
    for value in (-1.0, 1.0):
        table = X.copy()
        table[5, 1] = value
        tables.append(table)
    bits = simulated_leakage(tables, response, variance=1.2, n_components=15, rng=rng, n_draws=4000)
    channel = single_entry(X, response, variance=1.2, row=5, column=1)
    assert abs(bits.value - binary_leakage(channel, n_components=15)[0]) < 4 * bits.error
