"""Summaries: the bits of the estimators' own fits, whatever the parts, and what a person moves.

Nothing here is random but for fixed seeds, and nothing is compared with a tolerance unless it says
how it is computed: equal means equal to the bit.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dplit import AdaSSPRegressor, Budget, BudgetError, HatFeatures, SufficientStatisticsRegressor
from dplit import _persons as _names
from dplit._numerics import exact
from dplit.audit import ledger
from dplit.linear._moments import moment_sensitivity
from dplit.mechanisms import gaussian_epsilon
from dplit.sketching.sketches import SketchMap, sketch
from dplit.streams import stream
from dplit.tables import _files, grids
from dplit.tables.fits import fit_summary
from dplit.tables.grids import MomentGrid, Summary, SummaryFacts, merge_summaries
from dplit.tables.reading import batches
from dplit.tables.summaries import summarise
from tests.dask_workers import two_workers

# so few records that every estimator warns of its noise
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NAMES = ["a", "b", "c"]
_GIVEN: dict[str, Any] = {"data_norm": 2.0, "bounds": (-1.0, 3.0), "random_state": 0}
_RELATIONS = ("add_remove", "replace_one")
_TWO: dict[str, Any] = {"group": "who", "rows_each": 2}


def _data(n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Records of which some are clipped, two at the bound, one huge, one tiny, one of zeros."""
    rng = stream(0, "test-summaries", "data")
    X = rng.standard_normal((n, 3))
    X[:5] = [
        [2.0, 0.0, 0.0],
        [0.0, 2.0 * (1 - 1e-12), 0.0],
        [1e300, -1e300, 0],
        [1e-310, 0, 0],
        [0.0, -0.0, 0.0],
    ]
    return X, X @ [1.0, -1.0, 0.5] + rng.standard_normal(n)


