"""Definitions on finite channels, against enumeration, optimisation and known capacities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import entropy

from dplit.papers.projection.finite_channels import (
    capacity_bracket,
    channel_delta,
    channel_information,
    conditional_information,
    database_leakage,
    entry_distance,
    symmetric_channel,
)
from dplit.streams import stream


def _mechanism(seed: int, inputs: tuple[int, ...] = (2, 3), outputs: int = 4):
    rng = stream(seed, "test-finite", "data")
    return rng.dirichlet(np.full(outputs, 0.5), size=inputs)


@pytest.mark.claim("proj-def1")
@given(st.integers(0, 10_000))
def test_channel_information_is_entropy_lost(seed):
    W = _mechanism(seed, (3,))
    p = stream(seed, "test-prior", "data").dirichlet(np.ones(3))
    lost = entropy(p @ W, base=2) - p @ entropy(W, base=2, axis=1)
    assert channel_information(p, W) == pytest.approx(lost, abs=1e-12)


@pytest.mark.claim("proj-def1")
def test_conditional_information_by_loops():
    W = _mechanism(1, (2, 3, 2))
    joint = stream(1, "test-joint", "data").dirichlet(np.ones(12)).reshape(2, 3, 2)
    for axis in range(3):
        moved, law = np.moveaxis(W, axis, 2), np.moveaxis(joint, axis, 2)
        total = 0.0
        for rest in np.ndindex(*law.shape[:2]):
            mass = law[rest].sum()
            total += mass * channel_information(law[rest] / mass, moved[rest])
        value = conditional_information(joint, W, entry=axis)
        assert value == pytest.approx(total, rel=1e-10)


@pytest.mark.claim("proj-def1")
@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_database_leakage_is_the_supremum_over_joint_priors(seed):
    W = _mechanism(seed, (2, 2), 3)
    bracket = database_leakage(W, tolerance=1e-7)
    best = 0.0
    for entry, start in itertools.product((0, 1), range(3)):
        x0 = 3 * stream(seed, "test-start", "noise", start).standard_normal(4)

        def negative(v, entry=entry):
            return -conditional_information(softmax(v).reshape(2, 2), W, entry=entry)

        found = minimize(negative, x0, method="Nelder-Mead", options={"maxiter": 2000})
        best = max(best, -found.fun)
    assert best <= bracket.upper + 1e-9
    assert best == pytest.approx(bracket.upper, abs=2e-3)


@pytest.mark.claim("proj-def1")
def test_the_definition_sees_what_a_uniform_prior_hides():
    exclusive_or = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    alone = exclusive_or.mean(axis=1)  # what it says about entry 0 if nothing else is known
    assert channel_information([0.5, 0.5], alone) == pytest.approx(0.0, abs=1e-15)
    assert database_leakage(exclusive_or).lower == pytest.approx(1.0, abs=1e-9)
    assert conditional_information(np.eye(2) / 2, exclusive_or, entry=0) == pytest.approx(0.0)


@pytest.mark.claim("proj-def1", "proj-prop1")
@pytest.mark.parametrize("p", [0.0, 0.2, 0.7, 1.0])
def test_capacities_that_are_known(p):
    erased = np.array([[p, 0.0, 1.0 - p], [0.0, p, 1.0 - p]])
    assert capacity_bracket(erased).upper == pytest.approx(p, abs=1e-9)
    symmetric = capacity_bracket(symmetric_channel(p))
    assert symmetric.upper == pytest.approx(1 - entropy([p, 1 - p], base=2), abs=1e-9)
    z_channel = np.array([[1.0, 0.0], [p, 1 - p]])
    closed = 0.0 if p == 1 else math.log2(1 + (1 - p) * p ** (p / (1 - p)))
    bracket = capacity_bracket(z_channel, tolerance=1e-7)
    assert bracket.lower - 1e-9 <= closed <= bracket.upper + 1e-9


@given(st.integers(0, 10_000))
def test_capacity_bounds_enclose_every_prior(seed):
    W = _mechanism(seed, (4,), 3)
    bracket = capacity_bracket(W, tolerance=1e-4)
    prior = stream(seed, "test-any", "data").dirichlet(np.ones(4))
    assert channel_information(prior, W) <= bracket.upper + 1e-12
    assert 0 <= bracket.upper - bracket.lower <= 1e-4
    early = capacity_bracket(W, tolerance=1e-12, max_steps=2)
    assert early.lower <= bracket.upper + 1e-12
    assert early.upper >= bracket.lower - 1e-12


@pytest.mark.claim("proj-def3", "proj-prop1")
@given(st.integers(0, 10_000), st.floats(0, 3))
def test_channel_delta_by_enumeration_of_all_events(seed, epsilon):
    W = _mechanism(seed, (3,), 4)
    worst = 0.0
    for events in itertools.product([0, 1], repeat=4):
        inside = W @ events
        worst = max(worst, float(np.max(inside[:, None] - np.exp(epsilon) * inside[None])))
    assert channel_delta(W, epsilon=epsilon) == pytest.approx(worst, abs=1e-12)


@pytest.mark.claim("proj-def2")
@given(st.integers(0, 10_000), st.integers(0, 12))
def test_entry_distance_counts_changed_entries(seed, changes):
    rng = stream(seed, "test-distance", "data")
    X = rng.uniform(-1, 1, (4, 3))
    Y = X.ravel().copy()
    Y[rng.permutation(12)[:changes]] += 2.0
    assert entry_distance(X, Y.reshape(4, 3)) == changes
    assert entry_distance(X, X) == 0
