"""`make mutate NAME=arithmetic`: mutants of what privacy depends on meet the tests that reach them.

They are sampled with a fixed seed, of each kind alike. The tests are collected once; each mutant
lives in a fork, where the code of one function is exchanged, and meets the tests that reach its
line, the quick ones first, until one fails. Where all of them would take longer than `PATIENCE`
seconds it meets as many as that allows, first of all those of its own folder: fewer tests can only
let a mutant live. Which tests reach a line, and how long they take, is measured before
(`measure`). Each outcome is kept as it comes: another run goes on where the last one ended, and
meets survivors again if their tests are others by then. cosmic-ray and mutmut were weighed, as
`scripts.arithmetic` says: each mutant would cost a start of pytest.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts import forks
from scripts.arithmetic import Mutant, changes_of, plant, sample
from scripts.files import BuildError, read_json, write_json
from scripts.layout import Layout

Say = Callable[[str], None]

#: The share of mutants that tests must kill; of the rest each must be explained. Of the first 800,
#: 53 change nothing that a test could see, or make noise larger or a fit slower: 97 of 100 is not
#: to be had.
LEAST = 0.9
#: Seconds of tests, as they were measured, that one mutant meets at most.
PATIENCE = 20.0
#: What a test may compute under a mutant: so many seconds, and so many times what it took before.
SPARE, TIMES = 10.0, 5.0
#: Seconds after which a fork is ended from outside: a test that heeds no signal.
LIMIT = 10 * PATIENCE
#: Where tests stand that were written for mutants that had survived.
WRITTEN = "test_small_changes.py"
#: Tests that compute in the process that they start in; others start programs or a browser.
TESTS = (
    "accounting",
    "advice",
    "audit",
    "audits",
    "clusters",
    "entries",
    "features",
    "kernels",
    "linear",
    "margins",
    "mechanisms",
    "numerics",
    "papers",
    "sketching",
    "solvers",
    "tables",
    "test_additive.py",
    "test_bad_arguments.py",
    "test_checks.py",
    "test_components.py",
    "test_contract.py",
    "test_estimators.py",
    "test_front_door.py",
    "test_records.py",
    "test_streams.py",
    "test_trials.py",
    WRITTEN,
)

#: What privacy depends on: sensitivities, accounting, mechanisms, releases, estimators.
FILES = (
    "_*.py",
    "_numerics/clipping.py",
    "_numerics/exact.py",
    "_numerics/rounding.py",
    "accounting/*.py",
    "additive.py",
    "clusters/*.py",
    "components.py",
    "entries/*.py",
    "kernels/*.py",
    "linear/*.py",
    "margins/*.py",
    "mechanisms/*.py",
    "papers/erm/release.py",
    "papers/erm/scales.py",
    "papers/margin/*.py",
    "papers/projection/additive_noise.py",
    "papers/random_features/release.py",
    "sketching/*.py",
    "tables/_files.py",
    "tables/_columns.py",
    "tables/fits.py",
    "tables/grids.py",
    "tables/summaries.py",
)


class Session:
    """A pytest plugin that collects all tests, and instead of running them meets mutants."""

    def __init__(self, run: Callable[[dict[str, Any]], None], seconds: dict[str, float]) -> None:
        self._run, self._seconds = run, seconds
        self.failed = ""

    def collect(self, root: Path, where: Sequence[str]) -> None:
        """Let pytest collect some tests in this process, and hand them over."""
        import pytest

        without = ("cacheprovider", "xdist", "cov")
        options = [part for name in without for part in ("-p", f"no:{name}")]
        pytest.main(["-q", "--no-header", "--rootdir", str(root), *options, *where], plugins=[self])

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
        signal.signal(signal.SIGPROF, _late)
        for item, following in zip(tests, [*tests[1:], None], strict=False):
            allowed = SPARE + TIMES * self._seconds.get(item.nodeid, 0.0)
            signal.setitimer(signal.ITIMER_PROF, allowed, 1.0)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return ""


def _late(*_: Any) -> None:
    """Fail the test that runs: it computes for ever, or for far longer than it should."""
    import pytest

    pytest.fail("takes too long", pytrace=False)


def paths(layout: Layout) -> list[str]:
    """Return the files and folders whose tests mutants meet: `TESTS`, and all examples."""
    return [*(str(layout.root / "tests" / name) for name in TESTS), str(layout.package)]


def measure(layout: Layout, files: Sequence[Path], say: Say, where: Sequence[str] = ()) -> None:
    """Run tests once, and note which of them reach which line of the files, and their time.

    ``where`` names a part of the tests: what was measured before of others stays. Those that take
    longer than any mutant would wait are ended by `scripts.impatient`.
    """
    folder = layout.build / "coverage"
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "arithmetic.rc"
    wanted = "".join(f"\n    {file.relative_to(layout.root).as_posix()}" for file in files)
    settings.write_text(f"[run]\ndata_file = {folder / 'data'}\ninclude ={wanted}\n")
    told = folder / f"tests{len(list(folder.glob('tests*.xml'))) or ''}.xml"
    say(f"which tests reach which of {len(files)} files")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "scripts.impatient",
            "-p",
            "no:cacheprovider",
            "--cov",
            f"--cov-config={settings}",
            "--cov-context=test",
            "--cov-report=",
            *(["--cov-append"] if where else []),
            "--cov-fail-under=0",
            f"--junitxml={told}",
            *(where or paths(layout)),
        ],
        cwd=layout.root,
        env=os.environ | {"DPLIT_MUTATE": "1"},
        check=False,
    )


def reach(layout: Layout, files: Sequence[Path]) -> dict[str, dict[int, list[str]]]:
    """Return which tests reach which line of which file, from the last measurement."""
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as folder:  # forks would write into an open data base
        held = shutil.copy(layout.build / "coverage" / "data", folder)
        data = CoverageData(basename=held)
        data.read()
        found = {
            file.relative_to(layout.root).as_posix(): data.contexts_by_lineno(str(file))
            for file in files
        }
        data.close(force=True)
    names = {name for lines in found.values() for held in lines.values() for name in held}
    if not names - {""}:
        raise BuildError("the coverage of each test is not known: remove _build/coverage")
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
    return [
        (n.lineno, n.end_lineno or 0)
        for n in nodes
        if isinstance(n, ast.stmt) and not hasattr(n, "body")
    ]


def _statement(file: Path, line: int) -> tuple[int, int]:
    """Return first and last line of the smallest statement around a line."""
    around = [(b - a, a, b) for a, b in _statements(file) if a <= line <= b]
    return min(around)[1:] if around else (line, line)


def durations(layout: Layout) -> dict[str, float]:
    """Return the seconds of every test that passed, as pytest names it, in one run or several."""
    files = sorted((layout.build / "coverage").glob("tests*.xml"))
    cases = [case for file in files for case in ElementTree.parse(file).iter("testcase")]
    found = {}
    for case in cases:
        if len(case):  # failed, skipped, or too slow
            continue
        *folders, last = case.attrib["classname"].split(".")
        inner = ""
        while (
            not (layout.root / "/".join([*folders, last])).with_suffix(".py").exists() and folders
        ):
            inner, last = f"::{last}{inner}", folders.pop()
        file = "/".join([*folders, f"{last}.py"])
        found[f"{file}{inner}::{case.attrib['name']}"] = float(case.attrib["time"])
    return found


def is_near(mutant: Mutant, name: str) -> bool:
    """Whether a test belongs to the folder of a mutant, or to its file where that has none."""
    parts = Path(mutant.file).with_suffix("").parts[2:]
    word = parts[0].strip("_")
    file = name.partition("::")[0]
    return word in Path(file).parts or (len(parts) == 1 and f"test_{word}" in file)


def within(
    names: Sequence[str], seconds: dict[str, float], patience: float, near: Callable[[str], bool]
) -> list[str]:
    """Return tests that together take no longer than the patience, in the order of meeting.

    Those of `WRITTEN` come first, then the quick ones; near ones are chosen before others.
    """
    chosen, used = [], 0.0
    for name in sorted(names, key=lambda n: (WRITTEN not in n, not near(n), seconds[n], n)):
        if used + seconds[name] <= patience:
            used += seconds[name]
            chosen.append(name)
    return sorted(chosen, key=lambda n: (WRITTEN not in n, seconds[n], n))


class Kept:
    """What became of mutants in this run and earlier ones: a row each, written as it comes."""

    def __init__(self, file: Path, root: Path, told: dict[str, Any] | None = None) -> None:
        self._file, self._root = file, root
        survivors = (told or {}).get("survivors", [])
        self._explained = {_name(row) for row in survivors if row["why"]}
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._rows = {row["key"]: row for row in map(json.loads, lines)}

    def key(self, mutant: Mutant) -> str:
        """Return what names a mutant: its change, and the text of the whole file."""
        text = (self._root / mutant.file).read_text(encoding="utf-8")
        return sha256(json.dumps([asdict(mutant), text]).encode()).hexdigest()[:16]

    def known(self, mutant: Mutant, names: Sequence[str]) -> dict[str, Any] | None:
        """Return the row of a mutant, unless it has survived other tests than these, and nobody has
        said why."""
        row = self._rows.get(self.key(mutant))
        if row is None or row["outcome"] != "survived" or _name(row) in self._explained:
            return row
        return row if row["met"] == _digest(names) else None

    def was_met(self, mutant: Mutant) -> bool:
        """Whether there is a row of a mutant, by whichever tests."""
        return self.key(mutant) in self._rows

    def add(self, mutant: Mutant, names: Sequence[str], **told: Any) -> dict[str, Any]:
        """Write one row."""
        row = {**asdict(mutant), **told, "key": self.key(mutant), "met": _digest(names)}
        self._rows[row["key"]] = row
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return row


def _name(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what names a change in the archive, whatever else has moved in its file."""
    return tuple(row[part] for part in ("file", "function", "kind", "before", "after"))


