"""From a file to a card in one call: what it asks, what it checks first, what persons get."""

from __future__ import annotations

import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dplit import Budget, choose, explore, load_model, recommend, release
from dplit.accounting import gdp_budget, group_budget
from dplit.accounting.budget import BudgetError
from dplit.audit import ledger
from dplit.mechanisms import gaussian_delta
from dplit.tables._chunks import TableError
from dplit.tables._contributions import Contributions
from dplit.tables.facts import header_of, load_problem, state_facts
from dplit.tables.mechanisms import MECHANISMS
from dplit.tables.releasing import release_problem

SCHEMA = resources.files("dplit.tables").joinpath("card.schema.json").read_text("utf-8")

_RNG = np.random.default_rng(0)
N = 3000
TABLE: dict[str, Any] = {"age": _RNG.uniform(20, 80, N), "ward": _RNG.choice(["a", "b"], N)}
TABLE["days"] = np.abs(TABLE["age"] - 50) / 3 + (TABLE["ward"] == "b") + _RNG.normal(0, 1, N)
FACTS: dict[str, Any] = {
    "target": "days",
    "bounds": {"age": (20, 80), "days": (0, 15)},
    "categories": {"ward": ("a", "b")},
}
ASKED: dict[str, Any] = {**FACTS, "epsilon": 1.0, "delta": 1e-6}


def test_one_call_is_its_steps(tmp_path: Path) -> None:
    """A file, its statement and the rule's mechanism; kills another budget, settings or reader."""
    file = tmp_path / "patients.csv"
    rows = zip(*TABLE.values(), strict=True)
    file.write_text("age,ward,days\n" + "".join(f"{a},{w},{d}\n" for a, w, d in rows))
    model = release(file, **ASKED, folder=tmp_path / "one", random_state=3)
    advice = recommend(task="regression", n=N, n_columns=2, epsilon=1.0, delta=1e-6)
    facts = state_facts(header_of(file), task="regression", **FACTS)
    by_hand = release_problem(
        load_problem(file, facts),
        facts,
        str(advice.name),
        tmp_path / "steps",
        epsilon=1.0,
        delta=1e-6,
        random_state=3,
    )
    assert model.card["mechanism"] == by_hand.card["mechanism"] == advice.name == "additive"
    steps = load_model(tmp_path / "steps")
    assert np.array_equal(model.predict_file(file), steps.predict(TABLE))
    told = model.card["expected"]
    assert told == f"on the tables that the rule was learnt on: {advice.expected}. {advice.reason}"
    assert model.card["number of records, which is public"] == N
    assert model.differs_from_releases() == ()
    assert "patients" not in (tmp_path / "one" / "card.json").read_text()


def test_what_is_expected_of_columns_is_told_to_the_rule() -> None:
    """By release, choose and explore alike: at this strength lines where some is expected, shapes
    where nothing is said. Kills an argument that is taken and not handed on.
    """
    few = {name: column[:200] for name, column in TABLE.items()}
    stated: dict[str, Any] = {"task": "regression", "n": 200, "n_columns": 2, "delta": 1e-6}
    one, other = (
        recommend(epsilon=1.0, **stated, **more).name for more in ({}, {"expected": "some"})
    )
    assert (one, other) == ("additive", "noisy_gradient")
    assert release(few, **ASKED, expected="some").card["mechanism"] == other
    assert release(few, **ASKED).card["mechanism"] == one
    asked: dict[str, Any] = {**FACTS, "n_splits": 1, "epsilons": (1.0,)}
    found = explore(few, **asked, expected="some")
    assert found.recommended == (
        recommend(epsilon=1.0, **stated | {"n": 140}, expected="some").name,
    )
    assert "expected='some'" in str(found)
    with pytest.raises(ValueError, match="expected must be"):
        choose(few, **ASKED, expected="lots")


