"""The figures on utility draw the numbers that they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.erm.experiments.learning_curves import hinge_curves, least_squares_curves
from dplit.erm.experiments.utility_plots import (
    generalization_figure,
    hinge_figure,
    least_squares_figure,
)
from dplit.erm.utility import generalization_bound


@pytest.fixture(autouse=True)
def _close():
    """Close all figures after each test."""
    yield
    plt.close("all")


def _lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_generalization_figure_shows_bounds_and_mechanisms():
    axes = generalization_figure().axes
    assert len(axes) == 2
    for panel, side in zip(axes, ("over", "under"), strict=True):
        lines = _lines(panel)
        x, y = lines["sharp bound"].get_data()
        assert y == pytest.approx([generalization_bound(epsilon=e, side=side) for e in x])
        top = lines["randomised response, k = 1000"].get_ydata()
        sharp = [generalization_bound(epsilon=e, side=side) for e in x[::8]]
        assert np.all(top <= sharp)
        assert top == pytest.approx(sharp, rel=2e-3)
        assert lines["printed bound 2ε"].get_ydata() == pytest.approx(2 * x)
        assert panel.get_xlabel()
        assert panel.get_ylabel()


def test_hinge_figure_shows_means_below_the_bound():
    curves = hinge_curves(3, seed=0, sizes=[64, 128])
    fig = hinge_figure(curves)
    assert [axes.get_title() for axes in fig.axes] == [s.name for s in curves.settings]
    for i, axes in enumerate(fig.axes):
        lines = _lines(axes)
        shown = lines["doubled scale"].get_ydata()
        assert shown == pytest.approx(curves.excess[:, i, :, 2].mean(axis=0))
        assert np.all(lines["bound by stability"].get_ydata() > shown)
        assert axes.get_xscale() == axes.get_yscale() == "log"


def test_least_squares_figure_shows_all_scales_and_the_trivial_predictor():
    curves = least_squares_curves(3, seed=0, sizes=[64, 128])
    fig = least_squares_figure(curves)
    for i, axes in enumerate(fig.axes):
        lines = _lines(axes)
        for noise, name in (
            ("none", "no noise"),
            ("printed", "printed scale"),
            ("doubled", "doubled scale"),
            ("sharp", "smallest proved scale"),
        ):
            expected = curves.excess(noise)[:, i].mean(axis=0)
            assert lines[name].get_ydata() == pytest.approx(expected)
        assert lines["predict 0"].get_ydata()[0] == 0.125
