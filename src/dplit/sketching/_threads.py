"""Work on a stream of tasks in threads, with results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from dplit._feature_blocks import blas

__all__ = ["in_order"]

Tool = TypeVar("Tool")
Result = TypeVar("Result")


def in_order(
    work: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], tools: Sequence[Tool]
) -> Iterator[Result]:
    """Yield ``work(tool, *task)`` task by task, with one thread and one tool at a time for each.

    At most two tasks per thread are read ahead, so that a stream of chunks stays a stream. The
    first task that fails raises its error here, whatever later ones do. BLAS runs on one thread.
    """
    if len(tools) == 1:
        yield from (work(tools[0], *task) for task in tasks)
        return
    free: SimpleQueue[Tool] = SimpleQueue()
    for tool in tools:
        free.put(tool)

    def borrow(task: tuple[Any, ...]) -> Result:
        tool = free.get()
        try:
            return work(tool, *task)
        finally:
            free.put(tool)

    running: deque[Future[Result]] = deque()
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(len(tools)) as pool:
        try:
            for task in tasks:
                if len(running) == 2 * len(tools):
                    yield running.popleft().result()
                running.append(pool.submit(borrow, task))
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