def test_the_model_is_that_of_the_folder(tmp_path: Path) -> None:
    """Kills a model that keeps more of a fit than was written; without a folder none is."""
    model = release(TABLE, **ASKED, folder=tmp_path / "r", mechanism="sufficient_statistics")
    assert vars(model.estimator).keys() == vars(load_model(tmp_path / "r").estimator).keys()
    assert not hasattr(model.estimator, "sensitivity_")
    assert release(TABLE, **ASKED, settings={"n_hats": 4}).card["mechanism"] == "additive"
    assert sorted(tmp_path.iterdir()) == [tmp_path / "r"]


def test_what_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(TableError) as told:
        release(TABLE, target="days", epsilon=1.0, delta=1e-6, bounds={"age": (0, 9)})
    assert all(part in str(told.value) for part in ("days, which", "'ward': (", "bounds={"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"delta": 0.5}, "delta must be below 1/2"),
        ({"mechanism": "margin"}, "mechanism must be one of"),
        ({"mechanism": "additive", "settings": {"n_hat": 3}}, "settings of additive must be among"),
        ({"neighboring": "add_remove"}, "hides the number that the rule reads"),
        ({"target": None, "n_clusters": 2}, "has no rule"),
        ({"delta": 0.0}, "mechanism must be stated where delta is 0"),
        ({"epsilon": 0.001}, "nothing is worth a release here"),
        ({"budget": "none.json"}, "must be a budget that exists"),
        ({"rows_each": 2}, "rows_each needs a group"),
        ({"group": "ward"}, "ward is the group, and stated to be something else too"),
        ({"group": "who"}, "who is no column of the table"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_drawn(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Kills a draw before a check, and a folder that a refusal leaves behind."""
    with ledger() as book, pytest.raises((TableError, ValueError), match=message):
        release(TABLE, **(ASKED | changes), folder=tmp_path / "r")
    assert len(book) == 0
    assert not (tmp_path / "r").exists()


def test_texts_of_the_card_are_texts() -> None:
    for name in ("table", "stated_by", "intended_use"):
        with pytest.raises(TypeError, match=f"{name} must be a text"):
            release(TABLE, **ASKED, **{name: 3})


def test_a_named_mechanism_is_released_where_nothing_is_worth_it() -> None:
    model = release(TABLE, **(ASKED | {"epsilon": 0.001}), mechanism="noisy_gradient")
    assert model.card["mechanism"] == "noisy_gradient"
    clusters = {"bounds": {"age": (20, 80), "days": (0, 15)}, "ignore": ["ward"], "n_clusters": 2}
    model = release(TABLE, **clusters, epsilon=1.0, delta=0.0, mechanism="lloyd")
    assert len(model.centers) == 2
    assert model.card["expected"] == "no rule for this"


def test_a_budget_pays_once_and_stands_on_the_card(tmp_path: Path) -> None:
    """Kills a fit that is charged beside its release, a refusal after the draw, and a card that
    leaves out what was spent.
    """
    budget = Budget(tmp_path / "b.json", epsilon=2.5, delta=1e-5, table="patients 2026")
    model = release(TABLE, **ASKED, budget=tmp_path / "b.json", folder=tmp_path / "r")
    (line,) = model.card["budget on disk"]
    assert line["spent, this release included"] == {"epsilon": 1.0, "delta": 1e-6}
    assert (line["cap"], line["table"]) == ({"epsilon": 2.5, "delta": 1e-5}, "patients 2026")
    assert model.card["table"] == "patients 2026"
    (entry,) = budget.entries()
    assert entry.what == "release of additive for days"
    with budget:
        chosen = choose(TABLE, **FACTS, random_state=0)
        assert budget.spent() == (2.0, 2e-6)
        assert chosen.card["budget on disk"][0]["releases"] == 2
        release(TABLE, **(ASKED | {"epsilon": 0.25}), budget=budget)
        assert budget.spent()[0] == 2.25
    with ledger() as book, pytest.raises(BudgetError, match="nothing is drawn"):
        release(TABLE, **ASKED, budget=budget, folder=tmp_path / "second")
    assert len(book) == 0
    assert not (tmp_path / "second").exists()


def test_the_card_warns_of_a_budget_that_promises_little() -> None:
    told = "warnings (from public numbers or from what is released)"
    quiet, loud = (
        release(TABLE, **(ASKED | {"epsilon": epsilon, "delta": delta})).card[told]
        for epsilon, delta in ((10.0, 1.0 / N), (11.0, 1.01 / N))
    )
    assert quiet == []
    assert "epsilon 11 is large" in loud[0]
    assert "above one over their number" in loud[1]


def _persons(most: int, **changes: Any) -> dict[str, Any]:
    table = {k: np.repeat(v, 2) for k, v in TABLE.items()}
    table["who"] = np.repeat(np.arange(N), 2)
    return {"file": table | changes, "group": "who", "rows_each": most, **ASKED}


def test_a_person_is_hidden_with_all_records() -> None:
    """The guarantee that is stated follows from that of the fit. Kills a budget for one record."""
    model = release(**_persons(3))
    fit = model.estimator.get_params()
    assert (fit["epsilon"], fit["delta"]) == group_budget(
        epsilon=1.0, delta=1e-6, size=3, gaussian=True
    )
    assert (model.card["epsilon"], model.card["delta"]) == (1.0, 1e-6)
    assert f"replacing all records of one of {N} persons" in model.card["guarantee"]
    assert model.card["number of persons, which is public"] == N
    assert "at most 3 records count" in model.card["guarantee"]


def test_persons_pay_from_a_budget_of_persons(tmp_path: Path) -> None:
    """And records from one of records: a replaced record may be of another person, and two persons
    then change. The entry is that of the person, not of one record. Kills a smaller mu.
    """
    budget = Budget(
        tmp_path / "b.json", epsilon=3.0, delta=1e-5, unit="person", composition="gaussian"
    )
    release(**_persons(4), budget=budget)
    (entry,) = budget.entries()
    assert entry.mu == pytest.approx(gdp_budget(epsilon=1.0, delta=1e-6), rel=1e-9)
    with pytest.raises(BudgetError, match="of one person, and the guarantee of one record"):
        release(TABLE, **ASKED, budget=budget)
    other = Budget(tmp_path / "c.json", epsilon=3.0, delta=1e-5)
    with pytest.raises(BudgetError, match="of one record, and the guarantee of one person"):
        release(**_persons(2), budget=other)


def test_a_release_keeps_the_budget_open_that_another_thread_opened(tmp_path: Path) -> None:
    """Kills a release that relies on another's opening, which ends first."""
    budget = Budget(tmp_path / "b.json", epsilon=30.0, delta=1e-4)
    with budget:
        release(TABLE, **ASKED, budget=budget)
        assert release(TABLE, **ASKED).card["budget on disk"][0]["releases"] == 2
    assert budget.spent()[0] == 2.0


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3), (3.0, 0.0)])
def test_budgets_of_records_come_to_that_of_a_person(
    epsilon: float, delta: float, size: int
) -> None:
    """By the chain of neighbours, whose delta is a sum, and by the profile of a shifted normal law.
    Kills epsilon over k beside delta over k, whose sum is beyond delta.
    """
    one = group_budget(epsilon=epsilon, delta=delta, size=size)
    assert size * one[0] <= epsilon * (1 + 1e-15)
    chain = sum(one[1] * math.exp(i * one[0]) for i in range(size))
    assert chain <= delta * (1 + 1e-12)
    assert chain >= delta * (1 - 1e-9)
    if delta:
        each = group_budget(epsilon=epsilon, delta=delta, size=size, gaussian=True)
        mu = size * gdp_budget(epsilon=each[0], delta=each[1])
        told = gaussian_delta(epsilon=epsilon, sigma=1.0 / mu)
        assert told <= delta * (1 + 1e-9)
        assert each[0] >= one[0] or told > 0.999 * delta


