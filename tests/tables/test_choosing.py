"""A private choice: two parts of the records, budgets that come to the whole, bounded losses.

Every seed is fixed; a fresh seed would raise a false alarm with the probability each test states.
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dplit.audit import ledger
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.streams import stream
from dplit.tables import choosing
from dplit.tables._chunks import TableError
from dplit.tables.choosing import choose
from dplit.tables.facts import Problem
from dplit.tables.mechanisms import mechanism
from dplit.tables.released import load_model

pytest.importorskip("dp_accounting")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few records: noise is said

_BOUNDS: dict[str, Any] = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}


def _table(n: int = 600) -> dict[str, Any]:
    rng = stream(0, "choosing", "data")
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    return {"a": a, "b": b, "y": abs(a) + 0.2 * b, "c": np.where(abs(a) > 0.5, "out", "in")}


def _problem(n: int = 300, task: str = "regression") -> Problem:
    table = _table(n)
    X = np.column_stack([table["a"], table["b"]])
    public: dict[str, Any] = {"bounds": (-0.5, 1.5)}
    if task == "classification":
        public = {"classes": ("in", "out")}
    y = table["y" if task == "regression" else "c"]
    box = (np.full(2, -1.0), np.ones(2))
    return Problem("small", task, X, y, public, math.sqrt(2.0), box)


def _choice(target: str, n: int = 600, **facts: Any) -> Any:
    table = {name: values for name, values in _table(n).items() if name in ("a", "b", target)}
    return choose(table, target=target, **{"random_state": 0, **facts})


_regression = partial(_choice, "y", bounds={**_BOUNDS, "y": (-0.5, 1.5)})
_classes = partial(_choice, "c", bounds=_BOUNDS, classes=("in", "out"))


@pytest.mark.parametrize(
    ("task", "candidates"),
    [
        ("regression", None),
        ("regression", ("noisy_gradient", "additive", "sufficient_statistics")),
        ("classification", None),
        ("classification", ("objective_perturbation", "noisy_gradient", "additive")),
    ],
)
def test_all_draws_come_to_the_budget_for_a_record_of_either_part(
    task: str, candidates: Any
) -> None:
    """By dp-accounting. Kills the whole budget for every fit, shares of one more or less, and a
    choice that is charged to the records that were fitted to."""
    call, epsilon = _regression if task == "regression" else _classes, 1.5
    with ledger() as book:
        model = call(candidates=candidates, epsilon=epsilon, n=200)
    assert 0.98 * epsilon < book.epsilon(delta=1e-6) <= epsilon * (1.0 + 1e-4)
    assert book.parts.count("records held out") == 1
    assert set(book.parts) == {"records fitted to", "records held out"}
    assert "(records held out)" in book.table()
    assert (model.estimator.epsilon_, model.estimator.delta_) == (epsilon, 1e-6)
    assert model.estimator.privacy_statement_.startswith(f"({epsilon:g}, 1e-06)")
    assert "replacing one of 200 records" in model.card["guarantee"]
    assert len(model.card["draws of noise, in order (no number here depends on a record)"]) == len(
        book
    )


def test_a_draw_without_a_part_is_charged_to_all() -> None:
    """The losses of each part and of the common draws, by hand; kills a sum over parts."""
    from dplit.mechanisms._draws import part_of_records, record_draw

    def draw(loss: float) -> None:
        record_draw("laplace", "a number", sensitivity=loss, scale=1.0, norm="l1", shape=(1,))

    with ledger() as book:
        draw(0.5)
        with part_of_records("one"):
            draw(1.0)
            draw(0.25)
        with part_of_records("other"):
            draw(2.0)
    assert book.epsilon() == 2.5
    assert book.delta(epsilon=2.5) == 0.0
    assert book.delta(epsilon=2.4) == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_shares_of_gaussian_fits_compose_exactly(epsilon: float) -> None:
    """Through the profile of one Gaussian; kills thirds of the budget (they waste it)."""
    shares = choosing._shares([True, True, True], epsilon, 1e-6)
    mus = [1.0 / gaussian_sigma(epsilon=e, delta=d) for e, d in shares]
    together = 1.0 / math.sqrt(sum(mu * mu for mu in mus))
    spent = float(gaussian_delta(epsilon=epsilon, sigma=together))
    assert 0.999e-6 < spent <= 1e-6
    mixed = choosing._shares([True, False, True], epsilon, 1e-6)
    assert mixed[1] == (epsilon / 3, 1e-6 / 3)
    mus = [1.0 / gaussian_sigma(epsilon=e, delta=d) for e, d in (mixed[0], mixed[2])]
    assert mus[0] > 1.0 / gaussian_sigma(epsilon=epsilon / 3, delta=1e-6 / 3)
    whole = 1.0 / gaussian_sigma(epsilon=2 * epsilon / 3, delta=2e-6 / 3)
    assert math.hypot(*mus) == pytest.approx(whole, rel=1e-6)
    assert choosing._shares([True, False], epsilon, 1e-6) == [(epsilon / 2, 5e-7)] * 2


class _Fixed:
    """A model that predicts one number or class."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.value)


