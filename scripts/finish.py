"""What Sphinx's extensions leave to do on a page: one of our own, listed in ``_config.yml``.

Sphinx-proof numbers boxes by chapter, and these numbers mean nothing beside the papers'. A box of a
paper's statement has the paper's number, and a box of ours has none. MathJax is loaded where
formulas stand in HTML alone, as on the page of errata. Names of the package in a chapter's code
lead to their entries in the reference. And what has the colour of the text around it needs no
element of its own: names, points and operators are three of four elements in a long page's code.
Formulas are set when the screen comes near them, and keep their places until then.
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
from scripts.formulas import measure
from scripts.pictures import column_of, head_of, size_pictures, write_columns

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
#: Height of the letter x in MathJax's fonts: an em of a formula has 1 / X ex of the text around it.
X = 0.442


def keep_room(page: str, macros: Mapping[str, Any]) -> str:
    """Return a page whose formulas say how wide, in places of their own how tall, they will be."""

    def room(found: re.Match[str]) -> str:
        display = found["kind"] == "["
        box = measure(html.unescape(found["tex"]), macros, display)
        told = f"--room:{(box.up + box.down + 2 if display else box.width) / X:.1f}ex"
        if not display and (box.up > 0.8 or box.down > 0.3):  # its line may be taller than others
            told += f";--tall:{(box.up + box.down) / X:.1f}ex;--sink:{-box.down / X:.1f}ex"
        head = found[0][: found.end("id") - found.start()]
        return f'{head} style="{told}"{found[0][len(head) :]}'

    return FORMULA.sub(room, page)


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
    macros = app.config.mathjax3_config["tex"]["macros"]
    pictures = {
        target.removesuffix(".svg"): Path(app.srcdir) / source
        for source, target in app.builder.images.items()
        if target.endswith(".svg") and target in context["body"]
    }
    heads = {told: head_of(picture) for told, picture in pictures.items()}
    columns = {told: column_of(picture) for told, picture in pictures.items()}
    write_columns(Path(app.outdir) / app.builder.imagedir, columns)
    body = size_pictures(mend_roles(name_folds(thin_code(context["body"]))), heads, columns)
    context["body"] = keep_together(keep_room(body, macros))


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", on_read)
    app.connect("html-page-context", on_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
