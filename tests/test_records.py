"""The door of records, labels and persons: no entry changes how another is read.

Nothing here is random but for fixed seeds: fits with equal seeds are compared bit by bit.
"""

from __future__ import annotations

import contextlib
import math
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from dplit import (
    HatFeatures,
    ObjectivePerturbationClassifier,
    PrivateLloyd,
    PrivatePCA,
    SufficientStatisticsRegressor,
)
from dplit._base import spawn_generators
from dplit._bounds import check_box
from dplit._checks import as_numbers
from dplit._entries import entries, is_missing
from dplit._labels import class_places, label_numbers, stated_classes
from dplit._persons import person_names
from dplit.entries.moments import EntryMomentsRegressor
from dplit.linear.objective import objective_perturbation
from dplit.linear.objective_classifier import objective_penalty
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.sketching.additive_noise import sketch_parts
from dplit.sketching.estimators import CompressiveKMeans
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap, sketch, sketch_persons
from dplit.streams import stream
from dplit.tables import fits, summaries
from dplit.tables.entry_summaries import entry_grid, fit_entry_summary
from dplit.tables.reading import numbers
from dplit_studies.audits.cases import ESTIMATORS

# so few records that every estimator warns of its noise
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: One of each kind: the first case of every estimator that has labels, and of those that have none.
_FIRST = {name.split()[0]: case for name, case in reversed(ESTIMATORS.items())}
LABELLED = {name: case for name, case in _FIRST.items() if case.labels is not None}
ENTRIES = {name for name, case in _FIRST.items() if case.relation == "replace_entry"}

#: Labels that say nothing, or that are neither a number nor a class.
ODD: list[Any] = [
    None,
    math.nan,
    "",
    " ",
    "x",
    b"x",
    pandas.NA,
    pandas.NaT,
    Decimal("nan"),
    Decimal("snan"),
    1j,
    [1],
    date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    np.timedelta64(5, "ns"),
    math.inf,
    np.float32("nan"),
    object(),
]


def _data(name: str, n: int = 12) -> tuple[np.ndarray, list[Any]]:
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (n, 2))
    y = X[:, 0] if not isinstance(LABELLED[name].labels, tuple) else np.where(X[:, 0] > 0, 1, -1)
    return X, y.tolist()


def _seen(model: Any, X: Any, y: Any = None) -> dict[str, Any]:
    """Return all fitted attributes of a fit with a fixed seed."""
    fitted = clone(model).set_params(random_state=3).fit(X, y)
    return {name: value for name, value in vars(fitted).items() if name.endswith("_")}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return repr(sorted(one.items())) == repr(sorted(other.items())) and all(
        np.array_equal(value, other[name])
        for name, value in one.items()
        if isinstance(value, np.ndarray)
    )


@pytest.mark.parametrize("name", LABELLED)
def test_an_odd_label_is_as_if_there_were_none_and_changes_no_other(name: str) -> None:
    """Kills a list that becomes texts, objects or floats for the sake of one entry of it."""
    model = LABELLED[name].release
    X, y = _data(name)
    plain = np.array(y, float)
    plain[4] = np.nan
    expected = _seen(model, X, plain)
    changed = X.copy()
    changed[4] = [0.1, -0.3]  # of a record without a label nothing counts
    assert _same(_seen(model, changed, plain), expected)
    for odd in ODD:
        labels = [*y[:4], odd, *y[5:]]
        found = np.empty(len(y), object)
        found[:] = labels
        for held in (labels, tuple(labels), found, pandas.Series(found)):
            assert _same(_seen(model, X, held), expected), odd
    kept = _seen(model, X, np.array(y, float))
    assert not _same(_seen(model, X, [-y[0], *y[1:]]), kept)


