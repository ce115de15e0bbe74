"""`make mutate NAME=arithmetic`: change one sign, bound or variable of what privacy depends on.

Mutants are sampled with a fixed seed, of each kind alike. The tests are collected once; each mutant
lives in a fork, where the code of one function is exchanged, and meets the tests that reach its
line, the quick ones first. Which these are, and how long they take, is known from one run:
``make test ARGS="--cov --cov-context=test --junitxml=_build/coverage/tests.xml"``.

cosmic-ray and mutmut write each mutant to a file and start pytest anew, which takes as long as ten
mutants here; their operators are a line each in `ast`, and both lack terms, tails and variables.
"""

from __future__ import annotations

import ast
import inspect
import os
import random
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from xml.etree import ElementTree

import numpy as np

from scripts import forks
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
    "margin/transfer.py", "margin/networks.py", "projection/additive.py",
    "projection/estimators.py", "projection/projection.py", "random_features/estimators.py",
    "random_features/release.py", "random_features/sensitivity.py", "sketching/estimators.py",
    "sketching/release.py", "sketching/sketches.py", "sketching/sensitivity.py",
)  # fmt: skip
#: What an operator becomes.
OPERATORS: dict[type, tuple[str, ...]] = {
    ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("/", "+"), ast.Div: ("*",), ast.Pow: ("*",),
    ast.FloorDiv: ("/",), ast.Lt: ("<=", ">"), ast.LtE: ("<",), ast.Gt: (">=", "<"),
    ast.GtE: (">",), ast.Eq: ("!=",), ast.NotEq: ("==",), ast.And: ("or",), ast.Or: ("and",),
}  # fmt: skip
#: What a call becomes: among them the wrong tail, and the rounding to the other side.
CALLS = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil",
    "ceil": "floor", "cdf": "sf", "sf": "cdf", "ppf": "isf", "isf": "ppf", "expm1": "exp",
    "log1p": "log", "round_up": "round_down", "round_down": "round_up", "argmin": "argmax",
    "argmax": "argmin", "ndtr": "log_ndtr", "sum": "max", "any": "all", "all": "any",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a file: of the text between two places, in the function of a line."""

    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    start: int
    stop: int


def functions(source: str) -> list[tuple[str, ast.FunctionDef]]:
    """Return every outermost function of a program with its qualified name."""
    found = []

    def visit(nodes: Sequence[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                found.append((prefix + node.name, node))

    visit(ast.parse(source).body, "")
    return found


def silent(source: str) -> set[int]:
    """Return the lines that only speak: errors, warnings, what a ledger is told, hints of types."""
    lines = set[int]()
    for node in ast.walk(ast.parse(source)):
        speaks = isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) in ("record_draw", "record_step", "warnings.warn")
        )  # fmt: skip
        if speaks:
            lines |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def offsets(source: str) -> list[int]:
    """Return where each line begins."""
    return [0, *np.cumsum([len(line) for line in source.splitlines(keepends=True)]).tolist()]


class Text:
    """A program, and where the expressions of it stand."""

    def __init__(self, source: str) -> None:
        self.source, self.starts = source, offsets(source)
        self._lines = [line.encode() for line in source.splitlines()]

    def place(self, node: ast.expr) -> tuple[int, int]:
        """Return start and stop of an expression."""
        ends = ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset))
        start, stop = (self.starts[line - 1] + len(self._lines[line - 1][:column].decode())
                       for line, column in ends)  # fmt: skip
        return start, stop

    def of(self, node: ast.expr) -> str:
        """Return an expression as it is written, in brackets if it is more than a name."""
        start, stop = self.place(node)
        written = self.source[start:stop]
        return written if isinstance(node, (ast.Name, ast.Constant)) else f"({written})"


#: Start, stop, kind and the new text.
Change = tuple[int, int, str, str]


def operators(text: Text, node: ast.AST) -> Iterator[Change]:
    """Yield other operators, and operands alone or swapped."""
    if isinstance(node, ast.BinOp):
        left, right = text.of(node.left), text.of(node.right)
        for sign in OPERATORS.get(type(node.op), ()):
            yield *text.place(node), "another operator", f"({left} {sign} {right})"
        yield *text.place(node), "first operand alone", left
        yield *text.place(node), "second operand alone", right
        sign = {ast.Sub: "-", ast.Div: "/", ast.Pow: "**"}.get(type(node.op))
        if sign:
            yield *text.place(node), "operands swapped", f"({right} {sign} {left})"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = text.of(node.left), text.of(node.comparators[0])
        for sign in OPERATORS.get(type(node.ops[0]), ()):
            yield *text.place(node), "another comparison", f"({left} {sign} {right})"
    elif isinstance(node, ast.BoolOp):
        parts = [text.of(part) for part in node.values]
        for word in OPERATORS[type(node.op)]:
            yield *text.place(node), "and, or", f"({f' {word} '.join(parts)})"
        yield *text.place(node), "last condition dropped", f"({parts[0]})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield *text.place(node), "sign or not dropped", text.of(node.operand)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield *text.place(node.test), "condition negated", f"(not {text.of(node.test)})"


def values(text: Text, node: ast.AST, bound: list[str]) -> Iterator[Change]:
    """Yield other constants, calls and variables; ``bound`` are the arguments of the function."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield *text.place(node), "truth value", str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        for new in (node.value + 1, node.value - 1, 2 * node.value):
            yield *text.place(node), "number", f"({new!r})"
    elif isinstance(node, ast.Call):
        name = node.func
        word = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if word in CALLS:
            end = text.place(name)[1]
            yield end - len(word), end, "another call", CALLS[word]
    elif isinstance(node, ast.Assign):
        target = getattr(node.targets[0], "id", "")
        if target in bound:  # the old value goes on being used
            yield *text.place(node.value), "stale variable", target
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in bound:
        other = bound[(bound.index(node.id) + 1) % len(bound)]
        if other != node.id:
            yield *text.place(node), "another variable", other


