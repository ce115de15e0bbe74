"""Notebook pairs: ``<slug>.md`` is the source, ``<slug>.ipynb`` is made from it alone.

jupytext reads and writes both. Its own ``--sync`` was tried: an .ipynb that it makes has new ids of
cells each time, so that two clones differ; it takes whichever file is newer, which a clone does not
know; and it has no word for the folds of a page.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

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


def code_cells(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield of each code cell of a source its first line, the heading above it, and its code.

    Examples
    --------
    >>> list(code_cells("# A\\n\\n```{code-cell} ipython3\\n:tags: [x]\\ny = 1\\n```"))
    [(4, 'A', '\\ny = 1')]
    """
    first, heading, code = 0, "", list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if first and line == "```":
            yield first, heading, "\n".join(code)
            first = 0
        elif first:
            code.append("" if line.startswith(":") else line)
        elif line.startswith("```{code-cell}"):
            first, code = number + 1, []
        elif line.startswith("#"):
            heading = line.lstrip("# ")


def line_in_source(text: str, cells: Sequence[Mapping[str, Any]], number: int) -> int:
    """Return the line of a source at which the cell of this number, from 1, begins."""
    at = end = max(0, text.find("\n---\n"))
    for cell in cells[:number]:
        source = "".join(cell["source"])
        at = max(end, text.find(source, end))  # papermill has a cell of its own for parameters
        end = at + len(source)
    return 1 + text.count("\n", 0, at)


FOLDED = {"hide-input", "hide-cell"}
HIDDEN = {"hide-output", "hide-cell"}

#: What the header of every source says to jupytext, wherever a server or a command reads it. It
#: takes from the .ipynb what the filter of the *source* keeps out of the text: the folds.
HEADER = {
    "formats": "ipynb,md:myst",
    "cell_metadata_filter": "tags,mystnb,-all",
    "notebook_metadata_filter": "-jupytext.text_representation.jupytext_version",
}


def read_source(text: str) -> Any:
    """Return the notebook of a MyST text as jupytext reads it."""
    import jupytext

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return jupytext.reads(text, fmt="md:myst")


def write_source(notebook: Any) -> str:
    """Return a notebook as jupytext spells it in MyST."""
    import jupytext

    return str(jupytext.writes(notebook, fmt="md:myst"))


def paired_notebook(text: str, name: str) -> Any:
    """Return the notebook that belongs to a MyST source: no outputs, stable cell ids.

    What the page folds is collapsed in JupyterLab too; the source says it once, by its tag.

    Raises
    ------
    BuildError
        If the text is not a MyST notebook, or its header lacks a line; it is called ``name``.
    """
    import nbformat

    try:
        notebook = read_source(text)
    except Exception as error:
        raise BuildError(f"{name} is not a MyST notebook: {error}") from error
    if "kernelspec" not in notebook.metadata:
        raise BuildError(f"{name} has no kernelspec in its header; copy another chapter's header")
    told = notebook.metadata.get("jupytext", {})
    lacking = [f"'{key}: {value}'" for key, value in HEADER.items() if told.get(key) != value]
    if lacking:
        raise BuildError(
            f"{name} must have {' and '.join(lacking)} under jupytext in its header, so that "
            "JupyterLab folds what the page folds and opens and saves the pair; copy another "
            "chapter's header"
        )
    told.get("text_representation", {}).pop("jupytext_version", None)
    names = cell_ids([(cell.cell_type, cell.source) for cell in notebook.cells])
    for cell, cell_id in zip(notebook.cells, names, strict=True):
        cell["id"] = cell_id
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            tags = set(cell.metadata.get("tags", []))
            folds = {"source_hidden": FOLDED & tags, "outputs_hidden": HIDDEN & tags}
            if any(folds.values()):
                cell.metadata["jupyter"] = {key: True for key, found in folds.items() if found}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return notebook


