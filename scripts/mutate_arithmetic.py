"""`make mutate NAME=arithmetic`: mutants of what privacy depends on meet the tests that reach them.

They are sampled with a fixed seed, of each kind alike. The tests are collected once; each mutant
lives in a fork, where the code of one function is exchanged, and meets the tests that reach its
line, the quick ones first. Which these are, and how long they take, is known from one run:
``make test ARGS="--cov --cov-context=test --junitxml=_build/coverage/tests.xml"``. cosmic-ray and
mutmut were weighed, as `scripts.arithmetic` says: each mutant would cost a start of pytest.
"""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts import forks
from scripts.arithmetic import Mutant, changes_of, plant, sample
from scripts.files import BuildError, read_json, write_json
from scripts.layout import Layout

Say = Callable[[str], None]

#: The share of mutants that tests must kill.
LEAST = 0.97
#: What measures which tests reach which line.
MEASURE = 'make test ARGS="--cov --cov-context=test --junitxml=_build/coverage/tests.xml"'

#: What privacy depends on: sensitivities, accounting, mechanisms, releases, estimators.
FILES = (
    "_checks.py", "_estimators.py", "_numerics/exact.py", "_numerics/rounding.py",
    "accounting/*.py", "mechanisms/*.py", "baselines/*.py", "erm/estimators.py", "erm/release.py",
    "erm/repairs.py", "erm/stability.py", "margin/compressed.py", "margin/covers.py",
    "margin/descent.py", "margin/estimators.py", "margin/exponential.py", "margin/selection.py",
    "margin/plans.py", "margin/networks.py", "projection/additive.py",
    "projection/estimators.py", "projection/projection.py", "random_features/estimators.py",
    "random_features/release.py", "random_features/sensitivity.py", "sketching/estimators.py",
    "sketching/release.py", "sketching/sketches.py", "sketching/sensitivity.py",
)  # fmt: skip


