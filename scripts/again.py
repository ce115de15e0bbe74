"""Build everything a second time elsewhere; chapters and site must be equal byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scripts.execute import environment
from scripts.files import BuildError
from scripts.layout import Layout

Say = Callable[[str], None]
LEFT_OUT = ("_build", ".venv", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")


def copy_tree(layout: Layout, folder: Path) -> Layout:
    """Copy the repository without anything that was built, and return the copy."""
    target = folder / "second" / "copy"
    generated = {layout.chapters, layout.book / "tests"}

    def ignore(place: str, names: list[str]) -> set[str]:
        left = shutil.ignore_patterns(*LEFT_OUT)(place, names)
        return set(left) | {name for name in names if Path(place) / name in generated}

    shutil.copytree(layout.root, target, ignore=ignore, symlinks=True)
    return Layout(target)


def differences(first: Path, second: Path) -> list[str]:
    """Return the files that differ between two folders, the run-times page apart.

    Parameters
    ----------
    first, second : Path
        Folders that should hold the same files.

    Returns
    -------
    list of str
        Relative names of files that one of the two lacks or whose bytes differ.
    """
    names = {
        str(path.relative_to(folder))
        for folder in (first, second)
        for path in folder.rglob("*")
        if path.is_file() and path.stem != "run_times"
    }
    return sorted(name for name in names if _content(first / name) != _content(second / name))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def first_difference(first: Path, second: Path, width: int = 160) -> str:
    """Say where two files differ first: for notebooks the cell, then the text around the place.

    Parameters
    ----------
    first, second : Path
        Two files of the same name; either may be missing.
    width : int
        Characters that are shown of each.
    """
    texts = [path.read_text(errors="replace") if path.is_file() else "" for path in (first, second)]
    place = ""
    if first.suffix == ".ipynb" and all(texts):
        cells = [[json.dumps(c, sort_keys=True) for c in json.loads(t)["cells"]] for t in texts]
        pairs = zip(*cells, strict=False)
        number = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if number is not None:
            texts, place = [cells[0][number], cells[1][number]], f"cell {number + 1}: "
    short = min(map(len, texts))
    at = next((i for i in range(short) if texts[0][i] != texts[1][i]), short)
    shown = [text[max(0, at - width // 2) : at + width // 2] for text in texts]
    return f"{place}{shown[0]!r} against {shown[1]!r}"


def compare(layout: Layout, folder: Path, say: Say) -> None:
    """Build the book again from a copy in ``folder`` and compare.

    A folder that is a clone itself is brought up to date and compared: what a user built there
    without the data, say, and completes with them, is then held against what was built at once.

    Raises
    ------
    BuildError
        If the second build fails, or naming the files that differ.
    """
    copy = Layout(folder) if (folder / "Makefile").is_file() else copy_tree(layout, folder)
    command = [sys.executable, "-m", "scripts", "book"]
    env = environment(copy, PYTHONPATH=str(copy.root / "src"))
    if subprocess.run(command, cwd=copy.root, env=env).returncode:
        raise BuildError("the second build failed")
    told = [f"book/chapters/{n}" for n in differences(layout.chapters, copy.chapters)]
    told += [f"_build/html/{n}" for n in differences(layout.html, copy.html)]
    if told:
        shown = "\n  ".join(told[:30])
        where = told[0]
        shown += "\n  first: " + first_difference(layout.root / where, copy.root / where)
        raise BuildError(f"{len(told)} files differ between two builds:\n  {shown}")
    count = sum(path.is_file() for path in layout.html.rglob("*"))
    chapters = len(layout.names())
    say(f"Two builds are equal byte for byte: {chapters} chapters, {count} files of the site")
