"""The book for plain ``sphinx-build``: what ``jupyter-book config sphinx`` reads of both yml files."""

import sys
from pathlib import Path

from jupyter_book.config import get_final_config

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "src"), str(HERE / "book" / "_ext")]
found = get_final_config(
    user_yaml=HERE / "_config.yml",
    cli_config={"latex_individualpages": False},
    raise_on_invalid=True,
)
globals().update(found[0])
