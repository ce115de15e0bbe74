"""A small copy of the repository with two toy chapters, in which the build can be broken."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import pairs
from scripts.layout import Layout

ROOT = Path(__file__).resolve().parents[2]

CHAPTER = """\
---
jupytext:
  cell_metadata_filter: tags,mystnb,-all
  formats: ipynb,md:myst
  notebook_metadata_filter: -jupytext.text_representation.jupytext_version
  text_representation: {{extension: .md, format_name: myst, format_version: 0.13}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

# Toy chapter {slug}

The parameters.

```{{code-cell}} ipython3
:tags: [parameters]
scale: str = "quick"
seed: int = 0
n_jobs: int = 2
data: str = "auto"
epsilon: float = 1.0
```

They are checked.

```{{code-cell}} ipython3
from dplit.notebook.claims import claim
from dplit.notebook import Between, check_parameters, glue_numbers
from dplit.papers.{slug} import numbers

run = check_parameters("{slug}", globals(), epsilon=Between(0, 10))
```

({prefix}-thm1)=
The claim.

```{{code-cell}} ipython3
glue_numbers({prefix}_double=numbers.double(2.0))
claim("{prefix}-thm1").equal(numbers.double(2.0), 4.0, how="a product against a sum")
```

The end{{cite:p}}`liao2025`.

```{{code-cell}} ipython3
from dplit.notebook import provenance

provenance(run)
```
"""
NUMBERS = '''\
"""Numbers of a toy chapter."""

from __future__ import annotations


def double(x: float) -> float:
    """Return twice a number, as alp-thm1 says; there is no alp-thm9."""
    return 2.0 * x
'''
CLAIMS = """\
- id: {prefix}-thm1
  kind: theorem
  place: Theorem 1
  title: Doubling
  verdict: holds
  evidence: derived
  functions: [dplit.papers.{slug}.numbers.double]
  note: Twice is twice.
"""
TESTS = '''\
"""Tests of a toy chapter."""

import pytest

from dplit.papers.{slug} import numbers


@pytest.mark.claim("{prefix}-thm1")
def test_double_is_a_sum() -> None:
    assert numbers.double(2.0) == 2.0 + 2.0
'''
TOC = """\
format: jb-book
root: book/intro
chapters:
  - file: book/chapters/alpha
  - file: book/chapters/beta
  - file: book/claims
  - file: book/errata
  - file: book/tests/alpha
  - file: book/tests/beta
  - file: book/run_times
  - file: book/bibliography
  - glob: book/reference/*
"""
BIBLIOGRAPHY = """\
# Bibliography

```{bibliography}
```
"""
#: What no toy chapter imports: Sphinx would describe all of it in each build.
UNUSED = (
    "_base.py",
    "_bounds.py",
    "_entries.py",
    "_labels.py",
    "_numerics",
    "_persons.py",
    "_predictors.py",
    "_records.py",
    "_solvers",
    "_statements.py",
    "accounting",
    "additive.py",
    "advice",
    "audit",
    "clusters",
    "components.py",
    "constant.py",
    "persons.py",
    "entries",
    "features",
    "kernels",
    "linear",
    "margins",
    "mechanisms",
    "sketching",
    "tables",
    "composition.py",
    "definition.py",
    "neighbours.py",
)


@dataclass(frozen=True)
class Toy:
    """The toy repository and how to run its build."""

    root: Path

    def run(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Run a command of the build and return its end, with what it said."""
        command = [sys.executable, "-m", "scripts", *arguments]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            command, cwd=self.root, env=self.env(), capture_output=True, text=True, **options
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of the build without waiting for it."""
        command = [sys.executable, "-m", "scripts", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.root, env=self.env(), stdout=pipe, stderr=pipe, text=True
        )

    def env(self) -> dict[str, str]:
        """Return the environment of a first build on a machine without data."""
        left_out = ("DPLIT_", "PYTEST_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        cache = str(self.root / "no_cache")
        return {**inherited, "PYTHONPATH": str(self.root / "src"), "DPLIT_CACHE": cache}

    def path(self, name: str) -> Path:
        """Return a path in the toy repository."""
        return self.root / name

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace some text of a file."""
        text = self.path(name).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {name}"
        self.path(name).write_text(text.replace(old, new), encoding="utf-8")

    def rewrite(self, old: str, new: str, slug: str = "alpha") -> None:
        """Replace some text of a chapter, in its source and in its notebook."""
        self.edit(f"notebooks/{slug}.md", old, new)
        pairs.sync(Layout(self.root))

    def book(self) -> list[str]:
        """Run ``make book``'s command, demand that it succeeds, and return the chapters it ran."""
        done = self.run("book")
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [line.strip() for line in done.stdout.split("\n")]
        return sorted(line.partition(":")[0] for line in lines if ": running" in line)

    def snapshot(self) -> dict[str, tuple[int, int]]:
        """Return size and time of change of every file that the build made."""
        made = [self.path("_build"), self.path("book")]
        files = [p for folder in made for p in folder.rglob("*") if p.is_file()]
        kept = [p for p in files if p.name != ".lock" and "ipython" not in p.parts]
        return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in kept}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make_toy(root: Path) -> Toy:
    """Write the toy repository: the real scripts, package and configuration, two small chapters."""
    papers = ROOT / "src" / "dplit" / "papers"
    chapters = {path.name for path in papers.iterdir() if path.is_dir()}
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", *UNUSED)

    def left_out(folder: str, names: list[str]) -> set[str]:
        of_papers = Path(folder).name in ("papers", "dplit_studies")
        return {*unwanted(folder, names), *(chapters & {*names} if of_papers else ())}

    for folder in ("scripts", "src", "book/_assets", "book/_ext"):
        shutil.copytree(ROOT / folder, root / folder, ignore=left_out)
    copied = ["conf.py", "_config.yml", "requirements.txt", "pyproject.toml", "book/references.bib"]
    copied += ["book/claims.md"]
    for name in (*copied, "README.md", "CITATION.cff", "LICENSE", "LICENSE-text"):
        _write(root / name, (ROOT / name).read_text(encoding="utf-8"))
    _write(root / "_toc.yml", TOC)
    _write(root / "book" / "intro.md", "# Toy book\n")
    _write(root / "book" / "errata.md", "# Errata\n\n```{dplit} errata\n```\n")
    _write(root / "book" / "run_times.md", "# Run times\n\n```{dplit} run-times\n```\n")
    _write(root / "book" / "bibliography.md", BIBLIOGRAPHY)
    for slug, prefix in (("alpha", "alp"), ("beta", "bet")):
        names = {"slug": slug, "prefix": prefix}
        _write(root / "notebooks" / f"{slug}.md", CHAPTER.format(**names))
        _write(root / "src" / "dplit" / "papers" / slug / "__init__.py", f'"""Toy {slug}."""\n')
        _write(root / "src" / "dplit" / "papers" / slug / "numbers.py", NUMBERS)
        _write(root / "src" / "dplit" / "papers" / slug / "claims.yml", CLAIMS.format(**names))
        _write(root / "tests" / f"test_{slug}.py", TESTS.format(**names))
        shown = f"```{{dplit}} tests {slug}\n```\n\n```{{dplit}} sources {slug}\n```\n"
        _write(root / "book" / "tests" / f"{slug}.md", f"# Tests\n\n{shown}")
    pairs.sync(Layout(root))
    return Toy(root)


@pytest.fixture(autouse=True)
def no_outer_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the `make test` that runs the tests: its variables would override those of a test's."""
    of_make = ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
    for name in (*of_make, "AGAIN", "ARGS", "JOBS", "NAME", "PARTS", "SEEDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A toy repository whose book has been built; tests copy it and leave it as it is.

    Whichever worker asks first builds it, for all of them.
    """
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    toy, done = Toy(place / "built" / "repository"), place / "built" / "done"
    with (place / "built.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make_toy(toy.root)
            assert toy.book() == ["alpha", "beta"]
            done.touch()
    return toy


@pytest.fixture
def toy(built: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """A copy of the built toy repository, to be broken; like its build, the test has no data."""
    monkeypatch.delenv("DPLIT_DATA", raising=False)
    shutil.copytree(built.root, tmp_path / "repository", symlinks=True)
    return Toy(tmp_path / "repository")
