"""The boundary of tables: files and readers that fail without a cell, cells that are missing."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from dplit.tables import _csv_files, choosing, exploring
from dplit.tables._chunks import TableError
from dplit.tables._sources import opened
from dplit.tables.exploring import explore
from dplit.tables.facts import Problem, TableFacts, header_of, load_problem, read_rows, state_facts
from dplit.tables.mechanisms import mechanism

HEADER = ["age", "sex", "cost"]
SECRET = "Xq7secret"
LINES = [["40", "f", "1"], ["60", "m", "2"], ["80", "f", "3"]]
ENCODED = [[-0.2, 1.0, 0.0], [0.2, 0.0, 1.0], [0.6, 1.0, 0.0]]


def facts(header: list[str] | None = None, **changes: Any) -> TableFacts:
    stated: dict[str, Any] = {
        "target": "cost",
        "bounds": {"age": (0, 100), "cost": (0, 10)},
        "categories": {"sex": ("f", "m")},
        "classes": None,
        "fill": None,
        "ignore": None,
    }
    return state_facts(HEADER if header is None else header, **{**stated, **changes})


def text(separator: str = ",", lines: list[list[str]] | None = None) -> str:
    return "\n".join(
        separator.join(line) for line in [HEADER, *(LINES if lines is None else lines)]
    )


def chain_of(error: BaseException | None) -> str:
    """Return all that a traceback shows of an error."""
    said = ""
    while error is not None:
        said += str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return said


# Files.


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv.gz", gzip.compress),
        ("a.tsv.bz2", bz2.compress),
        ("a.TXT.xz", lzma.compress),
        ("a.csv", bytes),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "~"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_are_read_however_they_are_stored(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes], separator: str, encoding: str
) -> None:
    (tmp_path / name).write_bytes(pack(text(separator).encode(encoding)))
    given = {"separator": "~"} if separator == "~" else {}
    assert header_of(tmp_path / name, **given) == HEADER
    problem = load_problem(tmp_path / name, facts(), **given)
    np.testing.assert_allclose(problem.X, ENCODED, atol=1e-12)
    np.testing.assert_allclose(read_rows(tmp_path / name, facts(), **given), ENCODED, atol=1e-12)


def test_separators_in_quotes_are_no_separators(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"age";"a,b,c,d";"cost"\n1;2;3\n')
    assert header_of(tmp_path / "a.csv") == ["age", "a,b,c,d", "cost"]
    for wrong in ("", ",,", 3):
        with pytest.raises(TableError, match="separator must be one character, got separator="):
            header_of(tmp_path / "a.csv", separator=wrong)  # type: ignore[arg-type]


def test_a_folder_is_read_as_its_files_are(tmp_path: Path) -> None:
    """Columns in any order, hidden names skipped, links once; other columns are refused, and so is
    the same table in two forms, of which each record would count twice.
    """
    (tmp_path / "a.csv").write_text(text())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.csv").write_text("cost,age,sex\n1,60,m\n")
    (tmp_path / "_staged.csv").write_text(text())
    (tmp_path / ".b.csv").write_text(text())
    (tmp_path / "d.csv").symlink_to(tmp_path / "a.csv")
    problem = load_problem(tmp_path, facts())
    np.testing.assert_allclose(problem.X, [*ENCODED, [0.2, 0.0, 1.0]], atol=1e-12)
    (tmp_path / "e.csv").write_text(f"age,{SECRET}\n1,2\n")
    with pytest.raises(TableError, match=r"must have the same columns, and 'e\.csv' has others"):
        load_problem(tmp_path, facts())
    (tmp_path / "f.json").touch()
    with pytest.raises(TableError, match=r"must end in .*, got 'f\.json'"):
        load_problem(tmp_path, facts())
    (tmp_path / "f.json").unlink()
    table = {"cost": [1.0], "age": [60.0], "sex": ["m"]}
    parquet.write_table(pa.table(table), tmp_path / "b" / "c.parquet")
    assert len(load_problem(tmp_path / "b" / "c.parquet", facts()).X) == 1
    with pytest.raises(TableError, match="all CSV or all Parquet, got some of each"):
        load_problem(tmp_path, facts())


RECORD = json.dumps({"name": SECRET, "cost": 1})
NO_TABLES: dict[str, tuple[str, bytes, str]] = {
    "a JSON array": ("a.csv", f"[{RECORD}, {RECORD}]".encode(), "a.csv must be .* as JSON does"),
    "JSON over lines": ("a.csv", f"[\n  {RECORD}\n]".encode(), "begins as JSON does"),
    "JSON lines": ("a.csv", f"{RECORD}\n{RECORD}".encode(), "begins as JSON does"),
    "a page": ("a.txt", f"<!doctype html>{SECRET}".encode(), "begins as a page or XML does"),
    "a PDF file": ("a.csv", f"%PDF-1.7 {SECRET}".encode(), "begins as a PDF file does"),
    "a workbook": ("a.csv", b"PK\3\4" + SECRET.encode(), "is no text"),
    "Parquet": ("a.csv", b"PAR1" + SECRET.encode(), "is no text"),
    "bytes": ("a.csv", b"a,b\0" + SECRET.encode() + b"\n", "is no text"),
    "compressed": ("a.csv", gzip.compress(text().encode()), "its name must end in .gz, .bz2 or"),
    "not compressed": ("a.csv.gz", text().encode(), "a.csv.gz cannot be read as a CSV file"),
    "cut off": ("a.csv.gz", gzip.compress(text().encode() * 9999)[:-9], "cannot be read as a CSV"),
    "another ending": ("a.jsonl", RECORD.encode(), "file must end in .parquet, .pq, .csv"),
    "no ending": ("a", text().encode(), "file must end in .parquet, .pq, .csv"),
    "no names": ("a.csv", f"{SECRET},f,yes\n".encode(), "at least one column must be stated by"),
    "a stray quote": ("a.csv", f'age,"sex,cost\n{SECRET},f,1\n'.encode() * 9, "each name in one"),
    "a quote to the end": ("a.csv", f'age,"{SECRET * 99999}'.encode(), "cannot be read as a CSV"),
    "no Parquet": ("a.parquet", SECRET.encode(), "a.parquet cannot be read as a Parquet file"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused_without_a_cell(tmp_path: Path, name: str) -> None:
    """Nor in the chain of errors, which a traceback shows."""
    file, content, message = NO_TABLES[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(TableError, match=message) as told:
        load_problem(tmp_path / file, facts(header_of(tmp_path / file)))
    assert SECRET not in chain_of(told.value)


class Broken:
    """A table of pandas, or a part of dask's, whose error quotes a cell."""

    def __init__(self) -> None:
        self.columns, self.iloc = HEADER, self

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: Any) -> Any:
        raise ValueError(f"could not convert string to float: {SECRET}")

    def compute(self) -> Any:
        return self[0]


