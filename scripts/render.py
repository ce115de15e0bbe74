"""Render the site beside the last good one and swap it in when it is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from scripts.downloads import write_downloads
from scripts.execute import environment
from scripts.files import (
    BuildError,
    digest_files,
    read_json,
    recover_folder,
    swap_folder,
    write_json,
    write_text,
)
from scripts.layout import Layout


def commit(layout: Layout) -> str:
    """Return the commit that the tree stands at, marked if files differ, or "unknown"."""
    command = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= with changes"]
    try:
        told = subprocess.run(command, cwd=layout.root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip() or "unknown"


def committed(layout: Layout) -> str:
    """Return the day of the commit that the tree stands at, or nothing."""
    command = ["git", "show", "--no-patch", "--format=%cs", "HEAD"]
    try:
        told = subprocess.run(command, cwd=layout.root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" of {told.stdout.strip()}"


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


def inputs(layout: Layout) -> dict[str, str]:
    """Return everything that the site is made from, with digests."""
    files = [layout.root / name for name in ("_config.yml", "_toc.yml", "requirements.txt")]
    files += [p for p in layout.book.rglob("*") if p.is_file() and not _hidden(p, layout.book)]
    files += [*layout.package.rglob("*.py"), *layout.studies.rglob("*.py")]
    files += layout.package.glob("*/claims.yml")
    files += layout.notebooks.glob("*.ipynb")
    scripts = ("render", "downloads", "docstrings", "finish", "kept")
    files += [layout.root / "scripts" / f"{name}.py" for name in scripts]
    files += [layout.root / name for name in ("pyproject.toml", "README.md", "CITATION.cff")]
    return {**digest_files(files, layout.root), "commit": commit(layout)}


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


#: The paragraph of a page's footer, in ``_config.yml``, that says which commit it was built from.
FOOTER = '<p class="dplit-commit"></p>'


def footer(layout: Layout) -> str:
    """Return the paragraph with the commit and its day."""
    told = f"Built from commit <code>{commit(layout)}</code>{committed(layout)}.{launch(layout)}"
    return FOOTER.replace("><", f">{told}<")


def macros(layout: Layout) -> dict[str, Any]:
    """Return the TeX macros of the book."""
    config = yaml.safe_load((layout.root / "_config.yml").read_text("utf-8"))
    found: dict[str, Any] = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    return found


def fault_lines(messages: str) -> list[str]:
    """Return the lines of Jupyter Book's messages that say what is wrong, each once.

    Examples
    --------
    >>> fault_lines("reading\\nOSError: [Errno 28] No space left on device\\nRuntimeError: \\n")
    ['OSError: [Errno 28] No space left on device']
    >>> fault_lines("chapters/erm.ipynb:1230002: WARNING: no key")
    ['chapters/erm.ipynb: cell 123, line 2: WARNING: no key']
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", messages)
    # MyST-NB counts 10000 lines to a cell
    plain = re.sub(
        r"\.ipynb:(\d+)(\d{4}):", lambda m: f".ipynb: cell {m[1]}, line {int(m[2])}:", plain
    )
    lines = [line.strip() for line in plain.split("\n")]
    found = [line for line in lines if re.search(r"WARNING|ERROR|^\w*Error: .", line)]
    return list(dict.fromkeys(found)) or [line for line in lines if line][-8:]


def write_bundle(site: Path, pages: Iterable[Path]) -> None:
    """Write the scripts that draw explorable figures, if one of the pages has such a figure.

    They come from the package that the lock names, so that no page asks the network for them.
    """
    if any("data-explore=" in page.read_text(encoding="utf-8") for page in pages):
        import vl_convert

        # in a scope of its own: its names are short, and the theme has some of them
        bundle = f"(() => {{{vl_convert.javascript_bundle()}\n}})();\n"
        write_text(site / "_static" / "vega.js", bundle)


#: Where a chapter stood before it became a supplement: the anchor is kept, from disk too.
MOVED = """<!DOCTYPE html>
<html lang="en" data-moved><head><meta charset="utf-8"><title>Moved</title>
<script>location.replace("{there}" + location.hash);</script>
</head><body><p>This chapter is <a href="{there}">here</a> now.</p></body></html>
"""


