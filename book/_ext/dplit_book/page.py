"""Nodes of a page: titles of boxes, formulas, pictures, folds, tables and cited works.

Sphinx-proof numbers boxes by chapter, and these numbers mean nothing beside the papers': a box of a
paper's statement has the paper's number, and a box of ours has none. Formulas are set when the
screen comes near them, and keep their places until then, as pictures do until they have come.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from sphinx.ext import mathjax
from sphinx.transforms.post_transforms import SphinxPostTransform

#: Pixels of the text's column; a narrower picture has its caption in the margin of a wide screen.
COLUMN = 688

#: Titles that begin with a place in a paper.
PLACE = re.compile(
    r"\(\d|(?:End of )?(?:Definition|Lemma|Theorem|Proposition|Corollary|Remark|Algorithm|Property|"
    r"Assumption|Figure|Table|Section|Appendix)s? (?:\d|[A-Z]\b)"
)


def name_box(box: nodes.Element) -> nodes.admonition:
    """Return a box of sphinx-proof without its number, called by its place or by its kind."""
    title, kind = box[0], str(box["realtype"]).capitalize()
    if not title.astext():
        title += nodes.Text(kind)
    elif not PLACE.match(title.astext()):
        title.children = [nodes.Text(f"{kind} ("), *title.children, nodes.Text(")")]
    return nodes.admonition("", *box.children, ids=box["ids"], classes=box["classes"])


def on_read(app: Any, tree: nodes.document) -> None:
    """Name the boxes, and tell Sphinx of formulas in a page's own HTML."""
    for box in [node for node in tree.findall(nodes.Element) if "countertype" in node]:
        box.replace_self(name_box(box))
    if any('class="math' in part.astext() for part in tree.findall(nodes.raw)):
        app.env.get_domain("math").data["has_equations"][app.env.docname] = True


#: What of TeX shows nothing; what does, about half an em each; and what has air around it.
UNSEEN = re.compile(
    r"\\(?:begin|end)\{\w+\*?\}|\\(?:left|right|[bB]igg?[lr]?|math\w+|operatorname|[dt]?frac|text|"
    r"hat|tilde|bar)(?![a-zA-Z])"
)
SEEN = re.compile(r"\\[a-zA-Z]+|[^\\{}\s&^_]")
AIR = re.compile(r"[=<>]|\\(?:[lg]eq?|ne|in|sim|approx|to|quad|mid|ll|gg)(?![a-zA-Z])")
#: Rows of a formula that are taller than a line.
TALL = re.compile(r"frac|sum|prod|int\b|sqrt|binom|[bB]igg|min_|max_|sup_")


def room(tex: str, display: bool) -> float:
    r"""Return about how wide a formula is in a line, or how tall in a place of its own, in em.

    Examples
    --------
    >>> room("x^2+1", False) < room(r"\frac{x^2}{y}+1+z", False)
    True
    >>> room(r"a\\b", True) > room("a", True)
    True
    """
    if display:
        return 2.0 + sum(2.4 if TALL.search(row) else 1.2 for row in tex.split(r"\\"))
    line = UNSEEN.sub(" ", tex)
    return 0.5 * len(SEEN.findall(line)) + 0.9 * len(AIR.findall(line))


def with_room(visit: Callable[[Any, Any], None], display: bool) -> Callable[[Any, Any], None]:
    """Return a visitor of formulas that tells how much room is to be kept."""

    def visited(self: Any, node: Any) -> None:
        at = len(self.body)
        try:
            visit(self, node)
        finally:
            kept = f' style="--room:{room(node.astext(), display) / 0.442:.1f}ex" class='
            self.body[at] = self.body[at].replace(" class=", kept, 1)

    return visited


class Wide(nodes.inline):
    """The box in which a picture is moved where a narrow screen would make its type too small."""


class Silent(nodes.entry):
    """The head of a column that says nothing: no head for those who read by ear."""


BEFORE = re.compile(r"[(\[{\u2018\u201c]{1,2}$")
AFTER = re.compile(
    r"[,.;:!?)\]}\u2019\u201d%]{1,3}|-[^\W\d_]{1,12}[,.;:)]?|[^\W\d_]{1,3}(?=[\s,.;:)]|$)"
)
#: What an SVG says of its size.
SIZE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')


