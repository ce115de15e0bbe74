"""The digest of everything that a chapter's run was made from."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dplit
from dplit.datasets import papers as datasets

# What is installed against what the lock file says.


def lock_differences(lock: str) -> list[str]:
    """Return one line for each package of a lock that is missing here or has another version.

    Parameters
    ----------
    lock : str
        The text of ``requirements.txt``: ``name==version``, perhaps with a marker; what a marker
        excludes here is not compared, and neither are packages that the lock does not name.
    """
    from packaging.requirements import Requirement

    differences = []
    for line in lock.splitlines():
        text = line.partition("#")[0].strip().removesuffix("\\").strip()
        if "==" not in text or text.startswith("-"):
            continue
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            found = version(wanted.name)
        except PackageNotFoundError:
            differences.append(f"{wanted.name} is missing (lock: {wanted.specifier})")
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            differences.append(f"{wanted.name} is {found} (lock: {wanted.specifier})")
    return differences


_LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def _find_project_file(relative: Path) -> Path | None:
    """Return a file of the project that encloses the working directory, or None outside one."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "src" / "dplit" / "__init__.py").is_file():
            path = folder / relative
            return path if path.is_file() else None
    return None


def _sha256(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _imported_files() -> list[Path]:
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in ("dplit", "dplit_studies") and file:
            files.add(Path(file))
    return sorted(files)


def _collect_provenance(slug: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return versions, digests, parameters and data checksums as text, in a fixed order."""
    facts = {"chapter": slug, "dplit": dplit.__version__, "python": sys.version.split()[0]}
    facts.update({name: version(name) for name in _LIBRARIES})
    notebook = _find_project_file(Path("notebooks") / f"{slug}_supplement.md")
    notebook = notebook or _find_project_file(Path("notebooks") / f"{slug}.md")
    lock = _find_project_file(Path("requirements.txt"))
    facts["notebook digest"] = _sha256(notebook) if notebook else "not in a checkout"
    facts["package digest"] = _sha256(*_imported_files())
    facts["lock digest"] = _sha256(lock) if lock else "not in a checkout"
    if lock and (found := lock_differences(lock.read_text(encoding="utf8"))):
        facts["not the lock's versions"] = "; ".join(found)
    shown = {key: value for key, value in parameters.items() if key != "n_jobs"}
    facts["parameters"] = ", ".join(f"{key}={value!r}" for key, value in shown.items())
    for name, checksum in sorted(datasets.loaded_files().items()):
        facts[f"data {name}"] = checksum
    return facts
