"""The front door: every estimator and the calibrations, found without importing anything else."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
import warnings
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.base import BaseEstimator, clone

import dplit
from dplit.audit import ledger
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS

ROOT = Path(__file__).resolve().parents[1]


def test_names_are_those_of_their_homes() -> None:
    """Kills a name that another module's object answers to."""
    for name, home in dplit._HOME.items():
        assert getattr(dplit, name) is getattr(import_module(f"dplit.{home}"), name)
    with pytest.raises(AttributeError, match=r"module 'dplit' has no attribute 'gausian_sigma'"):
        dplit.gausian_sigma  # noqa: B018


def test_every_private_estimator_stands_at_the_front_door() -> None:
    found = set()
    for module in pkgutil.walk_packages(dplit.__path__, "dplit."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            for name, item in vars(import_module(module.name)).items():
                fits = inspect.isclass(item) and issubclass(item, BaseEstimator)
                if (
                    fits
                    and not inspect.isabstract(item)
                    and "epsilon" in signature(item).parameters
                ):
                    found.add(name)
    # one releases nothing and stands in front of those that do, one has the budget of another
    around = {"HatFeatures", "PerPerson"}
    assert found | around == {name for name in dplit._HOME if hasattr(getattr(dplit, name), "fit")}


def test_type_checkers_see_the_same_names() -> None:
    stub = (ROOT / "src" / "dplit" / "__init__.pyi").read_text("utf-8")
    told = re.findall(r"from dplit\.([\w.]+) import (\w+) as (\w+)", stub.replace("(\n    ", ""))
    assert all(name == shown for _, name, shown in told)
    assert {name: home for home, name, _ in told} == dplit._HOME


def test_dir_lists_what_the_package_page_documents() -> None:
    page = (ROOT / "book" / "api.md").read_text("utf-8")
    assert "\n## Estimators\n" in page
    section = page.partition("\n## Estimators\n")[2].partition("\n## The rooms\n")[0]
    listed = re.findall(r"~dplit\.[\w.]*\.(\w+)`", section)
    alone = ["NoiseWarning", "TableError"]  # which are no objects of a public module
    assert all(f"`dplit.{name}`" in section for name in alone)
    assert dir(dplit) == sorted([*listed, *alone, "__version__"])


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, dplit; dir(dplit); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class _Held:
    """An array-like that is neither a list nor an array, as a column of a data frame is."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=object).astype(dtype or object)

    def __len__(self) -> int:
        return len(self.values)


@pytest.mark.parametrize("kind", ["list", "objects", "array-like", "series"])
def test_a_number_beyond_the_floats_enters_by_every_door(kind: str) -> None:
    """As the largest float; kills a container that is left to scikit-learn, which raises."""
    rng = stream(0, "door", "data")
    X, y = rng.uniform(-1, 1, (60, 2)).tolist(), rng.uniform(-1, 1, 60).tolist()
    given: dict[str, Any] = {"data_norm": 1.0, "bounds": (-1.0, 1.0), "epsilon": 50.0}
    model = dplit.SufficientStatisticsRegressor(random_state=0, **given)
    expected = model.fit([[1.7e308, 0.0], *X], [1.7e308, *y]).coef_
    rows, labels = [[10**400, 0], *X], [10**400, *y]
    if kind == "objects":
        rows, labels = np.array(rows, dtype=object), np.array(labels, dtype=object)
    elif kind == "array-like":
        rows, labels = _Held(rows), _Held(labels)
    elif kind == "series":
        rows, labels = pandas.DataFrame(rows, columns=["a", "b"]), pandas.Series(labels)
    np.testing.assert_array_equal(model.fit(rows, labels).coef_, expected)


FRAMES = {
    "pandas": lambda X, y: (pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(y)),
    "pandas, nullable": lambda X, y: (
        pandas.DataFrame(X, columns=["a", "b"]).convert_dtypes(),
        pandas.Series(y).convert_dtypes(),
    ),
    "polars": lambda X, y: (polars.DataFrame(X, schema=["a", "b"]), polars.Series(y)),
    "pyarrow": lambda X, y: (pyarrow.table({"a": X[:, 0], "b": X[:, 1]}), pyarrow.array(y)),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_frame_enters_as_its_numbers(name: str, frame: str) -> None:
    """Bit for bit, with its columns' names; kills a door that takes columns for rows."""
    case = ESTIMATORS[name]
    rng = stream(0, "frame", "data")
    X = rng.uniform(-0.5, 0.5, (30, 2))
    y = rng.uniform(-0.5, 0.5, 30) if case.labels is None else np.resize(case.labels, 30)
    model = clone(case.release).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the noise at 30 records
        expected = clone(model).fit(X, y)
        found = model.fit(*FRAMES[frame](X, y))
    assert list(found.feature_names_in_) == ["a", "b"]
    arrays = {k: v for k, v in vars(expected).items() if isinstance(v, np.ndarray)}
    assert arrays
    for attribute, value in arrays.items():
        np.testing.assert_array_equal(getattr(found, attribute), value)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "object"])
