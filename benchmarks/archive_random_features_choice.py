"""Compute the map of private regressions; archive ``results/random_features_choice.json``.

Some twenty minutes of one processor, and the files of two tables under ``DPLIT_DATA``; with the
argument ``cases`` the archived map stays, and only what is off the grid is measured, in some four
minutes. The same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.maps import write
from benchmarks.maps.random_features import TRIALS
from benchmarks.maps.random_features_off_grid import (
    OFF_EPSILONS,
    OFF_GRID,
    OFF_TRIALS,
    archive,
    off_grid,
)
from benchmarks.maps.random_features_solutions import cells, laws

TARGET = Path(__file__).parent.parent / "results" / "random_features_choice.json"


def main(seed: int = 0, *, kept: list[dict[str, Any]] | None = None) -> None:
    """Fill the map, unless it is given, try what is off the grid, and write both."""
    found = kept
    if found is None:
        found = [row for law in laws() for row in cells(law, TRIALS[law.n], seed=seed)]
    asked = [(case, epsilon) for case in OFF_GRID for epsilon in OFF_EPSILONS]
    outside = [off_grid(*one, OFF_TRIALS, seed=seed) for one in asked]
    partial = TARGET.with_suffix(".part")
    write(partial, archive(found, outside, seed=seed))
    json.loads(partial.read_text(encoding="utf8"))
    partial.replace(TARGET)


if __name__ == "__main__":
    archived = json.loads(TARGET.read_text(encoding="utf8")) if "cases" in sys.argv[1:] else {}
    main(kept=archived.get("cells"))
