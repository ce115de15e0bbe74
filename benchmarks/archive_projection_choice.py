"""Compute the map of releases for linear regression; archive ``results/projection_choice.json``.

Some ten minutes of one processor; the same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.maps import write
from benchmarks.maps.projection import CORNERS, TRIALS, corner, facts_of
from benchmarks.maps.projection_gradients import DESCENTS, archive, cells, descent
from benchmarks.maps.projection_off_grid import OFF_BUDGETS, OFF_GRID, off_grid

TARGET = Path(__file__).parent.parent / "results" / "projection_choice.json"


def main(seed: int = 0) -> None:
    """Fill the map, simulate its corners and what is off the grid, and write all three."""
    found = list(cells())
    ends = [
        corner(facts_of(d, ratio, snr, (epsilon, None)), TRIALS[d], seed=seed)
        for d, ratio, snr, epsilon in CORNERS
    ]
    outside = [  # fits on small tables scatter most
        off_grid(case, budget, 40 if case.n < 2000 else 4, seed=seed)
        for case in OFF_GRID
        for budget in OFF_BUDGETS
    ]
    others = [descent(*at, 5, seed=seed) for at in DESCENTS]
    partial = TARGET.with_suffix(".part")
    write(partial, archive(found, ends, outside, others, seed=seed))
    json.loads(partial.read_text(encoding="utf8"))
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
