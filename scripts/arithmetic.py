"""Wrong versions of a function's inside: one sign, bound, call or variable of it is another.

mutmut 3.8 was tried: of 2,989 changes of ``accounting`` and ``mechanisms`` it makes 755 too, and
some 2,500 of its own, mostly of texts and arguments. It knows no operand alone or in the other's
place (941 here), no other variable (480), no other tail or call (97) and no negated condition (66),
which are the mistakes that privacy proofs fear, and it passes by what has a decorator.
"""

from __future__ import annotations

import ast
import inspect
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from scripts.layout import Layout

#: What an operator becomes.
OPERATORS: dict[type, tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("/", "+"),
    ast.Div: ("*",),
    ast.Pow: ("*",),
    ast.FloorDiv: ("/",),
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<",),
    ast.Gt: (">=", "<"),
    ast.GtE: (">",),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.And: ("or",),
    ast.Or: ("and",),
}
#: What a call becomes: among them the wrong tail, and the rounding to the other side.
CALLS = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "cdf": "sf",
    "sf": "cdf",
    "ppf": "isf",
    "isf": "ppf",
    "expm1": "exp",
    "log1p": "log",
    "round_up": "round_down",
    "round_down": "round_up",
    "argmin": "argmax",
    "argmax": "argmin",
    "ndtr": "log_ndtr",
    "sum": "max",
    "any": "all",
    "all": "any",
}


#: Options of calls that change no number: how lengths are compared, and memory used.
IDLE = ("strict", "check_finite", "overwrite_a", "overwrite_b", "copy")


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
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) in ("record_draw", "record_step", "warnings.warn")
        )
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
        start, stop = (
            self.starts[line - 1] + len(self._lines[line - 1][:column].decode())
            for line, column in ends
        )
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
    """Walk over the body of a function, but not into idle options, nor into texts, of which Python
    does not say where in them an expression stands."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.JoinedStr) and getattr(node, "arg", "") not in IDLE:
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
                found[held.co_qualname] = held  # the last: before it stand overloads
                visit(held)

    visit(compile(source, file, "exec"))
    return found


def _function(module: str, name: str) -> FunctionType:
    """Return the function below a qualified name: behind decorators, properties and methods.

    Raises
    ------
    TypeError
        If there is none.
    """
    held: Any = sys.modules[module]
    for part in name.split("."):
        held = inspect.getattr_static(held, part)
    held = getattr(held, "fget", None) or getattr(held, "__func__", None) or held
    held = inspect.unwrap(getattr(held, "func", held))  # cached properties
    if not isinstance(held, FunctionType):
        raise TypeError(f"{module}.{name} is no function")
    return held


def plant(mutant: Mutant, root: Path) -> None:
    """Exchange the code of the mutant's function; whoever holds the function runs the new one."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    text = source[: mutant.start] + mutant.after + source[mutant.stop :]
    path = Path(mutant.file).relative_to("src").with_suffix("")
    parts = [part for part in path.parts if part != "__init__"]
    held = _function(".".join(parts), mutant.function)
    held.__code__ = _codes(text, mutant.file)[mutant.function]
