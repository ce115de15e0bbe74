"""What is installed against what the lock file says."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["lock_differences"]


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
