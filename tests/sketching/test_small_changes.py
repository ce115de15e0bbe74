"""Small changes of the sketches' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dplit.sketching import sensitivity
from dplit.sketching.decoders.kmeans import _QUANTIZED_FACTOR
from dplit.sketching.estimators import (
    CompressiveKMeans,
    CompressivePCA,
    _degrees_of_freedom,
    _unit_scale,
)  # fmt: skip
from dplit.sketching.release import _noise_deviation, plan_release
from dplit.sketching.sensitivity import _quartic, enumerated_sensitivity, real_norm
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap, sketch
from dplit.streams import stream


def test_a_sketch_without_a_count_gets_none() -> None:
    """Kills a count that is noised where there is none."""
    drawn = SketchMap("fourier", [[1.0, 2.0]])
    plan = plan_release(drawn, epsilon=1.0, split=0.8)
    exact = Sketch(np.zeros(2, complex), None, drawn)
    assert plan.apply(exact, rng=stream(1, "no count", "noise")).count is None


def test_a_fingerprint_has_sixty_four_bits() -> None:
    """Saved sketches are merged by it. Kills another length."""
    assert len(SketchMap("fourier", [[1.0, 2.0]]).fingerprint) == 16


def test_data_sets_are_counted_before_they_are_listed() -> None:
    """300 values of two records are 90,000 data sets. Kills records to the power of values."""
    found = enumerated_sensitivity(
        lambda rows: rows.sum(), np.arange(12.0), n_records=2, norm=1, neighboring="replace_one"
    )
    assert found == 11.0
    with pytest.raises(ValueError, match="n_records must leave"):
        enumerated_sensitivity(
            lambda rows: rows.sum(), np.arange(3.0), n_records=12, norm=1,
            neighboring="replace_one",
        )  # fmt: skip
    enumerated_sensitivity(
        lambda rows: rows.sum(), np.arange(20.0), n_records=2, norm=1, neighboring="replace_one"
    )


def test_norms_are_along_the_last_axis() -> None:
    """Kills the second axis, which is the last of two alone."""
    values = np.arange(24.0).reshape(2, 3, 4) * (1.0 + 2.0j)
    assert real_norm(values, norm=2).shape == real_norm(values, norm=1).shape == (2, 3)
    assert real_norm(values[0, 0], norm=2) == pytest.approx((5 * (1 + 4 + 9)) ** 0.5)
    assert real_norm(values[0, 0], norm=1) == pytest.approx(3 * (1 + 2 + 3))


@pytest.mark.parametrize("epsilon", [float("inf"), float("nan"), -1.0])
def test_a_budget_is_checked_before_it_is_split(epsilon: float) -> None:
    """Kills a budget that is used as it came."""
    with pytest.raises(ValueError, match=r"^epsilon must.*=(inf|nan|-1.0)$"):
        plan_release(SketchMap("fourier", [[1.0, 2.0]]), epsilon=epsilon, split=0.5)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e12])
def test_a_sketch_is_scaled_to_one_and_back(size: float) -> None:
    """Kills a scale to the other side."""
    values = size * np.array([0.3 + 0.1j, -0.02 + 0.9j])
    unit, exponent = _unit_scale(values)
    assert 0.25 < np.abs(unit.view(float)).max() <= 2.0
    assert np.array_equal(unit * 2.0**exponent, values)


@pytest.mark.parametrize(("length", "heard"), [(1.05, True), (0.95, False)])
def test_components_are_heard_above_the_level_of_noise(length: float, heard: bool) -> None:
    """Kills a level without one of its terms, and a longest component for the sum of them."""
    d, m, k, deviation = 4, 60, 3, 0.7
    drawn = SketchMap("fourier", np.ones((d, m)))
    released = Sketch(np.ones(m, complex), None, drawn, NoiseRecord("laplace", 1.0, None))
    level = (1.0 + k * d / m) * (2.0 + 1.8 * d**0.5) * deviation
    model = CompressiveKMeans(n_clusters=k, bounds=(-1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model._hears(released, np.full(k, length * level), deviation) is heard
        many = np.array([1.05, 1.05, 2.0, 0.0]) * level
        assert model._hears(released, many * (1 + 4 * d / m) / (1 + k * d / m), deviation)
        assert not model._hears(released, np.array([1.0, 0.9, 0.9, 0.9]) * level, deviation)


def test_a_bound_on_fourth_powers_is_that_of_the_longest_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Squares of a record along the longest of three axes. Kills the shortest column."""
    monkeypatch.setattr(sensitivity, "_BEST_SHIFT", 0)
    monkeypatch.setattr(sensitivity, "_ONE_SHIFT", 0)
    columns = np.diag([1.0, 3.0, 2.0])
    attained = np.sqrt(((columns.T @ [0.0, 1.0, 0.0]) ** 4).sum())
    assert _quartic(columns) >= attained == 9.0


