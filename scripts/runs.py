"""Runs beside the book: one chapter with other parameters, all chapters at the papers' scale."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripts import archives, chapters, claims, digest, execute, pairs, rerun
from scripts.book import one_at_a_time
from scripts.execute import Job, Outcome
from scripts.files import BuildError, read_json, write_bytes, write_json
from scripts.layout import Layout, slug_of
from scripts.normalise import CLAIM, CURVES, PROVENANCE, outputs, records

Say = Callable[[str], None]
TAKES_ONE = ("-y", "--parameters_yaml", "-f", "--parameters_file", "-b", "--parameters_base64")
TAKES_TWO = ("-p", "--parameters", "-r", "--parameters_raw")


def check_arguments(arguments: Sequence[str]) -> list[str]:
    """Return papermill's parameter arguments, refused unless they are whole.

    Raises
    ------
    BuildError
        If an argument is not one that passes parameters, or lacks its name or value.
    """
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        needed = 2 if flag in TAKES_TWO else 1 if flag in TAKES_ONE else 0
        if not needed or len(rest) < needed:
            raise BuildError(
                'ARGS must be papermill parameters such as "-p epsilon 0.5 -p scale paper", '
                f"got {' '.join(arguments)!r}"
            )
        del rest[:needed]
    return list(arguments)


def run_name(slug: str, arguments: Sequence[str]) -> str:
    """Return the name of a run's file: the chapter and its parameters, short and safe.

    Examples
    --------
    >>> run_name("margin", ["-p", "epsilon", "0.5"])
    'margin--epsilon-0.5'
    >>> run_name("margin", ["-p", "epsilon", "-0.5"])
    'margin--epsilon--0.5'
    """
    if not arguments:
        return slug
    values = [a for a in arguments if a not in (*TAKES_ONE, *TAKES_TWO)]
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(values)).strip("-")
    if len(text) > 60 or text != "-".join(values):  # two runs must not share a name
        text = text[:50] + "-" + hashlib.sha256(" ".join(values).encode()).hexdigest()[:8]
    return f"{slug}--{text}"


def chapter(layout: Layout, slug: str, arguments: Sequence[str], say: Say) -> None:
    """Run one chapter with parameters; notebook and page go to ``_build/runs``.

    Raises
    ------
    BuildError
        If there is no such chapter, an argument is malformed or the notebook fails; under
        ``DPLIT_STRICT`` also where a claim fails, once the page is there to be read.
    """
    slug = layout.check_name(slug)
    name = run_name(slug, check_arguments(arguments))
    target = layout.build / "runs" / f"{name}.ipynb"
    with one_at_a_time(layout):
        pairs.check(layout)
        for fault in claims.faults(layout, claims.registered()):
            say(f"  the registry: {fault}")
        chapters.remove_leftovers(target.parent)
        job = Job(
            name=name,
            source=layout.notebooks / f"{slug}.ipynb",
            output=target.parent / f".{name}.part.ipynb",
            arguments=arguments,
            extra={"DPLIT_BUILD": "1"},
        )
        _run_one(layout, job, say)
        content = job.output.read_bytes()
        made = json.loads(content)
        write_bytes(target, content)
        job.output.unlink()
        for line in summary(records(made, CLAIM)):
            say(f"  {line}")
        say(f"The run is in {layout.name(target)}")
        page = rerun.render_run(layout, slug, name, made)
        say(f"Its page is {layout.name(page)}")
        if claims.is_strict():
            refuse_failed(slug, records(made, CLAIM))


def refuse_failed(slug: str, told: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a run in which a claim failed.

    Raises
    ------
    BuildError
        Naming the claims.
    """
    if failed := failed_claims(told):
        raise BuildError(f"claims of {slug} failed in this run: {', '.join(failed)}")


