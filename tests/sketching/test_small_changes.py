"""Small changes of the sketches' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dplit.papers.sketching.enumeration import enumerated_sensitivity
from dplit.sketching import sensitivity
from dplit.sketching.additive_noise import _noise_deviation
from dplit.sketching.decoders._quantized import QUANTIZED_FACTOR
from dplit.sketching.decoders.low_rank import degrees_of_freedom
from dplit.sketching.estimators import (
    CompressiveKMeans,
    CompressivePCA,
    _default_gamma,
    _unit_scale,
)
from dplit.sketching.sensitivity import _quartic
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap
from dplit.streams import stream


def test_the_default_kernel_is_the_stated_one_in_few_dimensions_and_in_many() -> None:
    assert [_default_gamma(d) * d for d in (1, 2, 4, 8, 32)] == [12.5, 12.5, 12.0, 8.0, 5.0]


def test_data_sets_are_counted_before_they_are_listed() -> None:
    """300 values of two records are 90,000 data sets. Kills records to the power of values."""
    found = enumerated_sensitivity(
        lambda rows: rows.sum(), np.arange(12.0), n_records=2, norm=1, neighboring="replace_one"
    )
    assert found == 11.0
    with pytest.raises(ValueError, match="n_records must leave"):
        enumerated_sensitivity(
            lambda rows: rows.sum(),
            np.arange(3.0),
            n_records=12,
            norm=1,
            neighboring="replace_one",
        )
    enumerated_sensitivity(
        lambda rows: rows.sum(), np.arange(20.0), n_records=2, norm=1, neighboring="replace_one"
    )


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e12])
def test_a_sketch_is_scaled_to_one_and_back(size: float) -> None:
    """Kills a scale to the other side."""
    values = size * np.array([0.3 + 0.1j, -0.02 + 0.9j])
    unit, exponent = _unit_scale(values)
    assert 0.25 < np.abs(unit.view(float)).max() <= 2.0
    assert np.array_equal(unit * 2.0**exponent, values)


@pytest.mark.filterwarnings("ignore::UserWarning")  # said where nothing is heard
@pytest.mark.parametrize(("length", "heard"), [(1.05, True), (0.95, False)])
def test_components_are_heard_above_the_level_of_noise(length: float, heard: bool) -> None:
    """Kills a level without one of its terms, and a longest component for the sum of them."""
    d, m, k, deviation = 4, 60, 3, 0.7
    drawn = SketchMap("fourier", np.ones((d, m)))
    released = Sketch(np.ones(m, complex), None, drawn, NoiseRecord("laplace", 1.0, None))
    level = (1.0 + k * d / m) * (2.0 + 1.8 * d**0.5) * deviation
    model = CompressiveKMeans(n_clusters=k, bounds=(-1, 1))
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
    least = degrees_of_freedom(4, 2)
    asked = {"n_components": 2, "frequencies": "gaussian"}
    found = CompressivePCA(n_frequencies=least, **asked)._draw_map(4, rng)
    assert found.n_components == least
    with pytest.raises(ValueError, match=f"at least {least} for 2 components"):
        CompressivePCA(n_frequencies=least - 1, **asked)._draw_map(4, rng)


@pytest.mark.parametrize("kind", ["fourier", "quantized"])
def test_noise_is_scaled_as_the_sketch_is(kind: str) -> None:
    """One-bit features are weaker waves by a factor. Kills noise that keeps its size."""
    dither = np.zeros(3) if kind == "quantized" else None
    drawn = SketchMap(kind, np.ones((2, 3)), dither)
    released = Sketch(np.full(3, 5.0 + 0j), None, drawn, NoiseRecord("laplace", 1.0, None))
    _, found = CompressiveKMeans(n_clusters=1, bounds=(-1, 1))._target(released)
    factor = QUANTIZED_FACTOR if kind == "quantized" else 1.0
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
        model._warn_if_hidden(released, share * level, 0)
    assert len(told) == (share < 1)