def test_a_missing_value_of_a_frame_is_refused(dtype: str) -> None:
    """By a sentence that tells neither its row nor its column."""
    missing = float("nan") if dtype == "float64" else pandas.NA
    X = pandas.DataFrame({"a": [0.5] * 9 + [missing], "b": [0.25] * 10}).astype(dtype)
    model = dplit.SufficientStatisticsRegressor(data_norm=1.0, bounds=(-1.0, 1.0))
    with pytest.raises(
        (TypeError, ValueError), match=r"X must be finite|X .* not 'NAType'"
    ) as told:
        model.fit(X, [0.5] * 10)
    assert not re.search(r"\d", str(told.value).partition("\n")[0])


def test_a_refusal_names_the_argument_and_no_length_of_an_entry() -> None:
    model = dplit.SufficientStatisticsRegressor(data_norm=1.0, bounds=(-1.0, 1.0))
    with pytest.raises(ValueError, match=r"^y must hold a finite number in one record at least"):
        model.fit([[0.0]] * 3, ["a", None, "b"])
    with pytest.raises(TypeError) as found:
        model.fit([[0.0], [1.0], ["a secret of 21 signs"]], [0.0] * 3)
    assert not re.search(r"\d|secret", str(found.value).removeprefix("X must be numeric, got X"))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_warning_of_noise_points_at_the_call(name: str) -> None:
    """Kills a stacklevel that forgets a decorator; most estimators warn at this budget."""
    case = ESTIMATORS[name]
    rng = stream(0, "pointed", "data")
    X = rng.uniform(-0.5, 0.5, (30, 2))
    y = rng.uniform(-0.5, 0.5, 30) if case.labels is None else np.resize(case.labels, 30)
    model = clone(case.release).set_params(epsilon=0.01, random_state=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        model.fit(X, y)
    told = [one.filename for one in found if issubclass(one.category, UserWarning)]
    assert set(told) <= {__file__}
    _WARNED[name] = bool(told)
    if len(_WARNED) == len(ESTIMATORS):
        assert sum(_WARNED.values()) > len(ESTIMATORS) / 2


_WARNED: dict[str, bool] = {}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160, 1e160, 1e300])
def test_what_is_stated_is_small_or_large_and_fits_or_is_refused_before_a_draw(
    name: str, size: float
) -> None:
    """Refused by name, rule and value, or finite; kills squares that overflow, of a norm or of
    frequencies, and checks that come after the noise.
    """
    case, rng = ESTIMATORS[name], stream(0, "test-front-door-sizes", "data")
    X, signs = rng.uniform(-0.3, 0.3, (12, 2)), isinstance(case.labels, tuple)
    y = np.tile([-1.0, 1.0], 6) if signs else rng.uniform(-0.2, 0.2, 12)
    for parameter in {"data_norm", "bounds", "box", "gamma"} & case.release.get_params().keys():
        if case.release.get_params()[parameter] is None and parameter != "gamma":
            continue
        stated = (-size, size) if parameter in ("bounds", "box") else size
        model, refusal = clone(case.release).set_params(**{parameter: stated}), ""
        with warnings.catch_warnings(), ledger() as book:
            warnings.simplefilter("ignore", UserWarning)  # of too much noise
            try:
                model.fit(X, *(() if case.labels is None else (y,)))
            except ValueError as error:
                refusal = str(error)
        if refusal:
            assert re.search(rf"^{parameter} must .*got ", refusal), refusal
            assert not len(book)
        for attribute in ("coef_", "intercept_", "cluster_centers_", "covariances_", "components_"):
            assert np.isfinite(getattr(model, attribute, 0.0)).all(), (parameter, attribute)


