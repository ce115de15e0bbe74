"""What every learner does with records outside the ball, other labels and margins out of reach."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dplit._numerics.clipping import clip_rows
from dplit.margins._checks import check_geometry, clipped_records
from dplit.margins.feature_maps import _direct_features
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from tests.margins.planned import (
    accelerated,
    boosted,
    full_batch,
    perturbed,
    phased,
    projected,
    weights,
)

BALL = {"radius": 1.0, "data_norm": 1.0}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def _projected(X, y, **told):
    return projected(
        X, y, n_components=2, n_steps=5, public_rng=stream(0, "records", "public"), **told
    ).coef


def _chosen_margin(X, y, *, margin, **told):
    return weights(X, y, margin=[margin, margin / 2], n_steps=5, inflation=1.0, choice=0.2, **told)


LEARNERS = {
    "full batch": partial(full_batch, mu=1.0, n_steps=5, **BALL),
    "accelerated": partial(accelerated, mu=1.0, n_steps=5, **BALL),
    "phased": partial(phased, mu=1.0, replacement=True, **BALL),
    "boosted": partial(boosted, **BALL, **BUDGET),
    "output perturbation": partial(perturbed, data_norm=1.0, penalty=1.0, mu=1.0),
    "weights": partial(weights, n_steps=5, inflation=1.0, **BALL, **BUDGET),
    "projected": partial(_projected, **BALL, **BUDGET),
    "chosen margin": partial(_chosen_margin, **BALL, **BUDGET),
}
REACH = [name for name in LEARNERS if name != "output perturbation"]  # which knows no ball


def _learnt(name, X, y, margin):
    found = LEARNERS[name](X, y, margin=margin, rng=stream(0, "records", "noise"))
    return getattr(found, "weights", found)


def _data(m=64):
    return margin_data(m, 4, margin=0.4, rng=stream(0, "records", "data"))


@pytest.mark.parametrize("name", LEARNERS)
def test_records_outside_the_ball_count_as_their_clipped_copies(name):
    """Lengths up to 1e160, whose squares overflow; kills a learner that trusts its records."""
    X, y = _data()
    wild = X * np.array([1.0, 3.0, 1e8, 1e160])[np.arange(64) % 4, None]
    short = clip_rows(wild, 1.0)
    assert np.linalg.norm(short, axis=1).max() < 1 + 1e-12
    ours, expected = _learnt(name, wild, y, 0.9), _learnt(name, short, y, 0.9)
    np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("labels", [(0, 1), (-1, 0, 1), (1, 2)])
def test_labels_other_than_plus_and_minus_one_are_refused(name, labels):
    X, _ = _data()
    with pytest.raises(ValueError, match=r"y must hold the labels -1 and 1 only$"):
        _learnt(name, X, np.resize(labels, 64), 0.5)


@pytest.mark.parametrize("name", REACH)
@pytest.mark.parametrize("margin", [0.0, -0.5, 1.001])
def test_margins_that_no_predictor_reaches_are_refused(name, margin):
    X, y = _data()
    with pytest.raises(ValueError, match=r"margins? must be (positive|at most|in \()"):
        _learnt(name, X, y, margin)


@pytest.mark.parametrize("name", LEARNERS)
def test_records_that_are_not_finite_are_refused(name):
    X, y = _data()
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match="X must be finite"):
        _learnt(name, X, y, 0.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", LEARNERS)
def test_huge_and_tiny_records_give_finite_weights_without_a_word(name):
    """One record, or all, at the ends of the floats; kills squares that overflow."""
    X, y = _data()
    X /= np.abs(X).max(axis=1, keepdims=True)
    for scale in (1e308, 1e160, 1e-200, 5e-324, 0.0):
        for few in (X[:1], X):
            far = np.vstack([few * scale, X[len(few) :]])
            assert np.isfinite(_learnt(name, far, y, 0.5)).all()


def test_features_of_any_record_lie_on_the_sphere():
    """A kernel learner needs no bound: a record of length 1e160 has features of length 1."""
    X, y = _data()
    X[:3] *= 1e160
    features = _direct_features(4, 30, gamma=1.0, rng=stream(0, "records", "public"))
    np.testing.assert_allclose(np.linalg.norm(features.transform(X), axis=1), 1.0, atol=1e-5)
    assert np.isfinite(_learnt("weights", features.transform(X), y, 0.5)).all()


def test_the_largest_margin_is_that_of_the_ball():
    assert check_geometry(6.0, 2.0, 3.0) == (6.0, 2.0, 3.0)
    with pytest.raises(ValueError, match=r"margin must be at most radius \* data_norm = 6"):
        check_geometry(6.001, 2.0, 3.0)


def test_records_inside_the_ball_are_left_as_they_are():
    X = np.array([[0.6, 0.8 - 1e-14], [0.1, 0.0]])
    rows, labels = clipped_records(X, [1, -1], 1.0)
    np.testing.assert_array_equal(rows, X)
    assert labels.tolist() == [1.0, -1.0]
