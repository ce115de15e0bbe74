"""Common tasks: tables with public facts stated from their descriptions, never from records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn import datasets

from dplit._bounds import check_box
from dplit._checks import check_choice
from dplit.features import orthonormal_blocks
from dplit.notebook.datasets.classification import CANCER_RANGES
from dplit.notebook.datasets.digits import load_fours_and_nines
from dplit.notebook.datasets.papers import load_medical, load_wine
from dplit.tables.facts import Array, Problem

#: Ranges from the description of the wine data: eleven measurements.
_WINE = np.array(
    [
        (3.8, 15.9),
        (0.08, 1.58),
        (0, 1.66),
        (0.6, 65.8),
        (0.009, 0.611),
        (1, 289),
        (6, 440),
        (0.987, 1.039),
        (2.72, 4.01),
        (0.22, 2.0),
        (8.0, 14.9),
    ]
).T

#: Values of its texts, from the description of the medical data.
_MEDICAL = {
    "sex": ("female", "male"),
    "smoker": ("no", "yes"),
    "region": ("northeast", "northwest", "southeast", "southwest"),
}


def _problem(
    name: str,
    task: str,
    X: Array,
    y: Any,
    public: Mapping[str, Any],
    ranges: Any = (-1.0, 1.0),
    texts: Sequence[tuple[np.ndarray, Sequence[str]]] = (),
) -> Problem:
    """Bring numbers into [-1, 1] by stated ranges; texts become an indicator of each value."""
    rows = check_box(tuple(ranges), X.shape[1]).unit(X)
    indicators = [column == value for column, values in texts for value in values]
    rows = np.column_stack([rows, *indicators])
    low = np.concatenate([np.full(X.shape[1], -1.0), np.zeros(len(indicators))])
    labels = np.zeros(len(X)) if y is None else np.asarray(y)
    norm = float(X.shape[1] + len(texts)) ** 0.5  # one indicator of each text is 1
    ends = np.cumsum([X.shape[1], *(len(values) for _, values in texts)]).tolist()
    groups = tuple(tuple(range(a, b)) for a, b in pairwise(ends))
    return Problem(name, task, rows, labels, public, norm, (low, np.ones(len(low))), groups)


def _diabetes(source: str) -> Problem:
    X, y = datasets.load_diabetes(return_X_y=True)
    return _problem("diabetes", "regression", X, y, {"bounds": (25.0, 350.0)}, (-0.2, 0.2))


def _wine(source: str) -> Problem | None:
    table = load_wine(source)
    if table.source != "paper":
        return None
    return _problem(
        "wine", "regression", table.numeric, table.target, {"bounds": (0.0, 10.0)}, _WINE
    )


def _medical(source: str) -> Problem | None:
    table = load_medical(source)
    if table.source != "paper":
        return None
    texts = [(table.categorical[name], values) for name, values in _MEDICAL.items()]
    ranges = np.array([(18.0, 64.0), (15.0, 55.0), (0.0, 5.0)]).T
    return _problem(
        "medical cost",
        "regression",
        table.numeric,
        table.target,
        {"bounds": (1e3, 6.5e4)},
        ranges,
        texts,
    )


def _friedman(source: str) -> Problem:
    X, y = datasets.make_friedman1(5000, noise=1.0, random_state=0)
    return _problem("Friedman", "regression", X, y, {"bounds": (0.0, 30.0)}, (0.0, 1.0))


def _cancer(source: str) -> Problem:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return _problem("breast cancer", "classification", X, y, {"classes": (0, 1)}, CANCER_RANGES)


def _four_nine(source: str) -> Problem:
    X, y = datasets.load_digits(return_X_y=True)
    kept = np.isin(y, (4, 9))
    return _problem(
        "digits 4/9", "classification", X[kept], y[kept], {"classes": (4, 9)}, (0.0, 16.0)
    )


def _parity(source: str) -> Problem:
    X, y = datasets.load_digits(return_X_y=True)
    return _problem("digits parity", "classification", X, y % 2, {"classes": (0, 1)}, (0.0, 16.0))


def _moons(source: str) -> Problem:
    X, y = datasets.make_moons(2000, noise=0.2, random_state=0)
    ranges = ((-2.0, -1.5), (3.0, 2.0))
    return _problem("moons", "classification", X, y, {"classes": (0, 1)}, ranges)


def _mnist(source: str) -> Problem | None:
    digits = load_fours_and_nines(source)
    if digits.source == "bundled":
        return None
    images = digits.images.reshape(len(digits.images), -1)[:2000]
    y = digits.labels[:2000]
    return _problem("MNIST 4/9", "classification", images, y, {"classes": (-1, 1)}, (0.0, 1.0))


def _blobs(source: str) -> Problem:
    centers = np.random.default_rng(0).uniform(-0.8, 0.8, (6, 4))
    X, _ = datasets.make_blobs(20_000, centers=centers, cluster_std=0.08, random_state=0)
    return _problem("blobs", "clustering", X, None, {"n_clusters": 6})


def _digits(source: str) -> Problem:
    X, _ = datasets.load_digits(return_X_y=True)
    return _problem("digits", "clustering", X, None, {"n_clusters": 10}, (0.0, 16.0))


def _factors(source: str) -> Problem:
    """Three strong directions of ten, in the unit ball."""
    rng = np.random.default_rng(0)
    scales = np.concatenate([[1.0, 0.8, 0.6], np.full(7, 0.1)]) / 4.0
    X = (rng.standard_normal((5000, 10)) * scales) @ orthonormal_blocks(10, 10, rng=rng).T
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    whole = (np.full(10, -1.0), np.ones(10))
    return Problem("factors", "components", X, np.zeros(5000), {"n_components": 3}, 1.0, whole)


#: Name -> loader; it returns None where the data are not here.
TASKS: dict[str, Callable[[str], Problem | None]] = {
    "diabetes": _diabetes,
    "medical cost": _medical,
    "wine": _wine,
    "Friedman": _friedman,
    "breast cancer": _cancer,
    "digits 4/9": _four_nine,
    "digits parity": _parity,
    "moons": _moons,
    "MNIST 4/9": _mnist,
    "blobs": _blobs,
    "digits": _digits,
    "factors": _factors,
}


def load_task(name: str, source: str = "auto") -> Problem | None:
    """Return one of the ``TASKS``, or None where its data are not here.

    ``source`` is that of :func:`dplit.notebook.datasets.load_wine`. Synthetic tables are the
    same in every run: what is repeated are splits and noise.
    """
    check_choice("source", source, ("auto", "paper", "bundled"))
    return TASKS[check_choice("name", name, TASKS)](source)