def write_moved(layout: Layout, site: Path) -> None:
    """Lead from the address of a paper that has no lesson yet to its supplement."""
    for slug in layout.untaught():
        page = site / "book" / "chapters" / f"{slug}.html"
        write_text(page, MOVED.format(there=f"{layout.record(slug)}.html"))


def tools(layout: Layout) -> dict[str, str]:
    """Return what reads and writes pages, with digests; under others nothing kept is used."""
    names = ("render", "docstrings", "finish", "kept")
    files = [layout.root / "scripts" / f"{name}.py" for name in names]
    return digest_files([*files, layout.root / "requirements.txt"], layout.root)


def sphinx(layout: Layout, source: Path, stage: Path, *flags: str) -> Path:
    """Build the pages of a folder below another, and return where they are.

    Raises
    ------
    BuildError
        With the warnings that the flags make errors, by file and line.
    """
    # a site's trees are millions of objects: looking for rings among them is a third of the time
    start = "import gc; gc.disable()\nfrom jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", "-q", "--keep-going", *flags]
    command += ["--path-output", str(stage), str(source)]
    env = environment(layout)
    env["PYTHONPATH"] += f"{os.pathsep}{layout.root}"  # _config.yml names extensions of ours
    done = subprocess.run(command, cwd=source, env=env, capture_output=True, text=True)
    said, site = done.stderr + done.stdout, stage / "_build" / "html"
    log = layout.build / "logs" / "render.log"
    write_text(log, said)
    if done.returncode or not (site / "index.html").exists():
        told = "\n  ".join(line.replace(f"{layout.root}/", "") for line in fault_lines(said)[:20])
        raise BuildError(f"the site has faults (all of it: {layout.name(log)}):\n  {told}")
    return site


def publish(layout: Layout, made: Path) -> None:
    """Put a site into its place, with the commit on its pages and what readers take along.

    What Sphinx wrote stays as it is: it goes on from there at the next build.
    """
    site, told = layout.build / "stage", footer(layout)
    shutil.copytree(made, site, copy_function=os.link)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if FOOTER in text:
            write_text(page, text.replace(FOOTER, told))
    write_bundle(site, (site / "book" / "chapters").glob("*.html"))
    write_downloads(layout, site)
    write_moved(layout, site)
    swap_folder(site, layout.html)


def render(layout: Layout, say: Callable[[str], None]) -> bool:
    """Build the site with every warning an error, unless nothing changed.

    Only pages that changed are read and written. Sphinx works on a copy of what it has kept, so
    that a build with faults leaves no trace: a fault is told until it is mended. On a server
    (variable ``CI``) nothing is kept.

    Returns
    -------
    bool
        Whether the site was built.

    Raises
    ------
    BuildError
        With the warnings, if there is one. The last good site stays.
    """
    recover_folder(layout.html)
    memory, made_by = layout.state / "site.json", layout.state / "tools.json"
    kept, stage = layout.build / "sphinx", layout.build / "stage"
    made_from = inputs(layout)
    if (layout.html / "index.html").exists() and read_json(memory) == made_from:
        return False
    say("  rendering the site")
    recover_folder(kept)
    shutil.rmtree(stage, ignore_errors=True)
    try:
        if not os.environ.get("CI") and kept.exists() and read_json(made_by) == tools(layout):
            shutil.copytree(kept, stage)
        # pages name the digests of styles that lie there already: none does in a build from nothing
        static = stage / "_build" / "html" / "_static"
        shutil.rmtree(static, ignore_errors=True)
        sphinx(layout, layout.root, stage, "-W", "-n")
        if not static.exists():  # no page was written, and so no style
            shutil.copytree(kept / static.relative_to(stage), static)
        made_by.unlink(missing_ok=True)
        swap_folder(stage, kept)
        write_json(made_by, tools(layout))
        memory.unlink(missing_ok=True)
        publish(layout, kept / "_build" / "html")
    except OSError as error:
        raise BuildError(f"the site cannot be written: {error}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    write_json(memory, made_from)
    return True
