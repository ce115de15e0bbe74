"""Refuse an environment whose packages are not the lock's, unless it was chosen on purpose."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from scripts.files import BuildError
from scripts.layout import Layout

Say = Callable[[str], None]
#: Differences that are listed.
SHOWN = 5


def check(layout: Layout, say: Say) -> None:
    """Compare what is installed with ``requirements.txt``; ``LOCK=off`` only tells.

    Raises
    ------
    BuildError
        If a package is wanted and not in the lock, by its line; if one is missing or has another
        version, and the variable ``LOCK`` is not ``off``.
    """
    lock = (layout.root / "requirements.txt").read_text(encoding="utf-8")
    wanted = layout.root / "requirements.in"
    lines = wanted.read_text(encoding="utf-8").split("\n") if wanted.exists() else []
    for number, line in enumerate(lines, start=1):
        name = re.split(r"[^\w.-]", line)[0]
        if name and not re.search(rf"^{re.sub('[-_.]+', '-', name)}==", lock, re.M | re.I):
            raise BuildError(
                f"requirements.in:{number}: {name} is not in requirements.txt; the command in its "
                "first lines writes the lock anew (pip install uv, in an environment of its own)"
            )
    try:
        from dplit.notebook.provenance import lock_differences

        found = lock_differences(lock)
    except ImportError as error:
        raise BuildError(f"this environment has not even the comparison's own: {error}") from error
    if not found:
        return
    listed = "; ".join(found[:SHOWN]) + (f"; {len(found) - SHOWN} more" if found[SHOWN:] else "")
    if os.environ.get("LOCK") == "off":
        say(f"  environment: not the lock's ({listed}); provenance says so")
        return
    raise BuildError(
        f"this environment is not the one of requirements.txt: {listed}. Install the lock into it "
        "(pip install --require-hashes -r requirements.txt) or, on purpose, make LOCK=off ..."
    )
