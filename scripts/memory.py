"""The peak memory of each chapter, as its kernel tells it when it ends."""

from __future__ import annotations

from scripts.layout import Layout

#: The variable that names the file into which a kernel writes its peak memory in megabytes.
PEAK = "DPLIT_PEAK"

_STARTUP = f'''\
"""Write the peak memory of this process when it ends."""

import atexit
import os


def _told():
    import resource
    import sys

    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    with open(os.environ["{PEAK}"], "w") as file:
        file.write(str(peak))


if os.environ.get("{PEAK}"):
    atexit.register(_told)
del _told
'''


def tell_memory(layout: Layout) -> None:
    """Write what lets every kernel that :func:`scripts.execute.run` starts tell its peak."""
    folder = layout.build / "ipython" / "profile_default" / "startup"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "01-memory.py").write_text(_STARTUP, encoding="utf-8")
