"""`pip install .` alone gives the package: from a wheel, in an environment without the sources."""

from __future__ import annotations

import json
import re
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts.downloads import build_wheel, exercises, write_downloads
from scripts.layout import Layout

pytestmark = pytest.mark.build
LESSONS = Layout(Path(__file__).resolve().parents[2]).lessons()

RUN = """
import json, socket
def cut(*arguments):
    raise OSError("a chapter asked the network")
socket.socket.connect = socket.getaddrinfo = cut
from IPython.core.interactiveshell import InteractiveShell
import dplit
from dplit.notebook import claims
assert dplit.__file__.startswith(__import__("sys").prefix)
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
for cell in json.load(open("audits.ipynb"))["cells"]:
    if cell["cell_type"] == "code":
        with __import__("contextlib").redirect_stdout(__import__("io").StringIO()):
            shell.run_cell("".join(cell["source"]), store_history=True).raise_error()
print(*(record["status"] for record in claims.shown_records().values()))
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without network from a copy of what the package is made from."""
    return build_wheel(Layout(root), tmp_path_factory.mktemp("wheel"))


def borrowing(place: Path, wheel: Path) -> Path:
    """Return Python in an environment whose dependencies are this one's; the package is not."""
    venv.create(place, with_pip=False)
    (packages,) = (place / "lib").glob("python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(packages), str(wheel)], check=True)
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return place / "bin" / "python"


def test_a_wheel_has_the_same_bytes_each_time(wheel: Path, root: Path, tmp_path: Path) -> None:
    assert build_wheel(Layout(root), tmp_path).read_bytes() == wheel.read_bytes()


def test_wheel_holds_code_types_registries_and_licences(wheel: Path, root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = root / "src" / "dplit"
    wanted = [p for p in package.rglob("*") if p.suffix in (".py", ".yml", ".json", ".typed")]
    assert {f"dplit/{p.relative_to(package)}" for p in wanted} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    left_out = ("tests/", "scripts/", "benchmarks/", "dplit_studies/")
    assert not [name for name in names if name.startswith(left_out)]


def test_the_readme_runs_on_the_wheel_alone(wheel: Path, root: Path, tmp_path: Path) -> None:
    """Kills a package that needs what only the book runs."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text(), re.M | re.S)
    ask = "import sys, dplit, importlib.util\nassert dplit.__file__.startswith(sys.prefix)\n"
    ask += "assert importlib.util.find_spec('dplit_studies') is None\n"
    (tmp_path / "readme.py").write_text(ask + "".join(blocks))
    done = subprocess.run(
        [str(borrowing(tmp_path / "v", wheel)), "readme.py"],
        cwd=tmp_path,
        env={"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-3:-1] == ["1.0 not refuted", "1000.0 refuted"]


@pytest.mark.parametrize("slug", LESSONS)
def test_exercises_are_a_notebook_of_their_own(root: Path, slug: str) -> None:
    """Kills a solution that is given away, a cell that needs the lesson's, and a lesson without."""
    lesson = json.loads((root / "notebooks" / f"{slug}.ipynb").read_text(encoding="utf-8"))
    made = exercises(lesson)
    assert made is not None
    sources = ["".join(cell["source"]) for cell in made["cells"]]
    assert sources[0].startswith("## Your turn")
    assert sum("grade(" in source for source in sources) >= 4
    assert [source for source in sources if "# solution" in source or "## What" in source] == []
    held: dict[str, Any] = {}
    for cell, source in zip(made["cells"], sources, strict=True):
        if cell["cell_type"] == "code":
            exec(source, held)
    assert held["grade"]


@pytest.mark.weekly
def test_a_chapter_runs_from_its_download(root: Path, tmp_path: Path) -> None:
    """Unzipped, its wheel installed, no checkout near, no network: every claim has passed."""
    write_downloads(Layout(root), tmp_path)
    archives = sorted((tmp_path / "_downloads").glob("*.zip"))
    assert [path.stem for path in archives] == sorted(Layout(root).names())
    linked = (root / "book/how_to_read.md").read_text(encoding="utf-8")
    assert [path.stem for path in archives if f"_downloads/{path.name}" not in linked] == []
    lesson = zipfile.ZipFile(tmp_path / "_downloads" / "erm.zip")
    assert "dplit-erm/results/erm_choice.json" in lesson.namelist()
    assert "dplit-erm/exercises.ipynb" in lesson.namelist()
    assert b"-p epsilon 1.0" in lesson.read("dplit-erm/README.txt")
    zipfile.ZipFile(tmp_path / "_downloads" / "audits.zip").extractall(tmp_path)
    folder = tmp_path / "dplit-audits"
    (wheel,) = folder.glob("*.whl")
    assert wheel.name in (folder / "README.txt").read_text()
    python = borrowing(tmp_path / "v", wheel)
    (folder / "run.py").write_text(RUN)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(python), "run.py"], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["passed"] * 5
