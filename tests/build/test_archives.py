"""A quick run and its archive agree within their errors, and every planted difference is seen."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import archives
from scripts.files import BuildError, write_json
from scripts.layout import Layout
from scripts.normalise import CURVES

PLACES = [0.1, 0.3, 1.0, 3.0, 10.0]
HEIGHT = {"ours": 1.0, "theirs": 1.6}
SPREAD = 0.1


def curve(values: np.ndarray, errors: str) -> dict[str, Any]:
    """Return what is recorded of trials by places, with a band of some kind."""
    middle, trials = values.mean(axis=0), len(values)
    error = values.std(axis=0, ddof=1) / trials**0.5
    ends = {
        "se": (middle - error, middle + error),
        "2 se": (middle - 2 * error, middle + 2 * error),
        "range": (values.min(axis=0), values.max(axis=0)),
        "80 %": tuple(np.quantile(values, [0.1, 0.9], axis=0)),
    }
    if errors in ("range", "80 %"):
        middle = np.median(values, axis=0)
    low, high = ends[errors]
    told = {"x": PLACES, "y": list(middle), "low": list(low), "high": list(high)}
    return {**told, "trials": trials, "errors": errors}


def drawn(rng: np.random.Generator, trials: int, errors: str) -> dict[str, Any]:
    """Return the curves of a run of so many trials."""
    shape = (trials, len(PLACES))
    return {
        name: curve(height / np.sqrt(PLACES) * (1 + SPREAD * rng.normal(size=shape)), errors)
        for name, height in HEIGHT.items()
    }


def met(here: dict[str, Any], there: dict[str, Any], **more: Any) -> list[archives.Point]:
    """Return what is compared of a run and its archive."""
    record = {"name": "fig-a", "settings": {}, "stand_ins": [], "curves": here} | more
    cell = {"cell_type": "code", "outputs": [{"data": {CURVES: record}}]}
    old = {"curves": {"fig-a": {"settings": {}, "curves": there}}}
    return archives.points({"cells": [cell]}, old)


KINDS = pytest.mark.parametrize("errors", ["se", "2 se", "range", "80 %"])


@KINDS
def test_runs_of_one_law_agree(errors: str) -> None:
    """Two hundred builds; a right allowance lets each pass with probability 1 - 1e-4, so that this
    test raises a false alarm with probability 2e-2 over new seeds and none at these.

    Kills an allowance that forgets the errors of one of the two runs.
    """
    rng = np.random.default_rng(5)
    pairs = [(drawn(rng, 8, errors), drawn(rng, 40, errors)) for _ in range(200)]
    assert sum(any(p.parts for p in met(*pair)) for pair in pairs) == 0
    assert all(len(met(*pair)) == 10 for pair in pairs)
    # and the allowance is no wider than it must be: half of it, as Student's law has it
    tight = max(abs(p.here - p.archived) / p.allowed for pair in pairs for p in met(*pair))
    assert tight > 0.4


@KINDS
@pytest.mark.parametrize("fault", ["shift", "scale", "label", "one place"])
def test_a_planted_difference_is_seen(errors: str, fault: str) -> None:
    """Shifted by 60 % of its height, twice as high, two names exchanged, one place at fault."""
    rng = np.random.default_rng(7)
    here, there = drawn(rng, 8, errors), drawn(rng, 40, errors)
    assert not any(p.parts for p in met(here, there))
    planted = copy.deepcopy(there)
    if fault == "label":
        planted = {"ours": there["theirs"], "theirs": there["ours"]}
    else:
        change = {"shift": lambda y: y + 0.6 * y[0], "scale": lambda y: 2 * y}.get(fault)
        for key in ("low", "y", "high"):
            heights = np.array(planted["ours"][key])
            if change is None:
                heights[2] *= 2
            planted["ours"][key] = list(heights if change is None else change(heights))
    seen = [p.name for p in met(here, planted) if p.parts]
    assert seen
    assert fault != "one place" or seen == ["fig-a: ours at 1.0"]


def test_what_is_exact_must_be_equal_to_the_digits_that_are_archived() -> None:
    exact = {"x": ["a", "b"], "y": [0.123456, 2.0], "low": None, "high": None, "trials": None}
    exact["errors"] = "exact"
    off = {**exact, "y": [0.123456, 2.0001]}
    assert [p.parts for p in met({"c": exact}, {"c": exact})] == [False, False]
    assert [p.parts for p in met({"c": exact}, {"c": off})] == [False, True]


def test_what_cannot_be_compared_is_not() -> None:
    """Other settings, stand-ins, other places, no number, no error that is told."""
    rng = np.random.default_rng(3)
    run, kept = drawn(rng, 8, "se"), drawn(rng, 40, "se")
    assert len(met(run, kept)) == 10
    assert met(run, kept, settings={"data": "bundled"}) == []
    assert len(met(run, kept, stand_ins=["ours"])) == 5
    assert met({"ours": {**run["ours"], "x": [7.0] * 5}}, kept) == []
    assert len(met({"ours": {**run["ours"], "y": [None, *run["ours"]["y"][1:]]}}, kept)) == 4
    assert met({"ours": {**run["ours"], "errors": None}}, kept) == []
    assert met({"new": run["ours"]}, kept) == []


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A chapter that ran, and an archive that is twice as high."""
    found = Layout(tmp_path)
    found.notebooks.mkdir()
    (found.notebooks / "toy.md").write_text("")
    run = drawn(np.random.default_rng(1), 40, "se")
    record = {"name": "fig-a", "settings": {}, "stand_ins": [], "curves": run}
    cell = {"cell_type": "code", "outputs": [{"data": {CURVES: record}}]}
    write_json(found.raw / "toy.ipynb", {"cells": [cell]})
    high = {
        name: {**c, **{k: [2 * v for v in c[k]] for k in ("low", "y", "high")}}
        for name, c in run.items()
    }
    figures = {"fig-a": {"settings": {}, "curves": high}}
    write_json(found.archive("toy"), {"curves": figures, "numbers": {"a": 1.0}})
    return found


def test_a_build_whose_run_parts_from_its_archive_fails_and_says_where(layout: Layout) -> None:
    with pytest.raises(BuildError, match=r"toy, fig-a: ours at 0\.1: .* archived") as told:
        archives.check(layout)
    assert "make paper NAME=toy" in str(told.value)


def test_what_differs_from_the_archive_before_is_a_table() -> None:
    old = {"numbers": {"a": 1.0, "b": 2}, "curves": {}, "claims": []}
    new = {"numbers": {"a": 1.0 + 1e-9, "b": 3}, "curves": {}, "claims": []}
    new["claims"] = [{"id": "toy-thm1", "status": "passed", "checks": [{"measured": 0.5}]}]
    rows = archives.differences(old, new)
    assert rows == [
        ("b", "2", "3"),
        ("toy-thm1: check 1", "none", "0.5"),
        ("toy-thm1: status", "none", "passed"),
    ]
    assert archives.table(rows)[1].split() == ["b", "2", "3"]
    assert archives.table(archives.differences(old, old)) == [
        "no number differs from the archive before"
    ]


def test_an_archive_says_when_and_with_what_it_was_made() -> None:
    made = archives.made_now(Layout(Path(__file__).resolve().parents[2]), seconds=1.25)
    assert made["seconds"] == 1.2
    assert {"python", "numpy", "scipy"} <= made["versions"].keys()
    assert len(made["date"]) == 10