@pytest.mark.parametrize("whole", [True, False])
def test_no_package_quotes_a_cell(whole: bool) -> None:
    class Parts:
        columns, partitions = HEADER, [Broken()]

    with pytest.raises(TableError, match="cannot be read to its end by its package") as told:
        load_problem(Broken() if whole else Parts(), facts())
    assert SECRET not in chain_of(told.value)


def test_the_limit_of_fields_is_the_processes_own(tmp_path: Path) -> None:
    """In two threads and where C's long has 32 bits; kills a limit that stays, or is too large."""
    (tmp_path / "a.csv").write_text(text(lines=[["1", "x" * 200_000, "2"]] * 3))
    before = csv.field_size_limit(1000)
    try:
        with opened(tmp_path / "a.csv", 1) as (_, one), opened(tmp_path / "a.csv", 1) as (_, two):
            assert len(next(one)["sex"][0]) == len(next(two)["sex"][0]) == 200_000
            assert csv.field_size_limit() == 1000
            inside = threading.Barrier(2, timeout=60)

            def read(chunks: Any) -> None:
                with _csv_files._long_fields():
                    inside.wait()
                    assert csv.field_size_limit() == min(sys.maxsize, 2**31 - 1)
                next(chunks)

            threads = [threading.Thread(target=read, args=(chunks,)) for chunks in (one, two)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


# Names and numbers.


def test_names_may_be_numbers_where_they_are_stated(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2020,nan,0\n50,m,1\n")
    given: dict[str, Any] = {
        "target": 0,
        "bounds": {2020: (0, 100), "0": (0, 10)},
        "categories": {"nan": ("f", "m")},
    }
    for table in (tmp_path / "a.csv", pd.DataFrame({2020: [50], "nan": ["m"], 0: [1]})):
        problem = load_problem(table, facts(header_of(table), **given))
        assert problem.X.tolist() == [[0.0, 0.0, 1.0]]
        assert problem.y.tolist() == [1.0]
    with pytest.raises(TableError, match="2 of 3 names are numbers that nothing states") as told:
        facts(["7125", "33.5", "cost"])
    assert "7125" not in str(told.value)
    with pytest.raises(TableError, match=r"stated is nothing\. The first line of the table is not"):
        state_facts([SECRET])


def test_names_and_categories_are_compared_in_one_form() -> None:
    """Decomposed accents, blanks at the ends, bytes, numbers that are texts."""
    table = {"age ": [50, 50], "se\u0301x": ["e\u0301 ".encode(), "\u00e9"], "cost": [1, 2]}
    stated = facts(["age", "s\u00e9x", "cost"], categories={"s\u00e9x": ("e", "\u00e9")})
    assert load_problem(table, stated).X.tolist() == [[0.0, 0.0, 1.0]] * 2
    for values in (
        [1, 2.0, None],
        ["1", "2.0", ""],
        [1.0, Decimal(2), np.nan],
        [True, "02", pd.NA],
        pd.Series([1, 2, None]),
    ):
        table = {"age": [50] * 3, "sex": values, "cost": [1] * 3}
        found = load_problem(table, facts(categories={"sex": ("1", "2", "")}))
        assert found.X[:, 1:].argmax(axis=1).tolist() == [0, 1, 2]
    large = {"age": [50] * 2, "sex": [2**53, 2**53 + 1], "cost": [1] * 2}
    for told in ((str(2**53), str(2**53 + 1)), (2**53, 2**53 + 1)):
        found = load_problem(large, facts(categories={"sex": told}))
        assert found.X[:, 1:].argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("a", "a "), "different ones"),
        (("\u00e9", "e\u0301"), "different ones"),
        (("1", 1.0), "different as numbers"),
        (("true", 1), "different as numbers"),
        ((b"a", "a"), "different ones"),
    ],
)
def test_values_that_are_read_as_one_are_refused(values: Any, message: str) -> None:
    for changes in ({"categories": {"sex": values}}, {"classes": values}):
        with pytest.raises(TableError, match=message):
            facts(**changes)
    with pytest.raises(TableError, match="classes must not be blank"):
        facts(classes=("a", " "))


