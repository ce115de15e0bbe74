"""What exploring shows: scores by hand, public recommendations, warnings, what is left out."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from sklearn.dummy import DummyRegressor
from sklearn.metrics import r2_score

from dplit.accounting import group_budget
from dplit.advice.tables import ranked, recommend
from dplit.streams import stream
from dplit.tables import exploring
from dplit.tables._chunks import TableError
from dplit.tables.exploring import Exploration, explore
from dplit.tables.facts import load_problem, state_facts
from dplit.tables.mechanisms import MECHANISMS, TableMechanism, _applicable, mechanism
from tests.tables.test_boundary import NO_TABLES, SECRET, chain_of
from tests.tables.test_sources import FRAMES

EPSILONS = (0.3, 3.0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only two mechanisms, where a test is not about them."""
    two = ("sufficient_statistics", "noisy_gradient")

    def kept(task: str, n_classes: int) -> list[TableMechanism]:
        return [m for m in MECHANISMS if m.task == task and m.name in two]

    monkeypatch.setattr(exploring, "_applicable", kept)


def columns(n: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x, z = rng.uniform(0.0, 1.0, (2, n))
    side = rng.choice(["left", "right"], n)
    y = 6.0 * x + 3.0 * (side == "right") + rng.normal(0.0, 0.3, n)
    names = np.array(["low", "middle", "high"])
    return {
        "x": x,
        "z": z,
        "side": side.tolist(),
        "flat": np.zeros(n),
        "y": y,
        "class": names[np.digitize(y, (3.0, 6.0))].tolist(),
    }


BOUNDS = {"x": (0, 1), "z": (0, 1), "flat": (-1, 1)}
SIDES = {"side": ("left", "right")}


def regression(table: Any = None, **changes: Any) -> Exploration:
    stated: dict[str, Any] = {
        "target": "y",
        "bounds": {**BOUNDS, "y": (0, 9)},
        "categories": SIDES,
        "ignore": ["class"],
        "epsilons": EPSILONS,
        "n_splits": 2,
        "seed": 5,
    }
    return explore(columns() if table is None else table, **{**stated, **changes})


def classification(classes: Any, table: Any = None, **changes: Any) -> Exploration:
    stated: dict[str, Any] = {
        "target": "class",
        "bounds": BOUNDS,
        "categories": SIDES,
        "ignore": ["y"],
        "classes": classes,
        "epsilons": (0.3, 30.0),
        "n_splits": 1,
    }
    return explore(columns() if table is None else table, **{**stated, **changes})


@pytest.fixture(scope="module")
def found() -> Exploration:
    return regression()


@pytest.fixture(scope="module")
def three() -> Exploration:
    return classification(("low", "middle", "high"))


def test_a_score_is_that_of_the_estimator_on_the_stated_split(found: Exploration) -> None:
    """By hand, exactly; kills another split, training scores, another budget or stream of noise."""
    table = columns()
    told: dict[str, Any] = {"bounds": {**BOUNDS, "y": (0, 9)}, "categories": SIDES}
    told |= {"ignore": ["class"], "classes": None, "fill": None}
    problem = load_problem(table, state_facts(list(table), target="y", **told))
    assert set(found.scores) == {m.name for m in _applicable("regression")}
    for name in ("additive", "sufficient_statistics"):
        for s in range(2):
            order = np.random.default_rng(5 + s).permutation(400)
            train, test = order[:280], order[280:]
            for k, epsilon in enumerate(EPSILONS):
                model = mechanism(name, "regression").make(
                    problem,
                    epsilon=epsilon,
                    delta=1e-6,
                    random_state=stream(5 + s, f"explore-{name}", "noise", k),
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # of the noise at so few records
                    model.fit(problem.X[train], problem.y[train])
                by_hand = r2_score(table["y"][test], model.predict(problem.X[test]))
                assert found.scores[name][s, k] == by_hand
    assert found.scores["additive"].shape == (2, 2)


def test_what_is_beside_the_mechanisms(found: Exploration) -> None:
    """A constant by hand, and fits without privacy that learn; kills training scores."""
    y = columns()["y"]
    for s in range(2):
        order = np.random.default_rng(5 + s).permutation(400)
        constant = DummyRegressor().fit(np.zeros((280, 1)), np.clip(y[order[:280]], 0, 9))
        value = r2_score(y[order[280:]], constant.predict(np.zeros((120, 1))))
        assert found.trivial[s] == pytest.approx(value)
        assert found.trivial[s] <= 0.0
    assert set(found.not_private) == {"linear", "boosting"}
    assert all(np.all(values > 0.9) for values in found.not_private.values())
    assert (found.measure, found.task, found.n_train) == ("R2", "regression", 280)


@pytest.mark.usefixtures("quick")
def test_labels_are_scored_as_they_are() -> None:
    """Beyond the bounds too, and without those that are no number: kills scores of clipped or
    filled labels, which are higher.
    """
    narrow = regression(bounds={**BOUNDS, "y": (0, 6)}, n_splits=1)
    table = columns()
    order = np.random.default_rng(5).permutation(400)
    assert 0.5 < narrow.not_private["linear"][0] < 0.93
    assert np.mean(table["y"][order[280:]] > 6) > 0.1
    holes = columns()
    holes["y"] = [None if k in order[280:300] else v for k, v in enumerate(holes["y"])]
    kept = order[300:]
    constant = np.clip(table["y"][order[:280]], 0, 9).mean()
    value = r2_score(table["y"][kept], np.full(100, constant))
    assert regression(holes, n_splits=1).trivial[0] == pytest.approx(value)


@pytest.mark.usefixtures("quick")
def test_what_is_recommended_does_not_look_at_the_table() -> None:
    """Another table with the same public facts; kills a choice by the scores."""
    rng, found = np.random.default_rng(9), regression()
    other = regression(columns() | {"y": rng.uniform(0, 9, 400), "x": rng.uniform(0, 1, 400)})
    assert other.recommended == found.recommended
    assert all(name in found.scores for name in found.recommended)
    public = {"task": "regression", "n": 280, "n_columns": 4, "delta": 1e-6}
    for k, epsilon in enumerate(EPSILONS):
        names = ranked(**public, epsilon=epsilon)
        assert found.recommended[k] == next(name for name in names if name in found.scores)
        assert str(found.advice[k]) == str(recommend(**public, epsilon=epsilon))
    assert other.scores["noisy_gradient"].max() < 0.2 < found.scores["noisy_gradient"].max()


def test_the_warning_and_the_safe_way_come_with_every_view(found: Exploration) -> None:
    """Kills a view without them; what the text calls safe runs."""
    for view in (str(found), found._repr_html_().replace("&#x27;", "'")):
        assert "whoever sees it has received a release of the table" in view
        call = re.search(r"recommend\((.*?)\)", view)
        assert call is not None
        advice = eval(f"recommend({call[1]})", {"recommend": recommend})
        assert str(advice) == str(found.advice[0])
        for name, values in found.scores.items():
            star = "*" if found.recommended[1] == name else ""
            assert f"{values[:, 1].mean():.3f}{star}" in view
        assert view.count("*") >= 2
    assert "itself a release of the table" in str(explore.__doc__)
    figure = found.plot()
    assert isinstance(figure, Figure)
    drawn = [line.get_label() for line in figure.axes[0].get_lines()]
    assert {name.replace("_", " ") for name in found.scores} <= set(drawn)
    assert {"a constant", "linear, not private", "boosting, not private"} <= set(drawn)


def test_three_classes_are_learnt(three: Exploration) -> None:
    """By those that can; kills mechanisms of two classes among them, and scores of chance."""
    assert set(three.scores) == {"additive", "noisy_gradient"}
    assert all(values[0, 1] > three.trivial[0] + 0.1 for values in three.scores.values())
    order = np.random.default_rng(0).permutation(400)
    labels = np.array(columns()["class"])
    larger = max(np.unique(labels[order[:280]]), key=lambda c: np.sum(labels[order[:280]] == c))
    assert three.trivial[0] == np.mean(labels[order[280:]] == larger)
    assert three.measure == "accuracy"
    assert "n_classes=3" in str(three)


def test_two_classes_are_learnt_by_all() -> None:
    """A record with another label is in no part; kills one that counts as the first class."""
    found = classification(("low", "high"))
    assert set(found.scores) == {m.name for m in _applicable("classification")}
    labels = np.array(columns()["class"])[np.random.default_rng(0).permutation(400)]
    train, held = (part[part != "middle"] for part in (labels[:280], labels[280:]))
    larger = "low" if np.mean(train == "low") > 0.5 else "high"
    assert len(held) < 100
    assert found.trivial[0] == np.mean(held == larger)
    assert found.not_private["boosting"][0] > found.trivial[0] + 0.1
    assert found.odd == {"class": np.mean(np.array(columns()["class"]) == "middle")}


def _area_by_hand(score: Any, second: Any) -> float:
    """Share of pairs of which the score puts the second class first; equal ones count half."""
    gaps = np.subtract.outer(score[second], score[~second])
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


def _refitted(name: str, classes: tuple[str, ...], **settings: Any) -> tuple[Any, Any, Any]:
    """Return the model of the first budget and split, with what this split holds out."""
    table = columns()
    told: dict[str, Any] = {"bounds": BOUNDS, "categories": SIDES, "ignore": ["y"], "fill": None}
    facts = state_facts(list(table), target="class", classes=classes, **told)
    problem = load_problem(table, facts)
    order = np.random.default_rng(0).permutation(400)
    train, test = (
        part[slice(None) if problem.known is None else problem.known[part]]
        for part in (order[:280], order[280:])
    )
    model, _ = mechanism(name, "classification").fit(
        problem,
        rows=train,
        epsilon=0.3,
        delta=1e-6,
        random_state=stream(0, f"explore-{name}", "noise", 0),
        settings=settings,
    )
    return model, problem.X[test], np.asarray(table["class"])[test]


@pytest.mark.parametrize("classes", [("low", "high"), ("high", "low"), ("low", "middle", "high")])
def test_balanced_accuracy_and_area_are_those_by_hand(classes: tuple[str, ...]) -> None:
    """From every pair of held-out records; classes in an order that is not the alphabet's too.

    Kills an area of the other class or of predictions, a mean that counts records, and a rival's
    score in another order of classes.
    """
    settings = {"additive": {"loss": "logistic"}}
    found = classification(classes, epsilons=(0.3,), settings=settings)
    for name, told in (("additive", {"loss": "logistic"}), ("noisy_gradient", {})):
        model, X, y = _refitted(name, classes, **told)
        shares = [np.mean(model.predict(X[y == one]) == one) for one in classes]
        balanced = found.beside["balanced accuracy"].scores[name]
        assert balanced[0, 0] == pytest.approx(np.mean(shares), rel=1e-12)
        if len(classes) == 2:
            area = _area_by_hand(model.decision_function(X), y == classes[1])
        else:
            chances = model.predict_proba(X).T
            areas = [_area_by_hand(p, y == one) for p, one in zip(chances, classes, strict=True)]
            area = float(np.mean(areas))
        assert found.beside["AUC"].scores[name][0, 0] == pytest.approx(area, rel=1e-12)
    assert found.beside["AUC"].trivial[0] == 0.5
    assert found.beside["balanced accuracy"].trivial[0] == pytest.approx(1 / len(classes))
    least = 0.95 if len(classes) == 2 else 0.8  # by rivals that learn, whatever the order
    assert all(v[0] > least for v in found.beside["AUC"].not_private.values())
    assert set(found.beside) == {"balanced accuracy", "AUC"}


def test_every_measure_is_shown(three: Exploration, found: Exploration) -> None:
    """As a table, on a page and as a panel; a regression has one. Kills a view that leaves one
    out, and a table whose cells are another measure's.
    """
    for view in (str(three), three._repr_html_()):
        for measure, told in (
            ("AUC", three.beside["AUC"]),
            ("balanced accuracy", three.beside["balanced accuracy"]),
        ):
            after = view[view.index(measure) :]
            for values in told.scores.values():
                assert f"{values[0, 1]:.3f}" in after
        assert view.index("accuracy") < view.index("balanced accuracy") < view.index("AUC")
        assert view.count("*") >= 3 * len(three.epsilons)
        assert view.count("whoever sees it has received a release of the table") == 1
    panels = three.plot().axes
    assert [axes.get_ylabel() for axes in panels] == ["accuracy", "balanced accuracy", "AUC"]
    assert len(found.plot().axes) == 1
    assert found.beside == {}


@pytest.mark.usefixtures("quick")
def test_settings_replace_defaults_and_are_told() -> None:
    """Kills settings that reach another mechanism, or none; wrong ones are refused."""
    plain = classification(("low", "high"))
    set_to = classification(("low", "high"), settings={"noisy_gradient": {"steps": 3}})
    assert not np.array_equal(set_to.scores["noisy_gradient"], plain.scores["noisy_gradient"])
    assert "noisy_gradient is fitted with steps=3." in str(set_to)
    assert "is fitted with" not in str(plain)
    with pytest.raises(ValueError, match="settings must be by the name of a mechanism, noisy_gra"):
        classification(("low", "high"), settings={"lloyd": {}})
    with pytest.raises(ValueError, match="settings of noisy_gradient must be among"):
        classification(("low", "high"), settings={"noisy_gradient": {"loss": "logistic"}})


@pytest.mark.usefixtures("quick")
def test_nothing_has_a_star_where_nothing_is_worth_a_release() -> None:
    """Kills a star beside advice that names nothing; the control has a budget."""
    found = regression(columns(60), epsilons=(0.01, 1e4), n_splits=1)
    assert found.advice[0].estimator is None
    assert found.recommended[0] is None
    assert found.recommended[1] in found.scores
    for view in (str(found), found._repr_html_()):
        assert "Nothing is worth a release at epsilon 0.01: see advice." in view
        marked = re.findall(r"[\d.]+\*", view)
        assert marked == [f"{found.scores[found.recommended[1]][0, 1]:.3f}*"]
    (axes,) = found.plot().axes
    circles = [
        x for line in axes.get_lines() if line.get_markersize() == 11 for x in line.get_xdata()
    ]
    assert circles == [1e4]


@pytest.mark.usefixtures("quick")
def test_a_stated_majority_is_told_to_the_rule() -> None:
    """And to nothing else; what the text calls safe has it. Kills one that is counted."""
    plain = classification(("low", "high"), epsilons=(1.0,))
    found = classification(("low", "high"), epsilons=(1.0,), majority=0.98)
    assert plain.recommended[0] is not None
    assert found.recommended == (None,)
    assert found.advice[0].expected.trivial == pytest.approx(0.02)
    assert "majority=0.98, epsilon=1" in str(found)
    assert "*" not in str(found).replace("* recommended", "")
    for name, values in plain.scores.items():
        assert np.array_equal(values, found.scores[name])
    with pytest.raises(ValueError, match=r"majority must be at least 1 / n_classes, 0\.5, got"):
        classification(("low", "high"), majority=0.4)


@pytest.mark.usefixtures("quick")
def test_a_split_of_one_class_has_no_area() -> None:
    """It is told as no number, and means leave it out; kills an area of 0 or a warning."""
    table = columns(40) | {"class": ["low"] * 39 + ["high"]}
    found = classification(("low", "high"), table=table, n_splits=6)
    areas = found.beside["AUC"].trivial
    assert 0 < np.isnan(areas).sum() < 6
    assert set(areas[np.isfinite(areas)]) == {0.5}
    assert "nan" not in str(found)
    one = classification(("low", "high"), table=table | {"class": ["low"] * 40})
    assert np.isnan(one.beside["AUC"].scores["noisy_gradient"]).all()
    assert "nan" in str(one)
    one.plot()


def test_a_mechanism_for_two_classes_refuses_three() -> None:
    told: dict[str, Any] = {"bounds": {"x": (0, 1)}, "classes": ("a", "b", "c")}
    told |= dict.fromkeys(("categories", "fill", "ignore"))
    facts = state_facts(["x", "y"], target="y", **told)
    problem = load_problem({"x": [0.5] * 12, "y": ["a", "b", "c"] * 4}, facts)
    rule = r"classes must be two for margin \(additive, noisy_gradient, constant learn more\), got"
    with pytest.raises(ValueError, match=rule):
        mechanism("margin", "classification").make(problem, epsilon=1.0, delta=1e-6)
    model, _ = mechanism("additive", "classification").fit(problem, epsilon=1.0, delta=1e-6)
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.usefixtures("quick")
def test_one_class_and_a_constant_label_are_no_special_case() -> None:
    table = columns(40) | {"class": ["low"] * 40, "y": np.full(40, 3.0)}
    one = classification(("low", "high"), table=table, epsilons=(1.0,))
    assert one.trivial.tolist() == one.not_private["linear"].tolist() == [1.0]
    flat = regression(table, n_splits=1)
    assert all(np.all(np.isfinite(values)) for values in flat.scores.values())


@pytest.mark.usefixtures("quick")
def test_some_rows_are_drawn_without_looking() -> None:
    """The first of a permutation by the seed: the same as a table of these rows alone."""
    some = regression(rows=100, n_splits=1)
    order = np.random.default_rng(5).permutation(400)[:100]
    table = {name: np.asarray(values)[order].tolist() for name, values in columns().items()}
    alone = regression(table, n_splits=1)
    assert some.n_train == alone.n_train == 70
    for name in some.scores:
        assert np.array_equal(some.scores[name], alone.scores[name])
    more = regression(rows=4000, n_splits=1)
    assert more.n_train == 280


def test_named_pairs_reach_the_additive_model_alone() -> None:
    """Kills pairs that are stated and not used, and memory that counts no pair."""
    plain, paired = (
        regression(n_splits=1, interactions=pairs) for pairs in (None, [("x", "side"), ("z", "x")])
    )
    for name in plain.scores:
        same = np.array_equal(plain.scores[name], paired.scores[name])
        assert same == (name != "additive")
    assert paired.facts.interactions == (("x", "side"), ("z", "x"))
    found = mechanism("additive", "regression")
    held = int(exploring._HELD / (8 * 5))
    assert exploring._too_much(found, held, 5) == ""
    assert "too much memory" in exploring._too_much(found, held, 5, 36)
    with pytest.raises(TableError, match="interactions must be pairs of two columns"):
        regression(n_splits=1, interactions=[("x", "y")])


def test_what_costs_too_much_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """From public numbers; what is recommended is never among it."""
    monkeypatch.setitem(exploring._SLOW, "kernel_machine", 279)
    monkeypatch.setattr(exploring, "_WIDE", 4)
    monkeypatch.setattr(exploring, "_HELD", 8 * 280 * 5 - 1)
    found = regression(n_splits=1)
    assert set(found.left_out) == {"kernel_machine", "sufficient_statistics", "additive"}
    assert set(found.scores) == {"noisy_gradient", "random_features"}
    assert found.recommended == ("noisy_gradient",) * 2
    assert "kernel_machine is left out: a fit to 280 records takes minutes" in str(found)
    monkeypatch.setitem(exploring._SLOW, "kernel_machine", 280)
    assert "kernel_machine" in regression(n_splits=1).scores


@pytest.mark.usefixtures("quick")
def test_files_and_bad_cells(tmp_path: Path) -> None:
    """As text, with cells that are no numbers; kills a source of its own for files."""
    table = columns(60)
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    cells = lines[7].split(",")
    lines[7] = ",".join(["oops", "", "up", "1e999", *cells[4:]])
    (tmp_path / "a.csv").write_text("\n".join(lines))
    held = {name: list(values) for name, values in table.items()}
    for name, value in zip(("x", "z", "side", "flat"), (None, None, "up", math.inf), strict=True):
        held[name][6] = value
    one, two = (regression(source, n_splits=1) for source in (tmp_path / "a.csv", held))
    for name in one.scores:
        assert np.array_equal(one.scores[name], two.scores[name])


def test_what_is_missing_or_wrong_is_told() -> None:
    with pytest.raises(TableError, match=r"bounds=\{'x': \(0, 1\), 'z': \('LOW', 'HIGH'\)"):
        explore(columns(), target="y", bounds={"x": (0, 1)})
    with pytest.raises(TableError, match="which column is predicted: target=COLUMN"):
        regression(target="")
    with pytest.raises(TableError, match="task must be regression or classification, got"):
        regression(task="clustering")
    with pytest.raises(TableError, match="class is stated to hold 'Low', 'High', and no record"):
        classification(("Low", "High"))
    with pytest.raises(TableError, match="exploring needs at least 10 records, got 9"):
        regression(columns(9))
    for wrong in (
        {"epsilons": ()},
        {"epsilons": (0.0,)},
        {"epsilons": (1.0, 5e-324)},
        {"delta": 0.5},
        {"n_splits": 0},
        {"seed": -1},
        {"rows": 9},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            regression(**wrong)


# Odd tables: what comes of each is a view or an error with a rule, and no error has a cell.

_N, _MARK = 20, 7391.8246


def small(**changes: Any) -> dict[str, Any]:
    """Return columns of which each may be odd."""
    ends = np.linspace(0.0, 1.0, _N).tolist()
    return {"x": ends, "side": ["left", "right"] * (_N // 2), "y": ends} | changes


def _csv(separator: str = ",", end: str = "\n", more: str = "", names: str = "x,side,y") -> str:
    rows = (separator.join(map(str, row)) for row in zip(*small().values(), strict=True))
    return end.join([names.replace(",", separator), *rows]) + end + more


def _one(value: Any) -> list[Any]:
    """Return a column of that value alone but for the last, so that it agrees somewhere."""
    return [value] * (_N - 1)


#: All values of a column, or all but the last.
CELLS: dict[str, Any] = {
    "texts": [SECRET] * _N,
    "texts of numbers": ["0.5"] * _N,
    "one text": [*_one(0.5), SECRET],
    "one number": [*_one(SECRET), "0.5"],
    "None": [None] * _N,
    "NaN": [math.nan] * _N,
    "infinite": [math.inf] * _N,
    "beyond the floats": [10**400] * _N,
    "one beyond the floats": [*_one(0.5), 10**400],
    "of both signs": [1e308, -1e308] * (_N // 2),
    "smallest": [5e-324] * _N,
    "constant": [0.5] * _N,
    "lists": [[_MARK]] * _N,
    "mappings": [{"a": _MARK}] * _N,
    "bytes": [b"0.5"] * _N,
    "broken bytes": [b"\xff" + SECRET.encode()] * _N,
    "half of a sign": ["\ud800" + SECRET] * _N,
    "decimals": [Decimal("0.5")] * _N,
    "signals": [Decimal("sNaN")] * _N,
    "fractions": [Fraction(1, 3)] * _N,
    "complex": [_MARK + 1j] * _N,
    "days": [date(2020, 1, 2)] * _N,
    "durations": [timedelta(1)] * _N,
    "periods": pd.period_range("2020", periods=_N),
    "intervals": pd.interval_range(0, _N),
    "moments": pd.date_range("2020", periods=_N, tz="UTC"),
    "sparse": pd.Series(np.arange(_N) % 2, dtype="Sparse[int]"),
    "categories": pd.Categorical([SECRET] * _N),
    "mixed": [1, "2", None, 2.5, b"1", True, Decimal(1), date(2020, 1, 1), SECRET, {}] * 2,
    "two axes": np.full((_N, 2), _MARK),
    "one number alone": _MARK,
    "one text alone": SECRET,
    "too few": [_MARK] * (_N - 1),
    **{
        kind: np.arange(_N).astype(kind) % np.array(2, kind)
        for kind in ("int8", "uint64", "float16", "float32", "longdouble")
    },
    **{kind: np.arange(_N).astype(kind) for kind in ("bool", "M8[ns]", "m8[s]", "U9", "S9")},
    **{f"pandas' {kind}": pd.Series([0, 1] * 10).astype(kind) for kind in ("Int8", "Float32")},
    **{f"pandas' {kind}": pd.Series(["0"] * _N).astype(kind) for kind in ("string", "category")},
}

#: Whole tables, in memory or in a file.
WHOLE: dict[str, Callable[[Path], Any]] = {
    **{f"a frame, {name}": lambda _, kind=kind: kind(small()) for name, kind in FRAMES.items()},
    "a lazy frame": lambda _: polars.DataFrame(small()).lazy(),
    "a series": lambda _: pd.Series([_MARK], name="x"),
    "a series of dask": lambda _: dask.dataframe.from_pandas(pd.Series([_MARK]), npartitions=1),
    "chunks of pyarrow": lambda _: pa.chunked_array([[_MARK]]),
    "a batch of pyarrow": lambda _: pa.table(small()).to_batches()[0],
    "a reader of pyarrow": lambda _: pa.table(small()).to_reader(),
    "groups": lambda _: pd.DataFrame(small()).groupby("side"),
    "an array": lambda _: np.full((_N, 3), _MARK),
    "records": lambda _: [{"x": _MARK, "side": SECRET}] * _N,
    "another column": lambda _: small(z=[_MARK] * _N),
    "a name that is a number": lambda _: small() | {7391.8246: [1] * _N},
    "a name that is a tuple": lambda _: pd.DataFrame({("x", SECRET): [_MARK] * _N}),
    "the same names": lambda _: pd.concat([pd.DataFrame(small())] * 2, axis=1),
    "the same index": lambda _: pd.DataFrame(small(), index=[0] * _N),
    "labels at the end": lambda _: small(y=[None] * 9 + [0.5] * 11),
    "no file": lambda folder: folder / "a.csv",
    "an empty folder": lambda folder: folder,
    **{
        f"a file, {name}": lambda folder, file=file, content=content: _written(
            folder / file, content
        )
        for name, (file, content, _) in NO_TABLES.items()
    },
    **{
        f"a file in {code}": lambda folder, code=code: _written(
            folder / "a.csv", _csv().encode(code)
        )
        for code in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp037")
    },
    **{
        f"a file, {name}": lambda folder, content=content: _written(
            folder / "a.csv", content.encode("latin-1")
        )
        for name, content in {
            "Windows": _csv(end="\r\n"),
            "Macintosh": _csv(end="\r"),
            "empty lines": _csv(end="\n\n"),
            "blanks": _csv(separator=" "),
            "tildes": _csv(separator="~"),
            "too few and too many fields": _csv(more=f"{SECRET}\n{SECRET},left,1,{SECRET}\n"),
            "a zero": _csv(more=f"{SECRET}\0,left,0.5\n"),
            "another encoding": _csv(more=f"\xff{SECRET},left,0.5\n"),
            "a long field": _csv(more=f"{SECRET * 40_000},left,0.5\n"),
            "a late quote": _csv(more=f'"{SECRET},left,0.5\n'),
            "no names ": _csv(names=f"0.5,{SECRET},7391.8246"),
            "one name twice": _csv(names="x,x,y"),
            "no name": _csv(names="x,side,y,"),
            "names alone": "x,side,y\n",
            "nothing": "",
        }.items()
    },
}


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _viewed(table: Any, said: list[str]) -> None:
    """Explore for either task; a view has numbers, an error a rule."""
    bounds, sides = {"x": (0, 1), "y": (0, 1)}, ("left", "right")
    rules: list[str] = []
    for told in (
        {"target": "y", "categories": {"side": sides}},
        {"target": "side", "classes": sides},
    ):
        try:
            found = explore(table, bounds=bounds, epsilons=(1.0,), n_splits=1, **told)
        except TableError as error:
            said.append(chain_of(error))
            rules.append(str(error))
            continue
        said += [str(found), found._repr_html_()]
        assert all(np.isfinite(v).all() for v in found.scores.values())
        assert np.isfinite([found.trivial, *found.not_private.values()]).all()
    assert all(re.search("must|needs|cannot|stated", rule) for rule in rules)


@pytest.mark.parametrize("name", [*CELLS, *WHOLE])
def test_an_odd_table_is_explored_or_refused_without_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Warnings are errors. Kills squares of labels that overflow in a score, the error of a
    package about what only resembles its tables, and one that quotes a value.
    """
    monkeypatch.setattr(
        exploring, "_applicable", lambda task, **_: [mechanism("noisy_gradient", task)]
    )
    said: list[str] = []
    if name in WHOLE:
        _viewed(WHOLE[name](tmp_path), said)
    else:
        for column in ("x", "side", "y"):
            _viewed(small(**{column: CELLS[name]}), said)
    assert said
    assert not re.search(f"{SECRET}|7391", "".join(said))


def test_persons_are_explored_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that names the person predicts nothing of others; budgets are those of a release.

    Kills a person in both parts of a split, labels in the order of the file, and a budget of one
    record: at epsilon 3 and three records each its noise would be a third.
    """
    monkeypatch.setattr(
        exploring, "_applicable", lambda task, **_: [mechanism("noisy_gradient", task)]
    )
    rng = np.random.default_rng(5)
    who = rng.permutation(np.repeat(np.arange(400), 3))
    table = {"who": who, "x": rng.uniform(0, 1, 1200), "code": who / 400.0}
    table["y"] = rng.normal(0, 0.05, 400)[who] + table["x"]
    asked: dict[str, Any] = {"target": "y", "bounds": {"x": (0, 1), "code": (0, 1), "y": (-1, 2)}}
    seen = []
    fit = TableMechanism.fit

    def spied(self: Any, problem: Any, *, rows: Any, **options: Any) -> Any:
        people = problem.X[rows, 1].round(6)  # three records each, all of them here
        assert set(np.unique(people, return_counts=True)[1]) == {3}
        seen.append((options["epsilon"], options["delta"]))
        return fit(self, problem, rows=rows, **options)

    monkeypatch.setattr(TableMechanism, "fit", spied)
    found = explore(table, **asked, group="who", rows_each=3, epsilons=(3.0,), n_splits=2)
    assert found.n_train == 840
    assert seen == [group_budget(epsilon=3.0, delta=1e-6, size=3, gaussian=True)] * 2
    assert found.not_private["linear"].mean() > 0.8  # of labels in another order it is below 0
    few = explore(table, **asked, group="who", rows_each=3, epsilons=(3.0,), n_splits=1, rows=90)
    assert few.n_train == 63
    with pytest.raises(TableError, match="at least 10 persons, got 9"):
        explore({k: v[who < 9] for k, v in table.items()}, **asked, group="who", rows_each=3)
