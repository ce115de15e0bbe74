"""The HTML badge of a claim record; the build turns its ids into links."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

_STATUS = {"passed": "checked", "failed": "check failed", "not_run": "not run here"}


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:.6g}" if math.isfinite(value) else "not finite"
    return "" if value is None else html.escape(str(value))


def _allowance(check: Mapping[str, Any]) -> str:
    """Return what a comparison allows, or demands on top, as text behind it."""
    allowed = check.get("tolerance") or 0.0
    if not allowed:
        return ""
    return (
        f" (by more than {allowed:.2g})" if check["method"] == "refute" else f" (+- {allowed:.2g})"
    )


def _compared(check: Mapping[str, Any]) -> str:
    """Return what one check compared, with its numbers, as HTML."""
    if "rows" in check:
        inside = sum(row["within"] for row in check["rows"])
        return f"{inside} of {len(check['rows'])} within their error bands"
    if check["method"] in ("statement", "excludes"):
        return html.escape(str(check["expected"]))
    if "expected" not in check:
        return _number(check["measured"])
    relation = html.escape(check["relation"])
    numbers = f"{_number(check['measured'])} {relation} {_number(check['expected'])}"
    return numbers + _allowance(check)


#: The check on which a verdict rests, where it is not the first that compares numbers.
_RESTS_ON = {
    "erratum": "refute",
    "conditional": "refute",
    "sharp": "attains",
    "reproduced": "reproduce",
    "partly": "reproduce",
}


def _deciding(record: Mapping[str, Any]) -> str:
    """Return the number that decided, as HTML: of the first check that failed; else of that on
    which the verdict rests; else of the first that compares numbers. Nothing where none does.
    """
    if record["status"] == "not_run":
        return ""
    told = [check for check in record["checks"] if check["method"] not in ("statement", "excludes")]
    failed = [check for check in told if not check["ok"]]
    named = [check for check in told if check["method"] == _RESTS_ON.get(record["verdict"])]
    chosen = [*failed, *named, *told][:1]
    return "".join(
        f"<span class='dplit-decided' title='{html.escape(check['how'], quote=True)}'>"
        f"{_compared(check)}</span>"
        for check in chosen
    )


def _check_row(check: Mapping[str, Any]) -> str:
    mark = "✓" if check["ok"] else "✗"
    compared = _compared(check)
    if check.get("detectable"):
        compared += f" (sees {check['detectable']:.2g} with power 0.9)"
    how = html.escape(check["how"])
    return f"<tr><td>{mark}</td><td>{how}</td><td>{compared}</td></tr>"


def _span(name: str, text: str | None) -> str:
    return f"<span class='dplit-{name}'>{html.escape(text)}</span>" if text else ""


def _data_in_words(unasked: Iterable[Mapping[str, Any]]) -> str:
    names = sorted({name for check in unasked for name in check["data"]})
    return f"the paper's {' and '.join(names)} data"


def _unasked_html(record: Mapping[str, Any]) -> str:
    """Return which checks of a badge were not asked, for want of the paper's data."""
    unasked = record["unasked"]
    if not unasked:
        return ""
    count = f"{len(unasked)} check" + ("s" if len(unasked) > 1 else "")
    items = "".join(f"<li>{html.escape(check['how'])}</li>" for check in unasked)
    title = f"not asked, for want of {_data_in_words(unasked)}: {count}"
    return (
        f"<details class='dplit-unasked'><summary>{html.escape(title)}</summary>"
        f"<ul>{items}</ul></details>"
    )


def _badge_html(record: Mapping[str, Any]) -> str:
    """Return the badge of one record: verdict, status, title and the table of its checks."""
    rows = "".join(_check_row(check) for check in record["checks"])
    count = len(record["checks"])
    details = ""
    if count:
        label = f"{count} check" + ("s" if count > 1 else "")
        if record["status"] == "not_run":
            label += ", for information"
        details = (
            f"<details><summary>{label}</summary><div class='dplit-scroll'>"
            f"<table class='dplit-checks'><tbody>{rows}</tbody></table></div></details>"
        )
    reason = _span("reason", record["reason"])
    severity = _span("severity", record["severity"])
    compared = _span("reason", record["compared"] and f"Compared: {record['compared']}")
    corrected = (
        f"<p class='dplit-corrected'><b>Corrected.</b> {html.escape(record['corrected'])}</p>"
        if record["corrected"]
        else ""
    )
    title = html.escape(f"{record['place']}: {record['title']}")
    return (
        f"<div class='dplit-claim dplit-{record['status']}' data-claim='{record['id']}' "
        f"data-verdict='{record['verdict']}'>"
        f"<span class='dplit-verdict'>{record['verdict']}</span> {severity} "
        f"<span class='dplit-status'>{_STATUS[record['status']]}</span> {_deciding(record)} "
        f"<span class='dplit-title'>{title}</span> {reason} {compared}{corrected}{details}"
        f"{_unasked_html(record)}"
        f"<span class='dplit-links'></span></div>"
    )
