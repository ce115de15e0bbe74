"""What the planning rule of sketches promises, and how often it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.maps.sketching_planning import DECODERS, LEVELS, SEPARATIONS, cases
from dplit.advice.planning import LEAST_LOUDNESS, LEAST_WAVES


def promised(
    row: Mapping[str, Any], *, loudness: float = LEAST_LOUDNESS, waves: float = LEAST_WAVES
) -> list[int]:
    """Places of a row's levels at which the rule expects the groups to be found."""
    enough = row["n_frequencies"] >= waves * row["k"] * row["d"]
    return [at for at, level in enumerate(LEVELS) if enough and level >= loudness]


def kept(
    rows: Sequence[Mapping[str, Any]],
    decoder: str,
    *,
    loudness: float = LEAST_LOUDNESS,
    waves: float = LEAST_WAVES,
) -> dict[str, float | None]:
    """Runs that the rule promises and the share of them that missed, None where it promises
    nothing; and the share of the others that found the groups all the same.
    """
    inside, outside, kept_inside, kept_outside = 0, 0, 0, 0
    for row in rows:
        if decoder in row:
            found, trials = row[decoder]["found"], row[decoder]["trials"]
            at = promised(row, loudness=loudness, waves=waves)
            inside, kept_inside = inside + trials * len(at), kept_inside + sum(found[i] for i in at)
            outside += trials * (len(LEVELS) - len(at))
            kept_outside += sum(found) - sum(found[i] for i in at)
    return {
        "promised": inside,
        "missed": round(1.0 - kept_inside / inside, 4) if inside else None,
        "others": outside,
        "found all the same": round(kept_outside / max(outside, 1), 4),
    }


def summary(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """By part of the archive and decoder, and for the estimator's decoder by law."""
    out: dict[str, Any] = {
        part: {decoder: kept(some, decoder) for decoder in DECODERS} for part, some in rows.items()
    }
    out["by separation"] = {
        f"{apart:g}": kept([row for row in rows["seen"] if row["separation"] == apart], "kmeans")
        for apart in SEPARATIONS
    }
    laws = list(dict.fromkeys(row["data"] for row in rows["held out"]))
    out["by law"] = {
        law: kept([row for row in rows["held out"] if row["data"] == law], "kmeans") for law in laws
    }
    return out


def name_of(part: str, row: Mapping[str, Any]) -> str:
    """Name of a case in a part of the archive, from one of its rows or from the case itself."""
    told = (row[key] for key in ("data", "d", "k", "separation"))
    return " ".join([part, *(f"{one:g}" if isinstance(one, float) else str(one) for one in told)])


def archive(rows: Mapping[str, Sequence[Mapping[str, Any]]], *, seed: int) -> str:
    """Return the archive as text, a line per row; it says which cases were not run yet."""
    done = {name_of(part, row) for part, some in rows.items() for row in some}
    wanted = [name_of(part, case._asdict()) for part, case, _ in cases()]
    open_cases = [name for name in wanted if name not in done]
    head = {
        "about": "Decodes that lose at most a twentieth of what k-means gains on one centre, by "
        "loudness of a group. All simulated.",
        "seed": seed,
        "command": "python -m benchmarks.archive_sketching_planning",
        "levels": LEVELS,
        "rule": {"loudness": LEAST_LOUDNESS, "waves": LEAST_WAVES},
        "not run yet": open_cases,
        "summary": summary(rows),
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, some in rows.items():
        lines.append(f'"{key}": [\n' + ",\n".join(map(json.dumps, some)) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
