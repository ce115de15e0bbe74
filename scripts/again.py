"""Build everything a second time elsewhere; chapters and site must be equal byte for byte."""

from __future__ import annotations

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
    generated = {layout.chapters, layout.book / "reference"}

    def ignore(place: str, names: list[str]) -> set[str]:
        left = shutil.ignore_patterns(*LEFT_OUT)(place, names)
        return set(left) | {name for name in names if Path(place) / name in generated}

    shutil.copytree(layout.root, target, ignore=ignore, symlinks=True)
    return Layout(target)


def differences(first: Path, second: Path) -> list[str]:
    """Return the lines in which `diff` tells two folders apart, the run-times page left out.

    Raises
    ------
    BuildError
        If one of the folders is missing.
    """
    command = ["diff", "--recursive", "--exclude=run_times.*", str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode > 1:
        raise BuildError(f"cannot compare two builds: {done.stderr.strip()}")
    return [line[:300] for line in done.stdout.splitlines()]


def compare(layout: Layout, folder: Path, say: Say) -> None:
    """Build the book again from a copy in ``folder`` and compare.

    A folder that is a clone itself is brought up to date and compared: what a user built there
    without the data, say, and completes with them, is then held against what was built at once.

    Raises
    ------
    BuildError
        If the second build fails, or showing where the two differ.
    """
    copy = Layout(folder) if (folder / "Makefile").is_file() else copy_tree(layout, folder)
    command = [sys.executable, "-m", "scripts", "book"]
    env = environment(copy, PYTHONPATH=str(copy.root / "src"))
    if subprocess.run(command, cwd=copy.root, env=env).returncode:
        raise BuildError("the second build failed")
    pairs = (layout.chapters, copy.chapters), (layout.html, copy.html)
    if told := [line for pair in pairs for line in differences(*pair)]:
        shown = "\n  ".join(told[:30])
        raise BuildError(f"two builds differ in {len(told)} lines of diff:\n  {shown}")
    count = sum(path.is_file() for path in layout.html.rglob("*"))
    chapters = len(layout.names())
    say(f"Two builds are equal byte for byte: {chapters} chapters, {count} files of the site")
