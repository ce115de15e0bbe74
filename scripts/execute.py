"""Run notebooks by papermill in child processes: their environment, their end, their times."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts import offline
from scripts.layout import Layout
from scripts.pairs import line_in_source

#: Letters that are kept of what papermill says.
LONGEST_LOG = 100_000
#: Lines that are shown of an error's message: a chapter's parameters are one line each.
LONGEST_MESSAGE = 30
THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


def environment(layout: Layout, **extra: str) -> dict[str, str]:
    """Return the environment of a child process: one BLAS thread, this copy's package first.

    Parameters
    ----------
    layout : Layout
        The copy of the repository whose package is to be imported.
    **extra : str
        Further variables.

    Returns
    -------
    dict of str to str
        The parent's variables with these on top. ``MPLBACKEND`` must be the inline backend: with
        another one figures vanish from executed notebooks without an error.
    """
    inherited = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    path = [str(layout.root / "src"), *inherited]
    fixed = {
        **THREADS,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": str(layout.build / "ipython"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    return {**os.environ, **fixed, **extra}


@dataclass
class Job:
    """One notebook to run.

    Parameters
    ----------
    name : str
        What the reader sees, usually the chapter.
    source, output : Path
        The notebook, and where papermill writes the executed one.
    arguments : sequence of str
        Papermill's own arguments, for example ``["-p", "scale", "paper"]``.
    extra : dict of str to str
        Further environment variables.
    """

    name: str
    source: Path
    output: Path
    arguments: Sequence[str] = ()
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: return code, clock and CPU seconds, peak memory in MB (both with its
    children), its messages."""

    job: Job
    code: int
    seconds: float
    cpu: float
    megabytes: int
    messages: str

    @property
    def ok(self) -> bool:
        """Whether the notebook ran to its end."""
        return self.code == 0


def command(job: Job, layout: Layout) -> list[str]:
    """Return the papermill command of a job."""
    fixed = ["--kernel", "python3", "--no-progress-bar", "--log-level", "WARNING"]
    # saved at the end or at an error, not after each cell: writing took a third of the time
    fixed += ["--no-request-save-on-cell-execute", "--autosave-cell-every", "0"]
    where = ["--cwd", str(layout.notebooks)]
    files = [str(job.source), str(job.output)]
    return [sys.executable, "-m", "papermill", *files, *fixed, *where, *job.arguments]


def _die_with_parent() -> None:
    """Let the kernel of the system end this child when the build is killed (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _work(job: Job, layout: Layout, started: Callable[[Job], None], running: set[int]) -> Outcome:
    """Run one job in a session of its own, and wait for its end.

    What counts is the end of papermill, which looks at its kernel every second: workers of a kernel
    that was killed live for minutes.
    """
    started(job)
    job.output.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command(job, layout),
            env=environment(layout, **job.extra),
            cwd=layout.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        running.add(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        told = log.read().decode("utf-8", errors="replace")[-LONGEST_LOG:]
    seconds, cpu = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
    return Outcome(job, process.returncode, seconds, cpu, peak, told)


def run(
    jobs: Sequence[Job],
    layout: Layout,
    width: int,
    started: Callable[[Job], None],
    ended: Callable[[Outcome], None],
) -> None:
    """Run jobs, at most ``width`` at a time, without a network; one that fails stops no other.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are to start.
    layout : Layout
        The copy of the repository.
    width : int
        How many run at a time.
    started, ended : callable
        Called when a job starts and when it ends. If ``ended`` raises, or this process is
        interrupted, the jobs that still run are killed.
    """
    startup = layout.build / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copy(offline.__file__, startup / "00-offline.py")
    running = set[int]()
    with ThreadPoolExecutor(width) as pool:
        try:
            waited = [pool.submit(_work, job, layout, started, running) for job in jobs]
            for one in as_completed(waited):
                ended(one.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)


def _line(source: Path, cells: Sequence[Any], number: int, error: Mapping[str, Any]) -> str:
    """Return where in its source a cell failed, as ``notebooks/erm.md:12: ``, or nothing."""
    if not source.exists():
        return ""
    told = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.get("traceback", [])))
    inside = re.search(r"Cell In\s*\[\d+\], line (\d+)", told)
    begins = line_in_source(source.read_text(encoding="utf-8"), cells, number)
    return f"{source.parent.name}/{source.name}:{begins + int(inside[1] if inside else 1) - 1}: "


def explain(outcome: Outcome) -> list[str]:
    """Return the lines that say why a notebook failed: the cell, the error, or the log's end."""
    try:
        cells = json.loads(outcome.job.output.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        cells = []
    for number, cell in enumerate(cells, start=1):
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                message = f"{output.get('ename')}: {output.get('evalue')}".split("\n")
                first = "".join(cell["source"]).strip().split("\n")[0]
                where = _line(outcome.job.source.with_suffix(".md"), cells, number, output)
                return [f"{where}cell {number} ({first[:70]})", *message[:LONGEST_MESSAGE]]
    lines = outcome.messages.split("\n")
    told = [line for line in lines if line.strip() and "running over TCP" not in line]
    if outcome.code < 0:
        told.append(f"ended by signal {signal.Signals(-outcome.code).name}")
    return told[-4:] or [f"exit code {outcome.code}"]
