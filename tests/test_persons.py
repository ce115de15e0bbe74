"""A person with several records is hidden by every estimator: what counts, what it costs, what is
stated.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplit import (
    Budget,
    BudgetError,
    HatFeatures,
    NoisyGradientClassifier,
    ObjectivePerturbationClassifier,
    PrivateLloyd,
    PrivatePCA,
    SufficientStatisticsRegressor,
)
from dplit.accounting import gdp_budget, group_budget
from dplit.audit import ledger
from dplit.persons import PerPerson
from dplit.streams import stream
from tests.audit.spies import moved, run, told_of_data
from tests.test_contract import MODELS

# so few records that the estimators warn of their noise
pytestmark = [
    pytest.mark.filterwarnings("ignore::dplit.NoiseWarning"),
    pytest.mark.filterwarnings("ignore:no width of the kernel"),
]
_REFUSED = {"entry noise", "entry rows", "entry moments", "sketch", "mixture", "directions"}
_MOMENTS: dict[str, Any] = {"data_norm": 1.0, "bounds": (-1.0, 1.0)}


def _data(n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = stream(0, "persons", "data")
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, X[:, 0], rng.integers(0, n // 3, n)


def _labels(model: Any, y: np.ndarray) -> Any:
    return y if is_regressor(model) else y > 0.1 if is_classifier(model) else None


def _hiding(name: str) -> Any:
    """A model of the contract, under a relation in which it may hide persons."""
    model = clone(MODELS[name][0])
    return model.set_params(neighboring="add_remove") if name in ("pca", "lloyd") else model


@pytest.mark.parametrize("name", sorted(MODELS.keys() - _REFUSED))
def test_every_estimator_that_hides_a_record_hides_a_person(name: str) -> None:
    """The fit has what :func:`group_budget` says of one record, and the statement the person's.

    Kills a fit at the budget of a person, a statement or a relation of a record, and noise that two
    fits share. That the draws are those of the smaller budget is asked by the ledger.
    """
    X, y, who = _data()
    given = _hiding(name)
    model = PerPerson(given, rows_each=3)
    with ledger() as book:
        model.fit(X, _labels(given, y), group=who)
    delta = getattr(given, "delta", 0.0)
    rule = getattr(given, "_gaussian", False)
    share = group_budget(epsilon=given.epsilon, delta=delta, size=3, gaussian=rule)
    found = model.estimator_
    assert (found.epsilon, found.epsilon_) == (share[0], share[0])
    assert found.delta_ in (share[1], 0.0)
    assert book.epsilon(delta=found.delta_) <= share[0] * (1.0 + 1e-9)
    assert (model.epsilon_, model.delta_) == (given.epsilon, delta if found.delta_ else 0.0)
    assert not hasattr(given, "epsilon_")
    told = model.privacy_statement_
    assert f"({model.epsilon_:.4g}, {model.delta_:g})-differential privacy for" in told
    assert "of each at most 3 records count" in told
    people = len(np.unique(who))
    one = f"replacing all records of one of {people} persons (their number is public"
    added = "adding or removing all records of one person ("
    assert (added if model.neighboring_ == "add_remove" else one) in told
    assert "operating system" in told
    own = MODELS[name][1].split()[0]
    again = clone(model).fit(X, _labels(given, y), group=who)
    assert (np.array(getattr(found, own)) != np.array(getattr(again.estimator_, own))).any()


class Seen(SufficientStatisticsRegressor):
    """Keeps what it was fitted to."""

    seen: ClassVar[list[tuple[np.ndarray, np.ndarray]]] = []

    def fit(self, X: Any, y: Any) -> Seen:
        self.seen.append((np.array(X), np.array(y)))
        return super().fit(X, y)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_a_person_changes_so_many_records_at_most(relation: Any) -> None:
    """Whatever the person has, however many and wherever; other persons' records stay.

    Kills a choice by place or by chance, one in which others take part, labels that are not there
    taken first, and persons without a place.
    """
    rng = stream(0, "persons-changes", "data")
    counts = set()
    for trial in range(60):
        each, n = int(rng.integers(1, 4)), 40
        X, y = rng.integers(-2, 3, (n, 2)) / 2.0, rng.integers(-1, 2, n) / 1.0
        y[rng.random(n) < 0.3] = np.nan
        y[0] = 0.0
        who = np.r_[np.arange(8), rng.integers(0, 8, n - 8)]
        mine = who == 3
        if relation == "add_remove":
            keep = ~mine
            other = X[keep], y[keep], who[keep]
        else:
            more = int(rng.integers(1, 6))
            other = (
                np.r_[X[~mine], rng.uniform(-1, 1, (more, 2))],
                np.r_[y[~mine], rng.choice([np.nan, 1.0], more)],
                np.r_[who[~mine], np.full(more, 3)],
            )
        Seen.seen.clear()
        order = rng.permutation(n)
        model = PerPerson(Seen(neighboring=relation, **_MOMENTS), rows_each=each)
        for A, b, g in ((X, y, who), (X[order], y[order], who[order]), other):
            model.fit(A, b, group=g)
        one, turned, two = (sorted(map(repr, np.column_stack(s).tolist())) for s in Seen.seen)
        assert one == turned
        rest = list(one)
        added = 0
        for row in two:
            if row in rest:
                rest.remove(row)
            else:
                added += 1
        counts.add(len(rest))
        if relation == "add_remove":
            assert not added
            assert len(rest) <= each
        else:
            assert len(one) == len(two) == 8 * each
            assert added == len(rest) <= each, trial
            known = np.array([sum(~np.isnan(y[who == k])) for k in range(8)])
            filled = np.isfinite(Seen.seen[0][1]).sum()
            assert filled == np.minimum(known, each).sum()
    assert counts >= {1, 2, 3}


def _people(relation: str) -> Iterator[tuple[Any, Any]]:
    """Yield tables of which one person's records are others: equal extreme ones among them."""
    rest = np.array([[0.3, 0.1], [-0.2, 0.5]]), np.array([0.5, -0.5]), np.array([7, 8])
    ends = [(0.0, 1.0), (90.0, 1.0), (45.0, -1.0), (90.0, -1.0), (180.0, 1.0)]

    def table(angle: float, label: float, many: int) -> Any:
        turn = np.deg2rad(angle)
        mine = np.tile([np.cos(turn), np.sin(turn)], (many, 1))
        people = np.r_[rest[2], np.full(many, 3)]
        return np.r_[rest[0], mine], np.r_[rest[1], np.full(many, label)], people

    for many in (1, 3, 5):
        for end in ends:
            if relation == "add_remove":
                yield table(*end, many), rest
            else:
                for other in ends:
                    yield table(*end, many), table(*other, 5)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("most", [1, 3])
