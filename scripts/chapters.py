"""Run the chapters whose parts changed and turn them into pages; keep the last good ones.

jupyter-cache was weighed: it keys a run by the code of its cells alone, and here package, data,
versions and parameters count too, while prose does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import digest, execute
from scripts.execute import Job, Outcome
from scripts.files import (
    BuildError,
    changed_parts,
    digest_bytes,
    digest_file,
    read_json,
    write_bytes,
    write_json,
    write_text,
)
from scripts.layout import Layout
from scripts.marks import marked_tests, nodes_by_claim
from scripts.normalise import normalise

Say = Callable[[str], None]


def state_file(layout: Layout, slug: str) -> Path:
    """Return the file that holds what a chapter was last made from."""
    return layout.state / f"{slug}.json"


def load_state(layout: Layout, slug: str) -> dict[str, Any]:
    """Return what a chapter was last made from, or an empty mapping."""
    state = read_json(state_file(layout, slug))
    return state if isinstance(state, dict) else {}


def stale(layout: Layout, slug: str) -> list[str]:
    """Return why a chapter must run again: the names of the parts that changed."""
    state = load_state(layout, slug)
    changed = changed_parts(state.get("parts"), digest.chapter_parts(layout, slug))
    if not changed and digest_file(layout.raw / f"{slug}.ipynb") != state.get("raw"):
        changed = ["its output"]
    return changed


def _reason(layout: Layout, slug: str, changed: Sequence[str]) -> str:
    if not load_state(layout, slug):
        return "first run"
    names = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
    return f"{names} changed"


def carry_outputs(layout: Layout, slug: str) -> None:
    """Give the outputs of a chapter's run to its text as it is now, where only prose has changed.

    The parts of a run hold the code of its cells, so that each finds its outputs by its place.
    """
    state, source = load_state(layout, slug), layout.notebooks / f"{slug}.ipynb"
    text = digest_file(source)
    if state.get("text") == text:
        return
    raw = layout.raw / f"{slug}.ipynb"
    old, new = json.loads(raw.read_bytes()), json.loads(source.read_bytes())
    for cell, ran in zip(_code_cells(new), _code_cells(old), strict=True):
        noted = {k: v for k, v in ran["metadata"].items() if k in ("papermill", "execution")}
        cell["metadata"] |= noted
        cell |= {key: ran[key] for key in ("outputs", "execution_count")}
    new["metadata"] = old["metadata"] | new["metadata"]
    content = (json.dumps(new, indent=1, ensure_ascii=False) + "\n").encode()
    write_bytes(raw, content)
    told = {"text": text, "raw": digest_bytes(content), "slow": slow_cells(new)}
    write_json(state_file(layout, slug), state | told)


def _code_cells(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_stale(
    layout: Layout, width: int, say: Say, names: Sequence[str] | None = None
) -> list[str]:
    """Run every chapter whose parts changed, ``width`` at a time; the others keep their outputs.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    width : int
        How many chapters run at a time.
    say : callable
        Receives one line when a chapter starts and one when it ends.
    names : sequence of str, optional
        These chapters alone.

    Returns
    -------
    list of str
        The chapters that were run.

    Raises
    ------
    BuildError
        If a chapter failed: the others have run, the failed notebook is kept to be read, and the
        page of its last good run stays.
    """
    reasons = {slug: stale(layout, slug) for slug in names or layout.names()}
    slugs = longest_first(layout, (slug for slug in reasons if reasons[slug]))
    for slug in reasons.keys() - slugs:
        carry_outputs(layout, slug)
    if not slugs:
        return []
    remove_leftovers(layout.raw)
    texts = {slug: digest_file(layout.notebooks / f"{slug}.ipynb") for slug in slugs}
    parts = {slug: digest.chapter_parts(layout, slug) for slug in slugs}
    failures: list[str] = []

    def started(job: Job) -> None:
        say(f"  {job.name}: running ({_reason(layout, job.name, reasons[job.name])})")

    def ended(outcome: Outcome) -> None:
        slug = outcome.job.name
        if outcome.ok:
            _keep(layout, outcome, parts[slug], texts[slug])
            say(f"  {slug}: done in {outcome.seconds:.1f} s, {outcome.cpu:.1f} CPU seconds")
        else:
            failures.append(keep_failed(layout, outcome, say))

    warm_up(layout)
    execute.run([_job(layout, slug) for slug in slugs], layout, width, started, ended)
    if failures:
        raise BuildError(f"{', '.join(failures)} failed; the last good pages were kept")
    return slugs


def longest_first(layout: Layout, slugs: Iterable[str]) -> list[str]:
    """Return chapters longest first, so that two at a time end together.

    By the CPU seconds of the last run; before a first one, a second for 40 lines of the text.
    """

    def seconds(slug: str) -> float:
        known = load_state(layout, slug).get("cpu")
        text = layout.notebooks / f"{slug}.md"
        return text.read_bytes().count(b"\n") / 40 if known is None else float(known)

    return sorted(slugs, key=lambda slug: (-seconds(slug), slug))


def warm_up(layout: Layout) -> None:
    """Build matplotlib's font cache before two kernels do: it says so on stderr, in a cell."""
    import subprocess
    import sys

    quiet = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(quiet, env=execute.environment(layout), check=False, capture_output=True)


