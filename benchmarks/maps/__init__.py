"""Maps of choices: the simulations from which advice learns, with the rivals that only they
need.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

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
