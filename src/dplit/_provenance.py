"""The digest of everything that a chapter's run was made from."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dplit
from dplit import datasets
from dplit._lock import lock_differences

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def find_project_file(relative: Path) -> Path | None:
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
        if (name == "dplit" or name.startswith("dplit.")) and file:
            files.add(Path(file))
    return sorted(files)


def collect_provenance(slug: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return versions, digests, parameters and data checksums as text, in a fixed order."""
    facts = {"chapter": slug, "dplit": dplit.__version__, "python": sys.version.split()[0]}
    facts.update({name: version(name) for name in _LIBRARIES})
    notebook = find_project_file(Path("notebooks") / f"{slug}.md")
    lock = find_project_file(Path("requirements.txt"))
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
