"""The figures draw what was computed, and label their axes."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import norm

from dplit.projection.experiments.additive_figures import bound_figure, conversion_figure


def _curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_conversions_are_drawn_with_their_values():
    figure = conversion_figure(delta=1e-5, marks={"Figure 1": 0.5})
    left, right = figure.axes
    curves = _curves(left)
    bits, pinsker = curves["Proposition 2"].T
    assert pinsker == pytest.approx(np.sqrt(2 * bits * np.log(2)))
    bits, distance = curves["additive noise, one entry"].T
    assert distance == pytest.approx(2 * norm.cdf(np.sqrt(4**bits - 1)) - 1, rel=1e-9)
    rows = _curves(right)["a row of 800 entries in [-1, 1]"]
    assert np.interp(np.log(0.5), *np.log(rows.T)) == pytest.approx(np.log(1840), abs=0.01)
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend() is not None
    plt.close(figure)


def test_bounds_are_drawn_without_their_infinities():
    figure = bound_figure([1.0, 2.0], {"bound": [np.inf, 3.0], "truth": [1.5, 1.1]}, starts={})
    curves = _curves(figure.axes[0])
    assert np.isnan(curves["bound"][0, 1])
    assert curves["bound"][1, 1] == pytest.approx(2.0)
    assert curves["truth"][:, 1] == pytest.approx([0.5, 0.1])
    plt.close(figure)


def test_bad_input():
    with pytest.raises(ValueError, match="delta"):
        conversion_figure(delta=0.0, marks={})
    with pytest.raises(ValueError, match="curves must have 2 values, got 'a'"):
        bound_figure([1.0, 2.0], {"a": [1.0]}, starts={})
    plt.close("all")
