"""A release shows its noised numbers and what is public: files, card, errors and loaded model."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dplit.audit import ledger
from dplit.tables import releasing
from dplit.tables._chunks import TableError
from dplit.tables.facts import TableFacts, load_problem, state_facts
from dplit.tables.mechanisms import MECHANISMS, TableMechanism, _applicable, mechanism
from dplit.tables.released import load_model
from dplit.tables.releasing import check_request, release_problem

HEADER = ["age", "sex", "bmi", "cost", "ill"]
RANGES = '{"age": [20, 100], "bmi": [10, 50], "cost": [0, 1000]}'
STATED: dict[str, dict[str, Any]] = {
    "regression": {"target": "cost", "categories": '{"sex": ["f", "m"], "ill": ["no", "yes"]}'},
    "classification": {
        "target": "ill",
        "classes": '["no", "yes"]',
        "categories": '{"sex": ["f", "m"]}',
    },
    "clustering": {"n_clusters": 2, "ignore": '["sex", "ill"]'},
}
READERS = [m for m in MECHANISMS if m.task in STATED]
names = [f"{m.task} {m.name}" for m in READERS]


def facts_of(task: str) -> TableFacts:
    return state_facts(HEADER, bounds=RANGES, **STATED[task])


def table(path: Path, n: int, last: list[str] | None = None) -> Path:
    """Write n records of which the last may be another one."""
    rng = np.random.default_rng(3)
    rows = [
        [
            f"{rng.uniform(20, 100):.13f}",
            str(rng.choice(["f", "m", ""])),
            f"{rng.uniform(10, 50):.13f}",
            f"{rng.uniform(0, 1000):.13f}",
            str(rng.choice(["no", "yes"])),
        ]
        for _ in range(n)
    ]
    if last is not None:
        rows[-1] = last
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


def released(folder: Path, m: TableMechanism, path: Path, seed: int | None, **changes: Any) -> Path:
    facts = facts_of(m.task)
    budget = {"epsilon": 0.5, "delta": 1e-5, "random_state": seed, **changes}
    release_problem(load_problem(path, facts), facts, m.name, folder, **budget)
    return folder


def fitted(m: TableMechanism, path: Path) -> tuple[Any, np.ndarray]:
    """Return what a release of the table would fit, and the records."""
    problem = load_problem(path, facts_of(m.task))
    model = m.make(problem, epsilon=0.5, delta=1e-5, random_state=5)
    return model.fit(problem.X, None if m.task == "clustering" else problem.labels()), problem.X


def masked(value: Any) -> Any:
    """Return the shape of released numbers."""
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return type(value).__name__ if isinstance(value, float) else value


NASTY = [
    ["1e308", "x", "-1e308", "1e308", "perhaps"],
    ["", "", "", "", ""],
    ["nan", '"', "inf", "text", "yes"],
]


@pytest.mark.parametrize("m", READERS, ids=names)
def test_neighbours_release_the_same_files_but_for_the_noised_numbers(
    tmp_path: Path, m: TableMechanism
) -> None:
    """Equal seeds; kills a card or a model with anything that a record decides."""
    folders = [released(tmp_path / "0", m, table(tmp_path / "0.csv", 60), 5)]
    for i, last in enumerate(NASTY, 1):
        path = table(tmp_path / f"{i}.csv", 60, last)
        folders.append(released(tmp_path / str(i), m, path, 5))
    models = [json.loads((f / "model.json").read_text()) for f in folders]
    for model in models:
        del model["card"]  # its digest, of warnings too
    differing = 0
    for folder, model in zip(folders[1:], models[1:], strict=True):
        assert sorted(p.name for p in folder.iterdir()) == ["card.html", "card.json", "model.json"]
        if "counts" not in (folder / "card.json").read_text():
            assert card_of(folder) == card_of(folders[0])
        differing += model["released"] != models[0]["released"]
        for noised in ("released", "releases"):
            assert masked(model.pop(noised)) == masked(models[0][noised])
        assert model == {k: v for k, v in models[0].items() if k not in ("released", "releases")}
    assert differing  # the comparison is not of constants


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("m", [m for m in READERS if m.task != "clustering"], ids=lambda m: m.name)
def test_a_record_without_a_target_contributes_nothing(tmp_path: Path, m: TableMechanism) -> None:
    """Equal seeds, the same bits whatever its columns and its target say; the control has a target.

    Kills a label in the place of none, the first class or the middle of the bounds, and a number of
    records that counts those with a target.
    """
    labels = ["", "text", "inf", "NaN"] if m.task == "regression" else ["", "perhaps", "nan"]
    lasts = [
        [*row, label, label]
        for row in (["20", "f", "10"], ["100", "m", "50"], ["", "", ""])
        for label in labels
    ]
    found = []
    for i, last in enumerate([*lasts, ["20", "f", "10", "900", "yes"]]):
        path = table(tmp_path / f"{i}.csv", 60, last)
        folder = released(tmp_path / str(i), m, path, 5)
        found.append(json.loads((folder / "model.json").read_text())["released"])
        card = card_of(folder)
        stated = next(k for k in card["stated as public"] if k.startswith("target"))
        assert "a record without it contributes nothing: the sensitivity is the same" in stated
        assert "60 records" in card["guarantee"] or "their number is public" in card["guarantee"]
    assert all(one == found[0] for one in found[:-1])
    assert found[-1] != found[0]


def card_of(folder: Path) -> Any:
    """Return the card without warnings, digests and a constant, which may follow what has noise."""
    card = json.loads((folder / "card.json").read_text())
    noisy = ("warnings", "sha256", "mean of the target", "share of the most")
    return {k: v for k, v in card.items() if not k.startswith(noisy)}


@pytest.mark.parametrize("m", _applicable("regression", "add_remove"), ids=lambda m: m.name)
def test_a_hidden_number_of_records_stands_nowhere(tmp_path: Path, m: TableMechanism) -> None:
    """Kills a count in the card; the control is replace_one, where the number is public."""
    change = {"neighboring": "add_remove"}
    paths = [table(tmp_path / f"{n}.csv", n) for n in (617, 618)]
    one, two = (released(tmp_path / p.stem, m, p, 5, **change) for p in paths)
    assert card_of(one) == card_of(two)
    texts = (one / "card.json").read_text() + (one / "card.html").read_text()
    assert "617" not in re.sub("[0-9a-f]{64}", "", texts)
    told = json.loads((one / "model.json").read_text())
    assert told["n_records"] is None
    assert m.drawn or load_model(one).differs_from_releases() == ()
    kernel = mechanism("kernel_machine", "regression")
    folder = released(tmp_path / "control", kernel, paths[0], 5)
    assert "617" in json.loads((folder / "card.json").read_text())["guarantee"]


@pytest.mark.parametrize("m", READERS, ids=names)
def test_no_value_of_the_table_is_in_the_files(tmp_path: Path, m: TableMechanism) -> None:
    """As text, and as a number in encoded form; the control plants one of each."""
    path = table(tmp_path / "a.csv", 60)
    folder = released(tmp_path / "r", m, path, None)
    texts = "".join(file.read_text() for file in folder.iterdir())
    X = load_problem(path, facts_of(m.task)).X
    entries = {struct.pack("d", x) for x in np.abs(X).ravel() if x not in (0.0, 1.0)}

    def kept(text: str) -> int:
        floats = {
            struct.pack("d", abs(float(t))) for t in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)
        }
        raw = re.findall(r"\d+\.\d{13}", path.read_text())
        return len(entries & floats) + sum(value in text for value in raw)

    assert kept(texts) == 0
    assert kept(f"{texts} {X[0, 0]!r} {path.read_text().splitlines()[1]}") >= 2


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("m", READERS, ids=names)
def test_the_card_lists_the_draws_that_made_the_release(tmp_path: Path, m: TableMechanism) -> None:
    """Kills a card without them, one that lists another fit's, and a draw that looks at records."""
    paths = [table(tmp_path / f"{k}.csv", 60, row) for k, row in enumerate(NASTY[:2])]
    cards = [card_of(released(tmp_path / f"r{k}", m, path, k)) for k, path in enumerate(paths)]
    name = next(key for key in cards[0] if key.startswith("draws of noise"))
    with ledger() as book:
        model, _ = fitted(m, paths[0])
    assert cards[0][name] == cards[1][name] == book.rows() != []
    promised, drawn = book.statement(model).split("\n\n")
    assert promised == model.privacy_statement_
    assert drawn == book.table()
    assert book.rows()[0]["hides"] in (tmp_path / "r0" / "card.html").read_text()


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("m", READERS, ids=names)
def test_what_is_loaded_predicts_what_was_fitted(tmp_path: Path, m: TableMechanism) -> None:
    """Bit for bit: kills a lost digit, a lost attribute and another encoding."""
    path = table(tmp_path / "a.csv", 60, NASTY[0])
    model, X = fitted(m, path)
    loaded = load_model(released(tmp_path / "r", m, path, 5))
    assert np.array_equal(loaded.predict_file(path), model.predict(X))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert np.array_equal(loaded.predict(iter(rows)), model.predict(X))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for kept in (columns, pandas.DataFrame(columns)):  # a table whose names were read as rows
        assert np.array_equal(loaded.predict(kept), model.predict(X))
    assert np.array_equal(loaded.predict(path), model.predict(X))
    assert loaded.card["epsilon"] == 0.5


