"""What a chapter's run was made with: versions, parameters, data; and when its archive was made."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dplit
from dplit.notebook.datasets import papers


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


def made_on(archive: Mapping[str, Any]) -> str:
    """Return when and at which commit an archived run was made, in words.

    Examples
    --------
    >>> made_on({"made": {"date": "2026-11-28", "commit": "45999fc02bb6"}})
    'on 2026-11-28 at commit 45999fc02bb6'
    """
    made = archive.get("made", {})
    commit = f" at commit {made['commit']}" if made.get("commit") else ""
    return f"on {made.get('date', 'an unknown day')}{commit}"


def _collect_provenance(slug: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return versions, parameters and data checksums as text, in a fixed order."""
    facts = {"chapter": slug, "dplit": dplit.__version__, "python": sys.version.split()[0]}
    facts.update({name: version(name) for name in _LIBRARIES})
    lock = _find_project_file(Path("requirements.txt"))
    if lock and (found := lock_differences(lock.read_text(encoding="utf8"))):
        facts["not the lock's versions"] = "; ".join(found)
    shown = {key: value for key, value in parameters.items() if key != "n_jobs"}
    facts["parameters"] = ", ".join(f"{key}={value!r}" for key, value in shown.items())
    for name, checksum in sorted(papers.loaded_files().items()):
        facts[f"data {name}"] = checksum
    return facts
