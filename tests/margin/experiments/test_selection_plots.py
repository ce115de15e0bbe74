"""Figures: what is drawn is what was computed, and every axis has a label."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from dplit.margin.data import LineDistribution
from dplit.margin.experiments import selection_plots
from dplit.margin.experiments.bounds import CompressionCurve
from dplit.margin.experiments.dimension import DimensionCurve
from dplit.margin.exponential import gaussian_prior_bound

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def _labelled(fig):
    return all(a.get_xlabel() and (a.get_ylabel() or a is not fig.axes[0]) for a in fig.axes)


def test_bound_figure_draws_the_bounds():
    fig = selection_plots.bound_figure([0.5, 0.8], epsilon=1.0, beta=0.05)
    assert len(fig.axes) == 2
    assert _labelled(fig)
    sizes, values = fig.axes[0].lines[2].get_data()
    options = {"normalized_margin": 0.5, "epsilon": 1.0, "beta": 0.05}
    assert values[3] == gaussian_prior_bound(n_samples=int(sizes[3]), **options)
    cover = fig.axes[0].lines[0].get_ydata()
    assert np.all(cover > 10 * values)


def test_dimension_figure_draws_means():
    draws = (np.array([[0.1, 0.2, 5], [0.3, 0.4, 7]]), np.array([[0.0, 0.1, 1], [0.2, 0.1, 3]]))
    curve = DimensionCurve(0.5, 300, 0.25, (10, 100), draws)
    fig = selection_plots.dimension_figure([curve, curve])
    assert _labelled(fig)
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [0.2, 0.1])
    assert any(np.allclose(line.get_ydata(), 0.25) for line in fig.axes[0].lines)


@pytest.mark.claim("margin-fig1")
def test_line_figure_draws_masses_and_minimisers():
    line = LineDistribution(0.1, 0.5)
    fig = selection_plots.line_figure(line, {"clean": line})
    assert _labelled(fig)
    heights = [line.get_ydata()[-1] for line in fig.axes[0].lines[:8:2]]
    np.testing.assert_allclose(heights, [0.25] * 4)
    assert fig.axes[1].lines[1].get_xdata()[0] == pytest.approx(10.0)


def test_network_figure_draws_both_panels():
    curve = CompressionCurve(*np.array([[8.0, 32.0], [0.4, 0.2], [0.01, 0.01], [1.0, 0.5]]))
    errors = {300: np.full((2, 2, 2), 0.1)}
    fig = selection_plots.network_figure({"all": curve}, errors, [0.1, 1.0])
    assert _labelled(fig)
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [0.4, 0.2])
    assert len(fig.axes[1].lines) == 2


@pytest.mark.claim("margin-fig2")
def test_schematic_has_every_map():
    fig = selection_plots.schematic_figure()
    texts = " ".join(t.get_text() for t in fig.axes[0].texts)
    for part in ("W_1", "W_3", "Phi_0", "Phi_2", "h_", "before", "after"):
        assert part in texts
    assert not fig.axes[0].axison
