"""Compute the map of learners for risk minimisation and archive it in ``results/erm_choice.json``.

Some twelve minutes of one processor; the same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.maps import write
from benchmarks.maps.erm import settings
from benchmarks.maps.erm_candidates import simulate
from benchmarks.maps.erm_off_grid import OFF_GRID, archive, off_grid

TARGET = Path(__file__).parent.parent / "results" / "erm_choice.json"


def main(seed: int = 0) -> None:
    """Simulate every setting, then what is off the grid, and write both."""
    results = {at: simulate(at, seed=seed) for at in settings()}
    outside = {case: off_grid(case, seed=seed) for case in OFF_GRID}
    partial = TARGET.with_suffix(".part")
    write(partial, archive(results, outside, seed=seed))
    json.loads(partial.read_text(encoding="utf8"))
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
