"""Executed notebooks become pages: nothing volatile, described figures, linked badges."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from scripts import normalise
from scripts.files import BuildError

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "dplit"
ALT = "A curve that falls from one to zero and stays there for large x."
SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"
RECORD = {
    "id": "dprf-thm7",
    "slug": "random_features",
    "place": "Theorem 7",
    "functions": ["dplit.streams.stream", "dplit.notebook.claims.Claim.equal"],
}


def code(*outputs: dict[str, Any], source: str = "x") -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": "random",
        "metadata": {"tags": [], "papermill": {"duration": 1.2}, "execution": {}},
        "execution_count": 17,
        "source": source,
        "outputs": list(outputs),
    }


def stream(text: str | list[str], name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def display(data: dict[str, Any], metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data, "metadata": metadata or {}}


def figure(name: str = "fig-a", caption: str = "A curve.", alt: str = ALT) -> dict[str, Any]:
    noted = {"dplit": {"figure": {"name": name, "caption": caption, "alt": alt}}}
    return display({"image/svg+xml": SVG, "text/plain": alt}, noted)


def badge(links: str = "<span class='dplit-links'></span>", **said: str) -> dict[str, Any]:
    return display({"text/html": f"<div>{links}</div>", normalise.CLAIM: {**RECORD, **said}})


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    metadata = {"papermill": {"start_time": "now"}, "language_info": {"version": "3.11.7"}}
    return {"cells": list(cells), "metadata": {**metadata, "widgets": {}}, "nbformat": 4}


def page(*cells: dict[str, Any], tested: set[str] | None = None) -> dict[str, Any]:
    return normalise.normalise(notebook(*cells), "toy", tested or set(), PACKAGE)


def shown(cell: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Return what the page shows of a cell's first output."""
    data: dict[str, Any] = page(cell, **given)["cells"][0]["outputs"][0]["data"]
    return data


def test_two_runs_that_differ_in_times_and_ids_give_equal_pages() -> None:
    first, second = notebook(code(stream("a"), stream("b"))), notebook(code(stream("ab")))
    second["metadata"]["papermill"]["start_time"] = "later"
    second["cells"][0].update(id="other", execution_count=3)
    pages = [normalise.normalise(n, "toy", set(), PACKAGE) for n in (first, second)]
    assert json.dumps(pages[0]) == json.dumps(pages[1])
    assert pages[0]["cells"][0]["execution_count"] == 1
    assert pages[0]["metadata"] == {"language_info": {}}
    assert pages[0]["cells"][0]["metadata"] == {}


def test_streams_are_joined_only_where_they_touch() -> None:
    made = page(code(stream("a"), stream("b"), display({"text/plain": "x"}), stream("c")))
    shown = made["cells"][0]["outputs"]
    assert [output.get("text") for output in shown] == ["ab", None, "c"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (stream("careful", "stderr"), "cell 2 writes to stderr: careful"),
        ({"output_type": "error", "evalue": "bad"}, "cell 2 holds an error: bad"),
        (stream("<object at 0x7f00deadbeef>"), "differs in each run"),
        (display({"text/plain": ["<A ", "at 0x7f00deadbeef>"]}), "differs in each run"),
        (display({"text/html": "ipykernel_123/4.py"}), "differs in each run"),
    ],
)
def test_what_must_not_be_shown_is_refused_with_its_cell(
    output: dict[str, Any], message: str
) -> None:
    with pytest.raises(BuildError, match=f"toy: {message}|toy: cell 2 shows .*{message}"):
        page(code(), code(output))