def computed(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Walk over the body of a function, but not into its texts: Python does not say where in them
    an expression stands."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.JoinedStr):
            yield node
            waiting += ast.iter_child_nodes(node)


def changes_of(layout: Layout, file: Path) -> list[Mutant]:
    """Return all changes of one file, also such as are no program or the same."""
    text = Text(file.read_text(encoding="utf-8"))
    name, quiet = file.relative_to(layout.root).as_posix(), silent(text.source)
    found: dict[Mutant, None] = {}
    for function, node in functions(text.source):
        arguments = [*node.args.args, *node.args.kwonlyargs]
        bound = [argument.arg for argument in arguments if argument.arg != "self"]
        for part in computed(node):
            for start, stop, kind, new in (*operators(text, part), *values(text, part, bound)):
                line = int(np.searchsorted(text.starts, start, side="right"))
                if line not in quiet:
                    before = text.source[start:stop]
                    found[Mutant(name, line, function, kind, before, new, start, stop)] = None
    return list(found)


def is_another_program(root: Path, mutant: Mutant) -> bool:
    """Whether the changed file can be read, and says something else."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    try:
        changed = ast.dump(ast.parse(source[: mutant.start] + mutant.after + source[mutant.stop :]))
    except SyntaxError:
        return False
    return changed != ast.dump(ast.parse(source))


def sample(root: Path, changes: Sequence[Mutant], count: int, seed: int = 0) -> list[Mutant]:
    """Return ``count`` mutants, of each kind alike as far as it has any."""
    rng = random.Random(seed)
    rows = defaultdict[str, list[Mutant]](list)
    for change in rng.sample(list(changes), len(changes)):
        rows[change.kind].append(change)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(rows.values()):
        for held in rows.values():
            while held and len(chosen) < count:
                one = held.pop()
                if is_another_program(root, one):
                    chosen.append(one)
                    break
    return chosen


@cache
def _codes(source: str, file: str) -> dict[str, CodeType]:
    """Return the code of every function in a text by its qualified name."""
    found = {}

    def visit(code: CodeType) -> None:
        for held in code.co_consts:
            if isinstance(held, CodeType):
                found.setdefault(held.co_qualname, held)
                visit(held)

    visit(compile(source, file, "exec"))
    return found


def plant(mutant: Mutant, root: Path) -> None:
    """Exchange the code of the mutant's function; whoever holds the function runs the new one."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    text = source[: mutant.start] + mutant.after + source[mutant.stop :]
    path = Path(mutant.file).relative_to("src").with_suffix("")
    parts = [part for part in path.parts if part != "__init__"]
    held: Any = sys.modules[".".join(parts)]
    for part in mutant.function.split("."):
        held = inspect.getattr_static(held, part)
    held = getattr(held, "fget", None) or getattr(held, "__func__", None) or held
    held = inspect.unwrap(getattr(held, "func", held))  # cached properties
    if not isinstance(held, FunctionType):
        raise TypeError(f"{mutant.function} is no function")
    held.__code__ = _codes(text, mutant.file)[mutant.function]


class Session:
    """A pytest plugin that collects all tests, and instead of running them meets mutants."""

    def __init__(self, run: Callable[[dict[str, Any]], None]) -> None:
        self._run = run

    def pytest_runtestloop(self, session: Any) -> bool:
        """Hand over the collected tests by their names."""
        self._run({item.nodeid: item for item in session.items})
        return True


def meet(mutant: Mutant, tests: Sequence[Any], root: Path) -> str:
    """Run tests under a mutant, in a fork, until one fails; return its name, or nothing."""
    from _pytest.runner import runtestprotocol

    plant(mutant, root)
    for item, following in zip(tests, [*tests[1:], None], strict=False):
        if any(r.failed for r in runtestprotocol(item, nextitem=following, log=False)):
            return str(item.nodeid)
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

        def ended(mutant: Mutant, killer: str | None, took: float) -> None:
            outcome = {"": "survived", None: "stopped"}.get(killer, "killed")
            rows.append({**asdict(mutant), "outcome": outcome, "by": killer, "seconds": took,
                         "tests": len(tests[mutant])})  # fmt: skip
            say(f"{outcome:<9} {took:5.1f} s {mutant.file[10:]}:{mutant.line} {mutant.kind}: "
                f"{mutant.before!r} -> {mutant.after!r} ({len(tests[mutant])} tests)")  # fmt: skip

        forks.run(
            chosen, lambda m: meet(m, [items[name] for name in tests[m]], layout.root), ended,
            width=width, limit=900.0,
        )  # fmt: skip

    options = ["-q", "--no-header", "--rootdir", str(layout.root)]
    options += [part for name in ("cacheprovider", "xdist", "cov") for part in ("-p", f"no:{name}")]
    pytest.main([*options, *(paths or ["tests", "src"])], plugins=[Session(run)])
    if len(rows) < len(chosen):
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