def keep_together(formula: nodes.math) -> None:
    """Keep on its line what is glued to a formula: a bracket, a comma, the end of a word, a number.

    A formula that is set is a box, and browsers break lines on both sides of a box.
    """
    parent, at = formula.parent, formula.parent.index(formula)
    held: list[nodes.Node] = [formula]
    behind = parent[at + 1] if at + 1 < len(parent) else None
    if isinstance(behind, nodes.Text) and (found := AFTER.match(behind)):
        held.append(nodes.Text(found[0]))
        parent[at + 1] = nodes.Text(behind[found.end() :])
    elif isinstance(behind, nodes.inline) and "pasted-text" in behind["classes"]:
        parent.remove(behind)
        held.append(behind)
    front = parent[at - 1] if at else None
    if isinstance(front, nodes.Text) and (found := BEFORE.search(front)):
        held.insert(0, nodes.Text(found[0]))
        parent[at - 1] = nodes.Text(front[: found.start()])
    if len(held) > 1:
        parent[at] = nodes.inline("", "", *held, classes=["dplit-nobreak"])


def size(picture: nodes.image, file: Path) -> None:
    """Tell a picture's width and height in pixels, so that it has its place before it comes."""
    with file.open(encoding="utf-8") as told:
        found = SIZE.search(told.read(2000))
    if found:
        width, height = (round(float(points) * 4 / 3) for points in found.groups())
        picture["width"], picture["height"] = str(width), str(height)
        box = Wide(width=width)
        picture.replace_self(box)
        box += picture


class Shape(SphinxPostTransform):
    """Give formulas, pictures and heads of tables their shape in HTML."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Change the tree of one page."""
        for formula in list(self.document.findall(nodes.math)):
            keep_together(formula)
        for picture in list(self.document.findall(nodes.image)):
            if picture["uri"].endswith(".svg") and "width" not in picture:
                size(picture, Path(self.app.srcdir) / picture["uri"])
        for head in list(self.document.findall(nodes.thead)):
            for entry in list(head.findall(nodes.entry)):
                if not entry.astext():
                    entry.replace_self(Silent())


def visit_wide(self: Any, node: Wide) -> None:
    """Open the box of a picture; one that is no wider than the text leaves its caption a margin."""
    broad = "" if node["width"] <= COLUMN else " dplit-broad"
    self.body.append(f'<span class="dplit-wide{broad}" style="--wide:{node["width"]}px">')


def depart_wide(self: Any, node: Wide) -> None:
    """Close the box of a picture."""
    self.body.append("</span>")


def visit_silent(self: Any, node: Silent) -> None:
    """Write an empty cell."""
    node.parent.column += 1
    self.body.append("<td></td>")
    raise nodes.SkipNode


def visit_fold(self: Any, node: HideCodeCellNode) -> None:
    """Open a fold, which is called by what stands on it: MyST-NB calls all alike."""
    self.body.append(f'<details class="admonition hide {" ".join(node["classes"])}">\n<summary>\n')
    for state, key in (("collapsed", "prompt_show"), ("expanded", "prompt_hide")):
        self.body.append(f'<p class="{state} admonition-title">{escape(node[key])}</p>\n')
    self.body.append("</summary>\n")


def visit_work(self: Any, node: nodes.citation) -> None:
    """Open a cited work as an item of a list: docutils names a role that is no more."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        self.body.append('<div role="list" class="citation-list">\n')
    self.body.append(self.starttag(node, "div", classes=["citation"], role="listitem"))


def depart_work(self: Any, node: nodes.citation) -> None:
    """Close a cited work, and after the last one the list."""
    self.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        self.body.append("</div>\n")


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", on_read)
    app.add_post_transform(Shape)
    app.add_node(Wide, html=(visit_wide, depart_wide))
    app.add_node(Silent, html=(visit_silent, None))
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_HideCellInput))
    app.add_node(nodes.citation, override=True, html=(visit_work, depart_work))
    inline, display = (
        with_room(mathjax.html_visit_math, False),
        with_room(mathjax.html_visit_displaymath, True),
    )
    app.registry.html_inline_math_renderers["mathjax"] = (inline, None)
    app.registry.html_block_math_renderers["mathjax"] = (display, None)
