"""Every public estimator and release where its user has NumPy raise floating-point errors.

A true guarantee is refuted with probability at most 1e-4 for each case (this seed is fixed).
"""

from __future__ import annotations

from typing import Any

import pytest

from dplit._checks import as_numbers
from dplit_studies.audits.cases import ESTIMATORS, RELEASES, _Case

CASES = {**ESTIMATORS, **RELEASES}


@pytest.mark.parametrize("name", CASES)
def test_a_users_floating_point_errors_tell_of_no_record(name: str) -> None:
    """Denormal and huge records where the user has every error raised: kills a bare product."""
    report = CASES[name].report(errstate={"all": "raise"}, containers=False)
    assert not report.violated, str(report)


@pytest.mark.weekly
@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_tell_of_no_record_in_any_container(name: str) -> None:
    """Tables and arrays of objects too, whose conversion may raise."""
    report = CASES[name].report(errstate={"all": "raise"})
    assert not report.violated, str(report)


def test_a_release_that_leaves_floating_point_errors_to_its_user_is_found() -> None:
    def release(data: Any, rng: Any) -> Any:
        return float((as_numbers("X", data[0]) * 1e-200).sum() + rng.laplace())

    case = _Case(release, "replace_one", None, ("",))
    assert not case.report().violated
    report = case.report(errstate={"under": "raise"})
    assert {found.channel for found in report.findings} >= {"raises"}
