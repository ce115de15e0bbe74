"""Work on a stream of tasks in threads, with results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from dplit._numerics.blocks import one_blas_thread

_Tool = TypeVar("_Tool")

_Result = TypeVar("_Result")


def _in_order(
    work: Callable[..., _Result], tasks: Iterable[tuple[Any, ...]], tools: Sequence[_Tool]
) -> Iterator[_Result]:
    """Yield ``work(tool, *task)`` task by task, with one thread and one tool at a time for each.

    At most two tasks per thread are read ahead, so that a stream of chunks stays a stream; the
    first task that fails raises here. BLAS runs on one thread.
    """
    if len(tools) == 1:
        yield from (work(tools[0], *task) for task in tasks)
        return
    free: SimpleQueue[_Tool] = SimpleQueue()
    for tool in tools:
        free.put(tool)

    def borrow(task: tuple[Any, ...]) -> _Result:
        tool = free.get()
        try:
            return work(tool, *task)
        finally:
            free.put(tool)

    running: deque[Future[_Result]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(len(tools)) as pool:
        try:
            for task in tasks:
                if len(running) == 2 * len(tools):
                    yield running.popleft().result()
                running.append(pool.submit(borrow, task))
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
