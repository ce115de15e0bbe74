"""The directive ``dplit``: what the records of the build say, in the place where it stands.

Its argument names one of :data:`scripts.pages.SHOWN`, and a chapter where that is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from scripts.files import digest_bytes, digest_files
from scripts.layout import Layout
from scripts.pages import SHOWN


class Shown(SphinxDirective):
    """Parse what is shown of the records as text of the page."""

    required_arguments, optional_arguments = 1, 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes, and remember that this page shows records."""
        name, slug = [*self.arguments, ""][:2]
        if name not in SHOWN:
            raise self.error(f"dplit shows {', '.join(SHOWN)}, got {name!r}")
        self.env.metadata[self.env.docname]["dplit"] = "shows records"
        return self.parse_text_to_nodes(SHOWN[name](Layout(Path(self.env.srcdir)), slug))


def made_from(root: Path) -> str:
    """Return a digest of the records, and of whatever else the directive reads."""
    layout = Layout(root)
    files = [layout.claims, *(layout.state / f"{name}.json" for name in layout.names())]
    files += layout.results.glob("*.json")
    files += [*layout.tests.rglob("test_*.py"), *(root / "scripts").glob("*.py")]
    files += layout.notebooks.glob("*.ipynb")
    return digest_bytes(repr(digest_files(files, root)).encode())


def on_outdated(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Return the pages that show records, to be read again where these have changed."""
    told = made_from(Path(app.srcdir))
    if getattr(env, "dplit_records", None) == told:
        return []
    env.dplit_records = told
    return [page for page, about in env.metadata.items() if "dplit" in about]


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.add_directive("dplit", Shown)
    app.connect("env-get-outdated", on_outdated)
