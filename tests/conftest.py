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


#: What skipped tests are about, by a word of their reason, and how to have them run.
WANTS = {
    "chromium": "look at the built pages in a browser (install chromium, or set CHROMIUM)",
    "data": "read the papers' data (make data, or set DPLIT_DATA)",
    "not built": "read the built book (make book)",
}


def skipped_in_words(reasons: list[str]) -> str:
    """Return one line on tests that were skipped: how many, what about, how to get them.

    >>> print(skipped_in_words(["chromium is not installed"]))
    1 tests were skipped: 1 look at the built pages in a browser (install chromium, or set CHROMIUM)
    """
    counts: dict[str, int] = {}
    for reason in reasons:
        about = next((text for word, text in WANTS.items() if word in reason), f"say: {reason}")
        counts[about] = counts.get(about, 0) + 1
    told = ", ".join(f"{count} {about}" for about, count in counts.items())
    return f"{len(reasons)} tests were skipped: {told}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the very last line what was skipped."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    reasons = [str(one.longrepr[2]) for one in skipped if isinstance(one.longrepr, tuple)]
    if reasons and not hasattr(config, "workerinput"):
        print(skipped_in_words(reasons))
