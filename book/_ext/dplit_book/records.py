"""The directive ``dplit``: what the records of the build say, in the place where it stands.

Its argument names one of :data:`dplit_book.shown.SHOWN`, and a chapter where that is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from dplit_book.shown import SHOWN
from scripts.files import digest_bytes
from scripts.layout import Layout


class Shown(SphinxDirective):
    """Parse what is shown of the records as text of the page."""

    required_arguments, optional_arguments = 1, 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes, and remember that this page shows records."""
        name, slug = [*self.arguments, ""][:2]
        if name not in SHOWN:
            raise self.error(f"dplit shows {', '.join(SHOWN)}, got {name!r}")
        text = told(Path(self.env.srcdir), name, slug)
        shown = self.env.metadata[self.env.docname].setdefault("shown", {})
        shown[name, slug] = digest_bytes(text.encode())
        return self.parse_text_to_nodes(text)


def told(root: Path, name: str, slug: str) -> str:
    """Return the text that a page shows of the records."""
    return SHOWN[name](Layout(root), slug)


def on_outdated(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Return the pages that would show another text of the records, to be read again."""
    root = Path(app.srcdir)
    return [
        page
        for page, about in env.metadata.items()
        for (name, slug), digest in about.get("shown", {}).items()
        if name not in SHOWN or digest_bytes(told(root, name, slug).encode()) != digest
    ]


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.add_directive("dplit", Shown)
    app.connect("env-get-outdated", on_outdated)