def test_as_many_frequencies_as_there_are_unknowns_are_enough() -> None:
    """Kills a refusal of just as many."""
    rng = stream(1, "unknowns", "public")
    least = _degrees_of_freedom(4, 2)
    asked = {"n_components": 2, "frequencies": "gaussian"}
    found = CompressivePCA(n_frequencies=least, **asked)._draw_map(4, rng)
    assert found.n_components == least
    with pytest.raises(ValueError, match=f"at least {least} for 2 components"):
        CompressivePCA(n_frequencies=least - 1, **asked)._draw_map(4, rng)


def test_a_bound_of_a_map_cannot_be_written_to() -> None:
    """Sensitivities are computed once, for the bound that a map was made with."""
    drawn = SketchMap("fourier", np.eye(2), bound=1.0)
    with pytest.raises(ValueError, match="read-only"):
        drawn.bound[0] = 2.0


@pytest.mark.parametrize("kind", ["fourier", "quantized"])
def test_noise_is_scaled_as_the_sketch_is(kind: str) -> None:
    """One-bit features are weaker waves by a factor. Kills noise that keeps its size."""
    dither = np.zeros(3) if kind == "quantized" else None
    drawn = SketchMap(kind, np.ones((2, 3)), dither)
    released = Sketch(np.full(3, 5.0 + 0j), None, drawn, NoiseRecord("laplace", 1.0, None))
    _, found = CompressiveKMeans(n_clusters=1, bounds=(-1, 1))._target(released)
    factor = _QUANTIZED_FACTOR if kind == "quantized" else 1.0
    assert found == pytest.approx(_noise_deviation(released) / 8.0 / factor)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_moments_are_heard_above_the_level_of_noise(share: float) -> None:
    """Kills a level with another constant."""
    d, m = 4, 16
    drawn = SketchMap("quadratic", np.ones((d, m)))
    released = Sketch(np.ones(m), None, drawn, NoiseRecord("laplace", 1.0, None))
    unit = (0.5 + 2.0 / d**0.5) * d * (d / m) ** 0.5 / d
    level = unit * _noise_deviation(released)
    model = CompressivePCA(n_components=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model._warn_of_noise(released, share * level, 0)
    assert len(told) == (share < 1)


def test_a_gaussian_sketch_is_stated_at_the_delta_that_is_asked() -> None:
    """Kills a delta of 0, where Gaussian noise has no epsilon."""
    fourier = SketchMap("fourier", np.eye(2))
    exact = sketch(stream(0, "stated", "data").uniform(-1.0, 1.0, (500, 2)), fourier)
    asked = {"epsilon": 3.0, "delta": 1e-5, "noise": "gaussian", "count": "withheld"}
    released = plan_release(fourier, **asked).apply(exact, rng=stream(0, "stated", "noise"))
    model = CompressiveKMeans(1, bounds=(-1.0, 1.0), noise="gaussian", delta=1e-5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit_sketch(released)
    assert model.delta_ == 1e-5
    assert model.epsilon_ == pytest.approx(3.0, rel=1e-6)
