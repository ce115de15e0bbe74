"""The rule: public facts in, a configured estimator out, and what it says of itself."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from dplit.advice.engine import Recommendation
from dplit.advice.functions import recommend as recommend_answers
from dplit.advice.tables import _BY_EXPECTED, _KINDS, _LIMITS, ranked, recommend, strength
from dplit.mechanisms import gaussian_sigma
from dplit.tables.mechanisms import MECHANISMS

REGRESSION: dict[str, Any] = {"task": "regression", "n_columns": 9, "delta": 1e-6}
CLASSES: dict[str, Any] = {"task": "classification", "n_columns": 9, "delta": 1e-6}


def test_strength_is_records_over_the_noise_of_a_replaced_one() -> None:
    """Kills the noise of an added record, half as large, and columns without their root."""
    for epsilon in (0.3, 10.0):
        noise = gaussian_sigma(epsilon=epsilon, delta=1e-6, sensitivity=2.0)
        found = strength(5000, 16, epsilon, 1e-6)
        assert found == pytest.approx(5000 / noise / 4.0, rel=1e-12)
    assert strength(5000, 16, 0.5, 0.0) == 5000 * 0.5 / 32


@pytest.mark.parametrize(
    ("kind", "stated"),
    [("regression", REGRESSION), ("classes", CLASSES), ("many", {**CLASSES, "n_classes": 4})],
)
def test_the_limit_is_where_the_choice_changes(kind: str, stated: dict[str, Any]) -> None:
    """One record below and above it; kills another limit, a wrong side, and the wrong kind."""
    lines, strong = _LIMITS[kind]
    limit = strong * 3.0 * gaussian_sigma(epsilon=1.0, delta=1e-6, sensitivity=2.0)
    below, above = math.floor(limit), math.ceil(limit)
    assert ranked(n=below, epsilon=1.0, **stated) == [lines, "additive"]
    assert ranked(n=above, epsilon=1.0, **stated) == ["additive", lines]
    text = str(recommend(n=above, epsilon=1.0, **stated))
    assert f"above {strong:g}" in " ".join(text.split())
    for n in (below, above, 1000 * above):  # kills "is 7.9, below 7.9", and 8e+03 for 7,903
        told = " ".join(str(recommend(n=n, epsilon=1.0, **stated)).split())
        said = re.search(r"is ([\d.,]+), (below|above) ([\d.]+)", told)
        assert said
        assert float(said[3]) == strong
        shown = float(said[1].replace(",", ""))
        assert (shown < strong) == (said[2] == "below") == (n == below)
        assert shown == pytest.approx(strength(n, 9, 1.0, 1e-6), rel=0.005)
    linear = recommend(n=below, epsilon=1.0, **stated).estimator
    shaped = recommend(n=2 * above, epsilon=1.0, **stated).estimator
    known = {m.name: m.estimator for m in MECHANISMS if m.task == stated["task"]}
    assert linear is None or type(linear) is known[lines]  # None: too little to gain there
    assert "PrivateAdditive" in type(shaped).__name__


@pytest.mark.parametrize("stated", [REGRESSION, CLASSES, {**CLASSES, "n_classes": 3}])
def test_what_is_recommended_has_the_budget_and_a_name_of_the_comparison(
    stated: dict[str, Any],
) -> None:
    for n in (1000, 10_000, 10**6):
        for epsilon in (0.3, 1.0, 10.0):
            advice = recommend(n=n, epsilon=epsilon, **stated)
            assert isinstance(advice, Recommendation)
            assert (advice.estimator.epsilon, advice.estimator.delta) == (epsilon, 1e-6)
            name = ranked(n=n, epsilon=epsilon, **stated)[0]
            known = {m.name: m for m in MECHANISMS if m.task == stated["task"]}
            assert advice.name == name
            assert type(advice.estimator) is known[name].estimator
            assert known[name].many or "n_classes" not in stated


def test_what_is_public_of_a_table_must_be_set() -> None:
    """Kills a box or bounds that are guessed: a fit without them is refused."""
    X = np.linspace(-1, 1, 3000).reshape(-1, 1)
    model = recommend(task="regression", n=3000, n_columns=1, epsilon=1.0, delta=1e-6).estimator
    with pytest.raises(ValueError, match="must be given"):
        model.fit(X, X[:, 0])
    model.set_params(bounds=(-1.0, 1.0), random_state=0)
    with pytest.raises(ValueError, match="box must be given"):
        model.fit(X, X[:, 0])
    model.set_params(box=(-1.0, 1.0)).fit(X, X[:, 0])
    assert abs(model.predict([[0.5]])[0] - 0.5) < 0.2


def test_a_pure_budget_is_objective_perturbation() -> None:
    """Gaussian noise has no pure guarantee; more than two classes have none here."""
    advice = recommend(task="classification", n=5000, n_columns=4, epsilon=1.0, delta=0.0)
    assert type(advice.estimator).__name__ == "ObjectivePerturbationClassifier"
    assert advice.name == "objective_perturbation"
    assert advice.estimator.delta == 0.0
    for wrong in ({"task": "regression"}, {"task": "classification", "n_classes": 3}):
        with pytest.raises(ValueError, match="delta must be positive but for two classes"):
            recommend(n=5000, n_columns=4, epsilon=1.0, delta=0.0, **wrong)


def test_nothing_is_recommended_where_nothing_is_learnt() -> None:
    advice = recommend(n=60, epsilon=0.1, **REGRESSION)
    assert advice.estimator is advice.name is None
    assert advice.expected.mean == advice.expected.trivial == 1.0
    assert "n, epsilon, strength beyond what was tried" in advice.reason


def test_more_records_or_budget_are_expected_to_err_less() -> None:
    for stated in (REGRESSION, CLASSES, {**CLASSES, "n_classes": 5}):
        errors = [recommend(n=n, epsilon=1.0, **stated).expected for n in (2000, 4000, 40_000)]
        assert errors[0].mean > errors[1].mean > errors[2].mean
        assert all(e.best < e.mean < e.trivial for e in errors)
        larger = recommend(n=2000, epsilon=3.0, **stated).expected
        assert larger.mean < errors[0].mean


@pytest.mark.parametrize("stated", [CLASSES, {**CLASSES, "n_classes": 5}])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 10.0])
def test_expectations_follow_the_stated_balance(stated: dict[str, Any], epsilon: float) -> None:
    """By hand from what was learnt; at the balance of the rule's own tables nothing changes.

    Kills a gain that is more than a constant errs, and a strength of all records.
    """
    kind = _KINDS["classes" if "n_classes" not in stated else "many"]
    plain = recommend(n=4000, epsilon=epsilon, **stated)
    same = recommend(n=4000, epsilon=epsilon, majority=1.0 - kind.trivial, **stated)
    assert same.name == plain.name
    assert same.expected[1:] == pytest.approx(plain.expected[1:], rel=1e-12)
    errors = []
    for majority in (0.55, 0.8, 0.95, 0.999):
        advice = recommend(n=4000, epsilon=epsilon, majority=majority, **stated)
        constant = 1.0 - majority
        s = constant / kind.trivial
        reach = s * strength(4000, 9, epsilon, 1e-6)
        share = s / (1.0 + math.exp(-kind.a - kind.b * math.log(reach)))
        told = advice.expected
        assert told.trivial == pytest.approx(constant)
        assert told.best == pytest.approx(s * kind.best)
        assert (advice.name is None) == (share < 0.05)
        if share < 0.05:
            assert told.mean == told.trivial
            assert "scores may rank records all the same" in advice.reason
        else:
            assert told.mean == pytest.approx(constant - share * (constant - told.best))
        assert 0.0 < told.best < told.mean <= told.trivial
        errors.append(told.mean)
    assert errors == sorted(errors, reverse=True)
    assert advice.name is None  # of a class of one in a thousand
    assert re.search(r"; (\w+, )*majority(, strength)? beyond what was tried", advice.reason)
    assert "majority" not in plain.tried


def test_without_a_balance_no_word_changes() -> None:
    """Kills a default that is a balance."""
    advice = recommend(n=12_600, n_columns=11, epsilon=0.3, delta=1e-6, task="classification")
    assert (
        str(advice.expected)
        == "share of wrong classes 0.22 +- 0.1 (a constant 0.48, the best 0.16)"
    )


@pytest.mark.parametrize("expected", _BY_EXPECTED)
def test_what_is_expected_of_columns_moves_both_limits(expected: str) -> None:
    """One record below and above each; kills the limits of another answer, and a wrong side."""
    told = _BY_EXPECTED[expected]
    stated = {**REGRESSION, "expected": expected, "epsilon": 1.0}
    noise = 3.0 * gaussian_sigma(epsilon=1.0, delta=1e-6, sensitivity=2.0)
    below, above = (recommend(n=f(told.nothing * noise), **stated) for f in (math.floor, math.ceil))
    assert below.name is below.estimator is None
    assert below.expected.mean == below.expected.trivial == 1.0
    assert f"below {told.nothing:g}: a constant did best" in below.reason
    assert above.name == "noisy_gradient"
    few, many = (f(told.shapes * noise) for f in (math.floor, math.ceil))
    assert recommend(n=few, **stated).name == "noisy_gradient"
    advice = recommend(n=many, **stated)
    assert advice.name == "additive"
    assert ranked(n=many, **stated)[0] == "additive" != ranked(n=few, **stated)[0]
    share = 1.0 / (
        1.0 + math.exp(-told.curve.a - told.curve.b * math.log(strength(many, 9, 1.0, 1e-6)))
    )
    assert advice.expected.mean == pytest.approx(1.0 - share * (1.0 - told.curve.best))
    assert advice.tried["expected"] == ("little", "some", "much")


def test_the_more_columns_tell_the_sooner_shapes_are_learnt() -> None:
    """Kills answers in another order."""
    little, some, much = (_BY_EXPECTED[name] for name in ("little", "some", "much"))
    assert little.nothing > some.nothing >= much.nothing
    assert little.shapes > some.shapes > much.shapes
    assert little.curve.best > some.curve.best > much.curve.best


def test_a_few_answers_are_the_chapters_matter() -> None:
    stated = {"n": 2000, "epsilon": 1.0, "delta": 1e-6, "n_questions": 1}
    ours = recommend(task="regression", n_columns=5, **stated)
    theirs = recommend_answers(d=5, loss="squared", **stated)
    assert str(ours) == str(theirs)
    assert ours.name is None
    with pytest.raises(ValueError, match="n_questions must be None for more than two classes"):
        recommend(task="classification", n_classes=3, n_columns=5, **stated)


WRONG: dict[str, dict[str, Any]] = {
    "task": {"task": "clustering"},
    "n": {"n": 0},
    "n_columns": {"n_columns": 0},
    "n_classes": {"task": "classification", "n_classes": 1},
    "n_classes must be None": {"n_classes": 2},
    "epsilon": {"epsilon": 0.0},
    "delta": {"delta": 0.5},
    "majority must be None for regression": {"majority": 0.9},
    "majority must be None with n_questions": {
        "task": "classification",
        "majority": 0.9,
        "n_questions": 1,
    },
    "majority must be at least 1 / n_classes, 0.25": {
        "task": "classification",
        "n_classes": 4,
        "majority": 0.2,
    },
    "majority must be in": {"task": "classification", "majority": 1.0},
    "expected must be": {"expected": "plenty"},
    "expected must be None for classification": {"task": "classification", "expected": "much"},
    "expected must be None with n_questions": {"expected": "much", "n_questions": 1},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_facts_are_refused_with_their_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        recommend(**{**REGRESSION, "n": 1000, "epsilon": 1.0, **WRONG[name]})
