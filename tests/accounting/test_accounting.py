"""Composition through dp-accounting: exact cases, subsampling by quadrature, the unit trap."""

from __future__ import annotations

import math
import sys
import tracemalloc
from typing import Any

import pytest

from dplit import accounting, mechanisms

dp_accounting = pytest.importorskip("dp_accounting")


@pytest.mark.parametrize(("sigma", "sensitivity", "steps"), [(2.0, 1.0, 1), (9.0, 1.5, 16)])
def test_composition_without_sampling_is_the_exact_gaussian(
    sigma: float, sensitivity: float, steps: int
) -> None:
    """One release of the sensitivities' root of squares, without a grid."""
    total = sensitivity * math.sqrt(steps)
    exact = mechanisms.gaussian_epsilon(delta=1e-6, sigma=sigma, sensitivity=total)
    arguments: dict[str, Any] = {"sigma": sigma, "sensitivity": sensitivity, "steps": steps}
    measured = accounting.composed_epsilon(delta=1e-6, **arguments)
    assert exact <= measured <= exact * (1 + 1e-9)
    exact_delta = mechanisms.gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=total)
    measured_delta = accounting.composed_delta(epsilon=1.0, **arguments)
    assert exact_delta <= measured_delta <= exact_delta * (1 + 1e-9)


@pytest.mark.parametrize(
    "setting",
    [
        {"sigma": 0.01},
        {"sigma": 0.01, "steps": 50},
        pytest.param({"sigma": 0.01, "sampling_rate": 0.5}, marks=pytest.mark.weekly),
        {"sigma": 1e-3, "sampling_rate": 0.1, "steps": 9},
    ],
)
def test_little_noise_takes_little_memory(setting: dict[str, Any]) -> None:
    """Losses span up to 5e6: a grid of 1e-4 would hold 5e10 cells.

    The bound of q sampled steps lies below that without sampling, and above the least loss of a
    record that is taken, log(q) below it, up to the grid.
    """
    tracemalloc.start()
    told = accounting.composed_epsilon(delta=1e-6, sensitivity=1.0, **setting)
    assert accounting.composed_delta(epsilon=told, sensitivity=1.0, **setting) <= 1.01e-6
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**29
    root = math.sqrt(setting.get("steps", 1))
    whole = mechanisms.gaussian_epsilon(delta=1e-6, sigma=setting["sigma"], sensitivity=root)
    assert told <= whole * (1 + 1e-9)
    assert told > 0.9 * whole if "steps" not in setting or "sampling_rate" not in setting else True


def test_the_replace_one_trap() -> None:
    """Records of norm at most 1, replaced: sensitivity 2.  Passing sigma itself drops the factor.

    The library, given sigma as noise multiplier, reports the epsilon of half the true shift.
    """
    sigma, delta = 4.0, 1e-5
    exact = mechanisms.gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=2.0)
    ours = accounting.composed_epsilon(
        delta=delta, sigma=sigma, sensitivity=2.0, neighboring="replace_one"
    )
    assert ours == pytest.approx(exact, abs=1e-3)
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = dp_accounting.pld.PLDAccountant(relation)
    trap = accountant.compose(dp_accounting.GaussianDpEvent(sigma)).get_epsilon(delta)
    half = mechanisms.gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=1.0)
    assert trap == pytest.approx(half, abs=1e-3)
    assert exact / trap > 2


def test_events_have_the_right_structure() -> None:
    event = accounting.gaussian_event(sigma=3.0, sensitivity=1.5, steps=7, sampling_rate=0.1)
    assert event.count == 7
    assert event.event.sampling_probability == 0.1
    assert event.event.event.noise_multiplier == 2.0
    plain = accounting.gaussian_event(sigma=3.0, sensitivity=1.5)
    assert plain == dp_accounting.GaussianDpEvent(2.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sigma": 0.0}, ValueError, "sigma must be positive"),
        ({"steps": 0}, ValueError, "steps must be at least 1"),
        ({"steps": 2.0}, TypeError, "steps must be an integer"),
        ({"sampling_rate": 0.0}, ValueError, r"sampling_rate must be in \(0, 1\]"),
        (
            {"neighboring": "replace_one", "sampling_rate": 0.5},
            ValueError,
            "sampling_rate must be 1 under replace_one, got sampling_rate=0.5",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        accounting.gaussian_event(**{"sigma": 1.0, "sensitivity": 1.0, **arguments})


def test_a_delta_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\)"):
        accounting.composed_epsilon(delta=0.0, sigma=1.0, sensitivity=1.0)


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"pip install 'dplit\[accounting\]'"):
        accounting.gaussian_event(sigma=1.0, sensitivity=1.0)