def _table(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    return {**dict(zip(NAMES, X.T, strict=True)), "y": y}


def _of(source: Any, model: Any, **more: Any) -> Summary:
    return summarise(source, model, columns=NAMES, target="y", **more)


def _hats(**more: Any) -> Any:
    features = HatFeatures(4, box=([-1, -2, -3], [1, 2, 3.5]), indicators=((2,),))
    return make_pipeline(features, SufficientStatisticsRegressor(**_GIVEN, **more))


def _fitted(model: Any) -> tuple[Any, ...]:
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    extra = getattr(last, "least_eigenvalue_", 0.0), getattr(last, "alpha_", 0.0)
    told = last.privacy_statement_, last.epsilon_, last.delta_, last.n_features_in_
    return (last.coef_.tobytes(), last.intercept_, last.sigma_, *extra, *told)


def _write(folder: Path, X: np.ndarray, y: np.ndarray, cuts: list[int], **options: Any) -> Path:
    """Write a folder of files, one of them in a folder below."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (folder / "below").mkdir(parents=True)
    ends = [0, *cuts, len(y)]
    for k, (low, high) in enumerate(itertools.pairwise(ends)):
        place = folder / ("below" if k == 1 else ".") / f"part-{k}.parquet"
        parquet.write_table(pa.table(_table(X[low:high], y[low:high])), place, **options)
    return folder


MODELS = [
    kind(**_GIVEN, neighboring=relation, fit_intercept=constant)
    for kind in (SufficientStatisticsRegressor, AdaSSPRegressor)
    for relation in _RELATIONS
    for constant in (True, False)
]
MODELS += [
    SufficientStatisticsRegressor(**(_GIVEN | {"data_norm": 0.7}), alpha=3.0),
    SufficientStatisticsRegressor(data_norm=0.3, bounds=(-0.1, 7.0), epsilon=0.1, random_state=3),
    AdaSSPRegressor(data_norm=1e-3, bounds=(0.2, 0.3), rho=0.5, delta=1e-9, random_state=1),
    _hats(),
    _hats(neighboring="replace_one", fit_intercept=False),
    make_pipeline(HatFeatures(box=(-1.0, 1.0)), AdaSSPRegressor(**_GIVEN)),
    make_pipeline(
        HatFeatures(4, box=(-1.0, 1.0), indicators=((2,),), interactions=[(0, 1), (2, 1)]),
        SufficientStatisticsRegressor(**_GIVEN),
    ),
]


@pytest.mark.parametrize("model", MODELS)
def test_a_fit_from_a_summary_has_the_bits_of_the_fit_from_the_records(model: Any) -> None:
    """Kills a row clipped elsewhere, a constant rounded elsewhere, a penalty, scale, order of
    draws, or statement other than the estimator's own."""
    X, y = _data()
    own = clone(model).fit(X, y)
    ours = fit_summary(clone(model), summarise((X, y), model))
    assert _fitted(ours) == _fitted(own)
    np.testing.assert_array_equal(ours.predict(X[5:]), own.predict(X[5:]))
    assert not hasattr(ours, "feature_names_in_")
    named = fit_summary(clone(model), _of(_table(X, y), model))
    assert _fitted(named) == _fitted(own)
    assert list(named.feature_names_in_) == NAMES


@pytest.mark.parametrize("norm", [1.0, 0.7, 3.0, 1e-5, 1e150, 1e-150])
@pytest.mark.parametrize("constant", [True, False])
def test_rows_near_a_bound_are_clipped_as_the_estimator_clips(norm: float, constant: bool) -> None:
    """Lengths within 1e-3 to 1e-16 of both bounds. Kills a margin that decides by itself."""
    grid = MomentGrid(norm, -1.0, 1.0, constant)
    model = SufficientStatisticsRegressor(
        data_norm=norm, bounds=(-1.0, 1.0), fit_intercept=constant
    )
    rng = stream(0, "test-summaries-bounds", "data")
    X = rng.standard_normal((4000, 4))
    X *= norm / np.linalg.norm(X, axis=1, keepdims=True)
    X *= (
        1.0
        + np.r_[0.0, 1.0, -1.0][rng.integers(3, size=4000), None]
        * np.geomspace(1e-16, 1e-3, 4000)[:, None]
    )
    y = rng.uniform(-2.0, 2.0, 4000)
    unit, labels = model._unit_records(X, y)
    rows, _ = exact.grid_rows(unit, 1.0)
    told, _ = exact.grid_values(labels, 1.0)
    with np.errstate(all="ignore"):
        ours = grid(list(X.T), y)
    np.testing.assert_array_equal(ours, np.vstack([rows.T, told]))
    assert np.abs(ours).max() <= 2**15


@pytest.mark.parametrize("constant", [True, False])
def test_entries_between_two_steps_go_where_the_estimator_lets_them_go(constant: bool) -> None:
    """Entries within units in the last place of half steps. Kills one product for two quotients."""
    model = SufficientStatisticsRegressor(data_norm=0.7, bounds=(-1.0, 1.0), fit_intercept=constant)
    halves = (np.arange(-9000, 9000) + 0.5) * 2.0**-15 * 0.7 * (math.sqrt(2.0) if constant else 1)
    for ulps in (-1, 0, 1):
        X = np.column_stack([halves + ulps * np.spacing(halves), np.zeros(len(halves))])
        unit, _ = model._unit_records(X, np.zeros(len(X)))
        ours = MomentGrid(0.7, -1.0, 1.0, constant)(list(X.T), np.zeros(len(X)))
        np.testing.assert_array_equal(ours[:-1], exact.grid_rows(unit, 1.0)[0].T)
        for k in range(0, len(X), 9):  # alone, where no other entry asks for quotients
            alone = MomentGrid(0.7, -1.0, 1.0, constant)(list(X[k : k + 1].T), np.zeros(1))
            np.testing.assert_array_equal(alone[:, 0], ours[:, k])


@pytest.mark.parametrize("model", [MODELS[0], _hats()])
def test_no_partition_order_or_batch_changes_a_bit(model: Any, tmp_path: Path) -> None:
    """Kills a sum of floats, a lost or doubled row at the end of a part, a wrong column."""
    X, y = _data(2500)
    whole = _of(_table(X, y), model)
    order = stream(0, "test-summaries-order", "data").permutation(len(y))
    X, y = X[order], y[order]
    files = _write(tmp_path / "one", X, y, [1, 700, 700, 1900], row_group_size=300)
    turned = [_of(files, model, batch_rows=size) for size in (1, 37, 65_536)][1:]
    single = _write(tmp_path / "two", X, y, [])
    turned += [_of(single / "part-0.parquet", model), _of(str(single), model)]
    turned += [_of(_table(X, y), model, batch_rows=7 + k) for k in range(2)]
    turned += [_of(files, model, distributed=True)]  # by threads
    for other in turned:
        np.testing.assert_array_equal(other.gram, whole.gram)
        assert (other.count, other.ends) == (whole.count, whole.ends)
    parts = [_of(_table(X[k::7], y[k::7]), model) for k in range(7)]
    kept = [pickle.loads(pickle.dumps(part)) for part in reversed(parts)]
    np.testing.assert_array_equal(merge_summaries(kept).gram, whole.gram)
    assert merge_summaries(kept).count == 2500


def test_totals_beyond_the_floats_are_rounded_as_the_estimator_rounds_them() -> None:
    """More than 2^21 records, above which sums pass 2^53. Kills totals in float64."""
    n = (1 << 21) + 5
    X, y = np.full((n, 1), 0.987654), np.full(n, 0.9)
    model = SufficientStatisticsRegressor(
        data_norm=1.0, bounds=(-1.0, 1.0), fit_intercept=False, random_state=0
    )
    found = summarise((X, y), model)
    assert int(found.gram[0, 0]) > 2**50
    assert _fitted(fit_summary(clone(model), found)) == _fitted(model.fit(X, y))
    found = replace(found, made=frozenset())  # which nobody could tell from other records
    many = merge_summaries([found] * 400)
    assert int(many.gram[0, 0]) == 400 * int(found.gram[0, 0]) > 2**53
    with pytest.raises(ValueError, match=f"at most {1 << 30} records"):
        merge_summaries([found] * 513)


@pytest.mark.parametrize("name", [f.name for f in fields(SummaryFacts)])
def test_summaries_that_differ_in_one_fact_are_refused(name: str) -> None:
    """Kills a merge that passes over a field: over ``rows_each``, and the noise was for one record
    of a person of whom five are in the sum.
    """
    table = {**_table(*_data(20)), "who": np.arange(20) // 2}
    one = _of(table, MODELS[0], group="who", rows_each=1)
    unlike: dict[str, Any] = {
        "columns": ("c", "b", "a"),
        "target": "z",
        "named": not one.facts.named,
        "fill": (("a", 0.5),),
        "group": "whose",
        "rows_each": 5,
        "grid": None,
    }
    other = replace(
        one,
        facts=replace(one.facts, **{name: unlike[name]}),
        persons=np.asarray(one.persons) + 100,
    )
    for pair in ((one, other), (other, one)):
        with pytest.raises(ValueError, match=f"same public facts, got {name}="):
            merge_summaries(pair)


def test_rows_of_persons_that_were_counted_otherwise_are_refused() -> None:
    """The same by the public way: one part at one record each, the other at five."""
    table = {**_table(*_data(20)), "who": np.repeat(np.arange(4), 5)}
    parts = [
        _of(_rows(table, rows), MODELS[0], group="who", rows_each=each)
        for rows, each in ((slice(0, 10), 1), (slice(10, 20), 5))
    ]
    assert [part.count for part in parts] == [2, 10]
    with pytest.raises(ValueError, match="same public facts, got rows_each=1 and rows_each=5"):
        merge_summaries(parts)


@pytest.mark.parametrize("neighboring", _RELATIONS)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_moves_the_least_eigenvalue_as_far_as_the_ledger_is_told(
    most: int, neighboring: str
) -> None:
    """k equal records at the bound, in a direction that nobody else has: the released eigenvalue
    moves by k times what a record moves it, and its noise is told of so much.

    Kills a sensitivity that is not multiplied by k: noise k times too small for a person.
    """
    far = {
        "a": [1.0] * 60,
        "b": [0.0] * 60,
        "c": [0.0] * 60,
        "y": [0.5] * 60,
        "who": list(range(60)),
    }
    third = {
        "a": [0.0] * 60,
        "b": [0.0] * 60,
        "c": [1.0] * 60,
        "y": [0.5] * 60,
        "who": list(range(100, 160)),
    }
    end = {
        "a": [0.0] * most,
        "b": [1.0] * most,
        "c": [0.0] * most,
        "y": [0.5] * most,
        "who": [999] * most,
    }
    flat = {**end, "a": [1.0] * most, "b": [0.0] * most}
    model = AdaSSPRegressor(
        data_norm=1.0, bounds=(-1.0, 1.0), fit_intercept=False, neighboring=neighboring
    )
    hidden, told = [], []

    def watch(draw: Any, of: Any, added: Any) -> None:
        if draw.purpose == "least eigenvalue of the second moments":
            hidden.append(float(of[0]))
            told.append(draw.sensitivity)

    for last in (end, flat if neighboring == "replace_one" else {name: [] for name in end}):
        table = {name: np.array(far[name] + third[name] + last[name]) for name in far}
        with ledger(watch):
            fit_summary(clone(model), _of(table, model, group="who", rows_each=most))
    assert told[0] == told[1]
    assert 0.999 * told[0] <= abs(hidden[0] - hidden[1]) <= told[0]
    assert told[0] == pytest.approx(most, rel=1e-3)


def test_summaries_of_unlike_facts_are_refused() -> None:
    X, y = _data(20)
    one = _of(_table(X, y), MODELS[0])
    for change in ({"data_norm": 1.0}, {"bounds": (0.0, 3.0)}, {"fit_intercept": False}):
        model = clone(MODELS[0]).set_params(**change)
        with pytest.raises(ValueError, match="summaries must have the same public facts, got grid"):
            one.merge(_of(_table(X, y), model))
        with pytest.raises(ValueError, match="model must have the public facts of the summary"):
            fit_summary(model, one)
    with pytest.raises(ValueError, match=r"same public facts, got columns=\('a', 'b', 'c'\)"):
        one.merge(summarise(_table(X, y), MODELS[0], columns=["b", "a", "c"], target="y"))
    with pytest.raises(ValueError, match="same public facts, got fill="):
        one.merge(_of(_table(X, y), MODELS[0], fill={"a": 0.0}))
    table = {**_table(X, y), "who": np.arange(20)}
    with pytest.raises(ValueError, match="same public facts, got group="):
        one.merge(_of(table, MODELS[0], group="who", rows_each=1))
    for nothing in ([], [one, 7]):
        with pytest.raises(TypeError, match="summaries must be summaries, at least one"):
            merge_summaries(nothing)
    with pytest.raises(ValueError, match="summary must be of at least one record"):
        fit_summary(MODELS[0], _of(_table(X[:0], y[:0]), MODELS[0]))
    assert str(int(one.gram[0, 0])) not in repr(one)
    fit_summary(clone(MODELS[0]).set_params(epsilon=3.0, neighboring="replace_one"), one)


def test_missing_values_count_as_what_is_stated(tmp_path: Path) -> None:
    """Null and NaN alike, in Arrow, lists and arrays; integers, booleans, decimals are numbers."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    from decimal import Decimal

    table = pa.table(
        {
            "a": pa.array([0.5, None, float("nan")]),
            "b": pa.array([1, None, 1], pa.int64()),
            "c": pa.array([Decimal("0.25"), Decimal("-1.50"), Decimal("0.00")]),
            "y": pa.array([True, False, True]),
            "more": ["x", "y", None],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    fill = {"a": -0.5, "b": 1.0, "y": 0.5}
    plain = {"a": [0.5, -0.5, -0.5], "b": [1.0, 1.0, 1.0], "c": [0.25, -1.5, 0.0], "y": [1, 0, 1]}
    lists = {**plain, "a": [0.5, None, math.nan], "b": np.array([1.0, np.nan, 1.0])}
    expected = _of(plain, MODELS[0], fill=fill).gram
    batch = table.to_batches()[0]
    for source in (tmp_path, table, batch, lists, batch.to_pydict()):
        if isinstance(source, dict):
            source = {
                k: [float(x) if isinstance(x, Decimal) else x for x in v] for k, v in source.items()
            }
        np.testing.assert_array_equal(_of(source, MODELS[0], fill=fill).gram, expected)


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ([0.5, None], ValueError, "part 0: column 'a' must have no missing value, or a stated one"),
        ([0.5, math.nan], ValueError, "column 'a' must have no missing value, or a stated one"),
        ([0.5, math.inf], ValueError, "column 'a' must be finite, got infinity"),
        (["7.125", "x"], TypeError, "column 'a' must hold numbers, got"),
        (["7.125", 1.0], TypeError, "column 'a'"),
        ([b"7.125", b"1"], TypeError, "column 'a' must hold numbers"),
        (np.array(["2020-01-01", "2021-07-12"], "M8[D]"), TypeError, "must hold numbers"),
        (np.array([1j, 7.125]), TypeError, "column 'a' must hold numbers, got type complex"),
        ([[7.125, 1.0], [1.0, 2.0]], ValueError, "column 'a' must have one axis"),
    ],
)
def test_bad_columns_are_refused_without_a_value(
    column: Any, error: type[Exception], message: str
) -> None:
    table = {"a": column, "b": [0.0, 1.0], "c": [0.0, 1.0], "y": [0.0, 1.0]}
    with pytest.raises(error, match=message) as told:
        _of(table, MODELS[0])
    assert "7.1" not in str(told.value)
    assert told.value.__cause__ is None


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    X, y = _data(9)
    table, model = _table(X, y), MODELS[0]
    for more, message in (
        ({"columns": ["a", "q"], "target": "y"}, r"column 'q' must stand in the table.*\['a', 'b'"),
        ({"columns": ["a", "b"], "target": None}, "columns and target must be given"),
        ({"columns": ["a", "b"], "target": "a"}, "target must be a column that is none of"),
        ({"columns": ["a", "a"], "target": "y"}, "columns must be different names"),
        ({"columns": "abc", "target": "y"}, "columns must be different names"),
        ({"columns": ["a"], "target": "y", "fill": {"b": 1.0}}, "fill must name columns"),
        ({"columns": ["a"], "target": "y", "fill": {"a": math.nan}}, r"fill\['a'\] must be finite"),
        ({"columns": ["a"], "target": "y", "group": "b"}, "rows_each must be given with group"),
        ({"columns": ["a"], "target": "y", "rows_each": 1}, "rows_each must be given with group"),
        ({"columns": ["a"], "target": "y", "batch_rows": 0}, "batch_rows must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            summarise(table, model, **more)
    with pytest.raises(ValueError, match="columns must be equally long"):
        _of({**table, "b": [1.0]}, model)
    with pytest.raises(ValueError, match="must be None for a pair"):
        _of((X, y), model)
    with pytest.raises(FileNotFoundError, match="source must be a Parquet file or hold some"):
        _of(tmp_path, model)
    for source in (7, [table, table]):
        with pytest.raises(TypeError, match="source must be the path of a Parquet file"):
            _of(source, model)
    with pytest.raises(TypeError, match="model must be a SufficientStatisticsRegressor"):
        _of(table, make_pipeline(HatFeatures(box=(0, 1)), HatFeatures(box=(0, 1)), MODELS[0]))
    with pytest.raises(ValueError, match="data_norm must be given"):
        _of(table, SufficientStatisticsRegressor(bounds=(0.0, 1.0)))
    with pytest.raises(ValueError, match="box must be given"):
        _of(table, make_pipeline(HatFeatures(), MODELS[0]))
    files = _write(tmp_path / "files", X, y, [4])
    with pytest.raises(ValueError, match="part 0: column 'q' must stand in the table"):
        summarise(files, model, columns=["q"], target="y")


# Persons.


def _persons(n: int = 400, *, text: bool = False) -> dict[str, Any]:
    X, y = _data(n)
    who = stream(0, "test-summaries-persons", "data").integers(60, size=n)
    X[10:14], y[10:14], who[10:14] = X[9], y[9], who[9]  # equal records of one person
    return {**_table(X, y), "who": [f"p{k}" for k in who] if text else who}


def _rows(table: dict[str, Any], index: Any) -> dict[str, Any]:
    return {name: np.asarray(column)[index].tolist() for name, column in table.items()}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("most", [1, 3, 400])
def test_which_records_count_depends_on_the_person_alone(most: int, text: bool) -> None:
    """By hand, person by person, in other orders and parts. Kills a choice by position, a person
    who counts once in each part, and the k of a part for that of a person."""
    dask = pytest.importorskip("dask")
    table = _persons(text=text)
    n, model = len(table["y"]), MODELS[0]
    given: dict[str, Any] = {"group": "who", "rows_each": most}
    whole = _of(table, model, **given)
    alone = [
        _of(_rows(table, np.flatnonzero(np.asarray(table["who"]) == person)), model, **given)
        for person in sorted(set(table["who"]))
    ]
    assert max(part.count for part in alone) == min(most, max(part.count for part in alone))
    np.testing.assert_array_equal(merge_summaries(alone).gram, whole.gram)
    assert merge_summaries(alone).count == whole.count
    assert most == 400 or whole.count < n
    for seed in range(3):
        order = stream(seed, "test-summaries-cut", "data").permutation(n)
        cuts = [*range(0, n, 97), n]
        parts = [dask.delayed(_rows(table, order[a:b])) for a, b in itertools.pairwise([*cuts, n])]
        turned = _of(tuple(parts), model, batch_rows=13, **given)
        np.testing.assert_array_equal(turned.gram, whole.gram)
        assert list(turned.persons) == sorted(set(table["who"]))  # type: ignore[arg-type]
    if most == 400:
        plain = _of(table, model)
        np.testing.assert_array_equal(whole.gram, plain.gram)


def test_equal_hashes_are_told_apart_by_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many persons and of one. Kills a tie that the order of the records breaks."""
    monkeypatch.setattr(_names, "_scrambled", lambda rows: np.zeros(rows.shape[1], np.uint64))
    table = _persons()
    for some in (np.arange(len(table["y"])), np.flatnonzero(np.asarray(table["who"]) == 5)):
        whole, back = (_of(_rows(table, rows), MODELS[0], **_TWO) for rows in (some, some[::-1]))
        np.testing.assert_array_equal(back.gram, whole.gram)


def test_a_person_in_two_kept_summaries_is_refused() -> None:
    table = _persons()
    who = np.asarray(table["who"])
    rows = [np.flatnonzero((who == 59) | (who % 2 == k)) for k in range(2)]  # one person in both
    parts = [_of(_rows(table, some), MODELS[0], **_TWO) for some in rows]
    with pytest.raises(ValueError, match="must not share a person, whose records must be") as told:
        parts[0].merge(parts[1])
    assert not any(str(person) in str(told.value) for person in table["who"] if person > 9)
    with pytest.raises(TypeError, match="persons must be integers in all parts, or texts in all"):
        parts[0].merge(_of(_persons(text=True), MODELS[0], **_TWO))
    pa = pytest.importorskip("pyarrow")
    broken = pa.array([b"\xff7125", b"a"]).view(pa.string())
    for who in (
        broken,
        pa.array([1, None]),
        [1.0, 2.0],
        [None, "a"],
        [None, 1],
        np.array([1, 2], np.uint64),
        [True, False],
    ):
        rows: dict[str, Any] = {**_rows(table, slice(0, 2)), "who": who}
        with pytest.raises(TypeError, match="group column 'who' must hold integers up to int64"):
            _of(rows, MODELS[0], **_TWO)


@pytest.mark.parametrize("relation", _RELATIONS)
@pytest.mark.parametrize("most", [1, 2, 4])
def test_no_person_moves_the_moments_by_more_than_is_stated(relation: Any, most: int) -> None:
    """All pairs of 14 persons with up to 5 records, extreme ones among them; attained up to the
    grid (3e-4). Kills the sensitivity of one record, and of k where k + 1 count."""
    model = SufficientStatisticsRegressor(
        data_norm=1.0, bounds=(-1.0, 1.0), fit_intercept=False, neighboring=relation
    )
    rng = stream(0, "test-summaries-brute", "data")
    e, f = np.eye(3)[0], np.eye(3)[1]
    lines = [(e, 1.0), (e, -1.0), (f, -1.0), ((e + math.sqrt(3.0) * f) / 2.0, -1.0)]
    people = [([x] * 5, [y] * 5) for x, y in lines]
    people += [([e, f, e, -f, f][:m], [1.0, -1.0, 1.0, 1.0, 0.0][:m]) for m in (1, 2, 3, 5)]
    people += [(list(rng.standard_normal((m, 3))), list(rng.uniform(-1, 1, m))) for m in (1, 2, 5)]
    rest = _of(_table(*_data(50)), model)

    def moments(rows: Any, labels: Any) -> np.ndarray:
        table = {**_table(np.array(rows), np.array(labels)), "who": [7] * len(labels)}
        gram = _of(table, model, group="who", rows_each=most).gram + rest.gram
        return np.r_[gram[:3, :3].ravel(), gram[:3, 3]] * 2.0**-30

    found = [moments(*person) for person in people]
    nobody = np.r_[rest.gram[:3, :3].ravel(), rest.gram[:3, 3]] * 2.0**-30
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=relation)
    pairs = itertools.product(found, [nobody] if relation == "add_remove" else found)
    widest = max(float(np.linalg.norm(a - b)) for a, b in pairs)
    assert most * unit * (1.0 - 3e-4) < widest <= most * unit


@pytest.mark.parametrize("relation", _RELATIONS)
@pytest.mark.parametrize("kind", [SufficientStatisticsRegressor, AdaSSPRegressor])
@pytest.mark.parametrize("most", [None, 1, 5])
@pytest.mark.parametrize("budget", [{}, {"epsilon": 0.05, "delta": 1e-9}, {"epsilon": 6.0}])
def test_the_draws_compose_to_the_promise(
    kind: Any, relation: Any, most: int | None, budget: dict[str, float]
) -> None:
    """By dp-accounting, to 1e-3 from below. Kills noise of one record for a person of five, a
    statement that keeps quiet about persons, a draw that no ledger hears."""
    pytest.importorskip("dp_accounting")
    model = kind(**_GIVEN, neighboring=relation, **budget)
    given: dict[str, Any] = {} if most is None else {"group": "who", "rows_each": most}
    with ledger() as book:
        fit_summary(model, _of(_persons(), model, **given))
    spent = book.epsilon(delta=model.delta)
    assert 0.99 * model.epsilon < spent <= model.epsilon * (1 + 1e-4)
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=relation)
    if kind is SufficientStatisticsRegressor:
        moved = unit * (most or 1)
        told = gaussian_epsilon(delta=model.delta, sigma=model.sigma_, sensitivity=moved)
        assert 0.999 * model.epsilon < told <= model.epsilon
    person = "one person with all records (of each at most 5 count, chosen by their own values"
    assert (person in model.privacy_statement_) == (most == 5)
    assert ("person" in model.privacy_statement_) == (most is not None)


