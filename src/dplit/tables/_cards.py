"""The card of a released model: what it is, in JSON and on a page."""

from __future__ import annotations

import html
import math
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import dplit
from dplit.audit import Ledger
from dplit.mechanisms._draws import open_accounts
from dplit.tables.facts import TableFacts
from dplit.tables.released import _EXACT, _SHAPES


def _card(
    name: str,
    fitted: Any,
    facts: TableFacts,
    settings: Mapping[str, Any],
    told: Sequence[str],
    book: Ledger,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the release card."""
    return {
        "state": "finished",
        **about,
        "mechanism": name,
        "estimator": type(fitted).__name__,
        "task": facts.task,
        "guarantee": fitted.privacy_statement_,
        "neighbouring relation": fitted.neighboring_,
        "epsilon": fitted.epsilon_,
        "delta": fitted.delta_,
        **_constant(fitted),
        "draws of noise, in order (no number here depends on a record)": book.rows(),
        "stated as public": _stated(facts, settings),
        "warnings (from public numbers or from what is released)": list(told),
        "not covered": [
            "A second release from the same table spends its own budget: the epsilons add up.",
            "Bounds, categories and settings that were chosen by looking at the table.",
            "Time and memory; the executed notebook notes the time, so publish this folder only.",
            "Rows that the file itself lost or merged, for example by a quote that never closes.",
            "That the table was refused, if it was: no column may agree in no record with what is "
            "stated of it, and at least one record has a label.",
        ],
        "noise": _EXACT,
        "versions": {
            "dplit": dplit.__version__,
            "python": platform.python_version(),
            **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
        },
        "how to load": "from dplit import load_model\n"
        "model = load_model(FOLDER)\nmodel.predict([{COLUMN: VALUE, ...}])",
    }


def doubts(epsilon: float, delta: float, units: int | None, *, persons: bool = False) -> list[str]:
    """Say what a reader of the card should know of the budget, by public numbers."""
    told = []
    if epsilon > 10.0:
        told.append(
            f"epsilon {epsilon:g} is large: by the bound alone, what is released may be "
            f"{math.exp(min(epsilon, 700.0)):.2g} times as likely with a record as without it"
        )
    if units is not None and delta * units > 1.0:
        told.append(
            f"delta {delta:g} is above one over their number: the guarantee alone would "
            "allow to publish one of them whole"
        )
    return told


#: What a card says where nobody said anything.
UNSAID = "not said"


def stated_about(
    account: Any, table: str | None, stated_by: str | None, intended_use: str | None
) -> dict[str, Any]:
    """Return what a card is told by its owner; the table has the name that its budget has."""
    told = {"table": table, "stated_by": stated_by, "intended_use": intended_use}
    for name, text in told.items():
        if not isinstance(text, (str, type(None))):
            raise TypeError(f"{name} must be a text, got {name}={text!r}")
    told["table"] = table or (account.table if account else "")
    return {name.replace("_", " "): text or UNSAID for name, text in told.items()}


def said_of(units: int | None, about: Mapping[str, Any], of: str = "records") -> dict[str, Any]:
    """Return what a card says of a release besides its mechanism: when, of what, from which budget.

    ``units`` is how many records or persons there are, None where that is not public.
    """
    said = {"table": UNSAID, "date": datetime.now(UTC).date().isoformat(), **about}
    if units is not None:
        said[f"number of {of}, which is public"] = units
    accounts = []
    for account in open_accounts():
        with suppress(ValueError):  # of a file that is gone: what was drawn is drawn
            accounts.append(account.as_json())
    return said | {"budget on disk": accounts}


def _constant(fitted: Any) -> dict[str, Any]:
    """Return what a card says of a released constant."""
    if not hasattr(fitted, "interval_"):
        return {}
    low, high = fitted.interval_.tolist()
    if hasattr(fitted, "constant_"):
        value, what = fitted.constant_, "mean of the target"
    else:
        value, what = float(fitted.shares_.max()), "share of the most frequent class"
    return {f"{what} among the records fitted to, and 95 % interval": [value, low, high]}


def _stated(facts: TableFacts, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a card says is public."""
    return {
        "columns and their order": facts.columns,
        "columns not used": facts.ignore,
        "target (a record without it contributes nothing: the sensitivity is the same)": (
            facts.target or "none"
        ),
        "bounds (values outside are clipped)": facts.bounds,
        "categories (others count as the first, missing ones as '' if that is stated)": (
            facts.categories
        ),
        "classes (a record of none of them contributes nothing)": facts.classes,
        "fill of missing numbers (otherwise the middle of bounds or of the scale)": facts.fill,
        "skewed (read on a logarithmic scale)": facts.skewed,
        "pairs of columns that an additive model may join": facts.interactions,
        "decimals and groups of digits in texts": [facts.decimal, facts.thousands],
        "persons (column, and records of each that count at most; those of nobody do not)": (
            [facts.group, facts.rows_each] if facts.group else "none: each record is one"
        ),
        "clusters": facts.n_clusters or "none",
        "settings": {**settings} or "defaults, which read public numbers alone",
    }


def _page(card: Mapping[str, Any], picture: str = "") -> str:
    """Return the card, with a picture as an SVG element, as a page that needs nothing else."""

    def shown(value: Any, inside: bool = False) -> str:
        if isinstance(value, Mapping):
            rows = (
                f"<tr><th>{html.escape(str(k))}</th><td>{shown(v)}</td></tr>"
                for k, v in value.items()
            )
            return f"<table>{''.join(rows)}</table>" if value else "none"
        if isinstance(value, (list, tuple)):
            numbers = all(isinstance(one, (int, float)) for one in value)
            return (", " if numbers or inside else "<br>").join(
                shown(one, True) for one in value
            ) or "none"
        return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))

    style = (
        "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
        "table{border-collapse:collapse}td,th{border-top:1px solid #999;padding:.3em .8em;"
        "text-align:left;vertical-align:top;overflow-wrap:anywhere}td{white-space:pre-wrap}"
        "th{min-width:5em}table table th{max-width:14em}"
        "svg{max-width:100%;height:auto}@media(max-width:40em){td,th{display:block}}"
        "@media print{body{margin:0;font-size:11px}td,th{padding:.2em .6em}tr{break-inside:avoid}}"
    )
    title = f"Release card: {html.escape(card['mechanism'])}"
    if picture:
        picture = f"<h2>Shapes</h2><figure>{picture}<figcaption>{_SHAPES}</figcaption></figure>"
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{style}</style></head><body><h1>{title}</h1>{shown(card)}{picture}</body></html>\n"
    )
