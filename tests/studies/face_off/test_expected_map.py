"""The map of what is expected of columns: limits and regrets are what its cells say."""

from __future__ import annotations

import inspect
import json
import math

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
    first = Cell("law", "table", 1000, 9, 1.0, 0.36, 6.0, False, 0.1, 0.2)
    return first._replace(**changed)


def test_what_is_archived_is_what_its_cells_teach() -> None:
    assert json.loads(json.dumps(expected_learnt.learn(LAWS, TABLES, _known()))) == LEARNT


def table() -> list[str]:
    """Lines of the table of regrets, as the rule's page has them."""
    names = {
        "laws": "laws",
        "face-off": "face-off's tables",
        "tables": "bundled tables",
        "tables, wider bounds": "with wider bounds",
    }
    sizes = {"all": "", "below 500": ", below 500 records", "from 2000": ", from 2,000 records"}
    lines = [("regret of R2, mean and worst", "without", "with ``expected``")]
    for group, told in REGRETS.items():
        for size in told["stated"]:
            values = (told[way][size] for way in ("not stated", "stated"))
            cells = [f"{one['mean']:.3f}, {one['worst']:.2f}" for one in values]
            lines.append((names[group] + sizes[size], *cells))
    widths = [max(len(line[k]) for line in lines) for k in range(3)]
    rule = "  ".join("=" * width for width in widths)
    rows = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return [rule, rows[0], rule, *rows[1:], rule]


def test_the_rule_states_what_was_learnt() -> None:
    """Kills a limit or a curve that is typed by hand, and cuts that are not those of the page."""
    assert tuple(tables._BY_EXPECTED) == ANSWERS == tuple(LEARNT["answers"])
    for name, told in tables._BY_EXPECTED.items():
        assert [told.nothing, told.shapes, *told.curve] == LEARNT["answers"][name]
    said = " ".join((tables.recommend.__doc__ or "").split())
    low, high = expected_learnt.ENDS
    assert f"an R2 below {low:g}, from there on, or from {high:g} on" in said
    assert (min(c.n for c in LAWS), max(c.n for c in LAWS)) == (200, 20_000)
    assert (min(c.columns for c in LAWS), max(c.columns for c in LAWS)) == (5, 75)
    assert (min(c.width for c in LAWS), max(c.width for c in LAWS)) == (4.0, 12.0)
    wider = [c.width for c in TABLES if c.width > 12.0]
    assert f"{min(wider):.0f} to {max(wider):.0f} deviations apart" in said


def test_the_page_prints_regrets_and_worst_cases_of_the_archive() -> None:
    """Kills every number of the notes that is typed by hand."""
    page = inspect.cleandoc(tables.recommend.__doc__ or "")
    assert "\n".join(table()) in page
    said = " ".join(page.split())
    groups = ("laws", "face-off", "tables")

    def means(way: str, key: str = "regret") -> list[str]:
        return [f"{LEARNT[key][group][way]['all']['mean']:.3f}" for group in groups]

    leads = [LEARNT["lead"][group] for group in groups]
    told = [(f"{one['mean']:.3f}", f"{one['error']:.3f}") for one in leads]
    assert f"laws fall by {told[0][0]} (standard error {told[0][1]})" in said
    assert f"tie: {told[2][0]} ({told[2][1]}) on {leads[2]['laws']} bundled ones" in said
    assert f"{told[1][0]} ({told[1][1]}) on the {leads[1]['laws']} of the face-off" in said
    for one, leads_by_two in zip(leads, (True, False, False), strict=True):
        assert (abs(one["mean"]) > 2.0 * one["error"]) == leads_by_two
    alone = archived("face_off_choice")["learnt"]["regression"]["regret left out"]["from 2000"]
    assert f"it loses {alone:.3f} from 2,000 records on" in said
    high, low = means("one answer too high"), means("one answer too low")
    assert f"one too high lost {high[0]}, {high[1]} and {high[2]} on average" in said
    assert all(a < b for a, b in zip(high, means("not stated"), strict=True))
    assert f"one too low {low[0]}, {low[1]} and {low[2]}. In the place" in said
    for words, fact in (
        ("deviation of labels left", "width"),
        ("whether columns are alike", "alike"),
        ("predictions over that width", "moved"),
        ("alike beside it", "explained and alike"),
    ):
        one = means(fact, "other facts")
        assert f"{words} {one[0]}, {one[1]} and {one[2]}" in said


def test_a_stated_expectation_loses_less_on_what_was_not_learnt() -> None:
    """Means everywhere, worst cases where bounds are as tried; kills a fact that harms a group."""
    for group, told in REGRETS.items():
        for size in ("all", "below 500"):
            stated, plain = told["stated"][size], told["not stated"][size]
            assert stated["mean"] < plain["mean"]
            assert stated["worst"] < plain["worst"] or group == "tables, wider bounds"


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
    assert [expected_learnt.answer(_cell(explained=r)) for r in (0.19, 0.2, 0.5)] == [0, 1, 2]


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
    title, law = next(
        (title, law) for title, law in expected.laws(0) if law.n <= 280 and law.width <= 8
    )
    (found, *_) = expected.measured_law(title, law)
    first = next(cell._asdict() for cell in LAWS if cell.table == title)
    for name in ("lines", "shapes"):
        assert found.pop(name) == pytest.approx(first.pop(name), abs=2e-4)
    assert found == first
