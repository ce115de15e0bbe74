"""Figures show every scheme, both noises, and label their axes."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.projection.experiments.curves import budget_curves
from dplit.projection.experiments.digits import DigitCurves
from dplit.projection.experiments.error_figures import (
    budget_figure,
    digit_figure,
    law_figure,
    row_figure,
)


@pytest.fixture(scope="module")
def curves():
    return budget_curves(seed=0, n_repeats=2, epsilons=(0.5, 1.0), responses=("unit", "noise"))


def _check(figure, panels, lines):
    assert len(figure.axes) == panels
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert len(axes.get_lines()) == lines
    plt.close(figure)


def test_error_figures_have_a_panel_per_noise_and_a_line_per_scheme(curves):
    figure = budget_figure(curves)
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[1].get_lines()}
    np.testing.assert_allclose(drawn["projection, n' = n"], curves.mean("unit", "full", "repaired"))
    np.testing.assert_allclose(drawn["additive noise"], curves.mean("unit", "additive"))
    styles = {(line.get_linestyle(), line.get_marker()) for line in figure.axes[0].get_lines()}
    assert len(styles) == 4  # not by colour alone
    _check(figure, 2, 4)
    _check(row_figure(curves, ("unit", "noise")), 4, 4)


def test_digit_figure_shows_all_schemes():
    rng = np.random.default_rng(0)
    keys = [("ols", "printed"), ("additive", "printed")]
    keys += [(s, v) for s in ("log", "linear", "full") for v in ("printed", "repaired")]
    errors = {key: rng.uniform(0.1, 0.2, (3, 4)) for key in keys}
    made = DigitCurves(np.arange(1.0, 5.0) * 1000, errors, np.ones((3, 4)), "test")
    _check(digit_figure(made), 2, 5)


def test_law_figure_draws_density_and_tail():
    factors = 1 + np.random.default_rng(0).f(4, 17, 500) * 4 / 17
    figure = law_figure(factors, n_features=4, n_components=20)
    left, right = figure.axes
    assert len(left.get_lines()) == 1
    area = np.trapezoid(left.get_lines()[0].get_ydata(), left.get_lines()[0].get_xdata())
    assert area == pytest.approx(0.995, abs=2e-3)
    heights = sum(patch.get_height() * patch.get_width() for patch in left.patches)
    assert heights == pytest.approx(0.995, abs=0.02)
    assert len(right.get_lines()) == 3
    assert right.get_xscale() == right.get_yscale() == "log"
    plt.close(figure)
