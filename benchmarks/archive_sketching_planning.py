"""Decode sketches at many sizes and levels of noise; archive ``results/sketching_planning.json``.

Some ten minutes of one processor. The archive is written after each case, and a second run goes on
where it stands, so that it may be stopped at any time: it names what was not run yet. The same seed
gives the same rows on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.maps import write
from benchmarks.maps.sketching_planning import cases, rows_of
from benchmarks.maps.sketching_planning_kept import archive, name_of

TARGET = Path(__file__).parent.parent / "results" / "sketching_planning.json"


def main(seed: int = 0) -> None:
    """Run every case that the archive lacks, the small ones first."""
    told = json.loads(TARGET.read_text(encoding="utf8")) if TARGET.exists() else {}
    done: dict[str, list[Any]] = {}
    for part in ("seen", "held out"):
        for row in told.get(part, []):
            done.setdefault(name_of(part, row), []).append(row)
    for part, case, trials in sorted(cases(), key=lambda one: one[1].d * one[1].k):
        name = name_of(part, case._asdict())
        if name not in done:
            done[name] = rows_of(case, trials, seed=seed)
            rows: dict[str, list[Any]] = {"seen": [], "held out": []}
            for of, one, _ in cases():
                rows[of] += done.get(name_of(of, one._asdict()), [])
            write(TARGET, archive(rows, seed=seed))


if __name__ == "__main__":
    main()
