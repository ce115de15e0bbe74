"""The notebook on a reader's table, by plain papermill: a release, and a statement that lacks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from dplit.face_off.release import load_model
from scripts.execute import environment
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
STATED = {"release": '{"age": [20, 99], "cost": [0, 9]}', "lacking": '{"cost": [0, 9]}'}
Ran = dict[str, tuple[int, str, Path]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Exit code, what papermill said and the executed notebook, for each statement."""
    folder = tmp_path_factory.mktemp("reader")
    rng = np.random.default_rng(0)
    rows = [f"{rng.uniform(20, 99):.13f},{rng.uniform(0, 9):.13f}" for _ in range(619)]
    (folder / "mine.csv").write_text("\n".join(["age,cost", *rows]) + "\n")
    runs = {}
    for name, bounds in STATED.items():
        out = folder / f"{name}.ipynb"
        command = [
            *(
                sys.executable,
                "-m",
                "papermill",
                str(LAYOUT.notebooks / "face_off.ipynb"),
                str(out),
            ),
            *("--no-progress-bar", "-p", "file", "mine.csv", "-p", "target", "cost"),
            *("-p", "bounds", bounds, "-p", "release", "sufficient_statistics"),
            *("-p", "neighboring", "add_remove", "-p", "output", f"out-{name}"),
        ]
        runs[name] = (
            subprocess.Popen(
                command, cwd=folder, env=environment(LAYOUT), stderr=subprocess.PIPE, text=True
            ),
            out,
        )
    said = {name: process.communicate(timeout=300)[1] for name, (process, _) in runs.items()}
    return {name: (process.returncode, said[name], out) for name, (process, out) in runs.items()}


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
        assert "619" not in re.sub(r"-?\d+\.\d+(e-?\d+)?", "", text)
    assert not re.search("standard error|not private|svg|vnd.dplit.claim", shown)
    model = load_model(out.parent / "out-release")
    assert model.predict([{"age": 50}, {}]).shape == (2,)


def test_what_is_not_stated_is_told_and_nothing_is_written(ran: Ran) -> None:
    code, said, out = ran["lacking"]
    assert code != 0
    assert """-p bounds '{"cost": [0, 9], "age": ["LOW", "HIGH"]}'""" in said
    assert not (out.parent / "out-lacking").exists()
    values = re.findall(r"\d+\.\d{13}", (out.parent / "mine.csv").read_text())
    assert not any(value[:9] in said + out.read_text() for value in values)
