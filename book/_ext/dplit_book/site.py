"""What lies beside the pages: the front door, the commit, scripts of figures, downloads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import sphinx.builders.html
import yaml

from dplit_book import typeface
from scripts.downloads import write_downloads
from scripts.layout import Layout
from scripts.render import commit, git

DOOR = '<meta http-equiv="Refresh" content="0; url={page}.html" />\n'
#: Fills the paragraph of each footer (``_config.yml``): no page changes with the commit.
BUILT = 'document.querySelectorAll(".dplit-commit").forEach((e) => {{ e.innerHTML = {told}; }});\n'


def launch(layout: Layout) -> str:
    """Return a link that opens this commit's notebooks in Binder, if the project has an address.

    It is ``repository-code`` in CITATION.cff, on GitHub; ``binder/`` says what is installed there.
    """
    known = yaml.safe_load((layout.root / "CITATION.cff").read_text("utf-8"))
    place = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)", known.get("repository-code", ""))
    if place is None:
        return ""
    at = commit(layout).split()[0].replace("unknown", "HEAD")
    there = f"https://mybinder.org/v2/gh/{place[1]}/{at}?urlpath=lab%2Ftree%2Fnotebooks"
    return f' <a href="{there}">Open its notebooks in Binder</a>.'


def built(layout: Layout) -> str:
    """Return what the footer says: the commit and its day."""
    day = git(layout, "show", "--no-patch", "--format=%cs", "HEAD")
    day = day and f" of {day}"
    return f"Built from commit <code>{commit(layout)}</code>{day}.{launch(layout)}"


def on_finished(app: Any, error: Exception | None) -> None:
    """Write what belongs to the site and is no page."""
    if error is not None or app.builder.name != "html":
        return
    import vl_convert

    layout, site = Layout(Path(app.confdir)), Path(app.outdir)
    (site / "index.html").write_text(DOOR.format(page=app.config.root_doc))
    static = site / "_static"
    static.mkdir(exist_ok=True)
    (static / "built.js").write_text(BUILT.format(told=json.dumps(built(layout))))
    typeface.write(static)
    # in a scope of its own: its names are short, and the theme has some of them
    vega, made_by = static / "vega.js", f"// vl-convert {vl_convert.__version__}\n"
    if not (vega.exists() and vega.read_text().startswith(made_by)):  # it takes a second to make
        vega.write_text(f"{made_by}(() => {{{vl_convert.javascript_bundle()}\n}})();\n")
    if layout.root == Path(app.srcdir):  # not a run beside the book
        write_downloads(layout, site)


def setup(app: Any) -> None:
    """Register with Sphinx."""
    # pages would name the digests of styles that lie in the site already: a first build has none
    sphinx.builders.html._file_checksum = lambda *_: ""
    app.add_js_file("built.js", loading_method="defer")
    app.connect("build-finished", on_finished)