@pytest.mark.parametrize("kind", [SufficientStatisticsRegressor, AdaSSPRegressor])
def test_a_summary_of_persons_pays_from_a_budget_of_persons(kind: Any, tmp_path: Path) -> None:
    """And one of records from that of records, each at its price: no budget takes the other, for
    two persons change where a record becomes another person's. Kills a unit that is not told.
    """
    model, given = kind(**_GIVEN, neighboring="replace_one"), {"group": "who", "rows_each": 3}
    found = {"person": _of(_persons(), model, **given), "record": _of(_persons(), model)}
    for unit, other in (("person", "record"), ("record", "person")):
        budget = Budget(tmp_path / f"{unit}.json", epsilon=5.0, delta=1e-4, unit=unit)
        with budget:
            fit_summary(model, found[unit])
            rule = f"of one {unit}, and the guarantee of one {other}"
            with pytest.raises(BudgetError, match=rule):
                fit_summary(model, found[other])
        assert budget.spent() == (model.epsilon, model.delta)


def test_one_record_each_is_a_release_for_records() -> None:
    X, y = _data(300)
    table = {**_table(X, y), "who": np.arange(300)}
    found = _of(table, MODELS[0], group="who", rows_each=1)
    with ledger() as summed:
        ours = fit_summary(clone(MODELS[0]), found)
    with ledger() as fitted:
        own = clone(MODELS[0]).fit(X, y)
    assert _fitted(ours)[:5] == _fitted(own)[:5]
    assert [d.sensitivity for d in summed.draws] == [d.sensitivity for d in fitted.draws]


