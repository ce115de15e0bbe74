"""`make badges`: break what a badge is about; the least change that turns it red is what it sees.

A chapter runs here, cell by cell. Where a claim is shown, forks of the process run its cell and the
earlier cells that it depends on by names once more, with one registered function broken. mutmut and
cosmic-ray were weighed: they ask tests, not cells, in a new interpreter for each mutant.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import os
import symtable
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scripts import arithmetic, forks
from scripts.digest import data_here, data_sets, require_data, surroundings
from scripts.files import BuildError, digest_bytes, read_json, write_json
from scripts.layout import Layout, slug_of
from scripts.mutants import Tally, modules, plant, targets, watch, wrap
from scripts.reach import plain, reach_of

Say = Callable[[str], None]

#: What a badge may see, finest first, and the kinds of mutants that stand for it.
RESOLUTIONS = {
    "5 %": ("x1.05",),
    "factor 2": ("x0.5", "x2"),
    "reversal": ("not",),
    "order": ("shuffle",),
}
KINDS = tuple(kind for kinds in RESOLUTIONS.values() for kind in kinds)
#: Changes of the arithmetic inside the functions of one claim that are tried at most.
ARITHMETIC = 4
#: What is said of a badge that is red before anything is broken.
RED = "red unbroken"
#: Seconds that one fork may take beyond four times its sound run.
PATIENCE = 15.0


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


class Kernel:
    """A chapter's cells run one after the other in this process, what they show is dropped."""

    def __init__(self, sources: Sequence[str], layout: Layout) -> None:
        from IPython.core.displaypub import CapturingDisplayPublisher
        from IPython.core.interactiveshell import InteractiveShell

        self.layout = layout
        self.cells = [read_cell(source) for source in sources]
        self.shell = InteractiveShell.instance()
        self.shell.display_pub = CapturingDisplayPublisher()
        self.shell.history_manager.enabled = False

    def run(self, k: int) -> BaseException | None:
        """Run one cell; return its exception, if any."""
        with contextlib.redirect_stdout(io.StringIO()):
            ended = self.shell.run_cell(self.cells[k].source, store_history=True)
        self.shell.display_pub.outputs.clear()
        error: BaseException | None = ended.error_before_exec or ended.error_in_exec
        return error

    def mutable(self, at: int) -> set[str]:
        """Return the names up to cell ``at`` that hold what reading may change, as generators."""
        from numpy.random import Generator

        names = set().union(*(cell.reads | cell.sets for cell in self.cells[: at + 1]))
        held = {name: self.shell.user_ns.get(name) for name in names}
        kinds = (Generator, list, dict, set)
        return {n for n, v in held.items() if isinstance(v, kinds) or hasattr(v, "checks")}

    def slice(self, at: int) -> list[int]:
        """Return what cell ``at`` depends on, given the objects that the names have now."""
        return dependencies(self.cells, at, self.mutable(at))


def _forgive() -> set[str]:
    """Let checks that fail go on: other claims' cells must run. Return whose failed, as they do."""
    from dplit import claims

    strict, failed = claims.Claim._add, set()

    def add(self: Any, *arguments: Any, **fields: Any) -> Any:
        try:
            return strict(self, *arguments, **fields)
        except claims.ClaimError:
            failed.add(self.entry["id"])
            return self

    claims.Claim._add = add  # type: ignore[method-assign]
    return failed


def _without_pictures() -> None:
    """Draw nothing: no badge looks at a picture, and a fork would wait for their writer's threads.

    Nor do threads of Dask live on in a fork.
    """
    import dask
    import vl_convert
    from matplotlib.figure import Figure

    dask.config.set(scheduler="synchronous")
    vl_convert.vegalite_to_svg = lambda text: "<svg/>"
    Figure.savefig = lambda *arguments, **keywords: None


def _forget(names: dict[str, Any]) -> None:
    """Empty the caches of the package's functions: what they remember was computed unbroken."""
    kept = ("dplit.claims", "dplit.datasets")
    held = [vars(module) for module in modules() if not module.__name__.startswith(kept)]
    for value in {id(v): v for space in (names, *held) for v in list(space.values())}.values():
        inner = list(vars(value).values()) if isinstance(value, type) else []
        for function in (value, *inner):
            if not isinstance(function, type) and callable(getattr(function, "cache_clear", None)):
                function.cache_clear()


@dataclass(frozen=True)
class Trial:
    """A claim's cells with one target broken; without target nothing is, and calls are counted."""

    claim: str
    target: str = ""
    kind: str = ""
    mutant: arithmetic.Mutant | None = None