@pytest.mark.parametrize(
    ("marks", "read"),
    [
        ({"decimal": ","}, {"30,5": 30.5, "30": 30.0, ",5": 0.5, "1e1": 10.0, "30.5": None}),
        ({"decimal": ",", "thousands": "."}, {"1.030,5": 1030.5, "1.03": None, "1030,5": 1030.5}),
        ({"thousands": ","}, {"3,000": 3000.0, "12,34,567.5": 1234567.5, "3,0": None, "3.5": 3.5}),
        ({}, {"30,5": None, "30.5": 30.5, "-1e-1": -0.1}),
    ],
)
def test_numbers_are_read_as_they_are_written(
    tmp_path: Path, marks: dict[str, str], read: dict[str, float | None]
) -> None:
    """From a file and as texts; what is written otherwise is missing. A number stays one."""
    stated = facts(bounds={"age": (-2e6, 2e6), "cost": (0, 10)}, **marks)
    lines = [[cell, "f", "1"] for cell in read]
    (tmp_path / "a.csv").write_text(text(";", lines))
    expected = [0.0 if value is None else value / 2e6 for value in read.values()]
    np.testing.assert_allclose(load_problem(tmp_path / "a.csv", stated).X[:, 0], expected)
    again = TableFacts.from_json(json.loads(json.dumps(stated.as_json())))
    np.testing.assert_allclose(read_rows(tmp_path / "a.csv", again)[:, 0], expected)
    assert stated.encode({"age": [30.5], "sex": ["f"]})[0, 0] == 30.5 / 2e6


def test_marks_that_are_none_are_refused() -> None:
    for wrong in ({"decimal": ""}, {"decimal": "5"}, {"thousands": "xx"}, {"thousands": "-"}):
        with pytest.raises(TableError, match="must be one character that no number has otherwise"):
            facts(**wrong)
    with pytest.raises(TableError, match="decimal and thousands must differ"):
        facts(decimal=",", thousands=",")
    with pytest.raises(TableError, match="decimal= and thousands= say how they are written"):
        load_problem({"age": ["30,5"], "sex": ["f"], "cost": [1]}, facts())


@pytest.mark.parametrize(
    "day",
    [np.datetime64("2020-01-01", "ns"), np.timedelta64(5, "ns"), pd.Timestamp("2020"), 1 + 2j],
)
def test_days_durations_and_complex_numbers_are_no_numbers(day: Any) -> None:
    """Kills nanoseconds, which the highest bound would take."""
    table = {"age": np.array([day, day]), "sex": ["f"] * 2, "cost": [1, 2]}
    with pytest.raises(TableError, match="age is stated to hold numbers"):
        load_problem(table, facts())
    one = load_problem({**table, "age": [day, 100]}, facts())
    assert one.X[:, 0].tolist() == [0.0, 1.0]


# Missing cells.

BLANKS: dict[str, Callable[[list[Any]], Any]] = {
    "None": list,
    "NaN": lambda column: [float("nan") if v is None else v for v in column],
    "NaT": lambda column: [pd.NaT if v is None else v for v in column],
    "NA": lambda column: [pd.NA if v is None else v for v in column],
    "blank": lambda column: [" " if v is None else v for v in column],
    "pandas": pd.Series,
    "nullable": lambda column: pd.Series(column).convert_dtypes(),
    "arrow": pa.array,
    "polars": polars.Series,
}


