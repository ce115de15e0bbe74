"""The papers' data sets.

Where they are looked for, their checksums and their provenance. Files are looked for in the
folder ``$DPLIT_DATA``, then in the cache that ``make data`` (or ``python -m
dplit.notebook.datasets``) fills; nothing is downloaded otherwise. A file whose checksum differs
is refused, and so is a ``$DPLIT_DATA`` that is no folder. Where a file is missing, scikit-learn's
diabetes data stand in, and say so.
"""

from __future__ import annotations

from dplit.notebook.datasets.digits import Digits, load_fours_and_nines, read_idx
from dplit.notebook.datasets.papers import (
    FILES,
    DataError,
    DataFile,
    Dataset,
    cache_folder,
    download,
    find_all,
    find_file,
    load_medical,
    load_wine,
    loaded_files,
)

__all__ = [
    "FILES",
    "DataError",
    "DataFile",
    "Dataset",
    "Digits",
    "cache_folder",
    "download",
    "find_all",
    "find_file",
    "load_fours_and_nines",
    "load_medical",
    "load_wine",
    "loaded_files",
    "read_idx",
]
