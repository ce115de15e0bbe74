"""Command line of the build; the Makefile's rules call it."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.files import BuildError
from scripts.layout import Layout


def say(line: str) -> None:
    """Print one line of progress at once."""
    print(line, flush=True)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m scripts``."""
    top = argparse.ArgumentParser(prog="python -m scripts", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    book = commands.add_parser("book", help="build the book")
    book.add_argument("--jobs", type=int, default=2, help="chapters at a time")
    again = commands.add_parser("again", help="build a second time elsewhere and compare")
    again.add_argument("folder", help="empty, or a clone; without a name one that is removed")
    commands.add_parser("lock", help="compare what is installed with the lock")
    commands.add_parser("claims", help="check the registry of claims alone, in seconds")
    commands.add_parser("report", help="print sizes and measures; nothing fails by them")
    commands.add_parser("sync", help="write every .ipynb from its .md")
    chapter = commands.add_parser("chapter", help="run one chapter beside the book")
    chapter.add_argument("name")
    chapter.add_argument("arguments", nargs=argparse.REMAINDER, help="papermill's, -p name value")
    preview = commands.add_parser("preview", help="the book as it is written now")
    preview.add_argument("name", nargs="?", default="")
    tests = commands.add_parser("test-claim", help="say what checks a claim, and run its tests")
    tests.add_argument("claim")
    paper = commands.add_parser("paper", help="run at the papers' scale and archive the results")
    paper.add_argument("names", nargs="*")
    paper.add_argument("--jobs", type=int, default=2, help="processes of a chapter")
    pdf = commands.add_parser("pdf", help="build the book and print it into one PDF")
    pdf.add_argument("--jobs", type=int, default=2, help="chapters at a time")
    mutate = commands.add_parser("mutate", help="break every claimed function; its tests must fail")
    mutate.add_argument("claims", nargs="*", help="these claims or chapters alone; or: arithmetic")
    mutate.add_argument("--count", type=int, default=800, help="arithmetic mutants")
    mutate.add_argument("--jobs", type=int, default=2, help="arithmetic mutants at a time")
    return top


def run(arguments: argparse.Namespace, layout: Layout) -> int:
    """Run one command and return its exit code."""
    command = arguments.command
    if command == "book":
        from scripts import book

        book.build(layout, max(1, arguments.jobs), say)
    elif command == "again":
        from scripts import again

        with TemporaryDirectory() as made:
            again.compare(layout, Path(arguments.folder or made).absolute(), say)
    elif command == "lock":
        from scripts import lock

        lock.check(layout, say)
    elif command == "claims":
        from scripts import claims

        say(f"{claims.check(layout)} claims: functions, tests, cells and marks agree")
    elif command == "report":
        from scripts import report

        report.main(layout, say)
    elif command == "sync":
        from scripts import pairs

        changed = pairs.sync(layout)
        say(f"wrote {', '.join(changed)}" if changed else "all pairs were in step")
    elif command == "chapter":
        from scripts import runs

        runs.chapter(layout, arguments.name, arguments.arguments, say)
    elif command == "preview":
        from scripts import book

        book.preview(layout, arguments.name, say)
    elif command == "test-claim":
        from scripts import claims

        return claims.test_claim(layout, arguments.claim, say)
    elif command == "paper":
        from scripts import runs

        runs.paper(layout, arguments.names, max(1, arguments.jobs), say)
    elif command == "pdf":
        from scripts import book, pdf

        pdf.require_printer()
        book.build(layout, max(1, arguments.jobs), say)
        return pdf.main(layout, say)
    elif command == "mutate":
        from scripts import mutate, mutate_arithmetic

        if arguments.claims == ["arithmetic"]:
            return mutate_arithmetic.main(layout, arguments.count, arguments.jobs, say)
        return mutate.main(layout, arguments.claims, say)
    return 0


def _interrupted(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run the command line and return the exit code; a fault is one message, not a traceback."""
    signal.signal(signal.SIGTERM, _interrupted)
    layout = Layout(Path(__file__).resolve().parent.parent)
    try:
        return run(parser().parse_args(), layout)
    except BuildError as error:
        print(f"dplit: {error}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print("dplit: interrupted; what was finished stays", file=sys.stderr, flush=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
