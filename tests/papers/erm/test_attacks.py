"""Attacks on a shifted function: exact where exact, and silent where noise is fresh."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from dplit.papers.erm.attacks import reconstruct_record, sign_pattern_probability, two_point_attack
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.line_pairs import close_hinge_pair, hinge_pair
from dplit.papers.erm.minimisers import fit_kernel
from dplit.papers.erm.release import release_scalar_shift
from dplit.papers.erm.scales import hinge_scale
from dplit.streams import stream

kernel = partial(gaussian_gram, width=0.5)


def _rng(trial=0, role="public"):
    return stream(21, "erm-attacks", role, trial)


@pytest.mark.claim("erm-lem1")
def test_two_points_identify_the_data_set_through_any_shift():
    pair = hinge_pair(n_records=101, regularization=0.1)
    f, g = pair.values([1.0, -1.0])
    for scale in (0.01, 1.0, 1e6):
        answers = [release_scalar_shift(v, scale=scale, rng=_rng(), releases=500) for v in (f, g)]
        assert two_point_attack(answers[0], f, g).all()
        assert not two_point_attack(answers[1], f, g).any()


@pytest.mark.claim("erm-lem1")
def test_two_points_say_little_when_the_noise_is_fresh():
    """Advantage below 0.2 with noise 40 gaps wide; its standard error is 0.016, so 5 away."""
    f, g = np.array([0.1, -0.1]), np.array([-0.1, 0.1])
    answers = [
        release_scalar_shift(v, scale=4.0, rng=_rng(1), releases=2000, as_printed=False)
        for v in (f, g)
    ]
    rates = [two_point_attack(a, f, g).mean() for a in answers]
    assert abs(rates[0] - rates[1]) < 0.2


def _by_quadrature(f, pattern, s):
    """P(sgn(f + b) = pattern) by integrating the Laplace density over b."""
    edges = sorted({-float(v) for v in f} | {0.0})
    cuts = [-60 * s - 10, *edges, 60 * s + 10]

    def shown(b):
        return bool((np.where(np.array(f) + b >= 0, 1, -1) == pattern).all())

    total = 0.0
    for low, high in itertools.pairwise(cuts):
        if high > low and shown(0.5 * (low + high)):
            total += quad(lambda b: stats.laplace.pdf(b, scale=s), low, high, epsabs=1e-13)[0]
    return total


@pytest.mark.claim("erm-svm-sgn")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 3), st.sampled_from([-1, 1])), min_size=1, max_size=4),
    st.floats(0.1, 3.0),
)
def test_pattern_probability_is_the_integral(rows, s):
    f = [round(v, 3) for v, _ in rows]
    pattern = np.array([label for _, label in rows])
    exact = sign_pattern_probability(f, pattern, scale=s)
    assert exact == pytest.approx(_by_quadrature(f, pattern, s), abs=1e-9)


@pytest.mark.claim("erm-svm-sgn")
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_forbidden_pattern_of_the_hinge_pair(epsilon):
    pair = hinge_pair(n_records=101, regularization=0.1)
    f, g = pair.values([1.0, -1.0])
    setting = {"epsilon": epsilon, "kappa": 1.0, "regularization": 0.1, "n_records": 101}
    for printed, exponent in ((True, epsilon), (False, epsilon / 2)):
        s = hinge_scale(as_printed=printed, **setting)
        shown = sign_pattern_probability(f, [1, -1], scale=s)
        assert shown == pytest.approx(1 - np.exp(-exponent), rel=1e-12)
        assert sign_pattern_probability(g, [1, -1], scale=s) == 0.0


@pytest.mark.claim("erm-svm-sgn")
@pytest.mark.parametrize(("gap", "ratio"), [(0.1, 15.94), (0.01, 157.58), (1e-4, 15739.0)])
def test_a_pattern_possible_on_both_sides_has_no_bounded_ratio(gap, ratio):
    pair = close_hinge_pair(gap=gap)
    s = hinge_scale(epsilon=0.5, kappa=1.0, regularization=0.6, n_records=2)
    p, q = (sign_pattern_probability(f, [1, -1], scale=s) for f in pair.values([1.0, -1.0]))
    assert p / q == pytest.approx(ratio, rel=1e-3)
    closed = np.expm1(-pair.slope / s) / np.expm1(-pair.other_slope / s)
    assert p / q == pytest.approx(closed, rel=1e-9)


def test_tail_patterns_keep_their_digits():
    exact = sign_pattern_probability([-40.0, -41.0], [1, -1], scale=1.0)
    assert exact == pytest.approx(0.5 * np.exp(-40) * (1 - np.exp(-1)), rel=1e-12)
    mirrored = sign_pattern_probability([41.0, 40.0], [1, -1], scale=1.0)
    assert mirrored == pytest.approx(exact, rel=1e-12)


def _problem(trial, n_points, shift, m=30):
    rng = _rng(trial, "data")
    X, y = rng.uniform(-1, 1, (m, 2)), rng.uniform(-0.9, 0.9, m)
    points = rng.uniform(-1, 1, (n_points, 2))
    return X, y, points, _refit(X, y, points, np.append(X[-1], y[-1])) + shift


def _refit(X, y, points, record):
    """Values of the fit in which a record stands in the last place."""
    X, y = np.vstack([X[:-1], record[:2]]), np.append(y[:-1], record[2])
    fit = fit_kernel(kernel(X, X), y, loss="squared", regularization=0.05)
    return kernel(points, X) @ fit.coefficients


def _attack(X, y, points, answers, **change):
    arguments = {"kernel": kernel, "regularization": 0.05, "label_bound": 1.0, **change}
    low, high = -np.ones(X.shape[1]), np.ones(X.shape[1])
    return reconstruct_record(
        answers, points, X[:-1], y[:-1], low=low, high=high, rng=_rng(99), **arguments
    )


@pytest.mark.claim("erm-beyond-reconstruction", "erm-lem1")
@pytest.mark.parametrize("shift", [0.0, -19.0, 300.0])
@pytest.mark.parametrize("n_points", [5, 8])
def test_five_evaluations_give_the_record_back(n_points, shift):
    X, y, points, answers = _problem(3, n_points, shift)
    found = _attack(X, y, points, answers)
    assert found.unique
    assert np.abs(found.solutions[0] - np.append(X[-1], y[-1])).max() < 1e-8
    assert found.residual <= 256 * np.finfo(float).eps * 300
    assert np.array_equal(found.best, found.solutions[0])


@pytest.mark.claim("erm-beyond-reconstruction")
def test_three_evaluations_leave_a_family_that_explains_the_answers():
    X, y, points, answers = _problem(3, 3, 5.0)
    found = _attack(X, y, points, answers)
    assert len(found.solutions) > 5
    for record in found.solutions:  # each of them refits to the same differences
        values = _refit(X, y, points, record)
        assert np.abs(np.diff(values) - np.diff(answers)).max() < 1e-11


@pytest.mark.claim("erm-beyond-reconstruction")
def test_no_record_explains_fresh_noise():
    X, y, points, exact = _problem(3, 8, 0.0)
    noisy = release_scalar_shift(exact, scale=1.0, rng=_rng(4, "noise"), as_printed=False)
    found = _attack(X, y, points, noisy)
    assert len(found.solutions) == 0
    assert not found.unique
    assert found.residual > 1e-3
    assert (np.abs(found.best) <= 1.0).all()  # the guess stays in the box
    # its residual, by a refit with the guessed record
    values = _refit(X, y, points, found.best)
    assert found.residual == pytest.approx(np.abs(np.diff(values - noisy)).max(), rel=1e-9)


@pytest.mark.claim("erm-beyond-reconstruction")
def test_labels_beyond_their_bound_are_not_admitted():
    X, y, points, answers = _problem(3, 8, 1.0)
    found = _attack(X, y, points, answers, label_bound=0.5 * abs(y[-1]))
    assert len(found.solutions) == 0


@pytest.mark.claim("erm-beyond-reconstruction")
def test_the_attack_works_for_another_kernel_and_one_dimension():
    def cubic(left, right):
        return (1.0 + left @ right.T) ** 3

    rng = _rng(5, "data")
    X, y, points = rng.uniform(-1, 1, (12, 1)), rng.uniform(-1, 1, 12), rng.uniform(-1, 1, (4, 1))
    fit = fit_kernel(cubic(X, X), y, loss="squared", regularization=0.1)
    answers = cubic(points, X) @ fit.coefficients - 7.0
    found = _attack(X, y, points, answers, kernel=cubic, regularization=0.1)
    errors = np.abs(found.solutions - np.append(X[-1], y[-1])).max(axis=1)
    assert errors.min() < 1e-7
