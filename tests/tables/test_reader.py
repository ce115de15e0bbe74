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
    "lacking": ("mine", {**PRIVATE, "bounds": '{"cost": [0, 9]}'}),
    "settings": ("mine", {**PRIVATE, "bounds": WHOLE, "settings": "[1]"}),
    "nameless": ("nameless", {**PRIVATE, "bounds": WHOLE}),
    "one class": ("one", {"target": "ill", "bounds": AGES, "classes": '["no", "yes"]'}),
    "many clusters": (
        "one",
        {"n_clusters": "20", "bounds": AGES, "ignore": '["ill"]', "progress": "True"},
    ),
    "mappings": ("marks", {**PRIVATE, "separator": "#", "decimal": ","}),
    "three rows": ("three", {"target": "cost", "bounds": WHOLE}),
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
    files = {"mine": ["age,cost", *rows], "nameless": rows, "three": ["age,cost", *rows[:3]]}
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


REFUSED = {
    "lacking": """-p bounds '{"cost": [0, 9], "age": ["LOW", "HIGH"]}'""",
    "settings": "settings must be JSON of the form '{\"NAME\": ...}', got settings='[1]'",
    "nameless": "the first line of the file must name the columns; here it holds numbers",
    "three rows": "exploring needs at least 10 records, got 3",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_told_and_nothing_is_written_or_quoted(ran: Ran, name: str) -> None:
    """Kills a first record that is quoted as if it were names, and errors of other libraries."""
    code, said, out = ran[name]
    assert code != 0
    assert "TableError: " in said
    assert REFUSED[name] in said
    assert not (out.parent / f"out-{name}").exists()
    values = re.findall(r"\d+\.\d{13}", (out.parent / "mine.csv").read_text())
    assert not any(value[:9] in said + out.read_text() for value in values)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("one class", ["trivial", "linear, not private", "margin"]),
        ("many clusters", ["trivial", "k-means, not private", "lloyd"]),
    ],
)
def test_a_strange_table_is_explored_all_the_same(ran: Ran, name: str, rows: list[str]) -> None:
    """Ten rows of one class, seven rows for twenty clusters; kills ceilings that need more."""
    code, said, out = ran[name]
    assert code == 0, said
    shown = out.read_text()
    assert "these scores are not private" in shown
    assert all(f"{row} | " in shown for row in rows)
    assert "| nan |" not in shown
    assert ("10 rows read" in shown) == (name == "many clusters")  # asked for there
