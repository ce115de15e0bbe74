"""Section V's sentences on curves made by hand, where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.projection.calibration import noise_free_epsilon
from dplit_studies.projection.curves import (
    _ErrorCurves,
    _Errors,
    beats_additive,
    best_schemes,
    linearity,
    lower_is_better,
)
from dplit_studies.runs import Runs

pytestmark = pytest.mark.claim("proj-secV-statements")


def _curves(log, linear, full, additive, sizes=((10, 10), (20, 5), (40, 40)), axis=(1.0, 2.0)):
    means = {"log": log, "linear": linear, "full": full}
    printed = Runs({name: np.array([values, values]) for name, values in means.items()})
    raw = Runs({"raw": np.array([additive, additive])})
    names = ("log", "linear", "full")
    return _ErrorCurves(
        axis=np.array(axis),
        components={k: np.array(v, dtype=float) for k, v in zip(names, sizes, strict=True)},
        floor=np.full((2, len(axis)), 10.0),
        responses={"unit": _Errors(printed, Runs({}), Runs({}), raw)},
    )


def test_projection_must_win_with_every_size():
    curves = _curves([1.0, 3.0], [2.0, 2.0], [2.5, 3.5], [3.0, 3.2])
    assert beats_additive(curves, "unit").tolist() == [True, False]
    with pytest.raises(ValueError, match="response must be one of"):
        beats_additive(curves, "none")


def test_lower_dimension_is_judged_by_the_dimension_and_not_by_the_name():
    """At the second position the linear size is the smallest."""
    curves = _curves([1.0, 3.0], [2.0, 2.0], [2.5, 3.5], [3.0, 3.2])
    assert lower_is_better(curves, "unit").tolist() == [True, True]
    assert best_schemes(curves, "unit") == ["log", "linear"]
    worse = _curves([1.0, 1.0], [2.0, 2.0], [1.5, 3.5], [3.0, 3.2])
    assert lower_is_better(worse, "unit").tolist() == [False, False]


@pytest.mark.claim("proj-fig2")
def test_saturation_is_where_the_printed_noise_vanishes():
    for floor, rows in ((3216.0, 3303), (10.0, 40), (0.5, 1)):
        bits = noise_free_epsilon(floor=floor, n_components=rows)
        assert rows / (2 ** (2 * bits) - 1) == pytest.approx(floor, rel=1e-9)
    with pytest.raises(ValueError, match="floor must be nonnegative"):
        noise_free_epsilon(floor=-1.0, n_components=3)


@pytest.mark.claim("proj-fig2")
def test_linearity_of_a_line_that_saturates_and_of_a_convex_curve():
    axis = np.linspace(0.1, 3.0, 30)
    end = 0.5 * math.log2(1 + 40 / 10.0)
    line = np.maximum(5.0 - 3.0 * axis, 5.0 - 3.0 * end)
    convex = 1 + 4 * np.exp(-2 * axis)
    sizes = [np.full(30, n) for n in (10, 20, 40)]
    curves = _curves(line, line, line, convex, sizes=sizes, axis=axis)
    assert linearity(curves, "unit", "full") == pytest.approx(1.0, abs=1e-9)
    before = axis < end
    line_fit = np.polyval(np.polyfit(axis[before], convex[before], 1), axis[before])
    bent = linearity(curves, "unit", "additive")
    assert bent == pytest.approx(np.corrcoef(line_fit, convex[before])[0, 1] ** 2, rel=1e-9)
    assert bent < linearity(curves, "unit", "log")
    with pytest.raises(ValueError, match="scheme must be one of"):
        linearity(curves, "unit", "sqrt")
