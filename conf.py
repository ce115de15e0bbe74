"""The book for ``sphinx-build``: what ``jupyter-book config sphinx`` makes of both yml files."""

import sys
from pathlib import Path

from jupyter_book.config import get_final_config

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "src"), str(HERE / "book" / "_ext")]
without = {"latex_individualpages": False}
found, _ = get_final_config(user_yaml=HERE / "_config.yml", cli_config=without)
globals().update(found)