def failed_claims(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the claims that failed."""
    return [str(record["id"]) for record in told if record["status"] == "failed"]


def summary(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many of a run's claims passed, and by name those that failed or were not asked.

    Examples
    --------
    >>> summary([{"id": "a", "status": "passed", "unasked": []},
    ...          {"id": "b", "status": "failed", "unasked": [], "reason": None}])
    ['1 of 2 claims passed', 'failed: b']
    """
    if not told:
        return []
    by_status: dict[str, list[str]] = {"passed": [], "failed": [], "not_run": []}
    for record in told:
        by_status[record["status"]].append(str(record["id"]))
    lines = [f"{len(by_status['passed'])} of {len(told)} claims passed"]
    partly = [str(r["id"]) for r in told if r.get("unasked") and r["status"] == "passed"]
    named = {"failed": by_status["failed"], "not run": by_status["not_run"]}
    named["asked in part"] = partly
    return lines + [f"{what}: {', '.join(names)}" for what, names in named.items() if names]


def _run_one(layout: Layout, job: Job, say: Say) -> Outcome:
    ends: list[Outcome] = []
    execute.run([job], layout, 1, lambda j: say(f"  {j.name}: running"), ends.append)
    outcome = ends[0]
    if not outcome.ok:
        raise BuildError(f"{chapters.keep_failed(layout, outcome, say)} failed")
    say(f"  {job.name}: done in {outcome.seconds:.1f} s, {outcome.cpu:.1f} CPU seconds")
    return outcome


def glued(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that a notebook glued, by name."""
    found = {}
    for _, output in outputs(notebook["cells"]):
        name = output.get("metadata", {}).get("scrapbook", {}).get("name")
        text = output.get("data", {}).get("application/papermill.record/text/plain")
        if name and text is not None:
            found[name] = _literal(text if isinstance(text, str) else "".join(text))
    return found


def _literal(text: str) -> Any:
    try:
        return float(text) if text in ("nan", "inf", "-inf") else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def drawn(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the curves of a notebook's figures and the rows of its tables, by their names.

    Raises
    ------
    BuildError
        If two of them have one name.
    """
    found: dict[str, Any] = {}
    for record in records(notebook, CURVES):
        if "name" not in record:  # a table that only quotes the archive
            continue
        if record["name"] in found:
            raise BuildError(f"the name {record['name']} is used for two sets of curves")
        found[record["name"]] = {k: v for k, v in record.items() if k not in ("name", "stand_ins")}
    return found


def archive(slug: str, notebook: dict[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is archived of a run at the paper's scale, and how and when it was made.

    Raises
    ------
    BuildError
        If the run recorded no claims, or one of them failed.
    """
    told = records(notebook, CLAIM)
    failed = failed_claims(told)
    if not told or failed:
        what = f"claims failed: {', '.join(failed)}" if failed else "it recorded no claims"
        raise BuildError(f"{slug} at the paper's scale is not archived: {what}")
    provenance = records(notebook, PROVENANCE)
    return {
        "slug": slug,
        "made": {**made, "seed": told[0]["parameters"].get("seed")},
        "numbers": glued(notebook),
        "curves": drawn(notebook),
        "claims": sorted(told, key=lambda record: str(record["id"])),
        "provenance": provenance[-1] if provenance else {},
    }


def paper(layout: Layout, slugs: Sequence[str], jobs: int, say: Say) -> None:
    """Run chapters at the papers' scale and archive numbers, records and provenance.

    What differs from the archive before is said in a table. A chapter whose data are not here is
    refused before any runs; one whose archive was made at this very commit is skipped, so that an
    interrupted ``make paper`` goes on where it stopped.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    slugs : sequence of str
        The chapters; all if empty.
    jobs : int
        Processes within a chapter.
    say : callable
        Receives the progress.

    Raises
    ------
    BuildError
        If a chapter fails, or its run would replace an archive that checked more claims. The
        archives of the others are written.
    """
    failures = []
    with one_at_a_time(layout):
        pairs.check(layout)
        wanted = [layout.check_recorded(s) for s in slugs] or layout.recorded()
        for slug in wanted:
            digest.require_data(layout, slug)
        for slug in wanted:
            try:
                _paper_chapter(layout, slug, jobs, say)
            except BuildError as error:
                say(f"  {error}")
                failures.append(slug)
    if failures:
        raise BuildError(f"{', '.join(failures)} failed at the papers' scale")


def _paper_chapter(layout: Layout, slug: str, jobs: int, say: Say) -> None:
    target, room = layout.archive(slug), slug_of(slug)
    old = read_json(target) or {}
    now = archives.commit(layout)
    if old.get("made", {}).get("commit") == now and re.fullmatch("[0-9a-f]+", now):
        say(f"  {slug}: archived in {layout.name(target)} at this commit")
        return
    runs = layout.build / "runs"
    chapters.remove_leftovers(runs)
    job = Job(
        name=f"{room}--paper",
        source=layout.notebooks / f"{slug}.ipynb",
        output=runs / f".{room}--paper.part.ipynb",
        arguments=["-p", "scale", "paper"],
        extra={"DPLIT_BUILD": "1", "DPLIT_N_JOBS": str(jobs)},
    )
    outcome = _run_one(layout, job, say)
    content = job.output.read_bytes()
    write_bytes(runs / f"{room}--paper.ipynb", content)
    job.output.unlink()
    new = archive(room, json.loads(content), archives.made_now(layout, seconds=outcome.cpu))
    lost = _not_run(new) - _not_run(old)
    if old and lost:
        raise BuildError(
            f"{layout.name(target)} was kept: it checked {', '.join(sorted(lost))}, this run could "
            "not; is the data missing (make data)?"
        )
    write_json(target, new)
    say(f"  {slug}: archived in {layout.name(target)}")
    if old:
        for line in archives.table(archives.differences(old, new)):
            say(f"    {line}")


def _not_run(archived: dict[str, Any]) -> set[str]:
    return {r["id"] for r in archived.get("claims", []) if r["status"] == "not_run"}
