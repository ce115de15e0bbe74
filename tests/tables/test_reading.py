"""Folders, tables and columns: each real file once, cells by positions, each cell by itself."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from dplit import SufficientStatisticsRegressor
from dplit._entries import is_missing
from dplit.tables._files import PARQUET, files_of, told_by_folders
from dplit.tables.fits import fit_summary
from dplit.tables.grids import Summary, merge_summaries
from dplit.tables.reading import numbers, persons
from dplit.tables.summaries import summarise

MODEL = SufficientStatisticsRegressor(data_norm=2.0, bounds=(0.0, 1.0), random_state=0)


def of(source: Any, **more: Any) -> Summary:
    return summarise(source, MODEL, columns=["a"], target="y", **more)


def written(path: Path, n: int = 10, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"a": np.arange(n) / n, "y": np.ones(n), **columns}
    parquet.write_table(pa.table(table), path, row_group_size=4)
    return path


def test_staged_and_hidden_files_are_no_records(tmp_path: Path) -> None:
    """As pyarrow's data set has it, at every level but that of the folder itself."""
    folder = tmp_path / "_given"
    for name in (
        "a.parquet",
        "below/b.PARQUET",
        "_temporary/0/a.parquet",
        ".part.parquet",
        "below/_staged.parquet",
        ".ipynb_checkpoints/a.parquet",
    ):
        written(folder / name)
    (folder / "_SUCCESS").touch()
    assert of(folder).count == 20
    (folder / "below" / "b.PARQUET").rename(folder / "below" / "b.parquet")
    seen = pa.dataset.dataset(folder, format="parquet") if hasattr(pa, "dataset") else None
    assert seen is None or seen.count_rows() == 20


def test_each_real_file_counts_once(tmp_path: Path) -> None:
    """Through links to files and folders, hard ones, and in a circle; linked folders are read."""
    folder = tmp_path / "given"
    first = written(folder / "a.parquet")
    written(tmp_path / "elsewhere" / "c.parquet", 5)
    (folder / "b.parquet").symlink_to(first)
    os.link(first, folder / "d.parquet")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    (folder / "again").symlink_to(folder)
    (folder / "twice").symlink_to(tmp_path / "elsewhere")
    assert of(folder).count == 15
    assert [path.name for path in files_of(folder, PARQUET)] == ["a.parquet", "c.parquet"]
    (folder / "e.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(FileNotFoundError, match=r"no link that leads nowhere: 'e\.parquet'"):
        of(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("_delta_log/0.json", "is a table of Delta, whose files hold removed records too"),
        (".hoodie/hoodie.properties", "is a table of Hudi"),
        ("metadata/v1.metadata.json", "is a table of Iceberg"),
        ("part-00000", "files of a folder must end in .parquet or .pq .*, got 'part-00000'"),
    ],
)
def test_a_folder_that_is_more_than_its_files_is_refused(
    tmp_path: Path, name: str, message: str
) -> None:
    written(tmp_path / "a.parquet")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{}")
    with pytest.raises(ValueError, match=message):
        of(tmp_path)


#: Names of folders, and what they tell of a column ``w``, which pyarrow reads alike.
TOLD: dict[tuple[str, ...], list[Any]] = {
    ("w=3", "w=-10"): [-10, 3],
    ("w=03", "w=__HIVE_DEFAULT_PARTITION__"): [3, None],
    ("w=a%20b", "w=c%2Fd"): ["a b", "c/d"],
    ("w=2.5", "w=x=y"): ["2.5", "x=y"],
    ("w=7", "beside"): [None, 7],
}


@pytest.mark.parametrize("folders", TOLD)
def test_names_of_folders_are_columns_as_pyarrow_reads_them(
    tmp_path: Path, folders: tuple[str, ...]
) -> None:
    for folder in folders:
        written(tmp_path / folder / "a.parquet", 5)
    files = files_of(tmp_path, PARQUET)
    told = [values["w"] for values in told_by_folders(tmp_path, files)]
    assert sorted(told, key=str) == sorted(TOLD[folders], key=str)
    table = dataset.dataset(tmp_path, partitioning="hive").to_table()
    assert sorted(table["w"].to_pylist(), key=str) == sorted(TOLD[folders] * 5, key=str)


