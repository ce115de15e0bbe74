"""`make book`: pairs, chapters, claims, pages, site; each step only where its inputs changed."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scripts import archives, chapters, claims, pairs, reference, render
from scripts.files import BuildError
from scripts.layout import Layout

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
        pairs.check(layout)
        claims.check(layout)  # before anything long runs
        chapters.run_stale(layout, width, say)
        archives.check(layout)
        _show(layout, say)


def _show(layout: Layout, say: Say) -> None:
    """Make the pages of the chapters and of the package, collect the claims, and make the site."""
    chapters.make_pages(layout)
    claims.collect(layout)
    reference.write_reference(layout)
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
        claims.check(layout)
        old = {n: chapters.stale(layout, n) for n in layout.names() if n != wanted}
        if new := [n for n in old if not (layout.raw / f"{n}.ipynb").exists()]:
            raise BuildError(f"{', '.join(new)} never ran: run make book once")
        for slug, reasons in old.items():
            if reasons:
                say(f"  {slug}: as it was last run, since {reasons[0]} changed")
        if shown := [n for n in layout.names() if not old.get(n)]:
            chapters.run_stale(layout, 1, say, shown)
        _show(layout, say)
