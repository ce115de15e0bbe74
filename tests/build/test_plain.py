"""A run reads well without MyST: numbers, boxes, captions, references in plain Markdown."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import plain

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def markdown(text: str, *others: dict[str, Any], macros: Any = None) -> str:
    first = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": text}
    made = {"cells": [first, *others], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    numbers = {"a_b": 0.123456, "n": 7, "who": "ours"}
    return str(plain.plain(made, numbers, macros or {})["cells"][0]["source"])


def figure() -> dict[str, Any]:
    noted = {"name": "fig-a", "caption": "A < B.", "alt": "A picture of 'A'."}
    output = {"output_type": "display_data", "data": {"image/svg+xml": [SVG], "text/plain": ""},
              "metadata": {"dplit": {"figure": noted}}}  # fmt: skip
    return {"cell_type": "code", "id": "b", "metadata": {}, "source": "", "outputs": [output],
            "execution_count": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("myst", "told"),
    [
        ("{glue:text}`a_b:.3f` of {glue:text}`n:d`, {glue:}`who`", "0.123 of 7, ours"),
        ("{glue:text}`lost:.1f`", "(lost)"),
        ("{ref}`Theorem 2 <erm-thm2>`", "[Theorem 2](#erm-thm2)"),
        ("{prf:ref}`box-x`", "[box-x](#box-x)"),
        ("{cite:p}`nie2017` in {eq}`e`", "[nie2017] in (e)"),
        ("{numref}`fig-a`, {numref}`Figure %s <fig-b>`", "[fig-a](#fig-a), [Figure fig-b](#fig-b)"),
        ("(erm-thm2)=\nText.", '<a id="erm-thm2"></a>\n\nText.'),
        ("`{glue}` and $x_{t:t}$", "`{glue}` and $x_{t:t}$"),
        (":::{bibliography}\n:filter: x\n:::\nend", "end"),
        ("```{math}\n:label: e\nx\n```", "$$\nx\n$$"),
        ("```python\nx = {'a': 1}\n```", "```python\nx = {'a': 1}\n```"),
    ],
)
def test_roles_and_targets_become_words(myst: str, told: str) -> None:
    assert markdown(myst) == told


def test_boxes_are_quoted_and_dropdowns_fold() -> None:
    text = (
        "::::{dropdown} Proof\n:color: info\n\nFirst.\n\n"
        ":::{prf:theorem} Twice\n:label: box-a\n\n$2x$ is {glue:text}`n:d`.\n:::\n\nLast.\n::::\n"
        "```{admonition} Note\nA word.\n```"
    )
    assert markdown(text).split("\n") == [
        "<details><summary>Proof</summary>", "", "", "First.", "", '<a id="box-a"></a>', "",
        "> **Theorem (Twice)**", ">", ">", "> $2x$ is 7.", "", "Last.", "", "</details>",
        "> **Note**", ">", "> A word.",
    ]  # fmt: skip


def test_a_figure_has_its_number_and_caption_in_its_output() -> None:
    cell = figure()
    assert markdown("See {numref}`fig-a`.", cell) == "See [Fig. 1](#fig-a)."
    shown = cell["outputs"][0]["data"]["text/html"]
    assert "<figcaption>Fig. 1. A &lt; B.</figcaption>" in shown
    assert 'alt="A picture of &#x27;A&#x27;."' in shown
    assert '<img src="data:image/svg+xml;base64,' in shown


def test_macros_that_are_used_are_defined_first() -> None:
    macros = {"eps": "\\varepsilon", "norm": ["|#1|", 1], "E": "e", "tr": "t"}
    assert markdown("$\\eps \\norm{x} \\Epsilon$", macros=macros) == (
        "$\\newcommand{\\eps}{\\varepsilon}\\newcommand{\\norm}[1]{|#1|}$"
    )
    assert markdown("$x$", macros=macros) == "$x$"


@pytest.mark.filterwarnings("ignore")  # of nbconvert: deprecations of its own, not of the page
def test_nbconvert_keeps_numbers_boxes_and_captions() -> None:
    import nbformat
    from nbconvert import HTMLExporter

    text = (
        ":::{prf:theorem} Twice\n\nIt is {glue:text}`n:d`.\n:::\n\n:::{dropdown} More\nAb *c*.\n:::"
    )
    first = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": text}
    made = {"cells": [first, figure()], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ready = nbformat.from_dict(plain.plain(made, {"n": 7}, {}))
    page = HTMLExporter(template_name="basic").from_notebook_node(ready)[0]
    assert "<strong>Theorem (Twice)</strong>" in page
    assert "It is 7." in page
    assert "<summary>More</summary>" in page
    assert "<em>c</em>" in page
    assert "Fig. 1. A &lt; B.</figcaption>" in page
    for raw in ("glue", ":::", "{prf"):
        assert raw not in page
