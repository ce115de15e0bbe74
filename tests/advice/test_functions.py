"""Advice for risk minimisation: legal facts, the archive, budgets, and a few answers."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from benchmarks.maps.erm_archive import learn
from benchmarks.maps.erm_off_grid import agreement, off_grid_summary
from dplit.advice._function_settings import (
    CANDIDATES,
    LEARNT,
    FunctionFacts,
    configure,
    expected_error,
    ladder,
    penalty,
    ranking,
    strength,
    usable,
)
from dplit.advice.engine import ExpectedError, Recommendation
from dplit.advice.functions import recommend
from dplit.kernels import answers
from dplit.kernels.answers import LaplaceAnswers
from dplit.kernels.lipschitz import lipschitz_stability
from dplit.kernels.queries import BudgetExhaustedError
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from tests.archives import archived

ARCHIVE = archived("erm_choice")
#: What the advice reaches on the cells of the map: share of the best named, share within a
#: twentieth of what can be gained, mean regret; and the mean regret off its grid.
SAME, NEAR, REGRET = 0.785, 0.945, 0.011
OFF_REGRET = {"signal known": 0.014, "signal unsaid": 0.026}

LOSSES = ("squared", "logistic", "hinge")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 10**7),
    d=st.integers(1, 10**4),
    loss=st.sampled_from(LOSSES),
    epsilon=st.floats(1e-3, 100.0),
    delta=st.one_of(st.just(0.0), st.floats(1e-12, 0.1)),
    n_questions=st.one_of(st.none(), st.integers(1, 10**9), st.just(math.inf)),
    shape=st.sampled_from(("linear", "curved")),
    signal=st.sampled_from(("weak", "medium", "strong")),
)
def test_every_legal_question_is_answered(epsilon: float, delta: float, **facts: Any) -> None:
    """Kills an overflow, a missing candidate and a spread that is not a number."""
    advice = recommend(epsilon=epsilon, delta=delta, **facts)
    error = advice.expected
    assert error.best <= error.mean <= error.trivial
    assert 0.0 <= error.spread < 2.0
    assert repr(advice).count("\n") >= 3
    assert advice.reason.endswith(".")
    if advice.estimator is None:
        assert error.mean == error.trivial
        return
    steps = getattr(advice.estimator, "steps", None)
    model = steps[-1][1] if isinstance(steps, list) else advice.estimator
    assert model.epsilon == epsilon
    if delta == 0.0 and hasattr(model, "release"):
        assert model.release in ("gamma", "queries")
    elif delta == 0.0:
        assert getattr(model, "delta", 0.0) == 0.0
    else:
        assert getattr(model, "delta", 0.0) in (0.0, 1e-5, delta)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n must be at least"),
        ({"d": 0}, "d must be at least"),
        ({"loss": "pinball"}, "loss must be one of"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": math.inf}, "epsilon must be"),
        ({"epsilon": 5e-324}, "epsilon must be between 1e-50 and"),
        ({"delta": 0.5}, "delta must be below 1/2"),
        ({"delta": -1e-9}, "delta must be"),
        ({"n_questions": 0}, "n_questions must be at least"),
        ({"n_questions": 2.5}, "n_questions must be an integer"),
        ({"shape": "round"}, "shape must be one of"),
        ({"signal": 3}, "signal must be one of"),
    ],
)
def test_other_questions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        recommend(**{"n": 100, "d": 2, "loss": "hinge", "epsilon": 1.0, **changes})


def test_what_is_learnt_is_learnt_from_the_archive() -> None:
    """Kills a table of coefficients that was edited, or an archive that was made again alone."""
    again = learn(ARCHIVE["cells"])
    assert again.keys() == LEARNT.keys()
    for key, coefficients in again.items():
        np.testing.assert_allclose(coefficients, LEARNT[key], atol=0.021, err_msg=key)


def test_the_advice_is_that_of_the_archive() -> None:
    """Kills a rule that is not the map's: on its cells the best candidate is recommended, or one
    that loses at most a twentieth of what can be gained.
    """
    found = agreement(ARCHIVE["cells"])
    assert found == ARCHIVE["agreement"]
    assert found["cases"] == 5 * len(ARCHIVE["cells"])
    assert found["same"] >= SAME
    assert found["within 0.05"] >= NEAR
    assert found["mean regret"] <= REGRET


def test_off_the_grid_the_regret_is_small() -> None:
    """On other sizes, budgets, laws and two bundled tables; hindsight chose by the same trials."""
    rows = ARCHIVE["off_grid"]
    assert len(rows) >= 30
    assert {"cancer", "diabetes"} < {row["data"] for row in rows}
    for row in rows:
        assert row["recommended"] == (ranking(FunctionFacts(**row["setting"])) or ["constant"])[0]
        gap = row["errors"][row["recommended"]] - min(row["errors"].values())
        assert row["regret"] == pytest.approx(gap, abs=2e-4)
    found = off_grid_summary(rows)
    assert found == ARCHIVE["off_grid_summary"]
    for told, most in OFF_REGRET.items():
        assert found[told]["mean"] <= most
        assert found[told]["median"] <= 0.001


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", ["linear", "curved"])
def test_more_records_and_budget_never_harm_and_columns_and_questions_never_help(
    loss: Any, shape: Any
) -> None:
    base: dict[str, Any] = {"n": 2000, "d": 5, "loss": loss, "epsilon": 1.0, "delta": 1e-6}
    base |= {"n_questions": 3, "shape": shape}

    def error(**changes: Any) -> float:
        return recommend(**{**base, **changes}).expected.mean

    for name, values in (("n", (100, 1000, 10**5, 10**7)), ("epsilon", (0.01, 0.3, 3.0, 90.0))):
        found = [error(**{name: value}) for value in values]
        assert found == sorted(found, reverse=True)
        assert found[0] > found[-1]
    for name, worse in (("d", (2, 20, 2000)), ("n_questions", (1, 10, None))):
        found = [error(**{name: value}) for value in worse]
        assert found == sorted(found)


def test_candidates_need_what_they_need() -> None:
    """Kills Gaussian noise without a delta, and answers where a whole function is asked for."""
    for loss in LOSSES:
        pure = usable(FunctionFacts(100, 2, loss, 1.0, 0.0))
        some = usable(FunctionFacts(100, 2, loss, 1.0, 1e-6, 3))
        assert not {"process", "objective Gaussian", "gradient", "moments"} & set(pure)
        assert "answers" in some
        assert "answers" not in pure
        assert ("moments" in some) == (loss == "squared")
        assert ("objective pure" in some) == (loss != "squared")
    with pytest.raises(ValueError, match="n_questions must be a number"):
        configure("answers", FunctionFacts(100, 2, "hinge", 1.0, 0.0))


def test_strength_is_the_budget_that_the_noise_is_made_of() -> None:
    facts = FunctionFacts(100, 2, "hinge", 2.0, 1e-6, 4)
    assert strength("answers", facts) == 0.5
    assert strength("gamma", facts) == strength("objective pure", facts) == 2.0
    assert strength("process", facts) == 1.0 / gaussian_sigma(epsilon=2.0, delta=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")  # few records: noise is said
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", ["linear", "curved"])
def test_every_candidate_can_be_fitted_at_its_budget(loss: str, shape: str) -> None:
    """Kills a setting that an estimator refuses, and a guarantee for another relation."""
    rng = stream(0, "erm-choice-fits", "data")
    X = rng.uniform(-1.0, 1.0, (60, 3))
    y = np.sign(X[:, 0]) if loss != "squared" else 0.5 * X[:, 0]
    facts = FunctionFacts(60, 3, loss, 0.7, 1e-6, 2, shape)
    for name in usable(facts):
        model = configure(name, facts)
        if name == "answers":
            fitted = model.fit(X, y, rng=stream(0, "erm-choice-fits", "noise"))
            assert fitted.answer(X[:2]).shape == (2,)
            assert (fitted.epsilon, fitted.remaining) == (0.7, 0)
            continue
        model.fit(X, y)
        assert model.predict(X).shape == (60,)
        last = model[-1] if shape == "curved" and not hasattr(model, "epsilon_") else model
        gaussian = name in ("process", "objective Gaussian", "gradient", "moments")
        assert (last.epsilon_, last.delta_) == (0.7, 1e-6 if gaussian else 0.0)
        assert last.neighboring_ == "replace_one"
        assert (getattr(last, "regularization_", None) == penalty(name, facts)) == (
            name in ("process", "gamma", "queries")
        )


def test_penalties_stand_on_a_ladder_and_answers_pay_for_their_number() -> None:
    assert [ladder(x) for x in (1.0, 1.4, 1.5, 0.01)] == [1.0, 1.0, 2.0, 2.0**-7]
    facts = FunctionFacts(3000, 2, "hinge", 1.0, 0.0, 1)
    assert penalty("answers", facts) == 2.0**-10
    assert penalty("answers", facts._replace(n_questions=16)) == 2.0**-6
    assert penalty("answers", facts._replace(n_questions=10**6)) == 1.0


def test_a_recommendation_reads_as_text() -> None:
    """Kills a print that hides the reason, the ranges or the spread."""
    advice = recommend(n=5000, d=10, loss="hinge", epsilon=1.0, n_questions=100)
    lines = str(advice).splitlines()
    assert lines[0].startswith("ObjectivePerturbationClassifier(")
    assert lines[1].startswith("  why       Of ")
    assert any(line.startswith("  tried     n 100 to 100,000; d 2 to 50;") for line in lines)
    assert "+-" in lines[-1]
    assert "(a constant 0.4" in lines[-1]
    assert max(map(len, lines[1:])) <= 100
    far = recommend(n=10**7, d=100, loss="hinge", epsilon=1.0)
    assert "n, d beyond what was tried" in far.reason
    assert "beyond" not in advice.reason
    tiny = ExpectedError("error", 1.0, 0.0, 1.0, 0.5)
    assert "tried     n 1 to 2e+06" in repr(Recommendation(None, "So.", {"n": (1, 2e6)}, tiny))


def test_expected_errors_are_between_the_law_and_a_constant() -> None:
    for key in LEARNT:
        loss, shape, name = key.split(", ")
        assert name in CANDIDATES
        facts = FunctionFacts(1000, 5, loss, 1.0, 1e-6, 1, shape)
        found = expected_error(name, facts)
        assert found.best < found.mean < found.trivial
        strong = expected_error(name, facts._replace(signal="strong"))
        assert strong.best < found.best


# A few answers.


def _records(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(0, "erm-choice-answers", "data")
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, np.sign(X[:, 0] + 0.2)


@pytest.mark.parametrize("width", [None, 0.7])
def test_answers_have_laplace_noise_of_their_number(
    width: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kolmogorov and Smirnov at 800 fits, false alarm 1e-5; kills noise that forgets the number of
    questions or the solver's error, and one that is shared by two questions.
    """
    X, y = _records(50)
    settings_ = LaplaceAnswers(
        "logistic", n_questions=3, epsilon=2.0, regularization=0.5, width=width
    )
    points = np.array([[0.5, 0.5], [-0.5, 0.1]])
    fixed = stream(0, "erm-choice-law", "public").standard_normal((2, 50)) / 0.7
    monkeypatch.setattr(answers, "random_frequencies", lambda *args, **options: fixed)
    fits = (settings_.fit(X, y, rng=np.random.default_rng([7, trial])) for trial in range(800))
    found = np.array([fitted.answer(points) for fitted in fits])
    bound = lipschitz_stability(lipschitz=1.0, regularization=0.5, n_records=50) * 1.02
    lengths = (
        np.ones(2) if width else np.sqrt((1.0 + (points**2).sum(axis=1)) / 2.0)
    )  # norm of features: data_norm is 1 and no point is longer
    scales = 3.0 * bound * lengths / 2.0
    centred = found - np.median(found, axis=0)
    for column, scale in zip(centred.T, scales, strict=True):
        assert kstest(column, "laplace", args=(0.0, scale)).pvalue > 1e-5
    assert abs(np.corrcoef(centred.T)[0, 1]) < 5.0 / math.sqrt(800)


