"""Command line of the build; the Makefile's rules call it."""

from __future__ import annotations

import argparse
import signal
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.files import BuildError
from scripts.layout import Layout


def say(line: str) -> None:
    """Print one line of progress at once."""
    sys.stdout.write(f"{line}\n")  # at once with its end: jobs start in threads
    sys.stdout.flush()


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
    commands.add_parser("report", help="print sizes; nothing fails by them")
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


def run(told: argparse.Namespace, layout: Layout) -> int:
    """Run one command and return its exit code; only what it needs is imported."""

    def part(name: str) -> Any:
        return import_module(f"scripts.{name}")

    match told.command:
        case "book":
            part("book").build(layout, max(1, told.jobs), say)
        case "again":
            with TemporaryDirectory() as made:
                part("again").compare(layout, Path(told.folder or made).absolute(), say)
        case "lock":
            part("lock").check(layout, say)
        case "claims":
            say(f"{part('claims').check(layout)} claims: functions, tests, cells and marks agree")
        case "report":
            part("report").main(layout, say)
        case "sync":
            changed = part("pairs").sync(layout)
            say(f"wrote {', '.join(changed)}" if changed else "all pairs were in step")
        case "chapter":
            part("runs").chapter(layout, told.name, told.arguments, say)
        case "preview":
            part("book").preview(layout, told.name, say)
        case "test-claim":
            return part("claims").test_claim(layout, told.claim, say)
        case "paper":
            part("runs").paper(layout, told.names, max(1, told.jobs), say)
        case "pdf":
            part("pdf").require_printer()
            part("book").build(layout, max(1, told.jobs), say)
            return part("pdf").main(layout, say)
        case "mutate" if told.claims == ["arithmetic"]:
            return part("mutate_arithmetic").main(layout, told.count, told.jobs, say)
        case "mutate":
            return part("mutate").main(layout, told.claims, say)
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
