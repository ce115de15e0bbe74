"""Frames and Parquet files are read as CSV files are; facts in Python; what agrees nowhere."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from dplit.tables import facts as tables
from dplit.tables._chunks import TableError
from dplit.tables.facts import TableFacts, header_of, load_problem, state_facts

HEADER = ["age", "sex", "smoker", "note", "cost"]
IN_PYTHON: dict[str, Any] = dict.fromkeys(("categories", "classes", "fill", "ignore"))


def facts(**changes: Any) -> TableFacts:
    stated: dict[str, Any] = {
        "target": "cost",
        "bounds": {"age": (20, 100), "smoker": (0, 1), "cost": (0, 1000)},
    }
    changes = {"categories": {"sex": ("f", "m")}, **changes}
    return state_facts(HEADER, **{**stated, **IN_PYTHON, "ignore": ["note"], **changes})


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": lambda columns: polars.DataFrame(columns, strict=False),
    "dask": lambda columns: dask.dataframe.from_pandas(pd.DataFrame(columns), npartitions=2),
    "pyarrow": pa.table,
    "parquet": pa.table,
    "mapping": dict,
    "arrays": lambda columns: {c: np.array(v, object) for c, v in columns.items()},
}


def records(n: int = 53) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    return {
        "age": [None if rng.random() < 0.2 else float(x) for x in rng.uniform(0, 120, n)],
        "sex": [[None, "f", "m", " m ", "x"][k] for k in rng.integers(5, size=n)],
        "smoker": [[None, True, False][k] for k in rng.integers(3, size=n)],
        "note": [""] * n,
        "cost": [float("nan") if x < 100 else float(x) for x in rng.uniform(0, 2000, n)],
    }


def framed(name: str, columns: dict[str, list[Any]], folder: Path) -> Any:
    """Return the columns as a table of that kind, or as a file of row groups of 7."""
    frame = FRAMES[name](columns)
    if name != "parquet":
        return frame
    parquet.write_table(frame, folder / "a.parquet", row_group_size=7)
    return folder / "a.parquet"


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_read_as_its_csv_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In chunks of 10; kills rows that a seam loses or doubles, other names, and truth values that
    are numbers in one source and missing in another. An empty frame says so.
    """
    monkeypatch.setattr(tables, "_CHUNK", 10)
    held = records()
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *zip(*held.values(), strict=True)])
    expected = load_problem(tmp_path / "a.csv", facts())
    frame = framed(name, held, tmp_path)
    assert header_of(frame) == HEADER
    found = load_problem(frame, facts())
    assert found.X.shape == (53, 4)
    assert np.array_equal(found.X, expected.X)
    assert np.array_equal(found.y, expected.y)
    assert set(found.X[:, 3]) == {-1.0, 0.0, 1.0}
    assert len(np.unique(found.X, axis=0)) > 40  # the comparison is not of constants
    with pytest.raises(TableError, match="at least one record"):
        load_problem(framed(name, {c: [] for c in HEADER}, tmp_path), facts())


@pytest.mark.parametrize("missing", [None, float("nan"), "", "  ", pd.NA])
def test_a_column_of_which_nothing_is_said_is_filled(missing: Any) -> None:
    """Kills a refusal of empty columns, which say nothing wrong."""
    held = records(12) | {"age": [missing] * 12, "sex": [missing] * 12}
    found = load_problem(held, facts())
    assert set(found.X[:, 0]) == {0.0}
    assert set(found.X[:, 1]) == {1.0}


DISAGREEING: dict[str, tuple[dict[str, list[Any]], dict[str, Any], str]] = {
    "classes": (
        {"cost": ["Yes", "No"] * 6},
        {"classes": ("yes", "no")},
        "cost is stated to hold 'yes', 'no', and no record does",
    ),
    "categories": ({"sex": ["F", "M"] * 6}, {}, "sex is stated to hold 'f', 'm', and no record"),
    "dates": ({"age": [date(2020, 1, 2)] * 12}, {}, "age is stated to hold numbers (a date is"),
    "texts": ({"age": ["old"] * 12}, {}, "age is stated to hold numbers"),
    "target": ({"cost": ["much"] * 12}, {}, "cost is stated to hold numbers"),
    "lists": ({"age": [[30]] * 12}, {}, "age is stated to hold numbers"),
}


