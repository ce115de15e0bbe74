"""The folder of a release: claimed before a draw, finished by a rename, read only as written."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplit.audit import ledger
from dplit.tables import _folders, releasing
from dplit.tables._chunks import TableError
from dplit.tables.choosing import choose
from dplit.tables.facts import Problem, TableFacts, load_problem, state_facts
from dplit.tables.mechanisms import TableMechanism
from dplit.tables.released import load_model
from dplit.tables.releasing import release_problem

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few records: noise is said

BOUNDS: dict[str, Any] = {"a": (-1.0, 1.0), "b": (-1.0, 1.0), "y": (0.0, 1.0)}


def table(n: int = 40) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.uniform(0.0, 1.0, n) for name in ("a", "b", "y")}


def facts(**changes: Any) -> TableFacts:
    stated: dict[str, Any] = {"target": "y", "bounds": BOUNDS}
    stated |= dict.fromkeys(("categories", "classes", "fill", "ignore"))
    return state_facts(["a", "b", "y"], **{**stated, **changes})


PROBLEM = load_problem(table(), facts())


def released(folder: Path, name: str = "noisy_gradient", **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "random_state": 0, **changes}
    return release_problem(PROBLEM, given.pop("facts", facts()), name, folder, **given).card


def chosen(folder: Path) -> Any:
    return choose(table(), target="y", bounds=BOUNDS, folder=folder, random_state=0)


WRITERS: dict[str, Callable[[Path], Any]] = {"release": released, "choose": chosen}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("kind", ["a file", "below a file", "a full disk"])
def test_a_folder_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    """Kills a folder that is made after the noise."""
    (tmp_path / "file").write_text("mine")
    folder = {
        "a file": tmp_path / "file",
        "below a file": tmp_path / "file" / "r",
        "a full disk": tmp_path / "r" / "deep",
    }[kind]
    if kind == "a full disk":

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(releasing.os, "fsync", full)
    with ledger() as book, pytest.raises(TableError, match="output must be a folder that can be"):
        WRITERS[name](folder)
    assert len(book) == 0
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", WRITERS)
def test_the_card_is_there_before_the_noise_and_finished_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A release that an interruption ends after a draw is none, and its folder is not used again;
    one that ends before leaves nothing.
    """
    folder, seen, fit = tmp_path / "new" / "r", [], TableMechanism.fit

    def spied(self: TableMechanism, *args: Any, **kwargs: Any) -> Any:
        seen.append(json.loads((folder / "card.json").read_text()))
        return fit(self, *args, **kwargs)

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    def failed(*_: Any, **__: Any) -> Any:
        raise ValueError("before")

    monkeypatch.setattr(TableMechanism, "fit", failed)
    with pytest.raises(ValueError, match="before"):
        WRITERS[name](folder)
    assert names(tmp_path) == []
    monkeypatch.setattr(TableMechanism, "fit", spied)
    monkeypatch.setattr(_folders, "_page", stopped)
    with pytest.raises(KeyboardInterrupt):
        WRITERS[name](folder)
    assert seen
    assert seen[0]["state"].startswith("unfinished: the noise may have been drawn and the budget")
    assert (seen[0]["epsilon"], seen[0]["stated as public"]["columns and their order"]) == (
        1.0,
        ["a", "b"],
    )
    assert names(folder) == ["card.json", "model.part"]
    monkeypatch.undo()
    with ledger() as book, pytest.raises(TableError, match="output must be a new folder"):
        WRITERS[name](folder)
    assert len(book) == 0
    with pytest.raises(ValueError, match="folder must hold a finished release"):
        load_model(folder)
    WRITERS[name](tmp_path / "other")
    assert names(tmp_path / "other") == ["card.html", "card.json", "model.json"]
    assert load_model(tmp_path / "other").card["state"] == "finished"


