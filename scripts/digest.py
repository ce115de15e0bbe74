"""What a chapter is made from: its notebook, the modules it imports, data, lock and interpreter."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from scripts.files import BuildError, digest_bytes, digest_files, read_json
from scripts.layout import Layout, slug_of
from scripts.reach import module_file, plain, reach_of, source_of


def notebook_code(path: Path) -> list[str]:
    """Return the sources of a notebook's code cells without magic and shell lines.

    Raises
    ------
    BuildError
        If the file is not a notebook.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{path} is not a readable notebook ({error}); run: make sync") from error
    texts = [s if isinstance(s, str) else "".join(s) for s in sources]
    return ["\n".join(line for line in t.split("\n") if line[:1] not in "%!") for t in texts]


def code_digest(path: Path) -> str:
    """Return the digest of what a notebook runs: its code cells, and which declares parameters.

    Prose, folds and the cells' order among texts are no part of it.
    """
    notebook_code(path)  # refuses what is no notebook
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    told = [["".join(c["source"]), "parameters" in c["metadata"].get("tags", [])] for c in code]
    return digest_bytes(json.dumps(told).encode())


@cache
def imported_names(source: str, module: str = "", is_package: bool = False) -> Collection[str]:
    """Return the dotted names that a piece of Python may import, at any depth of nesting.

    Parameters
    ----------
    source : str
        Python code.
    module : str
        Dotted name of the module that holds the code; resolves relative imports.
    is_package : bool
        Whether the module is a package's ``__init__``.

    Examples
    --------
    >>> sorted(imported_names("from . import b\\nimport d.e", "p.a"))
    ['d.e', 'p', 'p.b']
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = source_of(node, module, is_package)
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


def imported_files(sources: Iterable[str], package: Path) -> set[Path]:
    """Return the files of the package that some code imports, directly or through other modules.

    A module brings its parent packages along, and a package the data files beside its
    ``__init__`` (``claims.yml``, ``targets.yml``, schemas).

    Parameters
    ----------
    sources : iterable of str
        Python code, for example a notebook's cells.
    package : Path
        The package's folder; its name is the package's name.
    """
    waiting = [name for source in sources for name in imported_names(source)]
    seen: set[str] = set()
    files: set[Path] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = module_file(name, package)
        if path is None:
            continue
        files.add(path)
        is_package = path.name == "__init__.py"
        if is_package:
            beside = (p for p in path.parent.iterdir() if p.suffix not in {".py", ".pyc"})
            files.update(p for p in beside if p.is_file())
        if "." in name:
            waiting.append(name.rpartition(".")[0])
        waiting.extend(imported_names(path.read_text(encoding="utf-8"), name, is_package))
    return files


#: What loads a data set of the papers: definitions of the package, and the data set's name.
LOADERS = {"load_medical": "medical", "load_wine": "wine", "load_fours_and_nines": "MNIST"}


def data_sets(layout: Layout, slug: str) -> list[str]:
    """Return the names of the papers' data sets that a chapter's code reads."""
    reached = reach_of(layout.package).digests(notebook_code(layout.notebooks / f"{slug}.ipynb"))
    names = (name.rpartition(".") for name in reached)
    within = f"{layout.package.name}.datasets"
    return sorted({LOADERS[n] for home, _, n in names if n in LOADERS and home.startswith(within)})


def data_here(names: Iterable[str]) -> dict[str, str]:
    """Return the files of some data sets that loaders find on this machine, with checksums."""
    from dplit.datasets import FILES, needs

    files = (file for name in names for file in needs.found_files(name))
    return {file: FILES[file].checksum[1] for file in files}


def require_data(layout: Layout, slug: str) -> None:
    """Refuse to archive what a chapter shows where it would compute it on stand-ins.

    Raises
    ------
    BuildError
        If this machine has not the files of a data set that the chapter reads.
    """
    from dplit.datasets.needs import missing_data

    if lacking := missing_data(data_sets(layout, slug)):
        raise BuildError(
            f"{slug} reads the paper's {' and '.join(lacking)} data, which are not here: run "
            "make data, or set DPLIT_DATA to a folder that has them"
        )


def named_results(cells: Iterable[str]) -> list[str]:
    """Return the names of the files of results that a notebook's cells read by name.

    Examples
    --------
    >>> named_results(['archived("benchmarks")', 'load_results("erm_choice")["cells"]'])
    ['benchmarks', 'erm_choice']
    """
    return re.findall(r"\b(?:archived|load_results)\(\"(\w+)\"\)", "\n".join(cells))


def chapter_parts(layout: Layout, slug: str) -> dict[str, str]:
    """Return everything that an executed chapter depends on, with digests.

    Parameters
    ----------
    layout : Layout
        The copy of the repository.
    slug : str
        The chapter.

    Returns
    -------
    dict of str to str
        Name of each part (a file, "python", a data file's name) and its digest; the notebook's is
        that of its code. Two runs with equal parts give equal outputs.
    """
    notebook = layout.notebooks / f"{slug}.ipynb"
    cells = notebook_code(notebook)
    modules = imported_files(cells, layout.package)
    modules |= imported_files([f"import {layout.package.name}.{slug_of(slug)}"], layout.package)
    files = [*modules, layout.root / "requirements.txt", layout.root / "scripts/execute.py"]
    parts = digest_files(files, layout.root)
    parts[layout.name(notebook)] = code_digest(notebook)
    parts["python"] = ".".join(map(str, sys.version_info[:3]))
    told = set(named_results(cells))
    if slug not in layout.lessons():
        told.add(slug_of(slug))
    archives = (layout.results / f"{name}.json" for name in told)
    parts |= digest_files((path for path in archives if path.exists()), layout.root)
    read = data_here(data_sets(layout, slug))
    return parts | {f"data {name}": checksum for name, checksum in read.items()}


def _locked(layout: Layout) -> list[str]:
    """Return the locked versions of packages, without those that only test and check."""
    extras = tomllib.loads((layout.root / "pyproject.toml").read_text(encoding="utf-8"))
    extras = extras["project"]["optional-dependencies"]
    used = {_package(x) for name in extras.keys() - {"test", "dev"} for x in extras[name]}
    idle = {_package(x) for name in ("test", "dev") for x in extras[name]} - used
    text = (layout.root / "requirements.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9][^\s]*==[^\\\n]*", text, re.MULTILINE)
    return [pin.strip() for pin in pins if _package(pin) not in idle]


def _package(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def surroundings(layout: Layout, slug: str) -> list[object]:
    """Return all beside code and data that a chapter's numbers depend on: targets, versions.

    The data are no part of it: what was made says which files it was made with, and whether these
    are the published ones does not depend on the machine (:func:`archive_is_stale`).
    """
    parts = chapter_parts(layout, slug)
    kept = {name: value for name, value in parts.items() if name.endswith("targets.yml")}
    kept["python"] = parts["python"]
    run = ast.parse((layout.root / "scripts/execute.py").read_text(encoding="utf-8"))
    return [kept, _locked(layout), plain(run.body)]


def archive_digest(layout: Layout, slug: str) -> str:
    """Return one digest of everything that a chapter's run at the paper's scale computes with.

    Such a run takes minutes, so prose, docstrings, what is *said* of the numbers (``results/``,
    lists of claims), code that the chapter never reaches, and the file in which a definition
    stands are no part of it: of code only what :class:`scripts.reach.Reach` finds.
    """
    cells = notebook_code(layout.notebooks / f"{slug}.ipynb")
    code = sorted(reach_of(layout.package).digests(cells).values())
    everything = [*surroundings(layout, slug), code]
    return digest_bytes(json.dumps(everything, sort_keys=True).encode())


def made_with(archive: Mapping[str, Any]) -> dict[str, str]:
    """Return the names and checksums of the data files that an archived run was made with."""
    facts = archive.get("provenance", {}).items()
    return {key.removeprefix("data "): value for key, value in facts if key.startswith("data ")}


def archive_is_stale(layout: Layout, slug: str) -> bool:
    """Return whether a chapter's archive was made from something else than what is here now.

    That is from other code, or from other data than the published files of every data set that the
    chapter reads, whether or not this machine has them.
    """
    from dplit.datasets.needs import are_declared

    stored = read_json(layout.archive(slug))
    if not stored or slug in layout.lessons():
        return False
    published = are_declared(made_with(stored), data_sets(layout, slug))
    return not published or stored["digest"] != archive_digest(layout, slug)


def archived_claims(layout: Layout, slug: str) -> dict[str, Any]:
    """Return the claims' records of a chapter's archived run, by id."""
    stored = read_json(layout.archive(slug)) or {}
    return {record["id"]: record for record in stored.get("claims", [])}
