"""`pip install .` alone gives the package: from a wheel, in an environment without the sources."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.build

USE = """
from importlib import resources
import dplit, dplit.mechanisms, dplit.random_features, dplit.streams
from dplit import claims
assert "site-packages" in dplit.__file__ and dplit.__file__.startswith(__import__("sys").prefix)
assert resources.files("dplit").joinpath("py.typed").is_file()
assert claims.load_schema()["type"] == "object"
print(len(claims.load_registry()), dplit.__version__)
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without network from a copy of what the package is made from."""
    import shutil

    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(root / "src", copy / "src", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(root / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    options = ["--no-build-isolation", "--wheel-dir", str(out), "."]
    subprocess.run([*command, *options], cwd=copy, check=True)
    (path,) = out.glob("*.whl")
    return path


def test_wheel_holds_code_types_registries_and_licences(wheel: Path, root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = root / "src" / "dplit"
    wanted = [p for p in package.rglob("*") if p.suffix in (".py", ".yml", ".json", ".typed")]
    assert {f"dplit/{p.relative_to(package)}" for p in wanted} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "scripts/", "benchmarks/"))]


def test_installed_wheel_works_away_from_the_repository(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are borrowed from this environment, the package is not."""
    venv.create(tmp_path / "v", with_pip=False)
    python = tmp_path / "v" / "bin" / "python"
    (packages,) = (tmp_path / "v" / "lib").glob("python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(packages), str(wheel)], check=True)
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    done = subprocess.run(
        [str(python), "-c", USE], cwd=tmp_path, env={}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 0
