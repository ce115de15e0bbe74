"""The map of margin learners: exact errors, the fast mean, rows of the archive again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.maps import margin, margin_learnt, margin_off_grid
from benchmarks.maps.margin import _noisy_mean, weights_of
from dplit.advice._classifier_settings import LARGE, ClassifierFacts, names_of
from dplit.features import sign_projection
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.projected import pure_components
from dplit.notebook.datasets.classification import scaled_classes
from dplit.papers.margin.gibbs import gaussian_prior_draw
from dplit.streams import stream
from tests.archives import archived
from tests.studies.agreement import parted

ARCHIVE = archived("margin_choice")


@pytest.mark.parametrize("law", margin.LAWS)
def test_errors_are_exact(law: str) -> None:
    """Against 200,000 records, within 5 standard errors (false alarm 6e-7 each). Kills a dimension
    that is off by one at d = 6, a crowd on the wrong side, flips that are left out.
    """
    rng = stream(0, f"margin-choice-exact-{law}", "data")
    facts = ClassifierFacts(200_000, 6, 0.3, 0.1, 1.0, 0.0)
    X, y = margin.records(law, facts, rng)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    for _ in range(4):
        w = rng.standard_normal(6) + np.eye(6)[0]
        exact, seen = margin.law_error(law, facts, w), float(np.mean(y * (X @ w) <= 0))
        assert abs(seen - exact) < 5.0 * math.sqrt(exact * (1.0 - exact) / len(y))
    assert margin.law_error(law, facts, np.eye(6)[0]) == pytest.approx(0.1)
    assert margin.law_error(law, facts, -np.eye(6)[0]) == pytest.approx(0.9)


def test_the_mean_of_a_crowd_is_wrong_about_the_few() -> None:
    facts = ClassifierFacts(20_000, 50, 0.3, 0.0, 1.0, 0.0)
    X, y = margin.records("crowd", facts, stream(0, "margin-choice-crowd", "data"))
    assert margin.law_error("crowd", facts, y @ X) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.filterwarnings("ignore:the noise of")  # few records: noise is measured
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_fast_mean_is_the_estimator_at_a_large_penalty(delta: float) -> None:
    """Lengths of the noise, means of 400, within 5 standard errors; kills a factor of 1.2."""
    facts = ClassifierFacts(50, 12, 0.3, 0.0, 1.0, delta)
    X, y = margin.records("round", facts, stream(0, "margin-choice-mean", "data"))
    ours, theirs = [], []
    for trial in range(400):
        rng = stream(0, "margin-choice-mean", "noise", trial)
        ours.append(float(np.linalg.norm(_noisy_mean(X, y, facts, rng) - y @ X)))
        model = ObjectivePerturbationClassifier(
            epsilon=1.0,
            delta=delta,
            data_norm=1.0,
            fit_intercept=False,
            regularization=100.0,
            random_state=rng,
        ).fit(X, y)
        theirs.append(float(np.linalg.norm(200.0 * 50 * model.coef_ - y @ X)))
    se = math.hypot(np.std(ours), np.std(theirs)) / 20.0
    assert abs(np.mean(ours) - np.mean(theirs)) < 5.0 * se


def test_the_map_s_mean_of_thrown_columns_is_the_estimator_s(watched: Any) -> None:
    """Rows of length 1 at most, signs from the public stream alone, k from the flips. Kills a row
    that is not clipped again, signs that look at records, k of the margin as it is stated.
    """
    means = watched(margin, "_noisy_mean")
    facts = ClassifierFacts(1500, 700, 0.2, 0.2, 1.0, 0.0)
    X, y = margin.records("round", facts, stream(0, "margin-choice-thrown", "data"))
    for data in (X, X[:, ::-1]):
        public = stream(0, "margin-choice-thrown", "public")
        noise = stream(0, "margin-choice-thrown", "noise")
        weights_of("mean, projected", data, y, facts, public, noise)
        k = pure_components(n_samples=1500, n_features=700, epsilon=1.0, margin=0.2, flips=0.2)
        signs = sign_projection(700, k, rng=stream(0, "margin-choice-thrown", "public"))
        (Z, *_), _, _ = means.pop()
        assert Z.shape == (1500, k) == (1500, 90)
        longer = np.linalg.norm(data @ signs.T, axis=1) > 1.0
        assert longer.sum() > 100
        np.testing.assert_allclose(np.linalg.norm(Z[longer], axis=1), 1.0)
        np.testing.assert_allclose(Z[~longer], data[~longer] @ signs.T)


def test_a_flat_law_lies_in_its_directions_and_the_archive_says_what_a_rank_gains() -> None:
    """Kills a rank that is one off, records that leave it, and advice on ranks without evidence."""
    facts = ClassifierFacts(200, 60, 0.3, 0.0, 1.0, 0.0)
    for law, rank in (("rank 5", 5), ("rank 20", 20)):
        X, _ = margin.records(law, facts, stream(0, "margin-choice-flat", "data"))
        assert np.linalg.matrix_rank(X) == rank + 1
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
        told, _, untold, _ = ARCHIVE["ranks"][law]
        assert told < untold
    rows = [row for row in ARCHIVE["cells"] if row["law"].startswith("rank")]
    assert {(row["n"], row["d"]) for row in rows} == {(300, 2000), (3000, 2000)}
    assert margin_learnt.by_rank(ARCHIVE["cells"]) == ARCHIVE["ranks"]


def test_what_is_lost_is_by_hand() -> None:
    """Errors of two laws' candidates and a constant that are made up: the advice's, less the best
    of all guesses, over what can be gained. Kills another room, and a best that is the advice's.
    """
    case = margin_off_grid.Case("round", 1000, 60, 0.2, 0.1)
    facts = ClassifierFacts(1000, 60, 0.2, 0.1, 1.0, 0.0)
    names = names_of(facts)
    mean = [0.30 + 0.01 * i for i in range(3 * len(names))] + [0.5]
    found = margin_off_grid.losses(case, 1.0, 0.0, mean)
    at = names.index("projected")
    for guess, first in (("stated", 0), ("three times", 1), ("a third", 2)):
        name, lost = found[guess]
        assert name == "projected"
        assert lost == pytest.approx(0.01 * (first * len(names) + at) / 0.4, abs=1e-4)
    row: Any = {**dict(zip(ClassifierFacts._fields[:5], facts[:5], strict=True)), "law": "round"}
    errors = [0.4, 0.35, 0.3, 0.36, 0.2] + [0.4] * 6  # the prior, .2, is no estimator
    assert margin_learnt.regrets([row | {"mean": errors}], 0.0)[0] == pytest.approx(
        (0.36 - 0.3) / 0.4
    )


def test_a_place_where_the_advice_was_not_run_counts_for_nothing() -> None:
    """Kills a noisy mean that stands for the advice, and an archive that does not say how many
    places are left: 3,000 records, 2,000 columns and epsilon 10 have none without a delta.
    """
    row: Any = {"n": 3000, "d": 2000, "margin": 0.3, "flips": 0.0, "epsilon": 10.0, "law": "round"}
    errors: list[Any] = [0.4, None, 0.1, None, None] + [0.4] * 8
    run = row | {"n": 300, "epsilon": 1.0, "mean": [0.4, None, 0.1, 0.3, None] + [0.4] * 8}
    assert margin_learnt.regrets([row | {"mean": errors}], 0.0).shape == (0,)
    found = margin_learnt.regrets([row | {"mean": errors}, run], 0.0)
    np.testing.assert_allclose(found, [(0.3 - 0.1) / 0.5])
    assert margin_learnt.regrets([row | {"mean": errors}], 0.0, 1e9).shape == (0,)
    left = {
        (r["n"], r["d"], r["epsilon"])
        for r in ARCHIVE["cells"]
        if not margin_learnt.was_run(r, 0.0)
    }
    assert left == {(3000, 2000, 10.0)}
    for delta, count in ((0.0, 192), (1e-6, 208)):
        mean, most, told = ARCHIVE["regret"][f"{delta:g}"]
        lost = margin_learnt.regrets(ARCHIVE["cells"], delta)
        assert told == len(lost) == count
        assert mean == pytest.approx(lost.mean(), rel=1e-4)
        assert most == pytest.approx(lost.max(), rel=1e-4)


def test_cases_have_unit_rows_and_test_on_records_that_do_not_train() -> None:
    """Kills halves that overlap, and a norm of a table that the records tell."""
    for case in margin_off_grid.OFF_GRID:
        if case.data == "mnist":
            continue
        X, y, T, labels = margin_off_grid.halves(case, stream(0, "margin-choice-disjoint", "data"))
        assert X.shape == (case.n, case.d) == (len(y), T.shape[1])
        assert np.linalg.norm(np.vstack([X, T]), axis=1).max() <= 1.0 + 1e-12
        assert set(y) == set(labels) == {-1.0, 1.0}
        both = {row.tobytes() for row in X} & {row.tobytes() for row in T}
        assert len(both) <= 1, case  # tables may hold a record twice
    assert len(set(margin_off_grid.OFF_GRID)) == len(margin_off_grid.OFF_GRID)
    for name in ("cancer", "digits"):
        found, (raw, _) = margin_off_grid.table(name)[0], scaled_classes(name)
        norm, lengths = 0.3 * math.sqrt(raw.shape[1]), np.linalg.norm(raw - 0.3, axis=1)
        unit = (raw - 0.3) / np.maximum(lengths, norm)[:, None]
        np.testing.assert_allclose(found, unit, atol=1e-12)


def test_methods_meet_the_budget_that_the_map_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a map at another delta or epsilon, and more columns of the thrown descent."""
    asked: list[ClassifierFacts] = []

    def spy(name: str, X: Any, y: Any, facts: ClassifierFacts, *streams: Any) -> Any:
        asked.append(facts)
        return np.eye(facts.d)[0]

    monkeypatch.setattr(margin, "weights_of", spy)
    facts = ClassifierFacts(30, 20, 0.3, 0.1, 0.7, 0.0)
    margin.cell("round", facts, 2)
    for delta, names in margin.METHODS.items():
        wanted = [facts._replace(delta=delta)] * 2 * len(names)
        assert [f for f in asked if f.delta == delta] == wanted
    fitted: list[dict[str, Any]] = []
    monkeypatch.undo()

    def fit(self: Any, X: Any, y: Any) -> Any:
        fitted.append(self.get_params())
        self.coef_ = np.zeros(X.shape[1])
        return self

    monkeypatch.setattr(PrivateMarginClassifier, "fit", fit)
    X, y = margin.records("round", facts._replace(d=200), stream(0, "margin-choice-told", "data"))
    rng = stream(0, "margin-choice-told", "noise")
    weights_of("margin, projected", X, y, facts._replace(d=200, delta=1e-6), rng, rng)
    told = fitted.pop()
    assert (told["n_components"], told["projection"], told["margin"]) == (20, "sign", 0.15)
    assert (told["epsilon"], told["delta"]) == (0.7, 1e-6)


