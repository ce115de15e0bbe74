"""Figures of the stability sections: every line is a computed one, every axis has a label."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.erm.experiments.stability_plots import (
    bound_curves,
    least_squares_figure,
    stability_figure,
)
from dplit.erm.experiments.tables import VERSIONS, bounds_beside_worst
from dplit.erm.losses import LOSSES
from dplit.erm.stability import loss_bound


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_bounds_of_the_figure_by_hand():
    sizes = [25, 400]
    found = bound_curves("pinball", sizes)
    assert found["Theorem 2"] == pytest.approx([0.3, 0.01875])
    B = loss_bound("pinball", regularization=0.1, tau=0.75)
    assert found["Theorem 1, printed"] == pytest.approx([np.sqrt(B / 0.3125), np.sqrt(B / 5)])
    ratio = found["Theorem 1, printed"] / found["Theorem 1 with the constant 2"]
    assert ratio == pytest.approx([np.sqrt(8)] * 2)
    assert bound_curves("squared", [400])["Theorem 2"] == pytest.approx([4 / np.sqrt(0.1) / 40])


def test_stability_figure_draws_medians_ranges_and_bounds():
    sizes = np.array([10, 20])
    largest = {loss: np.array([[1.0, 0.5], [2.0, 0.7], [4.0, 0.6]]) for loss in LOSSES}
    bounds = {loss: bound_curves(loss, sizes) for loss in LOSSES}
    fig = stability_figure(sizes, largest, bounds)
    assert len(fig.axes) == 4
    lines = fig.axes[1].get_lines()
    assert lines[0].get_ydata() == pytest.approx(bounds["hinge"]["Theorem 2"])
    assert any(np.array_equal(line.get_ydata(), [2.0, 0.6]) for line in lines)
    assert [axes.get_xlabel() for axes in fig.axes] == ["", "", "records m", "records m"]
    assert [axes.get_ylabel() for axes in fig.axes] == ["distance", "", "distance", ""]


def test_least_squares_figure_draws_ratios():
    axis = [0.01, 1.0, 9.0]
    table = bounds_beside_worst(axis, n_records=1000)
    fig = least_squares_figure(axis, table)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert lines["printed"] == pytest.approx(table["printed"] / table["worst"])
    assert lines["printed"][2] < 1
    assert min(lines["sharp"]) >= 1
    assert set(VERSIONS.values()) <= set(lines)
