"""What the private estimators share: random streams, clipping, checked arrays."""

from __future__ import annotations

import traceback
from fractions import Fraction
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from hypothesis import example, given
from scipy.sparse import csr_array
from sklearn.base import clone

from dplit import (
    HatFeatures,
    NoisyGradientClassifier,
    ObjectivePerturbationClassifier,
    SufficientStatisticsRegressor,
)
from dplit._base import check_regression, spawn_generators
from dplit._numerics.clipping import clip_rows
from dplit.features import RandomFourierFeatures
from dplit.mechanisms import report_noisy_min
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS

finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2), elements=finite))
def test_clipping_bounds_rows_keeps_directions_and_leaves_short_rows_alone(X: np.ndarray) -> None:
    clipped = clip_rows(X, 2.0)
    before, after = np.linalg.norm(X, axis=1), np.linalg.norm(clipped, axis=1)
    short = before <= 2.0 - 1e-13
    np.testing.assert_array_equal(clipped[short], X[short])
    long = before > 2.0
    np.testing.assert_allclose(after[long], 2.0, rtol=1e-14)
    # an entry that becomes subnormal when divided by at most 2^20 is rounded by 2^-1075 there
    np.testing.assert_allclose(
        clipped[long] * before[long, None], 2.0 * X[long], rtol=1e-13, atol=2.0**-1054 * 3e6
    )


