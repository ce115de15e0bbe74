"""Closed forms on the line: against the certified solvers, against brute force, and attained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dplit.kernels.lipschitz import lipschitz_stability
from dplit.kernels.losses import loss_values
from dplit.papers.erm.kernels import linear_kernel
from dplit.papers.erm.line_pairs import close_hinge_pair, hinge_pair, ridge_pair
from dplit.papers.erm.minimisers import fit_kernel


def _slopes(pair, loss, regularization):
    """Both minimisers by the certified kernel solver, and their certified errors."""
    found = []
    for points, labels in ((pair.points, pair.labels), (pair.other_points, pair.other_labels)):
        fit = fit_kernel(
            linear_kernel(points, points), labels, loss=loss, regularization=regularization
        )
        found.append((float(points @ fit.coefficients), fit.distance))
    return found


def _brute(points, labels, loss, regularization):
    """Minimise the one-dimensional objective directly."""

    def objective(w):
        return float(loss_values(loss, w * points, labels).mean()) + regularization * w * w

    return minimize_scalar(objective, bounds=(-10, 10), method="bounded", options={"xatol": 1e-9}).x


HINGES = [
    (1, 0.5, 1.0),
    (2, 0.25, 1.0),
    (3, 1 / 6, 1.0),
    (7, 0.2, 0.3),
    (9, 0.7, 0.2),
    (11, 0.5, 2.0),
    (100, 0.1, 1.0),
    (100, 0.1, 2.0),
    (101, 0.1, 1.0),
    (101, 0.1, 2.0),
]
PAIRS = [
    (hinge_pair(n_records=m, regularization=lam, kappa=k), "hinge", lam) for m, lam, k in HINGES
]
PAIRS += [
    (close_hinge_pair(gap=gap, regularization=lam), "hinge", lam)
    for gap, lam in [(0.1, 0.6), (0.01, 0.6), (0.5, 3.0), (1e-4, 0.5)]
]
PAIRS += [
    (ridge_pair(n_records=m, regularization=lam, kappa=k, label_bound=M), "squared", lam)
    for m, lam, k, M in [(1, 1.0, 1.0, 1.0), (40, 0.3, 0.3, 2.0), (10, 0.05, 2.0, 0.5)]
]


@pytest.mark.claim("erm-prop1", "erm-svm-noise", "erm-ls-noise", "erm-svm-sgn")
@pytest.mark.parametrize(("pair", "loss", "regularization"), PAIRS)
def test_slopes_are_the_minimisers(pair, loss, regularization):
    found = _slopes(pair, loss, regularization)
    for (slope, error), expected in zip(found, (pair.slope, pair.other_slope), strict=True):
        assert abs(slope - expected) <= error + 1e-12
    assert _brute(pair.points, pair.labels, loss, regularization) == pytest.approx(
        pair.slope, abs=1e-5
    )
    other = _brute(pair.other_points, pair.other_labels, loss, regularization)
    assert other == pytest.approx(pair.other_slope, abs=1e-5)


@pytest.mark.parametrize(("pair", "loss", "regularization"), PAIRS)
def test_pairs_differ_in_the_last_record_only(pair, loss, regularization):
    assert np.array_equal(pair.points[:-1], pair.other_points[:-1])
    assert np.array_equal(pair.labels[:-1], pair.other_labels[:-1])
    last = (pair.points[-1], pair.labels[-1]) != (pair.other_points[-1], pair.other_labels[-1])
    assert last


@pytest.mark.claim("erm-svm-noise", "erm-def2")
@pytest.mark.parametrize(("m", "lam", "kappa"), HINGES)
def test_the_hinge_pair_attains_theorem_2(m, lam, kappa):
    pair = hinge_pair(n_records=m, regularization=lam, kappa=kappa)
    bound = lipschitz_stability(lipschitz=1.0, regularization=lam, n_records=m, kappa=kappa)
    assert pair.distance == pytest.approx(bound, rel=1e-12)
    here, there = pair.values([kappa])
    assert here[0] - there[0] == pytest.approx(kappa * bound, rel=1e-12)


@pytest.mark.claim("erm-svm-sgn")
def test_the_close_pair_keeps_the_order_of_the_two_points():
    for gap in (0.1, 0.01, 1e-4):
        pair = close_hinge_pair(gap=gap)
        assert pair.slope == pytest.approx(1 / 1.2)
        assert pair.other_slope == pytest.approx(gap / 2.4)
        for f in pair.values([1.0, -1.0]):
            assert f[0] > f[1]


def test_margins_are_inside_where_the_closed_forms_need_it():
    edge = hinge_pair(n_records=5, regularization=0.1)
    assert edge.slope == pytest.approx(1.0)  # lambda = kappa^2 / (2 m): the margin is just met
    with pytest.raises(ValueError, match="regularization must be at least"):
        hinge_pair(n_records=5, regularization=0.099)
    with pytest.raises(ValueError, match=r"regularization must be at least 0\.5"):
        close_hinge_pair(gap=0.1, regularization=0.49)
    with pytest.raises(ValueError, match="points must have 1 axes"):
        edge.values([[1.0]])
