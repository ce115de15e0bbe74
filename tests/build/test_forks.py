"""Tasks in forks: what they tell, what becomes of those that fail, hang or are many."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from scripts import forks


def work(task: str) -> Any:
    """Do what the task's name says."""
    if task == "raise":
        raise ValueError(task)
    if task in ("hang", "wait"):
        time.sleep(60 if task == "hang" else 2)
    while task == "compute":
        pass
    if task == "die":
        os._exit(1)
    if task == "not JSON":
        return {1j}
    os.write(1, b"this is not to be seen")
    return {"task": task, "pid": os.getpid()}


def told(*tasks: str, **options: Any) -> dict[str, tuple[Any, float]]:
    found: dict[str, tuple[Any, float]] = {}

    def ended(task: str, value: Any, seconds: float) -> None:
        found[task] = (value, seconds)

    forks.run(tasks, work, ended, **{"width": 2, "limit": 30.0, **options})
    return found


def test_tasks_tell_and_those_that_cannot_tell_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    found = told("a", "raise", "b", "die", "not JSON", "c")
    assert {key for key, (value, _) in found.items() if not value} == {"raise", "die", "not JSON"}
    assert {value["task"] for value, _ in found.values() if value} == {"a", "b", "c"}
    assert len({value["pid"] for value, _ in found.values() if value} | {os.getpid()}) == 4
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("task", ["hang", "compute"])
def test_a_task_beyond_the_limit_is_stopped(task: str) -> None:
    found = told(task, "a", limit=0.5)
    assert found[task][0] is None
    assert found[task][1] >= 0.5
    assert found["a"][0]["task"] == "a"


def test_a_task_that_is_kept_waiting_is_not_stopped() -> None:
    assert told("wait", limit=0.5)["wait"][0]["task"] == "wait"


def test_an_interruption_leaves_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: started.append(pid := fork()) or pid)

    def interrupted(task: str, value: Any, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forks.run(["a", "hang"], work, interrupted, width=2, limit=60.0)
    assert len(started) == 2
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
