"""Plain papermill, as a user starts it: several runs side by side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.execute import environment
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[1])
#: A kernel's ports are chosen before it binds them: any other process may take one meanwhile.
LOST = "zmq.error.ZMQError: Address already in use"


def papermill(
    runs: Mapping[str, Sequence[str]], *, cwd: Path, timeout: float = 300.0
) -> dict[str, tuple[int, str]]:
    """Run papermill with each of the arguments; return exit codes and what it said on stderr.

    A run whose kernel lost a port before it began is started again, once.
    """
    ended = _at_once(runs, cwd, timeout)
    again = {name: runs[name] for name, (_, said) in ended.items() if LOST in said}
    return ended | _at_once(again, cwd, timeout)


def _at_once(
    runs: Mapping[str, Sequence[str]], cwd: Path, timeout: float
) -> dict[str, tuple[int, str]]:
    started = {
        name: subprocess.Popen(
            [sys.executable, "-m", "papermill", "--no-progress-bar", *arguments],
            cwd=cwd,
            env=environment(LAYOUT),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, arguments in runs.items()
    }
    said = {name: process.communicate(timeout=timeout)[1] for name, process in started.items()}
    return {name: (process.returncode, said[name]) for name, process in started.items()}
