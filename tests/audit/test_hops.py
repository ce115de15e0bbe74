"""How far the noise is from a fit: files that a reader opens on the way, by what really runs."""

from __future__ import annotations

import itertools
import sys
from types import FrameType
from typing import Any

import pytest

from dplit.audits.cases import ESTIMATORS
from tests.audit import spies
from tests.audit.test_ledger import _data

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few records: noise is said

#: Three files: a release that others share, or a solver that chooses among its own runs.
FAR = {
    "AdaSSPRegressor": "its statistics are those of SufficientStatisticsRegressor",
    "AdaSSPRegressor replace_one": "the same",
    "PrivateAdditiveClassifier": "two classes: a fit of ObjectivePerturbationClassifier",
    "PrivateMarginClassifier phased": "the solver chooses one of its descents in private",
}


def _way(frame: FrameType | None) -> list[str]:
    """Return the package's modules on the stack, from the fit inwards, each where it is entered."""
    modules = []
    while frame is not None:
        name = str(frame.f_globals["__name__"])
        if name.startswith("dplit") and name != "dplit._checks":  # its decorators are no step
            modules.append(name)
        frame = frame.f_back
    return [name for name, _ in itertools.groupby(reversed(modules))]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_noise_is_two_files_from_the_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a layer between a fit and its noise, and an exception that is none any more."""
    ways: list[tuple[str, list[str]]] = []
    for method in spies._METHODS:
        plain = getattr(spies.Watched, method)

        def heard(self: Any, *values: Any, _plain: Any = plain, **named: Any) -> Any:
            ways.append((self.name, _way(sys._getframe(1))))
            return _plain(self, *values, **named)

        monkeypatch.setattr(spies.Watched, method, heard)
    case = ESTIMATORS[name]
    noise = spies.run(case.release, _data(case.labels)).noise
    way = max((way for stream, way in ways if stream == noise), key=len)
    print(name, " > ".join(way))
    assert len(way) - 1 == 3 if name in FAR else len(way) - 1 <= 2