@pytest.mark.parametrize("name", DISAGREEING)
def test_a_column_that_agrees_nowhere_is_refused(name: str) -> None:
    """And one record that agrees makes it a table; kills a refusal of single values, which would
    tell of a record, and one that quotes a value.
    """
    columns, changes, message = DISAGREEING[name]
    held = records(12) | columns
    with pytest.raises(TableError) as told:
        load_problem(held, facts(**changes))
    assert message in str(told.value)
    assert not any(repr(value) in str(told.value) for value in next(iter(columns.values())))
    column, values = next(iter(columns.items()))
    good = {"sex": "m", "age": 30, "cost": "yes" if name == "classes" else 30}[column]
    one = held | {column: [*values[:-1], good]}
    found = load_problem(one, facts(**changes))
    assert len(found.X) == 12
    loose = load_problem(held, facts(**changes), check=False)
    assert np.array_equal(loose.X[:-1], found.X[:-1])
    assert np.array_equal(loose.y[:-1], found.y[:-1])


def test_all_that_agrees_nowhere_is_told_at_once() -> None:
    held = records(12) | {"age": ["old"] * 12, "sex": ["F"] * 12}
    with pytest.raises(TableError, match=r"record at all:\n  age is stated .*\n  sex is stated"):
        load_problem(held, facts())


def test_days_are_texts() -> None:
    """From a moment at midnight too, as other packages hold days."""
    held = records(12) | {"sex": [date(2020, 1, 2), datetime(2020, 1, 2), datetime(2020, 1, 1)] * 4}
    found = load_problem(held, facts(categories={"sex": ("2020-01-01", "2020-01-02")}))
    assert found.X[:3, 1:3].tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([True, False, "True", "false", "FALSE", 1], (0, 1)),
        (["True", False, True, "0", 0.0, "1"], (False, True)),
        ([np.True_, np.False_, np.int64(1), np.float32(0), 0, 1], np.array([0, 1])),
    ],
)
def test_truth_values_and_numbers_are_classes(values: list[Any], classes: Any) -> None:
    """Kills truth values that all count as the first class because their text is no number."""
    found = load_problem(records(6) | {"cost": values}, facts(classes=classes))
    assert found.y.tolist() == [1, 0, 1, 0, 0, 1]


def test_facts_in_python_are_those_in_json() -> None:
    """Tuples, arrays and numpy's scalars; they can be written into a release."""
    one = facts(
        bounds={"age": np.array([20.0, 100.0]), "smoker": [0, np.int64(1)], "cost": (0.0, 1e3)},
        categories={"sex": ("f", np.str_("m"))},
        fill={"age": np.float64(40.0)},
    )
    two = state_facts(
        HEADER,
        target="cost",
        categories='{"sex": ["f", "m"]}',
        fill='{"age": 40}',
        bounds='{"age": [20, 100], "smoker": [0, 1], "cost": [0, 1000]}',
        ignore='["note"]',
    )
    assert one == two
    assert TableFacts.from_json(one.as_json()) == one


def test_what_is_missing_is_told_in_python() -> None:
    """All at once, in a form that runs; kills the form of papermill, and one without texts."""
    with pytest.raises(TableError) as told:
        state_facts(HEADER, target="cost", bounds={"age": (20, 100)}, **IN_PYTHON)
    lines = str(told.value).split("\n  ")
    assert lines[1].endswith("or for classes classes=('FIRST', 'SECOND')")
    form = eval(f"dict({lines[2].partition(': ')[2]})")
    blank = dict.fromkeys(("sex", "smoker", "note", "cost"), ("LOW", "HIGH"))
    assert form == {"bounds": {"age": (20, 100)} | blank}
    assert eval(f"dict({lines[4].partition(': ')[2]})") == {"ignore": ("sex", "smoker", "note")}
    assert "-p" not in str(told.value)


def test_indicators_are_the_places_of_each_text() -> None:
    found = facts(
        bounds={"smoker": (0, 1), "cost": (0, 1)},
        categories={"age": ("a", "b", "c"), "sex": ("f", "m")},
    )
    assert found.indicators == ((0, 1, 2), (3, 4))
    problem = load_problem(records(20) | {"age": ["b"] * 20}, found)
    assert problem.indicators == found.indicators
    for group in found.indicators:
        assert np.all(problem.X[:, list(group)].sum(axis=1) == 1.0)
    assert problem.X[:, 1].tolist() == [1.0] * 20
    assert facts().indicators == ((1, 2),)


