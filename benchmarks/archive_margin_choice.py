"""Compute the map of margin learners; archive ``results/margin_choice.json``.

Some nine minutes of one processor, cell by cell: what is in the partial file is not computed again.
The same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from benchmarks.maps import kept, write
from benchmarks.maps.margin import cell, cells
from benchmarks.maps.margin_off_grid import archive, off_cases, off_grid

TARGET = Path(__file__).parent.parent / "results" / "margin_choice.json"


def main(seed: int = 0) -> None:
    """Fill the map and what is off the grid, and write both."""
    part = TARGET.with_suffix(".part")
    rows = [
        kept(part, f"{law} {facts} {seed}", partial(cell, law, facts, count, seed=seed))
        for law, facts, count in cells()
    ]
    outside = [
        kept(
            part,
            f"{case} {epsilon} {delta} {seed}",
            partial(off_grid, case, epsilon, delta, 6, seed=seed),
        )
        for case, epsilon, delta in off_cases()
    ]
    text = archive(rows, outside, seed=seed)
    json.loads(text)
    write(TARGET, text)
    part.unlink()


if __name__ == "__main__":
    main()