@pytest.mark.parametrize("loss", LOSSES)
def test_replacing_a_record_moves_answers_by_less_than_they_are_noised_for(loss: Any) -> None:
    """Kills a sensitivity without the constant coordinate or the clipping: neighbours with one
    label turned and one record far away, at equal noise.
    """
    X, y = _records(30)
    near = X.copy()
    near[0] = 1e9
    turned = y.copy()
    turned[0] = -y[0]
    settings_ = LaplaceAnswers(
        loss, n_questions=1, epsilon=1e6, regularization=0.05, data_norm=1.0, bounds=(-1.0, 1.0)
    )
    for point in ([0.6, 0.8], [0.0, 0.0], [-0.9, 0.1], [1e12, 0.0]):
        one, other = (
            settings_.fit(*data, rng=np.random.default_rng(5)) for data in ((X, y), (near, turned))
        )
        allowed = one._oracle.sensitivity
        assert abs(one.answer([point])[0] - other.answer([point])[0]) <= allowed * (1 + 1e-6)
    assert allowed == other._oracle.sensitivity


def test_no_more_than_the_agreed_number_is_answered() -> None:
    X, y = _records()
    model = LaplaceAnswers("hinge", n_questions=2, epsilon=1.0, regularization=0.1)
    fitted = model.fit(X, y, rng=stream(0, "erm-choice-answers", "noise"))
    first = fitted.answer([[0.1, 0.2]])
    np.testing.assert_array_equal(fitted.answer([[0.1, 0.2]]), first)
    assert fitted.remaining == 1
    with pytest.raises(BudgetExhaustedError):
        fitted.answer([[0.3, 0.2], [0.4, 0.2]])
    assert fitted.remaining == 1
    with pytest.raises(TypeError, match="holds the records"):
        pickle.dumps(fitted)