@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_the_same_numbers_in_every_container_and_type(name: str) -> None:
    """Kills labels in the precision in which they came: float16 made R2 of -56."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    model = LABELLED[name].release
    X, y = _data(name)
    y = [round(4.0 * label) / 4.0 or 0.25 for label in y]  # exact in every float
    expected = _seen(model, X, np.array(y))
    missing = _seen(model, X, np.array([*y[:-1], np.nan]))
    same: list[Any] = [
        y,
        np.array(y, np.float16),
        np.array(y, np.float32),
        np.array(y, np.longdouble),
        pandas.Series(y, dtype="Float64"),
        pandas.Series(y, dtype="double[pyarrow]"),
        polars.Series(y),
        pyarrow.array(y),
        pyarrow.chunked_array([y[:5], y[5:]]),
        [Decimal(label) for label in y],
        [Fraction(label) for label in y],
    ]
    for held in same:
        assert _same(_seen(model, X, held), expected), type(held)
    gap: list[Any] = [
        pandas.Series([*y[:-1], None], dtype="Float64"),
        pandas.Series([*y[:-1], None]),
        pandas.Series([*y[:-1], None], dtype="double[pyarrow]"),
        polars.Series([*y[:-1], None]),
        pyarrow.array([*y[:-1], None]),
        np.ma.masked_array(y, [False] * (len(y) - 1) + [True]),
    ]
    for held in gap:
        assert _same(_seen(model, X, held), missing), type(held)


@pytest.mark.parametrize("name", LABELLED)
def test_where_no_label_can_be_read_the_fit_is_refused(name: str) -> None:
    """One bit, which is told; kills labels that all count as the first class."""
    model, (X, y) = LABELLED[name].release, _data(name)
    classes = is_classifier(model)
    for odd in ODD:
        if odd != [1]:  # a column of numbers, if all are
            with pytest.raises(ValueError, match="in one record at least"):
                clone(model).fit(X, [odd] * len(y))
    told = [np.array(y).astype("datetime64[D]"), np.array(y).astype("timedelta64[ns]")]
    for held in [*told, pandas.Series(pandas.to_datetime(["2020-01-01"] * len(y), utc=True))]:
        with pytest.raises(ValueError, match="dates are no labels"):
            clone(model).fit(X, held)
    if classes:
        for held in ([str(label) for label in y], np.array(y).astype("S")):
            with pytest.raises(ValueError, match="one of the stated classes"):
                clone(model).fit(X, held)


def test_labels_agree_with_classes_exactly_and_with_no_others() -> None:
    large, near = 2**53 + 1, 2.0**53
    cases: list[tuple[Any, tuple[Any, ...], list[int]]] = [
        ([0, 1, 1.0, True, "1", b"1", 2], (0, 1), [0, 1, 1, 1, -1, -1, -1]),
        ([large, near, float(large)], (0, large), [1, -1, -1]),
        (np.array([near, large - 1]), (0, large), [-1, -1]),
        (np.array([large, large - 1]), (0.0, near), [-1, 1]),
        (np.array([2**63 + 1, 2**63], np.uint64), (2**63, 2**63 + 1), [1, 0]),
        (np.array([True, False]), (0, 1), [1, 0]),
        (np.array([1, 0]), (False, True), [1, 0]),
        (np.array([0.1], np.float32), (0.1, 1.0), [-1]),
        (["a", "a\0", "b "], ("a", "b"), [0, -1, -1]),
        (np.array(["a", "b"]), ("a\0", "b"), [-1, 1]),
        (np.array([b"a"]), ("a", "b"), [-1]),
        ([Fraction(1, 2), Decimal("0.5"), np.float16(0.5)], (0.5, 1.0), [0, 0, 0]),
        (np.array([300, -1], np.int16).astype(np.uint8), (300, -1), [-1, -1]),
    ]
    for labels, classes, expected in cases:
        told = stated_classes(classes, binary=True).tolist()
        assert class_places(entries("y", labels), told).tolist() == expected, labels


def test_stated_classes_keep_their_kind() -> None:
    """Kills ("no", 1) that become texts, and two integers that become one float."""
    for classes in (("no", 1), (2**53 + 1, 2.0**53), ("a", "a\0"), (True, 2), (b"a", "a")):
        assert stated_classes(classes, binary=True).tolist() == list(classes)
    for wrong in ((1, 1.0), (1,), (1, None), (1, math.nan), ("", "a"), (1, 2, 3), 7, ([1], [2])):
        with pytest.raises(ValueError, match="classes must be two labels, got classes="):
            stated_classes(wrong, binary=True)


def test_without_stated_classes_missing_labels_are_no_class() -> None:
    model = ObjectivePerturbationClassifier(data_norm=1.0, random_state=0)
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (6, 2))
    for held in (
        ["a", None, "b", "", "a", math.nan],
        [1, None, 2, pandas.NA, 1, math.nan],
        [1.0, math.nan, 2.0, math.nan, 1.0, math.nan],
    ):
        fitted = clone(model).fit(X, held)
        assert fitted.classes_.tolist() in (["a", "b"], [1, 2])
    with pytest.raises(ValueError, match=r"unless classes is given, got none$"):
        clone(model).fit(X, [None] * 6)
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(model).fit(X, np.linspace(0.1, 0.6, 6))


def test_what_is_missing_is_one_thing() -> None:
    missing = [
        None,
        math.nan,
        pandas.NA,
        pandas.NaT,
        np.datetime64("NaT"),
        "",
        " ",
        b"",
        Decimal("nan"),
        Decimal("snan"),
        np.float16("nan"),
    ]
    assert all(map(is_missing, missing))
    assert not any(map(is_missing, [0, False, "no", "nan", [], np.zeros(2), object(), math.inf]))
    found = label_numbers("y", [*missing, "x", 10**400, -(10**400), "0.5", True, math.inf])
    largest = np.finfo(float).max
    np.testing.assert_array_equal(found, [np.nan] * 12 + [largest, -largest, 0.5, 1.0, np.nan])


META: dict[str, Callable[[Any], Any]] = {
    "one against the rest": OneVsRestClassifier,
    "stacking": lambda model: StackingClassifier([("m", model)], LogisticRegression(), cv=2),
    "bagging": lambda model: BaggingClassifier(model, 2, bootstrap=False, random_state=0),
    "voting": lambda model: VotingClassifier([("m", model)]),
    "one against one": OneVsOneClassifier,
}


@pytest.mark.parametrize("name", META)
def test_a_meta_estimator_that_encodes_labels_is_loud(name: str) -> None:
    """Kills the accuracy of one half, in silence, of labels that all count as the first class."""
    X = stream(0, "records", "data").uniform(-1, 1, (40, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = ObjectivePerturbationClassifier(
        data_norm=1.0, classes=("no", "yes"), epsilon=1e4, random_state=0
    )
    with pytest.raises(ValueError, match="one of the stated classes"):
        META[name](model).fit(X, y)
    told = META[name](clone(model).set_params(classes=(0, 1))).fit(X, y)
    assert told.score(X, y) > 0.8


def test_a_bag_into_which_a_record_is_drawn_twice_is_refused() -> None:
    """It counts records by their weights, 2 among them: no statement covers what comes twice. Kills
    the estimator without weights, to which such a bag repeats records in silence.
    """
    X = stream(0, "records", "data").uniform(-1, 1, (40, 2))
    model = ObjectivePerturbationClassifier(data_norm=1.0, classes=(0, 1))
    with pytest.raises(ValueError, match="sample_weight must be 40 numbers in"):
        BaggingClassifier(model, 2, random_state=0).fit(X, X[:, 0] > 0)


@contextmanager
def _assuming_finite() -> Iterator[None]:
    with sklearn.config_context(assume_finite=True):
        yield


@pytest.mark.parametrize("name", _FIRST)
def test_finiteness_is_asked_whatever_scikit_learn_was_told(name: str) -> None:
    """Kills the NaN of one record in all coefficients."""
    case = _FIRST[name]
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (12, 2))
    y = None if case.labels is None else np.where(X[:, 0] > 0, 1.0, -1.0)
    for odd in (math.nan, math.inf):
        broken = X.copy()
        broken[3, 1] = odd
        with _assuming_finite():
            with pytest.raises(ValueError, match="X must be finite"):
                clone(case.release).fit(broken, y)
            fitted = clone(case.release).fit(X, y)
            for method in ("predict", "transform", "decision_function"):
                if hasattr(fitted, method):
                    with pytest.raises(ValueError, match="X must be finite"):
                        getattr(fitted, method)(broken)
            for array in vars(fitted).values():
                if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                    assert np.isfinite(array).all()


def test_dates_and_durations_are_no_numbers() -> None:
    """Kills nanoseconds since 1970, alone in a frame; and NaT, which was -9.2e18."""
    polars = pytest.importorskip("polars")
    days = pandas.date_range("2020-01-01", periods=4)
    ones = np.ones(4)
    spans = [timedelta(hours=k) for k in range(4)]
    cases: list[Any] = [
        pandas.DataFrame({"day": days}),
        pandas.DataFrame({"day": days - days[0]}),
        pandas.DataFrame({"day": days, "x": ones}),
        pandas.DataFrame({"day": days.tz_localize("UTC")}),
        pandas.DataFrame({"day": days.to_period("D")}),
        pandas.DataFrame({"day": spans, "x": ones}),
        days.to_numpy()[:, None],
        (days - days[0]).to_numpy()[:, None],
        [[day] for day in days],
        [[np.datetime64("2020-01-01"), 1.0]] * 4,
        [[np.timedelta64(5, "ns"), 1.0]] * 4,
        [[np.timedelta64(5, "ns"), 1]] * 4,
        np.array([[np.timedelta64(5, "ns"), 1.0]] * 4, object),
        [[date(2020, 1, 1)]] * 4,
        polars.DataFrame({"day": [datetime(2020, 1, 1)] * 4}),
        polars.DataFrame({"day": spans}),
        [[pandas.NaT, 1.0]] * 4,
    ]
    for model in (PrivateLloyd(2, bounds=(-1, 1)), HatFeatures(box=(-1, 1))):
        for records in cases:
            with pytest.raises((TypeError, ValueError)):
                clone(model).fit(records)
    with pytest.raises(TypeError, match="must be numeric"):
        sketch(pandas.DataFrame({"day": days}), SketchMap("fourier", [[1.0]]))
    with pytest.raises(TypeError, match="must be numeric"):
        as_numbers("X", np.array([np.timedelta64(5, "ns")], object))


def test_what_is_masked_is_not_there() -> None:
    hidden = np.ma.masked_array([[0.1, 9.9]], [[False, True]])
    with pytest.raises(ValueError, match="X must be finite"):
        PrivateLloyd(1, bounds=(-1, 1)).fit(hidden)


# Persons.


def test_no_two_persons_become_one_and_none_two() -> None:
    """Kills the way through float64, where ids above 2**53 collapse, and through texts."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    large = [2**53 + k for k in range(4)]
    whole: list[Any] = [
        large,
        np.array(large),
        pandas.Series(large, dtype="Int64"),
        polars.Series(large),
        pandas.Series(large, dtype="int64[pyarrow]"),
        pyarrow.array(large),
        tuple(large),
        np.array(large, object),
        [np.int64(k) for k in large],
        pandas.Index(large),
    ]
    for held in whole:
        found = person_names("persons", held)
        assert (found.dtype, found.tolist()) == (np.int64, large)
    texts = ["a", "a\0", "nan", "1"]
    for held in (
        texts,
        pandas.Series(texts, dtype=object),
        pyarrow.array(texts),
        polars.Series(texts),
    ):
        assert person_names("persons", held).tolist() == texts
    refused: list[Any] = [
        ["ann", math.nan],
        [1, 1, 2, "1"],
        [True, 1],
        [1, None],
        [1.0, 2.0],
        ["a", ""],
        ["a", b"a"],
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([1, 2], np.uint64),
        [2**63, 1],
        pandas.Series([1, None], dtype="Int64"),
        pandas.Series([1, None], dtype="UInt64"),
        pandas.Series([1, 2], dtype="UInt64"),
        pandas.Series([1, None], dtype="int64[pyarrow]"),
        polars.Series([1, None]),
        pyarrow.array([1, None]),
        np.array(["2020"], "datetime64[D]"),
        pandas.Series(["a", None], dtype="string"),
        pandas.Series([1.0, 2.0]),
    ]
    rule = r"persons must hold integers up to int64, or texts, none of them missing$"
    for held in refused:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(TypeError, match=rule):
                person_names("persons", held)


