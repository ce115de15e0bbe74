"""The map of how far predictions move: limits and regrets are what its cells say."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from benchmarks.maps import expected, expected_learnt, face_off, face_off_learnt
from benchmarks.maps.expected import Cell
from benchmarks.maps.expected_learnt import ANSWERS, FACTS, Limits
from dplit.advice import tables
from dplit.streams import stream
from tests.archives import archived

ARCHIVE = archived("expected")
LAWS, TABLES = ([Cell(**cell) for cell in ARCHIVE[name]] for name in ("laws", "tables"))
LEARNT = ARCHIVE["learnt"]
REGRETS = LEARNT["regret"]


def _known() -> list[Cell]:
    told = archived("face_off_choice")
    rows = [r for name in ("made", "elsewhere") for r in face_off_learnt.rows_of(told, name)]
    return expected_learnt.known_cells(rows)


def _cell(**changed: float) -> Cell:
    told = {"n": 1000, "columns": 9, "epsilon": 1.0, "explained": 0.36, "width": 6.0}
    return Cell("law", "table", alike=False, lines=0.1, shapes=0.2, **(told | changed))  # type: ignore[arg-type]


def test_what_is_archived_is_what_its_cells_teach() -> None:
    assert json.loads(json.dumps(expected_learnt.learn(LAWS, TABLES, _known()))) == LEARNT


def test_the_rule_states_what_was_learnt() -> None:
    """Kills a limit or a curve that is typed by hand, and cuts that are not those of the page."""
    assert tuple(tables._MOVED) == ANSWERS == tuple(LEARNT["answers"])
    for name, told in tables._MOVED.items():
        assert [told.nothing, told.shapes, *told.curve] == LEARNT["answers"][name]
    said = " ".join((tables.recommend.__doc__ or "").split())
    low, high = expected_learnt.ENDS
    assert f"below 1/{1 / low:g} of the width of the label bounds, up to 1/{1 / high:g}" in said
    quoted = re.search(r"1/16 and 1/8 are an R2 of ([\d.]+) and ([\d.]+)", said)
    assert quoted is not None
    assert quoted.groups() == tuple(f"{(6.0 * end) ** 2:.2f}" for end in (low, high))


def test_a_stated_expectation_loses_less_on_what_was_not_learnt() -> None:
    """Means and worst cases, laws and tables left out; kills a fact that harms one of them."""
    for told in REGRETS.values():
        for size in ("all", "below 500"):
            for what in ("mean", "worst"):
                assert told["stated"][size][what] <= told["not stated"][size][what]


def test_regrets_by_hand() -> None:
    """What is named at each side of both limits, and what it loses."""
    limits = Limits(10.0, 100.0)
    reaches = {size: tables.strength(size, 9, 1.0, 1e-6) for size in (200, 1000, 10_000)}
    assert reaches[200] < 10.0 < reaches[1000] < 100.0 < reaches[10_000]
    assert [limits.score(_cell(n=n)) for n in reaches] == [0.0, 0.1, 0.2]
    assert expected_learnt.best(_cell(lines=-0.1, shapes=-0.2)) == 0.0
    found = expected_learnt.regrets([(_cell(n=n), limits.score(_cell(n=n))) for n in reaches])
    assert (found["all"]["mean"], found["all"]["worst"]) == (0.1, 0.2)
    assert found["below 500"]["worst"] == 0.2
    assert found["from 2000"]["worst"] == 0.0
    assert expected_learnt.moved(_cell()) == pytest.approx(0.1)
    assert [FACTS["moved"](_cell(width=w)) for w in (12.0, 6.0, 4.0)] == [0, 1, 2]


def test_limits_of_cells_by_hand() -> None:
    """Nothing where both lose, lines where these win, shapes above; kills a wrong order."""
    cells = [
        _cell(n=n, lines=lines, shapes=shapes)
        for n, lines, shapes in ((100, -0.2, -0.1), (1000, 0.2, 0.1), (100_000, 0.3, 0.4))
    ]
    found = expected_learnt.best_limits([cells])
    reach = [tables.strength(cell.n, 9, 1.0, 1e-6) for cell in cells]
    assert reach[0] < found.nothing <= reach[1] < found.shapes <= reach[2]


def test_made_tables_have_the_law_that_is_stated() -> None:
    """Label bounds, boxes, mean and variance of labels; kills a noise of another variance.

    Of 4,000 records a mean has a deviation of at most 0.016 and a variance of at most 0.03: a false
    alarm in one of twenty tables has probability below 2e-5.
    """
    for title, law in list(expected.laws(0))[:: expected.TABLES]:
        problem = expected.made(
            law._replace(n=1000, skewed=False), stream(3, f"test-{title}", "data")
        )
        assert problem.X.shape[0] == 4000
        assert abs(problem.X).max() <= 1.0
        assert len(problem.indicators) == (law.width // 2 if law.columns == "texts" else 0)
        low, high = problem.public["bounds"]
        assert math.isclose(high - low, law.bounds)
        assert abs(problem.y.mean()) < 0.08
        assert abs(np.var(problem.y) - 1.0) < 0.15
    assert {cell.epsilon for cell in LAWS} == set(face_off.EPSILONS)
    assert len({cell.table for cell in LAWS}) == len(list(expected.laws(0)))


def test_a_cell_is_measured_again() -> None:
    """The first small table: kills another stream, another bound and means of something else."""
    known = {cell.table: cell for cell in LAWS}
    title, law = next(
        (title, law) for title, law in expected.laws(0) if law.n <= 280 and law.width <= 8
    )
    (found, *_) = expected.measured_law(title, law)
    first = known[title]._asdict()
    for name in ("lines", "shapes"):
        assert found.pop(name) == pytest.approx(first.pop(name), abs=2e-4)
    assert found == first
