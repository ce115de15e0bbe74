"""The figures show what they are given, with labels, and can be told apart without colour."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.erm.attacks import LeakAudit, hinge_pair
from dplit.erm.experiments.attacks import PowerAudit
from dplit.erm.experiments.comparison import METHODS, Comparison
from dplit.erm.experiments.repair_plots import (
    comparison_figure,
    cost_figure,
    process_figure,
    release_paths,
)
from dplit.erm.repairs import break_even_dimension, break_even_queries
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _comparison(settings):
    errors = {
        method: np.full((3, len(settings)), 0.1 + 0.05 * k) for k, method in enumerate(METHODS)
    }
    return Comparison("waves", tuple(settings), 1e-5, errors, errors["Gaussian process"])


def _styles(axes):
    lines = axes.get_lines()
    return [(str(line._unscaled_dash_pattern), line.get_marker()) for line in lines]


def test_paths_scatter_around_the_two_functions():
    """40 paths a side at 9 points: 5 standard errors each, false alarm 1e-5."""
    pair = hinge_pair(20, rng=stream(0, "paths", "data"))
    ticks = np.linspace(-1, 1, 9)
    sides = release_paths(pair, ticks, epsilon=2.0, delta=1e-5, n_paths=40, seed=0)
    sigma = gaussian_sigma(epsilon=2.0, delta=1e-5, sensitivity=pair.sensitivity)
    points = np.column_stack([ticks, np.full(9, pair.records[-1, 1])])
    for values, coefficients in zip(sides, (pair.coefficients, pair.neighbour), strict=True):
        assert values.shape == (40, 9)
        exact = pair.kernel(points, pair.records) @ coefficients
        assert (np.abs(values.mean(axis=0) - exact) < 5 * sigma / np.sqrt(40)).all()
    assert not np.array_equal(*sides)


def test_process_figure():
    audit = PowerAudit(np.linspace(-1, 2, 50), np.linspace(-2, 1, 50), 0.9)
    leak = LeakAudit("truncated", 0.1, 50.0, 10, 0, 10)
    paths = np.zeros((3, 5)), np.ones((3, 5))
    left, right = process_figure(np.arange(5.0), paths, audit, [leak]).axes
    np.testing.assert_array_equal(left.get_lines()[3].get_ydata(), np.ones(5))
    assert len(left.get_lines()) == 6
    curve, star = right.get_lines()[0], right.get_lines()[-1]
    np.testing.assert_allclose(curve.get_ydata()[[0, -1]], [0, 1])
    np.testing.assert_allclose(star.get_xydata(), [[0.0, 1.0]])
    for axes in (left, right):
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend() is not None


def test_cost_figure_crosses_at_the_break_evens():
    (axes,) = cost_figure(epsilon=0.5, delta=1e-5).axes
    process, gamma, laplace = axes.get_lines()
    level = process.get_ydata()[0]
    assert level == pytest.approx(gaussian_sigma(epsilon=0.5, delta=1e-5))
    for line, last in (
        (gamma, break_even_dimension(epsilon=0.5, delta=1e-5)),
        (laplace, break_even_queries(epsilon=0.5, delta=1e-5)),
    ):
        counts = line.get_xdata()
        np.testing.assert_array_equal(line.get_ydata() <= level, counts <= last)
    assert len(set(_styles(axes))) == 3


def test_comparison_figure():
    results = {"a": _comparison([(10, 0.1), (10, 1.0)]), "b": _comparison([(10, 0.1), (10, 1.0)])}
    fig = comparison_figure(results, _comparison([(10, 0.5), (100, 0.5)]))
    assert [axes.get_xlabel() for axes in fig.axes] == ["ε", "ε", "number of records m"]
    assert fig.axes[2].get_title() == "waves, ε = 0.5"
    np.testing.assert_allclose(fig.axes[2].get_lines()[1].get_xdata(), [10, 100])
    np.testing.assert_allclose(fig.axes[0].get_lines()[1].get_ydata(), 0.15)
    styles = _styles(fig.axes[0])
    assert len(set(styles)) == len(METHODS)
    assert len(fig.legends[0].get_texts()) == len(METHODS)
