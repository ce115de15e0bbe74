"""The figures show what was computed: lines, points and labels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.erm.experiments.attacks import pattern_curve, reconstruction_runs
from dplit.erm.experiments.audits import audit_answer
from dplit.erm.experiments.release_plots import (
    loss_figure,
    pattern_figure,
    reconstruction_figure,
    shift_figure,
)
from dplit.erm.pairs import hinge_pair
from dplit.erm.release import hinge_scale
from dplit.streams import stream

PAIR = hinge_pair(n_records=101, regularization=0.1)


def _labelled(fig):
    return all(axes.get_xlabel() and axes.get_ylabel() for axes in fig.axes)


def _rng():
    return stream(25, "erm-release-plots", "noise")


def test_the_loss_figure_saturates_at_the_losses():
    setting = {"epsilon": 0.5, "kappa": 1.0, "regularization": 0.1, "n_records": 101}
    scales = [hinge_scale(as_printed=printed, **setting) for printed in (True, False)]
    audits = [
        audit_answer(PAIR.slope, PAIR.other_slope, scale=s, epsilon=0.5, runs=20_000, rng=_rng())
        for s in scales
    ]
    fig = loss_figure(PAIR, scales, audits, epsilon=0.5)
    curves = [line for line in fig.axes[1].lines if len(line.get_xdata()) == 401]
    tops = [float(np.max(line.get_ydata())) for line in curves]
    assert tops == pytest.approx([1.0, 0.5])
    assert len(fig.axes[0].lines) == 4
    assert _labelled(fig)
    plt.close(fig)


def test_the_shift_figure_has_parallel_lines_and_two_atoms():
    fig = shift_figure(PAIR, scale=1.0, rng=_rng())
    slopes = [float(np.diff(line.get_ydata())[0]) / 2 for line in fig.axes[0].lines]
    assert slopes == pytest.approx([PAIR.slope] * 20 + [PAIR.other_slope] * 20)
    atoms = [line.get_ydata() for line in fig.axes[1].lines]
    assert np.ptp(atoms[0]) < 1e-12
    assert atoms[0][0] == pytest.approx(2 * PAIR.slope)
    assert _labelled(fig)
    plt.close(fig)


def test_the_pattern_figure_has_lines_and_points():
    fig = pattern_figure(pattern_curve([0.1, 0.5], runs=500, seed=0))
    assert _labelled(fig)
    assert len(fig.axes[0].get_legend().get_texts()) == 3
    plt.close(fig)


def test_the_reconstruction_figure_shows_every_trial():
    printed = reconstruction_runs((4, 5), n_trials=2, seed=0, restarts=20)
    fresh = reconstruction_runs((4, 5), n_trials=1, seed=0, restarts=5, as_printed=False)
    fig = reconstruction_figure(printed, fresh)
    lines = fig.axes[0].lines
    assert len(lines) == 3
    assert np.array_equal(lines[0].get_ydata(), printed.farthest[0])
    assert len(fig.axes[0].get_legend().get_texts()) == 2
    assert _labelled(fig)
    plt.close(fig)
