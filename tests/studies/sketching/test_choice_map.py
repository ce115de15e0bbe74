"""The map of private clustering: its records, its measure, and that budgets reach the methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dplit.audit import ledger
from dplit.sketching.choice import CENTRES, Facts
from dplit.streams import stream
from dplit.trials import run_trials
from dplit_studies.sketching import choice_map
from dplit_studies.sketching.choice_map import (
    EPSILONS,
    METHODS,
    OFF_GRID,
    Case,
    archive,
    best_of,
    cell,
    draw,
    groups,
    law,
    losses,
    reference,
    summary,
)

# so few records that methods warn of their noise
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_records_have_the_separation_that_they_are_told() -> None:
    """Deviations of centres and around them; 5 standard errors of 40,000 numbers (6e-7)."""
    facts = Facts(20_000, 2, 400, 8.0, 1.0)
    X, centres = law(facts, stream(0, "sketch-map-law", "data"))
    assert np.abs(X).max() <= 1.0
    assert centres.std() == pytest.approx(CENTRES, rel=5 / math.sqrt(5 * 800 / 4))
    apart = np.min(np.linalg.norm(X[:, None] - centres[None], axis=2), axis=1)
    assert np.mean(apart**2) < 2 * (CENTRES / 8.0) ** 2
    one = Facts(20_000, 2, 1, 8.0, 1.0)
    X, centres = law(one, stream(1, "sketch-map-law", "data"))
    assert (X - centres).std() == pytest.approx(CENTRES / 8.0, rel=5 / math.sqrt(2 * 40_000))


def test_the_reference_is_the_mean_and_k_means() -> None:
    X = np.repeat([[-0.5, 0.0], [0.5, 0.0], [0.0, 0.6]], 500, axis=0)
    one, best = reference(X, 3, stream(0, "sketch-map-reference", "data"))
    assert one == pytest.approx(X.var(axis=0).sum())
    assert best == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("case", OFF_GRID, ids=lambda case: f"{case.data}-{case.d}")
def test_cases_are_in_the_box_and_as_separate_as_they_say(case: Case) -> None:
    """Of tables, by k-means, to a tenth; of laws by their centres, within a factor of 1.6."""
    X = draw(case, stream(0, "sketch-map-case", "data"))
    assert X.shape == (case.n, case.d)
    assert np.abs(X).max() <= 1.0
    one, best = reference(X, case.k, stream(1, "sketch-map-case", "data"))
    found = math.sqrt((one - best) / best)
    tables = case.data in ("pixels", "breast cancer", "digits")
    assert found == pytest.approx(case.separation, rel=0.1 if tables else 0.6)


def test_a_cell_is_the_same_twice_and_its_methods_get_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each method's draws, composed by others, come to the cell's budget or less: kills a budget
    that stays behind when the cell changes. Sketches, Lloyd and rivals are told apart by purpose.
    """
    pytest.importorskip("dp_accounting")
    monkeypatch.setitem(choice_map.TRIALS, 400, 2)
    facts, budgets = Facts(400, 2, 2, 6.0, 1.0), [(0.3, 0.0), (2.0, 0.0), (2.0, 1e-6)]
    found = cell(facts, budgets)
    assert found == cell(facts, budgets)
    assert [(row["epsilon"], row["delta"]) for row in found] == budgets
    assert all(error is not None for row in found for error in row["errors"])
    for epsilon, delta in budgets:
        told = facts._replace(epsilon=epsilon, delta=delta)
        with ledger() as book:
            X, _ = law(told, stream(0, "sketch-map-budget", "data"))
            choice_map._lloyds(X, told, 0)
        lloyds = 3 * epsilon if not delta else None
        if lloyds:
            assert book.epsilon() == pytest.approx(lloyds, rel=1e-6)

        def released(trial: Any, told: Facts = told, X: Any = X) -> float:
            release = choice_map._released(
                X, told, "sketch", trial.stream("public"), trial.stream("noise")
            )
            with ledger() as book:
                release(told.epsilon, told.delta)
            return book.epsilon(delta=told.delta)

        (spent,) = run_trials(released, 1, seed=0, name="sketch-map-released")
        assert 0.98 * epsilon <= spent <= epsilon * (1 + 1e-6)


def test_groups_share_records_and_cover_budgets() -> None:
    found = list(groups())
    names = [tuple(facts[:4]) for facts, _ in found]
    assert len(names) == len(set(names))
    pure = [budgets for facts, budgets in found if facts.n == 10_000 and facts[1:4] == (6, 6, 6.0)]
    assert [(e, d) for e, d in pure[0]][:3] == [(e, 0.0) for e in EPSILONS]
    assert len(pure[0]) == 6


def row(**errors: float) -> dict[str, Any]:
    """A row whose other methods lose 0.5."""
    by_name = {name.replace(" ", "_").replace(",", ""): name for name in METHODS}
    values = {by_name[name]: error for name, error in errors.items()}
    listed = [values.get(name, 0.5) for name in METHODS]
    return {**Facts(10_000, 6, 6, 6.0, 1.0)._asdict(), "errors": listed}


def test_losses_by_hand() -> None:
    """To the best that ships and to the best of all; nothing is better than one centre's 1."""
    found = row(sketch=0.3, sketch_short=0.2, grid=0.1)
    assert best_of(found) == {
        "sketch": 0.2, "lloyd": 0.5, "grid": 0.1, "tree": 0.5, "moments": 0.5, "EM": 0.5,
    }  # fmt: skip
    chosen, ours, all_of_them = losses(Facts(10_000, 6, 6, 6.0, 1.0), found)["known"]
    reached = found["errors"][METHODS.index(chosen)]
    assert (ours, all_of_them) == (round(reached - 0.2, 4), round(reached - 0.1, 4))
    hopeless = row(**dict.fromkeys(("sketch", "sketch_short", "lloyd_wide"), 3.0))
    facts = Facts(100, 60, 20, 6.0, 0.01)
    assert losses(facts, hopeless)["known"][:2] == ["none", 0.5]
    told = summary([found])["known"]
    assert told == [pytest.approx(ours)] * 2 + [pytest.approx(all_of_them)]


def test_archives_read_back() -> None:
    import json

    text = archive([row()], [row()], seed=3)
    found = json.loads(text)
    assert found["seed"] == 3
    assert found["cells"][0]["best"]["sketch"] == 0.5
    assert set(found["summary"]) == {"cells", "cases"}
