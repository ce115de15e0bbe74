"""One fit for others to use: a model as public numbers in JSON, and a card that says what it is."""

from __future__ import annotations

import hashlib
import html
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import dplit
from dplit._checks import check_positive, check_probability
from dplit._estimators import RandomState
from dplit.audit import Ledger, ledger
from dplit.baselines.additive import Shape
from dplit.face_off.mechanisms import Mechanism, mechanism
from dplit.face_off.pictures import as_svg, draw_shapes
from dplit.face_off.sources import TableError, named
from dplit.face_off.tables import (
    Facts,
    Problem,
    _parsed,
    _plain,
    check_columns_there,
    read_rows,
)
from dplit.margin.kernels import DirectFeatures

_FORMAT = "dplit model 2"
_FILES = ("model.json", "card.json", "card.html")
#: What a card says of a release until all of it is written.
_UNFINISHED = "unfinished: the noise may have been drawn and the budget spent; this is no release"
_FLOATS = (
    "The noise is drawn and added in double precision, for research. The low-order bits of the "
    "numbers can reveal what the noise was meant to hide. Where that matters, draw the noise with "
    "OpenDP (the extra 'secure')."
)

_SHAPES = (
    "What each column adds to the prediction, drawn from the released numbers alone; a band is "
    "twice the standard deviation of the noise by itself."
)


@dataclass(frozen=True)
class ReleasedModel:
    """A model that was released, with the public facts that it needs to read rows.

    Attributes
    ----------
    card : mapping
        The release card: mechanism, guarantee, what was public, caveats, versions.
    facts : Facts
    estimator : object
        The fitted estimator; of its attributes it has those that were released.

    Examples
    --------
    ``load_model("release").predict([{"age": 40, "smoker": "no"}])``
    """

    card: Mapping[str, Any]
    facts: Facts
    estimator: Any

    def predict(self, rows: Iterable[Mapping[str, Any]]) -> np.ndarray:
        """Return the prediction for every row, given as mapping of column to value.

        Values are read as those of the table were: clipped, filled, unknown categories as the first
        one. A row that lacks a column is refused by the name of the column; a cell may be missing.
        """
        held = [{named(name): value for name, value in row.items()} for row in rows]
        for row in held:
            check_columns_there(list(row), self.facts.columns)
        columns = {c: [row[c] for row in held] for c in self.facts.columns}
        return np.asarray(self.estimator.predict(self.facts.encode(columns)))

    def predict_file(self, file: Any, *, separator: str | None = None) -> np.ndarray:
        """Return the predictions for the rows of a file or table, whose target need not be there.

        It is read as :func:`~dplit.face_off.tables.load_problem` reads tables, by the decimals and
        groups that were stated for the model; a column that is not there is refused by its name.
        """
        rows = read_rows(file, self.facts, separator=separator)
        return np.asarray(self.estimator.predict(rows))

    def plot(self) -> Any:
        """Draw the shapes of an additive model, in the units of the table.

        Returns
        -------
        matplotlib.figure.Figure
        """
        if not hasattr(self.estimator, "shapes_"):
            name = type(self.estimator).__name__
            raise TypeError(f"plot needs an additive model, which has shapes, got {name}")
        return draw_shapes(self.estimator, self.facts)

    @property
    def centers(self) -> list[dict[str, float]]:
        """Centres of clusters in the units of the table, by column; of categories their weight."""
        names = [
            (c, v) for c in self.facts.columns for v in self.facts.categories.get(c, [None])
        ]  # fmt: skip
        found = []
        for center in self.estimator.cluster_centers_:
            row = {}
            for (column, value), x in zip(names, center, strict=True):
                if value is None:
                    row[column] = float(self.facts.numbers(column, x))
                else:
                    row[f"{column}: {value}"] = float(x)
            found.append(row)
        return found


