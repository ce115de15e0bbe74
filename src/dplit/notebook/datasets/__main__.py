"""Download the papers' data: ``python -m dplit.notebook.datasets``."""

from dplit.notebook.datasets.papers import _main

if __name__ == "__main__":
    raise SystemExit(_main())
