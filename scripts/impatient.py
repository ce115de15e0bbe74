"""A pytest plugin: a test that takes longer than mutants would wait for it fails at once."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any

import pytest

#: Seconds of the clock.
LIMIT = 12.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """End one test by an alarm."""
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _late(*_: Any) -> None:
    pytest.fail("takes too long", pytrace=False)
