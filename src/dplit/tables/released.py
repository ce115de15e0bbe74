"""A released model as others load it: public numbers in JSON, checked by their digests."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dplit._checks import check_interval
from dplit.additive import AdditiveShape, PairShape
from dplit.margins.feature_maps import DirectFeatures
from dplit.mechanisms._draws import passing
from dplit.tables._chunks import named
from dplit.tables._pictures import draw_shapes
from dplit.tables.facts import TableFacts, _encoded_rows, check_columns_there, read_rows
from dplit.tables.mechanisms import mechanism

_FORMAT = "dplit model 2"

_FILES = ("model.json", "card.json", "card.html")

_EXACT = (
    "What is drawn has exactly the law of the proof: every released number is a whole multiple of "
    "a public step, decided to the last bit, with bits of the operating system. What is computed "
    "from these numbers afterwards, in floating point, tells no more. A fixed random_state voids "
    "this, as the guarantee says."
)

_SHAPES = (
    "What each column, or pair of columns, adds to the prediction, drawn from the released numbers "
    "alone; a band is twice the standard deviation of the noise by itself."
)


@dataclass(frozen=True)
class ReleasedModel:
    """A model that was released, with the public facts that it needs to read rows.

    Attributes
    ----------
    card : mapping
        The release card: mechanism, guarantee, what was public, caveats, versions.
    facts : TableFacts
    estimator : object
        The fitted estimator; of its attributes it has those that were released.

    Examples
    --------
    >>> from dplit import release
    >>> table = {"age": np.linspace(20.0, 80.0, 1000), "cost": np.linspace(0.0, 9.0, 1000)}
    >>> model = release(table, target="cost", bounds={"age": (20, 80), "cost": (0, 9)},
    ...                 epsilon=1.0, delta=1e-6)
    >>> model.card["epsilon"], model.facts.columns, len(model.predict([{"age": 50.0}]))
    (1.0, ('age',), 1)
    """

    card: Mapping[str, Any]
    facts: TableFacts
    estimator: Any
    _model: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        said = self.card
        return (
            f"ReleasedModel({said['mechanism']} for {self.facts.target or self.facts.task}, "
            f"epsilon {said['epsilon']:g}, delta {said['delta']:g}; card, predict, plot)"
        )

    def differs_from_releases(self) -> tuple[str, ...]:
        """Return which released attributes are not, bit for bit, what the releases make of them.

        The release has written down each number and choice that left its mechanisms. The estimator
        is fitted again, to as many empty records, with these in the place of its own; what it
        computes from them is post-processing, which anybody may repeat. Linear algebra of another
        machine may round otherwise, and the attributes that this touches are named.

        Returns
        -------
        tuple of str
            Names of attributes; none where the model is what its releases make on this machine.

        Raises
        ------
        ValueError
            If the model was not loaded, or was chosen among several; or if public numbers were
            drawn for it too, such as random features, of which the model holds the values.
        """
        model = self._model
        if model is None or model.get("releases") is None:
            raise ValueError(
                "model must be loaded from a folder that release wrote: of others no releases are "
                "written down"
            )
        found = mechanism(model["mechanism"], model["facts"]["task"])
        if found.drawn or model["public"].get("projection") is not None:
            raise ValueError(
                f"model cannot be computed again: {found.name} draws public numbers too, and the "
                "model holds these as they were"
            )
        estimator = found.estimator(**model["public"])
        rows = np.zeros((model["n_records"] or 1, model["n_features"]))
        label = model["public"].get("classes", [0.0])[0]
        left = [_of_json(one) for one in model["releases"]]
        with warnings.catch_warnings(), passing(lambda _: left.pop(0)):
            warnings.simplefilter("ignore")  # it has warned when it was released
            estimator.fit(rows, np.full(len(rows), label))
        again = json.loads(json.dumps(_state(estimator, found.released), default=list))
        return tuple(name for name, value in model["released"].items() if again[name] != value)

    def predict(
        self, rows: Iterable[Mapping[str, Any]], *, threshold: float | None = None
    ) -> np.ndarray:
        """Return the prediction for every row, given as mapping of column to value, or for a table.

        Values are read as those of the table were: clipped, filled, unknown categories as the first
        one. A row that lacks a column is refused by the name of the column; a cell may be missing.
        Of a column that holds something, and in no row what was stated of it, a warning tells.

        Parameters
        ----------
        rows : iterable of mapping, table, or path
            Rows, a table of pandas, polars, pyarrow or dask, a mapping of names to columns, or a
            file.
        threshold : float or None, default=None
            Of two classes: above which score (:meth:`decision_function`) a row is of the second
            class; None is 0. It is public: state it from costs and from what is known elsewhere.
            One that was found on private records is another release of them.

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from dplit import release
        >>> ages = np.linspace(20, 80, 4000)
        >>> table = {"age": ages, "ill": np.where(ages > 70, "yes", "no")}
        >>> model = release(table, target="ill", bounds={"age": (20, 80)}, classes=("no", "yes"),
        ...     epsilon=1.0, delta=1e-6, mechanism="additive", settings={"loss": "logistic"})
        >>> rows = [{"age": 22}, {"age": 60}, {"age": 79}]
        >>> model.predict(rows).tolist(), model.predict(rows, threshold=-50.0).tolist()
        (['no', 'no', 'yes'], ['yes', 'yes', 'yes'])
        >>> bool(model.decision_function(rows)[0] < model.decision_function(rows)[2])
        True
        >>> model.predict_proba(rows).shape
        (3, 2)
        """
        above = self._checked(threshold)
        return self._predicted(self._encoded(rows), above)

    def predict_file(
        self, file: Any, *, separator: str | None = None, threshold: float | None = None
    ) -> np.ndarray:
        """Return the predictions for the rows of a file or table, whose target need not be there.

        It is read as :func:`~dplit.tables.facts.load_problem` reads tables, by the decimals and
        groups that were stated for the model; a column that is not there is refused by its name.
        ``threshold`` is that of :meth:`predict`.
        """
        above = self._checked(threshold)
        return self._predicted(self._encoded(file, separator, file=True), above)

    def decision_function(
        self, rows: Iterable[Mapping[str, Any]], *, separator: str | None = None
    ) -> np.ndarray:
        """Scores of a classifier: of two classes one, which grows with the second class.

        Scores rank records where no class is ever more probable than the frequent one.

        Parameters
        ----------
        rows, separator
            As of :meth:`predict` and :meth:`predict_file`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            For more than two classes a score each, in the order of ``estimator.classes_``.

        Raises
        ------
        TypeError
            If the model is no classifier.
        """
        if not hasattr(self.estimator, "decision_function"):
            name = type(self.estimator).__name__
            raise TypeError(f"decision_function needs a classifier, which has scores, got {name}")
        return np.asarray(self.estimator.decision_function(self._encoded(rows, separator)))

    def predict_proba(
        self, rows: Iterable[Mapping[str, Any]], *, separator: str | None = None
    ) -> np.ndarray:
        """Probabilities of the classes by a model of the logistic or softmax loss.

        These are a logistic model's: "additive" and "objective_perturbation" with the setting
        ``{"loss": "logistic"}``, "additive" in more than two classes, and "noisy_gradient". They
        are **not calibrated**: penalties pull them together, noise pulls them apart. Of the hinge
        and of margins there are scores only (:meth:`decision_function`).

        Parameters
        ----------
        rows, separator
            As of :meth:`predict` and :meth:`predict_file`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``estimator.classes_``; rows add to 1.

        Raises
        ------
        TypeError
            If the model has no probabilities.
        """
        if not hasattr(self.estimator, "predict_proba"):
            name, loss = type(self.estimator).__name__, getattr(self.estimator, "loss_", "another")
            raise TypeError(
                "predict_proba needs a classifier of the logistic loss (settings={'loss': "
                f"'logistic'}} where there is a choice), got {name} of loss {loss}: "
                "decision_function has its scores, if it is a classifier"
            )
        return np.asarray(self.estimator.predict_proba(self._encoded(rows, separator)))

    def _encoded(
        self, rows: Any, separator: str | None = None, *, file: bool = False
    ) -> np.ndarray:
        """Return rows, a table or a file as the estimator reads them."""
        whole = isinstance(rows, (str, os.PathLike, Mapping)) or hasattr(rows, "columns")
        if file or whole:
            return read_rows(rows, self.facts, separator=separator)
        held = [{named(name): value for name, value in row.items()} for row in rows]
        for row in held:
            check_columns_there(list(row), self.facts.columns)
        columns = {c: [row[c] for row in held] for c in self.facts.columns}
        return _encoded_rows([columns], self.facts)

    def _checked(self, threshold: float | None) -> float | None:
        """Return a threshold that the model can have; it is refused before a row is read."""
        if threshold is None:
            return None
        known = len(getattr(self.estimator, "classes_", ()))
        if known != 2 or not hasattr(self.estimator, "decision_function"):
            what = f"{known} classes" if known else "no classes"
            what = "two, without scores" if known == 2 else what
            raise ValueError(f"threshold must be None but for two classes, got a model of {what}")
        return check_interval("threshold", threshold, -math.inf, math.inf)

    def _predicted(self, encoded: np.ndarray, above: float | None) -> np.ndarray:
        if above is None:
            return np.asarray(self.estimator.predict(encoded))
        second = self.estimator.decision_function(encoded) > above
        return np.asarray(self.estimator.classes_[second.astype(int)])

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
        names = [(c, v) for c in self.facts.columns for v in self.facts.categories.get(c, [None])]
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


def _as_json(released: Any) -> dict[str, Any]:
    """Return released numbers as JSON has them, with all their digits."""
    numbers = np.asarray(released)
    parts = [numbers.real, numbers.imag] if numbers.dtype.kind == "c" else [numbers]
    return {"shape": list(numbers.shape), "parts": [part.ravel().tolist() for part in parts]}


def _of_json(told: Mapping[str, Any]) -> Any:
    """Return what :func:`_as_json` wrote."""
    parts = [np.array(part).reshape(told["shape"]) for part in told["parts"]]
    return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


def _array(numbers: Any) -> np.ndarray | None:
    return None if numbers is None else np.array(numbers)


def _shape(columns: Any, knots: Any, values: Any, band: Any) -> AdditiveShape | PairShape:
    """Return the shape of a column, or of a pair, of which the columns are two lists."""
    drawn = np.array(values), _array(band)
    if not isinstance(columns[0], list):
        return AdditiveShape(tuple(columns), _array(knots), *drawn)
    one, other = columns
    return PairShape((tuple(one), tuple(other)), (_array(knots[0]), _array(knots[1])), *drawn)


def _restored(model: Mapping[str, Any]) -> Any:
    """Return an estimator with the attributes of a released one; nothing of the file is run."""
    found = mechanism(model["mechanism"], model["facts"]["task"])
    estimator = found.estimator(**model["public"])
    for name in found.released:
        value = model["released"][name]
        if name == "shapes_":
            value = tuple(_shape(*parts) for parts in value)
        elif name == "features_":
            value = DirectFeatures(np.array(value["frequencies"]), 1.0, value["double"])
        elif isinstance(value, list):
            value = tuple(value) if name in ("bounds_", "_ends") else np.array(value)
        setattr(estimator, name, value)
    estimator.n_features_in_ = model["n_features"]
    if "shapes_" in found.released:  # the map from rows to features, which is public
        alone = [shape for shape in estimator.shapes_ if isinstance(shape, AdditiveShape)]
        told = [len(shape.knots) for shape in alone if shape.knots is not None]
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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from dplit import release
    >>> table = {"age": np.linspace(20.0, 80.0, 1000), "cost": np.linspace(0.0, 9.0, 1000)}
    >>> with TemporaryDirectory() as place:
    ...     model = release(table, target="cost", bounds={"age": (20, 80), "cost": (0, 9)},
    ...                     epsilon=1.0, delta=1e-6, folder=f"{place}/cost")
    ...     again = load_model(f"{place}/cost")
    >>> bool((again.predict({"age": [50.0]}) == model.predict({"age": [50.0]})).all())
    True
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
    return ReleasedModel(card, TableFacts.from_json(model["facts"]), _restored(model), model)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _canonical(card: Mapping[str, Any]) -> bytes:
    """Return a card as bytes that do not depend on how its file is laid out."""
    return json.dumps(json.loads(json.dumps(card)), sort_keys=True).encode()