def _slots(table: dict[str, Any], each: int) -> Any:
    facts = state_facts(list(table), task="regression", group="who", rows_each=each, **FACTS)
    return load_problem(table, facts)


def test_one_person_changes_so_many_records_at_most() -> None:
    """Whatever a person has and however many: no other slot changes, and hers no more than
    ``rows_each``. Kills a choice by place, and one that others take part in.
    """
    rng = np.random.default_rng(5)
    for trial in range(60):
        each, n = int(rng.integers(1, 4)), 40
        who = rng.integers(0, 12, n)
        who[:12] = np.arange(12)
        pick = rng.integers(0, N, n)
        table = {k: v[pick].astype(object) for k, v in TABLE.items()} | {"who": who.astype(object)}
        other = {k: v.copy() for k, v in table.items()}
        mine = np.flatnonzero(who == 3)
        for k in FACTS["bounds"]:
            other[k][mine] = rng.choice([None, 1e9, "x", 30.0], len(mine))
        keep = np.ones(n, bool)
        keep[mine[1:]] = rng.random(len(mine) - 1) < 0.5  # fewer records, one at least
        other = {k: v[keep] for k, v in other.items()}
        one, two = _slots(table, each), _slots(other, each)
        assert len(one.X) == len(two.X) == 12 * each
        same = (
            np.all(one.X == two.X, axis=1)
            & (one.known == two.known)
            & ((one.y == two.y) | ~one.known)
        )
        changed = np.flatnonzero(~same)
        assert len(changed) <= each
        assert set(changed // each) <= {3}, trial
        order = rng.permutation(n - 12) + 12  # the order among a person's records says nothing
        again = _slots({k: np.r_[v[:12], v[order]] for k, v in table.items()}, each)
        for person in range(12):
            part = slice(person * each, (person + 1) * each)
            assert sorted(map(tuple, one.X[part])) == sorted(map(tuple, again.X[part]))


def test_labelled_records_count_first_and_nobody_counts_nothing() -> None:
    table = {
        "age": [20.0, 30.0, 40.0, 50.0],
        "ward": ["a"] * 4,
        "days": [None, 3.0, 4.0, 5.0],
        "who": ["ann", "ann", None, 7],
    }
    problem = _slots(table, 2)
    assert problem.known is not None
    assert problem.known.tolist() == [True, False, True, False]
    assert problem.y[problem.known].tolist() == [3.0, 5.0]
    same = {"who": ["07", 7.0, "7", 7], "age": [1.0] * 4, "ward": ["a"] * 4, "days": [1.0] * 4}
    assert len(_slots(same, 1).X) == 1
    with pytest.raises(TableError, match="at least one record with a person"):
        _slots(table | {"who": [None, "", math.nan, " "]}, 2)


def test_slots_of_no_record_are_empty() -> None:
    people = Contributions()
    people.see(["ann", None])
    assert people.slots(np.ones((2, 1)), np.ones(2), np.zeros(2, bool), 3).tolist() == [-1] * 3


@pytest.mark.parametrize("name", [m.name for m in MECHANISMS if m.task == "classification"])
def test_every_classifier_takes_persons(name: str, tmp_path: Path) -> None:
    table = {"x": np.r_[np.zeros(200), np.ones(200)], "who": np.arange(400) // 2}
    table["c"] = np.where(table["x"] > 0, "u", "v")
    asked: dict[str, Any] = {"target": "c", "classes": ("u", "v"), "bounds": {"x": (0, 1)}}
    delta = 0.0 if name == "objective_perturbation" else 1e-6
    model = release(
        table,
        **asked,
        epsilon=50.0,
        delta=delta,
        mechanism=name,
        group="who",
        rows_each=2,
        folder=tmp_path / "r",
        settings={"n_steps": 100} if name == "kernel_margin" else None,
    )
    assert model.card["epsilon"] == 50.0
    assert json.loads((tmp_path / "r" / "model.json").read_text())["n_records"] == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"folder": "one", "stated_by": "us", "intended_use": "a test"},
        {"mechanism": "sufficient_statistics", "neighboring": "add_remove", "folder": "two"},
        {"group": "who", "rows_each": 2, "budget": "b.json"},
    ],
)
def test_cards_have_the_form_of_their_schema(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a field that nobody has documented, and one that is documented and gone."""
    monkeypatch.chdir(tmp_path)
    Budget("b.json", epsilon=3.0, delta=1e-5, table="stays", unit="person")
    table = TABLE | ({"who": np.arange(N) // 2} if "group" in changes else {})
    model = release(table, **ASKED, **changes)
    card = json.loads(json.dumps(model.card))
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA))
    validator.validate(card)
    for name in json.loads(SCHEMA)["required"]:
        assert not validator.is_valid({k: v for k, v in card.items() if k != name})
    assert not validator.is_valid(card | {"score": 0.5})
    if "folder" in changes:
        validator.validate(json.loads((tmp_path / changes["folder"] / "card.json").read_text()))


def test_a_choice_hides_a_person_with_all_records(tmp_path: Path) -> None:
    """By the ledger, which hears the losses of one record: so many of them are the person's. Kills
    a split that divides a person, a fit at the budget of a record, a lot at the loss of one.
    """
    table = {k: np.repeat(v[:1000], 3) for k, v in TABLE.items()} | {"who": np.arange(3000) // 3}
    budget = Budget(tmp_path / "b.json", epsilon=2.0, delta=1e-5, unit="person")
    with budget, ledger() as book:
        model = choose(table, **FACTS, group="who", rows_each=3, random_state=1)
    assert budget.spent() == (1.0, 1e-6)
    assert "replacing all records of one of 1000 persons" in model.card["guarantee"]
    assert "fitted to 800 of them" in model.card["guarantee"]
    fits = [draw for draw in book if draw.mechanism == "gaussian"]
    mu = 3.0 * math.sqrt(sum(d.steps * (d.sensitivity / d.scale) ** 2 for d in fits))  # type: ignore[operator]
    assert 0.99e-6 < gaussian_delta(epsilon=1.0, sigma=1.0 / mu) <= 1e-6
    (lot,) = [draw for draw in book if "noisy_max" in draw.mechanism]
    one = choose({k: v for k, v in table.items() if k != "who"}, **FACTS, random_state=1)
    assert "replacing one of 3000 records" in one.card["guarantee"]
    assert lot.sensitivity == 3.0 * 2.0**20


def test_silent_traps_are_refused_before_they_cost_a_budget(tmp_path: Path) -> None:
    """Kills classes of two kinds, of which NumPy makes texts that no label is; a folder in which
    something lies that would be published; a budget of another table; files of two kinds, whose
    records may be the same.
    """
    budget = Budget(tmp_path / "b.json", epsilon=3.0, delta=1e-5, table="stays")
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "patients.csv").write_text("age,ward,days\n1,a,2\n")
    with ledger() as book:
        with pytest.raises(TableError, match="classes must be all numbers or all texts"):
            release(TABLE, **(ASKED | {"classes": (0, "1")}))
        with pytest.raises(TableError, match="a new folder or an empty one"):
            release(TABLE, **ASKED, folder=tmp_path / "held")
        with pytest.raises(BudgetError, match="table must be 'stays'"):
            release(TABLE, **ASKED, budget=budget, table="costs")
        (tmp_path / "held" / "more.parquet").write_bytes(b"")
        with pytest.raises(TableError, match="all CSV or all Parquet"):
            release(tmp_path / "held", **ASKED)
    assert len(book) == 0
    assert budget.spent() == (0.0, 0.0)


def test_a_release_says_in_one_line_what_it_is() -> None:
    assert repr(release(TABLE, **ASKED)).startswith("ReleasedModel(additive for days, epsilon 1,")


def test_the_budget_is_told_the_name_of_the_table_as_it_is(tmp_path: Path) -> None:
    """Kills a name of which a part is taken for what a card says where there is none."""
    budget = Budget(tmp_path / "b.json", epsilon=3.0, delta=1e-5)
    release(TABLE, **ASKED, budget=budget, table="whose name was not said")
    release(TABLE, **ASKED, budget=budget)
    assert [entry.table for entry in budget.entries()] == ["whose name was not said", ""]
