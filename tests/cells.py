"""Which cells of a notebook a cell depends on, by the names that they read and set."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Container, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One code cell: its source, the names that it reads, sets, may change, and sets for sure."""

    source: str
    reads: frozenset[str]
    sets: frozenset[str]
    changes: frozenset[str]
    makes: frozenset[str]


def read_cell(source: str) -> Cell:
    """Return a cell with its names; ``x[0] = 1``, ``x.y = 1`` and ``x.append(1)`` change ``x``.

    A name is read if it is used before the cell itself has set it; those of functions and
    comprehensions are their own.
    """
    reads: set[str] = set()
    sets: set[str] = set()
    changes: set[str] = set()
    done: set[str] = set()
    for line in ast.parse(source).body:
        used, made = _names(symtable.symtable(ast.unparse(line), "cell", "exec"))
        touched = set()
        for node in ast.walk(line):
            if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                touched |= _root(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                touched |= _root(node.func)
        reads |= used - done
        changes |= touched & used
        sets |= made
        if not isinstance(line, (ast.If, ast.For, ast.While, ast.Try)):
            done |= made
    names = frozenset(vars(builtins))
    found = (frozenset(part) for part in (reads - names, sets, changes, done))
    return Cell(source, *found)


def _names(scope: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """Return the names of the notebook that a piece of code uses and those that it sets."""
    top = scope.get_type() == "module"
    own = [name for name in scope.get_symbols() if top or name.is_global()]
    used = {name.get_name() for name in own if name.is_referenced()}
    made = {x.get_name() for x in own if x.is_assigned() or x.is_imported() or x.is_namespace()}
    for inner in scope.get_children():
        more = _names(inner)
        used, made = used | more[0], made | more[1]
    return used, made


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def fixed(cells: Sequence[Cell]) -> frozenset[str]:
    """Return the names that are never made again: the run's parameters, and what checks them."""
    return cells[0].sets | cells[1].sets - {"np", "claim"}


def dependencies(cells: Sequence[Cell], at: int, mutable: Container[str]) -> list[int]:
    """Return the cells that cell ``at`` depends on by names, and itself, in order.

    Parameters
    ----------
    cells : sequence of Cell
        Those of a chapter; the first two take and check its parameters.
    at : int
        Position of the claim's cell.
    mutable : container of str
        Names of objects with a state that reading may change, as a generator has.
    """
    wanted, chosen = set(cells[at].reads) - fixed(cells), [at]
    for k in range(at - 1, 1, -1):
        changing = (cells[k].changes | cells[k].reads) & wanted
        if cells[k].sets & wanted or any(name in mutable for name in changing):
            chosen.append(k)
            wanted = wanted - cells[k].makes | cells[k].reads - fixed(cells)
    return [k for k in chosen[::-1] if k > 1]