def _state(estimator: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the released attributes as JSON; floats keep all their digits."""
    state = {}
    for name in names:
        value = getattr(estimator, name)
        if isinstance(value, DirectFeatures):
            value = {"frequencies": value.frequencies.tolist(), "double": value.double}
        state[name] = value.tolist() if hasattr(value, "tolist") else value
    return state


def _array(numbers: Any) -> np.ndarray | None:
    return None if numbers is None else np.array(numbers)


def _restored(model: Mapping[str, Any]) -> Any:
    """Return an estimator with the attributes of a released one; nothing of the file is run."""
    found = mechanism(model["mechanism"], model["facts"]["task"])
    estimator = found.estimator(**model["public"])
    for name in found.released:
        value = model["released"][name]
        if name == "shapes_":
            value = tuple(
                Shape(tuple(columns), _array(knots), np.array(values), _array(band))
                for columns, knots, values, band in value
            )
        elif name == "features_":
            value = DirectFeatures(np.array(value["frequencies"]), 1.0, value["double"])
        elif isinstance(value, list):
            value = tuple(value) if name in ("bounds_", "_ends") else np.array(value)
        setattr(estimator, name, value)
    estimator.n_features_in_ = model["n_features"]
    if "shapes_" in found.released:  # the map from rows to features, which is public
        told = [len(shape.knots) for shape in estimator.shapes_ if shape.knots is not None]
        estimator._features(np.zeros((1, estimator.n_features_in_)), max(told, default=2))
    return estimator


def load_model(folder: str | os.PathLike[str]) -> ReleasedModel:
    """Return the model that was released into a folder.

    Parameters
    ----------
    folder : str or path
        With ``model.json`` and ``card.json``. Both are read as numbers and texts: nothing in them
        is run.

    Returns
    -------
    ReleasedModel

    Raises
    ------
    ValueError
        If the release is unfinished, or a file of it is not as it was written, by the checksums
        that card and model have of each other. Who changes both consistently is not noticed: a
        checksum is no signature.
    """
    place = Path(folder)
    found = {name: (place / name).read_bytes() for name in _FILES if (place / name).exists()}
    card = json.loads(found["card.json"]) if "card.json" in found else {}
    if "model.json" not in found or card.get("state") != "finished":
        raise ValueError(f"folder must hold a finished release, got folder={str(place)!r}")
    model = json.loads(found["model.json"])
    if model.get("format") != _FORMAT:
        raise ValueError(f"{place / 'model.json'} must have the format {_FORMAT!r}")
    sums = card.pop("sha256", {})
    wrong = [
        name
        for name in ("model.json", "card.html")
        if name in found and sums.get(name) != _sha256(found[name])
    ]
    if wrong or model.get("card") != _sha256(_canonical(card)):
        other = wrong[0] if wrong else "card.json"
        raise ValueError(
            f"files of a release must be as they were written, and {other} has another checksum: "
            f"{str(place)!r}"
        )
    card["sha256"] = sums
    return ReleasedModel(card, Facts.from_json(model["facts"]), _restored(model))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _canonical(card: Mapping[str, Any]) -> bytes:
    """Return a card as bytes that do not depend on how its file is laid out."""
    return json.dumps(json.loads(json.dumps(card)), sort_keys=True).encode()


def _card(
    name: str, fitted: Any, facts: Facts, settings: Mapping[str, Any], told: Sequence[str],
    book: Ledger,
) -> dict[str, Any]:  # fmt: skip
    """Return the release card."""
    return {
        "state": "finished",
        "mechanism": name,
        "estimator": type(fitted).__name__,
        "task": facts.task,
        "guarantee": fitted.privacy_statement_,
        "neighbouring relation": fitted.neighboring_,
        "epsilon": fitted.epsilon_,
        "delta": fitted.delta_,
        "draws of noise, in order (no number here depends on a record)": book.rows(),
        "stated as public": _stated(facts, settings),
        "warnings (from public numbers or from what is released)": list(told),
        "not covered": [
            "A second release from the same table spends its own budget: the epsilons add up.",
            "Bounds, categories and settings that were chosen by looking at the table.",
            "Time and memory; the executed notebook notes the time, so publish this folder only.",
            "Rows that the file itself lost or merged, for example by a quote that never closes.",
            "That the table was refused, if it was: no column may agree in no record with what is "
            "stated of it, and at least one record has a label.",
        ],
        "floating point": _FLOATS,
        "versions": {
            "dplit": dplit.__version__,
            "python": platform.python_version(),
            **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
        },
        "how to load": "from dplit.face_off.release import load_model\n"
        "model = load_model(FOLDER)\nmodel.predict([{COLUMN: VALUE, ...}])",
    }


def _stated(facts: Facts, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a card says is public."""
    return {
        "columns and their order": facts.columns,
        "columns not used": facts.ignore,
        "target (a record without it contributes nothing: the sensitivity is the same)": (
            facts.target or "none"
        ),
        "bounds (values outside are clipped)": facts.bounds,
        "categories (others count as the first, missing ones as '' if that is stated)": (
            facts.categories
        ),
        "classes (a record of none of them contributes nothing)": facts.classes,
        "fill of missing numbers (otherwise the middle of the bounds)": facts.fill,
        "skewed (read on a logarithmic scale)": facts.skewed,
        "decimals and groups of digits in texts": [facts.decimal, facts.thousands],
        "clusters": facts.n_clusters or "none",
        "settings": {**settings} or "defaults, which read public numbers alone",
    }


def _page(card: Mapping[str, Any], picture: str = "") -> str:
    """Return the card, with a picture as an SVG element, as a page that needs nothing else."""

    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            rows = (f"<tr><th>{html.escape(str(k))}</th><td>{shown(v)}</td></tr>"
                    for k, v in value.items())  # fmt: skip
            return f"<table>{''.join(rows)}</table>" if value else "none"
        if isinstance(value, (list, tuple)):
            return "<br>".join(map(shown, value)) or "none"
        return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))

    style = (
        "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
        "table{border-collapse:collapse}td,th{border-top:1px solid #999;padding:.3em .8em;"
        "text-align:left;vertical-align:top}td{white-space:pre-wrap}"
    )
    title = f"Release card: {html.escape(card['mechanism'])}"
    if picture:
        picture = f"<h2>Shapes</h2><figure>{picture}<figcaption>{_SHAPES}</figcaption></figure>"
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{style}</style></head><body><h1>{title}</h1>{shown(card)}{picture}</body></html>\n"
    )


