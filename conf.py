"""The book for ``sphinx-build``: what ``jupyter-book config sphinx`` makes of both yml files."""

from pathlib import Path

from jupyter_book.config import get_final_config

without = {"latex_individualpages": False}
found, _ = get_final_config(user_yaml=Path(__file__).with_name("_config.yml"), cli_config=without)
globals().update(found)
