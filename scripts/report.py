"""What `make report` prints: sizes of code and tests, what a newcomer meets, measures of texts.

They are a mirror. No build and no test fails by a number here: whether a module is about one thing,
and whether a text teaches, a reader judges.
"""

from __future__ import annotations

import ast
import json
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.layout import Layout
from scripts.reference import public_names

#: How many of the longest are named.
FIRST = 10
FOLDS = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
#: What a sentence does, by the words that it does it with.
WORDS = {
    "examples": r"for example|for instance|e\.g\.|suppose|imagine|consider|let's|let us|say,",
    "reasons": r"because|therefore|so that|which means|in other words|that is why|the reason|"
    r"intuitively|intuition|notice|recall|remember",
    "address": r"we|you|us|our|your|let's",
}
#: A reader is asked to guess before the next cell answers.
PREDICTION = re.compile(r"(?i)\bguess\b|before you (?:read|run|look)|which of them passes\?")


def counted(source: str) -> tuple[set[int], set[int]]:
    """Return the numbers of the lines of docstrings, and of those that are code.

    Examples
    --------
    >>> counted('"A module."\\n\\n# why\\ndef f():\\n    "Return 1."\\n    return 1')
    ({1, 5}, {4, 6})
    """
    told = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = ((k, line.strip()) for k, line in enumerate(source.splitlines(), start=1))
    return told, {k for k, line in lines if line and line[0] != "#" and k not in told}


def room(path: Path) -> str:
    """Return the folder that a file is counted under: two levels of ``src``, one of the others.

    Examples
    --------
    >>> room(Path("src/dplit/erm/solvers/newton.py")), room(Path("tests/papers/erm/test_rates.py"))
    ('src/dplit/erm', 'tests')
    """
    return "/".join(path.parent.parts[: 3 if path.parts[0] == "src" else 1])


def look(layout: Layout) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what each file of package, studies, scripts, benchmarks and tests holds, and for each
    function its lines of code, signature included, and its parameters but ``self``."""
    files, functions = [], []
    for folder in ("src", "scripts", "book", "benchmarks", "tests"):
        for path in sorted((layout.root / folder).rglob("*.py")):
            place, source = path.relative_to(layout.root), path.read_text(encoding="utf-8")
            docstrings, code = counted(source)
            nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
            shown = folder == "src" and not any(part.startswith("_") for part in place.parts)
            files.append(
                {
                    "module": str(place),
                    "room": room(place),
                    "modules": 1,
                    "lines": len(code),
                    "docstrings": len(docstrings),
                    "public": len(public_names(path) or ()) if shown else 0,
                    "tests": sum(n.name.startswith("test") for n in nodes if folder == "tests"),
                }
            )
            for node in nodes:
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                functions.append(
                    {
                        "function": f"{place}: {node.name}",
                        "lines": sum(node.lineno <= k <= (node.end_lineno or 0) for k in code),
                        "parameters": sum(x.arg not in ("self", "cls") for x in given),
                    }
                )
    return files, functions


def concepts(layout: Layout) -> dict[str, int]:
    """Return how many things of our own somebody meets who is new to the build, by their kind."""
    root = layout.root
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    own = [*(root / "scripts").glob("*.py"), *(root / "book").rglob("*.py")]
    scripts = [path.read_text(encoding="utf-8") for path in own]
    told = "\n".join([*scripts, *(p.read_text("utf-8") for p in (root / "src").rglob("*.py"))])
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    marks = project.partition("\nmarkers = [")[2].partition("\n]")[0]
    return {
        "rules of make": len(re.findall(r"^[a-z-]+:.*##", makefile, re.MULTILINE)),
        "scripts and parts of the extension": len(scripts),
        "classes in them": sum(len(re.findall(r"(?m)^class ", text)) for text in scripts),
        "kinds of output": len(set(re.findall(r"application/vnd\.dplit\.\w+", told))),
        "variables of the environment": len(set(re.findall(r"\bDPLIT_[A-Z_]+", told))),
        "marks of tests": len(re.findall(r'(?m)^  "', marks)),
    }


def prose(text: str) -> str:
    """Return what is open of a page's text: formulas are one word each, roles their words."""
    text = re.sub(r"(?ms)^(`{3,}|:{3,})\{dropdown\}.*?^\1\s*$", "", text)
    text = re.sub(r"(?s)\$\$.*?\$\$", " FORMULA. ", text)
    text = re.sub(r"\{\w+(?::\w+)?\}`([^`<]*)(?:<[^>]*>)?`", r"\1", text)
    text = re.sub(r"(?s)`{3,}.*?`{3,}", "", text)
    text = re.sub(r"\$[^$]*\$", " M ", text)
    return re.sub(r"(?m)^\s*\|.*$|^#+.*$|^\(.*\)=\s*$|^:.*$|<[^>]+>", "", text)


