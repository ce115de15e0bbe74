"""Small changes of the sketches' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.sketching.release import plan_release
from dplit.sketching.sensitivity import enumerated_sensitivity, real_norm
from dplit.sketching.sketches import Sketch, SketchMap
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
