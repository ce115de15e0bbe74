"""Every sentence is true of a table built to satisfy it, and false of one built not to."""

from __future__ import annotations

import numpy as np
import pytest

from dplit_studies.sketching import noise_experiments, recovery_sentences, size_experiments

SIZE = {"n_clusters": 10, "n_features": 10}


def _grid(median, sizes, ratios):
    risks = np.asarray(median, float)[None]
    return noise_experiments._NoiseGrid(np.array(sizes), np.array(ratios), risks, risks)


def _outcomes(sentences):
    return [s.outcome for s in sentences]


@pytest.mark.claim("sketch-nsr-proxy")
def test_accepted_cells():
    grid = _grid(np.ones((3, 3)), [100, 200, 1000], [1e-3, 5e-3, 2e-2])
    expected = [[False, False, False], [True, False, False], [True, True, False]]
    assert recovery_sentences._accepted_cells(grid, **SIZE).tolist() == expected


@pytest.mark.claim("sketch-fig4")
def test_figure_4():
    ratios = [1e-4, 1e-2, 5e-2, 1.0]
    good = _grid([[1.01, 1.01, 1.03, 2.0]], [1000], ratios)
    assert _outcomes(recovery_sentences.noise_sentences(good, **SIZE)) == [True, True]
    flat = _grid([[1.01, 1.01, 1.01, 1.01]], [1000], ratios)
    assert _outcomes(recovery_sentences.noise_sentences(flat, **SIZE)) == [False, True]
    early = _grid([[1.01, 1.06, 1.1, 2.0]], [1000], ratios)
    assert _outcomes(recovery_sentences.noise_sentences(early, **SIZE)) == [True, False]


@pytest.mark.claim("sketch-fig5")
def test_figure_5():
    sizes, ratios = [100, 130, 200, 250, 1000], [1e-4, 2e-3, 1.0]
    table = np.array([[4.0, 4, 6], [2.5, 3, 5], [1.05, 1.06, 4], [1.03, 1.03, 3], [1.01, 1.01, 2]])
    whole = recovery_sentences.noise_size_sentences(_grid(table, sizes, ratios), **SIZE)
    assert _outcomes(whole) == [True] * 3
    below = table.copy()
    below[1, 1] = 1.4
    assert not recovery_sentences.noise_size_sentences(_grid(below, sizes, ratios), **SIZE)[
        0
    ].outcome
    line = table.copy()
    line[2, 0] = 2.4
    assert not recovery_sentences.noise_size_sentences(_grid(line, sizes, ratios), **SIZE)[
        1
    ].outcome
    late = table.copy()
    late[3, 1] = 1.06
    assert not recovery_sentences.noise_size_sentences(_grid(late, sizes, ratios), **SIZE)[
        2
    ].outcome
    unaccepted = table.copy()
    unaccepted[2] = 1.7  # m = 2kd is not held to the last sentence
    assert recovery_sentences.noise_size_sentences(_grid(unaccepted, sizes, ratios), **SIZE)[
        2
    ].outcome


def _curves():
    """Two n, two deltas, epsilons 0.1, 1 and infinity at n = 1e4 and 1e3; sizes 1 to 20 kd."""
    median = np.empty((2, 2, 3, 4))
    median[:, :, 2] = [2.0, 1.1, 1.03, 1.01]
    median[:, 0, 0] = [2.5, 1.8, 2.0, 3.0]
    median[:, 0, 1] = [2.2, 1.15, 1.4, 2.0]
    median[:, 1, 0] = [2.5, 1.6, 1.15, 1.15]
    median[:, 1, 1] = [2.2, 1.15, 1.04, 1.02]
    axes = np.array([10_000, 1000]), np.array([0.0, 1e-8]), np.array([0.1, 1.0, np.inf])
    return size_experiments._SizeCurves(
        *axes, np.array([32, 64, 160, 640]), median[None], median[None], np.ones(1)
    )


@pytest.mark.claim("sketch-fig8")
@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        ((1, 0, 2, 3), 1.04, 0),
        ((0, 0, 0, 3), 1.85, 1),
        ((1, 0, 1, 3), 1.2, 1),
        ((0, 0, 0, slice(None)), 1.1, 2),
        ((0, 1, slice(0, 2), slice(None)), 3.0, 3),
    ],
)
def test_figure_8(place, value, sentence):
    """Each change breaks the sentence it is meant to break."""
    curves = _curves()
    assert (
        _outcomes(recovery_sentences.size_sentences(curves, n_clusters=4, n_features=8))
        == [True] * 4
    )
    curves.few[(0, *place)] = value
    assert not recovery_sentences.size_sentences(curves, n_clusters=4, n_features=8)[
        sentence
    ].outcome
