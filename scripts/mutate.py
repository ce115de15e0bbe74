"""`make mutate`: break every function that a claim names; the tests of that claim must notice.

Heavy modules are imported once; each mutant lives in a fork of this process, which runs the tests
that carry the claim's mark until the first failure. What a whole chapter came to is kept in
``results/mutation.json``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scripts import forks
from scripts.claims import registered
from scripts.files import BuildError, read_json, write_json
from scripts.layout import Layout
from scripts.marks import marked_tests, nodes_by_claim
from scripts.mutants import KINDS, Tally, plant, targets, watch, wrap

Say = Callable[[str], None]


@dataclass(frozen=True)
class Mutant:
    """One broken function and the claim whose tests must notice; without target: the baseline."""

    claim: str
    target: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: "killed" or "survived"; of a baseline: "sound" or "broken".

    ``seen`` holds, for a baseline, how often each target was called and how many values each kind
    of mutant would change.
    """

    mutant: Mutant
    outcome: str
    seconds: float
    seen: dict[str, dict[str, dict[str, int]]]


def import_all() -> None:
    """Import every module of the package, so that forks share them."""
    import dplit
    import dplit_studies

    for package in (dplit, dplit_studies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _arm(mutant: Mutant, watched: Sequence[str]) -> dict[str, dict[str, Tally]]:
    """Plant the mutant, or for a baseline the counters, and return the counters."""
    if mutant.target:
        plant(mutant.target, lambda function: wrap(function, mutant.kind, Tally()))
        return {}
    tallies = {target: {kind: Tally() for kind in KINDS} for target in watched}
    for target, counters in tallies.items():
        plant(target, partial(watch, tallies=counters))
    return tallies


@dataclass(frozen=True)
class Plan:
    """What the forks need: the root, each claim's tests and targets, how many run at a time."""

    root: Path
    tests: dict[str, list[str]]
    targets: dict[str, list[str]]
    width: int = 2


def _run_tests(mutant: Mutant, plan: Plan) -> dict[str, Any]:
    """Run a claim's tests under one mutant, in a fork; return their exit code and what was seen."""
    os.chdir(plan.root)
    os.environ["DPLIT_MUTATE"] = "1"
    import pytest

    tallies = _arm(mutant, plan.targets[mutant.claim])
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = int(pytest.main([*options, *plan.tests[mutant.claim]]))
    seen = {t: {k: asdict(v) for k, v in kinds.items()} for t, kinds in tallies.items()}
    return {"code": code, "seen": seen}


def run_all(
    mutants: Sequence[Mutant], plan: Plan, limit: float, ended: Callable[[Verdict], None]
) -> None:
    """Run mutants in forks; one that exceeds ``limit`` seconds is ended and counts as killed."""
    forks.run(
        mutants,
        lambda mutant: _run_tests(mutant, plan),
        lambda mutant, told, seconds: ended(_verdict(mutant, told, seconds)),
        width=plan.width,
        limit=limit,
    )


def _verdict(mutant: Mutant, told: dict[str, Any] | None, seconds: float) -> Verdict:
    told = told or {"code": 9, "seen": {}}  # ended by the limit, by the system or by an exception
    names = ("killed", "survived") if mutant.target else ("broken", "sound")
    return Verdict(mutant, names[told["code"] == 0], round(seconds, 1), told["seen"])


def mutants_of(baseline: Verdict) -> tuple[list[Mutant], list[str]]:
    """Return the mutants that a claim's tests can tell apart, and what cannot be tested this way.

    Parameters
    ----------
    baseline : Verdict
        The claim's tests without a mutant.
    """
    claim = baseline.mutant.claim
    if baseline.outcome == "broken":
        return [], [f"{claim}: its tests fail without any mutant"]
    found, told = [], []
    for target, kinds in baseline.seen.items():
        useful = [kind for kind, seen in kinds.items() if seen["changed"]]
        found += [Mutant(claim, target, kind) for kind in useful]
        if not any(seen["called"] for seen in kinds.values()):
            told.append(f"{claim}: its tests never call {target}")
        elif not useful:
            told.append(f"{claim}: {target} returns no number or truth value in its tests")
    return found, told


def _chosen(entries: dict[str, dict[str, Any]], names: Sequence[str]) -> list[str]:
    known = entries.keys() | {entry["slug"] for entry in entries.values()}
    if unknown := sorted(set(names) - known):
        raise BuildError(f"NAME must be claims or chapters, got {', '.join(unknown)}")
    return [i for i, entry in entries.items() if not names or {i, entry["slug"]} & set(names)]


def main(layout: Layout, names: Sequence[str], say: Say) -> int:
    """Run all mutants of the chosen claims and return an exit code.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    names : sequence of str
        Claims or chapters; all if empty.
    say : callable
        Receives the progress and the table.
    """
    entries = registered()
    chosen = _chosen(entries, names)
    tests = nodes_by_claim(marked_tests(layout))
    told = [f"{identifier} has no tests" for identifier in chosen if identifier not in tests]
    import_all()
    aims = {i: [t for f in entries[i]["functions"] for t in targets(f)] for i in chosen}
    plan = Plan(layout.root, tests, aims)
    baselines: list[Verdict] = []
    run_all([Mutant(i) for i in chosen if i in tests], plan, 900.0, baselines.append)
    mutants: list[Mutant] = []
    for baseline in baselines:
        more, faults = mutants_of(baseline)
        mutants += more
        told += faults
    limit = 60.0 + 5 * max((b.seconds for b in baselines), default=0.0)
    say(f"{len(mutants)} mutants of {len(baselines)} claims")
    verdicts: list[Verdict] = []

    def ended(verdict: Verdict) -> None:
        verdicts.append(verdict)
        claim, target, kind = astuple(verdict.mutant)
        line = f"{claim:<28} {target.removeprefix('dplit.'):<52} {kind:<6}"
        say(f"{line} {verdict.outcome} ({verdict.seconds} s)")

    run_all(sorted(mutants, key=astuple), plan, limit, ended)
    write_json(layout.build / "mutation.json", [asdict(verdict) for verdict in verdicts])
    kept = layout.results / "mutation.json"
    slugs = {i: entry["slug"] for i, entry in entries.items()}
    write_json(kept, {**(read_json(kept) or {}), **scores(verdicts, slugs, chosen)})
    return report(verdicts, told, say)


def scores(
    verdicts: Sequence[Verdict], slugs: dict[str, str], chosen: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return how many mutants of each chapter there were and how many were killed, of chapters all
    of whose claims were chosen.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of mutants.
    slugs : dict
        Every registered claim and its chapter.
    chosen : sequence of str
        The claims whose functions were broken.
    """
    whole = {slugs[i] for i in chosen} - {slug for i, slug in slugs.items() if i not in chosen}
    found = {slug: {"mutants": 0, "killed": 0} for slug in sorted(whole)}
    for verdict in verdicts:
        if score := found.get(slugs[verdict.mutant.claim]):
            score["mutants"] += 1
            score["killed"] += verdict.outcome == "killed"
    return found


def report(verdicts: Sequence[Verdict], told: Sequence[str], say: Say) -> int:
    """Say what survived; return 0 if nothing did and everything could be tested, else 1."""
    alive = [v.mutant for v in verdicts if v.outcome == "survived"]
    lines = [*told, *(f"{m.claim}: {m.target} {m.kind} survived" for m in alive)]
    say(f"{len(verdicts) - len(alive)} of {len(verdicts)} mutants killed")
    for line in sorted(lines):
        say(f"  {line}")
    return 1 if lines else 0
