"""Measure the solvers of Table 1 and archive their times in ``results/table1_times.json``."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.bench_interpolation import table1_times

TARGET = Path(__file__).parent.parent / "results" / "table1_times.json"


def main() -> None:
    """Write the measured seconds with the versions and the number of BLAS threads."""
    facts = {
        "times": table1_times(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "blas threads": os.environ.get("OMP_NUM_THREADS", "all"),
        **{name: version(name) for name in ("numpy", "scipy")},
    }
    partial = TARGET.with_suffix(".part")
    partial.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf8")
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
