"""The page of a run beside the book: what it says of itself, and where its links lead."""

from __future__ import annotations

from typing import Any

from scripts import rerun
from scripts.normalise import join


def cell(kind: str, text: str, html: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "id": "a", "metadata": {}, "source": text}
    if kind == "code":
        made["outputs"] = [{"output_type": "display_data", "data": {"text/html": html}}]
    return made


def test_a_page_says_that_it_is_a_run_and_leads_to_the_book() -> None:
    links = '<a href="../reference/m.html#f">f</a> <a href="../../_modules/m.html">s</a> '
    links += '<a href="#x">x</a>'
    cells = [
        cell("markdown", "# Title\n\nWords {cite:p}`a`, see the [index](../claims.md#row-a)."),
        cell("code", "x", links),
        cell("markdown", "the offer"),
    ]
    made = rerun.page({"cells": cells, "metadata": {}}, {"epsilon": 0.5, "data": "paper"})
    first, shown, works = made["cells"]
    source = join(first["source"])
    assert source.startswith("# Title\n\n:::{admonition} A run beside the book")
    assert "`epsilon = 0.5`, `data = 'paper'`" in source
    assert 'see the <a href="../html/book/claims.html#row-a">index</a>.' in source
    assert shown["outputs"][0]["data"]["text/html"] == (
        '<a href="../html/book/reference/m.html#f">f</a> <a href="../html/_modules/m.html">s</a> '
        '<a href="#x">x</a>'
    )
    assert "{bibliography}" in works["source"]


def test_a_run_with_the_chapters_own_parameters_names_none() -> None:
    assert "was made with" not in rerun.note({})
    assert rerun.injected({"metadata": {}}) == {}
    assert rerun.injected({"metadata": {"papermill": {"parameters": {"a": 1}}}}) == {"a": 1}
