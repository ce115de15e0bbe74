"""`make book`: pairs, chapters, claims, pages, site; each step only where its inputs changed."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scripts import archives, chapters, claims, pages, pairs, reference, render
from scripts.files import BuildError, digest_bytes, digest_file, digest_files, read_json, write_json
from scripts.layout import Layout, slug_of

Say = Callable[[str], None]


@contextmanager
def one_at_a_time(layout: Layout) -> Iterator[None]:
    """Hold the build's lock; the system frees it when this process ends, however it ends.

    Raises
    ------
    BuildError
        If another build runs in this copy of the repository.
    """
    try:
        layout.build.mkdir(parents=True, exist_ok=True)
        lock = (layout.build / ".lock").open("w")
    except OSError as error:
        raise BuildError(f"cannot write {layout.build}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BuildError(f"another build runs in {layout.root}; wait for it") from error
        yield


def check_pairs(layout: Layout) -> None:
    """Refuse notebook pairs that differ; pairs that were found equal are not compared again."""
    memory = layout.state / "pairs.json"
    files = [p for p in layout.notebooks.glob("*") if p.suffix in (".md", ".ipynb")]
    files += [layout.root / "scripts" / "pairs.py", layout.root / "requirements.txt"]
    seen = digest_files(files, layout.root)
    if read_json(memory) != seen:
        pairs.check(layout)
        write_json(memory, seen)


def check_archives(layout: Layout) -> None:
    """Hold runs against their archives; those that were found to agree are not read again."""
    memory = layout.state / "archives.json"
    files = [layout.root / "scripts" / "archives.py"]
    files += [
        path
        for slug in layout.recorded()
        for path in (layout.archive(slug), layout.raw / f"{slug}.ipynb")
    ]
    seen = digest_files(files, layout.root)
    if read_json(memory) != seen:
        archives.check(layout)
        write_json(memory, seen)


def record_parts(layout: Layout) -> dict[str, str]:
    """Return what the records and the generated pages are made from, with digests."""
    files = [layout.root / "requirements.txt", layout.root / "CHANGELOG.md"]
    kinds = ((layout.package, "*"), (layout.studies, "*"), (layout.tests, "test_*.py"))
    for folder, pattern in kinds:
        files += (p for p in folder.rglob(pattern) if p.is_file() and p.suffix != ".pyc")
    files += (layout.root / "scripts").glob("*")
    files += layout.chapters.glob("*.ipynb")
    files += (layout.state / f"{slug}.json" for slug in layout.names())
    files += layout.results.glob("*.json")
    parts = digest_files((f for f in files if f.is_file()), layout.root)
    parts["strict"] = str(claims.is_strict())
    return parts


def _pages_digest(layout: Layout) -> str:
    names = ["claims.md", "decisions.md", "differences.md", "errata.md"]
    names += ["run_times.md", "scoreboard.md", "where_proofs_lose.md"]
    names += [f"tests/{slug_of(name)}.md" for name in layout.recorded()]
    files = [layout.claims, *(layout.book / name for name in names)]
    files += sorted((layout.book / "reference").glob("*.md"))
    return digest_bytes("".join(digest_file(path) for path in files).encode())


def make_records(layout: Layout) -> None:
    """Collect the claims and write the pages made from them, unless nothing changed."""
    memory = layout.state / "records.json"
    parts = record_parts(layout)
    if read_json(memory) == {**parts, "pages": _pages_digest(layout)}:
        return
    pages.write_pages(layout, claims.collect(layout))
    reference.write_reference(layout)
    write_json(memory, {**parts, "pages": _pages_digest(layout)})


def build(layout: Layout, width: int, say: Say) -> None:
    """Bring the book up to date.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    width : int
        How many chapters run at a time.
    say : callable
        Receives the progress, line by line.

    Raises
    ------
    BuildError
        At the first step that cannot end; what was good before it stays.
    """
    with one_at_a_time(layout):
        check_pairs(layout)
        chapters.run_stale(layout, width, say)
        check_archives(layout)
        _show(layout, say)


def _show(layout: Layout, say: Say) -> None:
    """Make the pages of the chapters and of the records, and the site of all."""
    chapters.make_pages(layout)
    make_records(layout)
    render.render(layout, say)
    say(f"The book is in {layout.name(layout.html / 'index.html')}")


def preview(layout: Layout, name: str, say: Say) -> None:
    """Show the book as it is written now, in the place of the site.

    Every .ipynb is written from its .md. A chapter that is named runs if something else than prose
    has changed in it; the others keep the outputs of their last run.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    name : str
        The chapter that may run, or nothing.
    say : callable
        Receives the progress.

    Raises
    ------
    BuildError
        If there is no such chapter, it fails, or the book has a fault; naming file and line.
    """
    wanted = layout.check_name(name) if name else ""
    with one_at_a_time(layout):
        pairs.sync(layout)
        old = {n: chapters.stale(layout, n) for n in layout.names() if n != wanted}
        if new := [n for n in old if not (layout.raw / f"{n}.ipynb").exists()]:
            raise BuildError(f"{', '.join(new)} never ran: run make book once")
        for slug, reasons in old.items():
            if reasons:
                say(f"  {slug}: as it was last run, since {reasons[0]} changed")
        if shown := [n for n in layout.names() if not old.get(n)]:
            chapters.run_stale(layout, 1, say, shown)
        _show(layout, say)