CLASSIFIERS = [m for m in READERS if m.task == "classification" and m.name != "constant"]
#: Those of which probabilities are a logistic model's, with what makes them so.
LOGISTIC: dict[str, dict[str, Any]] = {
    "additive": {"loss": "logistic"},
    "objective_perturbation": {"loss": "logistic"},
    "noisy_gradient": {},
}


@pytest.mark.parametrize("whole", [False, True])
def test_columns_that_say_nothing_of_what_was_stated_are_told(tmp_path: Path, whole: bool) -> None:
    """Decimal commas, other names of categories: predicted in silence they were the middle."""
    m = next(one for one in READERS if one.task == "regression")
    model = load_model(released(tmp_path / "here", m, table(tmp_path / "t.csv", 60), 1))
    rows = {"age": ["30,5", None], "sex": ["1", "2"], "bmi": ["20", "x"], "ill": ["no", ""]}
    given: Any = (
        rows
        if whole
        else [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    )
    with pytest.warns(UserWarning, match="columns that count as missing") as told:
        found = model.predict(given)
    (text,) = [str(one.message) for one in told]
    assert "age is stated to hold numbers" in text
    assert "sex is stated to hold 'f', 'm'" in text
    assert not re.search("bmi|ill|30,5", text)
    middle = {"age": [None] * 2, "sex": ["f"] * 2, "bmi": ["20", None], "ill": ["no", ""]}
    assert found.tolist() == model.predict(middle).tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("m", CLASSIFIERS, ids=lambda m: m.name)
def test_a_released_classifier_has_scores_and_a_threshold(
    tmp_path: Path, m: TableMechanism
) -> None:
    """Bit for bit from the file, by rows, columns and path; a prediction by hand at a threshold.

    Kills a threshold of another sign or side, one that predictions at the default would differ by,
    and probabilities of a loss that models none.
    """
    path = table(tmp_path / "a.csv", 60, NASTY[0])
    model, X = fitted(m, path)
    loaded = load_model(released(tmp_path / "r", m, path, 5))
    scores = model.decision_function(X)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for told in (iter(rows), columns, pandas.DataFrame(columns), path, str(path)):
        assert np.array_equal(loaded.decision_function(told), scores)
    at = float(np.sort(scores)[17])
    by_hand = np.where(scores > at, "yes", "no")
    assert 0 < np.sum(by_hand == "yes") <= 42
    assert np.array_equal(loaded.predict(rows, threshold=at), by_hand)
    assert np.array_equal(loaded.predict_file(path, threshold=at), by_hand)
    assert np.array_equal(loaded.predict(rows, threshold=0), loaded.predict(rows))
    for wrong in (np.nan, np.inf, "0", True):
        with pytest.raises((TypeError, ValueError), match="threshold must"):
            loaded.predict(rows, threshold=wrong)
    if m.name == "noisy_gradient":
        assert np.array_equal(loaded.predict_proba(rows), model.predict_proba(X))
        return
    with pytest.raises(TypeError, match=r"needs a classifier of the logistic loss .* got \w+ of"):
        loaded.predict_proba(rows)


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("name", LOGISTIC)
def test_probabilities_are_those_of_a_logistic_model(tmp_path: Path, name: str) -> None:
    """The logistic function of the score, from the file; kills columns in another order."""
    m, path = mechanism(name, "classification"), table(tmp_path / "a.csv", 60)
    loaded = load_model(released(tmp_path / "r", m, path, 5, settings=LOGISTIC[name]))
    told = loaded.predict_proba(path)
    scores = loaded.decision_function(path)
    assert told.shape == (60, 2)
    np.testing.assert_allclose(told[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-9)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, rtol=1e-12)
    third = float(np.log(0.3 / 0.7))
    assert np.array_equal(loaded.predict(path, threshold=third) == "yes", told[:, 1] > 0.3)
    assert loaded.estimator.classes_.tolist() == ["no", "yes"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("name", ["additive", "objective_perturbation", "noisy_gradient"])
@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1)])
def test_settings_of_a_rare_class_survive_the_file(
    tmp_path: Path, name: str, classes: tuple[Any, Any]
) -> None:
    """Weights by class in JSON, whose names are texts; kills an estimator that is restored with
    other weights, and one that has none.
    """
    held = list(csv.reader(table(tmp_path / "a.csv", 60).read_text().splitlines()))[1:]
    columns: dict[str, Any] = dict(zip(HEADER, map(list, zip(*held, strict=True)), strict=True))
    columns["ill"] = [classes[one == "yes"] for one in columns["ill"]]
    facts = state_facts(HEADER, bounds=RANGES, **STATED["classification"] | {"classes": classes})
    told = json.dumps(dict(zip(map(str, classes), (0.25, 1.0), strict=True)))
    settings = check_request(facts, name, f'{{"class_weight": {told}}}')
    budget: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-5, "random_state": 5}
    problem = load_problem(columns, facts)
    release_problem(problem, facts, name, tmp_path / "r", settings=settings, **budget)
    loaded = load_model(tmp_path / "r")
    assert loaded.estimator.class_weight == [0.25, 1.0]
    assert loaded.differs_from_releases() == ()
    plain, _ = mechanism(name, "classification").fit(problem, **budget)
    assert not np.array_equal(plain.coef_, loaded.estimator.coef_)
    for wrong in ('{"no": 2.0, "yes": 1.0}', '{"maybe": 1.0}', '"balanced"'):
        with pytest.raises(ValueError, match="class_weight must have a weight in"):
            check_request(facts, name, f'{{"class_weight": {wrong}}}')