def _digest(names: Sequence[str]) -> str:
    return sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]


def record(rows: Sequence[dict[str, Any]], kept: dict[str, Any]) -> dict[str, Any]:
    """Return what is archived: the counts of each folder, and the survivors one by one.

    ``tests`` says how many tests a survivor met ``within`` so many seconds, and ``left`` how many
    more reach its line. ``why`` says why it is harmless; it is written by hand, and kept while the
    survivor is the same.
    """
    told = ("file", "function", "kind", "before", "after", "tests", "left", "within")
    said = {_name(row): row["why"] for row in kept.get("survivors", [])}
    folders = defaultdict[str, dict[str, int]](lambda: {"mutants": 0, "killed": 0})
    survivors = []
    for row in sorted(rows, key=lambda row: (row["file"], row["start"], row["after"])):
        folder = folders["/".join(Path(row["file"]).parts[2:-1])]
        folder["mutants"] += 1
        folder["killed"] += row["outcome"] != "survived"
        if row["outcome"] == "survived":
            survivors.append({**{n: row[n] for n in told}, "why": said.get(_name(row), "")})
    return {"folders": dict(sorted(folders.items())), "survivors": survivors}


def _assigned(
    layout: Layout,
    chosen: Sequence[Mutant],
    reached: dict[str, dict[int, list[str]]],
    known: Set[str],
    seconds: dict[str, float],
) -> tuple[dict[Mutant, list[str]], dict[Mutant, list[str]]]:
    """Return the tests that reach each mutant, and those of them that it meets; empty what says so,
    which forks need not carry.
    """
    known = known & seconds.keys()
    aims = {m: sorted(tests_at(reached, layout, m) & known) for m in chosen}
    reached.clear()
    return aims, {
        m: within(names, seconds, PATIENCE, partial(is_near, m)) for m, names in aims.items()
    }


