"""Compute the map of private regressions; archive ``results/random_features_choice.json``.

Some fifteen minutes of one processor, and the files of the two tables under ``DPLIT_DATA``; the
same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path

from dplit_studies.random_features.choice_map import (
    OFF_EPSILONS,
    OFF_GRID,
    TRIALS,
    archive,
    cells,
    laws,
    off_grid,
)

TARGET = Path(__file__).parent.parent / "results" / "random_features_choice.json"


def main(seed: int = 0) -> None:
    """Fill the map, try what is off the grid, and write both."""
    found = [row for law in laws() for row in cells(law, TRIALS[law.n], seed=seed)]
    outside = [
        off_grid(case, epsilon, 2, seed=seed) for case in OFF_GRID for epsilon in OFF_EPSILONS
    ]
    partial = TARGET.with_suffix(".part")
    partial.write_text(archive(found, outside, seed=seed), encoding="utf8")
    json.loads(partial.read_text(encoding="utf8"))
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
