"""Notebook pairs: ``<slug>.md`` is the source, ``<slug>.ipynb`` is made from it alone."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

from scripts.files import BuildError, write_text
from scripts.layout import Layout


def cell_ids(sources: list[tuple[str, str]]) -> list[str]:
    """Return an id for each cell from its type and source; equal cells are told apart by number.

    Parameters
    ----------
    sources : list of (str, str)
        Type and source of each cell.

    Examples
    --------
    >>> a, b, c = cell_ids([("code", "x"), ("code", "x"), ("markdown", "x")])
    >>> len({a, b, c}), a == cell_ids([("code", "x")])[0]
    (3, True)
    """
    seen: dict[tuple[str, str], int] = {}
    ids = []
    for kind, source in sources:
        number = seen[kind, source] = seen.get((kind, source), -1) + 1
        key = f"{kind}\n{number}\n{source}".encode()
        ids.append(hashlib.sha256(key).hexdigest()[:12])
    return ids


FOLDED = {"hide-input", "hide-cell"}


def paired_text(source: Path) -> str:
    """Return the text of the .ipynb that belongs to a MyST source: no outputs, stable cell ids.

    What the page folds is collapsed in JupyterLab too; the source says it once, by its tag.

    Raises
    ------
    BuildError
        If the source is not a MyST notebook.
    """
    import jupytext
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            notebook = jupytext.read(source, fmt="md:myst")
    except Exception as error:
        raise BuildError(f"{source} is not a MyST notebook: {error}") from error
    if "kernelspec" not in notebook.metadata:
        raise BuildError(f"{source} has no kernelspec in its header; copy another chapter's header")
    jupytext_metadata = notebook.metadata.get("jupytext", {})
    jupytext_metadata["formats"] = "ipynb,md:myst"
    # saved from JupyterLab, the source must not repeat by cell what its tags say
    jupytext_metadata["cell_metadata_filter"] = "-jupyter"
    jupytext_metadata.get("text_representation", {}).pop("jupytext_version", None)
    notebook.metadata["jupytext"] = jupytext_metadata
    names = cell_ids([(cell.cell_type, cell.source) for cell in notebook.cells])
    for cell, name in zip(notebook.cells, names, strict=True):
        cell["id"] = name
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if FOLDED & set(cell.metadata.get("tags", [])):
                cell.metadata["jupyter"] = {"source_hidden": True}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def sync(layout: Layout) -> list[str]:
    """Write every .ipynb from its .md and return the chapters whose file changed."""
    changed = []
    for slug in layout.names():
        target = layout.notebooks / f"{slug}.ipynb"
        text = paired_text(layout.notebooks / f"{slug}.md")
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            write_text(target, text)
            changed.append(slug)
    return changed


def check(layout: Layout) -> None:
    """Refuse pairs that differ.

    Raises
    ------
    BuildError
        Naming each pair that differs, each .md without .ipynb and each .ipynb without .md.
    """
    faults = []
    for slug in layout.names():
        target = layout.notebooks / f"{slug}.ipynb"
        if not target.exists():
            faults.append(f"{layout.name(target)} is missing")
        elif target.read_text(encoding="utf-8") != paired_text(layout.notebooks / f"{slug}.md"):
            faults.append(f"{layout.name(target)} differs from its source {slug}.md")
    for target in sorted(layout.notebooks.glob("*.ipynb")):
        if target.stem not in layout.names():
            faults.append(f"{layout.name(target)} has no source {target.stem}.md")
    if faults:
        raise BuildError("; ".join(faults) + "; the .md is the source, run: make sync")