def _try(kernel: Kernel, trial: Trial, at: int, watched: Sequence[str]) -> dict[str, Any]:
    """Run a trial in this fork; return whether the badge is red, the error that stopped it, if any,
    and without a target how often each watched one was called and what mutants would change.

    Red is a check of the claim that fails, and nothing else: an exception of the broken function
    says what the function's door refuses, not what the badge sees.
    """
    from dplit import claims

    failed = _forgive()
    _forget(kernel.shell.user_ns)
    tallies = {t: {kind: Tally() for kind in KINDS} for t in watched}
    for target, counters in tallies.items():
        plant(target, lambda f, c=counters: watch(f, c), (kernel.shell.user_ns,))
    if trial.mutant:
        arithmetic.plant(trial.mutant, kernel.layout.root)
    elif trial.target:
        plant(trial.target, lambda f: wrap(f, trial.kind, Tally()), (kernel.shell.user_ns,))
    claims._shown.pop(trial.claim, None)
    error = next((e for k in kernel.slice(at) if (e := kernel.run(k)) is not None), None)
    status = claims._shown.get(trial.claim, {}).get("status")
    return {
        "red": trial.claim in failed or status == "failed",
        "stopped": repr(error)[:300] if error else "" if status else "the badge is not shown",
        "called": {t: kinds["x1.05"].called for t, kinds in tallies.items()},
        "seen": {t: {k: v.changed for k, v in kinds.items()} for t, kinds in tallies.items()},
    }


#: What is told of a trial that its fork could not tell: it took too long or broke off.
SILENT: dict[str, Any] = {"red": False, "stopped": "it took too long or broke off"}


def fork(kernel: Kernel, trials: Sequence[Trial], at: int, limit: float, jobs: int,
         watched: Sequence[str] = ()) -> dict[Trial, dict[str, Any]]:  # fmt: skip
    """Run trials in forks of this process, ``jobs`` at a time, none beyond ``limit`` seconds."""
    found: dict[Trial, dict[str, Any]] = {}

    def ended(trial: Trial, told: dict[str, Any] | None, seconds: float) -> None:
        found[trial] = {**(told or SILENT), "seconds": seconds}

    forks.run(trials, lambda t: _try(kernel, t, at, watched), ended, width=jobs, limit=limit)
    return found


def _resolution(kernel: Kernel, claim: str, target: str, seen: dict[str, int], at: int,
                limit: float, jobs: int) -> tuple[str | None, str]:  # fmt: skip
    """Return the finest change of one function that turns the badge red; without one, why."""
    stopped = []
    for name, kinds in RESOLUTIONS.items():
        trials = [Trial(claim, target, kind) for kind in kinds if seen.get(kind)]
        found = fork(kernel, trials, at, limit, jobs)
        if any(told["red"] for told in found.values()):
            return name, ""
        stopped += [told["stopped"] for told in found.values()]
    if not stopped:
        return None, "it returns no number or truth value"
    if all(stopped):
        return None, f"every change stops the cells: {stopped[0]}"
    return None, "its changes are not seen"