def test_answers_of_least_squares_come_in_the_units_of_the_labels() -> None:
    X = np.linspace(-1.0, 1.0, 3000)[:, None]
    model = LaplaceAnswers(
        "squared", n_questions=2, epsilon=1e6, regularization=1e-4, bounds=(10.0, 30.0)
    )
    fitted = model.fit(X, 20.0 + 5.0 * X[:, 0], rng=stream(0, "erm-choice-answers", "noise"))
    np.testing.assert_allclose(fitted.answer([[-1.0], [1.0]]), [15.0, 25.0], atol=0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "pinball"}, "loss must be one of"),
        ({"n_questions": 0}, "n_queries must be"),
        ({"epsilon": -1.0}, "epsilon must be positive"),
        ({"regularization": 0.0}, "regularization must be positive"),
        ({"data_norm": 0.0}, "data_norm must be positive"),
        ({"width": 0.0}, "width must be positive"),
        ({"loss": "squared", "bounds": (1.0, 0.0)}, "bounds must be two increasing"),
    ],
)
def test_bad_settings_of_answers_are_named(changes: dict[str, Any], message: str) -> None:
    X, y = _records(20)
    good: dict[str, Any] = {"loss": "hinge", "n_questions": 1, "epsilon": 1.0}
    model = LaplaceAnswers(**{**good, "regularization": 0.1, **changes})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, rng=stream(0, "erm-choice-answers", "noise"))
    with pytest.raises(ValueError, match="y must have 20 entries"):
        LaplaceAnswers("hinge", 1, 1.0, 0.1).fit(X, y[1:], rng=np.random.default_rng(0))
