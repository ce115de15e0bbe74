"""The files by which conda and Binder find the lock, and what the workflows take from others."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("folder", [".", "binder"])
def test_the_lock_is_found_from_the_folder_of_each_environment_file(folder: str) -> None:
    """Pip reads a nested requirement file relative to the file that names it, not to the root.

    Kills a copy of environment.yml in a folder without the lock.
    """
    place = ROOT / folder
    listed = yaml.safe_load((place / "environment.yml").read_text())["dependencies"]
    (nested,) = next(item["pip"] for item in listed if isinstance(item, dict))
    flag, name = nested.split()
    assert flag == "-r"
    assert (place / name).read_bytes() == (ROOT / "requirements.txt").read_bytes()


def test_the_python_of_conda_is_the_reference() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    minor = (ROOT / ".github" / "workflows" / "book.yml").read_text().split('python-version: "')[1]
    assert f"python={minor.split(chr(34))[0]}" in listed


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    return loaded


def test_the_oldest_versions_are_those_that_the_package_names(tmp_path: Path) -> None:
    """Kills a list that the step cannot read: it would install the newest and call them oldest."""
    steps = workflow("versions.yml")["jobs"]["package"]["steps"]
    (step,) = (s for s in steps if "oldest" in s.get("if", ""))
    text = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(text)
    subprocess.run(["bash", "-ec", step["run"]], cwd=tmp_path, check=True)
    told = (tmp_path / "constraints.txt").read_text().split()
    wanted = tomllib.loads(text)["project"]["dependencies"]
    assert told == [name.replace(">=", "==") for name in wanted]
    assert {name.split("==")[0] for name in told} >= {"numpy", "scipy", "scikit-learn"}


def commands(name: str, job: str) -> list[dict[str, Any]]:
    return [step for step in workflow(name)["jobs"][job]["steps"] if "run" in step]


def test_a_release_is_tested_as_the_book_is() -> None:
    """Kills a release that is published before its tests, or with tests that may be skipped."""
    steps = commands("release.yml", "release")
    told = [step["run"].split()[:2] for step in steps]
    assert told.index(["make", "test"]) < told.index(["gh", "release"])
    assert told.index(["make", "pdf"]) < told.index(["gh", "release"])
    (here,) = (step["env"] for step in steps if step["run"] == "make test")
    (there,) = (step["env"] for step in commands("book.yml", "book") if step["run"] == "make test")
    assert here == there
    assert here["DPLIT_STRICT"] == "1"


@pytest.mark.parametrize(("week", "seed"), [("08", 3), ("09", 1), ("52", 2)])
def test_another_seed_is_run_in_every_chapter(week: str, seed: int) -> None:
    """Kills a list of chapters that one is missing from, and a seed that is always the same."""
    (step,) = (s for s in commands("book.yml", "book") if "-p seed" in s["run"])
    assert step["env"]["DPLIT_STRICT"] == "1"
    said = f'make() {{ echo "$@"; }}\ndate() {{ echo {week}; }}\n' + step["run"]
    done = subprocess.run(["bash", "-ec", said], cwd=ROOT, capture_output=True, check=True)
    slugs = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    wanted = [f"chapter NAME={slug} ARGS=-p seed {seed}" for slug in slugs]
    assert done.stdout.decode().splitlines() == wanted


def test_one_chapter_that_fails_at_another_seed_fails_the_step_once_all_have_run() -> None:
    (step,) = (s for s in commands("book.yml", "book") if "-p seed" in s["run"])
    said = 'make() { echo "$@"; [ "$2" != NAME=basics ]; }\n' + step["run"]
    done = subprocess.run(["bash", "-ec", said], cwd=ROOT, capture_output=True)
    assert done.returncode == 1
    slugs = list((ROOT / "notebooks").glob("*.ipynb"))
    assert len(done.stdout.decode().splitlines()) == len(slugs)


def test_the_versions_are_crossed_with_the_pythons() -> None:
    """Kills a matrix in which the reference, or a later Python, has only one of the two ends."""
    rows = workflow("versions.yml")["jobs"]["package"]["strategy"]["matrix"]["include"]
    found = {(row["python"], row["which"]) for row in rows}
    assert found >= set(itertools.product(("3.11", "3.12"), ("oldest", "newest")))


def test_the_links_are_checked_where_our_extensions_are_found(tmp_path: Path) -> None:
    """Kills a step that starts Jupyter Book as a script, which does not look into this folder."""
    (step,) = (
        s for s in workflow("versions.yml")["jobs"]["links"]["steps"] if "linkcheck" in str(s)
    )
    listed = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]["extensions"]
    ours = [name for name in listed if name.startswith("scripts.")]
    script = tmp_path / "start.py"  # its folder is what Python looks into
    script.write_text("".join(f"import {name}\n" for name in ours))
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(script)]
    subprocess.run(command, cwd=ROOT, env=env | step.get("env", {}), check=True)
    assert ours


def test_branches_are_counted_once_a_week() -> None:
    """Kills a job that counts those of a part: the limit is for the whole suite, as CI runs it."""
    (step,) = (s for s in commands("versions.yml", "branches") if "make test" in s["run"])
    assert step["run"] == "make test ARGS=--cov"
    (there,) = (s for s in commands("book.yml", "book") if s["run"] == "make test")
    assert step["env"] == there["env"]
