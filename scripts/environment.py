"""Make the book's environment: a venv with the hashed lock and this package, whole or not at all.

Runs under the system's Python, so it uses the standard library only. The marker that says that the
environment is whole holds the digest of what it was made from, and is written last. uv would be
faster, but a machine that has pip alone would have to install it first.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

MARKER = ".dplit-environment.json"
MINIMUM = (3, 11)


def parts(root: Path) -> dict[str, str]:
    """Return the digests of what the environment (lock, Python) and the installation depend on."""
    lock = hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest()
    project = hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest()
    version = ".".join(map(str, sys.version_info[:3]))
    return {"lock": lock, "project": project, "python": version, "root": str(root)}


def made_from(folder: Path) -> dict[str, str]:
    """Return what a whole environment was made from, or an empty mapping."""
    try:
        content = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def commands(folder: Path, old: dict[str, str], new: dict[str, str]) -> list[list[str]]:
    """Return the commands that bring an environment from ``old`` to ``new``; none if equal."""
    if old == new:
        return []
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install = [*pip, "--no-deps", "--no-build-isolation", "--editable", "."]
    # --no-compile: of these packages few modules are imported, and then Python compiles them
    lock = [*pip, "--no-compile", "--no-deps", "--require-hashes", "--requirement"]
    if all(old.get(key) == new[key] for key in ("lock", "python", "root")):
        return [install]
    return [
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [*lock, "requirements.txt"],
        install,
    ]


def make(root: Path, folder: Path) -> int:
    """Bring the environment up to date and return an exit code."""
    new = parts(root)
    todo = commands(folder, made_from(folder), new)
    if not todo:
        return 0
    (folder / MARKER).unlink(missing_ok=True)
    print(f"  environment: installing into {folder.name}/ (about two minutes)", flush=True)
    for command in todo:
        done = subprocess.run(command, cwd=root)
        if done.returncode:
            print(
                f"dplit: the environment is not whole: {' '.join(command[:4])} ... failed, "
                f"exit code {done.returncode}; run make again",
                file=sys.stderr,
            )
            return 1
    temporary = folder / (MARKER + ".part")
    temporary.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, folder / MARKER)
    return 0


def main() -> int:
    """Make the environment in the folder named on the command line."""
    if sys.version_info < MINIMUM:
        print(
            f"dplit: Python {MINIMUM[0]}.{MINIMUM[1]} or later is needed, this is "
            f"{sys.version.split()[0]}; run: make PYTHON=...",
            file=sys.stderr,
        )
        return 1
    root = Path(__file__).resolve().parent.parent
    return make(root, (root / sys.argv[1]).absolute())


if __name__ == "__main__":
    sys.exit(main())
