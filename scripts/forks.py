"""Tasks in forks of this process, several at a time, none beyond a limit."""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

#: A fork may wait this many times as long as it may compute.
ASLEEP = 10

Task = TypeVar("Task")


def run(
    tasks: Iterable[Task],
    work: Callable[[Task], Any],
    ended: Callable[[Task, Any, float], None],
    *,
    width: int,
    limit: float,
) -> None:
    """Do each task in a fork of its own, which begins with everything that this process holds.

    Parameters
    ----------
    tasks : iterable
        In the order in which they start.
    work : callable
        Takes a task, in the fork, and returns what JSON can hold. What it prints is lost.
    ended : callable
        Called in this process with the task, what ``work`` returned and the seconds that it took;
        None stands for what raised, was killed, or was stopped at the limit.
    width : int
        How many forks run at a time.
    limit : float
        Seconds of computing after which a fork is stopped, or `ASLEEP` times as many of the clock:
        what a busy machine keeps waiting is not stopped for it.
    """
    waiting = list(tasks)
    running: dict[int, tuple[Task, Path, int, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                while waiting and len(running) < width:
                    task = waiting.pop(0)
                    report = Path(folder) / str(len(waiting))
                    pid = os.fork()
                    if pid == 0:
                        _child(task, work, report, limit)
                    running[pid] = (task, report, os.pidfd_open(pid), time.monotonic())
                ready, _, _ = select.select([entry[2] for entry in running.values()], [], [], 1.0)
                for pid, (task, report, handle, start) in list(running.items()):
                    seconds = time.monotonic() - start
                    if handle in ready or seconds >= ASLEEP * limit:
                        _stop(pid, handle)
                        del running[pid]
                        ended(task, _told(report), seconds)
        finally:
            for pid, entry in running.items():
                _stop(pid, entry[2])


def _child(task: Task, work: Callable[[Task], Any], report: Path, limit: float) -> None:
    """Do a task, write what came of it and leave the process; never returns."""
    try:
        most = math.ceil(limit)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        sink = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(sink, stream)
        report.write_text(json.dumps(work(task)), encoding="utf-8")
    finally:
        os._exit(0)


def _stop(pid: int, handle: int) -> None:
    os.kill(pid, signal.SIGKILL)  # one that has ended still holds its number until it is waited for
    os.waitpid(pid, 0)
    os.close(handle)


def _told(report: Path) -> Any:
    try:
        return json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing was written, or only a part
        return None