# Sketches read by the same reader, and workers.


def test_sketches_of_a_folder(tmp_path: Path) -> None:
    X, y = _data(500)
    X = np.clip(X, -3.0, 3.0)
    sketch_map = SketchMap("fourier", stream(0, "test-summaries", "public").standard_normal((3, 8)))
    whole = sketch(X, sketch_map)
    files = _write(tmp_path / "files", X, y, [1, 200], row_group_size=64)
    for size in (50, 65_536):
        found = sketch(batches(files, NAMES, batch_rows=size), sketch_map)
        np.testing.assert_array_equal(found.sum, whole.sum)
        assert found.count == 500
    with pytest.raises(ValueError, match="column 'q' must stand in the table"):
        sketch(batches(files, ["a", "b", "q"]), sketch_map)
    dask = pytest.importorskip("dask")
    with pytest.raises(TypeError, match="source must not be delayed"):
        list(batches([dask.delayed({"a": [1.0]})], ["a"]))


def test_a_batch_is_all_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the named columns are read, and at most ``batch_rows`` of them. Kills a reader that
    reads whole files, or asks for every column."""
    X, y = _data(300)
    files = _write(tmp_path / "files", X, y, [])
    seen: list[tuple[int, list[str]]] = []
    chunks = _files.RowGroup.chunks

    def spy(self: Any, names: Any, size: int) -> Iterator[Any]:
        for chunk in chunks(self, names, size):
            seen.append((len(chunk["a"]), list(chunk)))
            yield chunk

    monkeypatch.setattr(_files.RowGroup, "chunks", spy)
    summarise(files, MODELS[0], columns=["c", "a"], target="y", batch_rows=64)
    assert [count for count, _ in seen] == [64, 64, 64, 64, 44]
    assert all(names == ["c", "a", "y"] for _, names in seen)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_workers(allowed_failures=1) as client:
        yield client


def _deadly(k: int, folder: str, how: str) -> dict[str, Any]:
    """Return part k of the persons' table; one part ends its process, once or always."""
    marker = Path(folder) / "died"
    if k == 2 and (how == "always" or (how == "once" and not marker.exists())):
        marker.touch()
        os._exit(1)
    (Path(folder) / f"by-{os.getpid()}").touch()
    table = _rows(_persons(), slice(k, None, 6))
    if how == "nan" and k == 4:
        table["b"][3] = math.nan
    return table


