"""The map of margin learners: exact errors, the fast mean, rows of the archive again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dplit.baselines import ObjectivePerturbationClassifier
from dplit.margin.choice import Facts
from dplit.streams import stream
from dplit_studies.margin.choice_map import (
    LAWS,
    METHODS,
    OFF_GRID,
    Case,
    _noisy_mean,
    cell,
    cells,
    halves,
    law_error,
    records,
)

ROOT = Path(__file__).resolve().parents[3]
ARCHIVE = json.loads((ROOT / "results" / "margin_choice.json").read_text(encoding="utf8"))


@pytest.mark.parametrize("law", LAWS)
def test_errors_are_exact(law: str) -> None:
    """Against 200,000 records, within 5 standard errors (false alarm 6e-7 each). Kills a dimension
    that is off by one at d = 6, a crowd on the wrong side, flips that are left out.
    """
    rng = stream(0, f"margin-choice-exact-{law}", "data")
    facts = Facts(200_000, 6, 0.3, 0.1, 1.0, 0.0)
    X, y = records(law, facts, rng)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    for _ in range(4):
        w = rng.standard_normal(6) + np.eye(6)[0]
        exact, seen = law_error(law, facts, w), float(np.mean(y * (X @ w) <= 0))
        assert abs(seen - exact) < 5.0 * math.sqrt(exact * (1.0 - exact) / len(y))
    assert law_error(law, facts, np.eye(6)[0]) == pytest.approx(0.1)
    assert law_error(law, facts, -np.eye(6)[0]) == pytest.approx(0.9)


def test_the_mean_of_a_crowd_is_wrong_about_the_few() -> None:
    facts = Facts(20_000, 50, 0.3, 0.0, 1.0, 0.0)
    X, y = records("crowd", facts, stream(0, "margin-choice-crowd", "data"))
    assert law_error("crowd", facts, y @ X) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.filterwarnings("ignore:the noise of")
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_fast_mean_is_the_estimator_at_a_large_penalty(delta: float) -> None:
    """Lengths of the noise, means of 400, within 5 standard errors; kills a factor of 1.2."""
    facts = Facts(50, 12, 0.3, 0.0, 1.0, delta)
    X, y = records("round", facts, stream(0, "margin-choice-mean", "data"))
    ours, theirs = [], []
    for trial in range(400):
        rng = stream(0, "margin-choice-mean", "noise", trial)
        ours.append(float(np.linalg.norm(_noisy_mean(X, y, facts, rng) - y @ X)))
        model = ObjectivePerturbationClassifier(
            epsilon=1.0, delta=delta, data_norm=1.0, fit_intercept=False, regularization=100.0,
            random_state=rng,
        ).fit(X, y)  # fmt: skip
        theirs.append(float(np.linalg.norm(200.0 * 50 * model.coef_ - y @ X)))
    se = math.hypot(np.std(ours), np.std(theirs)) / 20.0
    assert abs(np.mean(ours) - np.mean(theirs)) < 5.0 * se


def test_rows_of_the_archive_come_again() -> None:
    """Kills an archive of other code: the first of the map, of both laws."""
    assert len(ARCHIVE["cells"]) == len(list(cells()))
    for (law, facts, count), row in list(zip(cells(), ARCHIVE["cells"], strict=True))[:2]:
        again = cell(law, facts, count)
        assert {k: again[k] for k in ("law", "n", "d", "trials")} == {
            k: row[k] for k in ("law", "n", "d", "trials")
        }
        assert len(row["mean"]) == sum(map(len, METHODS.values()))
        np.testing.assert_allclose(again["mean"], row["mean"], rtol=1e-3)


def test_formulas_are_near_what_was_simulated() -> None:
    """The mean of projected records, where neither flips nor noise leave it at a coin: within 0.1,
    a formula for large d; bounds, where finite and below 1, are above.
    """
    far = [abs(told - seen) for told, seen, _ in ARCHIVE["formulas"]]
    assert np.mean(far) < 0.03
    assert all(bound >= seen for _, seen, bound in ARCHIVE["formulas"] if bound is not None)


def test_cases_have_unit_rows_and_both_classes() -> None:
    for case in OFF_GRID:
        if case.data == "mnist":
            continue
        X, y, T, labels = halves(case, stream(0, "margin-choice-halves", "data"))
        assert X.shape == (case.n, case.d) == (len(y), T.shape[1])
        assert np.linalg.norm(np.vstack([X, T]), axis=1).max() <= 1.0 + 1e-12
        assert set(y) == set(labels) == {-1.0, 1.0}
    assert len({Case(*case) for case in OFF_GRID}) == len(OFF_GRID)
