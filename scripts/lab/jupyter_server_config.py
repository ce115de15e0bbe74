"""The server of `make lab` saves a pair of notebooks as `make sync` would write it."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.pairs import before_save

# Jupyter hands a hook on to the managers that it derives, and warns of each
warnings.filterwarnings("ignore", message="Overriding existing pre_save_hook")
c = get_config()  # noqa: F821 - Jupyter runs this file, and gives it the name
c.ContentsManager.pre_save_hook = before_save
# nothing asks the network for news of JupyterLab
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