def test_three_thousand_columns_are_read_and_told(tmp_path: Path) -> None:
    """A constant one among them; kills lists that are searched for every name, by their time."""
    header = [f"c{k}" for k in range(3000)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(header), *[",".join(["0.5"] * 3000)] * 12]))
    with pytest.raises(TableError) as told:
        state_facts(header_of(path), target="c0", bounds={"c0": (0, 1)}, **IN_PYTHON)
    assert "'c2999': ('LOW', 'HIGH')" in str(told.value)
    stated = state_facts(header, target="c0", bounds=dict.fromkeys(header, (0, 1)), **IN_PYTHON)
    problem = load_problem(path, stated)
    assert problem.X.shape == (12, 2999)
    assert np.all(problem.X == 0.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must name the columns in its first line; it is empty"),
        (b"\n", "must name the columns in its first line; it is empty"),
        (b"age,sex,smoker,note,cost\n", "at least one record"),
    ],
)
def test_an_empty_file_says_so(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(TableError, match=message):
        load_problem(tmp_path / "a.csv", facts())


def test_what_is_no_table_is_refused() -> None:
    for wrong in (3, None, np.zeros((3, 2)), [1, 2]):
        with pytest.raises(TableError, match="file must be a path, a table of pandas, polars"):
            header_of(wrong)
    with pytest.raises(TableError, match="columns that are equally long"):
        header_of({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_names_of_folders_are_columns(tmp_path: Path, ending: str) -> None:
    """Of CSV and Parquet files alike; one value never changes how another is read."""
    told = {
        "ward=3": "3",
        "ward=__HIVE_DEFAULT_PARTITION__": None,
        "ward=north%20side": "north side",
    }
    every: dict[str, list[Any]] = {"age": [], "ward": [], "cost": []}
    for k, (folder, ward) in enumerate(sorted(told.items())):
        table = pd.DataFrame({"cost": [1.0 + k, 2.0 + k], "age": [20 + k, 90]})
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"part.{ending}"
        table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
        every["age"] += table["age"].tolist()
        every["cost"] += table["cost"].tolist()
        every["ward"] += [ward] * 2
    assert header_of(tmp_path) == ["cost", "age", "ward"]
    for stated in (
        {"categories": {"ward": ("", "3", "north side")}},
        {"bounds": {"age": (0, 99), "cost": (0, 9), "ward": (0, 9)}, "fill": {"ward": 2.0}},
    ):
        given: dict[str, Any] = {"target": "cost", "bounds": {"age": (0, 99), "cost": (0, 9)}}
        found = state_facts(header_of(tmp_path), **{**given, **stated})
        read, plain = load_problem(tmp_path, found), load_problem(every, found)
        np.testing.assert_array_equal(read.X, plain.X)
        np.testing.assert_array_equal(read.y, plain.y)


class Raising:
    """A cell that raises whatever it is asked."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __float__ = __eq__ = __str__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        (Raising(), 0.0),
        ("9_0", 0.0),
        (b"9_0", 0.0),
        (10**400, 1.0),
        (-(10**400), -1.0),
        ("90\xa0", 0.8),
        ("inf", 1.0),
        ([90], 0.0),
    ],
    ids=["raising", "underscore", "bytes", "huge", "least", "blank", "inf", "list"],
)
def test_a_strange_cell_is_read_by_itself(cell: Any, read: float) -> None:
    """It neither raises nor counts as a number that only Python takes it for."""
    columns = {"age": [10, cell], "sex": ["f", Raising()], "cost": [1.0, 2.0]}
    stated = {"target": "cost", "bounds": {"age": (0, 100), "cost": (0, 9)}}
    found = load_problem(
        columns, state_facts(list(columns), categories={"sex": ("f", "m")}, **stated)
    )
    np.testing.assert_allclose(found.X, [[-0.8, 1.0, 0.0], [read, 1.0, 0.0]])


def test_no_class_is_a_number_to_python_alone() -> None:
    columns = {"a": [0.5, 0.5], "y": ["1_0", "10"]}
    told = state_facts(["a", "y"], target="y", bounds={"a": (0, 1)}, classes=(10, 20))
    assert load_problem(columns, told).known.tolist() == [False, True]


def test_one_text_is_no_column_and_one_batch_is_a_table() -> None:
    told = state_facts(["a"], n_clusters=1, bounds={"a": (0, 9)})
    with pytest.raises(TableError, match="column 'a' must hold a value for every record"):
        load_problem({"a": "123"}, told)
    batch = pa.RecordBatch.from_pydict({"a": [0.0, 9.0]})
    assert load_problem(batch, told).X.ravel().tolist() == [-1.0, 1.0]