@pytest.mark.filterwarnings("default")
def test_two_processes_and_a_worker_that_dies(cluster: Any, tmp_path: Path) -> None:
    """The same bits after a death, and with persons; a death for good is a clear error."""
    import dask

    def parts(how: str) -> list[Any]:
        return [dask.delayed(_deadly, pure=False)(k, str(tmp_path), how) for k in range(6)]

    pids = set(cluster.run(os.getpid).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
    whole = _of(_persons(), MODELS[0])
    np.testing.assert_array_equal(_of(parts("no"), MODELS[0]).gram, whole.gram)
    assert any((tmp_path / f"by-{pid}").exists() for pid in pids)
    assert not (tmp_path / f"by-{os.getpid()}").exists()
    died = _of(parts("once"), MODELS[0])
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(died.gram, whole.gram)
    few = _of(parts("no"), MODELS[0], **_TWO)
    np.testing.assert_array_equal(few.gram, _of(_persons(), MODELS[0], **_TWO).gram)
    with pytest.raises(ValueError, match=r"part 4: column 'b' must have no missing .* summarised"):
        _of(parts("nan"), MODELS[0])
    X, y = _data()
    files = _write(tmp_path / "files", X, y, [300, 400], row_group_size=128)
    read = _of(files, MODELS[0], distributed=True)
    np.testing.assert_array_equal(read.gram, _of(_table(X, y), MODELS[0]).gram)
    with pytest.raises(RuntimeError, match="workers died, nothing is summarised"):
        _of(parts("always"), MODELS[0])


@pytest.mark.parametrize("more", [{}, {"group": "who", "rows_each": 1}])
def test_a_block_leaves_nothing_to_the_next(more: dict[str, Any]) -> None:
    """A full block, a full one and a short one in one memory, against each in a memory of its own.

    Kills records of one block that stand in another, and persons' records that are written over.
    """
    X, y = _data(2 * grids._BLOCK + 100)
    table = {**dict(zip(NAMES, X.T, strict=True)), "y": y, "who": np.arange(len(y))}
    cuts = [slice(at, at + grids._BLOCK) for at in range(0, len(y), grids._BLOCK)]
    parts = [{name: column[cut] for name, column in table.items()} for cut in cuts]
    facts = {"columns": NAMES, "target": "y", **more}
    whole = summarise(table, MODELS[0], batch_rows=len(y), **facts)
    alone = merge_summaries(summarise(part, MODELS[0], **facts) for part in parts)
    np.testing.assert_array_equal(whole.gram, alone.gram)
    assert (whole.count, whole.ends) == (alone.count, alone.ends)
