"""Run notebooks by papermill in child processes: their environment, their end, their times."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.layout import Layout

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
    source, output, log : Path
        The notebook, where papermill writes the executed one, and where its messages go.
    arguments : sequence of str
        Papermill's own arguments, for example ``["-p", "scale", "paper"]``.
    extra : dict of str to str
        Further environment variables.
    """

    name: str
    source: Path
    output: Path
    log: Path
    arguments: Sequence[str] = ()
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: return code, seconds on the clock and CPU seconds with all its children."""

    job: Job
    code: int
    seconds: float
    cpu: float

    @property
    def ok(self) -> bool:
        """Whether the notebook ran to its end."""
        return self.code == 0


def command(job: Job, layout: Layout) -> list[str]:
    """Return the papermill command of a job."""
    fixed = ["--kernel", "python3", "--no-progress-bar", "--log-level", "WARNING"]
    where = ["--cwd", str(layout.notebooks)]
    files = [str(job.source), str(job.output)]
    return [sys.executable, "-m", "papermill", *files, *fixed, *where, *job.arguments]


def _die_with_parent() -> None:
    """Let the kernel of the system end this child when the build is killed (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(job: Job, layout: Layout) -> subprocess.Popen[bytes]:
    """Start a job in a session of its own; it ends when this process does."""
    for path in (job.output, job.log):
        path.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("wb") as log:
        return subprocess.Popen(
            command(job, layout),
            env=environment(layout, **job.extra),
            cwd=layout.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def run(
    jobs: Sequence[Job],
    layout: Layout,
    width: int,
    started: Callable[[Job], None],
    ended: Callable[[Outcome], None],
) -> None:
    """Run jobs, at most ``width`` at a time; one that fails does not stop the others.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are to start.
    layout : Layout
        The copy of the repository.
    width : int
        How many run at a time.
    started, ended : callable
        Called in this process when a job starts and when it ends. If ``ended`` raises, or this
        process is interrupted, the jobs that still run are killed.
    """
    waiting = list(jobs)
    running: dict[int, tuple[Job, subprocess.Popen[bytes], float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < width:
                job = waiting.pop(0)
                started(job)
                process = start(job, layout)
                running[process.pid] = (job, process, time.monotonic())
            pid, status, usage = os.wait4(-1, 0)
            if pid not in running:
                continue
            job, process, begin = running.pop(pid)
            process.returncode = code = os.waitstatus_to_exitcode(status)
            cpu = usage.ru_utime + usage.ru_stime
            ended(Outcome(job, code, time.monotonic() - begin, cpu))
    finally:
        for _, process, _ in running.values():
            _stop(process)
            process.wait()


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
                return [f"cell {number} ({first[:70]})", *message[:8]]
    try:
        lines = outcome.job.log.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    told = [line for line in lines if line.strip() and "running over TCP" not in line]
    if outcome.code < 0:
        told.append(f"ended by signal {signal.Signals(-outcome.code).name}")
    return told[-4:] or [f"exit code {outcome.code}"]