def test_no_person_moves_what_is_hidden_by_more_than_so_many_records(
    relation: Any, most: int
) -> None:
    """At the door of the sampler: k times the sensitivity of a record, and nearly so much by k
    equal records at the bounds. Kills a count that nobody bounds (five records of a person).
    """
    largest = 0.0
    for table, other in _people(relation):

        def release(data: Any, rng: Any) -> Any:
            inner = SufficientStatisticsRegressor(
                neighboring=relation, fit_intercept=False, random_state=rng, **_MOMENTS
            )
            X, y, who = data
            return PerPerson(inner, rows_each=most).fit(X, y, group=who)

        runs = run(release, table), run(release, other)
        assert told_of_data(*runs) == []
        largest = max(largest, moved(*runs))
    assert 0.99 * most < largest <= most * (1.0 + 1e-9)


@pytest.mark.parametrize("planted", [False, True])
def test_the_budget_of_records_comes_to_that_of_a_person(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the ratio of sensitivity and deviation that a ledger heard, k times. A fit at the budget
    of a person, planted, is caught.
    """
    if planted:
        monkeypatch.setattr("dplit.persons.group_budget", lambda **told: (told["epsilon"], 1e-5))
    X, y, who = _data()
    given = SufficientStatisticsRegressor(epsilon=1.0, delta=1e-5, **_MOMENTS)
    with ledger() as book:
        PerPerson(given, rows_each=4).fit(X, y, group=who)
    ratio = max(draw.joint for draw in book.draws if draw.joint is not None)
    whole = gdp_budget(epsilon=1.0, delta=1e-5)
    assert (4 * ratio > 3.9 * whole) == planted
    assert planted or 0.999 * whole < 4 * ratio <= whole * (1 + 1e-9)


@pytest.mark.parametrize(
    ("given", "gaussian"),
    [
        (NoisyGradientClassifier(data_norm=1.0, delta=1e-6), True),
        (ObjectivePerturbationClassifier(data_norm=1.0), False),
    ],
)
def test_a_budget_of_persons_pays_once_and_one_of_records_refuses(
    given: Any, gaussian: bool, tmp_path: Path
) -> None:
    """At the person's price and not at the smaller one of the inner fit, which is not written."""
    X, y, who = _data()
    model, delta = PerPerson(given, rows_each=3), given.delta
    facts: dict[str, Any] = {"epsilon": 2.5, "delta": 1e-4}
    for composition in ("adding", "gaussian"):
        name = tmp_path / f"{composition}.json"
        budget = Budget(name, unit="person", composition=composition, **facts)
        with budget:
            model.fit(X, y > 0.1, group=who)
        (entry,) = budget.entries()
        assert (entry.epsilon, entry.delta) == (given.epsilon, delta)
        assert entry.what == f"a fit of {type(given).__name__}"
        assert (entry.mu is not None) == gaussian
        if entry.mu is not None:
            assert entry.mu == pytest.approx(gdp_budget(epsilon=1.0, delta=delta), rel=1e-9)
    other = Budget(tmp_path / "records.json", **facts)
    with other, pytest.raises(BudgetError, match="one record, and the guarantee of one person"):
        model.fit(X, y > 0.1, group=who)
    assert other.spent() == (0.0, 0.0)


def _who(n: int) -> np.ndarray:
    return np.arange(n) // 2


@pytest.mark.parametrize(
    ("model", "group", "error", "rule"),
    [
        (MODELS["sketch"][0], _who(120), ValueError, "must not take persons itself"),
        (MODELS["entry noise"][0], _who(120), TypeError, "must promise a record"),
        (SGDRegressor(), _who(120), TypeError, "must be a private estimator, got"),
        (HatFeatures(box=(-1.0, 1.0)), _who(120), TypeError, "must be a private estimator"),
        ("mine", _who(120), TypeError, "must be a private estimator, got estimator='mine'"),
        (PerPerson(MODELS["gradient"][0]), _who(120), TypeError, "must be a private estimator"),
        (
            PrivatePCA(1, data_norm=1.0, neighboring="replace_one"),
            _who(120),
            ValueError,
            "neighboring must be 'add_remove' without labels",
        ),
        (MODELS["moments"][0], _who(119), ValueError, r"group must have shape \(120,\)"),
        (MODELS["moments"][0], _who(120) / 2.0, TypeError, "group must hold integers up to int64"),
        (MODELS["moments"][0], [None, *_who(119)], TypeError, "none of them missing"),
    ],
)
def test_what_cannot_hide_a_person_is_refused_before_a_draw(
    model: Any, group: Any, error: Any, rule: str
) -> None:
    X, y, _ = _data()
    with ledger() as book, pytest.raises(error, match=rule):
        PerPerson(model).fit(X, y, group=group)
    assert not len(book)


@pytest.mark.parametrize("most", [0, 1.5, True])
def test_a_wrong_number_of_records_is_refused(most: Any) -> None:
    X, y, who = _data()
    with ledger() as book, pytest.raises((TypeError, ValueError), match="rows_each must be"):
        PerPerson(MODELS["moments"][0], rows_each=most).fit(X, y, group=who)
    assert not len(book)
    with pytest.raises(TypeError, match="group"):
        PerPerson(MODELS["moments"][0]).fit(X, y)


def test_it_is_what_its_estimator_is() -> None:
    """Classes that are given or found, probabilities where the loss has them, names of columns."""
    pandas = pytest.importorskip("pandas")
    X, y, who = _data()
    frame = pandas.DataFrame(X, columns=list("abc"))
    labels = np.where(y > 0.1, "u", "v").astype(object)
    labels[5] = None
    for classes in (None, ("v", "u")):
        given = ObjectivePerturbationClassifier(
            loss="logistic", data_norm=1.0, classes=classes, epsilon=50.0, random_state=0
        )
        model = PerPerson(given, rows_each=2)
        assert is_classifier(model)
        model.fit(frame, labels, group=[f"p{k}" for k in who])
        assert model.classes_.tolist() == list(classes or ("u", "v"))
        assert model.feature_names_in_.tolist() == list("abc")
        assert model.predict_proba(frame).shape == (120, 2)
        assert set(model.predict(frame)) == {"u", "v"}
        assert model.score(frame, np.where(y > 0.1, "u", "v")) > 0.8
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[["b", "a", "c"]])
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.decision_function(frame), model.decision_function(frame))
        assert "voids the guarantee" in model.privacy_statement_
    hinge = PerPerson(ObjectivePerturbationClassifier(data_norm=1.0))
    assert not hasattr(hinge, "predict_proba")
    assert not hasattr(hinge, "transform")
    centres = PerPerson(PrivateLloyd(2, bounds=(-1.0, 1.0)), rows_each=2).fit(X, group=who)
    assert centres.transform(X).shape == (120, 2)
    line = make_pipeline(
        FunctionTransformer(), PerPerson(SufficientStatisticsRegressor(**_MOMENTS))
    )
    assert is_regressor(line)
    line.fit(X, y, perperson__group=who)
    assert line.predict(X).shape == (120,)


