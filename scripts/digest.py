"""What a run of a chapter depends on, by files: its code, what it imports, data, versions."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from scripts.files import BuildError, digest_bytes, digest_files, read_json
from scripts.layout import Layout, slug_of

#: The packages whose versions may change what a chapter computes or draws; those of all others
#: (a theme, a test tool) run nothing again.
COMPUTING = (
    "numpy",
    "scipy",
    "scikit-learn",
    "matplotlib",
    "dp-accounting",
    "opendp",
    "dask",
    "pyarrow",
    "pandas",
    "altair",
    "vl-convert-python",
)


def both(package: Path) -> tuple[Path, Path]:
    """Return the folder of the package, and of the studies that the book runs beside it."""
    return package, package.with_name(f"{package.name}_studies")


def module_file(name: str, package: Path) -> Path | None:
    """Return the file of a module of the package or its studies, or None if it is none."""
    first, *rest = name.split(".")
    root = next((folder for folder in both(package) if folder.name == first), None)
    if root is None:
        return None
    place = root.joinpath(*rest)
    for candidate in (place / "__init__.py", place.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def source_of(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the module that a ``from`` import in some module names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    return ".".join([*parts[: len(parts) - node.level + is_package], *filter(None, [node.module])])


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
LOADERS = {
    "load_medical": "medical",
    "load_wine": "wine",
    "load_fours_and_nines": "MNIST",
    "kernel_problem": "MNIST",
}


def data_sets(layout: Layout, slug: str) -> list[str]:
    """Return the names of the papers' data sets whose loaders a chapter's code names.

    The code is that of its cells, and of what they import of the studies and of its own room.
    """
    cells = notebook_code(layout.notebooks / f"{slug}.ipynb")
    homes = (layout.studies, layout.package / "papers" / slug_of(slug))
    files = imported_files(cells, layout.package)
    code = [path for path in files if path.suffix == ".py"]
    own = [path for path in code if any(path.is_relative_to(home) for home in homes)]
    text = "\n".join([*cells, *(path.read_text(encoding="utf-8") for path in own)])
    words = set(re.findall(r"\w+", text))
    return sorted({name for loader, name in LOADERS.items() if loader in words})


def data_here(names: Iterable[str]) -> dict[str, str]:
    """Return the files of some data sets that loaders find on this machine, with checksums."""
    from dplit.notebook.datasets import needs
    from dplit.notebook.datasets.papers import FILES

    files = (file for name in names for file in needs.found_files(name))
    return {file: FILES[file].checksum[1] for file in files}


def require_data(layout: Layout, slug: str) -> None:
    """Refuse to archive what a chapter shows where it would compute it on stand-ins.

    Raises
    ------
    BuildError
        If this machine has not the files of a data set that the chapter reads.
    """
    from dplit.notebook.datasets.needs import missing_data

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


@cache
def computing() -> dict[str, str]:
    """Return the versions, as installed, of Python and of the packages that compute or draw."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in COMPUTING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


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
        Name of each part (a file, Python or a package that computes, a data file) with its digest
        or version; the notebook's is that of its code. Equal parts give equal outputs.
    """
    notebook = layout.notebooks / f"{slug}.ipynb"
    cells = notebook_code(notebook)
    modules = imported_files(cells, layout.package)
    modules |= imported_files([f"import dplit.papers.{slug_of(slug)}"], layout.package)
    parts = digest_files(modules, layout.root)
    parts[layout.name(notebook)] = code_digest(notebook)
    parts |= computing()
    told = set(named_results(cells))
    if slug not in layout.lessons():
        told.add(slug_of(slug))
    archives = (layout.results / f"{name}.json" for name in told)
    parts |= digest_files((path for path in archives if path.exists()), layout.root)
    read = data_here(data_sets(layout, slug))
    return parts | {f"data {name}": checksum for name, checksum in read.items()}


def archived_claims(layout: Layout, slug: str) -> dict[str, Any]:
    """Return the claims' records of a chapter's archived run, by id."""
    stored = read_json(layout.archive(slug)) or {}
    return {record["id"]: record for record in stored.get("claims", [])}
