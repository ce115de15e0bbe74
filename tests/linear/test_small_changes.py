"""Small changes of the rivals' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplit import additive
from dplit.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dplit.components import PrivatePCA
from dplit.linear._descent import Schedule
from dplit.linear._moments import moment_sensitivity
from dplit.linear._schedules import MOST_STEPS, paced
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.objective import _excess_delta, _largest_noise, loss_slopes, objective_noise
from dplit.linear.objective_classifier import _LOUD, _warn_if_noise_rules
from dplit.linear.regressors import SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.streams import stream
from dplit.tables import summaries
from dplit.tables._files import parts_of
from dplit.tables.grids import merge_summaries
from dplit.tables.reading import _kind, check_columns, numbers, persons
from dplit.tables.summaries import summarise

MODEL = SufficientStatisticsRegressor(bounds=(-1.0, 1.0), data_norm=1.0)
TABLE = {"a": np.full(3, 0.5), "b": np.full(3, 0.25)}


def test_momentum_has_a_largest_value() -> None:
    """Kills a time without a bound, and a larger bound."""
    steps, length, momentum = paced(1e9, rate=1.8)
    assert (steps, length) == (MOST_STEPS, 1.8)
    assert momentum == pytest.approx(1.0 - 16 * MOST_STEPS / MOST_STEPS**2, abs=1e-12)


@pytest.mark.parametrize(("loss", "slope"), [("logistic", 0.5), ("huberised_hinge", 1.0)])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_noise_is_compared_with_the_longest_gradient_of_the_loss(
    loss: Any, slope: float, delta: float
) -> None:
    """Kills the slope of the other loss, and the length of the other noise."""
    noise = objective_noise(epsilon=1.0, delta=delta, data_norm=1.0, jacobian=0.0)
    length = 9 / noise if delta == 0.0 else 3.0 * noise
    needed = _LOUD * length / slope
    asked = {"dimension": 9, "epsilon": 1.0, "delta": delta, "loss": loss}
    _warn_if_noise_rules(n_records=int(needed) + 1, **asked)
    with pytest.warns(UserWarning, match="longest possible gradient"):
        _warn_if_noise_rules(n_records=int(needed) - 1, **asked)


def test_parts_of_a_collection_of_dask_are_delayed() -> None:
    """Kills parts that are said to be at hand."""

    class Collection:
        def to_delayed(self) -> list[str]:
            return ["one", "two"]

    assert parts_of(Collection()) == (["one", "two"], True)


def test_texts_of_arrow_are_texts_whatever_their_offsets() -> None:
    """Kills a rule that wants all types of text at once."""
    pyarrow = pytest.importorskip("pyarrow")
    for kind in (pyarrow.string(), pyarrow.large_string()):
        assert _kind(pyarrow.array(["a"], kind))[0] == "U"
    assert _kind(pyarrow.array(["a"]).dictionary_encode())[0] == "U"
    assert _kind(pyarrow.array([b"a"]))[0] == "O"


@pytest.mark.parametrize("dimension", [1, 20, 500])
def test_noise_is_longer_than_its_bound_with_probability_1e_30(dimension: int) -> None:
    """By the laws of the lengths, Gamma and chi. Kills a bound that forgets the dimension."""
    pure, gaussian = _largest_noise(0.5, 0.0, dimension), _largest_noise(0.5, 1e-5, dimension)
    assert stats.gamma.sf(pure * 0.5, dimension) < 1e-30
    assert stats.chi.sf(gaussian / 0.5, dimension) < 1e-30


def test_texts_of_arrow_are_no_numbers() -> None:
    """Kills columns of Arrow that count as plain lists."""
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match="must hold numbers"):
        numbers("a", pyarrow.array([["x"]]))


def test_objects_of_numpy_are_no_numbers() -> None:
    """A list of objects is read, an array of them is refused. Kills either rule for both."""
    assert numbers("a", [1, 2.5]).tolist() == [1.0, 2.5]
    with pytest.raises(TypeError, match="must hold numbers"):
        numbers("a", np.array([1, 2.5], object))


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.3, 1.0, 3.0, 7.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_noise_of_the_objective_is_rounded_up(epsilon: float, delta: float) -> None:
    """Delta at the standard deviation that is returned is never above the one that was asked for.
    Kills a root that is taken as the solver leaves it."""
    noise = objective_noise(epsilon=epsilon, delta=delta, data_norm=0.5, jacobian=0.0)
    spent = float(gaussian_delta(epsilon=epsilon, sigma=noise))
    assert spent + 2.0 * _excess_delta(1.0 / noise, epsilon) <= delta


def test_a_replaced_record_moves_a_schedule_twice_as_far() -> None:
    """With twice the budget's noise a schedule is that of the other relation. Kills the factor of
    the other relation."""
    one = NoisyGradientClassifier(neighboring="add_remove", public_size=1000)
    two = NoisyGradientClassifier(neighboring="replace_one")
    spread = np.full(12, 0.3)
    assert two._schedule(1000, 2, spread)[:4] != one._schedule(1000, 2, spread)[:4]
    assert two._schedule(2000, 2, spread)[:4] == pytest.approx(one._schedule(1000, 2, spread)[:4])


def test_a_summary_knows_the_ends_of_its_labels() -> None:
    """In one block, in several, and merged. Kills the other end, and that of one block alone."""
    X, y = np.full((6, 1), 0.5), np.array([0.5, -0.25, 0.0, 0.75, -0.5, 0.25])
    table = {"a": X[:, 0], "b": y}
    whole = summarise(table, MODEL, columns=["a"], target="b")
    low, high = whole.ends
    assert low / high == pytest.approx(-0.5 / 0.75)
    assert summarise(table, MODEL, columns=["a"], target="b", batch_rows=2).ends == (low, high)
    parts = [{name: values[k : k + 3] for name, values in table.items()} for k in (0, 3)]
    found = [summarise(part, MODEL, columns=["a"], target="b") for part in parts]
    assert merge_summaries(found).ends == (low, high)


@pytest.mark.parametrize(("columns", "moved"), [(1, 1.0), (2, 2**0.5)])
def test_a_replaced_record_moves_one_moment_by_one(columns: int, moved: float) -> None:
    """Kills the change of two columns for one, which wastes a third of the accuracy."""
    model = PrivatePCA(n_components=1, data_norm=1.0, neighboring="replace_one", random_state=0)
    model.fit(np.full((4000, columns), 0.3))
    assert model.sigma_ == pytest.approx(
        float(gaussian_sigma(epsilon=model.epsilon, delta=model.delta, sensitivity=moved)), rel=1e-4
    )


@pytest.mark.parametrize(("norm", "bound"), [(0.5, 0.5), (0.5, 2.0), (2.0, 1.0), (2.0, 5.0)])
def test_two_records_attain_the_sensitivity_of_moments(norm: float, bound: float) -> None:
    """Moments of features and label, of x x' and y x, for a record and its neighbour: the distance
    over angle and labels. Kills a case that begins at another bound."""
    angles = np.linspace(0.0, np.pi, 2001)
    gram = norm**2 * np.sqrt(2.0) * np.sin(angles)
    cross = np.maximum(
        2.0 * bound * norm * np.sin(angles / 2), 2.0 * bound * norm * np.cos(angles / 2)
    )
    attained = float(np.sqrt(gram**2 + cross**2).max())
    stated = moment_sensitivity(data_norm=norm, label_bound=bound, neighboring="replace_one")
    assert attained <= stated * (1 + 1e-12)
    assert stated <= attained * (1 + 1e-5)


@pytest.mark.parametrize("distributed", [False, True])
def test_parts_go_to_workers_where_that_is_asked_for(
    distributed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a request that is not passed on."""
    asked = []

    def run(by_dask: bool, work: Any, tasks: list[Any]) -> list[Any]:
        asked.append(by_dask)
        return [work(*task) for task in tasks]

    monkeypatch.setattr(summaries, "_run", run)
    summarise(TABLE, MODEL, columns=["a"], target="b", distributed=distributed)
    assert asked == [distributed]


