"""One fit for others to use: a model as public numbers in JSON, and a card that says what it is."""

from __future__ import annotations

import html
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import dplit
from dplit._estimators import RandomState
from dplit.audit import Ledger, ledger
from dplit.baselines.additive import Shape
from dplit.face_off.mechanisms import Mechanism, mechanism
from dplit.face_off.pictures import as_svg, draw_shapes
from dplit.face_off.sources import TableError
from dplit.face_off.tables import Facts, Problem, _parsed, load_problem
from dplit.margin.kernels import DirectFeatures

_FORMAT = "dplit model 1"
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
        one.
        """
        held = list(rows)
        columns = {c: [row.get(c) for row in held] for c in self.facts.columns}
        return np.asarray(self.estimator.predict(self.facts.encode(columns)))

    def predict_file(self, file: Any) -> np.ndarray:
        """Return the predictions for the rows of a file or table with the same columns."""
        return np.asarray(self.estimator.predict(load_problem(file, self.facts, check=False).X))

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
    """
    place = Path(folder)
    model = json.loads((place / "model.json").read_text(encoding="utf-8"))
    if model.get("format") != _FORMAT:
        raise ValueError(f"{place / 'model.json'} must have the format {_FORMAT!r}")
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    return ReleasedModel(card, Facts.from_json(model["facts"]), _restored(model))


def _card(
    name: str, fitted: Any, facts: Facts, settings: Mapping[str, Any], told: Sequence[str],
    book: Ledger,
) -> dict[str, Any]:  # fmt: skip
    """Return the release card."""
    return {
        "mechanism": name,
        "estimator": type(fitted).__name__,
        "task": facts.task,
        "guarantee": fitted.privacy_statement_,
        "neighbouring relation": fitted.neighboring_,
        "epsilon": fitted.epsilon_,
        "delta": fitted.delta_,
        "draws of noise, in order (no number here depends on a record)": book.rows(),
        "stated as public": {
            "columns and their order": facts.columns,
            "columns not used": facts.ignore,
            "target": facts.target or "none",
            "bounds (values outside are clipped)": facts.bounds,
            "categories (others count as the first)": facts.categories,
            "classes (others count as the first)": facts.classes,
            "fill of missing numbers (otherwise the middle of the bounds)": facts.fill,
            "skewed (read on a logarithmic scale)": facts.skewed,
            "clusters": facts.n_clusters or "none",
            "settings": {**settings} or "defaults, which read public numbers alone",
        },
        "warnings (from public numbers or from what is released)": list(told),
        "not covered": [
            "A second release from the same table spends its own budget: the epsilons add up.",
            "Bounds, categories and settings that were chosen by looking at the table.",
            "Time and memory; the executed notebook notes the time, so publish this folder only.",
            "Rows that the file itself lost or merged, for example by a quote that never closes.",
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
    facts: Facts, name: str, settings: str = "", neighboring: str = "replace_one"
) -> dict[str, Any]:
    """Return the settings of a release, written as JSON; a wrong request is refused here, before
    a record is read.

    Parameters
    ----------
    facts : Facts
    name : str
        The mechanism; with the empty one the form of the settings alone is checked.
    settings : str, optional
        Settings of the estimator, as JSON.
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
        The table and what is public about it.
    name : str
        The mechanism, one of its task.
    folder : str or path
        Receives ``model.json``, ``card.json`` and ``card.html``. A folder that holds a release is
        refused: another release costs another budget.
    epsilon, delta : float
        The budget.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Under "replace_one" the number of records is public and stands in the guarantee.
    settings : mapping or None, default=None
        Settings of the estimator, chosen without this table.
    random_state : int, Generator, RandomState or None, default=None
        None draws the noise from the operating system's entropy. Anything else is for tests and
        voids the guarantee, as the card then says.

    Returns
    -------
    dict
        The card.
    """
    place, chosen = _new_folder(folder), dict(settings or {})
    found = mechanism(name, facts.task)
    _check_memory(found, len(problem.X), neighboring)
    with ledger() as book:
        fitted, told = found.fit(
            problem, epsilon=epsilon, delta=delta, neighboring=neighboring,
            random_state=random_state, settings=chosen,
        )  # fmt: skip
    return dict(_write(place, found, fitted, facts, chosen, told, book).card)


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder that holds no release yet."""
    place = Path(folder)
    if (place / "card.json").exists():
        raise TableError(
            f"output must be a new folder, got output={str(place)!r}, which holds a release: "
            "another release from the same table costs another budget"
        )
    return place


def _write(
    place: Path | None, found: Mechanism, fitted: Any, facts: Facts, settings: Mapping[str, Any],
    told: Sequence[str], book: Ledger,
) -> ReleasedModel:  # fmt: skip
    """Return a fitted model with its card, as it is written into a folder if there is one."""
    card = _card(found.name, fitted, facts, settings, told, book)
    if place is None:
        return ReleasedModel(card, facts, fitted)
    public = {k: v for k, v in fitted.get_params().items() if k != "random_state"}
    content = {
        "format": _FORMAT,
        "mechanism": found.name,
        "facts": facts.as_json(),
        "n_features": fitted.n_features_in_,
        "public": public,
        "released": _state(fitted, found.released),
    }
    shaped = hasattr(fitted, "shapes_")
    picture = as_svg(draw_shapes(fitted, facts)) if shaped else ""
    texts = {
        "model.json": json.dumps(content, default=lambda item: np.asarray(item).tolist()),
        "card.json": json.dumps(card, indent=1),
        "card.html": _page(card, picture),
    }
    place.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (place / file).write_text(text, encoding="utf-8")
    return ReleasedModel(card, facts, fitted)
