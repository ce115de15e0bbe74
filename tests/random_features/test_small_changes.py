"""Small changes of the arithmetic of random features that larger tests do not tell apart."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from dplit.random_features.estimators import _FEWEST, PrivateRandomFeatureRegressor
from dplit.random_features.release import (
    _correct_scale,
    _sgd_scale,
    private_excess_bound,
)  # fmt: skip


def test_excess_bound_is_its_three_terms() -> None:
    """Kills each factor 2 as a divisor."""
    M = np.diag([3.0, 4.0])
    log = math.log(20.0)
    expected = 0.25 * (7.0 + 2.0 * 5.0 * math.sqrt(log) + 2.0 * 4.0 * log)
    assert private_excess_bound(M, sigma=0.5, failure=0.05) == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0])
def test_delta_of_the_descent_is_a_probability(delta: float) -> None:
    """Kills a delta that is used unchecked."""
    with pytest.raises(ValueError, match="delta must be"):
        _sgd_scale(5, epsilon=1.0, delta=delta)


SCALES = [
    (_correct_scale, (), {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 4.0}),
    (_sgd_scale, (5,), {"epsilon": 1.0, "delta": 1e-5}),
]


@pytest.mark.parametrize(("scale", "counts", "given"), SCALES)
def test_no_scale_takes_what_is_not_a_budget(scale: Any, counts: Any, given: Any) -> None:
    """Kills every argument that is used unchecked."""
    assert scale(*counts, **given) > 0
    for name in given:
        for bad in (0.0, -1.0):
            with pytest.raises(ValueError, match=f"{name} must be"):
                scale(*counts, **{**given, name: bad})
    if counts:
        with pytest.raises(ValueError, match=r"n_(components|records) must be"):
            scale(0, **given)


def test_few_records_have_the_fewest_waves() -> None:
    """Kills the smaller of the two numbers."""
    model = PrivateRandomFeatureRegressor(bounds=(-1, 1), box=(-1, 1), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.zeros((30, 2)), np.zeros(30))
    assert model.coef_.size == 2 * _FEWEST
