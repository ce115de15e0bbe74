"""What `make report` prints: sizes of code and tests, and what a newcomer meets.

They are a mirror. No build and no test fails by a number here: whether a module is about one thing
a reader judges.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.layout import Layout
from scripts.reference import public_names

#: How many of the longest are named.
FIRST = 10


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
