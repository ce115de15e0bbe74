"""A new chapter as its command writes it: pairs, registry, lint, tests and both notebooks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dplit.claims import load_registry
from scripts import pairs, paper
from scripts.files import BuildError
from scripts.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "scripts", "notebooks")
FILES = ("_toc.yml", "pyproject.toml", "requirements.txt", "book/notation.md")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A copy of the repository's sources with a chapter on trees."""
    layout = Layout(tmp_path_factory.mktemp("clone"))
    away = shutil.ignore_patterns("__pycache__", "*.egg-info", ".ipynb_checkpoints")
    for name in COPIED:
        shutil.copytree(ROOT / name, layout.root / name, ignore=away)
    (layout.root / "book").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, layout.root / name)
    paper.new_paper(layout, "random_trees", lambda line: None)
    return layout


def run(layout: Layout, *command: str) -> str:
    """Return what a Python module says in the copy; its end must be good."""
    there = {**os.environ, "PYTHONPATH": str(layout.root / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=layout.root, env=there, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_a_new_chapter_is_registered_paired_and_clean(made: Layout) -> None:
    """Kills a template whose claims, functions, tests and cells do not name each other."""
    pairs.check(made)
    assert "random_trees" in made.lessons()
    assert made.record("random_trees") == "random_trees_supplement"
    assert int(run(made, "scripts", "claims").split()[0]) == len(load_registry()) + 2
    new = ["src/dplit/random_trees", "tests/random_trees"]
    run(made, "ruff", "check", *new)
    run(made, "ruff", "format", "--check", *new)


def test_its_tests_pass_and_mark_its_claims(made: Layout) -> None:
    told = run(made, "pytest", "-q", "-p", "no:cacheprovider", "tests/random_trees")
    assert "6 passed" in told
    assert "randomtrees-thm1" in (made.tests / "random_trees" / "test_sensitivity.py").read_text()


def test_its_notebooks_run(made: Layout) -> None:
    for name in ("random_trees", "random_trees_supplement"):
        out = str(made.root / f"{name}.out.ipynb")
        run(made, "papermill", str(made.notebooks / f"{name}.ipynb"), out, "--cwd", str(made.root))
        assert "failed" not in Path(out).read_text().split('"dplit-status"')[0]


def test_it_stands_once_in_the_table_of_contents_and_no_placeholder_is_left(made: Layout) -> None:
    toc = (made.root / "_toc.yml").read_text()
    for entry in ("chapters", "tests", "reference"):
        assert toc.count(f"file: book/{entry}/random_trees\n") == 1
    assert (made.root / "book" / "notation.md").read_text().count("## Random trees\n") == 1
    for place in paper.PLACES.values():
        text = (made.root / place.replace("newpaper", "random_trees")).read_text()
        assert not re.search(r"newpaper|newid|New Paper", text), place


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "small letters"),
        ("Trees", "small letters"),
        ("class", "small letters"),
        ("trees_supplement", "the lesson's"),
        ("erm", "is taken: src/dplit/erm"),
        ("trials", r"is taken: src/dplit/trials\.py"),
    ],
)
def test_a_name_that_no_chapter_can_have_is_refused(name: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        paper.check_new(Layout(ROOT), name)