def test_a_folder_with_a_column_in_its_names_is_the_table_with_the_column(tmp_path: Path) -> None:
    """Kills a value read as text, a lost or doubled file, a constant of the wrong length."""
    for ward in (3, 7):
        written(tmp_path / f"ward={ward}" / "a.parquet")
    plain = {"a": np.r_[np.arange(10), np.arange(10)] / 10, "ward": np.repeat([3, 7], 10)}
    model = SufficientStatisticsRegressor(data_norm=20.0, bounds=(0.0, 1.0), random_state=0)
    stated: dict[str, Any] = {"columns": ["ward", "a"], "target": "y"}
    whole = summarise({**plain, "y": np.ones(20)}, model, **stated)
    for size in (3, 100):
        found = summarise(tmp_path, model, **stated, batch_rows=size)
        np.testing.assert_array_equal(found.gram, whole.gram)
    alone = summarise(tmp_path, model, columns=["ward"], target="y")
    assert (alone.count, alone.labels) == (20, 20)
    people = summarise(tmp_path, model, **stated, group="ward", rows_each=1)
    assert people.persons.tolist() == [3, 7]
    written(tmp_path / "ward=__HIVE_DEFAULT_PARTITION__" / "a.parquet")
    with pytest.raises(ValueError, match="column 'ward' must have no missing value, or a stated"):
        summarise(tmp_path, model, **stated)
    assert summarise(tmp_path, model, **stated, fill={"ward": 5.0}).count == 30


def test_what_names_of_folders_tell_is_not_told_again(tmp_path: Path) -> None:
    """And a broken file by its name: what pyarrow says of it is not shown."""
    written(tmp_path / "y=2020" / "a.parquet")
    with pytest.raises(ValueError, match="column 'y' must stand there once"):
        of(tmp_path)
    written(tmp_path / "w=7531" / "w=7532" / "a.parquet")
    with pytest.raises(ValueError, match="must tell a column once") as told:
        of(tmp_path)
    assert "753" not in str(told.value)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "w=7531").write_text("secret")
    with pytest.raises(ValueError, match="must end in") as told:
        of(tmp_path / "b")
    assert "753" not in str(told.value)
    written(tmp_path / "c" / "a.parquet")
    (tmp_path / "c" / "b.parquet").write_text("secret")
    with pytest.raises(ValueError, match=r"^b\.parquet cannot be read as a Parquet file$") as told:
        of(tmp_path / "c")
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_names_that_match_nothing_are_not_told() -> None:
    table = {"Anna": [1.0], "79": [1.0]}
    with pytest.raises(ValueError, match="column 'a' must stand in the table, which has none"):
        of(table)
    with pytest.raises(ValueError, match=r"which has the columns \['a', 'b'\]"):
        of({"a": [1.0], "b": [1.0]})


def test_rows_are_taken_by_position(tmp_path: Path) -> None:
    """Labels of rows that are floats, of columns that are numbers, and polars; to the bit."""
    n = 1000
    columns = {"a": np.arange(n) / n, "y": np.ones(n)}
    plain = of(columns, batch_rows=64)
    index = np.linspace(0.0, 5.0, n)
    for frame in (
        pd.DataFrame(columns, index=index),
        polars.DataFrame(columns),
        {"a": polars.Series(columns["a"]), "y": pd.Series(columns["y"], index=index)},
    ):
        found = of(frame, batch_rows=64)
        assert found.count == n
        np.testing.assert_array_equal(found.gram, plain.gram)
    numbered = pd.DataFrame({0: columns["a"], 1: columns["y"]}, index=index)
    told = summarise(numbered, MODEL, columns=["0"], target="1")
    np.testing.assert_array_equal(told.gram, plain.gram)


