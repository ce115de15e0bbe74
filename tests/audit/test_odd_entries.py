"""One odd entry among labels or records moves what is hidden by no more than a record.

In lists, frames and nullable columns; a planted fault beside them is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dplit import audit
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS
from tests.audit.spies import moved, run, told_of_data


class Careless(ObjectivePerturbationClassifier):
    """Reads labels as NumPy makes an array of them, and all others as the first class."""

    def fit(self, X: Any, y: Any) -> Careless:
        first, second = self.classes
        super().fit(X, np.where(np.asarray(y) == second, second, first))
        return self


def test_a_text_that_makes_texts_of_all_labels_is_found() -> None:
    """The planted fault moves the minimiser by more than a record can; the estimator itself passes
    the same pairs above."""
    pairs = audit.container_pairs(2, relation="replace_one", labels=(-1.0, 1.0), norm=0.5)
    names = {"label a text in a list", "label None in a list"}
    tried = [pair for pair in pairs if pair.name in names]
    case = ESTIMATORS["ObjectivePerturbationClassifier"]
    for model, wrong in ((case.release, False), (Careless(classes=(-1, 1), data_norm=0.5), True)):
        report = audit.side_channels(
            model,
            tried,
            noised=case.noised,
            epsilon=1.0,
            distance=case.distance,
            bound=1.0 + 1e-9,
            pilot=2,
            runs=2,
            rng=stream(0, "side-channels", "noise"),
        )
        told = {(found.pair, found.channel) for found in report.findings if found.violated}
        assert told == ({("label a text in a list", "distance")} if wrong else set())


@pytest.mark.parametrize("name", {n.split()[0]: n for n in reversed(ESTIMATORS)}.values())
def test_odd_entries_move_what_is_hidden_by_no_more_than_a_record(name: str) -> None:
    """In lists, frames and columns. Kills labels that one record turns into another kind."""
    case, changed = ESTIMATORS[name], 0.0
    pairs = audit.container_pairs(2, relation=case.relation, labels=case.labels, norm=0.5)
    for pair in pairs[:: 1 if case.labels is None else 2]:
        one, other = (run(case.release, side) for side in (pair.data, pair.neighbour))
        changed = max(changed, moved(one, other))
        assert changed <= 1.0 + 1e-9, pair.name
        assert told_of_data(one, other) == [], pair.name
