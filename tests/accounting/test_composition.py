"""Neighbours, finite mechanisms by enumeration, and composition."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit.papers.composition import (
    compose_budgets,
    geometric_count,
    group_guarantee,
    joint,
    leaky,
    parallel,
    worst_delta,
    worst_epsilon,
)
from dplit.papers.definition import _Database, law_delta, law_epsilon, privacy_loss
from dplit.papers.neighbours import are_neighbours, by_value, databases, removals, replacements
from dplit.streams import stream

SETS = databases("ab", max_size=3)
laws = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(
    lambda values: np.array(values) / sum(values)
)


def _by_permutations(x: _Database, y: _Database, neighboring: str) -> bool:
    """Definitions 9 and 10 literally: permute both, compare all but the last record."""
    if neighboring == "add_remove":
        long, short = (x, y) if len(x) > len(y) else (y, x)
        if len(long) != len(short) + 1:
            return False
        return any(p[:-1] == short for p in itertools.permutations(long))
    if len(x) != len(y):
        return False
    pairs = itertools.product(itertools.permutations(x), itertools.permutations(y))
    return any(p[:-1] == q[:-1] for p, q in pairs)


@pytest.mark.claim("sketch-def9")
def test_unbounded_neighbours_by_permutations() -> None:
    for x, y in itertools.product(databases("abc", max_size=3, ordered=True), repeat=2):
        expected = _by_permutations(x, y, "add_remove")
        assert are_neighbours(x, y, neighboring="add_remove") == expected


@pytest.mark.claim("sketch-def10")
def test_bounded_neighbours_by_permutations() -> None:
    for x, y in itertools.product(databases("abc", max_size=3, ordered=True), repeat=2):
        expected = _by_permutations(x, y, "replace_one")
        assert are_neighbours(x, y, neighboring="replace_one") == expected


def test_listed_pairs_are_the_relations() -> None:
    sets = databases("abc", max_size=3)
    removed = {
        (x, y)
        for x in sets
        for y in sets
        if len(x) > len(y) and are_neighbours(x, y, neighboring="add_remove")
    }
    assert removals(sets) == removed
    replaced = {
        (x, y) for x in sets for y in sets if x and are_neighbours(x, y, neighboring="replace_one")
    }
    assert replacements(sets, "abc") == replaced
    assert by_value("ab")(("b", "a", "b")) == [("a",), ("b", "b")]


def test_neighbours_in_place() -> None:
    in_place = {"neighboring": "replace_in_place"}
    assert are_neighbours(("a", "b"), ("a", "c"), **in_place)  # type: ignore[arg-type]
    assert not are_neighbours(("a", "b"), ("b", "a"), **in_place)  # type: ignore[arg-type]
    assert not are_neighbours(("a",), ("a", "b"), **in_place)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neighboring must be one of"):
        are_neighbours((), (), neighboring="near")  # type: ignore[arg-type]


def test_databases_are_listed_once() -> None:
    assert len(databases("abc", max_size=3)) == 1 + 3 + 6 + 10
    assert len(databases("abc", max_size=3, ordered=True)) == 1 + 3 + 9 + 27
    assert len(set(databases("ab", max_size=2))) == 6


@pytest.mark.claim("sketch-def7")
@settings(max_examples=50, deadline=None)
@given(p=laws, q=laws, epsilon=st.floats(0.0, 2.0))
def test_epsilon_and_delta_by_all_events(p: np.ndarray, q: np.ndarray, epsilon: float) -> None:
    """All 16 events of 4 outcomes."""
    events = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    P, Q = events @ p, events @ q
    assert law_delta(p, q, epsilon=epsilon) == pytest.approx(
        max(0.0, float(np.max(P - np.exp(epsilon) * Q))), abs=1e-12
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        assert law_epsilon(p, q) == pytest.approx(float(np.nanmax(np.log(P / Q))), abs=1e-12)


@pytest.mark.claim("sketch-def8")
def test_privacy_loss_is_the_log_ratio() -> None:
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.6, 0.0, 0.3])
    loss = privacy_loss(p, q)
    np.testing.assert_allclose(loss[:2], [np.log(5), -np.log(2)], rtol=1e-12)
    assert loss[2] == np.inf
    assert loss[3] == -np.inf
    assert np.isnan(privacy_loss([0.0], [0.0])[0])


@pytest.mark.claim("sketch-def7")
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_geometric_count_spends_its_budget_exactly(epsilon: float) -> None:
    count = geometric_count(epsilon, size=3)
    assert worst_epsilon(count, SETS, neighboring="add_remove") == pytest.approx(epsilon)
    assert worst_epsilon(count, SETS, neighboring="replace_one") == pytest.approx(0.0, abs=1e-12)
    of_a = geometric_count(epsilon, size=3, selected=lambda r: r == "a")
    assert worst_epsilon(of_a, SETS, neighboring="replace_one") == pytest.approx(epsilon)
    for data in SETS:
        assert count(data).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.claim("sketch-lem1")
def test_sequential_composition_is_attained() -> None:
    """Budgets 0.3 and 0.5 on one data set: enumeration gives 0.8; kills any other rule."""
    both = joint([geometric_count(0.3, size=3), geometric_count(0.5, size=3)])
    total = compose_budgets([(0.3, 0.0), (0.5, 0.0)])[0]
    assert total == pytest.approx(0.8)
    assert worst_epsilon(both, SETS, neighboring="add_remove") == pytest.approx(total, rel=1e-12)


@pytest.mark.claim("sketch-lem1")
def test_shared_randomness_breaks_composition() -> None:
    """A bit hidden by a fair coin, and the coin: each alone tells nothing, together everything."""

    def together(data: _Database) -> np.ndarray:
        law = np.zeros((2, 2))
        for coin in (0, 1):
            law[len(data) ^ coin, coin] += 0.5
        return law.ravel()

    def marginal(axis: int):  # type: ignore[no-untyped-def]
        return lambda data: together(data).reshape(2, 2).sum(axis=axis)

    sets = databases("a", max_size=1)
    for axis in (0, 1):
        assert worst_epsilon(marginal(axis), sets, neighboring="add_remove") == 0.0
    assert worst_epsilon(together, sets, neighboring="add_remove") == np.inf


_by_value = by_value("ab")


@pytest.mark.claim("sketch-lem2")
def test_parallel_composition_by_value() -> None:
    """Unbounded: epsilon. Bounded: 2 epsilon, since one record can move between the parts."""
    split = parallel([geometric_count(0.4, size=3)] * 2, _by_value)
    assert worst_epsilon(split, SETS, neighboring="add_remove") == pytest.approx(0.4)
    assert worst_epsilon(split, SETS, neighboring="replace_one") == pytest.approx(0.8)


@pytest.mark.claim("sketch-lem2")
def test_bounded_mechanisms_compose_when_places_are_fixed() -> None:
    sets = databases("ab", max_size=3, ordered=True)
    of_a = geometric_count(0.4, size=3, selected=lambda r: r == "a")
    split = parallel([of_a, of_a], lambda data: [data[:1], data[1:]])
    assert worst_epsilon(split, sets, neighboring="replace_in_place") == pytest.approx(0.4)


def test_parallel_law_is_the_product() -> None:
    split = parallel([geometric_count(0.4, size=2), geometric_count(0.9, size=1)], _by_value)
    first = geometric_count(0.4, size=2)(("a",))
    second = geometric_count(0.9, size=1)(("b",))
    np.testing.assert_allclose(split(("a", "b")), np.outer(first, second).ravel(), rtol=1e-12)
    with pytest.raises(ValueError, match="mechanisms must not be empty"):
        parallel([], _by_value)


@pytest.mark.claim("sketch-lem3")
def test_approximate_composition() -> None:
    """Exact delta at the sum of epsilons is 1 - (1 - d1)(1 - d2): 0.995 of the bound and below."""
    first = leaky(geometric_count(0.3, size=3), SETS, delta=0.01)
    second = leaky(geometric_count(0.5, size=3), SETS, delta=0.01)
    epsilon, delta = compose_budgets([(0.3, 0.01), (0.5, 0.01)])
    assert delta == pytest.approx(0.02)
    both = joint([first, second])
    exact = worst_delta(both, SETS, epsilon=epsilon, neighboring="add_remove")
    assert exact == pytest.approx(1 - 0.99**2, rel=1e-9)
    assert 0.99 * delta < exact <= delta
    alone = worst_delta(first, SETS, epsilon=0.3, neighboring="add_remove")
    assert alone == pytest.approx(0.01, rel=1e-9)


@pytest.mark.claim("sketch-def10")
def test_group_guarantee_against_enumeration() -> None:
    """Replacing is removing and adding: (2 eps, (1 + e^eps) delta), attained in epsilon."""
    of_a = geometric_count(0.4, size=3, selected=lambda r: r == "a")
    minus_b = parallel([of_a, geometric_count(0.4, size=3, selected=lambda r: r == "b")], _by_value)
    assert worst_epsilon(minus_b, SETS, neighboring="add_remove") == pytest.approx(0.4)
    twice, failure = group_guarantee(epsilon=0.4, delta=0.01)
    assert worst_epsilon(minus_b, SETS, neighboring="replace_one") == pytest.approx(twice)
    assert failure == pytest.approx(0.01 * (1 + np.exp(0.4)))
    leaking = leaky(minus_b, SETS, delta=0.01)
    exact = worst_delta(leaking, SETS, epsilon=twice, neighboring="replace_one")
    assert exact <= failure + 1e-12
    assert group_guarantee(epsilon=0.4, delta=0.01, size=1) == (0.4, 0.01)
    assert group_guarantee(epsilon=0.4, delta=1.0, size=1) == (0.4, 1.0)
    three = group_guarantee(epsilon=0.4, delta=0.01, size=3)
    assert three[1] == pytest.approx(0.01 * np.expm1(1.2) / np.expm1(0.4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: law_epsilon([0.5, 0.6], [0.5, 0.5]), "first must be nonnegative with sum 1"),
        (lambda: law_delta([0.5, 0.5], [1.5, -0.5], epsilon=1), "second must be nonnegative"),
        (lambda: law_delta([1.0], [1.0], epsilon=-1), "epsilon must be nonnegative"),
        (lambda: privacy_loss([1.0], [0.5, 0.5]), "q must have shape"),
        (lambda: privacy_loss([-1.0], [0.5]), "got a negative density"),
        (lambda: compose_budgets([(1.0, 2.0)]), "delta must be in"),
        (lambda: group_guarantee(epsilon=1.0, delta=1.5, size=1), "delta must be in"),
        (lambda: group_guarantee(epsilon=1.0, delta=-0.1, size=1), "delta must be in"),
        (lambda: group_guarantee(epsilon=1.0, size=0), "size must be at least 1"),
        (lambda: geometric_count(0.0, size=1), "epsilon must be positive"),
        (lambda: leaky(geometric_count(1.0, size=1), SETS, delta=1.0), "delta must be in"),
        (lambda: databases("a", max_size=-1), "max_size must be at least 0"),
    ],
)
def test_bad_input(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_stated_is_rounded_up_and_what_is_spent_down() -> None:
    """2,000 budgets against rationals; without directed rounding about half are a bit too small."""
    rng = stream(0, "test-directed", "data")
    tight, small = 0, 1e-7
    for _ in range(2000):
        budgets = [
            (float(e), float(d)) for e, d in rng.uniform(0, 0.3, (int(rng.integers(1, 6)), 2))
        ]
        for stated, exact in zip(compose_budgets(budgets), zip(*budgets, strict=True), strict=True):
            total = sum(map(Fraction, exact), Fraction(0))
            assert Fraction(stated) >= total
            tight += stated == float(total)
        epsilon, size = float(rng.exponential(0.3)) + 1e-9, int(rng.integers(1, 30))
        together, delta = group_guarantee(epsilon=epsilon, delta=small, size=size)
        assert Fraction(together) >= size * Fraction(epsilon)
        with localcontext(prec=80):
            growth = sum(((Decimal(epsilon) * k).exp() for k in range(size)), Decimal(0))
            exact_delta = Decimal(small) * growth
        assert Decimal(delta) >= exact_delta
        assert delta <= float(exact_delta) * (1 + 1e-15)
    assert tight > 1500  # the nearest float above, no margin


def test_a_group_of_many_and_of_tiny_steps() -> None:
    assert group_guarantee(epsilon=1e-300, delta=0.25, size=2**20)[1] == pytest.approx(2.0**18)
    assert group_guarantee(epsilon=1.0, delta=0.5, size=2**40) == (2.0**40, math.inf)
    assert compose_budgets([]) == (0.0, 0.0)