@pytest.mark.parametrize("name", BLANKS)
@pytest.mark.parametrize("own", [True, False])
def test_a_missing_cell_is_one_thing_whatever_the_reader(name: str, own: bool) -> None:
    """The text "" where it is a category, else the first; the fill; and a record without label."""
    columns = {"age": [30, None, 50], "sex": ["m", None, "m"], "cost": [1.0, None, 3.0]}
    table = {column: BLANKS[name](values) for column, values in columns.items()}
    values = ("f", "m", "") if own else ("f", "m")
    problem = load_problem(table, facts(categories={"sex": values}, fill={"age": 70}))
    assert problem.X[:, 0] == pytest.approx([-0.4, 0.4, 0.0])
    assert problem.X[:, 1:].argmax(axis=1).tolist() == [1, 2 if own else 0, 1]
    assert problem.known is not None
    assert problem.known.tolist() == [True, False, True]
    np.testing.assert_array_equal(problem.labels(), [1.0, np.nan, 3.0])
    assert load_problem(table, facts(fill={"cost": 2})).labels().tolist() == [1.0, 2.0, 3.0]
    classes = facts(classes=("m", "f"), target="sex", categories=None)
    found = load_problem(table, classes)
    assert found.labels().tolist() == ["m", None, "m"]
    whole = load_problem({**table, "sex": ["m", "f", "m"]}, classes)
    assert whole.labels().dtype == found.labels().dtype  # no type tells that one is missing


def test_a_label_of_no_class_is_none() -> None:
    table = {"age": [30] * 4, "sex": ["m", "x", "f", " f "], "cost": [1] * 4}
    problem = load_problem(table, facts(classes=("f", "m"), target="sex", categories=None))
    assert problem.labels().tolist() == ["m", None, "f", "f"]
    assert problem.labelled().y.tolist() == ["m", "f", "f"]
    with pytest.raises(TableError, match="sex is stated to hold 'a', 'b', and no record does"):
        load_problem(table, facts(classes=("a", "b"), target="sex", categories=None))


def test_a_loss_of_a_record_without_a_label_is_none() -> None:
    """Kills a constant label in its place, which would judge the candidates."""
    problem = Problem(
        "some",
        "regression",
        np.zeros((3, 1)),
        np.array([1.0, 0.0, 1.0]),
        {"bounds": (0.0, 1.0)},
        1.0,
        (-np.ones(1), np.ones(1)),
        known=np.array([True, False, True]),
    )

    class Constant:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.ones(len(X))

    assert choosing._losses(problem, Constant(), np.arange(3)) == 0
    assert choosing._losses(problem, Constant(), np.array([1])) == 0


def test_exploring_leaves_records_without_a_label_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says which shares of cells are odd; stars nothing where nothing is worth a release."""
    one = mechanism("noisy_gradient", "regression")
    monkeypatch.setattr(exploring, "_applicable", lambda task, n_classes: [one])
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 60)
    y = [value if k % 3 else None for k, value in enumerate(x.tolist())]
    far = [value if k % 3 else 1e300 for k, value in enumerate(x.tolist())]
    told: dict[str, Any] = {"bounds": {"x": (0, 1), "y": (0, 1)}, "target": "y", "n_splits": 1}
    found = explore({"x": far, "y": y}, epsilons=(0.3, 30.0), **told)
    plain = explore({"x": x, "y": y}, epsilons=(0.3, 30.0), **told)
    assert found.scores["noisy_gradient"].tolist() == plain.scores["noisy_gradient"].tolist()
    assert found.not_private["linear"][0] > 0.9
    assert found.odd == pytest.approx({"y": 1 / 3})
    assert "33.3% of y is missing or not what is stated, and its record contributes" in str(found)
    worth = [told.estimator is not None for told in found.advice]
    assert worth == [False, True]
    assert [name is not None for name in found.recommended] == worth
    view = str(found)
    assert "Nothing is worth a release at epsilon 0.3: see advice." in view
    assert view.partition("\n*")[0].count("*") == 1
    found.plot()
    with pytest.raises(TableError, match="at least 10 records with a label"):
        explore({"x": x, "y": [*y[:9], *([None] * 51)]}, **told)
    thirds = {"x": (0, Fraction(1, 1)), "y": (0, Decimal(1))}
    again = explore({"x": x, "y": y}, **{**told, "bounds": thirds}, epsilons=(30.0,))
    assert again.facts.bounds == {"x": [0, 1.0], "y": [0, 1.0]}
