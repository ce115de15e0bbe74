"""What Sphinx's extensions leave to do on a page: one of our own, listed in ``_config.yml``.

Sphinx-proof numbers boxes by chapter, and these numbers mean nothing beside the papers'. A box of a
paper's statement has the paper's number, and a box of ours has none. And MathJax is loaded where
formulas stand in HTML alone, as on the page of errata.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

#: Titles that begin with a place in a paper.
PLACE = re.compile(
    r"\(\d|(?:End of )?(?:Definition|Lemma|Theorem|Proposition|Corollary|Remark|Algorithm|Property|"
    r"Assumption|Figure|Table|Section|Appendix)s? (?:\d|[A-Z]\b)"
)
TITLE = re.compile(
    r'(<p class="admonition-title">)<span class="caption-number">(\w+) [\d.]*\s*</span>'
    r"\s*(?:\((.*?)\))?(?=</p>)",
    re.DOTALL,
)


def box_title(kind: str, title: str) -> str:
    """Return what stands above a box.

    Examples
    --------
    >>> box_title("Lemma", "Lemma 9, the sensitivity")
    'Lemma 9, the sensitivity'
    >>> box_title("Theorem", "No interpolator can be released cheaply")
    'Theorem (No interpolator can be released cheaply)'
    >>> box_title("Remark", "")
    'Remark'
    """
    if PLACE.match(title):
        return title
    return f"{kind} ({title})" if title else kind


def name_boxes(page: str) -> str:
    """Return a page whose boxes have no numbers of their own."""
    return TITLE.sub(lambda found: found[1] + box_title(found[2], found[3] or ""), page)


def on_read(app: Any, tree: nodes.document) -> None:
    """Tell Sphinx of formulas in a page's own HTML; it looks for them before."""
    if any('class="math' in part.astext() for part in tree.findall(nodes.raw)):
        app.env.get_domain("math").data["has_equations"][app.env.docname] = True


def on_page(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Name the boxes of a page before it is written."""
    if "body" in context:
        context["body"] = name_boxes(context["body"])


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", on_read)
    app.connect("html-page-context", on_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