def meet_all(
    layout: Layout,
    chosen: Sequence[Mutant],
    files: Sequence[Path],
    say: Say,
    *,
    where: Sequence[str],
    width: int = 2,
    told: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Meet each mutant with its tests; return what became of it and which test killed it."""
    os.environ["DPLIT_MUTATE"] = "1"
    seconds, reached = durations(layout), reach(layout, files)
    kept = Kept(layout.build / "arithmetic.jsonl", layout.root, told)
    rows: list[dict[str, Any]] = []

    def run(items: dict[str, Any]) -> None:
        aims, tests = _assigned(layout, chosen, reached, items.keys(), seconds)
        doubted: dict[Mutant, set[str]] = {m: set() for m in chosen}
        sound: dict[str, bool] = {}  # whether a test passes where nothing is changed
        known = {m: kept.known(m, tests[m]) for m in chosen}
        rows.extend(row for row in known.values() if row)
        # those that were never met first, then survivors that have other tests now
        left = sorted((m for m, row in known.items() if not row), key=kept.was_met)
        gc.freeze()  # forks share what is here

        def killer_of(mutant: Mutant | None, names: list[str]) -> str | None:
            told: list[str | None] = []
            forks.run(
                [0],
                lambda _: session.meet(mutant, [items[n] for n in names], layout.root),
                lambda _, killer, __: told.append(killer),
                width=1,
                limit=LIMIT,
            )
            return told[0]

        def convicts(mutant: Mutant, name: str) -> bool:
            """Whether a test, first in a fork, fails under the mutant and not without it."""
            if name not in sound:
                sound[name] = killer_of(None, [name]) == ""
            return sound[name] and (name == tests[mutant][0] or killer_of(mutant, [name]) != "")

        def ended(mutant: Mutant, killer: str | None, took: float) -> None:
            if killer and killer.startswith("not planted"):
                raise BuildError(f"{mutant}: {killer}")
            if killer and not convicts(mutant, killer):
                say(f"{killer} fails after others, or where nothing is changed")
                doubted[mutant].add(killer)
                left.append(mutant)
                return
            if killer is None and killer_of(None, tests[mutant]) is None:
                killer = ""  # the tests end the process in any case
            outcome = {"": "survived", None: "stopped"}.get(killer, "killed")
            met = len(tests[mutant])
            rows.append(
                kept.add(
                    mutant,
                    tests[mutant],
                    outcome=outcome,
                    by=killer,
                    seconds=took,
                    tests=met,
                    left=len(aims[mutant]) - met,
                    within=PATIENCE,
                )
            )
            say(
                f"{len(rows):4} {outcome:<9} {took:5.1f} s {mutant.file[10:]}:{mutant.line} "
                f"{mutant.kind}: {mutant.before!r} -> {mutant.after!r} ({met} tests)"
            )

        def work(mutant: Mutant) -> str:
            names = [n for n in tests[mutant] if sound.get(n, True) and n not in doubted[mutant]]
            return session.meet(mutant, [items[name] for name in names], layout.root)

        while left:
            now, left[:] = list(left), []
            forks.run(now, work, ended, width=width, limit=LIMIT)

    session = Session(run, seconds)
    session.collect(layout.root, where)
    if len(rows) != len(chosen):
        raise BuildError(f"only {len(rows)} of {len(chosen)} mutants were met")
    return rows


def main(layout: Layout, count: int, width: int, say: Say) -> int:
    """Sample mutants and meet them; return 0 if enough are killed and the rest is explained."""
    from scripts.mutate import import_all

    package = layout.package
    names = {f: f.relative_to(package).as_posix() for f in sorted(package.rglob("*.py"))}
    files = [file for file, name in names.items() if any(fnmatch(name, p) for p in FILES)]
    every = [change for file in files for change in changes_of(layout, file)]
    chosen = sample(layout.root, every, count)
    say(f"{len(chosen)} of {len(every)} mutants of {len(files)} files")
    if not (layout.build / "coverage" / "tests.xml").exists():
        measure(layout, files, say)
    import_all()
    archive = layout.results / "arithmetic.json"
    told = read_json(archive) or {}
    rows = meet_all(layout, chosen, files, say, where=paths(layout), width=width, told=told)
    told = record(rows, told)
    write_json(archive, told)
    alive = [row for row in told["survivors"] if not row["why"]]
    killed = len(rows) - len(told["survivors"])
    say(f"{killed} of {len(rows)} mutants killed, {len(alive)} survivors not explained")
    return int(bool(alive) or killed < LEAST * len(rows))