@given(
    hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2), elements=finite),
    st.floats(1e-9, 1e9),
)
@example(np.array([[3.0, 3.0, 3.0]]), 1.0)
def test_no_clipped_row_exceeds_its_bound_in_rational_arithmetic(X: Any, norm: float) -> None:
    """Kills a bound that is met up to rounding; rows of its very length are the hard ones."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    on_it = X * np.divide(norm, length, out=np.zeros_like(length), where=length > 0)
    for rows, bound in ((X, norm), (on_it, norm)):
        clipped = clip_rows(rows, bound)
        for row, unit in zip(clipped, clipped / bound, strict=True):
            assert sum(Fraction(x) ** 2 for x in row) <= Fraction(bound) ** 2
            assert sum(Fraction(x) ** 2 for x in unit) <= 1


def test_rows_whose_squares_overflow_keep_their_direction() -> None:
    """Finite records of any size, without a warning; kills a long record that becomes zero."""
    X = np.array([[3e200, -4e200], [1.7e308, 1.7e308], [0.3, 0.4], [3e9, 4e9]])
    expected = [[1.2, -1.6], [2**0.5, 2**0.5], [0.3, 0.4], [1.2, 1.6]]
    np.testing.assert_allclose(clip_rows(X, 2.0), expected, rtol=1e-14)
    single = clip_rows(np.array([[3e30, 4e30]], np.float32), 2.0)
    below = (2 + 8) * np.finfo(np.float32).eps  # rows end that much below the bound
    np.testing.assert_allclose(single, [[1.2, 1.6]], rtol=1.5 * below)
    small = clip_rows(np.array([[3e220, 4e220]]), 1e-100)  # the ratio of the two underflows
    np.testing.assert_allclose(small, [[0.6e-100, 0.8e-100]], rtol=1e-14)
    far = clip_rows(np.array([[3e200, 4e200]]), 1e250)  # the bound is larger than the record
    np.testing.assert_allclose(far, [[3e200, 4e200]], rtol=1e-14)


@pytest.mark.parametrize("state", [7, np.int64(7)])
def test_an_integer_gives_the_same_streams_every_time(state: Any) -> None:
    first, second = (spawn_generators(state, 2) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.random(4), b.random(4))


@pytest.mark.parametrize("make", [lambda: None, lambda: 3, np.random.default_rng])
def test_the_streams_of_one_fit_are_different(make: Any) -> None:
    public, noise = spawn_generators(make(), 2)
    assert (public.random(8) != noise.random(8)).all()


def test_generators_spawn_and_legacy_states_advance() -> None:
    for state in (np.random.default_rng(1), np.random.RandomState(1)):
        (first,), (second,) = spawn_generators(state, 1), spawn_generators(state, 1)
        assert (first.random(8) != second.random(8)).all()
    untouched = np.random.default_rng(1)
    spawn_generators(untouched, 3)  # spawning does not consume the generator's own numbers
    assert untouched.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (-1, ValueError, "random_state must be nonnegative, got random_state=-1"),
        (True, TypeError, "random_state must be None, an integer"),
        (1.5, TypeError, "got random_state=1.5"),
        ("seed", TypeError, "got random_state='seed'"),
    ],
)
def test_other_states_are_refused(state: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        spawn_generators(state, 1)


def test_regression_arrays_come_back_in_float64() -> None:
    X, y = check_regression([[1, 2], [3, 4]], [True, False])
    assert (X.dtype, y.dtype) == (np.float64, np.float64)
    with pytest.raises(TypeError, match="y must be real"):
        check_regression([[1.0]], [1j])


MARK = 7391.8246
TURNED = np.full((40, 2), MARK + 1j)
#: Records that nobody can fit, in the containers that people use; an error may name no entry.
ODD: list[Any] = [
    MARK,
    [MARK, 0.5],
    np.full(40, MARK),
    pandas.Series([MARK]),
    np.full((1, 1, 2), MARK),
    TURNED,
    TURNED.tolist(),
    TURNED.astype(object),
    csr_array(TURNED),
    pandas.DataFrame(TURNED),
    "7391.8246",
    np.full((40, 2), "7391.8246x"),
    [[MARK, "7391"]] * 40,
    [[MARK, 0.5], [MARK]],
]
#: What a person calls with records.
METHODS = (
    "fit",
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "fit_predict",
    "fit_transform",
)
MODELS = {name: (case.release, case.labels) for name, case in ESTIMATORS.items()}
MODELS |= {"hats": (HatFeatures(box=(-1, 1)), None), "waves": (RandomFourierFeatures(9), None)}


# forty records are too few for every budget
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_no_error_shows_a_record(name: str) -> None:
    """Kills what scikit-learn says of one axis and of complex numbers: it prints them all."""
    model, kind = MODELS[name]
    X = stream(0, "odd", "data").uniform(-1, 1, (40, 2))
    y = np.sign(X[:, 0]) if isinstance(kind, tuple) else X[:, 0]
    fitted = clone(model).fit(X, y)
    calls = [getattr(fitted, method) for method in METHODS if hasattr(fitted, method)]
    calls[0] = lambda records: clone(model).fit(records, y)
    cases = [(call, odd) for call in calls for odd in ODD]
    if kind is not None:
        cases += [
            (lambda labels: clone(model).fit(X, labels), labels)
            for labels in (TURNED[:, 0], TURNED[:, 0].tolist(), np.full(3, MARK), TURNED)
        ]
    for call, odd in cases:
        with pytest.raises((TypeError, ValueError)) as raised:
            call(odd)
        assert "7391" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("kind", [NoisyGradientClassifier, ObjectivePerturbationClassifier])
def test_the_only_class_is_not_quoted(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"unless classes is given, got one class$"):
        kind(data_norm=1.0).fit(np.eye(2), [7391, 7391])


def test_records_that_nobody_can_fit_are_named() -> None:
    model = SufficientStatisticsRegressor(data_norm=1.0, bounds=(0, 1))
    with pytest.raises(ValueError, match=r"X must have two axes \(n_samples, n_features\), got X"):
        model.fit(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="Complex data not supported: X must be real"):
        model.fit(TURNED, np.ones(40))


def test_a_score_is_not_quoted() -> None:
    with pytest.raises(TypeError, match=r"scores must be an iterable of numbers, got a float$"):
        report_noisy_min(MARK, epsilon=1.0, sensitivity=1.0, rng=np.random.default_rng(0))
