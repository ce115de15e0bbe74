"""Maps of choices: the simulations from which advice learns, with the rivals that only they
need.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.archives import made_now
from scripts.layout import Layout

ROOT = Path(__file__).resolve().parents[2]


def write(target: Path, text: str) -> None:
    """Write an archive, and when, at which commit and with which versions it was measured.

    Parameters
    ----------
    target : Path
        The file.
    text : str
        Of an object in JSON, an entry a line; seconds are those of this process.
    """
    measured = json.dumps(made_now(Layout(ROOT), seconds=time.process_time()))
    rest = text.removeprefix("{\n")
    target.write_text(f'{{\n"measured": {measured},\n{rest}', encoding="utf-8")


def kept(part: Path, key: str, compute: Callable[[], Any]) -> Any:
    """Return a result that the partial file has under a key, or compute it and write it there."""
    lines = part.read_text(encoding="utf8").splitlines() if part.exists() else []
    for line in lines:
        found = json.loads(line)
        if found[0] == key:
            return found[1]
    made = compute()
    with part.open("a", encoding="utf8") as out:
        out.write(json.dumps([key, made]) + "\n")
    return made
