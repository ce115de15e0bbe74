"""The files by which conda and Binder find the lock, and what the workflows take from others."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.layout import Layout

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
    steps = workflow("weekly.yml")["jobs"]["package"]["steps"]
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


def weekly(place: Path, rule: str, failing: str) -> tuple[int, list[str]]:
    """Run a rule of the real Makefile with a Python that only tells what it was asked.

    Returns the exit code and the commands; those in which ``failing`` stands fail.
    """
    python = place / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\necho "ran $@"\ncase "$*" in *"{failing}"*) exit 1;; esac\n')
    python.chmod(0o755)
    done = subprocess.run(["make", f"VENV={place}", rule], cwd=ROOT, capture_output=True, text=True)
    lines = (line.removeprefix("ran ") for line in done.stdout.split("\n") if line[:4] == "ran ")
    return done.returncode, [line.removeprefix("-m ") for line in lines]


def test_every_record_is_run_with_three_seeds_and_one_that_fails_fails_the_rule(
    tmp_path: Path,
) -> None:
    """Kills a list that a record is missing from, or that has a lesson, which takes no seed; and a
    loop that ends at the first failure, or whose last run decides."""
    code, told = weekly(tmp_path, "seeds", "chapter audits")
    assert code == 2
    runs = [f"{slug} -p seed {k}" for slug in Layout(ROOT).recorded() for k in (1, 2, 3)]
    assert [line for line in told if " chapter " in line] == [f"scripts chapter {r}" for r in runs]


def test_a_week_asks_for_everything_and_goes_on_where_a_part_fails(tmp_path: Path) -> None:
    """Kills a part that another's failure hides, or that no job of the schedule has."""
    code, told = weekly(tmp_path, "weekly", "scripts again")
    assert code == 2
    whole = "\n".join(told)
    parts = (
        "scripts again",
        "scripts pdf",
        "-m weekly",
        "-p seed 3",
        "--cov",
        "scripts mutate",
        "scripts paper",
    )
    for wanted in parts:
        assert wanted in whole
    rows = workflow("weekly.yml")["jobs"]["weekly"]["strategy"]["matrix"]["parts"]
    parts = re.findall(r"^PARTS \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(" ".join(rows).split()) == sorted(parts[0].split())
    (step,) = (s for s in commands("weekly.yml", "weekly") if "make weekly" in s["run"])
    (there,) = (s for s in commands("book.yml", "book") if s["run"] == "make test")
    assert step["env"] == there["env"]


def test_the_versions_are_crossed_with_the_pythons() -> None:
    """Kills a matrix in which the reference, or a later Python, has only one of the two ends."""
    rows = workflow("weekly.yml")["jobs"]["package"]["strategy"]["matrix"]["include"]
    found = {(row["python"], row["which"]) for row in rows}
    assert found >= set(itertools.product(("3.11", "3.12"), ("oldest", "newest")))


FOUND = """\
from pathlib import Path

from jupyter_book.config import get_final_config

get_final_config(user_yaml=Path("_config.yml"), cli_config={"latex_individualpages": False})
import dplit_book
"""


def test_the_extension_is_found_by_whichever_command_builds(tmp_path: Path) -> None:
    """Kills an extension that only ``conf.py`` finds: the links are checked by Jupyter Book."""
    script = tmp_path / "start.py"  # its folder is what Python looks into
    script.write_text(FOUND)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([sys.executable, str(script)], cwd=ROOT, env=env, check=True)
