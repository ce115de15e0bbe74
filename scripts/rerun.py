"""A run beside the book as a page of the book's form, which opens offline."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts import digest, render
from scripts.files import write_json, write_text
from scripts.layout import Layout
from scripts.marks import marked_tests, nodes_by_claim
from scripts.normalise import join, normalise

WORKS = "## Works cited\n\n```{bibliography}\n:filter: docname in docnames\n```\n"


def note(parameters: Mapping[str, Any]) -> str:
    """Return the box at the top of a run's page: which parameters were passed."""
    told = ", ".join(f"`{name} = {value!r}`" for name, value in parameters.items())
    passed = f"This run was made with {told}. " if told else ""
    return (
        ":::{admonition} A run beside the book\n:class: tip\n\n"
        f"{passed}Claims are checked at their own settings, whatever the parameters. Links out of "
        "this page lead to the book in `_build/html`, where it is built.\n:::"
    )


def injected(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that papermill was given, by name."""
    found: dict[str, Any] = notebook["metadata"].get("papermill", {}).get("parameters", {})
    return found


def page(notebook: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Make a normalised chapter a page that stands alone; changed in place.

    It has a box that says what it is, its own list of works, and its links out lead to the book.
    """
    cells = notebook["cells"]
    cells.pop()  # the offer of the chapter's own notebook
    title, _, rest = join(cells[0]["source"]).partition("\n")
    cells[0]["source"] = f"{title}\n\n{note(parameters)}\n{rest}"
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(
                r"\[([^\]]+)\]\(\.\./(\w+)\.md(#[^)]*)?\)",
                r'<a href="../html/book/\2.html\3">\1</a>',
                join(cell["source"]),
            )
        for output in cell.get("outputs", []):
            if text := output.get("data", {}).get("text/html"):
                text = join(text).replace('href="../../', 'href="../html/')
                output["data"]["text/html"] = re.sub(
                    r'href="\.\./(?!html/)', 'href="../html/book/', text
                )
    if any("{cite" in join(cell["source"]) for cell in cells):
        cells.append({"cell_type": "markdown", "id": "works", "metadata": {}, "source": WORKS})
    return notebook


def render_run(layout: Layout, slug: str, name: str, notebook: dict[str, Any]) -> Path:
    """Write the page of a run to ``_build/runs/<name>.html`` and return it.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    slug, name : str
        The chapter, and the run's name.
    notebook : dict
        The executed notebook.

    Raises
    ------
    BuildError
        If the notebook cannot become a page.
    """
    runs = layout.build / "runs"
    stage = runs / f".{name}.stage"
    shutil.rmtree(stage, ignore_errors=True)
    parameters = injected(notebook)
    tested = set(nodes_by_claim(marked_tests(layout)))
    kept = digest.archived_claims(layout, slug)
    normalise(notebook, slug, tested, layout.package, kept)
    write_json(stage / f"{name}.ipynb", page(notebook, parameters))
    write_text(stage / "_toc.yml", f"format: jb-book\nroot: {json.dumps(name)}\n")
    (stage / "book").mkdir()
    shutil.copy(layout.book / "references.bib", stage / "book")
    try:
        render.sphinx(layout, stage, stage / "html")
        left = shutil.ignore_patterns("index.html", "objects.inv", ".buildinfo")
        shutil.copytree(stage / "html", runs, ignore=left, dirs_exist_ok=True)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return runs / f"{name}.html"
