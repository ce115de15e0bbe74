"""The page that puts every figure and table beside its target: number by number, or by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.claims import Record, library
from scripts.files import read_json
from scripts.layout import Layout

Row = tuple[str, str, str, str, str]
HEAD = ("what", "target", "ours", "difference", "allowed")
#: How far ours may lie from the target, by the check's method.
ALLOWED = {"at_most": "below", "at_least": "above", "refute": "must differ", "attains": "near"}


def number(value: Any) -> str:
    """Return a number in four digits, and other things as they are.

    Examples
    --------
    >>> number(0.25107378), number(1_000_000.0), number("none")
    ('0.2511', '1e+06', 'none')
    """
    return f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


def rows_of(check: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the lines of one check."""
    how = str(check["how"])
    if check["method"] == "reproduce":
        for row in check["rows"]:
            allowed = number(library.error_band(row)) + (" (missed)" if row["miss"] else "")
            gap = row["ours"] - row["paper"]
            yield row["setting"], number(row["paper"]), number(row["ours"]), number(gap), allowed
    elif check["method"] == "statement":
        yield how, str(check["expected"]), "so it is" if check["measured"] else "it is not", "", ""
    elif isinstance(check["measured"], (int, float)):
        aim, ours = float(check["expected"]), float(check["measured"])
        allowed = ALLOWED.get(check["method"]) or number(check["tolerance"])
        yield how, number(aim), number(ours), number(ours - aim), allowed


def checked(records: Sequence[Record], layout: Layout) -> Iterator[tuple[Record, list[Row]]]:
    """Yield the claims about figures and tables with their lines, archived ones where there are."""
    held = {r["slug"]: read_json(layout.results / f"{r['slug']}.json") or {} for r in records}
    archived = {r["id"]: r for told in held.values() for r in told.get("claims", [])}
    for record in records:
        if record["kind"] in ("figure", "table"):
            checks = archived.get(record["id"], record)["checks"] or record["checks"]
            yield record, [row for check in checks for row in rows_of(check)]
