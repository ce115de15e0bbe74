"""The archived runs, which tests read and never write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def archived(name: str) -> Any:
    """Return an archive of ``results/`` by its name."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf8"))