def test_persons_of_every_container_make_the_same_sketch() -> None:
    polars, dask = pytest.importorskip("polars"), pytest.importorskip("dask.dataframe")
    X = stream(0, "records", "data").uniform(-1, 1, (6, 2))
    who = [2**60 + k // 2 for k in range(6)]
    fourier = SketchMap("fourier", [[1.0, 2.0], [0.5, -1.0]])
    expected = sketch_persons(X, who, fourier)
    assert expected.count == 3
    column = pandas.Series(who, dtype="int64[pyarrow]")
    for held in (column, polars.Series(who), dask.from_pandas(column, npartitions=2)):
        np.testing.assert_array_equal(sketch_persons(X, held, fourier).sum, expected.sum)
    model = CompressiveKMeans(1, bounds=(-1, 1), n_frequencies=4, random_state=0)
    assert "one person" in model.fit(X, persons=polars.Series(who)).privacy_statement_


# Bounds that can be read in two ways.


def test_bounds_of_two_columns_that_can_be_misread_are_refused() -> None:
    """Kills [(0, 1), (10, 20)], meant as a pair for each column, read as lowest and highest."""
    lows, highs = np.array([0.0, 1.0]), np.array([10.0, 20.0])
    for pairs in (
        [(0, 1), (10, 20)],
        ((0, 1), (10, 20)),
        np.array([[0, 1], [10, 20]]),
        [lows, (10, 20)],
        [[0, 1], [10, 20]],
    ):
        with pytest.raises(ValueError, match="can be read in two ways"):
            check_box(pairs, 2)
    assert check_box((lows, highs), 2).high.tolist() == [10.0, 20.0]
    assert check_box(([-1, -1], [1, 1]), 2).low.tolist() == [-1.0, -1.0]
    assert check_box(([0, 1, 2], [10, 20, 30]), 3).high.tolist() == [10.0, 20.0, 30.0]
    with pytest.raises(ValueError, match="box of two columns can be read in two ways"):
        HatFeatures(box=[(0, 1), (10, 20)]).fit(np.zeros((1, 2)))


# Summaries.


def test_a_record_without_a_label_adds_nothing_to_a_summary() -> None:
    X = stream(0, "records", "data").uniform(-1, 1, (40, 3))
    y: list[Any] = X[:, 0].tolist()
    y[3], y[7], y[11] = None, math.nan, math.inf
    gone = (
        np.delete(X, [3, 7, 11], axis=0),
        np.delete(np.array(y, object), [3, 7, 11]).astype(float),
    )
    for n, intercept in ((0, True), (1, False)):
        model = SufficientStatisticsRegressor(
            data_norm=1.0, bounds=(-1.0, 1.0), fit_intercept=intercept, random_state=n
        )
        table = {f"x{k}": X[:, k] for k in range(3)} | {"y": pandas.Series(y, dtype=object)}
        table["y"] = np.array([math.nan if label is None else label for label in y])
        named = {"columns": ["x0", "x1", "x2"], "target": "y"}
        pair = summaries.summarise((X, y), model)
        for found in (pair, summaries.summarise(table, model, **named)):
            np.testing.assert_array_equal(found.gram, summaries.summarise(gone, model).gram)
            assert (found.count, found.labels) == (40, 37)
            fitted = fits.fit_summary(clone(model), found)
            direct = clone(model).fit(X, y)
            np.testing.assert_array_equal(fitted.coef_, direct.coef_)
            assert fitted.intercept_ == direct.intercept_
        nothing = summaries.summarise((X, [None] * 40), model)
        with pytest.raises(ValueError, match="at least one record with a label"):
            fits.fit_summary(clone(model), nothing)
    people = {
        "who": ["a", "a", "b", "c"],
        "x": [0.1, 0.2, 0.3, 0.4],
        "y": [math.nan, 1.0, 1.0, math.nan],
    }
    told = {"columns": ["x"], "target": "y", "group": "who", "rows_each": 1}
    found = summaries.summarise(people, model, **told)
    assert (found.labels, found.persons.tolist()) == (2, ["a", "b", "c"])


def test_a_missing_response_leaves_its_record_out_of_the_moments_of_entries() -> None:
    """Responses are public there, and so is which are missing: 1 and -1, on the grid."""
    X = stream(0, "records", "data").uniform(-1, 1, (40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[:2] = np.nan
    y[2:] *= np.where(np.cumsum(y[2:]) == np.inf, 1.0, 1.0)
    model = EntryMomentsRegressor(bounds=(-1.0, 1.0), fit_intercept=False, random_state=0)
    grid = entry_grid(model, n_columns=2, responses=(-1.0, 1.0))
    fitted = fit_entry_summary(clone(model), summaries.summarise((X, y), grid))
    kept = clone(model).fit(X[2:], y[2:])
    np.testing.assert_allclose(fitted.coef_, kept.coef_, rtol=1e-12)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, kept.coef_)
    assert "which are missing" in fitted.privacy_statement_


def test_imaginary_parts_of_a_column_are_not_dropped() -> None:
    with pytest.raises(TypeError, match="column 'x' must hold numbers"):
        numbers("x", [1 + 2j, None], 0.0)


# Generators, budgets and sizes at their ends.


def test_a_generator_of_bits_from_a_key_gives_streams_too() -> None:
    make = lambda: np.random.Generator(np.random.Philox(key=1))  # noqa: E731
    public, noise = spawn_generators(make(), 2)
    assert (public.random(4) != noise.random(4)).all()
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    found = objective_perturbation(X, y, epsilon=1.0, data_norm=1.0, regularization=1.0, rng=make())
    assert np.isfinite(found.coef).all()
    fourier = SketchMap("fourier", [[1.0]])
    plan = plan_release(fourier, epsilon=1.0, count="withheld", n_shares=2)
    assert sketch_parts([X[:, :1], X[:, :1]], fourier, plan=plan, rng=make()).noise is not None
    first, second = (PrivatePCA(1, data_norm=1.0, random_state=make()).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.moments_, second.moments_)


def test_a_budget_too_small_for_double_precision_is_refused_and_not_searched_for_ever() -> None:
    told: Any = {"n_records": 100, "dimension": 3, "delta": 0.0, "loss": "huberised_hinge"}
    with pytest.raises(ValueError, match="epsilon must be between 1e-50 and"):
        objective_penalty(epsilon=1e-200, smoothing=0.5, **told)
    assert objective_penalty(epsilon=1e-50, smoothing=1e-50, **told) < 1e100


def test_phases_need_two_records() -> None:
    model = PrivateMarginClassifier(data_norm=1.0, solver="phased", classes=(0, 1))
    with pytest.raises(ValueError, match="n_samples must be at least 2, got n_samples=1"):
        model.fit([[1.0, 0.0]], [1])


def test_a_data_frame_of_dask_is_sketched_where_it_lies() -> None:
    dask = pytest.importorskip("dask.dataframe")
    X = stream(0, "records", "data").uniform(-1, 1, (20, 2))
    fourier = SketchMap("fourier", [[1.0, 2.0], [0.5, -1.0]])
    parts = dask.from_pandas(pandas.DataFrame(X, columns=["a", "b"]), npartitions=3)
    np.testing.assert_array_equal(sketch(parts, fourier).sum, sketch(X, fourier).sum)


def test_distances_to_centres_take_the_memory_of_a_block() -> None:
    """Kills n k d numbers at once: 82 MB here, of which 5 are the result."""
    n, k, d = 40_000, 16, 16
    X = stream(0, "records", "data").uniform(-1, 1, (n, d))
    model = PrivateLloyd(k, bounds=(-1, 1), n_iter=1, random_state=0).fit(X)
    tracemalloc.start()
    found = model.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    some = slice(0, n, 997)
    gaps = X[some, None, :] - model.cluster_centers_
    np.testing.assert_array_equal(found[some], np.linalg.norm(gaps, axis=2))


# A fit is whole or none.

EVERY = {
    **{name: case.release for name, case in ESTIMATORS.items()},
    "hats": HatFeatures(box=(-1, 1)),
}


def _fitted_names(model: Any) -> set[str]:
    kept = set(clone(model).get_params(deep=False))
    return {name for name in vars(model) if name not in kept}


def _interrupted(model: Any, X: Any, y: Any, at: int) -> int:
    """Fit, interrupted at one line of the package; return how many lines were passed."""
    passed = 0

    def each_line(frame: Any, event: str, _: Any) -> Any:
        nonlocal passed
        if event == "line":
            passed += 1
            if passed == at:
                raise KeyboardInterrupt
        return each_line

    def each_call(frame: Any, *_: Any) -> Any:
        return each_line if "/dplit/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        model.fit(X, y)
    finally:
        sys.settrace(before)
    return passed


@pytest.mark.parametrize("name", EVERY)
def test_an_interrupted_fit_is_none_and_leaves_no_guarantee(name: str) -> None:
    """At lines from the first to the last: kills epsilon of one fit beside numbers of another."""
    case = ESTIMATORS.get(name)
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (12, 2))
    y = None if case is None or case.labels is None else np.where(X[:, 0] > 0, 1.0, -1.0)
    model = clone(EVERY[name])
    whole = _interrupted(model, X, y, 0)
    names = _fitted_names(model)
    assert {"n_features_in_"} <= names
    lines = np.unique(np.r_[np.geomspace(1, whole, 9), whole - np.arange(8)].astype(int))
    for at in lines[lines > 0].tolist():
        with contextlib.suppress(KeyboardInterrupt):
            _interrupted(model, X, y, at)
        assert _fitted_names(model) in (set(), names), at
    with pytest.raises((TypeError, ValueError)):
        model.fit(X * np.nan, y)
    assert not _fitted_names(model)


def test_a_refit_that_fails_in_the_middle_states_nothing() -> None:
    """Kills a model that was fitted at 1000 and says 0.1."""
    X = stream(0, "records", "data").uniform(-1, 1, (50, 2))
    model = CompressiveKMeans(1, bounds=(-1, 1), n_frequencies=8, epsilon=1000.0, random_state=0)
    assert model.fit(X).epsilon_ == 1000.0
    model.set_params(epsilon=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="hides 1 components"):
            model.fit(X)
    assert not _fitted_names(model)


def test_a_fit_keeps_what_the_user_set_beside_parameters() -> None:
    model = PrivatePCA(1, data_norm=1.0, random_state=0).set_output(transform="pandas")
    model.note = "mine"
    X = pandas.DataFrame(np.eye(4), columns=list("abcd"))
    assert model.fit(X) is model
    assert (model.note, list(model.transform(X))) == ("mine", ["privatepca0"])
    model.fit(X.to_numpy())  # no names any more
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("name", _FIRST)
def test_nothing_that_is_set_after_the_fit_changes_a_prediction(name: str) -> None:
    """Kills a new ``data_norm`` by which records to be predicted are clipped."""
    case = _FIRST[name]
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (12, 2))
    y = None if case.labels is None else np.where(X[:, 0] > 0, 1.0, -1.0)
    new = np.vstack([X, [[3.0, -4.0], [30.0, 1.0]]])
    model = clone(case.release).set_params(random_state=0).fit(X, y)
    calls = [
        call
        for call in ("predict", "decision_function", "transform", "predict_proba", "score_samples")
        if hasattr(model, call)
    ]
    before = [getattr(model, call)(new) for call in calls]
    for parameter in model.get_params(deep=False):
        setattr(model, parameter, object())
    assert [call for call in calls if hasattr(model, call)] == calls
    for call, expected in zip(calls, before, strict=True):
        np.testing.assert_array_equal(getattr(model, call)(new), expected)


def test_a_loss_that_is_set_after_the_fit_makes_no_probabilities() -> None:
    X = stream(0, "records", "data").uniform(-0.4, 0.4, (12, 2))
    model = ObjectivePerturbationClassifier(data_norm=1.0, classes=(0, 1), random_state=0)
    model.fit(X, X[:, 0] > 0)
    model.set_params(loss="logistic")
    assert not hasattr(model, "predict_proba")
