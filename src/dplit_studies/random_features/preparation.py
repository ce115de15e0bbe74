"""The papers' data prepared as the experiments use them.

Scaling, encoding, groups, splits. From a :class:`dplit.notebook.datasets.Dataset`. No
scaling is private: it takes the data's own extremes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_choice, check_integer, check_real_array, check_rng
from dplit.notebook.datasets.papers import Dataset

_Indices = NDArray[np.intp]

#: Values of the paper's group 1 (the other value is group 2).
_FIRST_GROUP = {"sex": "male", "smoker": "yes", "colour": "red"}


@dataclass(frozen=True)
class _Prepared:
    """Inputs (n, d) and labels (n,) of a regression experiment in [0, 1], names of the columns."""

    X: Array
    y: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class _FairnessData:
    """Inputs of the two models of the fairness experiments, labels and groups.

    ``raw`` (n, d), unscaled numbers and indicators, is for random features; ``scaled`` (n, d + 1),
    min-max columns, indicators and ones, for the linear model. Groups are 0 (the paper's 1) and 1.
    """

    raw: Array
    scaled: Array
    y: Array
    groups: _Indices
    group_names: tuple[str, str]


def _min_max(columns: ArrayLike, groups: ArrayLike | None = None) -> Array:
    """Columns scaled to [0, 1], within each group where given; a constant one becomes 0 there."""
    values = check_real_array("columns", columns)
    members = np.zeros(len(values), dtype=int) if groups is None else np.asarray(groups)
    if members.shape != (len(values),):
        raise ValueError(f"groups must have one entry per row, got shape {members.shape}")
    scaled = np.empty_like(values)
    for group in np.unique(members):
        rows = members == group
        low = values[rows].min(axis=0)
        width = values[rows].max(axis=0) - low
        scaled[rows] = (values[rows] - low) / np.where(width > 0, width, 1.0)
    return scaled


def _one_hot(dataset: Dataset, *, omit: str | None = None) -> tuple[Array, tuple[str, ...]]:
    """One indicator column per value of every categorical column, values sorted, and their names.
    The column ``omit`` becomes ones: what encoding each of its groups on its own makes of it.
    """
    if omit is not None:
        check_choice("omit", omit, dataset.categorical)
    columns, names = [], []
    for column, values in dataset.categorical.items():
        if column == omit:
            columns.append(np.ones(len(values)))
            names.append(f"{column}=own")
            continue
        for value in np.unique(values):
            columns.append((values == value).astype(float))
            names.append(f"{column}={value}")
    if not columns:
        return np.empty((len(dataset.target), 0)), ()
    return np.column_stack(columns), tuple(names)


def prepare(
    dataset: Dataset,
    *,
    colour: str | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> _Prepared:
    """Inputs and labels as in Figures 4 to 6: min-max over all records, one-hot, labels in [0, 1].

    ``colour`` keeps the wines of one colour, which is never an input; it is ignored where the data
    have no such column. With ``bounds``, public ones for every numeric column and "target", values
    are clipped to them and nothing is read from the data but the names of the categories.
    """
    keep = np.ones(len(dataset.target), dtype=bool)
    if colour is not None:
        check_choice("colour", colour, ("red", "white"))
        if "colour" in dataset.categorical:
            keep = dataset.categorical["colour"] == colour
    names, columns = tuple(dataset.numeric_names), dataset.numeric[keep]
    target = dataset.target[keep]
    if bounds is None:
        numeric, y = _min_max(columns), _min_max(target)
    else:
        if missing := {*names, "target"} - bounds.keys():
            raise ValueError(f"bounds must name {', '.join(sorted(missing))}")
        low, high = np.array([bounds[name] for name in (*names, "target")], dtype=float).T
        values = np.clip((np.column_stack([columns, target]) - low) / (high - low), 0.0, 1.0)
        numeric, y = values[:, :-1], values[:, -1]
    if "colour" not in dataset.categorical:
        indicators, extra = _one_hot(dataset)
        numeric, names = np.column_stack([numeric, indicators]), names + extra
    return _Prepared(numeric, y, names)


def sensitive_groups(dataset: Dataset, feature: str) -> tuple[_Indices, tuple[str, str]]:
    """The two groups of "sex", "smoker" or "colour", 0 for the paper's group 1, and their names.

    On the bundled stand-in "smoker" stands for a body mass index above its median and "colour" for
    the column ``sex``.

    >>> from dplit.notebook.datasets.papers import load_medical
    >>> sensitive_groups(load_medical("bundled"), "smoker")[1]
    ('bmi above median', 'bmi below median')
    """
    check_choice("feature", feature, _FIRST_GROUP)
    if dataset.source == "bundled":
        if feature == "smoker":
            bmi = dataset.numeric[:, dataset.numeric_names.index("bmi")]
            return (bmi <= np.median(bmi)).astype(np.intp), ("bmi above median", "bmi below median")
        values = dataset.categorical["sex"]
        return (values != "1").astype(np.intp), ("sex 1", "sex 2")
    if feature not in dataset.categorical:
        raise ValueError(f"feature must be a column of {dataset.name}, got feature={feature!r}")
    values = dataset.categorical[feature]
    first = _FIRST_GROUP[feature]
    other = next(str(value) for value in np.unique(values) if value != first)
    names = (first, other) if feature != "smoker" else ("smoker", "non-smoker")
    return (values != first).astype(np.intp), names


def _fairness_data(
    dataset: Dataset,
    feature: str,
    *,
    labels: str = "group",
    scaling: str = "group",
    encoding: str = "group",
) -> _FairnessData:
    """Inputs, labels and groups of a sensitive feature for the fairness experiments. Labels are
    min-max within each "group" (published code) or over all ("joint"), or divided by their l2
    "norm" (text). Encoding each "group" on its own (code) turns the sensitive column into a
    constant; "full" does not. The colour of a wine is never an input.
    """
    check_choice("labels", labels, ("group", "joint", "norm"))
    check_choice("scaling", scaling, ("group", "joint"))
    check_choice("encoding", encoding, ("group", "full"))
    groups, names = sensitive_groups(dataset, feature)
    own = groups if scaling == "group" else None
    numeric = np.asarray(dataset.numeric, dtype=float)
    omit = feature if encoding == "group" and feature in dataset.categorical else None
    indicators = np.empty((len(numeric), 0))
    if "colour" not in dataset.categorical:
        indicators = _one_hot(dataset, omit=omit)[0]
    if labels == "norm":
        y = dataset.target / np.linalg.norm(dataset.target)
    else:
        y = _min_max(dataset.target, groups if labels == "group" else None)
    ones = np.ones((len(numeric), 1))
    return _FairnessData(
        raw=np.column_stack([numeric, indicators]),
        scaled=np.column_stack([_min_max(numeric, own), indicators, ones]),
        y=np.asarray(y, dtype=float),
        groups=groups,
        group_names=names,
    )


def _split(
    n_test: int | tuple[int, ...], *, groups: ArrayLike, rng: np.random.Generator
) -> tuple[_Indices, _Indices]:
    """Random positions of training and test records, ordered by group; ``n_test`` by group."""
    rng = check_rng(rng)
    members = np.asarray(groups)
    sizes = (n_test,) if isinstance(n_test, (int, np.integer)) else tuple(n_test)
    values = np.unique(members)
    if len(sizes) != len(values):
        raise ValueError(f"n_test must have one entry per group ({len(values)}), got {n_test!r}")
    train, test = [], []
    for value, size in zip(values, sizes, strict=True):
        rows = np.flatnonzero(members == value)
        check_integer("n_test", size, minimum=0)
        if size >= len(rows):
            raise ValueError(f"n_test must be below the group size {len(rows)}, got {size}")
        rows = rng.permutation(rows)
        test.append(rows[:size])
        train.append(rows[size:])
    return np.concatenate(train), np.concatenate(test)
