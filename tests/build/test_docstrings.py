"""From the pages of the package to the claims: a line at each function, a link for each id."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from docutils import nodes
from docutils.utils import new_document
from dplit_book import docstrings
from sphinx import addnodes

REGISTRY = {
    "toy-thm1": {"place": "Theorem 1", "title": "Doubling", "functions": ["m.C", "m.C.f"]},
    "toy-eq-D": {"place": "(2)", "title": "Halving", "functions": ["m.C.f"]},
}


def described(name: str, *inside: nodes.Node) -> addnodes.desc:
    """Return what autodoc makes of an object: its signature, then what its docstring says."""
    head = addnodes.desc_signature(name, name, ids=[name])
    return addnodes.desc("", head, addnodes.desc_content("", *inside))


def tree(*inside: nodes.Node) -> nodes.document:
    document = new_document("a page")
    document += list(inside)
    return document


def targets(node: nodes.Node) -> list[str]:
    return [found["reftarget"] for found in node.findall(addnodes.pending_xref)]


def test_classes_and_methods_end_in_the_claims_that_name_them() -> None:
    """Kills a line of the class below its methods, or one that goes to every method."""
    other = described("m.C.g", nodes.paragraph("", "Another."))
    method = described("m.C.f", nodes.paragraph("", "Return."))
    words = nodes.paragraph("", "A class.")
    page = tree(described("m.C", words, addnodes.index(), method, addnodes.index(), other))
    docstrings.add_lines(page, REGISTRY, "book/reference/m")
    told = [part.astext() for part in page[0][1] if isinstance(part, nodes.paragraph)]
    assert told == ["A class.", "Claim: toy-thm1 (Theorem 1: Doubling)"]
    assert page[0][1].index(method) == 3
    assert method[1][-1].astext() == "Claims: toy-thm1 (Theorem 1), toy-eq-D ((2))"
    assert targets(method) == ["toy-thm1", "toy-eq-d"]  # labels are in lower case
    assert len(other[1]) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As toy-thm1 says, and toy-eq-D.", ["toy-thm1", "toy-eq-d"]),
        ("Of toy-thm2, fig-toy-thm1, toy-thm1-x and toy-thm12 nothing.", []),
    ],
)
def test_ids_in_the_text_are_links_if_they_are_registered(text: str, expected: list[str]) -> None:
    """Kills a link for whatever looks like an id or begins like one, and lost text around it."""
    page = tree(nodes.paragraph("", text))
    docstrings.link_ids(page, REGISTRY, "book/reference/m")
    assert page.astext() == text
    assert targets(page) == expected


def test_code_formulas_and_signatures_keep_their_ids() -> None:
    """Kills an example or a link that is torn apart; an id alone in code is no example."""
    link = nodes.reference("", "see toy-thm1", refuri="x")
    inline = [nodes.literal("", "f(toy-thm1)"), nodes.math("", "toy-thm1"), link]
    example = nodes.doctest_block("", ">>> stream(0, 'toy-thm1')")
    alone = nodes.paragraph("", "", nodes.literal("", "toy-thm1"))
    page = tree(described("toy-thm1", nodes.paragraph("", "", *inline), example, alone))
    docstrings.link_ids(page, REGISTRY, "book/reference/m")
    assert targets(page) == ["toy-thm1"] == targets(alone)
    assert [type(node) for node in page[0][1][0]] == [nodes.literal, nodes.math, nodes.reference]


@pytest.mark.build
def test_the_built_page_of_a_function_leads_to_its_box(built: Any) -> None:
    """Kills an extension that the configuration does not name, and links of ids unknown to it."""
    folder = built.path("_build/html/book/reference")
    soup = BeautifulSoup((folder / "papers.alpha.numbers.html").read_bytes(), "html.parser")
    signature = soup.find(id="dplit.papers.alpha.numbers.double")
    assert isinstance(signature, Tag)
    words, line = signature.find_next_siblings("dd")[0].find_all("p", recursive=False)
    assert words.text == "Return twice a number, as alp-thm1 says; there is no alp-thm9."
    assert line.text == "Claim: alp-thm1 (Theorem 1: Doubling)"
    for part in (words, line):
        assert [a["href"] for a in part.select("a")] == ["../chapters/alpha.html#alp-thm1"]
    chapter = (folder.parent / "chapters" / "alpha.html").read_text()
    assert 'id="alp-thm1"' in chapter
