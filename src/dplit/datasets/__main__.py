"""Download the papers' data: ``python -m dplit.datasets``."""

from dplit.datasets.papers import _main

if __name__ == "__main__":
    raise SystemExit(_main())
