"""The figures draw what they are given: values, labels, legends."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.margin.experiments.choice import margin_table
from dplit.margin.experiments.dimension import METHODS, DimensionCurves
from dplit.margin.experiments.learner_plots import choice_figure, descent_figure, excess_figure
from dplit.margin.experiments.learners import ExcessTable


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _legend(fig):
    return [text.get_text() for legend in fig.legends for text in legend.get_texts()]


def test_descent_figure_draws_hinge_and_error_of_every_method():
    mean = np.arange(36.0).reshape(2, 6, 3) / 36
    fig = descent_figure(DimensionCurves((50, 500), mean, np.full((2, 6, 3), 0.01)))
    assert _legend(fig) == list(METHODS)
    for axes, column in zip(fig.axes, (1, 0), strict=True):
        lines = [bar.lines[0] for bar in axes.containers]
        np.testing.assert_allclose([line.get_ydata() for line in lines], mean[:, :, column].T)
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "dimension d"
        assert len({(line.get_marker(), line.get_color()) for line in lines}) == 6


def test_excess_figure_draws_the_methods_asked_for():
    tables = [
        ExcessTable(m, 0.1, {"a": 1.0 / m, "b": 2.0 / m}, {"a": 0.0, "b": 0.0}, {})
        for m in (10, 20)
    ]
    fig = excess_figure(tables, {"b": "second"})
    (axes,) = fig.axes
    assert _legend(fig) == ["second"]
    np.testing.assert_allclose(axes.containers[0].lines[0].get_ydata(), [0.2, 0.1])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["10", "20"]


def test_choice_figure_counts_the_choices():
    table = margin_table(200, 3, size=4)
    fig = choice_figure(table, {"one": np.array([0.5, 0.5, 0.25, 1.0]), "two": np.array([0.125])})
    top, bottom = fig.axes
    np.testing.assert_allclose(top.lines[0].get_ydata(), table.objective)
    np.testing.assert_allclose(top.lines[2].get_ydata(), 2 / (table.margins * np.sqrt(200)))
    heights = [[bar.get_height() for bar in group] for group in bottom.containers]
    assert heights == [[0.25, 0.5, 0.25, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert [t.get_text() for t in bottom.get_legend().get_texts()] == ["one", "two"]
