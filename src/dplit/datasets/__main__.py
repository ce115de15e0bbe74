"""Download the papers' data: ``python -m dplit.datasets``."""

from dplit.datasets.papers import _main

_main()
