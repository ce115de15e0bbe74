"""A Jupyter server started in this folder saves a pair as `make sync` would write it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scripts.pairs import before_save

c = get_config()  # noqa: F821 - Jupyter runs this file, and gives it the name
c.ContentsManager.pre_save_hook = before_save
