"""What Sphinx's extensions leave to do on a page: one of our own, listed in ``_config.yml``.

Sphinx-proof numbers boxes by chapter, and these numbers mean nothing beside the papers'. A box of a
paper's statement has the paper's number, and a box of ours has none. MathJax is loaded where
formulas stand in HTML alone, as on the page of errata. Names of the package in a chapter's code
lead to their entries in the reference. And what has the colour of the text around it needs no
element of its own: names, points and operators are three of four elements in a long page's code.
Formulas are set when the screen comes near them, and keep their places until then, as pictures do
until they have come.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes

from scripts.digest import notebook_code

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


#: A block of highlighted code, and a name in it, perhaps with one attribute.
CODE = re.compile(r'<div class="highlight"><pre>.*?</pre>', re.DOTALL)
NAME = re.compile(
    r'(?<!<span class="o">\.</span>)<span class="n">(\w+)</span>'
    r'(?:<span class="o">\.</span><span class="n">(\w+)</span>)?'
)


def imported(sources: list[str], package: str) -> Iterator[tuple[str, Any]]:
    """Yield the names that some code imports from a package, and what they are."""
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                home = importlib.import_module(str(node.module))
                for alias in node.names:
                    if not hasattr(home, alias.name):
                        importlib.import_module(f"{node.module}.{alias.name}")
                    yield alias.asname or alias.name, getattr(home, alias.name)


def full_name(found: Any) -> str:
    """Return the dotted name under which a function, class or module is defined; "" of others."""
    if inspect.ismodule(found):
        return found.__name__
    if inspect.isfunction(found) or inspect.isclass(found):
        return f"{found.__module__}.{found.__qualname__}"
    return ""


def link_code(page: str, names: Mapping[str, Any], addresses: Mapping[str, str]) -> str:
    """Return a page on which the first use of a name in a block of code leads to its entry.

    Parameters
    ----------
    page : str
        The page's HTML.
    names : mapping of str to object
        What the chapter imports, by the name that it has there.
    addresses : mapping of str to str
        Where the entries stand, by the full names of functions, classes and modules.
    """

    def block(code: re.Match[str]) -> str:
        seen = set[str]()

        def link(found: re.Match[str]) -> str:
            what, inner = names.get(found[1]), found[2]
            if inspect.ismodule(what) and inner:
                what = getattr(what, inner, None)
            address = addresses.get(full_name(what))
            if address is None or address in seen:
                return found[0]
            seen.add(address)
            return f'<a class="dplit-api" href="{address}">{found[0]}</a>'

        return NAME.sub(link, code[0])

    return CODE.sub(block, page)


#: A name, a point, an operator or a space: shown like the text around it.
PLAIN = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')


def thin_code(page: str) -> str:
    """Return a page whose code has elements for what has a colour: keywords, numbers, strings.

    Examples
    --------
    >>> thin_code('<div class="highlight"><pre><span class="n">x</span><b>1</b></pre>')
    '<div class="highlight"><pre>x<b>1</b></pre>'
    """
    return CODE.sub(lambda code: PLAIN.sub(r"\1", code[0]), page)


def name_folds(page: str) -> str:
    """Return a page whose folds are called by what stands on them, not all alike.

    Examples
    --------
    >>> name_folds('<summary aria-label="Toggle hidden content"><p>Figure: a curve</p></summary>')
    '<summary><p>Figure: a curve</p></summary>'
    """
    return page.replace('<summary aria-label="Toggle hidden content">', "<summary>")


#: A head of a table that says nothing.
SILENT = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")


def mend_roles(page: str) -> str:
    """Return a page whose empty heads of tables are cells, and whose cited works are list items.

    Examples
    --------
    >>> mend_roles('<div class="citation" role="doc-biblioentry"><th class="head"><p></p></th>')
    '<div class="citation" role="listitem"><td></td>'
    """
    return SILENT.sub("<td></td>", page).replace('role="doc-biblioentry"', 'role="listitem"')


#: A formula as MathJax will find it, within a line or in a place of its own.
FORMULA = re.compile(
    r'<(?:span|div) class="math notranslate nohighlight"(?P<id>[^>]*)>'
    r'(?:\s*<span class="eqno">.*?</span>)?'
    r"\s*(?:\\|&#92;)(?P<kind>[(\[])(?P<tex>.*?)(?:\\|&#92;)[)\]]",
    re.DOTALL,
)
#: What of TeX shows nothing of its own.
UNSHOWN = re.compile(
    r"\\(?:begin|end)\{\w+\*?\}|\\(?:left|right|[bB]igg?[lr]?|math\w+|operatorname|[dt]?frac|text|"
    r"hat|tilde|bar|limits)(?![a-zA-Z])|\\!|[{}&]"
)
#: How wide, in em, the tokens are that do: fitted to 473 formulas of two pages as they are set,
#: of which the middle 96 % have .80 to 1.22 of their width.
WIDTHS = {
    r"[_^](?:\w|\\[a-zA-Z]+)": 0.42,
    r"[=<>]|\\(?:[lg]eq?|l?ne|in|sim|approx|to|mapsto|q?quad|mid|ll|gg)(?![a-zA-Z])": 1.31,
    r"[-+]|\\(?:pm|times|cdot|sum|prod|int|sqrt)(?![a-zA-Z])": 0.77,
    r"\\(?:log|ln|exp|max|min|sup|inf|arg|Pr|Prob|det|Var|Lap|tr|diag)(?![a-zA-Z])": 0.96,
    r"[mwMNHKW]": 0.88,
    r"[A-Z]|\\(?:Phi|omega|Omega|Delta|mu|alpha|sigma|lambda|phi|psi)(?![a-zA-Z])": 0.69,
    r"[ijltfrs](?![a-zA-Z])": 0.44,
    r"[.,:;()|'\[\]]|\\[lr]V?vert|\\[,;:>\\ ]": 0.36,
    r"\\[a-zA-Z]+|\\.|[^\s_^]": 0.48,
}
FRACTION = re.compile(r"\\[dt]?frac(?:\{([^{}]*)\}\{([^{}]*)\}|(\w)\w)")
TOKEN = re.compile("|".join(f"({token})" for token in WIDTHS))
#: Rows of a formula that are taller than a line.
TALL = re.compile(r"frac|sum|prod|int\b|sqrt|binom|[bB]igg|min_|max_|sup_")
#: Height of the letter x in MathJax's fonts: an em of a formula has 1 / X ex of the text around it.
X = 0.442


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
    widths = list(WIDTHS.values())
    line = UNSHOWN.sub(" ", FRACTION.sub(_wider, tex))
    return sum(widths[(found.lastindex or 0) - 1] for found in TOKEN.finditer(line))


def _wider(fraction: re.Match[str]) -> str:
    """Return the wider of the two parts of a fraction."""
    return max((part for part in fraction.groups() if part), key=len, default="")


def keep_room(page: str) -> str:
    """Return a page whose formulas keep about the room that they will take."""

    def styled(found: re.Match[str]) -> str:
        em = room(html.unescape(found["tex"]), found["kind"] == "[")
        head = found[0][: found.end("id") - found.start()]
        return f'{head} style="--room:{em / X:.1f}ex"{found[0][len(head) :]}'

    return FORMULA.sub(styled, page)


#: A formula within a line with what must stay beside it: a bracket; punctuation, the end of a word
#: such as "-dimensional", a number of the run.
BESIDE = re.compile(
    r"([(\[{\u2018\u201c]{1,2})?"
    r'(<span class="math notranslate nohighlight"[^>]*>[^<]*</span>)'
    r"([,.;:!?)\]}\u2019\u201d%]{1,3}|-[^\W\d_]{1,12}[,.;:)]?|[^\W\d_]{1,3}(?=[\s,.;:)<])"
    r'|<span class="pasted-(?:text|inline)">[^<]*</span>)?'
)


def keep_together(page: str) -> str:
    """Return a page whose formulas do not leave what is glued to them.

    A formula that is set is a box, and browsers break lines on both sides of a box, even before a
    comma.

    Examples
    --------
    >>> formula = '<span class="math notranslate nohighlight">x</span>'
    >>> keep_together(f"a {formula}, b").replace(formula, "x")
    'a <span class="dplit-nobreak">x,</span> b'
    >>> keep_together(f"a {formula} b").replace(formula, "x")
    'a x b'
    """

    def line(found: re.Match[str]) -> str:
        if not (found[1] or found[3]):
            return found[0]
        return f'<span class="dplit-nobreak">{found[0]}</span>'

    return BESIDE.sub(line, page)


#: A picture of a chapter, and what an SVG says of its size.
PICTURE = re.compile(r'<img (?![^>]*\bwidth=)[^>]*src="[^"]*_images/([^"/]+\.svg)"[^>]*>')
SIZE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')


def size_pictures(page: str, pictures: Mapping[str, Path]) -> str:
    """Return a page whose pictures have their places before they have come.

    Each has a box, in which it can be moved where a narrow screen would make its type too small.

    Parameters
    ----------
    page : str
        The page's HTML.
    pictures : mapping of str to Path
        SVG files, by their names in the site.
    """

    def sized(found: re.Match[str]) -> str:
        if found[1] not in pictures:
            return found[0]
        with pictures[found[1]].open(encoding="utf-8") as file:
            size = SIZE.search(file.read(2000))
        if size is None:
            return found[0]
        wide, tall = (round(float(points) * 4 / 3) for points in size.groups())
        picture = found[0].replace("<img ", f'<img width="{wide}" height="{tall}" ', 1)
        return f'<span class="dplit-wide" style="--wide:{wide}px">{picture}</span>'

    return PICTURE.sub(sized, page)


def on_read(app: Any, tree: nodes.document) -> None:
    """Tell Sphinx of formulas in a page's own HTML; it looks for them before."""
    if any('class="math' in part.astext() for part in tree.findall(nodes.raw)):
        app.env.get_domain("math").data["has_equations"][app.env.docname] = True


def on_page(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Name the boxes of a page, link the code of a chapter, and thin it, before it is written."""
    if "body" not in context:
        return
    context["body"] = name_boxes(context["body"])
    source = Path(app.env.doc2path(name))
    if source.suffix == ".ipynb":
        entries = app.env.domaindata["py"]["objects"].items()
        addresses = {
            full: f"{app.builder.get_relative_uri(name, entry.docname)}#{entry.node_id}"
            for full, entry in entries
        }
        names = dict(imported(notebook_code(source), "dplit")) if addresses else {}
        context["body"] = link_code(context["body"], names, addresses)
    pictures = {
        target: Path(app.srcdir) / source
        for source, target in app.builder.images.items()
        if target.endswith(".svg") and target in context["body"]
    }
    body = size_pictures(mend_roles(name_folds(thin_code(context["body"]))), pictures)
    context["body"] = keep_together(keep_room(body))


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", on_read)
    app.connect("html-page-context", on_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
