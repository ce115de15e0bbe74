"""Private constants, and what is released of records that were held out."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplit import (
    PrivateConstantClassifier,
    PrivateConstantRegressor,
    TableError,
    choose,
    load_model,
    release,
)
from dplit.accounting import Budget
from dplit.audit import ledger
from dplit.mechanisms._means import (
    Bounded,
    laplace_bound,
    laplace_mean,
    of_new_records,
    share_of,
)
from dplit.streams import stream
from dplit.tables._held_out import HELD_OUT, parted


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_a_sum_of_laplace_variates_passes_its_bound_as_often_as_is_said(count: int) -> None:
    """Of 40,000 sums the share beyond is within 5 deviations (false alarm 6e-7 each).

    Kills a bound of one variate for all, a union bound, one side in the place of two.
    """
    drawn = stream(0, "test-laplace-bound", "noise").laplace(size=(40_000, count)).sum(axis=1)
    for chance in (0.5, 0.05):
        beyond = np.mean(np.abs(3.0 * drawn) > laplace_bound(3.0, chance=chance, count=count))
        assert abs(beyond - chance) < 5.0 * math.sqrt(chance * (1 - chance) / 40_000)


def _labels(law: str, n: int, rng: np.random.Generator) -> np.ndarray:
    found = {
        "ends": rng.choice([-1.0, 1.0], n),
        "rare": np.where(rng.random(n) < 0.02, 1.0, -1.0),
        "constant": np.full(n, 0.3),
        "missing": np.where(rng.random(n) < 0.7, np.nan, rng.uniform(-1.0, 0.0, n)),
    }
    return found[law]


@pytest.mark.parametrize("law", ["ends", "rare", "constant", "missing"])
@pytest.mark.parametrize("n", [30, 3000])
def test_intervals_hold_the_mean_of_these_labels(law: str, n: int) -> None:
    """Of 300 tables at most 34 are missed where 15 are expected at most (false alarm 2e-5 each).

    Kills noise of half the scale in the interval, and a quotient whose number is taken for sure:
    at n = 30 and epsilon .3 the noise of the number is as large as it is.
    """
    missed = 0
    for seed in range(300):
        rng = stream(seed, f"test-mean-{law}-{n}", "data")
        labels = _labels(law, n, rng)
        if np.isnan(labels).all():
            continue
        mean, number = laplace_mean(labels, epsilon=0.3, hides="labels", most=n, rng=rng)
        assert -1.0 <= mean.low <= mean.value <= mean.high <= 1.0
        there = int(np.sum(~np.isnan(labels)))
        inside = mean.low <= np.nanmean(labels) <= mean.high
        missed += not (inside and number.low <= there <= number.high)
    assert missed <= stats.binom.isf(2e-5, 300, 0.05)


@pytest.mark.parametrize("p", [0.0, 0.02, 0.3])
def test_intervals_hold_the_expectation_of_new_records(p: float) -> None:
    """Of 400 tables at most 42 are missed where 20 are expected at most (false alarm 2e-5 each).

    Kills an interval about these records alone; it misses a third of the expectations.
    """
    missed, alone = 0, 0
    for seed in range(400):
        rng = stream(seed, f"test-new-{p}", "data")
        errs = (rng.random(200) < p).astype(float)
        seen, number = laplace_mean(2 * errs - 1, epsilon=2.0, hides="e", chance=0.025, rng=rng)
        these = Bounded(*((end + 1.0) / 2.0 for end in seen))
        found = of_new_records(these, number.low, chance=0.025)
        missed += not found.low <= p <= found.high
        alone += not these.low <= p <= these.high
    assert missed <= stats.binom.isf(2e-5, 400, 0.05)
    assert alone > missed or p == 0.0


def test_shares_by_hand() -> None:
    assert share_of(0.0, 0.0, 0.0, 0.0) == Bounded(0.5, 0.0, 1.0)
    assert share_of(30.0, 70.0, 0.0, 0.0) == Bounded(0.3, 0.3, 0.3)
    assert share_of(-2.0, 10.0, 5.0, 5.0) == Bounded(0.0, 0.0, 3.0 / 8.0)


def test_means_by_hand_at_a_budget_without_noise() -> None:
    """Kills a mean of all records, a label that is not clipped, bounds of another unit."""
    y = [0.0, 10.0, 99.0, None, math.nan, "x"]
    model = PrivateConstantRegressor(epsilon=1e9, bounds=(0.0, 20.0)).fit(np.zeros((6, 1)), y)
    assert model.constant_ == pytest.approx(10.0, abs=1e-4)
    assert model.interval_ == pytest.approx([10.0, 10.0], abs=1e-4)
    classes = PrivateConstantClassifier(epsilon=1e9, classes=("a", "b", "c"))
    classes.fit(np.zeros((6, 1)), ["a", "b", "b", None, "z", "c"])
    assert classes.shares_ == pytest.approx([0.25, 0.5, 0.25])
    assert classes.predict(np.zeros((2, 1))).tolist() == ["b", "b"]


N = 2000
_RNG = np.random.default_rng(7)
TABLE: dict[str, Any] = {"age": _RNG.uniform(20, 80, N)}
TABLE["days"] = np.abs(TABLE["age"] - 50) / 3 + _RNG.normal(0, 1, N)
TABLE["ill"] = np.where(TABLE["age"] + _RNG.normal(0, 5, N) > 70, "yes", "no")
TABLE["who"] = np.arange(N) // 4
ASKED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
DAYS: dict[str, Any] = {"target": "days", "bounds": {"age": (20, 80), "days": (0, 15)}}
ILL: dict[str, Any] = {"target": "ill", "bounds": {"age": (20, 80)}, "classes": ("no", "yes")}
_LEFT = {"days": ("ill", "who"), "ill": ("days", "who")}


def _release(stated: dict[str, Any], **more: Any) -> Any:
    asked = {"ignore": _LEFT[stated["target"]], **ASKED, **more}
    return release(TABLE, **stated, **asked)


@pytest.mark.parametrize("stated", [DAYS, ILL], ids=["regression", "classification"])
def test_a_constant_is_released_where_nothing_else_is_worth_it(
    stated: dict[str, Any], tmp_path: Any
) -> None:
    """The offer names what can be asked for, and that loads again; kills an offer of a typo."""
    with pytest.raises(TableError, match="mechanism='constant' releases the m"):
        _release(stated, epsilon=0.001)
    model = _release(stated, mechanism="constant", folder=tmp_path / "c")
    key = next(key for key in model.card if "95 % interval" in key)
    value, low, high = model.card[key]
    truth = np.mean(TABLE["days"]) if stated is DAYS else np.mean(TABLE["ill"] == "no")
    assert low < value < high
    assert abs(value - truth) < 15 * 40 / N  # false alarm e^-20
    assert model.card["delta"] == 0.0
    assert model.differs_from_releases() == ()
    assert len(set(load_model(tmp_path / "c").predict(TABLE).tolist())) == 1
    with pytest.raises(ValueError, match=r"threshold must be None .* a model of (no|two)"):
        model.predict(TABLE, threshold=0.0)


@pytest.mark.parametrize("stated", [DAYS, ILL], ids=["regression", "classification"])
@pytest.mark.parametrize("persons", [{}, {"group": "who", "rows_each": 3}], ids=["one", "person"])
def test_a_score_on_records_held_out_costs_these_records_and_no_budget(
    stated: dict[str, Any], persons: dict[str, Any], tmp_path: Any
) -> None:
    """The card, its statement, a budget and a ledger say one thing.

    Kills a score on records that were fitted to, one at the budget of a single record of a person,
    and one whose price comes on top.
    """
    left = tuple(c for c in _LEFT[stated["target"]] if c != persons.get("group"))
    unit = "person" if persons else "record"
    budget = Budget(tmp_path / "b.json", unit=unit, **ASKED)
    with ledger() as book:
        model = _release(
            stated, held=0.25, budget=budget, folder=tmp_path / "r", ignore=left, **persons
        )
    units, held = (500, 125) if persons else (2000, 500)
    told = model.card[HELD_OUT]
    assert told["paid for by"].startswith(f"{held} of {units:,} {unit}s")
    assert f"fitted to {units - held} of them and the other {held}" in model.card["guarantee"]
    assert (model.card["epsilon"], model.card["delta"]) == (1.0, 1e-6)
    (key,) = (key for key in told if key.startswith("value"))
    assert ("these records" in key) == bool(persons)
    for value, low, high in told[key].values():
        assert low <= value <= high
    shares = {"share of wrong classes", "share of no that is found", "share of yes that is found"}
    assert told[key].keys() == ({"mean absolute error"} if stated is DAYS else shares)
    assert [*book][-1].scale == pytest.approx(2.0 * persons.get("rows_each", 1))
    assert persons or book.epsilon(delta=1e-6) <= 1.0  # the parts do not add
    assert [entry.epsilon for entry in budget.entries()] == [1.0]
    assert model.differs_from_releases() == ()
    assert json.loads((tmp_path / "r" / "card.json").read_text())[HELD_OUT] == told


def test_a_score_is_what_the_model_errs_elsewhere() -> None:
    """At a budget without noise, by hand on fresh records; kills a score of training records.

    500 records held out: the mean of their errors is within .25 of that of 20,000 others, of which
    .25 is more than 5 deviations.
    """
    model = _release(DAYS, epsilon=1e6, held=0.25, random_state=0)
    value, low, high = next(
        found["mean absolute error"]
        for key, found in model.card[HELD_OUT].items()
        if key.startswith("value")
    )
    rng = np.random.default_rng(11)
    age = rng.uniform(20, 80, 20_000)
    days = np.clip(np.abs(age - 50) / 3 + rng.normal(0, 1, 20_000), 0, 15)
    errs = np.abs(model.predict({"age": age}) - days).mean()
    assert abs(value - errs) < 0.25
    assert low < errs < high


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"held": 1.0}, "held must"),
        ({"held": -0.1}, "held must"),
        ({"held": 0.2, "neighboring": "add_remove", "mechanism": "constant"}, "held must be 0"),
    ],
)
def test_a_wrong_share_is_refused_before_a_draw(wrong: dict[str, Any], message: str) -> None:
    with ledger() as book, pytest.raises(ValueError, match=message):
        _release(DAYS, **wrong)
    assert not len(book)


def test_parts_are_disjoint_and_persons_whole() -> None:
    """Kills a person in both parts, whose shares of the budget would add up."""
    fit, rest = parted(60, 3, 0.25, np.random.default_rng(0))
    assert sorted([*fit, *rest]) == list(range(60))
    assert len(rest) == 15
    assert not {*(fit // 3)} & {*(rest // 3)}


def test_a_choice_is_paid_for_and_its_card_says_of_what(tmp_path: Any) -> None:
    budget = Budget(tmp_path / "b.json", table="stays", **ASKED)
    asked: dict[str, Any] = {**DAYS, "ignore": _LEFT["days"], **ASKED, "budget": budget}
    model = choose(TABLE, **asked, stated_by="the clinic", intended_use="planning")
    assert (model.card["table"], model.card["stated by"]) == ("stays", "the clinic")
    assert model.card["intended use"] == "planning"
    assert [(e.epsilon, e.table) for e in budget.entries()] == [(1.0, "stays")]
    with pytest.raises(TypeError, match="table must be a text"):
        choose(TABLE, **asked, table=3)
