"""Simulate private clustering over the map; archive ``results/sketching_choice.json``.

Some twenty minutes of one processor. Rows are kept as they come, so that a second run goes on
where the first was stopped; the same seed gives the same file on one machine.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.maps import write
from benchmarks.maps.sketching import DELTA, archive, cell, groups
from benchmarks.maps.sketching_off_grid import OFF_GRID, off_grid

TARGET = Path(__file__).parent.parent / "results" / "sketching_choice.json"

#: Runs of each case off the grid.
TRIALS = 4

#: Runs of each with other seeds and budgets, of what the package ships alone: which separation is
#: best told where nobody knows it.
AGAIN = 8

_BUDGETS = [(epsilon, 0.0) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)]
_BUDGETS += [(epsilon, DELTA) for epsilon in (0.3, 1.0, 3.0)]


def main(seed: int = 0) -> None:
    """Fill the map and what is off the grid, and write both."""
    kept = TARGET.with_suffix(".part")
    lines = kept.read_text(encoding="utf8").splitlines() if kept.exists() else []
    done: dict[str, list[Any]] = dict(map(json.loads, lines))
    tasks: list[tuple[str, Any, Any]] = [
        (f"cell {facts}", facts, partial(cell, facts, budgets, seed=seed))
        for facts, budgets in groups()
    ]
    tasks += [(f"case {one}", one, partial(off_grid, one, TRIALS, seed=seed)) for one in OFF_GRID]
    other = partial(off_grid, seed=seed + 1, budgets=_BUDGETS, rivals=False)
    tasks += [(f"again {one}", one, partial(other, one, AGAIN)) for one in OFF_GRID]
    with kept.open("a", encoding="utf8") as file:
        for name, _, run in sorted(tasks, key=lambda task: task[1].n * task[1].d * task[1].k):
            if name not in done:
                done[name] = run()
                file.write(json.dumps([name, done[name]]) + "\n")
                file.flush()
    rows = {
        kind: [row for name, *_ in tasks if name.startswith(kind) for row in done[name]]
        for kind in ("cell", "case", "again")
    }
    write(TARGET, archive(*rows.values(), seed=seed))
    json.loads(TARGET.read_text(encoding="utf8"))
    kept.unlink()


if __name__ == "__main__":
    main()
