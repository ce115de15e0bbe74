"""Lead from the package's pages to the chapters.

Each function that a claim names ends in a line with the claim, and an id in a docstring is a link.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes

from scripts.claims import registered

Registry = Mapping[str, Mapping[str, Any]]

#: Where the pages of the package are; elsewhere an id is what its author made of it.
FOLDER = "book/reference/"
#: What is shown as it is typed, or leads somewhere already; it keeps the ids inside.
KEPT = (
    nodes.FixedTextElement,
    nodes.literal,
    nodes.math,
    nodes.reference,
    nodes.title,
    addnodes.desc_signature,
    addnodes.pending_xref,
)
#: A word with hyphens, whole: ``fig-erm-thm2`` is no mention of a theorem.
WORD = re.compile(r"\w+(?:-\w+)+")


def link(identifier: str, page: str) -> addnodes.pending_xref:
    """Return a reference to a claim's place in its chapter; the build fails if there is none."""
    return addnodes.pending_xref(
        identifier,
        nodes.inline(identifier, identifier),
        refdomain="std",
        reftype="ref",
        reftarget=identifier.lower(),
        refdoc=page,
        refexplicit=True,
        refwarn=True,
    )


def link_ids(tree: nodes.document, registry: Registry, page: str) -> None:
    """Make a link of every registered id in the text, also of one that stands alone as code."""
    for text in list(tree.findall(nodes.Text)):
        parent = text.parent
        if isinstance(parent, nodes.literal) and text.astext() in registry:
            parent.parent.replace(parent, link(text.astext(), page))
            continue
        if _within(text, KEPT):
            continue
        parts, end = list[nodes.Node](), 0
        for found in WORD.finditer(text):
            if found[0] in registry:
                parts += [nodes.Text(text[end : found.start()]), link(found[0], page)]
                end = found.end()
        if parts:
            parent.replace(text, [*parts, nodes.Text(text[end:])])


def _within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def claims_line(told: list[str], registry: Registry, page: str) -> nodes.paragraph:
    """Return the line of a function's claims: of one also its title, of several where they stand.

    Parameters
    ----------
    told : list of str
        The claims' ids.
    registry : mapping
        The registered claims by id.
    page : str
        The page on which the line stands.
    """
    line = nodes.paragraph(classes=["dplit-claims"])
    line += nodes.Text("Claim: " if len(told) == 1 else "Claims: ")
    for number, identifier in enumerate(told):
        entry = registry[identifier]
        about = f"{entry['place']}: {entry['title']}" if len(told) == 1 else entry["place"]
        line += [nodes.Text(", " if number else ""), link(identifier, page)]
        line += nodes.Text(f" ({about})")
    return line


def add_lines(tree: nodes.document, registry: Registry, page: str) -> None:
    """End the text of every function, class and method that claims name in the line of these."""
    told = defaultdict[str, list[str]](list)
    for identifier, entry in registry.items():
        for function in entry["functions"]:
            told[function].append(identifier)
    for described in list(tree.findall(addnodes.desc)):
        heads = (part for part in described if isinstance(part, addnodes.desc_signature))
        names = [name for head in heads for name in head["ids"]]
        bearing = [identifier for name in names for identifier in told.get(name, [])]
        if bearing:
            content = described[-1]
            # a class is told before its methods
            inner = content.first_child_matching_class((addnodes.index, addnodes.desc))
            place = len(content) if inner is None else inner
            content.insert(place, claims_line(bearing, registry, page))


def on_read(app: Any, tree: nodes.document) -> None:
    """Put the links into a page of the package."""
    page = app.env.docname
    if page.startswith(FOLDER):
        registry = registered()
        link_ids(tree, registry, page)
        add_lines(tree, registry, page)


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", on_read)
