"""Run every ``bench_*.py`` of this folder and print one table of ratios.

Each module has a function ``run()`` that returns one mapping per comparison with name, ours, peer,
ours_seconds, peer_seconds, ratio, ratio_min, ratio_max and target; the pairs of a comparison are
measured in turn in one run, so that what slows the machine slows both.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HEAD = ("comparison", "ours", "peer", "ours s", "peer s", "ratio", "spread", "target", "")


def modules(only: Sequence[str]) -> list[str]:
    """Return the benchmark modules, or those whose name holds one of the given words."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    return [name for name in names if not only or any(word in name for word in only)]


def row(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one line of the table.

    Examples
    --------
    >>> seconds = {"ours_seconds": 0.5, "peer_seconds": 4.0, "ratio": 8.0}
    >>> spread = {"ratio_min": 7.5, "ratio_max": 8.25, "target": 7.0}
    >>> row({"name": "map", "ours": "a", "peer": "b", **seconds, **spread})[5:]
    ('8.00', '7.50 to 8.25', '7', 'met')
    """
    target = result.get("target")
    met = "" if target is None else "met" if result["ratio"] >= target else "MISSED"
    return (
        str(result["name"]),
        str(result["ours"]),
        str(result["peer"]),
        f"{result['ours_seconds']:.3g}",
        f"{result['peer_seconds']:.3g}",
        f"{result['ratio']:.2f}",
        f"{result['ratio_min']:.2f} to {result['ratio_max']:.2f}",
        "" if target is None else f"{target:g}",
        met,
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as text in columns, with a heading."""
    lines = [HEAD, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def machine() -> str:
    """Return what was measured on: processor, cores, system, Python and NumPy."""
    import numpy as np

    about = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", about.read_text()) if about.exists() else []
    parts = [models[0] if models else platform.machine(), f"{os.cpu_count()} cores"]
    parts += [platform.system(), f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    return ", ".join(parts)


def main() -> int:
    """Run the benchmarks and return 1 if a ratio misses its target."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="*", help="words that a module's name must hold")
    parser.add_argument(
        "--json",
        type=Path,
        help="also write the results to this file; the book shows results/benchmarks.json",
    )
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    for name in modules(arguments.only):
        print(f"  {name}: measuring", file=sys.stderr, flush=True)
        results += importlib.import_module(f"benchmarks.{name}").run()
    rows = [row(result) for result in results]
    print(table(rows))
    if arguments.json:
        told = {"date": datetime.date.today().isoformat(), "machine": machine(), "rows": results}
        arguments.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 1 if any(line[-1] == "MISSED" for line in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
