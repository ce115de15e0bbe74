"""Code of a page: names of the package lead to their entries, and what has no colour is text.

sphinx-codeautolink was weighed: it rewrites the HTML once it is written, and links every occurrence
of a name, where a page has room for the first in each block.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Text
from sphinx.highlighting import PygmentsBridge

#: Shown like the text around it: three of four elements of highlighted code.
PLAIN = {Name, Name.Namespace, Operator, Punctuation, Text.Whitespace}
#: What stands for the parts of a link while a line is put together.
MARKS = str.maketrans({"\ue000": '<a class="dplit-api" href="', "\ue001": '">', "\ue002": "</a>"})


class Formatter(HtmlFormatter):
    """Pygments' formatter, with links: ``address`` says where a name, or its attribute, leads."""

    address: ClassVar[Callable[[str, str], str | None]] = staticmethod(lambda name, inner: None)

    def _get_css_class(self, ttype: Any) -> str:
        return "" if ttype in PLAIN else str(super()._get_css_class(ttype))

    def _format_lines(self, tokens: Iterable[tuple[Any, str]]) -> Iterator[tuple[int, str]]:
        for kind, line in super()._format_lines(self.linked(list(tokens))):
            yield kind, line.translate(MARKS)

    def linked(self, tokens: list[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
        """Yield the tokens of a block of code; the first use of a name leads to its entry."""
        seen, before = set[str](), ""
        while tokens:
            kind, text = tokens.pop(0)
            if kind is Name and before != ".":
                attribute = [text for _, text in tokens[:2]]
                inner = attribute[1] if attribute[:1] == ["."] and len(attribute) > 1 else ""
                address = self.address(text, inner)
                if address and address not in seen:
                    seen.add(address)
                    if inner:
                        text = f"{text}.{inner}"
                        del tokens[:2]
                    text = f"\ue000{address}\ue001{text}\ue002"
            before = text
            yield kind, text


def imported(source: str, package: str) -> Iterator[tuple[str, Any]]:
    """Yield the names that some code imports from a package, and what they are.

    A preview shows chapters as they were last run: a name that has moved since then is passed by.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
            for alias in node.names:
                with suppress(ImportError):
                    home = importlib.import_module(str(node.module))
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


def on_resolved(app: Any, tree: nodes.document, page: str) -> None:
    """Tell the formatter where the names that a chapter imports lead."""
    entries = app.env.domaindata["py"]["objects"]
    names = dict[str, Any]()
    for cell in tree.findall(nodes.container) if entries else ():
        if cell.get("nb_element") == "cell_code_source":
            lines = cell.astext().split("\n")
            names |= imported("\n".join(x for x in lines if not x.startswith(("%", "!"))), "dplit")

    def address(name: str, inner: str) -> str | None:
        found = names.get(name)
        if inspect.ismodule(found) and inner:
            found = getattr(found, inner, None)
        entry = entries.get(full_name(found))
        return entry and f"{app.builder.get_relative_uri(page, entry.docname)}#{entry.node_id}"

    Formatter.address = staticmethod(address)


def on_collected(app: Any) -> Iterable[Any]:
    """Pages of source code follow, whose links are viewcode's."""
    Formatter.address = staticmethod(lambda name, inner: None)
    return []


def setup(app: Any) -> None:
    """Register with Sphinx."""
    PygmentsBridge.html_formatter = Formatter
    app.connect("doctree-resolved", on_resolved)
    app.connect("html-collect-pages", on_collected)