def test_a_figure_hands_its_text_to_the_cell() -> None:
    cell = page(code(figure()))["cells"][0]
    assert cell["metadata"]["mystnb"] == {
        "figure": {"name": "fig-a", "caption": "A curve."},
        "image": {"alt": ALT},
    }
    assert cell["outputs"][0]["metadata"] == {}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([code(figure(name=""))], "cell 1: the figure has no name"),
        ([code(figure(caption=" "))], "cell 1: the figure has no caption"),
        ([code(display({"image/png": "x"}))], "cell 1: the figure has no name"),
        ([code(figure(alt="short"))], "alt must have 40 to 300 characters, got 5"),
        ([code(figure(alt="x" * 301))], "alt must have 40 to 300 characters, got 301"),
        ([code(figure(caption=ALT))], "alt must differ"),
        ([code(figure()), code(figure(name="fig-b"))], "figure fig-b: alt must differ"),
        ([code(figure()), code(figure(alt=ALT + "!"))], "fig-a: the name is used twice"),
        ([code(figure(), figure(name="fig-b"))], "cell 1 shows 2 figures"),
    ],
)
def test_a_figure_that_is_not_described_is_refused(
    cells: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        page(*copy.deepcopy(cells))


def test_a_badge_links_functions_tests_and_index() -> None:
    told = shown(code(badge()), tested={"dprf-thm7"})["text/html"]
    for address in (
        "../reference/streams.html#dplit.streams.stream",
        "../reference/notebook.claims.html#dplit.notebook.claims.Claim.equal",
        "../tests/random_features.html#test-dprf-thm7",
        "../claims.html#row-dprf-thm7",
    ):
        assert f'<a href="{address}">' in told
    assert told.startswith("<div><span class='dplit-links'><a href=")
    assert told.endswith("</a></span></div>")
    assert "../tests/" not in shown(code(badge()))["text/html"]


def test_formulas_of_a_badge_are_typeset_and_prices_are_not() -> None:
    text = "<p>at most $2 \\kappa^2 &lt; x$, for $5 or $ 6</p><p>$y$</p>"
    told = shown(code(badge(text + "<span class='dplit-links'></span>")))["text/html"]
    formula = '<span class="math notranslate nohighlight">&#92;(2 \\kappa^2 &lt; x&#92;)'
    # the comma that follows a formula never begins a line
    assert f'at most <span class="dplit-nobreak">{formula}</span>,</span> for' in told
    assert "for $5 or $ 6</p>" in told
    assert told.count('class="math') == 2


@pytest.mark.parametrize(
    ("place", "terms"),
    [
        ("Theorem 7", ["Theorem 7", "dprf-thm7"]),
        ("Lemma 15, (16), (32)-(34)", ["Lemma 15", "dprf-thm7"]),
        ("ours", ["dprf-thm7"]),
    ],
)
def test_a_search_for_a_claim_leads_to_its_anchor(place: str, terms: list[str]) -> None:
    """Kills a mark behind the kind of entry, which Sphinx reads at the very start alone; a term
    more than twice as long as "Lemma 15", which a search for that passes over; and entries "ours".
    """
    text = {"cell_type": "markdown", "metadata": {}, "source": "(dprf-thm7)=\n(other)=\nA box."}
    cell = code(badge())
    cell["outputs"][0]["data"][normalise.CLAIM]["place"] = place
    first, *_ = page(text, cell)["cells"]
    entries = "".join(f"```{{index}} ! single: {term}\n```\n" for term in terms)
    assert first["source"] == entries + "(dprf-thm7)=\n(other)=\nA box."


def test_a_badge_without_a_place_for_links_is_refused() -> None:
    with pytest.raises(BuildError, match="badge of dprf-thm7 has no place for its links"):
        page(code(badge(links="")))


@pytest.mark.parametrize("name", ["numpy.linalg.norm", "dplit.streams", "dplit_other.f"])
def test_a_function_outside_the_packages_modules_is_refused(name: str) -> None:
    with pytest.raises(BuildError, match="is not in a module of dplit"):
        normalise.function_link(name, PACKAGE)


@pytest.mark.parametrize(
    ("source", "outputs", "prompt"),
    [
        ("# check: the bound against a search\nx", [figure()], "Check: the bound against a search"),
        ("# Figure: risk against m", [], "Figure: risk against m"),
        ("# your table: explore", [figure()], "Your table: explore"),
        ("# checked elsewhere\nx", [], None),
        ("x  # check: not the first word", [], None),
        ("c", [badge()], "Check: Theorem 7"),
        ("c", [badge(place="ours", title="a sharp bound")], "Check: a sharp bound"),
        ("show(x)", [figure()], "Code of the figure"),
        ("x", [stream("1")], None),
        ("x = 1\nassert x > 0\nglue_numbers(x=x)", [], "Check, computed"),
        ("x = 1\nglue_numbers(x=x)", [], "Numbers of the text"),
        ("import numpy", [], "Set-up"),
        ("x = 'import numpy'", [], None),
    ],
)
def test_a_fold_says_what_is_inside(
    source: str, outputs: list[dict[str, Any]], prompt: str | None
) -> None:
    for tags in (["hide-input"], ["hide-cell"], []):
        cell = code(*copy.deepcopy(outputs), source=source)
        cell["metadata"]["tags"] = tags
        noted = page(cell)["cells"][0]["metadata"].get("mystnb", {})
        told = prompt if tags else None
        assert (noted.get("code_prompt_show"), noted.get("code_prompt_hide")) == (told, told)


@pytest.mark.parametrize(
    ("cells", "caption", "told"),
    [
        (["seed: int = 0  # of all"], "Means of 9 trials.", "Means of 9 trials. Seed 0."),
        (["seed: int = 0", "# Parameters\nseed = 12\n"], "Means.", "Means. Seed 12."),
        (["seed: int = 0"], "Computed, no trials.", "Computed, no trials."),
        (["seed: int = 0"], "A bound. Closed form.", "A bound. Closed form."),
        (["seed: int = 0"], "Bounds, computed exactly.", "Bounds, computed exactly."),
        (["seed: int = 0"], "The exact noise.", "The exact noise. Seed 0."),
        (["n = 3", "", "", "seed = 7"], "Means.", "Means."),
    ],
)
def test_a_caption_tells_the_seed_of_what_was_drawn(
    cells: list[str], caption: str, told: str
) -> None:
    """Kills the default in the place of the run's seed, and a seed of a lesson's own cell."""
    made = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
    assert normalise.with_seed(caption, made) == told


def test_a_folded_table_is_named_by_its_caption() -> None:
    for caption, prompt in (
        ("Slack &lt; 1. All seeds.", "Table: slack < 1"),
        ("Table 2: by us.", "Table 2: by us"),
    ):
        shown = display({"text/html": f"<table><caption>{caption}</caption></table>"})
        cell = code(shown, source="show_table()")
        for tag, told in (("hide-cell", prompt), ("hide-input", "Code of the table")):
            cell["metadata"]["tags"] = [tag]
            assert normalise.fold_prompt(cell) == told


def test_the_page_ends_with_the_clean_notebook() -> None:
    last = page(code())["cells"][-1]
    assert last["cell_type"] == "markdown"
    assert "{download}`" in last["source"]
    assert "<../../notebooks/toy.ipynb>" in last["source"]


def test_records_are_found_by_type_and_in_order() -> None:
    made = notebook(code(badge()), code(display({normalise.PROVENANCE: {"seed": "0"}})))
    assert normalise.records(made, normalise.CLAIM) == [RECORD]
    assert normalise.records(made, normalise.PROVENANCE) == [{"seed": "0"}]


def test_printed_text_is_the_same_in_one_message_or_in_three() -> None:
    for pieces in (["a\nb\nc\n"], [["a\n", "b\n", "c\n"]], ["a\n", ["b\n"], "c\n"]):
        printed = page(code(*map(stream, pieces)))["cells"][0]["outputs"]
        assert printed == [stream("a\nb\nc\n")]


def test_curves_travel_no_further_than_the_run() -> None:
    """Kills a page that carries each figure's numbers a second time, unseen."""
    shown, table = figure(), display({"text/html": "<table><caption>C.</caption></table>"})
    for output in (shown, table):
        output["data"][normalise.CURVES] = {"name": "fig-a", "settings": {}, "curves": {}}
    assert normalise.CURVES not in json.dumps(page(code(shown), code(table)))


def test_the_specification_of_an_explorable_figure_stands_behind_its_cell() -> None:
    shown = figure()
    shown["data"][normalise.EXPLORE] = {"b": "</script>", "a": 1}
    cell, behind, *_ = page(code(shown))["cells"]
    assert cell["metadata"]["mystnb"]["figure"]["name"] == "fig-a"
    assert normalise.EXPLORE not in cell["outputs"][0]["data"]
    assert behind["cell_type"] == "markdown"
    assert behind["source"] == (
        '<script type="application/json" data-explore="fig-a">'
        '{"a":1,"b":"\\u003c/script>"}</script>'
    )


def test_columns_of_numbers_end_at_one_edge_and_powers_are_raised() -> None:
    """Kills an alignment of words, of one cell alone, or outside of our own tables."""
    from dplit.notebook.cells import _table_html

    columns = ["name", "value", "either", "none"]
    lines = [["a 2e+01", "7.98e+03", "1", ""], ["b", "-1.5e-12", "x", ""], ["c", "", "2 %", ""]]
    page = f"<p>3e+05</p>{_table_html(columns, lines, 'At 1e-05.')}<table><td>1</td></table>"
    found = html_of({"data": {"text/html": page}})
    assert found.count("dplit-number") == 4
    assert "<th scope='col' class='dplit-number'>value</th>" in found
    assert "<td class='dplit-number'>7.98·10<sup>3</sup></td><td>1</td><td></td>" in found
    assert "<td class='dplit-number'>-1.5·10<sup>−12</sup></td><td>x</td>" in found
    assert "<td>a 2·10<sup>1</sup></td>" in found
    assert "At 1·10<sup>−5</sup>." in found
    assert found.startswith("<p>3e+05</p>")
    assert found.endswith("<table><td>1</td></table>")
    assert html_of({"data": {"text/html": found}}) == found


def html_of(output: dict[str, Any]) -> str:
    notebook = {"cells": [{"cell_type": "code", "outputs": [output]}]}
    normalise.set_tables(notebook)
    return str(output["data"]["text/html"])