def test_the_fast_mean_has_the_mechanism_s_noise() -> None:
    """The rate of the noise by hand, at few records, where the Jacobian costs most: means of 4,000
    lengths, within 5 standard errors (false alarm 6e-7). Kills a Jacobian that is another number.
    """
    facts = ClassifierFacts(4, 3, 0.3, 0.0, 0.3, 0.0)
    X, y = np.zeros((4, 3)), np.ones(4)
    rng = stream(0, "margin-choice-noise", "noise")
    found = [float(np.linalg.norm(_noisy_mean(X, y, facts, rng))) for _ in range(4000)]
    rate = (0.3 * (1.0 - 1e-3) - math.log1p(1.0 / (2.0 * LARGE * 4))) / 2.0
    assert abs(np.mean(found) - 3.0 / rate) < 5.0 * math.sqrt(3.0) / rate / math.sqrt(4000)


def test_a_lot_with_more_proposals_than_the_map_allows() -> None:
    """Crowded records at epsilon 1: with a million proposals the lot errs a third of what it does
    with the map's 20,000, and less than what is advised; six trials, means .02, .3 and .09. Kills
    advice that says nothing of it.
    """
    facts, found = ClassifierFacts(300, 200, 0.3, 0.0, 1.0, 0.0), np.zeros((3, 6))
    for i in range(6):
        X, y = margin.records("crowd", facts, stream(0, "margin-choice-lot", "data", i))
        rng = stream(0, "margin-choice-lot", "noise", i)
        for j, most in enumerate((10**6, 20_000)):
            w = gaussian_prior_draw(X, y, epsilon=1.0, rng=rng, max_proposals=most)
            found[j, i] = margin.law_error("crowd", facts, w)
        w = weights_of("projected", X, y, facts, *rng.spawn(2))
        found[2, i] = margin.law_error("crowd", facts, w)
    more, few, advised = found.mean(axis=1)
    assert more < 0.06 < advised
    assert few > 0.1


def test_rows_of_the_archive_come_again() -> None:
    """Kills an archive of other laws or sizes: the first of the map, of both laws.

    The noise is another draw than when it was archived. False alarm 2e-5.
    """
    assert len(ARCHIVE["cells"]) == len(list(margin.cells()))
    for (law, facts, count), row in list(zip(margin.cells(), ARCHIVE["cells"], strict=True))[:2]:
        again = margin.cell(law, facts, count)
        for name in ("law", "n", "d", "trials"):
            assert again[name] == row[name]
        assert len(row["mean"]) == sum(map(len, margin.METHODS.values()))
        errors = (again["se"], row["se"])
        assert not len(parted(again["mean"], row["mean"], errors, trials=row["trials"]))


def test_formulas_are_near_what_was_simulated() -> None:
    """The mean of projected records, where neither flips nor noise leave it at a coin: within 0.1,
    a formula for large d; bounds, where finite and below 1, are above.
    """
    far = [abs(told - seen) for told, seen, _ in ARCHIVE["formulas"]]
    assert np.mean(far) < 0.03
    assert all(bound >= seen for _, seen, bound in ARCHIVE["formulas"] if bound is not None)
