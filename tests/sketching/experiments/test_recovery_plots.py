"""The figures draw what they are given: lines, limits and labels."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.sketching.experiments.recovery import NoiseGrid, SizeCurves
from dplit.sketching.experiments.recovery_plots import noise_figure, noise_size_figure, size_figure

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def _grid(sizes, trials=5):
    rng = np.random.default_rng(0)
    ratios = np.logspace(-4, 0, 7)
    base = 1 + 5 * ratios * (1000 / np.array(sizes))[:, None]
    risks = base * (1 + 0.02 * rng.random((trials, len(sizes), 7)))
    return NoiseGrid(np.array(sizes), ratios, risks, risks)


def test_figure_4_draws_medians_failures_and_the_limit():
    grid = _grid([1000])
    fig = noise_figure(grid, n_clusters=10, n_features=10)
    left, right = fig.axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), grid.median[0])
    np.testing.assert_allclose(right.lines[0].get_ydata(), grid.failed[0])
    assert left.lines[1].get_xdata()[0] == pytest.approx(0.01)
    assert left.get_xlabel()
    assert left.get_ylabel()


def test_figure_5_draws_the_size_limit_and_the_accepted_ratios():
    grid = _grid([100, 200, 500, 1000])
    fig = noise_size_figure(grid, n_clusters=10, n_features=10)
    axes = fig.axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["m = 2kd"].get_ydata()[0] == 2.0
    (accepted,) = [line for name, line in lines.items() if "accepted" in name]
    np.testing.assert_allclose(accepted.get_xdata(), [0.002, 0.005, 0.01])
    np.testing.assert_allclose(accepted.get_ydata(), [2, 5, 10])


def test_figure_8_draws_one_line_per_budget_in_every_panel():
    rng = np.random.default_rng(1)
    risks = 1 + rng.random((3, 2, 2, 3, 4))
    axes_of = (np.array([10**4, 10**5]), np.array([0.0, 1e-8]), np.array([0.01, 0.1, np.inf]))
    curves = SizeCurves(*axes_of, np.array([32, 64, 128, 320]), risks, risks, np.ones((3, 2)))
    fig = size_figure(curves, n_clusters=4, n_features=8)
    panels = fig.axes
    assert len(panels) == 4
    for row in range(2):
        for column in range(2):
            lines = panels[2 * row + column].lines
            assert len(lines) == 3 + 1
            for e in range(3):
                np.testing.assert_allclose(lines[e].get_ydata(), curves.median[column, row, e])
                np.testing.assert_allclose(lines[e].get_xdata(), [1, 2, 4, 10])
            styles = {(line.get_marker(), str(line.get_linestyle())) for line in lines[:3]}
            assert len(styles) == 3
    assert lines[2].get_label() == "no noise"
