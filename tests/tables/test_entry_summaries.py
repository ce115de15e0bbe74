"""Noisy moments at a budget per entry from a summary.

Fixed seeds; equal means equal to the bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dplit import EntryMomentsRegressor, SufficientStatisticsRegressor
from dplit.audit import ledger
from dplit.entries._moments import moment_mus
from dplit.streams import stream
from dplit.tables.entry_summaries import EntryGrid, entry_grid, fit_entry_summary
from dplit.tables.grids import merge_summaries
from dplit.tables.summaries import summarise

_BOUNDS = ([-1.0, -2.0], [1.0, 3.0])
MODELS = [
    EntryMomentsRegressor(epsilon=e, bounds=_BOUNDS, fit_intercept=ones, random_state=0)
    for e in (0.3, 5.0)
    for ones in (True, False)
]


def _data(n: int = 512) -> tuple[np.ndarray, np.ndarray]:
    """Responses on the grid of [-1, 1], of mean 0 and largest modulus 1."""
    X = stream(0, "test-entry-summaries", "data").uniform(-1.5, 2.5, (n, 2))
    y = np.rint(np.clip(0.5 * X[: n // 2, 0], -1.0, 1.0) * 2**15) / 2**15
    y[:2] = 1.0, -0.25
    return X, np.r_[y, -y]


def _summary(X: np.ndarray, y: np.ndarray, model: Any, **more: Any) -> Any:
    return summarise((X, y), entry_grid(model, n_columns=2, responses=(-1.0, 1.0)), **more)


def _fitted(model: Any) -> tuple[Any, ...]:
    told = model.gram_sigma_, model.cross_sigma_, model.alpha_, model.intercept_
    arrays = (model.coef_.tobytes(), model.gram_.tobytes(), model.cross_.tobytes())
    return (*told, *arrays, model.privacy_statement_, model.n_features_in_)


@pytest.mark.parametrize("model", MODELS)
def test_bits_are_those_of_fit_where_no_response_is_rounded(model: Any) -> None:
    """Kills other noise, another order of draws, a centre or a scale that is forgotten."""
    X, y = _data()
    own = clone(model).fit(X, y)
    ours = fit_entry_summary(clone(model), _summary(X, y, model))
    assert _fitted(ours) == _fitted(own)
    parts = merge_summaries([_summary(X[k::3], y[k::3], model) for k in (2, 0, 1)])
    assert _fitted(fit_entry_summary(clone(model), parts)) == _fitted(own)


@pytest.mark.parametrize("ones", [True, False])
def test_rounded_responses_move_the_moments_by_no_more_than_a_step(ones: bool) -> None:
    """At a budget whose noise is nothing: each response moves by one step of 2^-15 of half the
    stated range, and its centre by as much; fit's own by one of its unit. Kills a response in other
    units."""
    model = EntryMomentsRegressor(epsilon=200.0, bounds=_BOUNDS, fit_intercept=ones, random_state=0)
    X, _ = _data()
    y = 3.0 + X @ [1.0, -0.7] + np.sin(40.0 * X[:, 0])
    own = clone(model).fit(X, y)
    ours = fit_entry_summary(
        clone(model), summarise((X, y), entry_grid(model, n_columns=2, responses=(-5.0, 9.0)))
    )
    largest = float(np.abs(y - (y.mean() if ones else 0.0)).max())
    step = 2.0 * 7.0 * 2.0**-15  # a response and the centre
    reach = len(y) * (step / largest * 2.0 + 2.0**-15)
    noise = 10.0 * (own.cross_sigma_ + ours.cross_sigma_)
    assert noise < 1e-3
    assert np.abs(ours.cross_ - own.cross_).max() <= reach + noise
    assert np.abs(ours.cross_).max() > 100.0 * reach
    np.testing.assert_allclose(ours.predict(X), own.predict(X), atol=20.0 * step)


@pytest.mark.parametrize("model", MODELS)
def test_draws_are_those_of_the_promise(model: Any) -> None:
    """Kills a sensitivity that was not carried over."""
    X, y = _data(64)
    with ledger() as theirs:
        own = clone(model).fit(X, y)
    with ledger() as book:
        ours = fit_entry_summary(clone(model), _summary(X, y, model))
    assert list(book) == list(theirs)
    assert ours.entry_epsilon_ == own.entry_epsilon_
    g, c = ours.gram_sigma_**2, ours.cross_sigma_**2
    entry, _ = moment_mus(2, int(model.fit_intercept), g, c)
    assert list(book)[-1].joint == pytest.approx(entry, rel=1e-12)


def test_no_entry_moves_the_moments_by_more_than_is_stated() -> None:
    """All pairs of seven entries, every response. Kills moments with uncentred responses, and
    responses beyond [-1, 1]."""
    model = EntryMomentsRegressor(epsilon=0.5, bounds=(-1.0, 1.0), random_state=0)
    rng = stream(0, "test-entry-brute", "data")
    X, y = rng.uniform(-1.0, 1.0, (6, 2)), rng.uniform(-30.0, 50.0, 6)
    X[:, 1] = 1.0
    grid = EntryGrid((-1.0, -1.0), (1.0, 1.0), (-40.0, 40.0))
    told: list[dict[str, np.ndarray]] = []

    def hear(draw: Any, of: Any, added: Any) -> None:
        told[-1][draw.purpose] = np.asarray(of)

    widest = {"second moments": 0.0, "moments with the responses": 0.0}
    stated: dict[str, float] = {}
    for row in range(6):
        told.clear()
        for value in (-9.0, -1.0, -0.5, 0.0, 0.3, 1.0, 7.0):
            Z = X.copy()
            Z[row, 0] = value
            told.append({})
            with ledger(hear) as book:
                fit_entry_summary(model, summarise((Z, y), grid))
            stated = {draw.purpose: float(draw.sensitivity or 0.0) for draw in book}
        for name in widest:
            gaps = [np.linalg.norm(a[name] - b[name]) for a in told for b in told]
            widest[name] = max(widest[name], float(max(gaps)))
    assert widest["moments with the responses"] == pytest.approx(2.0, rel=1e-9)
    for name, gap in widest.items():
        assert gap <= stated[name]
    assert widest["second moments"] > 0.99 * stated["second moments"]


def test_bad_summaries_are_refused() -> None:
    X, y = _data(32)
    model = MODELS[0]
    found = _summary(X, y, model)
    with pytest.raises(ValueError, match="model must have the public facts of the summary"):
        fit_entry_summary(clone(model).set_params(bounds=(-1.0, 1.0)), found)
    linear = SufficientStatisticsRegressor(data_norm=1.0, bounds=(-1.0, 1.0))
    with pytest.raises(ValueError, match="summary must be made on an EntryGrid"):
        fit_entry_summary(model, summarise((X, y), linear))
    table = {"a": X[:, 0], "b": X[:, 1], "y": y, "who": np.arange(32)}
    given: dict[str, Any] = {"columns": ["a", "b"], "target": "y"}
    people = summarise(table, found.facts.grid, **given, group="who", rows_each=1)
    with pytest.raises(ValueError, match="summary must have no persons"):
        fit_entry_summary(model, people)
    none = summarise(
        {name: column[:0] for name, column in table.items()}, found.facts.grid, **given
    )
    with pytest.raises(ValueError, match="summary must be of at least one record"):
        fit_entry_summary(model, none)
    with pytest.raises(ValueError, match="bounds must be two increasing numbers"):
        entry_grid(model, n_columns=2, responses=(1.0, -1.0))
    with pytest.raises(ValueError, match="bounds must be given"):
        entry_grid(EntryMomentsRegressor(), n_columns=2, responses=(0.0, 1.0))
    constant = fit_entry_summary(clone(model), _summary(X, np.zeros(32), model))
    assert not constant.coef_.any()
    assert math.isinf(constant.alpha_)
    named = fit_entry_summary(clone(model), summarise(table, found.facts.grid, **given))
    assert list(named.feature_names_in_) == ["a", "b"]