def paired_text(source: Path) -> str:
    """Return the text of the .ipynb that belongs to a MyST source; see `paired_notebook`."""
    import nbformat

    notebook = paired_notebook(source.read_text(encoding="utf-8"), str(source))
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def respell(old: str, before: str, after: str) -> str:
    """Return ``after`` in the spelling of ``old`` where it agrees with ``before``.

    Parameters
    ----------
    old : str
        A text as its author wrote it.
    before, after : str
        The same text, and a later one, in another spelling that is the same for both.

    Examples
    --------
    >>> print(respell("a\\n\\nB\\nc", "a\\nb\\nc", "a\\nb\\nC"))
    a
    <BLANKLINE>
    B
    C
    """
    lines, from_lines, to_lines = (t.splitlines(keepends=True) for t in (old, before, after))
    own: list[list[str]] = [[] for _ in range(len(from_lines) + 1)]
    for tag, i, i_end, j, j_end in SequenceMatcher(None, lines, from_lines).get_opcodes():
        if tag == "equal":
            for step in range(j_end - j):
                own[j + step].append(lines[i + step])
        else:
            own[j] += lines[i:i_end]
    spelled = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, from_lines, to_lines).get_opcodes():
        kept = [line for one in own[i:i_end] for line in one]
        spelled += kept if tag == "equal" else to_lines[j:j_end]
    return "".join([*spelled, *own[-1]])


def saved_pair(old: str, notebook: Any, name: str) -> tuple[str, Any, str]:
    """Return what stays of a notebook that JupyterLab saves over the source ``old``.

    Cells come from the notebook, all else from the old text: its header, and the spelling of every
    line that stays. Outputs, the kernel's display name and what the header's filters do not name,
    such as a cell unfolded to be read, do not enter.

    Returns
    -------
    text, pair, plain
        The new source, the notebook that belongs to it, and the source as jupytext spells it.
    """
    from nbformat import from_dict

    former = read_source(old)
    before = write_source(former)
    kept = ("cell_type", "source", "metadata")
    former.cells = [from_dict({key: cell[key] for key in kept}) for cell in notebook.cells]
    plain = write_source(former)
    text = old if plain == before else respell(old, before, plain)
    pair = paired_notebook(text, name)
    if write_source(pair) != plain:
        text, pair = plain, paired_notebook(plain, name)
    return text, pair, plain


#: By source: the cells as jupytext is about to spell them, and the text to be written instead.
_saved: dict[Path, tuple[str, str]] = {}


def before_save(model: dict[str, Any], path: str, contents_manager: Any) -> None:
    """Have Jupyter's server save a pair as `sync` would write it (a ``pre_save_hook``).

    Of a pair jupytext saves the .ipynb, then the .md; both come here. A text that is saved as text,
    from an editor, stays as it is.
    """
    from nbformat import from_dict

    place = Path(contents_manager._get_os_path(path))
    source = place.with_suffix(".md")
    if model["type"] == "notebook" and place.suffix == ".ipynb" and source.is_file():
        notebook = from_dict(model["content"])
        if notebook.metadata.get("jupytext", {}).get("formats") == HEADER["formats"]:
            old = source.read_text(encoding="utf-8")
            text, model["content"], plain = saved_pair(old, notebook, source.name)
            _saved[source] = _body(plain), text
    elif model["type"] == "file" and place in _saved:
        body, text = _saved.pop(place)
        if _body(model["content"]) == body:
            model["content"] = text


def _body(text: str) -> str:
    """Return what stands below the header."""
    return text.partition("\n---\n")[2]


def _edited(text: str, source: str) -> int:
    """Return the line of an .ipynb at which a cell was written that its source lacks, or 0.

    What is made from a source has ids made from its cells.
    """
    try:
        cells = [(cell, "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        names = cell_ids([(cell["cell_type"], written) for cell, written in cells])
        for (cell, written), name in zip(cells, names, strict=True):
            if cell["id"] != name and written not in source:
                return 1 + text.count("\n", 0, text.index(f'"id": "{cell["id"]}"'))
    except (ValueError, KeyError, TypeError):
        pass  # damaged, or not ours
    return 0


def sync(layout: Layout, names: Sequence[str] | None = None) -> list[str]:
    """Write every .ipynb, or those of ``names``, from its .md; return which files changed.

    Raises
    ------
    BuildError
        If an .ipynb was edited itself: what was written there would be lost.
    """
    changed = []
    for slug in names or layout.names():
        source, target = layout.notebooks / f"{slug}.md", layout.notebooks / f"{slug}.ipynb"
        text = paired_text(source)
        old = target.read_text(encoding="utf-8") if target.exists() else ""
        if old == text:
            continue
        if line := _edited(old, source.read_text(encoding="utf-8")):
            raise BuildError(
                f"{layout.name(target)}:{line}: this cell was edited, and {slug}.md lacks it. The "
                f".md is the source: write it there, remove {slug}.ipynb, run: make sync"
            )
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
