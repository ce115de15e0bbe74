"""Parquet files as pyarrow writes them are read as CSV files are, value by value."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dplit.tables import facts as tables
from dplit.tables._chunks import TableError
from dplit.tables.facts import TableFacts, header_of, load_problem, state_facts

HEADER = ["age", "sex", "visits", "note", "cost"]


def facts(categories: str = '{"sex": ["f", "m"]}') -> TableFacts:
    bounds = '{"age": [20, 100], "visits": [0, 10], "cost": [0, 1000]}'
    return state_facts(
        HEADER, target="cost", bounds=bounds, categories=categories, ignore='["note"]'
    )


def table(n: int = 4, **columns: pa.Array) -> pa.Table:
    """Return n records, with columns of one's own."""
    plain = {
        "age": pa.array([60.0] * n),
        "sex": pa.array(["m"] * n),
        "visits": pa.array([5] * n),
        "note": pa.array([""] * n),
        "cost": pa.array([500] * n),
    }
    return pa.table(plain | columns)


PLAIN = [0.0, 0.0, 1.0, 0.0]


def loaded(path: Path, records: pa.Table, **layout: Any) -> tables.Problem:
    parquet.write_table(records, path, **layout)
    return load_problem(path, facts(), check=False)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        pytest.param(pa.array([100, None], pa.int64()), [1.0, 0.0], id="integers with nulls"),
        pytest.param(pa.array([2**64 - 1, 20], pa.uint64()), [1.0, -1.0], id="large integers"),
        pytest.param(pa.array(np.array([80, np.nan], np.float16)), [0.5, 0.0], id="half floats"),
        pytest.param(pa.array([Decimal("80.0"), None]), [0.5, 0.0], id="decimals"),
        pytest.param(pa.array([80, None]).dictionary_encode(), [0.5, 0.0], id="a dictionary"),
        pytest.param(pa.array(["80", "text"]), [0.5, 0.0], id="texts"),
        pytest.param(pa.array([True, None]), [-1.0, 0.0], id="truth values"),
        pytest.param(pa.nulls(2), [0.0, 0.0], id="nulls"),
        pytest.param(pa.array([[80], None]), [0.0, 0.0], id="lists"),
        pytest.param(pa.array([{"x": 80}, None]), [0.0, 0.0], id="records"),
    ],
)
def test_numbers_of_all_types_are_numbers(
    tmp_path: Path, column: pa.Array, expected: list[float]
) -> None:
    """What is no number is filled with the middle of the bounds."""
    found = loaded(tmp_path / "a.parquet", table(2, age=column))
    assert found.X[:, 0].tolist() == expected
    assert found.X[:, 1:].tolist() == [PLAIN[1:]] * 2


@pytest.mark.parametrize(
    ("column", "values"),
    [
        pytest.param(pa.array(["b", None, "a"]), '["a", "b"]', id="texts"),
        pytest.param(pa.array(["b", "c", "a"], pa.large_string()), '["a", "b"]', id="long texts"),
        pytest.param(pa.array(["b", None, "a"]).dictionary_encode(), '["a", "b"]', id="categories"),
        pytest.param(pa.array([2, None, 1]).dictionary_encode(), "[1, 2]", id="coded numbers"),
        pytest.param(pa.array([2, 7, 1], pa.int8()), "[1, 2]", id="numbers"),
        pytest.param(pa.array([2.0, None, 1.0]), "[1, 2]", id="numbers that were integers"),
        pytest.param(pa.array([True, None, False]), '["False", "True"]', id="truth values"),
        pytest.param(
            pa.array([date(2020, 1, 2), None, date(2020, 1, 1)]),
            '["2020-01-01", "2020-01-02"]',
            id="days",
        ),
    ],
)
def test_categories_of_all_types_are_categories(
    tmp_path: Path, column: pa.Array, values: str
) -> None:
    """The second, then a missing or unknown one, which counts as the first, then the first."""
    parquet.write_table(table(3, sex=column), tmp_path / "a.parquet")
    found = load_problem(tmp_path / "a.parquet", facts(f'{{"sex": {values}}}'))
    assert found.X[:, 1:3].tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


def texts_with(value: bytes) -> pa.Array:
    """Return texts of which the second need not be one: other programs write such files."""
    held = pa.array([b"m", value, b"m", b"m"])
    return pa.Array.from_buffers(pa.string(), 4, held.buffers())


#: Columns of which the second value cannot be had in Python; the others of texts are "m".
BEYOND = [
    pytest.param(texts_with(b"\xff\xfe"), id="broken UTF-8"),
    pytest.param(pa.array([0, 10**9, 0, 0], pa.int32()).cast(pa.date32()), id="a day"),
    pytest.param(pa.array([0, 2**62, 0, 0]).cast(pa.timestamp("us")), id="a moment"),
    pytest.param(pa.array([0, 1, 0, 0]).cast(pa.timestamp("ns")), id="a nanosecond"),
    pytest.param(pa.array([0, 2**62, 0, 0]).cast(pa.duration("s")), id="a duration"),
    pytest.param(pa.array([0, 1, 0, 0]).cast(pa.time64("ns")), id="a time"),
]


@pytest.mark.parametrize("column", BEYOND)
@pytest.mark.parametrize("name", ["age", "sex", "note", "cost"])
def test_a_value_that_python_cannot_hold_is_missing_and_changes_no_other_row(
    tmp_path: Path, name: str, column: pa.Array
) -> None:
    """An exception would tell that the table has such a record; kills a column lost for one."""
    if column.type not in (pa.timestamp("ns"), pa.time64("ns")):  # which pandas can hold
        with pytest.raises((ValueError, OverflowError)):
            column.to_pylist()
    found = loaded(tmp_path / "a.parquet", table(**{name: column}))
    others = loaded(tmp_path / "b.parquet", table(**{name: column.take(pa.array([0, 0, 2, 3]))}))
    kept = [0, 2, 3]
    assert np.array_equal(found.X[kept], others.X[kept])
    assert np.array_equal(found.y[kept], others.y[kept])
    missing = loaded(tmp_path / "c.parquet", table(**{name: pa.nulls(4, column.type)}))
    assert np.array_equal(found.X[1], missing.X[1])
    assert found.y[1] == missing.y[1]
    if name == "sex" and column.type == pa.string():
        assert found.X[:, 2].tolist() == [1.0, 0.0, 1.0, 1.0]


def damaged(path: Path) -> bytes:
    """Return a file whose footer is whole and whose first page is not."""
    parquet.write_table(table(), path)
    raw = bytearray(path.read_bytes())
    raw[4:40] = bytes(255 - byte for byte in raw[4:40])
    return bytes(raw)


def test_a_file_that_is_no_parquet_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    whole = damaged(path)
    for content in (b"", b"PAR1", b"age,cost\n1,2\n", whole[:-9], whole):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"^a\.parquet cannot be read as a Parquet file$"):
            load_problem(path, facts())


def test_without_pyarrow_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(table(), tmp_path / "a.pq")
    assert header_of(tmp_path / "a.pq") == HEADER
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pip install pyarrow, or write the table as CSV"):
        header_of(tmp_path / "a.pq")
