"""The map behind the advice: laws by hand, noise against the estimators, paired differences."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.maps import erm, erm_archive, erm_candidates, erm_off_grid
from dplit.advice._function_settings import LEARNT, FunctionFacts, configure, gain, penalty
from dplit.features import fourier
from dplit.kernels.answers import LaplaceAnswers
from dplit.mechanisms import gaussian
from dplit.streams import stream
from tests.archives import archived
from tests.studies.agreement import parted

ARCHIVE = archived("erm_choice")


def test_errors_by_hand() -> None:
    """Kills a sign that is turned and a variance that is forgotten."""
    X, y = np.zeros((2, 1)), np.array([-1.0, 1.0])
    classes = erm.Task(X, y, X, np.array([0.9, 0.3]), 0.0, True)
    assert classes.error(np.array([1.0, -1.0])) == pytest.approx(0.2)
    assert classes.error(np.array([-1.0, -1.0])) == pytest.approx(0.6)
    assert classes.best == pytest.approx(0.2)
    assert classes.trivial == pytest.approx(0.4)
    values = erm.Task(X, y, X, np.array([0.2, -0.2]), 0.3, False)
    assert values.error(np.array([0.2, 5.0])) == pytest.approx(0.5 * 1.2**2 / 0.16 + 0.3)
    assert values.best == pytest.approx(0.3)
    assert values.trivial == pytest.approx(0.04 / 0.16 + 0.3)


@pytest.mark.parametrize("shape", ["linear", "curved"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_laws_have_the_stated_strength(loss: str, shape: str) -> None:
    """Means of 40,000 labels, false alarm 1e-6 each: kills a form without unit variance. A curved
    form in ten columns is within a tenth of it.
    """
    rng = stream(0, "choice-map-law", "data")
    task = erm.draw_task(erm.Setting(loss, shape, 40_000, 10, "medium"), rng)
    assert np.abs(task.X).max() <= 1.0
    assert np.abs(task.y).max() <= 1.0
    if loss == "squared":
        assert task.y.var() == pytest.approx(0.16, rel=0.06)
        assert task.noise == pytest.approx(0.6)
        assert task.truth.var() / 0.16 == pytest.approx(0.4, abs=0.06)
    else:
        assert (task.y > 0).mean() == pytest.approx(task.truth.mean(), abs=0.05)
        spread = np.log(task.truth / (1.0 - task.truth)).std()
        assert spread == pytest.approx(3.0, abs=0.3)


def _fits(task: erm.Task, at: erm.Setting) -> Any:
    linear = LaplaceAnswers("hinge", 1, 1.0, 1.0, data_norm=math.sqrt(at.d / 2.0))
    rows = [linear.features(X, None) for X in (task.X, task.test)]
    return erm_candidates._Fits(*rows, task.y, at.loss)


def test_expected_errors_of_answers_are_those_of_the_answers() -> None:
    """The closed form against 60 fits that answer 50 points each; false alarm 1e-6. Kills a scale
    without the number of questions.
    """
    at = erm.Setting("hinge", "linear", 300, 2, "medium")
    task = erm.draw_task(at, stream(0, "choice-map-answers", "data"))
    few = erm.Task(task.X, task.y, task.test[:50], task.truth[:50], 0.0, True)
    facts = FunctionFacts(300, 2, "hinge", 5.0, 0.0, 50)
    expected = erm_candidates._answers(few, _fits(few, at), facts, stream(0, "unused", "noise"))
    model = configure("answers", facts)
    found = [
        few.error(model.fit(few.X, few.y, rng=np.random.default_rng([3, k])).answer(few.test))
        for k in range(60)
    ]
    assert abs(np.mean(found) - expected) < 5.0 * np.std(found) / math.sqrt(60)
    assert 0.2 < expected < 0.45


@pytest.mark.parametrize("name", ["process", "gamma"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_kernel_machines_of_the_map_are_the_estimators(name: str, loss: str) -> None:
    """Same penalty, sensitivity and noise: kills a map of something that is not recommended."""
    at = erm.Setting(loss, "curved", 200, 2, "medium")
    task = erm.draw_task(at, stream(0, "choice-map-kernels", "data"))
    facts = FunctionFacts(200, 2, loss, 1.5, 1e-6, None, "curved")
    model = configure(name, facts).set_params(random_state=0).fit(task.X, task.y)
    features = fourier.cos_sin_features(task.X, model.frequencies_)
    fits = erm_candidates._Fits(features, features, task.y, loss)
    _, sensitivity = fits.at(penalty(name, facts))
    assert model.sensitivity_ == pytest.approx(sensitivity, rel=1e-9)
    assert model.regularization_ == penalty(name, facts)


def test_the_process_meets_its_closed_form() -> None:
    """500 draws against a normal probability, false alarm 1e-6; kills half of the noise."""
    at = erm.Setting("hinge", "curved", 200, 2, "strong")
    task = erm.draw_task(at, stream(0, "choice-map-process", "data"))
    width = 0.35 * math.sqrt(2.0)
    frequencies = fourier.random_frequencies(
        2, 50, gamma=0.5 / width**2, rng=stream(0, "choice-map-process", "public")
    )
    fits = erm_candidates._Fits(
        *(fourier.cos_sin_features(X, frequencies) for X in (task.X, task.test)), task.y, "hinge"
    )
    facts = FunctionFacts(200, 2, "hinge", 3.0, 1e-6, None, "curved")
    weights, sensitivity = fits.at(penalty("process", facts))
    sigma = gaussian.gaussian_sigma(epsilon=3.0, delta=1e-6, sensitivity=sensitivity)
    wrong = norm.cdf(-(fits.test @ weights) / sigma)
    expected = float(np.mean(task.truth * wrong + (1.0 - task.truth) * (1.0 - wrong)))
    noise = stream(0, "choice-map-process", "noise")
    found = [
        value
        for _ in range(125)
        for value in erm_candidates._released(task, fits, np.empty((0, 0)), "process", facts, noise)
    ]
    assert abs(np.mean(found) - expected) < 5.0 * np.std(found) / math.sqrt(500)


def test_the_archive_is_what_the_code_computes() -> None:
    """One setting again, with all its trials; kills an archive of another setting or unit.

    The noise is another draw than when it was archived. False alarm 1e-4.
    """
    at = erm.Setting("hinge", "linear", 100, 2, "strong")
    again = erm_archive.cells(at, erm_candidates.simulate(at, seed=ARCHIVE["seed"]))
    kept = [row for row in ARCHIVE["cells"] if all(row[k] == v for k, v in at._asdict().items())]
    assert len(again) == len(kept) == 10
    for new, old in zip(again, kept, strict=True):
        assert new["errors"].keys() == old["errors"].keys()
        assert (new["epsilon"], new["delta"]) == (old["epsilon"], old["delta"])
        (means, ses), (kept_means, kept_ses) = (
            np.array([row["errors"][name][:2] for name in new["errors"]]).T for row in (new, old)
        )
        trials = ARCHIVE["trials"][str(at.n)]
        assert not len(parted(means, kept_means, (ses, kept_ses), trials=trials))
        wide = np.hypot(ses, kept_ses)
        assert np.median(np.abs(means - kept_means) / np.maximum(wide, 1e-3)) < 1.5


def test_the_archive_holds_the_whole_grid() -> None:
    kept = {tuple(row[k] for k in erm.Setting._fields) for row in ARCHIVE["cells"]}
    assert kept == set(map(tuple, erm.settings()))
    assert len(ARCHIVE["cells"]) == 10 * len(kept)
    for row in ARCHIVE["cells"]:
        names = set(row["errors"])
        assert {f"answers {q}" for q in erm.QUESTIONS} <= names
        assert ("moments" in names) == (row["loss"] == "squared" and row["delta"] > 0.0)
        assert ("process" in names) == (row["delta"] > 0.0 and row["n"] <= 10_000)
    assert {name.partition(" ")[0] for name in names} <= {
        name.partition(" ")[0] for name in ARCHIVE["candidates"]
    }
    assert ARCHIVE["trials"] == {str(n): count for n, count in erm.TRIALS.items()}


def test_a_gain_that_is_planted_is_learnt() -> None:
    """Kills a regressor that is forgotten: cells made from coefficients give the same gains."""
    key = "hinge, linear, objective pure"
    grid = product((100, 1000, 10_000), (2, 10, 50), ("weak", "medium", "strong"), erm.EPSILONS)
    cells = [
        FunctionFacts(n, d, "hinge", e, 0.0, None, "linear", signal) for n, d, signal, e in grid
    ]
    rows = []
    for facts in cells:
        mean = 0.5 - 0.4 * gain("objective pure", facts, LEARNT[key])
        errors = {"objective pure": [mean, 0.0, 0.0]}
        rows.append({**facts._asdict(), "trivial": 0.5, "best": 0.1, "errors": errors})
    learnt = erm_archive.learn(rows)[key]
    for facts in cells:
        got, planted = (gain("objective pure", facts, c) for c in (learnt, LEARNT[key]))
        assert got == pytest.approx(planted, abs=0.02)
    assert learnt[9] < 0.1


def test_paired_differences_by_hand() -> None:
    """Kills trials that are not paired, and a standard error over settings."""
    one = {("a", 1.0): np.array([[1.0], [3.0]]), ("b", 1.0): np.array([[0.0], [1.0]])}
    two = {("a", 1.0): np.array([[5.0], [5.0]]), ("b", 1.0): np.array([[4.0], [2.0]])}
    results = {
        erm.Setting("hinge", "linear", 100, 2, "weak"): {"errors": one},
        erm.Setting("hinge", "linear", 1000, 2, "weak"): {"errors": two},
        erm.Setting("hinge", "linear", 1000, 9, "weak"): {"errors": two},
    }
    found = erm_off_grid.paired(
        results, "a", "b", loss="hinge", shape="linear", d=2, epsilons=(1.0,)
    )
    assert found["difference"] == 1.75  # of 1.5 and 2
    assert found["se"] == pytest.approx(math.sqrt(0.25 + 1.0) / 2.0, abs=1e-4)
    assert found["t"] == pytest.approx(1.75 / 0.559, abs=0.05)


@pytest.mark.parametrize(
    "case", erm_off_grid.OFF_GRID, ids=lambda case: f"{case.data}-{case.loss}-{case.n}"
)
def test_cases_off_the_grid_are_scaled_and_of_their_size(case: erm_off_grid.Case) -> None:
    task = erm_off_grid.off_grid_task(case, stream(0, "choice-map-cases", "data"))
    assert task.X.shape == (case.n, case.d)
    assert task.test.shape[1] == case.d
    assert max(np.abs(task.X).max(), np.abs(task.y).max()) <= 1.0
    assert np.abs(task.X).max() > 0.6
    assert 0.2 < task.trivial < 1.2
    classes = set(np.unique(task.y)) == {-1.0, 1.0}
    assert classes == (case.loss != "squared")
    assert (case.n not in erm.TRIALS) or (case.d not in (2, 10, 50))


def test_a_regret_is_the_gap_to_the_least_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a hindsight over trials one by one, and one without constants."""
    monkeypatch.setattr(erm_off_grid, "OFF_EPSILONS", (0.5,))
    monkeypatch.setattr(erm_off_grid, "OFF_DELTAS", (0.0,))
    monkeypatch.setattr(erm_off_grid, "OFF_QUESTIONS", (2,))
    monkeypatch.setattr(erm_off_grid, "chosen", lambda facts: "gamma")
    names = ("answers 2", "objective pure", "gamma", "queries")
    trials = [
        ({(name, 0.5): [value] for name, value in zip(names, values, strict=True)}, trivial)
        for values, trivial in (((0.1, 0.5, 0.4, 0.6), 0.45), ((0.5, 0.3, 0.6, 0.6), 0.45))
    ]
    [row] = erm_off_grid.regrets(erm_off_grid.Case("normal", 300, 5, "hinge"), trials)
    assert row["known"]
    blind, known = erm_off_grid.regrets(
        erm_off_grid.Case("normal", 300, 5, "hinge", signal="strong"), trials
    )
    assert (blind["setting"]["signal"], blind["known"]) == ("medium", False)
    assert (known["setting"]["signal"], known["known"]) == ("strong", True)
    told = erm_off_grid.off_grid_summary([row, blind | {"regret": 0.4}, known | {"regret": 0.1}])
    assert told["signal known"]["mean"] == pytest.approx(0.15)
    assert told["signal unsaid"]["mean"] == pytest.approx(0.3)
    assert (row["recommended"], row["best"]) == ("gamma", "answers")
    assert row["regret"] == pytest.approx(0.2)
    assert row["se"] == pytest.approx(np.std([0.3, 0.1], ddof=1) / math.sqrt(2.0), abs=1e-4)
    assert row["errors"]["constant"] == 0.45