def test_no_part_is_an_empty_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a folder without a row group that is refused."""
    monkeypatch.setattr(summaries, "_run", lambda by_dask, work, tasks: [])
    assert summarise(TABLE, MODEL, columns=["a"], target="b").count == 0


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_slopes_and_curvatures_are_those_of_the_loss(loss: str) -> None:
    """By central differences, away from corners. Kills each inverse and each sign."""
    margins, h, step = np.array([-0.7, 0.65, 0.9, 1.1, 1.35, 2.0]), 0.3, 1e-5
    low, middle, high = (loss_slopes(margins + k * step, loss, h) for k in (-1, 0, 1))
    assert middle[1] == pytest.approx((high[0] - low[0]) / (2 * step), abs=1e-8)
    assert middle[2] == pytest.approx((high[1] - low[1]) / (2 * step), abs=1e-8)


def test_every_name_of_a_column_is_a_text() -> None:
    """Kills a list of which one name is a text."""
    with pytest.raises((TypeError, ValueError), match="columns must"):
        check_columns(["a", 3])  # type: ignore[list-item]


def test_bands_are_as_wide_as_the_noise() -> None:
    """Kills a sum for a product, and noise of one coordinate for that of a record."""
    model = PrivateAdditiveRegressor(box=(-1, 1), bounds=(-1, 1))
    model._features(np.zeros((2, 3)), 5)
    plan = Schedule(0.5, 20, 0.5, 0.2, 100, "replace_one")
    one, three = (model._bands(scale, plan) for scale in (0.1, 0.3))
    assert len(one) == 3
    for narrow, wide in zip(one, three, strict=True):
        assert np.all(narrow > 0)
        np.testing.assert_allclose(wide, 3 * narrow)


def test_a_replaced_record_moves_the_schedule_of_shapes_twice_as_far() -> None:
    """As above, for additive models. Kills the factor of the other relation."""
    asked = {"box": (-1, 1), "bounds": (-1, 1), "public_size": None}
    one, two = (
        PrivateAdditiveRegressor(**asked | {"neighboring": relation, "public_size": size})
        for relation, size in (("add_remove", 3000), ("replace_one", None))
    )
    for model in (one, two):
        model._features(np.zeros((2, 3)), 5)
    assert two._schedule(6000)[:4] == pytest.approx(one._schedule(3000)[:4])
    assert two._schedule(3000)[:4] != one._schedule(3000)[:4]


def test_a_file_that_is_not_there_is_named() -> None:
    """Kills a path that is opened unseen."""
    with pytest.raises(FileNotFoundError, match="source must be a Parquet file"):
        parts_of("nowhere.parquet")


def test_curvatures_of_unit_rows_add_up_to_at_most_one() -> None:
    """The constant has one half. Kills curvatures of rows of another length."""
    model = PrivateAdditiveRegressor(box=(-1, 1), bounds=(-1, 1))
    model._features(np.zeros((2, 3)), 5)
    assert model._spread()[-1] == 0.5
    assert 0.5 < model._spread().sum() <= 1.0 + 1e-12


def test_bands_follow_the_width_of_the_bounds_and_not_where_they_lie() -> None:
    """Kills half of the upper end for half of the width."""
    rng = stream(1, "bands of shifted labels", "data")
    X, y = rng.uniform(-1, 1, (60, 2)), rng.uniform(-0.25, 0.25, 60)
    found = []
    for shift in (0.0, 0.75):
        model = PrivateAdditiveRegressor(
            box=(-1, 1), bounds=(shift - 0.25, shift + 0.25), random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sixty records drown in the noise
            found.append(model.fit(X, y + shift))
    for one, two in zip(*(model.shapes_ for model in found), strict=True):
        np.testing.assert_allclose(one.band, two.band)


@pytest.mark.parametrize("model", [SufficientStatisticsRegressor, object()])
def test_what_has_no_moments_is_refused_by_name(model: Any) -> None:
    """A class in place of a model. Kills either condition for both."""
    with pytest.raises(TypeError, match="model must be a SufficientStatisticsRegressor"):
        summarise(TABLE, model, columns=["a"], target="b")


def test_persons_of_arrow_are_numbers_or_texts() -> None:
    """Kills a conversion that may not copy, and whole numbers that are refused."""
    pyarrow = pytest.importorskip("pyarrow")
    assert persons("p", pyarrow.array([3, 1])).tolist() == [3, 1]
    assert numbers("n", pyarrow.array([2**60 + 1])).tolist() == [2.0**60]
    assert persons("p", pyarrow.array(["b", "a"])).tolist() == ["b", "a"]
    with pytest.raises(TypeError, match="none of them missing"):
        persons("p", pyarrow.array([3, None]))


@pytest.mark.parametrize(("columns", "panels", "shown"), [(1, 1, 1), (5, 8, 5)])
def test_every_shape_has_a_panel(columns: int, panels: int, shown: int) -> None:
    """Kills rows of panels rounded down, and a lone panel that is no array."""
    rng = stream(0, "panels", "data")
    X = rng.uniform(-1.0, 1.0, (400, columns))
    model = PrivateAdditiveRegressor(
        epsilon=50.0, delta=1e-5, box=(-1.0, 1.0), bounds=(-1.0, 1.0), random_state=0
    )
    axes = model.fit(X, X[:, 0]).plot().axes
    assert len(axes) == panels
    assert sum(ax.get_visible() for ax in axes) == shown


def test_two_scores_become_one_by_their_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills the second score alone, in coefficients or intercept."""

    class Fitted:
        epsilon_, delta_, neighboring_ = 1.0, 1e-5, "replace_one"
        coef_, intercept_ = np.array([[1.0], [4.0]]), np.array([2.0, 7.0])

        def __init__(self, **_: Any) -> None: ...

        def _fit(self, *_: Any, **__: Any) -> Fitted:
            return self

    monkeypatch.setattr(additive, "NoisyGradientClassifier", Fitted)
    monkeypatch.setattr(PrivateAdditiveClassifier, "_penalty", lambda *_: None)
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    model = PrivateAdditiveClassifier(epsilon=1.0, delta=1e-5, box=(-1.0, 1.0), n_hats=2)
    model.fit(X, (X[:, 0] > 0.0).astype(int))
    assert np.ravel(model.coef_).tolist() == [3.0]
    assert model.intercept_ == 5.0
