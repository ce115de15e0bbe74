"""What the page on budgets says, number by number, by a second route where there is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("dp_accounting")

from sklearn.ensemble import BaggingRegressor

from dplit.accounting import composed_epsilon
from dplit.mechanisms import gaussian_sigma
from dplit_studies.audits import spending


def test_ways_cost_what_so_many_fits_cost_together() -> None:
    """Against the composition of equal Gaussian releases, at another door than the ledger's."""
    found = {one.way: one for one in spending.spending(0)}
    assert [one.releases for one in found.values()] == [
        1,
        0,
        2,
        2,
        5,
        10,
        10,
        2,
        13,
        5,
        2,
        2,
        3,
        5,
        1,
    ]
    sigma = gaussian_sigma(epsilon=1.0, delta=spending.DELTA)
    for one in found.values():
        if not one.releases:
            assert one.epsilon == 0.0
            continue
        alone = {"sigma": sigma, "sensitivity": 1.0, "steps": one.releases}
        together = composed_epsilon(delta=spending.DELTA, **alone)
        assert one.epsilon == pytest.approx(together, rel=1e-3)


def test_a_scaler_moves_what_one_record_must_not() -> None:
    alone, scaled = spending.scaler_moves(0)
    assert alone <= 1.0 < 6.0 < scaled


def test_clones_share_the_noise_of_a_generator() -> None:
    same, fresh = spending.clones_differ(0)
    assert same == 0.0 < fresh


def test_threads_are_missed() -> None:
    assert spending.missed_in_threads(0) == (0, 8)


def test_a_resample_holds_a_record_several_times() -> None:
    """So that the fits of a bagging, each with its budget, do not bound what it spends; who is told
    of it by weights above 1 refuses. Kills weights that nobody bounds.
    """
    assert spending.most_in_a_resample(0) >= 4
    with pytest.raises(ValueError, match="sample_weight must be 500 numbers in"):
        BaggingRegressor(spending._model()).fit(*spending._table(0))
    told = {one.way.split(",")[0]: one.unheard for one in spending.spending(0)}
    assert not told["BaggingRegressor"]
    assert not told["VotingRegressor"]
    assert told["AdaBoostRegressor"]


def test_the_page_on_spending_says_what_so_many_fits_cost() -> None:
    """Kills a number of the page that no composition gives: 2, 3 and 13 fits of epsilon = 1."""
    page = Path(__file__).parents[3] / "book" / "what_spends.md"
    told = set(re.findall(r"\b\d\.\d{2}\b", page.read_text(encoding="utf-8")))
    sigma = gaussian_sigma(epsilon=1.0, delta=spending.DELTA)
    alone = {"sigma": sigma, "sensitivity": 1.0, "delta": spending.DELTA}
    spent = {f"{composed_epsilon(steps=fits, **alone):.2f}" for fits in (2, 3, 13)}
    assert told == spent
