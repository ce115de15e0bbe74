"""Run notebooks by papermill in child processes: their environment, their end, their times."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from scripts.layout import Layout

#: Bytes that are kept of what papermill says.
LONGEST_LOG = 100_000
#: Lines that are shown of an error's message: a chapter's parameters are one line each.
LONGEST_MESSAGE = 30
#: Seconds between two looks at whether a job has ended.
PAUSE = 0.2
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
    """How a job ended: return code, clock and CPU seconds (with its children), its messages."""

    job: Job
    code: int
    seconds: float
    cpu: float
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


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    pipe: IO[bytes]
    begin: float
    said: bytearray = field(default_factory=bytearray)
    end: tuple[int, resource.struct_rusage] | None = None


def _start(job: Job, layout: Layout) -> _Running:
    """Start a job in a session of its own; it ends when this process does."""
    job.output.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command(job, layout),
        env=environment(layout, **job.extra),
        cwd=layout.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    assert process.stdout is not None
    return _Running(job, process, process.stdout, time.monotonic())


def _listen(one: _Running) -> bool:
    """Read what a job says, into memory because the disk may be full; return whether it goes on."""
    chunk = os.read(one.pipe.fileno(), 65536)
    one.said += chunk
    del one.said[:-LONGEST_LOG]
    return bool(chunk)


def _over(one: _Running, spoke: bool) -> bool:
    """Return whether a job has ended, after reading what it said.

    What counts is the end of papermill, which looks at its kernel every second, and not the end of
    the pipe: workers of a kernel that was killed hold it open for minutes.
    """
    silent = spoke and not _listen(one)
    process, status, usage = os.wait4(one.process.pid, 0 if silent else os.WNOHANG)
    if not process:
        return False
    one.end = status, usage
    os.set_blocking(one.pipe.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while _listen(one):
            pass
    return True


def _finish(one: _Running) -> Outcome:
    status, usage = one.end or os.wait4(one.process.pid, 0)[1:]
    one.process.returncode = code = os.waitstatus_to_exitcode(status)
    one.pipe.close()
    seconds, cpu = time.monotonic() - one.begin, usage.ru_utime + usage.ru_stime
    return Outcome(one.job, code, seconds, cpu, one.said.decode("utf-8", errors="replace"))


def _stop(one: _Running) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one.process.pid, signal.SIGKILL)
    _finish(one)


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
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < width:
                started(waiting[0])
                running.append(_start(waiting.pop(0), layout))
            ready, _, _ = select.select([one.pipe for one in running], [], [], PAUSE)
            for one in list(running):
                if _over(one, one.pipe in ready):
                    running.remove(one)
                    ended(_finish(one))
    finally:
        for one in running:
            _stop(one)


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
                return [f"cell {number} ({first[:70]})", *message[:LONGEST_MESSAGE]]
    lines = outcome.messages.split("\n")
    told = [line for line in lines if line.strip() and "running over TCP" not in line]
    if outcome.code < 0:
        told.append(f"ended by signal {signal.Signals(-outcome.code).name}")
    return told[-4:] or [f"exit code {outcome.code}"]
