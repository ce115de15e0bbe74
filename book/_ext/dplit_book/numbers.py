"""Numbers: of all figures, and of the headings of lessons.

Supplements speak of a paper's own lemmas and sections; a number of ours beside those, such as
1.11.9.2, helps nobody. Sphinx numbers what a numbered contents leads to, so theirs are taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes

from dplit_book.docstrings import FOLDER


def is_plain(name: str) -> bool:
    """Return whether the headings of a page have no numbers."""
    return name.endswith("_supplement") or name.startswith("book/tests/")


def before(app: Any, env: Any) -> Sequence[str]:
    """Give Sphinx the numbers that it knew, and empty trees for the pages of the package.

    These hold no figure, they are most of the pages, and all trees are read to number figures.
    """
    env.toc_secnumbers.update(getattr(env, "dplit_unshown", {}))
    read, empty = env.get_doctree, nodes.section()
    env.get_doctree = lambda name: empty if name.startswith(FOLDER) else read(name)
    return []


def after(app: Any, env: Any) -> Sequence[str]:
    """Show all trees again, and take the numbers off where they are not shown."""
    del env.get_doctree
    plain = [name for name in env.toc_secnumbers if is_plain(name)]
    env.dplit_unshown = {name: env.toc_secnumbers.pop(name) for name in plain}
    for name in plain:
        env.titles[name].attributes.pop("secnumber", None)
        for entry in env.tocs[name].findall(nodes.reference):
            entry.attributes.pop("secnumber", None)
    return []


def setup(app: Any) -> None:
    """Register with Sphinx, around its collectors, which come at 500."""
    app.connect("env-get-updated", before, priority=400)
    app.connect("env-get-updated", after, priority=600)