def test_losses_are_bounded_whole_numbers() -> None:
    """By hand: (4 (y - p) / 2)^2, at most 1; one record moves a sum by at most one unit."""
    problem = _problem(50)
    problem.y[:4] = (0.1, 9.0, 0.45, math.inf)
    rows = np.arange(4)
    total = choosing._losses(problem, _Fixed(0.0), rows)
    one = 1 << 20
    assert total == math.floor(0.04 * one) + one + math.floor(0.81 * one) + one
    assert choosing._losses(problem, _Fixed(math.nan), rows) == 4 * one
    before = choosing._losses(problem, _Fixed(0.3), np.arange(50))
    for value in (-1e308, 0.3, 1e308):
        problem.y[7] = value
        moved = abs(choosing._losses(problem, _Fixed(0.3), np.arange(50)) - before)
        assert moved <= one
    classes = _problem(50, "classification")
    wrong = choosing._losses(classes, _Fixed("in"), np.arange(50))
    assert wrong == int((classes.y == "out").sum()) * one


def _both() -> list[Any]:
    return [mechanism(name, "regression") for name in ("noisy_gradient", "sufficient_statistics")]


def test_no_fit_sees_what_is_held_out_and_the_split_sees_no_record() -> None:
    """Bits: fits stay when held records change, the split stays whatever changes. Kills a fit to
    all records and a split by values."""
    problem, found = _problem(), _both()

    def run() -> Any:
        return choosing._chosen(problem, found, 1.0, 1e-6, 0.2, np.random.default_rng(5))

    _, fits, (fit_to, judged_on) = run()
    assert len(judged_on) == 60
    assert sorted([*fit_to, *judged_on]) == list(range(300))
    problem.X[judged_on], problem.y[judged_on] = 0.5, -0.25
    _, again, parts = run()
    np.testing.assert_array_equal(parts[1], judged_on)
    for (one, _), (other, _) in zip(fits, again, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
    problem.X[fit_to[0]] *= -1.0
    _, moved, parts = run()
    np.testing.assert_array_equal(parts[1], judged_on)
    assert (moved[1][0].coef_ != again[1][0].coef_).any()
    assert (moved[0][0].coef_ != moved[1][0].coef_).all()  # two streams


def test_the_choice_has_the_law_of_one_sided_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 choices between sums that differ by 6 units: the worse with probability
    exp(-epsilon 6 / 2) / 2. False alarm 1e-5; kills a budget that is divided, an unit for the
    sensitivity that is off by 2, and the largest loss.
    """
    problem, found = _problem(100, "classification"), _both()
    problem.y[:] = "in"
    values = iter(())

    def fit(self: Any, *_: Any, **__: Any) -> Any:
        return next(values), []

    class Some(_Fixed):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.where(np.arange(len(X)) < self.value, "out", "in")

    monkeypatch.setattr(type(found[0]), "fit", fit)
    worse, rng = 0, stream(0, "choosing", "noise")
    for _ in range(4000):
        values = iter((Some(10), Some(4)))
        worse += choosing._chosen(problem, found, 0.5, 1e-6, 0.2, rng)[0] == 0
    low, high = binom.ppf([0.5e-5, 1 - 0.5e-5], 4000, 0.5 * math.exp(-0.5 * 6.0 / 2.0))
    assert low < worse < high


def test_a_bent_column_is_found_where_the_budget_allows() -> None:
    """Kills the sign of the score: the other candidate explains next to nothing."""
    model = _regression(n=3000, epsilon=5.0)
    assert model.card["mechanism"] == "additive"
    assert _classes(n=3000, epsilon=5.0).card["mechanism"] == "additive"
    near = model.predict([{"a": 0.9, "b": 0.0}, {"a": 0.0, "b": 0.0}])
    assert near[0] - near[1] > 0.5


def test_named_pairs_reach_the_model_that_is_chosen() -> None:
    """Kills pairs that are checked and not passed on."""
    model = _regression(n=3000, epsilon=5.0, interactions=[("b", "a")])
    assert model.card["mechanism"] == "additive"
    assert model.estimator.shapes_[-1].columns == ((1,), (0,))
    with pytest.raises(TableError, match="interactions must be pairs of two columns"):
        _regression(interactions=[("a", "y")])


def test_the_release_is_written_and_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "chosen"
    model = _regression(folder=folder, epsilon=5.0)
    rows = [{"a": 0.9, "b": 0.1}, {"a": -0.2, "b": -0.7}]
    np.testing.assert_array_equal(load_model(folder).predict(rows), model.predict(rows))
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert card["guarantee"] == model.estimator.privacy_statement_
    assert card["epsilon"] == 5.0
    with pytest.raises(TableError, match="output must be a new folder"):
        _regression(folder=folder)


def test_without_a_state_the_statement_does_not_void_itself() -> None:
    model = _regression(random_state=None)
    assert "voids" not in model.card["guarantee"]
    assert "voids" in _regression().card["guarantee"]


WRONG: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 0.0},
    r"epsilon must be between 1e-48 and 1e\+20, got epsilon=1e-50": {"epsilon": 1e-50},
    "delta must be below 1/2": {"delta": 0.5},
    "held must be": {"held": 1.0},
    "candidates must be two different names": {"candidates": ("additive",)},
    "candidates must be two different names or": {"candidates": ("additive", "additive")},
    "candidates must be two": {"candidates": "additive"},
    "must be one of": {"candidates": ("additive", "nothing")},
    "task must be": {"task": "clustering"},
    "choosing needs at least 10 records, got 9": {"n": 9},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_arguments(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _regression(**WRONG[message])