def _check_memory(found: Mechanism, n_records: int, neighboring: str) -> None:
    """Refuse what this machine cannot hold, before the fit: where the number of records is public,
    a release says no more than they.
    """
    needed, there = 8 * found.held * n_records, _memory()
    if neighboring == "replace_one" and needed > there:
        raise TableError(
            f"release must be another mechanism here: {found.name} visits the features of all "
            f"{n_records} records at every step and holds them, about {needed / 1e9:.1f} GB, where "
            f"this machine has {there / 1e9:.1f} GB"
        )


def _memory() -> int:
    """Return the bytes of memory of this machine, or 2^63 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 63


def check_request(
    facts: Facts, name: str, settings: Any = "", neighboring: str = "replace_one"
) -> dict[str, Any]:
    """Return the settings of a release; a wrong request is refused here, before
    a record is read.

    Parameters
    ----------
    facts : Facts
    name : str
        The mechanism; with the empty one the form of the settings alone is checked.
    settings : mapping or str, optional
        Settings of the estimator; a text is JSON.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    """
    told: list[str] = []
    chosen: dict[str, Any] = _parsed("settings", settings, dict, told)
    if told:
        raise TableError(told[0])
    if name:
        nothing = np.empty((0, len(facts.box[0])))
        public = Problem(
            "", facts.task, nothing, nothing, facts.public, facts.data_norm, facts.box,
            facts.indicators,
        )  # fmt: skip
        mechanism(name, facts.task).make(
            public, epsilon=1.0, delta=1e-5, neighboring=neighboring, settings=chosen
        )
    return chosen


def release(
    problem: Problem, facts: Facts, name: str, folder: str | os.PathLike[str], *, epsilon: float,
    delta: float, neighboring: str = "replace_one", settings: Mapping[str, Any] | None = None,
    random_state: RandomState = None,
) -> dict[str, Any]:  # fmt: skip
    """Fit one mechanism to a whole table at the full budget, and write the model and its card.

    Parameters
    ----------
    problem, facts
        The table and what is public about it: that by which it was read.
    name : str
        The mechanism, one of its task.
    folder : str or path
        Receives ``model.json``, ``card.json`` and ``card.html``. A folder that holds a release, a
        whole one or one that is unfinished, is refused: another release costs another budget. It is
        claimed before any noise is drawn, by a card that says that it is unfinished until all is
        written; a release that fails before that leaves nothing.
    epsilon, delta : float
        The budget.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Under "replace_one" the number of records is public and stands in the guarantee.
    settings : mapping or None, default=None
        Settings of the estimator, chosen without this table: numbers, texts or lists of them.
    random_state : int, Generator, RandomState or None, default=None
        None draws the noise from the operating system's entropy. Anything else is for tests and
        voids the guarantee, as the card then says.

    Returns
    -------
    dict
        The card.
    """
    found, chosen = mechanism(name, facts.task), _plain(settings or {})
    epsilon, delta = (
        check_positive("epsilon", epsilon),
        check_probability("delta", delta, zero=True),
    )
    _check_agrees(problem, facts)
    _check_memory(found, len(problem.X), neighboring)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighboring": neighboring}
    _public(found.make(problem, **budget, settings=chosen))
    with ledger() as book, writing(folder, facts, book, epsilon, delta) as write:
        fitted, told = found.fit(problem, **budget, random_state=random_state, settings=chosen)
        return dict(write(found, fitted, chosen, told).card)


def _check_agrees(problem: Problem, facts: Facts) -> None:
    """Refuse facts by which the problem was not encoded: the card would be about another table."""
    if problem.facts is not None:
        mine, given = problem.facts.as_json(), facts.as_json()
        wrong = [name for name in mine if json.dumps(mine[name]) != json.dumps(given[name])]
    else:
        same = {
            "task": problem.task == facts.task,
            "bounds or classes": dict(problem.public) == facts.public,
            "columns": problem.data_norm == facts.data_norm
            and np.array_equal(problem.box, facts.box),
            "categories": tuple(problem.indicators) == facts.indicators,
        }
        wrong = [name for name, equal in same.items() if not equal]
    if wrong:
        raise TableError(
            f"facts must be those by which the problem was read: {', '.join(wrong)} differ"
        )


def _public(model: Any) -> dict[str, Any]:
    """Return the public arguments of an estimator, which can be written as JSON."""
    public = {k: v for k, v in model.get_params().items() if k != "random_state"}
    for name, value in public.items():
        try:
            json.dumps(value, default=_listed)
        except (TypeError, ValueError):
            raise TableError(
                f"settings must be numbers, texts or lists of them, not {name}"
            ) from None
    return public


def _listed(value: Any) -> Any:
    """Return an array as JSON has it; anything else is refused."""
    if not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError
    return value.tolist()


# The folder of a release: claimed before anything is drawn, and finished by a rename.


def _check_new(place: Path) -> None:
    """Refuse a folder that holds a release, or one that is unfinished."""
    if any((place / name).exists() for name in _FILES):
        raise TableError(
            f"output must be a new folder, got output={str(place)!r}, which holds a release, whole "
            "or unfinished: another release from the same table costs another budget"
        )


@contextmanager
def writing(
    folder: str | os.PathLike[str] | None, facts: Facts, book: Ledger, epsilon: float, delta: float
) -> Iterator[Callable[..., ReleasedModel]]:
    """Claim a folder before any noise is drawn, and give what writes a release into it.

    The claim is a card that is created exclusively and says that it is unfinished: of two releases
    into one folder, one is refused here. Room for the model is taken too, so that a full disk is
    found now. What fails before the ``book`` heard a draw leaves nothing; later the card stays, and
    says that the budget may be spent.
    """
    if folder is None:
        yield partial(_write, None, facts, book)
        return
    place = Path(folder)
    _check_new(place)
    draft = {
        "state": _UNFINISHED, "epsilon": epsilon, "delta": delta,
        "stated as public": _stated(facts, {}),
    }  # fmt: skip
    width, classes = len(facts.box[0]), max(1, len(facts.classes))
    mine: list[Path] = []
    try:
        for parent in (place, *place.parents):  # what is made here, the deepest first
            if not parent.exists():
                mine.append(parent)
        place.mkdir(parents=True, exist_ok=True)
        with (place / "card.json").open("xb") as file:
            mine.insert(0, place / "card.json")
            file.write(json.dumps(draft, indent=1).encode())
        with (place / "model.part").open("xb") as file:
            mine.insert(0, place / "model.part")
            file.write(bytes(min(_ROOM * (1 + width * classes), _MOST_ROOM)))
            os.fsync(file.fileno())
    except OSError as error:
        _removed(mine)
        if isinstance(error, FileExistsError):
            _check_new(place)
        raise TableError(
            f"output must be a folder that can be written, with room for a model, got "
            f"output={str(place)!r}: {error.strerror}"
        ) from None
    try:
        yield partial(_write, place, facts, book)
    except Exception:
        if not len(book):
            _removed(mine)
        raise


#: Bytes that are taken for a model, of each encoded column and class, and at most.
_ROOM, _MOST_ROOM = 1 << 16, 1 << 26


def _removed(mine: Sequence[Path]) -> None:
    """Remove files and then folders that were made here, if nobody else has put something there."""
    with suppress(OSError):
        for path in mine:
            path.rmdir() if path.is_dir() else path.unlink()


def _write(
    place: Path | None, facts: Facts, book: Ledger, found: Mechanism, fitted: Any,
    settings: Mapping[str, Any], told: Sequence[str],
) -> ReleasedModel:  # fmt: skip
    """Return a fitted model with its card, as it is written into a folder if there is one."""
    card = _card(found.name, fitted, facts, settings, told, book)
    if place is None:
        return ReleasedModel(card, facts, fitted)
    content = {
        "format": _FORMAT,
        "card": _sha256(_canonical(card)),
        "mechanism": found.name,
        "facts": facts.as_json(),
        "n_features": fitted.n_features_in_,
        "public": _public(fitted),
        "released": _state(fitted, found.released),
    }
    picture = as_svg(draw_shapes(fitted, facts)) if hasattr(fitted, "shapes_") else ""
    model = json.dumps(content, default=_listed).encode()
    card["sha256"] = {"model.json": _sha256(model)}
    page = _page(card, picture).encode()
    card["sha256"]["card.html"] = _sha256(page)
    written = {
        "model.json": model, "card.html": page, "card.json": json.dumps(card, indent=1).encode()
    }  # fmt: skip
    for name, text in written.items():
        part = place / (name.partition(".")[0] + ".part")
        with part.open("r+b" if part.exists() else "xb") as file:  # into the room that was taken
            file.write(text)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place / name)
    return ReleasedModel(card, facts, fitted)