def test_what_has_no_classes_has_no_scores(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", 60)
    for m in (mechanism("noisy_gradient", "regression"), mechanism("lloyd", "clustering")):
        loaded = load_model(released(tmp_path / m.task, m, path, 5))
        with pytest.raises(TypeError, match="decision_function needs a classifier, which has"):
            loaded.decision_function(path)
        with pytest.raises(TypeError, match="predict_proba needs a classifier"):
            loaded.predict_proba(path)
        with pytest.raises(ValueError, match="but for two classes, got a model of no classes"):
            loaded.predict(path, threshold=0.0)


def test_noise_comes_from_the_system_and_a_seed_is_told(tmp_path: Path) -> None:
    """Kills a fixed seed: two releases agree with probability 0."""
    m, path = mechanism("lloyd", "clustering"), table(tmp_path / "a.csv", 60)
    one, two, seeded = (
        json.loads((released(tmp_path / name, m, path, seed) / "model.json").read_text())
        for name, seed in (("one", None), ("two", None), ("three", 1))
    )
    assert one["released"] != two["released"]
    assert "operating system's entropy" in card_of(tmp_path / "one")["guarantee"]
    assert "voids the guarantee" in card_of(tmp_path / "three")["guarantee"]
    assert seeded["public"] == one["public"]


def test_centres_are_told_in_the_units_of_the_table(tmp_path: Path) -> None:
    m, path = mechanism("lloyd", "clustering"), table(tmp_path / "a.csv", 60)
    model = load_model(released(tmp_path / "r", m, path, None, epsilon=1e5))
    for row, center in zip(model.centers, model.estimator.cluster_centers_, strict=True):
        assert list(row) == ["age", "bmi", "cost"]
        assert row["age"] == pytest.approx(60.0 + 40.0 * center[0])


def test_ten_records_are_released_with_a_warning_on_the_card(tmp_path: Path) -> None:
    m = mechanism("kernel_machine", "regression")
    folder = released(tmp_path / "r", m, table(tmp_path / "a.csv", 10), None)
    card = json.loads((folder / "card.json").read_text())
    told = card["warnings (from public numbers or from what is released)"]
    assert "a constant may predict as well" in told[0]
    page = (folder / "card.html").read_text()
    assert told[0] in page
    assert not re.search(r"src=|href=|<script", page)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another mechanism": (
        "forest",
        {},
        "release must be one of sufficient_statistics, noisy_gradient, additive, random_features, "
        "kernel_machine, constant for regression, got release='forest'",
    ),
    "another relation": (
        "kernel_machine",
        {"neighboring": "add_remove"},
        "neighboring must be replace_one for kernel_machine, got neighboring='add_remove'",
    ),
    "a budget": ("kernel_machine", {"epsilon": 0.0}, "epsilon must be positive"),
    "an unknown setting": (
        "sufficient_statistics",
        {"settings": {"steps": 3}},
        "settings of sufficient_statistics must be among alpha, ",
    ),
    "a seed in the settings": (
        "kernel_machine",
        {"settings": {"random_state": 1, "bounds": [0, 1]}},
        "settings must leave bounds, random_state to what is stated elsewhere",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_told_without_a_value_and_leaves_no_file(
    tmp_path: Path, name: str
) -> None:
    wanted, changes, message = REFUSED[name]
    facts = facts_of("regression")
    problem = load_problem(table(tmp_path / "a.csv", 60), facts)
    arguments = {"epsilon": 1.0, "delta": 1e-5, **changes}
    if "epsilon" not in changes:  # all but the budget is refused before a record is read
        asked = {**changes, "settings": json.dumps(changes.get("settings", {}))}
        with pytest.raises(ValueError, match=re.escape(message)):
            check_request(facts, wanted, **asked)
    with pytest.raises(ValueError, match=re.escape(message)) as told:
        release_problem(problem, facts, wanted, tmp_path / "r", **arguments)
    assert not re.search(r"\d+\.\d{3}", str(told.value))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("settings", ["x", "[1]", "3"])
def test_settings_that_are_no_mapping_are_refused(settings: str) -> None:
    for name in ("", "kernel_machine"):
        with pytest.raises(TableError, match="settings must be JSON of the form"):
            check_request(facts_of("regression"), name, settings=settings)
    assert check_request(facts_of("regression"), "noisy_gradient", settings='{"steps": 3}') == {
        "steps": 3
    }


def test_what_the_machine_cannot_hold_is_refused_before_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a fit that ends in a MemoryError, and a refusal of mechanisms that hold no features."""
    path, memory = table(tmp_path / "a.csv", 60), 8 * 800 * 60
    monkeypatch.setattr(releasing, "_memory", lambda: memory - 1)
    with pytest.raises(TableError, match="kernel_margin visits the features of all 60 records"):
        released(tmp_path / "r", mechanism("kernel_margin", "classification"), path, 5)
    assert not (tmp_path / "r").exists()
    released(tmp_path / "other", mechanism("kernel_machine", "classification"), path, 5)
    monkeypatch.setattr(releasing, "_memory", lambda: memory)
    released(tmp_path / "r", mechanism("kernel_margin", "classification"), path, 5)


def test_a_second_release_into_a_folder_is_refused(tmp_path: Path) -> None:
    m, path = mechanism("lloyd", "clustering"), table(tmp_path / "a.csv", 60)
    released(tmp_path / "r", m, path, None)
    before = (tmp_path / "r" / "model.json").read_text()
    with pytest.raises(TableError, match="another release from the same table costs another"):
        released(tmp_path / "r", m, path, None)
    assert (tmp_path / "r" / "model.json").read_text() == before
    (tmp_path / "r" / "model.json").write_text('{"format": "other"}')
    with pytest.raises(ValueError, match="must have the format"):
        load_model(tmp_path / "r")


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_shapes_of_an_additive_model_are_drawn_on_its_card(tmp_path: Path, task: str) -> None:
    """In the units of the table, from released numbers alone; kills a card that draws records, one
    without a column, and a picture for models without shapes.
    """
    m, path = mechanism("additive", task), table(tmp_path / "a.csv", 60)
    page = (released(tmp_path / "r", m, path, 5) / "card.html").read_text()
    picture = page[page.index("<svg") : page.index("</svg>")]
    used = facts_of(task).columns
    assert all(f">{name}</text>" in picture for name in (*used, "f", "m"))
    assert ">100</text>" in picture  # an age
    assert "Shapes" in page
    again = (released(tmp_path / "s", m, path, 5) / "card.html").read_text()
    assert again == page
    loaded = load_model(tmp_path / "r")
    for shape, column in zip(loaded.estimator.shapes_, used, strict=True):
        assert len(shape.columns) == len(facts_of(task).categories.get(column, [0]))
        assert (shape.band is None) == (task == "classification")
    assert [axes.get_title() for axes in loaded.plot().axes if axes.get_visible()] == list(used)
    plain = mechanism("noisy_gradient", task)
    folder = released(tmp_path / "t", plain, path, 5)
    assert "<svg" not in (folder / "card.html").read_text()
    with pytest.raises(TypeError, match="plot needs an additive model, which has shapes, got"):
        load_model(folder).plot()


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("classes", [None, '["no", "yes"]', '["no", "yes", "perhaps"]'])
def test_a_release_with_pairs_is_read_and_drawn_again(tmp_path: Path, classes: str | None) -> None:
    """Kills a restored model without its maps, or with another's columns; one that is more than its
    releases make; and a card without a map, or with one of another unit.
    """
    task = "regression" if classes is None else "classification"
    path, stated = table(tmp_path / "a.csv", 60), dict(STATED[task])
    stated |= {"classes": classes} if classes else {}
    pairs = [["bmi", "age"], ["sex", "bmi"]]
    facts = state_facts(HEADER, bounds=RANGES, interactions=json.dumps(pairs), **stated)
    problem = load_problem(path, facts)
    budget: dict[str, Any] = {"epsilon": 50.0, "delta": 1e-5, "random_state": 3}
    release_problem(problem, facts, "additive", tmp_path / "r", **budget)
    model, _ = mechanism("additive", task).fit(problem, **budget)
    loaded = load_model(tmp_path / "r")
    assert np.array_equal(loaded.predict_file(path), model.predict(problem.X))
    assert loaded.facts.interactions == pairs
    assert loaded.differs_from_releases() == ()
    told = json.loads((tmp_path / "r" / "model.json").read_text())["released"]["shapes_"]
    used = len(facts.columns)
    for mine, read, written in zip(
        model.shapes_[used:], loaded.estimator.shapes_[used:], told[used:], strict=True
    ):
        assert mine.columns == read.columns == tuple(map(tuple, written[0]))
        for one, other in zip(mine.knots, read.knots, strict=True):
            assert (one is None and other is None) or np.array_equal(one, other)
        assert np.array_equal(mine.values, read.values)
        assert np.array_equal(mine.values, written[2])
        assert (mine.band is None) == (read.band is None) == (task == "classification")
    axes = [ax for ax in loaded.plot().axes if ax.get_visible()][used:-1]
    each = 3 if classes and "perhaps" in classes else 1
    assert [ax.get_xlabel() for ax in axes] == ["bmi"] * each + ["sex"] * each
    assert [ax.get_ylabel() for ax in axes] == ["age"] * each + ["bmi"] * each
    assert axes[0].get_xlim() == (10.0, 50.0)
    assert axes[0].get_ylim() == (20.0, 100.0)
    assert [text.get_text() for text in axes[-1].get_xticklabels()] == ["f", "m"]
    titles = [ax.get_title() for ax in axes]
    if task == "regression":
        bands = [shape.band.max() for shape in model.shapes_[used:]]
        assert titles == [f"noise alone: ±{band:.2g}" for band in bands]
    else:
        assert titles == ([""] if each == 1 else json.loads(classes)) * 2
    page = (tmp_path / "r" / "card.html").read_text()
    assert len(page) < 700_000
    release_problem(problem, facts, "additive", tmp_path / "s", **budget)
    assert (tmp_path / "s" / "card.html").read_text() == page


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
def test_a_release_of_three_classes_predicts_and_draws_each(tmp_path: Path) -> None:
    """Kills a restored model of one score, and a picture of one class."""
    path = table(tmp_path / "a.csv", 60)
    stated = {**STATED["classification"], "classes": '["no", "yes", "perhaps"]'}
    facts = state_facts(HEADER, bounds=RANGES, **stated)
    problem = load_problem(path, facts)
    budget: dict[str, Any] = {"epsilon": 50.0, "delta": 1e-5, "random_state": 3}
    for name in ("additive", "noisy_gradient"):
        release_problem(problem, facts, name, tmp_path / name, **budget)
        model, _ = mechanism(name, "classification").fit(problem, **budget)
        predicted = model.predict(problem.X)
        assert np.array_equal(load_model(tmp_path / name).predict_file(path), predicted)
        assert len(np.unique(predicted)) > 1
        loaded = load_model(tmp_path / name)
        scores, told = model.decision_function(problem.X), model.predict_proba(problem.X)
        # the same weights in another order of memory: sums of some twenty terms round otherwise
        np.testing.assert_allclose(loaded.decision_function(path), scores, rtol=0, atol=1e-12)
        np.testing.assert_allclose(loaded.predict_proba(path), told, rtol=0, atol=1e-12)
        with pytest.raises(ValueError, match="but for two classes, got a model of 3 classes"):
            loaded.predict("no such file", threshold=0.0)
    page = (tmp_path / "additive" / "card.html").read_text()
    assert all(f">{label}</text>" in page for label in ("no", "yes", "perhaps"))
    with pytest.raises(ValueError, match="classes must be two for margin"):
        check_request(facts, "margin")


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records drown in the noise
@pytest.mark.parametrize("m", READERS, ids=names)
def test_a_model_is_what_its_releases_make(tmp_path: Path, m: TableMechanism) -> None:
    """Kills a model that holds more than was released, and a log that leaves a number out.

    Planted: releases that are moved by a thousandth, which every such model must show.
    """
    folder = released(tmp_path / "model", m, table(tmp_path / "t.csv", 40), None)
    model = load_model(folder)
    told = json.loads((folder / "model.json").read_text())
    assert len(told["releases"]) >= 1
    assert told["n_records"] == 40
    if m.drawn:
        with pytest.raises(ValueError, match="draws public numbers too"):
            model.differs_from_releases()
        return
    assert model.differs_from_releases() == ()
    for one in told["releases"]:
        one["parts"] = [[1.001 * x for x in part] for part in one["parts"]]
    moved = dataclasses.replace(model, _model=told)
    assert moved.differs_from_releases() != ()
    with pytest.raises(ValueError, match="must be loaded from a folder"):
        dataclasses.replace(model, _model=None).differs_from_releases()
