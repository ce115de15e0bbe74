"""Build the site by Sphinx, and say what is wrong with it by file and line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dplit.notebook.claims import load_registry
from scripts.claims import meant
from scripts.execute import environment
from scripts.files import BuildError, write_text
from scripts.layout import Layout


def git(layout: Layout, *arguments: str) -> str:
    """Return what git says, or nothing where there is no checkout."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=layout.root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def commit(layout: Layout) -> str:
    """Return the commit that the tree stands at, marked if files differ, or "unknown"."""
    told = ("describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= with changes")
    return git(layout, *told) or "unknown"


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


def _in_source(layout: Layout, fault: str) -> str:
    """Return a fault of a chapter's page with the line of its source that has the name at fault."""
    found = re.match(
        r"book/chapters/(\w+)\.ipynb: cell.*?: (WARNING: .*?(?:label |['\"])['\"]?([^'\",]+).*)",
        fault,
    )
    source = layout.notebooks / f"{found[1]}.md" if found else layout.root
    if not found or not source.is_file():
        return fault
    last = found[3].rpartition("/")[2]  # a page is told by its place in the book
    name = re.compile(rf"(?<![\w-]){re.escape(last)}(?![\w-])", re.IGNORECASE)
    lines = source.read_text(encoding="utf-8").split("\n")
    at = [str(n) for n, line in enumerate(lines, start=1) if name.search(line)]
    near = meant(found[3], load_registry()) if "undefined label" in fault else ""
    return f"{layout.name(source)}:{','.join(at)}: {found[2]}{near}" if at else f"{fault}{near}"


def sphinx(layout: Layout, source: Path, site: Path, *options: str) -> None:
    """Build the pages of a folder into another.

    Sphinx keeps the trees of what it has read. Those of pages with faults go, so that a fault is
    told until it is mended, and all go where a build was ended before its end.

    Raises
    ------
    BuildError
        With the warnings that the options make errors, by file and line.
    """
    trees = site.with_name(f"{site.name}.trees")
    unfinished = trees / "unfinished"
    if unfinished.exists():
        shutil.rmtree(trees)
    write_text(unfinished, "")
    command = [sys.executable, "-m", "sphinx", "-q", "--keep-going", "-c", str(layout.root)]
    command += ["-d", str(trees), *options, str(source), str(site)]
    done = subprocess.run(command, env=environment(layout), capture_output=True, text=True)
    said, log = done.stderr + done.stdout, layout.build / "logs" / "render.log"
    write_text(log, said)
    if not done.returncode:
        unfinished.unlink()
        return
    faults = [x.replace(f"{source}/", "").replace(f"{layout.root}/", "") for x in fault_lines(said)]
    pages = [trees / Path(fault.partition(":")[0]).with_suffix(".doctree") for fault in faults]
    if all(page.exists() for page in pages):  # else of a docstring, say, or a full disk
        for page in pages:
            page.unlink(missing_ok=True)
        unfinished.unlink()
    told = "\n  ".join(_in_source(layout, fault) for fault in faults[:20])
    raise BuildError(f"the site has faults (all of it: {layout.name(log)}):\n  {told}")


def render(layout: Layout, say: Callable[[str], None]) -> None:
    """Bring the site up to date: only pages that changed are read and written.

    Raises
    ------
    BuildError
        With the warnings, if there is one.
    """
    say("  rendering the site")
    sphinx(layout, layout.root, layout.html, "-W", "-n")
