"""What a reader takes along: each chapter's notebook with the wheel that it needs, as one zip."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from scripts.digest import named_results, notebook_code
from scripts.files import BuildError, digest_files, read_json, write_json
from scripts.layout import Layout

#: The date of everything in an archive: two builds give the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
#: What a wheel is made from beside ``src``.
BESIDE = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text")
YOURS = "## Your turn"
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
README = """\
A chapter of "Differentially private learning, literately": its notebook, the package, and the
studies (dplit_studies) that the notebooks import from the folder beside them.

    python3 -m venv env
    env/bin/pip install "./{wheel}[book]"
    env/bin/papermill {slug}.ipynb out.ipynb -p {set}
    env/bin/jupyter lab {slug}.ipynb

A lesson's exercises stand in exercises.ipynb too, without solutions. Python 3.11 or later. A wrong
parameter stops the notebook with the list of the right ones.
"""


def exercises(notebook: dict[str, Any]) -> dict[str, Any] | None:
    """Return a lesson's exercises as a notebook without solutions, or None if there are none."""
    own, inside = list[dict[str, Any]](), False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            first, *others = SECTION.split("".join(cell["source"]))
            told = [first] * inside + [text for text in others if text.startswith(YOURS)]
            inside = others[-1].startswith(YOURS) if others else inside
            if "".join(told).strip():
                own.append({**cell, "source": "\n".join(told)})
        elif inside and "hide-cell" not in cell["metadata"].get("tags", []):
            own.append(cell)
    start = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    start |= {"id": "start", "source": "import numpy as np\n\nfrom dplit.notebook import grade"}
    return {**notebook, "cells": [*own[:1], start, *own[1:]]} if own else None


def build_wheel(layout: Layout, folder: Path) -> Path:
    """Build the package's wheel into a folder, without network, from a copy of its sources.

    Raises
    ------
    BuildError
        With what pip says, if it fails.
    """
    with tempfile.TemporaryDirectory() as held:
        copy = Path(held)
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(layout.root / "src", copy / "src", ignore=left_out)
        for name in BESIDE:
            shutil.copy(layout.root / name, copy / name)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
        command += ["--no-build-isolation", "--wheel-dir", str(folder), "."]
        env = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)
    wheels = list(folder.glob("dplit-*.whl"))
    if done.returncode or len(wheels) != 1:
        raise BuildError(f"the wheel could not be built:\n{done.stdout}{done.stderr}")
    return wheels[0]


def the_wheel(layout: Layout) -> Path:
    """Return the wheel of the sources as they are, built again only after a change."""
    folder, memory = layout.build / "wheel", layout.state / "wheel.json"
    files = [layout.root / name for name in BESIDE]
    files += [p for p in layout.package.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    made_from = digest_files(files, layout.root)
    wheels = list(folder.glob("dplit-*.whl"))
    if not wheels or read_json(memory) != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        wheels = [build_wheel(layout, folder)]
        write_json(memory, made_from)
    return wheels[0]


def write_downloads(layout: Layout, site: Path) -> None:
    """Write ``_downloads/<slug>.zip`` of every chapter into a site."""
    wheel, folder = the_wheel(layout), site / "_downloads"
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(layout.studies.rglob("*.py"))
    studies = {p.relative_to(layout.studies.parent).as_posix(): p.read_bytes() for p in sources}
    for slug in layout.names():
        one = "epsilon 1.0" if slug in layout.lessons() else "seed 1"
        told = README.format(wheel=wheel.name, slug=slug, set=one).encode()
        notebook = (layout.notebooks / f"{slug}.ipynb").read_bytes()
        parts = {f"{slug}.ipynb": notebook, wheel.name: wheel.read_bytes(), "README.txt": told}
        parts |= studies
        if own := exercises(json.loads(notebook)):
            parts["exercises.ipynb"] = (json.dumps(own, indent=1) + "\n").encode()
        if slug in layout.lessons():  # other chapters do without what is archived
            for kept in named_results(notebook_code(layout.notebooks / f"{slug}.ipynb")):
                parts[f"results/{kept}.json"] = (layout.results / f"{kept}.json").read_bytes()
        with zipfile.ZipFile(folder / f"{slug}.zip", "w") as archive:
            for name, content in parts.items():
                archive.writestr(
                    zipfile.ZipInfo(f"dplit-{slug}/{name}", LONG_AGO), content, zipfile.ZIP_DEFLATED
                )
