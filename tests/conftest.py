"""What all tests share: the repository on the path, and no silent skips where they count."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
STRICT = os.environ.get("DPLIT_STRICT", "") not in ("", "0")

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# A deadline measures the machine, not the code; under DPLIT_STRICT the examples are fixed too.
hypothesis.settings.register_profile("dplit", deadline=None, derandomize=STRICT)
# a mutant needs one counterexample, not the smallest one
hypothesis.settings.register_profile(
    "mutate",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile("mutate" if os.environ.get("DPLIT_MUTATE") else "dplit")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


def _refuse(report: Any) -> None:
    """Turn a skip into a failure under DPLIT_STRICT; an expected failure with a reason stays."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, and DPLIT_STRICT=1 allows no skips: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """See `_refuse`, for tests."""
    report = yield
    _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """See `_refuse`, for whole files."""
    report = yield
    _refuse(report)
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse bytes as the name of a test: packed at another second they differ between workers."""
    nameless = [item.nodeid for item in items if "\\x" in item.nodeid]
    if nameless:
        raise pytest.UsageError(f"{nameless[0]} is named after bytes; give the parameter an id")