class ByLabel:
    """A column as pandas below 3 has it: a plain slice of a float index goes by its labels."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.iloc, self.dtype = values, self, values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Any:
        return pd.Series(self.values[rows[0] if isinstance(rows, tuple) else rows])

    def to_numpy(self) -> np.ndarray:
        return self.values


class OldFrame:
    """A frame whose columns refuse plain slices."""

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self.held, self.columns, self.iloc = columns, list(columns), self

    def __getitem__(self, place: Any) -> ByLabel:
        if not isinstance(place, tuple):
            raise AssertionError("by label")
        return ByLabel(self.held[self.columns[place[1]]])


def test_no_slice_goes_by_label() -> None:
    """Kills ``column[at : at + size]``, whatever the version of pandas here."""
    columns = {"a": np.arange(100) / 100, "y": np.ones(100)}
    found = of(OldFrame(columns), batch_rows=7)
    np.testing.assert_array_equal(found.gram, of(columns).gram)


MISSING: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "NaN": lambda y: np.array([math.nan if v is None else v for v in y]),
    "pandas": lambda y: pd.Series(y, dtype="Float64"),
    "NaT, NA": lambda y: [
        [pd.NaT, pd.NA, math.nan][k % 3] if v is None else v for k, v in enumerate(y)
    ],
    "pyarrow": pa.array,
    "polars": polars.Series,
}


@pytest.mark.parametrize("name", MISSING)
def test_a_record_without_a_label_contributes_nothing(name: str) -> None:
    """The bits of the summary without it, whatever its columns say; and a stated fill counts."""
    held: list[Any] = [0.5, None, 1.0, None, None, 0.25]
    y = MISSING[name](held)
    known = [k for k, v in enumerate(held) if v is not None]
    a = np.array([0.1, 0.2, 0.3, 1e308, -0.5, 0.6])
    found = of({"a": a, "y": y})
    alone = of({"a": a[known], "y": [held[k] for k in known]})
    np.testing.assert_array_equal(found.gram, alone.gram)
    assert (found.labels, found.ends) == (alone.labels, alone.ends) == (3, alone.ends)
    filled = of({"a": a, "y": y}, fill={"y": 0.5})
    assert filled.labels == 6
    with pytest.raises(ValueError, match="column 'a' must have no missing value, or a stated one"):
        of({"a": y, "y": a})
    with pytest.raises(ValueError, match="summary must be of at least one record"):
        fit_summary(MODEL, of({"a": a[3:5], "y": y[3:5]}))


def test_pairs_and_persons_without_labels() -> None:
    """A record without one takes no place of another one of its person."""
    X, y = np.array([[0.1], [0.2], [0.3]]), np.array([0.5, math.nan, 1.0])
    np.testing.assert_array_equal(
        summarise((X, y), MODEL).gram, summarise((X[[0, 2]], y[[0, 2]]), MODEL).gram
    )
    for at in range(3):
        labels = [None if k == at else 0.5 for k in range(3)]
        table = {"a": [0.3, 0.3, 0.3], "y": labels, "who": ["p", "p", "p"]}
        found = of(table, group="who", rows_each=2)
        assert found.count == 2
        assert list(found.persons) == ["p"]  # type: ignore[arg-type]


def test_cells_of_lists_are_read_one_by_one() -> None:
    """With a fill what is no number is filled; no message has a cell, nor the longest's length."""
    odd = [1.0, "x", None, datetime(2020, 1, 2), 1 + 2j, Decimal("0.5"), True, 10**400]
    found = numbers("a", odd, 7.0)
    assert found[:7].tolist() == [1.0, 7.0, 7.0, 7.0, 7.0, 0.5, 1.0]
    assert found[7] > 1e308
    for wrong in (odd, ["secretsecret"], [1.0, 2j], [1.0, np.datetime64("2020-01-01")]):
        with pytest.raises(TypeError, match=r"^column 'a' must hold numbers, got others") as told:
            numbers("a", wrong)
        assert "12" not in str(told.value)
    with pytest.raises(TypeError, match="must hold numbers"):  # as none is one, whatever the fill
        numbers("a", ["30,5", "31,5"], 0.0)
    for kind in (np.array(["secret"]), pd.Series(["secret"]), np.array(["2020-01-01"], "M8[D]")):
        with pytest.raises(TypeError, match="column 'a' must hold numbers, got type") as told:
            numbers("a", kind)
        assert "6" not in str(told.value).replace("64", "")
    assert all(
        map(
            is_missing,
            (None, "", b" ", math.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")),
        )
    )
    assert not any(map(is_missing, (0, "nan", False, "NA")))


@pytest.mark.parametrize(
    "who",
    [
        ["ann", math.nan],
        ["ann", None],
        [1, 2, "1"],
        [True, 1],
        [1.0],
        [2**63],
        [b"a"],
        pd.array([2**60, 2**60 + 1, None], "Int64"),
        pd.array([1, None], "UInt8"),
        pd.Series([2**60, None], dtype="int64[pyarrow]"),
        pa.array([1, None]),
        np.array([1, 2], np.uint64),
        pd.Series([1.0, 2.0]),
    ],
)
def test_persons_of_whom_one_could_become_another_are_refused(who: Any) -> None:
    with pytest.raises(TypeError, match="group column 'who' must hold integers up to int64, or"):
        persons("who", who)


def test_no_two_persons_become_one() -> None:
    assert persons("who", ["a", "a\0", "b"]).tolist() == ["a", "a\0", "b"]
    large = [2**60, 2**60 + 1]
    for held in (
        large,
        pd.array(large, "Int64"),
        pd.Series(large, dtype="int64[pyarrow]"),
        pa.array(large),
        np.array(large),
    ):
        assert persons("who", held).tolist() == large


def test_the_same_records_twice_are_refused_where_it_can_be_seen(tmp_path: Path) -> None:
    """A summary and itself, its copies, what it was merged into, and one file in two calls; equal
    records of different tables are no fault.
    """
    import pickle

    table = {"a": [0.5, 1.0], "y": [1.0, 0.0]}
    one, other = of(table), of(table)
    both = one.merge(other)
    assert both.count == 4
    folder = tmp_path / "files"
    written(folder / "a.parquet")
    files = of(folder)
    written(folder / "b.parquet")
    pairs = [(one, one), (pickle.loads(pickle.dumps(one)), one), (both, other), (files, of(folder))]
    for mine, again in pairs:
        with pytest.raises(ValueError, match="summaries must be of different records, and two of"):
            mine.merge(again)
    (folder / "a.parquet").unlink()
    assert merge_summaries([files, of(folder), both]).count == 24
    assert "made" not in repr(one)