_SIZES = (5e-324, 1e-310, 1e-155, 1e-50, 1e20, 1e50, 1e155, 1e300, 1.7e308)
_SHARES = (5e-324, 1e-310, 1e-300, 1e-155, 1e-100, 1e-14, 1.0 - 2.0**-53)
#: Numbers at and beyond the ends of what a parameter may be.
EXTREMES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("epsilon", "alpha", "clip", "learning_rate", "radius"), _SIZES),
    **dict.fromkeys(("regularization", "smoothing", "margin", "width", "min_variance"), _SIZES),
    **dict.fromkeys(("accuracy", "inflation"), _SIZES),
    **dict.fromkeys(("delta", "rho", "tau", "beta", "count_share"), _SHARES),
}
_DOORS = ("predict", "predict_proba", "decision_function", "transform")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_extreme_numbers_fit_or_are_refused_before_a_draw(name: str) -> None:
    """By name, rule and value, or all is finite; kills quotients by what underflows, squares that
    overflow, a penalty that is lost beside the features, and checks that come after the noise.
    """
    case, rng = ESTIMATORS[name], stream(0, "test-front-door-extremes", "data")
    X, signs = rng.uniform(-0.3, 0.3, (12, 2)), isinstance(case.labels, tuple)
    y = np.tile([-1.0, 1.0], 6) if signs else rng.uniform(-0.2, 0.2, 12)
    calls = [({parameter: value}) for parameter, values in EXTREMES.items() for value in values]
    own = case.release.get_params()
    if own.get("delta"):  # where it is least, a small epsilon has most noise
        calls += [{"epsilon": epsilon, "delta": 1.1e-14} for epsilon in EXTREMES["epsilon"]]
    for stated in (call for call in calls if call.keys() <= own.keys()):
        model, refusal = clone(case.release).set_params(random_state=0, **stated), ""
        with warnings.catch_warnings(), ledger() as book:
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # of too much noise
            try:
                model.fit(X, *(() if case.labels is None else (y,)))
            except ValueError as error:
                refusal = str(error)
            if refusal:
                said = rf"({'|'.join(stated)}|margin|accuracy).* must .*({'|'.join(stated)})?.*got "
                assert name.endswith("small alpha") or re.match(said, refusal), (stated, refusal)
                assert not len(book), (stated, refusal)
                continue
            found = {door: getattr(model, door)(X) for door in _DOORS if hasattr(model, door)}
        found = {k: v for k, v in found.items() if np.asarray(v).dtype.kind == "f"}
        found |= {k: v for k, v in vars(model).items() if isinstance(v, (float, np.ndarray))}
        for said, numbers in found.items():  # what noise is worth, and a penalty without a signal
            if said not in ("alpha_", "entry_epsilon_", "row_epsilon_", "classes_"):
                assert np.isfinite(numbers).all(), (stated, said)


_OTHER = ("delta", "neighboring", "fit_intercept", "average", "n_restarts", "n_starts")


@pytest.mark.parametrize("name", {n.split()[0]: n for n in reversed(ESTIMATORS)}.values())
@pytest.mark.parametrize("wrong", ["x", np.array([1.0, 2.0]), -1], ids=str)
def test_what_is_no_parameter_is_named_before_a_draw(name: str, wrong: Any) -> None:
    """Kills comparisons with what may be an array or a text, and checks by who decodes."""
    case = ESTIMATORS[name]
    own = case.release.get_params()
    X, y = np.zeros((12, 2)), np.resize([0.2, 0.1] if case.labels is None else case.labels, 12)
    for parameter in (one for one in _OTHER if one in own):
        model = clone(case.release).set_params(**{parameter: wrong})
        with ledger() as book, pytest.raises((TypeError, ValueError), match=f"^{parameter} must "):
            model.fit(X, y)
        assert not len(book)
