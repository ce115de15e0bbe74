"""The book's own Sphinx extension: what no other tool does to its pages.

``code`` links names in code, ``page`` names boxes and keeps room for formulas and pictures,
``docstrings`` leads from the package to the claims, ``kept`` says what is read and written again,
``numbers`` numbers figures and lessons, ``records`` is the directive of indices, and ``site`` adds
what lies beside the pages, in a ``typeface`` of its own.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from dplit_book import code, docstrings, kept, numbers, page, records, site  # noqa: E402
from scripts.files import digest_bytes, digest_files  # noqa: E402


def setup(app: Any) -> dict[str, bool]:
    """Register all parts with Sphinx."""
    # trees are millions of objects, and looking for rings among all takes a third of the time:
    # it is done seldom, and among the young, which most of them leave behind
    gc.set_threshold(1_000_000, 50, 1_000)
    own = [*Path(__file__).parent.glob("*.py"), ROOT / "requirements.txt"]
    made_by = digest_files(own, ROOT)
    app.add_config_value("dplit_made_by", digest_bytes(repr(made_by).encode()), "env")
    for part in (code, docstrings, kept, numbers, page, records, site):
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
