"""The files by which conda and Binder find the lock."""

from __future__ import annotations

from pathlib import Path

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
