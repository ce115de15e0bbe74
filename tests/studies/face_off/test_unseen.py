"""The archive of tables from which nothing was learnt, and what it says of the rule."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import archive_unseen
from dplit.advice.tables import ranked
from tests.archives import archived

ARCHIVE = archived("unseen")
TABLES = ARCHIVE["tables"]


def test_every_method_met_every_table_at_every_budget() -> None:
    assert list(TABLES) == list(archive_unseen.TABLES)
    learnt = {one["table"] for one in archived("face_off_choice")["elsewhere"]}
    for title, one in TABLES.items():
        package, item = archive_unseen.TABLES[title].source
        assert f"{item} ({package})" not in learnt
        classes = one["facts"]["n_classes"]
        names = {"additive", "noisy_gradient", "diffprivlib"}
        names |= {"AdaSSP"} if classes is None else {"diffprivlib, Bayes"}
        names |= {"objective_perturbation"} if classes == 2 else set()
        names |= {"DP-EBM", archive_unseen.REPLACED} if classes in (None, 2) else set()
        assert set(one["scores"]) == names
        for values in one["scores"].values():
            assert np.shape(values) == (3, 4, len(one["measures"]))
    sizes = [one["facts"]["n"] for one in TABLES.values()]
    assert (min(sizes), max(sizes)) == (210, 70_000)
    assert {one["facts"]["n_classes"] for one in TABLES.values()} == {None, 2, 7}


def test_what_ran_is_what_the_rule_names_today() -> None:
    """Kills an archive of another rule."""
    for one in TABLES.values():
        told = [
            ranked(epsilon=epsilon, delta=ARCHIVE["delta"], **one["facts"])[0]
            for epsilon in ARCHIVE["epsilons"]
        ]
        assert told == one["recommended"]


@pytest.mark.parametrize(
    ("measure", "cells", "above", "behind", "worst"),
    [
        ("R2", 20, 17, 2, -0.033),
        ("accuracy", 20, 12, 1, -0.035),
        ("balanced accuracy", 20, 11, 2, -0.051),
        ("AUC", 16, 8, 3, -0.069),
    ],
)
def test_where_the_rule_leads_and_where_it_does_not(
    measure: str, cells: int, above: int, behind: int, worst: float
) -> None:
    """Numbers at the same epsilon; kills a rule or a default that loses what it had."""
    mine = [one for one in archive_unseen.cells(ARCHIVE) if one.measure == measure]
    assert len(mine) == cells
    assert sum(one.lead >= 0.0 for one in mine) >= above
    assert sum(one.verdict == "behind" for one in mine) <= behind
    assert min(one.lead for one in mine) > worst


def test_a_cell_by_hand() -> None:
    """Kills a lead over a mean of rivals, over one of ours, or with the error of the rule alone."""
    archive = {
        "epsilons": [1.0],
        "tables": {
            "made": {
                "measures": ["R2"],
                "recommended": ["additive"],
                "recommended before": ["additive"],
                "worth a release": [True],
                "not private": {"constant": [0.0]},
                "before": {"additive": [[[0.4]], [[0.5]], [[0.6]]]},
                "scores": {
                    "additive": [[[0.5]], [[0.6]], [[0.7]]],
                    "noisy_gradient": [[[0.9]], [[0.9]], [[0.9]]],
                    "DP-EBM": [[[0.7]], [[0.7]], [[0.7]]],
                    archive_unseen.REPLACED: [[[0.5]], [[0.5]], [[0.2]]],
                },
            }
        },
    }
    cell, alike = (archive_unseen.cells(archive, flag)[0] for flag in (False, True))
    assert (cell.lead, cell.rival) == (pytest.approx(-0.1), "DP-EBM")
    assert cell.error == pytest.approx(0.1 / 3**0.5)
    assert (cell.gain, cell.gain_error) == (pytest.approx(0.1), pytest.approx(0.0))
    assert (cell.regret, cell.over_constant) == (pytest.approx(0.3), pytest.approx(0.6))
    assert cell.verdict == "tie"
    assert (alike.lead, alike.rival) == (pytest.approx(0.2), archive_unseen.REPLACED)


def test_measures_by_hand() -> None:
    table = {"task": "classification", "classes": np.array([0, 1])}
    truth, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    ranks = np.array([0.1, 0.2, 0.9, 0.8])
    found = archive_unseen.measures(table, (predicted, ranks), truth)
    assert found == pytest.approx((3 / 4, 5 / 6, 2 / 3))
    assert archive_unseen.measures(table, predicted, truth) == pytest.approx(found[:2])
    assert archive_unseen.names_of(table) == ("accuracy", "balanced accuracy", "AUC")
    numbers = {"task": "regression", "bounds": np.array([0.0, 1.0])}
    assert archive_unseen.measures(numbers, np.array([-1.0, 1.0]), np.array([0.0, 1.0])) == (1.0,)
