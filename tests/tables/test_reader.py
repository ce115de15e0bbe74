"""The notebook on a reader's table, by plain papermill: releases, exploring, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from dplit.tables.released import load_model
from tests.papermills import LAYOUT, papermill

WHOLE, AGES = '{"age": [20, 99], "cost": [0, 9]}', '{"age": [20, 99]}'
PRIVATE = {"target": "cost", "release": "sufficient_statistics", "neighboring": "add_remove"}
RUNS: dict[str, tuple[str, dict[str, str]]] = {
    "release": ("mine", {**PRIVATE, "bounds": WHOLE, "progress": "True"}),
    "nameless": ("nameless", {**PRIVATE, "bounds": WHOLE}),
    "one class": (
        "one",
        {"target": "ill", "bounds": AGES, "classes": '["no", "yes"]', "progress": "True"},
    ),
    "mappings": ("marks", {**PRIVATE, "separator": "#", "decimal": ","}),
}
#: As a file of parameters has them.
MAPPINGS = "{bounds: {age: [20, 99], cost: [0, 9]}, settings: {alpha: 7.0}, fill: {age: 30}}"
Ran = dict[str, tuple[int, str, Path]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Exit code, what papermill said and the executed notebook, for each statement."""
    folder = tmp_path_factory.mktemp("reader")
    rng = np.random.default_rng(0)
    rows = [f"{rng.uniform(20, 99):.13f},{rng.uniform(0, 9):.13f}" for _ in range(619)]
    files = {"mine": ["age,cost", *rows], "nameless": rows}
    files["marks"] = ["age#cost", *(row.replace(",", "#").replace(".", ",") for row in rows)]
    files["one"] = ["age,ill", *(f"{rng.uniform(20, 99):.13f},no" for _ in range(10))]
    for name, lines in files.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    notebook, outs = str(LAYOUT.notebooks / "face_off_supplement.ipynb"), {}
    commands: dict[str, list[str]] = {}
    for name, (file, stated) in RUNS.items():
        outs[name] = folder / f"{name}.ipynb"
        common = {"file": f"{file}.csv", "output": f"out-{name}", "n_splits": "2", "n_jobs": "1"}
        asked = [part for key, value in (common | stated).items() for part in ("-p", key, value)]
        asked += ["-y", MAPPINGS] if name == "mappings" else []
        commands[name] = [notebook, str(outs[name]), *asked]
    return {name: (*told, outs[name]) for name, told in papermill(commands, cwd=folder).items()}


def test_a_release_shows_the_card_and_nothing_of_the_records(ran: Ran) -> None:
    """Neither values nor their number, which add_remove hides; no score, no figure, no claim."""
    code, said, out = ran["release"]
    assert code == 0, said
    cells = nbformat.read(out, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = json.dumps([output.get("data", output.get("text")) for output in outputs])
    assert "adding or removing one record" in shown
    values = re.findall(r"\d+\.\d{13}", (out.parent / "mine.csv").read_text())
    assert len(values) == 2 * 619
    files = sorted((out.parent / "out-release").iterdir())
    assert [path.name for path in files] == ["card.html", "card.json", "model.json"]
    for text in (shown, *(path.read_text() for path in files)):
        assert not any(value[:9] in text for value in values)
        assert "619" not in re.sub(r"-?\d+\.\d+(e-?\d+)?|[0-9a-f]{64}", "", text)
    assert not re.search("standard error|not private|svg|vnd.dplit.claim", shown)
    model = load_model(out.parent / "out-release")
    assert model.predict([{"age": 50}, {"age": None}]).shape == (2,)


def test_a_file_of_parameters_holds_mappings_and_how_numbers_are_written(ran: Ran) -> None:
    code, said, out = ran["mappings"]
    assert code == 0, said
    model = load_model(out.parent / "out-mappings")
    assert model.facts.bounds == {"age": [20, 99], "cost": [0, 9]}
    assert (model.facts.fill, model.facts.decimal) == ({"age": 30}, ",")
    assert "7.0" in (out.parent / "out-mappings" / "card.json").read_text()


def test_a_refusal_ends_papermill_and_writes_and_quotes_nothing(ran: Ran) -> None:
    """Kills a first record that is quoted as if it were names."""
    code, said, out = ran["nameless"]
    assert code != 0
    assert "TableError: the first line of the file must name the columns" in said
    assert not (out.parent / "out-nameless").exists()
    values = re.findall(r"\d+\.\d{13}", (out.parent / "mine.csv").read_text())
    assert not any(value[:9] in said + out.read_text() for value in values)


def test_a_strange_table_is_explored_all_the_same(ran: Ran) -> None:
    """Ten rows of one class; kills ceilings that need more."""
    code, said, out = ran["one class"]
    assert code == 0, said
    shown = out.read_text()
    assert "these scores are not private" in shown
    assert all(f"{row} | " in shown for row in ("trivial", "linear, not private", "margin"))
    assert "| nan |" not in shown
    assert "10 rows read" in shown