class Session:
    """A pytest plugin that collects all tests, and instead of running them meets mutants."""

    def __init__(self, run: Callable[[dict[str, Any]], None]) -> None:
        self._run = run
        self.failed = ""

    def pytest_runtestloop(self, session: Any) -> bool:
        """Hand over the collected tests by their names."""
        self._run({item.nodeid: item for item in session.items})
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the first test that failed, in the fork that it runs in."""
        self.failed = self.failed or (report.nodeid if report.failed else "")

    def meet(self, mutant: Mutant | None, tests: Sequence[Any], root: Path) -> str:
        """Run tests under a mutant, in a fork, until one fails; return its name, or nothing.

        None is no mutant: a test that fails then as well has killed nothing.
        """
        if mutant:
            try:
                plant(mutant, root)
            except (AttributeError, TypeError, ValueError) as error:
                return f"not planted: {error}"
        for item, following in zip(tests, [*tests[1:], None], strict=False):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return ""


def reach(layout: Layout, files: Sequence[Path]) -> dict[str, dict[int, list[str]]]:
    """Return which tests reach which line of which file, from the last measurement."""
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as folder:  # forks would write into an open data base
        held = shutil.copy(layout.build / "coverage" / "data", folder)
        data = CoverageData(basename=held)
        data.read()
        found = {file.relative_to(layout.root).as_posix(): data.contexts_by_lineno(str(file))
                 for file in files}  # fmt: skip
        data.close(force=True)
    names = {name for lines in found.values() for held in lines.values() for name in held}
    if not names - {""}:
        raise BuildError(f"the coverage of each test is not known: run {MEASURE}")
    return found


def tests_at(reached: dict[str, dict[int, list[str]]], layout: Layout, mutant: Mutant) -> set[str]:
    """Return the names of the tests that reach the statement of a mutant."""
    first, last = _statement(layout.root / mutant.file, mutant.line)
    held = reached[mutant.file]
    names = {c.partition("|")[0] for k in range(first, last + 1) for c in held.get(k, [])}
    return names - {""}


@cache
def _statements(file: Path) -> list[tuple[int, int]]:
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return [(n.lineno, n.end_lineno or 0) for n in nodes
            if isinstance(n, ast.stmt) and not hasattr(n, "body")]  # fmt: skip


def _statement(file: Path, line: int) -> tuple[int, int]:
    """Return first and last line of the smallest statement around a line."""
    around = [(b - a, a, b) for a, b in _statements(file) if a <= line <= b]
    return min(around)[1:] if around else (line, line)


def durations(layout: Layout) -> dict[str, float]:
    """Return the seconds of every test, as pytest names it."""
    tree = ElementTree.parse(layout.build / "coverage" / "tests.xml")
    found = {}
    for case in tree.iter("testcase"):
        *folders, last = case.attrib["classname"].split(".")
        inner = ""
        while (
            not (layout.root / "/".join([*folders, last])).with_suffix(".py").exists() and folders
        ):
            inner, last = f"::{last}{inner}", folders.pop()
        file = "/".join([*folders, f"{last}.py"])
        found[f"{file}{inner}::{case.attrib['name']}"] = float(case.attrib["time"])
    return found


def record(rows: Sequence[dict[str, Any]], kept: dict[str, Any]) -> dict[str, Any]:
    """Return what is archived: the counts of each folder, and the survivors one by one.

    ``why`` says why a survivor is harmless; it is written by hand, and kept while the survivor is
    the same.
    """
    names = ("file", "function", "kind", "before", "after")
    said = {tuple(row[n] for n in names): row["why"] for row in kept.get("survivors", [])}
    folders = defaultdict[str, dict[str, int]](lambda: {"mutants": 0, "killed": 0})
    survivors = []
    for row in rows:
        folder = folders["/".join(Path(row["file"]).parts[2:-1])]
        folder["mutants"] += 1
        folder["killed"] += row["outcome"] != "survived"
        if row["outcome"] == "survived":
            key = tuple(row[n] for n in names)
            survivors.append({**dict(zip(names, key, strict=True)), "why": said.get(key, "")})
    return {"folders": dict(sorted(folders.items())), "survivors": survivors}


def meet_all(
    layout: Layout, chosen: Sequence[Mutant], files: Sequence[Path], say: Say,
    paths: Sequence[str] = (), width: int = 2,
) -> list[dict[str, Any]]:  # fmt: skip
    """Meet each mutant with its tests; return what became of it and which test killed it."""
    import pytest

    os.environ["DPLIT_MUTATE"] = "1"
    seconds, reached = durations(layout), reach(layout, files)
    rows: list[dict[str, Any]] = []

    def run(items: dict[str, Any]) -> None:
        tests = {m: sorted(tests_at(reached, layout, m) & items.keys(),
                           key=lambda name: seconds.get(name, 1.0)) for m in chosen}  # fmt: skip
        doubted: dict[Mutant, set[str]] = {m: set() for m in chosen}
        sound: dict[str, bool] = {}  # whether a test passes where nothing is changed
        left = list(chosen)

        def fails(mutant: Mutant | None, name: str) -> bool:
            told: list[str | None] = []
            forks.run([name], lambda n: session.meet(mutant, [items[n]], layout.root),
                      lambda _, killer, __: told.append(killer), width=1, limit=900.0)  # fmt: skip
            return told != [""]

        def convicts(mutant: Mutant, name: str) -> bool:
            """Whether a test, alone in a fork, fails under the mutant and not without it."""
            if name not in sound:
                sound[name] = not fails(None, name)
            return sound[name] and fails(mutant, name)

        def ended(mutant: Mutant, killer: str | None, took: float) -> None:
            if killer and killer.startswith("not planted"):
                raise BuildError(f"{mutant}: {killer}")
            if killer and not convicts(mutant, killer):
                say(f"{killer} fails after others, or where nothing is changed")
                doubted[mutant].add(killer)
                left.append(mutant)
                return
            outcome = {"": "survived", None: "stopped"}.get(killer, "killed")
            rows.append({**asdict(mutant), "outcome": outcome, "by": killer, "seconds": took,
                         "tests": len(tests[mutant])})  # fmt: skip
            say(f"{outcome:<9} {took:5.1f} s {mutant.file[10:]}:{mutant.line} {mutant.kind}: "
                f"{mutant.before!r} -> {mutant.after!r} ({len(tests[mutant])} tests)")  # fmt: skip

        def work(mutant: Mutant) -> str:
            names = [n for n in tests[mutant] if sound.get(n, True) and n not in doubted[mutant]]
            return session.meet(mutant, [items[name] for name in names], layout.root)

        while left:
            now, left[:] = list(left), []
            forks.run(now, work, ended, width=width, limit=900.0)

    session = Session(run)
    options = ["-q", "--no-header", "--rootdir", str(layout.root)]
    options += [part for name in ("cacheprovider", "xdist", "cov") for part in ("-p", f"no:{name}")]
    pytest.main([*options, *(paths or ["tests", "src"])], plugins=[session])
    if len(rows) != len(chosen):
        raise BuildError(f"only {len(rows)} of {len(chosen)} mutants were met")
    return rows


def main(layout: Layout, count: int, say: Say) -> int:
    """Sample mutants and meet them; return 0 if enough are killed and the rest is explained."""
    from scripts.mutate import import_all

    package = layout.package
    names = {f: f.relative_to(package).as_posix() for f in sorted(package.rglob("*.py"))}
    files = [file for file, name in names.items() if any(fnmatch(name, p) for p in FILES)]
    every = [change for file in files for change in changes_of(layout, file)]
    chosen = sample(layout.root, every, count)
    say(f"{len(chosen)} of {len(every)} mutants of {len(files)} files")
    import_all()
    rows = meet_all(layout, chosen, files, say)
    write_json(layout.build / "arithmetic.json", rows)
    archive = layout.results / "arithmetic.json"
    told = record(rows, read_json(archive) or {})
    write_json(archive, told)
    alive = [row for row in told["survivors"] if not row["why"]]
    killed = len(rows) - len(told["survivors"])
    say(f"{killed} of {len(rows)} mutants killed, {len(alive)} survivors not explained")
    return int(bool(alive) or killed < LEAST * len(rows))
