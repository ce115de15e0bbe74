"""What a chapter imports is found without running it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import digest
from scripts.files import BuildError, changed_parts
from scripts.layout import Layout

FILES = {
    "__init__.py": "",
    "data.json": "{}",
    "streams.py": "",
    "features.py": "from dplit.streams import stream\n",
    "unused.py": "import dplit.features\n",
    "late.py": "",
    "erm/__init__.py": "from . import bounds\n",
    "erm/bounds.py": "from .. import features\nfrom .inner import x\n",
    "erm/inner.py": "def f():\n    from dplit.late import g\n",
    "erm/claims.yml": "[]\n",
    "margin/__init__.py": "",
    "margin/release.py": "",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "dplit"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def found(package: Path, source: str) -> set[str]:
    return {str(p.relative_to(package)) for p in digest.imported_files([source], package)}


SHARED = {"__init__.py", "data.json"}
WHOLE_ERM = {
    *SHARED,
    "erm/__init__.py",
    "erm/claims.yml",
    "erm/bounds.py",
    "erm/inner.py",
    "features.py",
    "streams.py",
    "late.py",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy", set()),
        ("import dplit", SHARED),
        ("import dplit.streams as s", {*SHARED, "streams.py"}),
        ("from dplit import streams", {*SHARED, "streams.py"}),
        ("from dplit.features import anything", {*SHARED, "features.py", "streams.py"}),
        ("def f():\n    import dplit.late", {*SHARED, "late.py"}),
        ("from dplit.erm.bounds import b", WHOLE_ERM),
        ("from dplit.erm import *", WHOLE_ERM),
        ("from dplit.margin import release", {*SHARED, "margin/__init__.py", "margin/release.py"}),
        ("import dplitters", set()),
    ],
)
def test_imports_are_followed_through_the_package(
    package: Path, source: str, expected: set[str]
) -> None:
    assert found(package, source) == expected


def test_magic_lines_are_left_out_of_a_notebooks_code(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    code = {"cell_type": "code", "source": ["%matplotlib inline\n", "!ls\n", "import dplit"]}
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "%"}, code]}))
    assert digest.notebook_code(path) == ["import dplit"]


def test_a_damaged_notebook_is_a_clear_message(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": [')
    with pytest.raises(BuildError, match=r"a\.ipynb is not a readable notebook .* make sync"):
        digest.notebook_code(path)


ROOT = Layout(Path(__file__).resolve().parents[2])


@pytest.mark.parametrize(
    ("slug", "names"),
    [
        ("erm_supplement", []),
        ("sketching_supplement", []),
        ("audits", []),
        ("projection_supplement", ["MNIST"]),
        ("margin_supplement", ["MNIST"]),
        ("random_features_supplement", ["medical", "wine"]),
        ("face_off_supplement", ["MNIST", "medical", "wine"]),
    ],
)
def test_it_is_known_which_chapter_reads_which_data(slug: str, names: list[str]) -> None:
    """Kills a chapter that depends on data it never opens, and one that hides what it opens."""
    assert digest.data_sets(ROOT, slug) == names


def test_every_loader_of_the_papers_data_is_known() -> None:
    """Kills a loader whose data no digest would see."""
    from dplit.notebook import datasets
    from dplit.notebook.datasets.needs import DATASETS

    loaders = {name for name in datasets.__all__ if name.startswith("load_")}
    assert loaders | {"kernel_problem"} == digest.LOADERS.keys()
    assert set(digest.LOADERS.values()) == DATASETS.keys()


@pytest.fixture
def medical_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has the medical data, whose checksum is another one here."""
    from dplit.notebook.datasets import papers

    monkeypatch.setenv("DPLIT_DATA", str(tmp_path))
    monkeypatch.setenv("DPLIT_CACHE", str(tmp_path / "cache"))
    file = papers.FILES["insurance.csv"]
    (tmp_path / "insurance.csv").write_text("1")
    declared = hashlib.sha256(b"1").hexdigest()
    monkeypatch.setitem(papers.FILES, "insurance.csv", replace(file, sha256=declared))
    return tmp_path / "insurance.csv"


def test_a_chapter_that_reads_data_runs_again_when_they_come(medical_here: Path) -> None:
    """Kills a page of stand-ins that stays after `make data`."""
    assert "data insurance.csv" in digest.chapter_parts(ROOT, "random_features_supplement")
    assert not any(part.startswith("data") for part in digest.chapter_parts(ROOT, "erm_supplement"))
    medical_here.unlink()
    assert "data insurance.csv" not in digest.chapter_parts(ROOT, "random_features_supplement")


def test_nothing_is_archived_on_stand_ins(medical_here: Path) -> None:
    """Kills a `make paper` that runs first and refuses afterwards."""
    told = r"random_features_supplement reads the paper's wine data.*make data"
    with pytest.raises(BuildError, match=told):
        digest.require_data(ROOT, "random_features_supplement")
    digest.require_data(ROOT, "audits")


@pytest.mark.parametrize(
    ("slug", "names"),
    [
        ("audits", {"audits", "mutation"}),
        ("margin_supplement", {"margin", "benchmarks"}),
        ("erm_supplement", {"erm"}),
    ],
)
def test_a_chapter_depends_on_all_results_that_it_reads(slug: str, names: set[str]) -> None:
    """Kills a score of mutation that is written anew and not shown."""
    parts = digest.chapter_parts(ROOT, slug)
    assert {n for n in parts if n.startswith("results/")} == {f"results/{n}.json" for n in names}


def test_only_versions_of_what_computes_are_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a theme's new version that runs every chapter again, and a numpy's that runs none."""
    parts = digest.chapter_parts(ROOT, "basics")
    assert {"python", "numpy", "scipy", "scikit-learn", "matplotlib"} <= parts.keys()
    assert not {"requirements.txt", "alabaster", "sphinx", "pytest"} & parts.keys()
    real = digest.version
    monkeypatch.setattr(digest, "version", lambda name: "9" if name == "numpy" else real(name))
    digest.computing.cache_clear()
    try:
        assert changed_parts(parts, digest.chapter_parts(ROOT, "basics")) == ["numpy"]
    finally:
        digest.computing.cache_clear()
