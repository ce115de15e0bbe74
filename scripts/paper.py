"""`make new-paper`: the files of a chapter that builds green, to be filled by its author."""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scripts import pairs
from scripts.files import BuildError, write_text
from scripts.layout import SUPPLEMENT, Layout

#: The files of a chapter, by their places; `newpaper`, `newid` and `New Paper` stand for its names.
SKELETON = Path(__file__).with_name("skeleton")
PLACES = {
    "lesson.md": "notebooks/newpaper.md",
    "supplement.md": f"notebooks/newpaper{SUPPLEMENT}.md",
    "__init__.py.txt": "src/dplit/newpaper/__init__.py",
    "sensitivity.py.txt": "src/dplit/newpaper/sensitivity.py",
    "exercises.py.txt": "src/dplit/newpaper/exercises.py",
    "claims.yml.txt": "src/dplit/newpaper/claims.yml",
    "test_sensitivity.py.txt": "tests/newpaper/test_sensitivity.py",
}
CHAPTER = """\
      - file: book/chapters/newpaper
        sections:
          - file: book/chapters/newpaper_supplement
          - file: book/tests/newpaper
            title: "Tests: new paper"
"""
ROOM = """\
      - file: book/reference/newpaper
        sections:
          - glob: book/reference/newpaper.*
"""
#: Entries of the table of contents before which a new one stands.
BEFORE = {"      - file: book/chapters/face_off\n": CHAPTER,
          "      - file: book/reference/face_off\n": ROOM}  # fmt: skip
NEXT = """\
wrote {files}
and entries in _toc.yml and book/notation.md. It builds green as it is: make preview NAME={name}
Then, one by one: the paper in book/references.bib and CITATION.cff, its authors in scripts/pages.py
(PAPERS), a row in book/how_to_read.md and book/api.md, and its claims ("To add a claim")."""


def check_new(layout: Layout, name: str) -> None:
    """Refuse a name that no chapter can have, or that is taken.

    Raises
    ------
    BuildError
        With the rule that it breaks.
    """
    if not re.fullmatch(r"[a-z][a-z_]*[a-z]", name) or keyword.iskeyword(name):
        raise BuildError(f"NAME must be small letters and underscores, got NAME={name!r}")
    if name.endswith(SUPPLEMENT):
        raise BuildError(f"NAME must be the lesson's, without {SUPPLEMENT}, got NAME={name!r}")
    rooms = (layout.package / name, layout.package / f"{name}.py", layout.tests / name)
    if taken := [layout.name(path) for path in rooms if path.exists()]:
        raise BuildError(f"NAME={name} is taken: {', '.join(taken)}")


def new_paper(layout: Layout, name: str, say: Callable[[str], None]) -> None:
    """Write a chapter's lesson, supplement, room, tests and entries, and the notebooks' pairs."""
    check_new(layout, name)
    names = {"newpaper": name, "newid": name.replace("_", ""), "new paper": name.replace("_", " ")}
    names["New Paper"] = names["new paper"].capitalize()

    def filled(text: str) -> str:
        return re.sub("|".join(names), lambda found: names[found[0]], text)

    written = [layout.root / filled(place) for place in PLACES.values()]
    for source, file in zip(PLACES, written, strict=True):
        text = (SKELETON / source).read_text(encoding="utf-8")
        write_text(file, filled(text))
    # the order of imports and the length of lines depend on the name
    code = [str(file) for file in written if file.suffix == ".py"]
    for step in (["check", "--quiet", "--select=I", "--fix"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *step, *code], cwd=layout.root, check=True)
    toc = (layout.root / "_toc.yml").read_text(encoding="utf-8")
    for line, entry in BEFORE.items():
        toc = toc.replace(line, filled(entry) + line)
    write_text(layout.root / "_toc.yml", toc)
    notation = layout.book / "notation.md"
    table = (SKELETON / "notation.md.txt").read_text(encoding="utf-8")
    write_text(notation, notation.read_text(encoding="utf-8").rstrip("\n") + "\n" + filled(table))
    pairs.sync(layout)
    say(NEXT.format(name=name, files=", ".join(map(layout.name, written))))
