"""Argument checks: what passes is returned as a plain number; what fails is named with its rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dplit import _checks

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("check", "good", "bad", "rule"),
    [
        (
            _checks.check_positive,
            [1, 0.5, np.float32(2), 5e-324],
            [0, -1.0, INF],
            "positive and fi",
        ),
        (_checks.check_nonnegative, [0, 0.0, 3.5], [-1e-300, INF, -INF], "nonnegative and finite"),
        (_checks.check_probability, [0.5, 1e-300], [0, 1, -0.1, 1.1, INF], r"in \(0, 1\)"),
        (
            lambda n, v: _checks.check_probability(n, v, zero=True),
            [0, 0.5],
            [1, -1e-9],
            r"in \[0, 1\)",
        ),
        (
            lambda n, v: _checks.check_probability(n, v, one=True),
            [1, 0.5],
            [0, 1.0001],
            r"in \(0, 1\]",
        ),
        (
            lambda n, v: _checks.check_probability(n, v, zero=True, one=True),
            [0, 1],
            [-1, 2],
            r"in \[0, 1\]",
        ),
        (
            lambda n, v: _checks.check_interval(n, v, 0, 0.5),
            [0.1, 0.49],
            [0, 0.5, 1],
            r"\(0, 0.5\)",
        ),
        (
            _checks.check_scale,
            [1e-50, 1, 1e50],
            [9.9e-51, 1.01e50, 0, 5e-324],
            "(between 1e-50 and 1e[+]50|positive and finite), got",
        ),
        (
            lambda n, v: _checks.check_epsilon(v, n),
            [1e-50, 1, 1e20],
            [9.9e-51, 1.01e20, 0],
            "(between 1e-50 and 1e[+]20|positive and finite), got",
        ),
        (
            lambda n, v: _checks.check_positive(n, v, infinite=True),
            [1.0, INF],
            [0, -INF],
            "positive, got",
        ),
    ],
)
def test_real_numbers(
    check: Callable[[str, Any], float], good: list[Any], bad: list[Any], rule: str
) -> None:
    for value in good:
        result = check("eta", value)
        assert type(result) is float
        assert result == value
    for value in bad:
        with pytest.raises(ValueError, match=f"eta must be .*{rule}") as error:
            check("eta", value)
        assert f"got eta={value!r}" in str(error.value)
    with pytest.raises(ValueError, match="eta must not be NaN"):
        check("eta", NAN)
    for value in ("1", None, True, np.True_, 1j, [1.0], np.array([1.0])):
        with pytest.raises(TypeError, match="eta must be a real number, got eta="):
            check("eta", value)
    assert check("eta", Fraction(1, 3)) == 1 / 3


def test_integers() -> None:
    for value in (3, np.int64(3), np.uint8(3)):
        result = _checks.check_integer("m", value)
        assert type(result) is int
        assert result == 3
    assert _checks.check_integer("m", 0, minimum=0) == 0
    with pytest.raises(ValueError, match="m must be at least 1, got m=0"):
        _checks.check_integer("m", 0)
    with pytest.raises(ValueError, match="m must be at least -2, got m=-3"):
        _checks.check_integer("m", -3, minimum=-2)
    for value in (2.0, "2", True, None, np.float64(2), np.array([2])):
        with pytest.raises(TypeError, match="m must be an integer, got m="):
            _checks.check_integer("m", value)


def test_choices() -> None:
    assert _checks.check_choice("kind", "a", ("a", "b")) == "a"
    with pytest.raises(ValueError, match=r"kind must be one of \['a', 'b'\], got kind='c'"):
        _checks.check_choice("kind", "c", ("b", "a"))


def test_generators() -> None:
    rng = np.random.default_rng(0)
    assert _checks.check_rng(rng) is rng
    for value in (0, None, np.random, np.random.PCG64(0)):
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator, got rng="):
            _checks.check_rng(value)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([[1.0], [1.0, 2.0]], ValueError, "X must be a rectangular array"),
        (["a"], TypeError, "X must be numeric, got X of dtype"),
        (np.array([None]), TypeError, "X must be numeric, got X of dtype object"),
        ([], ValueError, r"X must not be empty, got X of shape \(0,\)"),
        (np.ones((0, 3)), ValueError, r"X must not be empty, got X of shape \(0, 3\)"),
        ([1.0, NAN], ValueError, "X must be finite"),
        ([1.0, -INF], ValueError, "X must be finite"),
        ([complex(1, INF)], ValueError, "X must be finite"),
    ],
)
def test_arrays_that_are_refused(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        _checks.check_finite_array("X", value)


def test_arrays_that_pass_are_not_copied_or_converted() -> None:
    for array in (np.ones(3), np.ones((2, 2), dtype=np.float32), np.array([1j]), np.array([1])):
        assert _checks.check_finite_array("X", array) is array
    assert _checks.check_finite_array("X", [[1, 2]], ndim=2).shape == (1, 2)
    with pytest.raises(ValueError, match=r"X must have 2 axes, got X of shape \(3,\)"):
        _checks.check_finite_array("X", np.ones(3), ndim=2)