def _job(layout: Layout, slug: str) -> Job:
    return Job(
        name=slug,
        source=layout.notebooks / f"{slug}.ipynb",
        output=layout.raw / f".{slug}.part.ipynb",
        extra={"DPLIT_BUILD": "1", "DPLIT_N_JOBS": "1"},
    )


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed run left half-written in a folder."""
    for path in folder.glob(".*.part*"):
        path.unlink(missing_ok=True)


def _keep(layout: Layout, outcome: Outcome, parts: dict[str, str], text: str) -> None:
    slug = outcome.job.name
    content = outcome.job.output.read_bytes()
    outcome.job.output.unlink()
    state_file(layout, slug).unlink(missing_ok=True)
    write_bytes(layout.raw / f"{slug}.ipynb", content)
    (layout.failed / f"{slug}.ipynb").unlink(missing_ok=True)
    state = {"parts": parts, "raw": digest_bytes(content), "text": text}
    times: dict[str, Any] = {"seconds": round(outcome.seconds, 1), "cpu": round(outcome.cpu, 1)}
    times |= {"megabytes": outcome.megabytes}
    notebook = json.loads(content)
    times |= {"slow": slow_cells(notebook)}
    write_json(state_file(layout, slug), state | times)


def slow_cells(notebook: Mapping[str, Any], count: int = 3) -> list[tuple[str, float]]:
    """Return the cells that took longest: the heading that they stand under, and seconds."""
    found, heading = [], ""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            titles = re.findall(r"^#+ (.+)$", source, re.MULTILINE)
            heading = titles[-1] if titles else heading
        elif seconds := cell["metadata"].get("papermill", {}).get("duration"):
            found.append((heading, round(float(seconds), 1)))
    return sorted(found, key=lambda cell: -cell[1])[:count]


def keep_failed(layout: Layout, outcome: Outcome, say: Say) -> str:
    """Keep the notebook of a failed run to be read, say where and why; return its name."""
    job = outcome.job
    say(f"  {job.name}: FAILED after {outcome.seconds:.1f} s")
    for line in execute.explain(outcome):
        say(f"    {line}")
    kept = layout.failed / f"{job.name}.ipynb"
    try:
        json.loads(job.output.read_bytes())
        kept.parent.mkdir(parents=True, exist_ok=True)
        job.output.replace(kept)
        say(f"    the failing notebook: {layout.name(kept)}")
    except (OSError, ValueError):
        job.output.unlink(missing_ok=True)
    return job.name


def make_pages(layout: Layout) -> None:
    """Normalise every raw run; a page that is as it was is not touched."""
    tested = set(nodes_by_claim(marked_tests(layout)))
    for slug in layout.names():
        content = json.loads((layout.raw / f"{slug}.ipynb").read_bytes())
        kept = digest.archived_claims(layout, slug)
        notebook = normalise(content, slug, tested, layout.package, kept)
        text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_text(layout.chapters / f"{slug}.ipynb", text)
    remove_leftovers(layout.chapters)
    for path in layout.chapters.glob("*.ipynb"):
        if path.stem not in layout.names():
            path.unlink()