def measures(cells: Sequence[Any]) -> dict[str, float]:
    """Return the measures of a notebook's text and code."""
    read, folds = [], []
    for cell in cells:
        tags = set(cell["metadata"].get("tags", []))
        if cell["cell_type"] == "code" and "parameters" not in tags:
            kept = (line.strip() for line in "".join(cell["source"]).split("\n"))
            count = sum(bool(line) and not line.startswith("#") for line in kept)
            (folds if tags & FOLDS else read).append(count)
    sources = {
        kind: "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == kind)
        for kind in ("markdown", "code")
    }
    text = prose(sources["markdown"])
    words = re.findall(r"[A-Za-z]{2,}", text)
    lengths = [len(re.findall(r"\w+", s)) for s in re.split(r"(?<=[.!?])\s+", text)]
    per = 1000 / max(len(words), 1)
    return {
        "words": len(words),
        "words a sentence": statistics.mean([n for n in lengths if n > 3] or [0]),
        "formulas per 100 words": per / 10 * len(re.findall(r"\bM\b|FORMULA", text)),
        **{
            f"{name} per 1000 words": per * len(re.findall(rf"(?i)\b(?:{pattern})\b", text))
            for name, pattern in WORDS.items()
        },
        "predictions": len(PREDICTION.findall(text)),
        "running proofs": len(re.findall(r"(?m)^running_proof\(", sources["code"])),
        "exercises": len(re.findall(r"(?m)^\*\*\d+\. ", sources["markdown"])),
        "graded": len(re.findall(r"(?m)^grade\(", sources["code"])),
        "open cells": len(read),
        "open lines": sum(read),
        "median open cell": statistics.median(read or [0]),
        "longest open cell": max(read, default=0),
        "folded lines": sum(folds),
        "longest fold": max(folds, default=0),
    }


def main(layout: Layout, say: Callable[[str], None]) -> None:
    """Print the report."""
    import pandas as pd

    def show(title: str, table: Any) -> None:
        say(f"\n{title}\n{table.to_string(float_format=lambda x: f'{x:.4g}')}")

    files, defined = map(pd.DataFrame, look(layout))
    sizes = files.drop(columns="module").groupby("room").sum()
    sizes.loc["all"] = sizes.sum()
    show("Lines of code and of docstrings, public names, tests", sizes)
    show("Longest modules", files.set_index("module")[["lines"]].nlargest(FIRST, "lines"))
    for column in ("lines", "parameters"):
        show(
            f"Functions with most {column}",
            defined.set_index("function")[[column]].nlargest(FIRST, column),
        )
    show("Concepts of the build", pd.Series(concepts(layout)))
    for title, names in (("Lessons", layout.lessons()), ("Records", layout.recorded())):
        pairs = {name: (layout.notebooks / f"{name}.ipynb").read_text("utf-8") for name in names}
        told = {name: measures(json.loads(pair)["cells"]) for name, pair in pairs.items()}
        show(title, pd.DataFrame(told).rename(columns=lambda name: name.split("_supp")[0]))