def test_of_two_releases_into_one_folder_one_is_refused_before_it_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both pass the first look at the folder, which is empty."""
    said: list[str] = []
    both, look = threading.Barrier(2, timeout=60), _folders._check_new

    def together(place: Path) -> None:
        look(place)
        if threading.current_thread().name not in said:
            said.append(threading.current_thread().name)
            both.wait()

    monkeypatch.setattr(_folders, "_check_new", together)
    draws: list[int] = []

    def one() -> None:
        with ledger() as book:
            try:
                released(tmp_path / "r")
                said.append("released")
            except TableError:
                said.append("refused")
        draws.append(len(book))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said)[2:] == ["refused", "released"]
    assert sorted(draws) == [0, 1]
    assert load_model(tmp_path / "r").card["epsilon"] == 1.0


def test_numbers_of_other_kinds_are_converted_before_the_noise(tmp_path: Path) -> None:
    """Kills a card that cannot be written once the budget is spent."""
    card = released(
        tmp_path / "r",
        epsilon=Fraction(1, 2),
        delta=np.float32(1e-5),
        settings={"steps": np.int64(7), "clip": Fraction(1, 4)},
    )
    assert (card["epsilon"], card["stated as public"]["settings"]) == (
        0.5,
        {"steps": 7, "clip": 0.25},
    )
    with ledger() as book:
        for wrong in (object(), {1, 2}):
            with pytest.raises(TableError, match="settings must be numbers, texts or lists"):
                released(tmp_path / "s", settings={"steps": wrong})
        with pytest.raises(TypeError, match="epsilon must be a real number"):
            released(tmp_path / "s", epsilon="1")
    assert len(book) == 0
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": {**BOUNDS, "y": (0.0, 9.0)}}, "bounds differ"),
        ({"bounds": {**BOUNDS, "a": (-9.0, 1.0)}}, "bounds differ"),
        ({"fill": {"a": 0.5}}, "fill differ"),
        ({"skewed": ["a"]}, "skewed differ"),
        ({"interactions": [("a", "b")]}, "interactions differ"),
    ],
)
def test_other_facts_than_those_of_the_problem_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Kills a card whose bounds contradict its guarantee."""
    with pytest.raises(TableError, match=f"facts must be those by which .*: {message}"):
        released(tmp_path / "r", facts=facts(**changes))
    assert not (tmp_path / "r").exists()


def test_facts_of_a_problem_made_by_hand_are_compared_where_they_can_be() -> None:
    public = (PROBLEM.public, PROBLEM.data_norm, PROBLEM.box, PROBLEM.indicators)
    plain = Problem("mine", "regression", PROBLEM.X, PROBLEM.y, *public)
    releasing._check_agrees(plain, facts())
    releasing._check_agrees(
        PROBLEM, TableFacts.from_json(json.loads(json.dumps(facts().as_json())))
    )
    for changes, what in (
        ({"bounds": {**BOUNDS, "y": (0, 9)}}, "bounds or classes"),
        ({"ignore": ["b"], "bounds": {"a": (-1, 1), "y": (0, 1)}}, "columns"),
        (
            {"categories": {"b": ("x", "y")}, "bounds": {"a": (-1, 1), "y": (0, 1)}},
            "columns, categories",
        ),
        ({"interactions": [("a", "b")]}, "pairs or persons"),
    ):
        with pytest.raises(TableError, match=f"{what} differ"):
            releasing._check_agrees(plain, facts(**changes))


def test_a_file_that_is_not_as_it_was_written_is_refused(tmp_path: Path) -> None:
    """Each file, and a model of another release; another layout of the card's JSON is none."""
    released(tmp_path / "r")
    released(tmp_path / "s", random_state=1)
    card = json.loads((tmp_path / "r" / "card.json").read_text())
    (tmp_path / "r" / "card.json").write_text(json.dumps(card))
    assert load_model(tmp_path / "r").card == card
    for name in ("model.json", "card.json", "card.html"):
        folder = tmp_path / f"other {name}"
        shutil.copytree(tmp_path / "r", folder)
        text = (folder / name).read_text()
        assert "noisy_gradient" in text
        (folder / name).write_text(text.replace("noisy_gradient", "additive", 1))
        with pytest.raises(ValueError, match=f"must be as they were written, and {name} has"):
            load_model(folder)
        (folder / name).write_text((tmp_path / "s" / name).read_text())
        with pytest.raises(ValueError, match="must be as they were written, and"):
            load_model(folder)
    weaker = {**card, "epsilon": 0.01}
    (tmp_path / "r" / "card.json").write_text(json.dumps(weaker))
    with pytest.raises(ValueError, match=r"and card\.json has another checksum"):
        load_model(tmp_path / "r")


def test_rows_are_read_by_the_names_of_columns(tmp_path: Path) -> None:
    """No target is needed; absent and misspelt columns are refused by name; a cell may be missing,
    and counts as it did in the table.
    """
    released(tmp_path / "r", epsilon=1e4)
    model = load_model(tmp_path / "r")
    (tmp_path / "a.csv").write_text("b;a;more\n0.5;0.25;x\n;0.25;x\n")
    expected = model.predict([{"a": 0.25, "b": 0.5}, {" a": "0.25", "b": None, "more": 3}])
    np.testing.assert_array_equal(model.predict_file(tmp_path / "a.csv"), expected)
    assert expected[1] == model.predict([{"a": 0.25, "b": 0.0}])[0]
    (tmp_path / "b.csv").write_text("A~b\n1~2\n")
    for wrong in ([{"A": 0.25, "b": 0.5}], [{"a": 1, "b": 1}, {"b": 0.5}]):
        with pytest.raises(TableError, match="must have the column 'a', once, by exactly this"):
            model.predict(wrong)
    with pytest.raises(TableError, match="must have the column 'a', once, by exactly this"):
        model.predict_file(tmp_path / "b.csv", separator="~")
    with pytest.raises(TableError, match="must have the columns 'a', 'b'"):
        model.predict_file({"x": [1.0]})