def _arithmetic(kernel: Kernel, claim: str, called: Sequence[str], at: int, limit: float,
                jobs: int) -> list[int]:  # fmt: skip
    """Return how many changes of the arithmetic inside the functions a badge sees, and of how many
    that its cells survive."""
    each = -(-ARITHMETIC // max(len(called), 1))
    found = [m for target in called for m in arithmetic.mutants_in(kernel.layout, target, each)]
    trials = [Trial(claim, mutant=mutant) for mutant in found[:ARITHMETIC]]
    told = fork(kernel, trials, at, limit, jobs).values()
    seen = sum(one["red"] for one in told)
    return [seen, seen + sum(not one["red"] and not one["stopped"] for one in told)]


def look(
    kernel: Kernel, claim: str, functions: Sequence[str], at: int, jobs: int
) -> dict[str, Any]:
    """Return what the badge of a claim sees: for each function the finest change, and of all.

    ``blind_to`` says of functions of which it sees none why, and ``finest`` which change is the
    finest that can be made of any of them: of a truth value, its reversal.
    """
    aims = {target: function for function in functions for target in targets(function)}
    sound = fork(kernel, [Trial(claim)], at, 3600.0, 1, list(aims))[Trial(claim)]
    if sound["red"] or sound["stopped"]:
        why = sound["stopped"] or "a check fails"
        return {"resolution": None, "functions": {}, "fault": f"{RED}: {why}"}
    limit = PATIENCE + 4 * sound["seconds"]
    functions_seen: dict[str, str | None] = {}
    blind_to: dict[str, str] = {}
    for target, function in aims.items():
        found, why = _resolution(kernel, claim, target, sound["seen"][target], at, limit, jobs)
        functions_seen[function] = _finer(functions_seen.get(function), found)
        blind_to[function] = why if sound["called"][target] else "its cells never call it"
    best = finest = None
    for found in functions_seen.values():
        best = _finer(best, found)
    for name, kinds in RESOLUTIONS.items():
        if any(seen[kind] for seen in sound["seen"].values() for kind in kinds):
            finest = _finer(finest, name)
    called = [target for target in aims if sound["called"][target]]
    return {
        "resolution": best,
        "arithmetic": _arithmetic(kernel, claim, called, at, limit, jobs),
        "finest": finest,
        "functions": functions_seen,
        "blind_to": {f: why for f, why in blind_to.items() if functions_seen[f] is None},
    }


def _finer(first: str | None, second: str | None) -> str | None:
    order = list(RESOLUTIONS)
    return min((r for r in (first, second) if r), key=order.index, default=None)


def shown_claims(before: Iterable[str], after: dict[str, Any]) -> Iterator[str]:
    """Yield the claims that a cell has just shown."""
    known = set(before)
    yield from (identifier for identifier in after if identifier not in known)


def chapter_sources(layout: Layout, slug: str) -> list[str]:
    """Return the sources of a chapter's code cells."""
    notebook = read_json(layout.notebooks / f"{slug}.ipynb")
    if notebook is None:
        raise BuildError(f"notebooks/{slug}.ipynb is missing; run: make sync")
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return ["".join(cell["source"]) for cell in cells]


def measure(
    layout: Layout, slug: str, jobs: int, say: Say, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run a chapter and yield the claims that are wanted, each with its badge's resolution."""
    from dplit import claims

    os.chdir(layout.notebooks)
    _without_pictures()
    registry = claims.load_registry(slug_of(slug))
    bases = Bases(layout, slug)
    kernel = Kernel(bases.sources, layout)
    for k in range(len(kernel.cells)):
        before = claims.shown_records()
        if (error := kernel.run(k)) is not None:
            raise BuildError(f"{slug}: code cell {k + 1} failed: {error!r}") from error
        for identifier in shown_claims(before, claims.shown_records()):
            record = claims.shown_records()[identifier]
            if not wanted(identifier):
                continue
            names = bases.names(k, kernel.mutable(k))
            base = {"digest": bases.digest(identifier, names), "mutable": names}
            base |= {"data": bases.data}
            if record["status"] == "not_run":
                yield identifier, {"resolution": None, "functions": {}, "fault": "not run", **base}
                continue
            told = look(kernel, identifier, registry[identifier]["functions"], k, jobs) | base
            seen, inside = told["resolution"] or "blind", told.get("arithmetic", [0, 0])
            told_of = f"{inside[0]} of {inside[1]}" if inside[1] else ""
            say(f"  {identifier:<32} {seen:<10} {told_of} {told.get('fault', '')}".rstrip())
            yield identifier, told


def _cell_of(sources: Sequence[str], claim: str) -> int:
    """Return the position of the cell that shows a claim: the last that opens it."""
    naming = [k for k, source in enumerate(sources) if f'"{claim}"' in source]
    opening = [k for k in naming if f'claim("{claim}")' in sources[k]]
    return max(opening or naming, default=-1)


class Bases:
    """What the resolutions of a chapter's badges were measured on.

    That is for each badge the cells that its own depends on, the definitions that these and its
    functions reach, versions and the mutants: a mended check leaves other claims measured. Which
    data the chapter was run with stands beside the digest, by checksum.
    """

    def __init__(self, layout: Layout, slug: str) -> None:
        self.sources = chapter_sources(layout, slug)
        self.cells = [read_cell(source) for source in self.sources]
        self.reach = reach_of(layout.package)
        breaking = [layout.root / "scripts" / f"{name}.py" for name in ("mutants", "arithmetic")]
        texts = [file.read_text(encoding="utf-8") for file in breaking]
        self.around = [*surroundings(layout, slug), *(plain(ast.parse(x).body) for x in texts)]
        self.reads = data_sets(layout, slug)
        self.data = data_here(self.reads)
        listed = (layout.package / slug_of(slug) / "claims.yml").read_text(encoding="utf-8")
        self.functions = {entry["id"]: entry["functions"] for entry in yaml.safe_load(listed)}

    def names(self, at: int, mutable: Container[str]) -> list[str]:
        """Return which mutable names the cells that cell ``at`` depends on read."""
        chosen = dependencies(self.cells, at, mutable)
        return sorted({n for k in chosen for n in self.cells[k].reads if n in mutable})

    def holds(self, claim: str, told: Mapping[str, Any]) -> bool:
        """Return whether what was told of a claim's badge was measured on what is here now."""
        from dplit.datasets.needs import are_declared

        same = bool(told["digest"] == self.digest(claim, told["mutable"]))
        return same and are_declared(told["data"], self.reads)

    def digest(self, claim: str, mutable: Sequence[str]) -> str:
        """Return one digest of what a claim's resolution is measured on; "" if no cell shows it."""
        at = _cell_of(self.sources, claim)
        if at < 2 or claim not in self.functions:
            return ""
        chosen = dependencies(self.cells, at, set(mutable))
        sources = [self.sources[k] for k in (0, 1, *chosen)]
        code = sorted(self.reach.digests(sources, self.functions[claim]).values())
        return digest_bytes(json.dumps([*self.around, code], sort_keys=True).encode())


def _kept(layout: Layout, slug: str) -> Path:
    return layout.archive(slug).with_suffix(".badges.json")


def measured(layout: Layout, slug: str) -> dict[str, Any]:
    """Return what is known of a chapter's badges, by claim, if nothing below it has changed."""
    told = read_json(_kept(layout, slug))
    if not told or slug in layout.lessons():
        return {}
    bases = Bases(layout, slug)
    return {identifier: one for identifier, one in told.items() if bases.holds(identifier, one)}


def resolutions(layout: Layout, slug: str) -> dict[str, dict[str, Any]]:
    """Return what the badges of a chapter see, by claim, unless the chapter has changed since.

    ``resolution`` is that of a change of results; a badge that sees none is ``"blind"``.
    ``arithmetic`` is how many changes inside functions it sees, and of how many. A badge that could
    not be measured has no entry.
    """
    told = measured(layout, slug)
    return {
        i: {"resolution": one["resolution"] or "blind", "arithmetic": one.get("arithmetic", [0, 0])}
        for i, one in told.items() if "fault" not in one
    }  # fmt: skip


def main(layout: Layout, names: Sequence[str], jobs: int, say: Say) -> int:
    """Measure the badges of one chapter, or of some of its claims again; return an exit code.

    Each resolution is written into ``results/<slug>.badges.json`` as soon as it is known, with the
    digest of what it was measured on: a run that was interrupted goes on where it stopped, and
    measures only what has changed.
    """
    from dplit import claims

    if not names:
        raise BuildError("NAME must be a chapter, or a chapter and claims of it")
    slug, *only = names
    slug = layout.check_recorded(slug)
    require_data(layout, slug)
    os.environ["DPLIT_N_JOBS"] = "1"  # workers of their own would not see a broken function
    registry = claims.load_registry(slug_of(slug))
    if unknown := [identifier for identifier in only if identifier not in registry]:
        raise BuildError(f"{', '.join(unknown)}: no such claim of {slug}")
    known = measured(layout, slug)
    kept = {} if only else dict(known)
    found = {}
    wanted = set(only) if only else registry.keys() - known.keys()
    for identifier, told in measure(layout, slug, jobs, say, wanted.__contains__) if wanted else ():
        known[identifier] = found[identifier] = told
        ordered = {i: known[i] for i in registry if i in known}
        write_json(_kept(layout, slug), ordered)
    return report({**kept, **found}, registry, say)


def report(found: Mapping[str, Any], registry: Mapping[str, Any], say: Say) -> int:
    """Say which badges see too little, and the functions of which a badge sees nothing.

    Returns
    -------
    int
        1 if a badge was red unbroken, or sees no 5 % of functions that return numbers while its
        claim gives no reason (``blind:`` in ``claims.yml``); else 0.
    """
    coarse, faults = 0, []
    for identifier, told in found.items():
        if told.get("arithmetic", [0, 0])[0] < min(told.get("arithmetic", [0, 0])[1], 1):
            say(f"  {identifier} sees none of {told['arithmetic'][1]} changes of arithmetic")
        for function, why in told.get("blind_to", {}).items():
            say(f"  {identifier} is blind to {function}: {why}")
        if told["resolution"] == "5 %":
            continue
        coarse += told["resolution"] != "factor 2"
        reason = told.get("fault") or registry[identifier].get("blind")
        if not reason and told["resolution"] == told["finest"] == "reversal":
            reason = "a truth value has no finer change"
        if not reason or reason.startswith(RED):
            faults.append(identifier)
        say(f"  {identifier}: {told['resolution'] or 'blind'} ({reason or 'no reason is given'})")
    say(f"{len(found) - coarse} of {len(found)} badges see a factor 2 or less")
    if faults:
        say(f"{', '.join(faults)}: mend the check, or say under blind: in claims.yml why it sees "
            "no more")  # fmt: skip
    return 1 if faults else 0
