"""Measure what the face-off's rule is learnt on and archive it in ``results/face_off_choice.json``.

Some ten minutes of one processor. Tables that anybody can make are measured again; the rows of
other packages' tables stay as the archive has them.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.maps import write
from benchmarks.maps.face_off import measure, private_choice, tables
from benchmarks.maps.face_off_learnt import archive, rows_of

TARGET = Path(__file__).parent.parent / "results" / "face_off_choice.json"


def main(seed: int = 0) -> None:
    """Measure every table that can be made, and write all rows with what they teach."""
    elsewhere = rows_of(json.loads(TARGET.read_text(encoding="utf-8")), "elsewhere")
    made, private = [], []
    for title, problem, splits in tables(seed):
        made += measure(title, problem, splits=splits, seed=seed)
        if title.endswith(", 5000"):
            private += private_choice(title, problem, seed=seed)
    partial = TARGET.with_suffix(".part")
    write(partial, archive(made, elsewhere, private, seed=seed))
    partial.replace(TARGET)


if __name__ == "__main__":
    main()
