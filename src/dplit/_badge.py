"""The HTML badge of a claim record; the build turns its ids into links."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

_STATUS = {"passed": "checked", "failed": "check failed", "not_run": "not run here"}


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, (int, float)) else html.escape(str(value))


def _check_row(check: Mapping[str, Any]) -> str:
    mark = "✓" if check["ok"] else "✗"
    if "rows" in check:
        inside = sum(row["within"] for row in check["rows"])
        compared = f"{inside} of {len(check['rows'])} within"
    elif check["method"] in ("statement", "excludes"):
        compared = html.escape(str(check["expected"]))
    elif "expected" in check:
        relation = html.escape(check["relation"])
        compared = f"{_number(check['measured'])} {relation} {_number(check['expected'])}"
    else:
        compared = _number(check["measured"])
    if check.get("detectable"):
        compared += f" (sees {check['detectable']:.2g} with power 0.9)"
    how = html.escape(check["how"])
    return f"<tr><td>{mark}</td><td>{how}</td><td>{compared}</td></tr>"


def _span(name: str, text: str | None) -> str:
    return f"<span class='dplit-{name}'>{html.escape(text)}</span>" if text else ""


def badge_html(record: Mapping[str, Any]) -> str:
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
    corrected = (
        f"<p class='dplit-corrected'><b>Corrected.</b> {html.escape(record['corrected'])}</p>"
        if record["corrected"]
        else ""
    )
    title = html.escape(f"{record['place']}: {record['title']}")
    return (
        f"<div class='dplit-claim dplit-{record['status']}' data-claim='{record['id']}' "
        f"data-verdict='{record['verdict']}'>"
        f"<span class='dplit-verdict'>{record['verdict']}</span>{severity}"
        f"<span class='dplit-status'>{_STATUS[record['status']]}</span>"
        f"<span class='dplit-title'>{title}</span>{reason}{corrected}{details}"
        f"<span class='dplit-links'></span></div>"
    )