def test_scikit_learn_splits_persons_with_their_records() -> None:
    """Folds of cross-validation take the part of ``group`` that is theirs, and folds by group none
    of a person's records apart; parameters inside are reached by their names.
    """
    X, y, who = _data(300)
    given = SufficientStatisticsRegressor(epsilon=1e4, random_state=0, **_MOMENTS)
    model = clone(PerPerson(given)).set_params(estimator__alpha=1e-3, rows_each=3)
    assert model.get_params()["estimator__alpha"] == 1e-3
    found = cross_val_score(model, X, y, cv=GroupKFold(3), groups=who, params={"group": who})
    assert found.min() > 0.9


def test_fits_with_one_generator_have_noise_of_their_own() -> None:
    """Kills a clone that copies the state of the generator, and so the noise of the last fit."""
    X, y, who = _data()
    given = SufficientStatisticsRegressor(random_state=np.random.default_rng(0), **_MOMENTS)
    model = PerPerson(given)
    first = model.fit(X, y, group=who).estimator_.coef_
    assert (model.fit(X, y, group=who).estimator_.coef_ != first).all()


def test_one_record_each_is_the_fit_itself() -> None:
    """Where nobody has two, to the bit. Kills a budget that is divided where it need not be."""
    X, y, _ = _data()
    for relation in ("add_remove", "replace_one"):
        given = SufficientStatisticsRegressor(random_state=0, neighboring=relation, **_MOMENTS)
        person = PerPerson(given).fit(X, y, group=np.arange(120))
        np.testing.assert_array_equal(person.estimator_.coef_, clone(given).fit(X, y).coef_)
        assert not math.isnan(person.epsilon_)
