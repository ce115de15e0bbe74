"""What Sphinx keeps between two builds, and when it may.

Sphinx reads a page again when its file has changed, and writes again what it has read. Two things
it cannot see. The pages of the package are made from sources and registries that their files do not
name; and every page shows words of others: titles in the contents, the text of references, years of
cited works, numbers glued in another chapter. Where those change, all pages are written again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes

from dplit_book.docstrings import FOLDER
from scripts.files import digest_bytes, digest_files, read_json, write_json


def package(root: Path) -> str:
    """Return a digest of what the pages of the package are made from."""
    files = [path for suffix in ("*.py", "claims.yml") for path in (root / "src").rglob(suffix)]
    return digest_bytes(repr(digest_files(files, root)).encode())


def text(value: Any) -> str:
    """Return what a record of Sphinx says: sets and mappings in order, nodes by their words.

    Examples
    --------
    >>> text({"b": {2, 1}, "a": nodes.Text("A")}) == text([["a", "A"], ["b", [1, 2]]])
    True
    """
    if isinstance(value, nodes.Node):
        return value.astext()
    if isinstance(value, Mapping):
        value = sorted(value.items(), key=lambda pair: str(pair[0]))
    if isinstance(value, (list, tuple, set, frozenset)):
        inside = [text(inner) for inner in value]
        return f"({', '.join(sorted(inside) if isinstance(value, (set, frozenset)) else inside)})"
    return str(value)


def shared(app: Any) -> str:
    """Return a digest of what pages show of others: titles, targets, numbers, works."""
    env, glued = app.env, Path(app.env.mystnb_config.output_folder)
    works = [work.key for work in env.domaindata["cite"]["citations"]]
    others = {name: held for name, held in env.domaindata.items() if name != "cite"}
    names = ["_toc.yml", *app.config.bibtex_bibfiles]
    files = [*glued.rglob("*.glue.json"), *(Path(app.srcdir) / name for name in names)]
    shown = digest_files(files, Path(app.srcdir))
    told = [env.titles, env.toctree_includes, others, works, shown]
    return digest_bytes(text(told).encode())


def on_outdated(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> Sequence[str]:
    """Return the pages of the package, to be read again, where its sources have changed."""
    made_from = package(Path(app.srcdir))
    if getattr(env, "dplit_package", None) == made_from:
        return []
    env.dplit_package = made_from
    return [name for name in env.all_docs if name.startswith(FOLDER)]


def searched(app: Any) -> Path:
    """Return the file that keeps what the search knows of each page's index entries.

    Sphinx stores its environment before pages are written, and learns these entries afterwards.
    """
    return Path(app.doctreedir) / "search.json"


def on_updated(app: Any, env: Any) -> Sequence[str]:
    """Return all pages, to be written again, where what they show of others has changed."""
    known = read_json(searched(app)) or {}
    for name in sorted(env.all_docs):
        env._search_index_index_entries[name] = [tuple(entry) for entry in known.get(name, [])]
    told = shared(app)
    if getattr(env, "dplit_shared", None) == told:
        return []
    env.dplit_shared = told
    # the pages of sources are written again by the age of their sources, or where they are missing
    shutil.rmtree(Path(app.outdir) / "_modules", ignore_errors=True)
    return list(env.all_docs)


def on_collected(app: Any) -> Sequence[Any]:
    """Forget the words that no page has any more, before the search is written; add no page."""
    indexer = app.builder.indexer
    for words in (indexer._mapping, indexer._title_mapping):
        for word in [word for word, pages in words.items() if not pages]:
            del words[word]
    return []


def on_finished(app: Any, error: Exception | None) -> None:
    """Keep the index entries that the search knows, and no picture that no page shows any more."""
    if error is not None or not hasattr(app.builder, "indexer"):
        return
    write_json(searched(app), app.env._search_index_index_entries)
    shown = {name for _, name in app.env.images.values()}
    for path in (Path(app.outdir) / "_images").glob("*"):
        if path.name not in shown:
            path.unlink()


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("env-get-outdated", on_outdated)
    app.connect("html-collect-pages", on_collected)
    app.connect("build-finished", on_finished)
    app.connect("env-updated", on_updated, priority=900)  # once labels of works are known
