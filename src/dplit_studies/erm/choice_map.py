"""The map behind :func:`dplit.erm.choice.recommend`: errors of all candidates, paired by data.

Columns are uniform on [-1, 1]; t is the linear form of unit variance in a random direction, or
(curved) a cosine of twice that. Labels are 1 with probability ``expit(s t)``, or ``0.4 (r t +
noise)`` with variance 0.16. Candidates meet the same records; noise, features and records have
streams of their own.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons

from dplit._checks import Array
from dplit.baselines import noisy_gradient_descent
from dplit.datasets.classification import CANCER_RANGES
from dplit.erm.choice import (
    CANDIDATES,
    Facts,
    LaplaceAnswers,
    configure,
    penalty,
    ranking,
    strength,
    usable,
)
from dplit.erm.estimators import _add_noise, _ball_points, _certified_weights
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_sigma
from dplit.trials import Trial, run_trials

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)

DELTAS = (0.0, 1e-6)

QUESTIONS = (1, 3, 10, 100)

#: Slope of the logit of a label in t, and share of the variance of labels that t explains.
SLOPES = {"weak": 1.0, "medium": 3.0, "strong": 10.0}

EXPLAINED = {"weak": 0.1, "medium": 0.4, "strong": 0.9}

#: Deviation of the labels of regressions, which lie in [-1, 1].
_SCALE = 0.4

_TEST, _DRAWS = 2000, 4

#: Trials by number of records.
TRIALS = {100: 12, 1000: 6, 10_000: 2, 100_000: 2}

#: Passes of the rival that descends on the hinge, at most; chosen on other seeds.
_PASSES, _LONGER = 100, 3.0


class Setting(NamedTuple):
    """One law and size."""

    loss: str
    shape: str
    n: int
    d: int
    signal: str


def settings() -> Iterator[Setting]:
    """Yield the map's. Cut for time: curved laws end at 10,000 records and 10 columns (1,000 for
    the hinge), 100,000 records are met at medium signal, in 2 and 10 columns, without the hinge.
    """
    for loss in ("squared", "logistic", "hinge"):
        for signal in SLOPES:
            for n in TRIALS:
                for d in (2, 10, 50):
                    many = d < 50 and signal == "medium" and loss != "hinge"
                    if n < 100_000 or many:
                        yield Setting(loss, "linear", n, d, signal)
                    if n < (10_000 if loss == "hinge" else 100_000) and d < 50:
                        yield Setting(loss, "curved", n, d, signal)


@dataclass(frozen=True)
class Task:
    """Records with labels; test records with P(+1), or with the mean of the label."""

    X: Array
    y: Array
    test: Array
    truth: Array
    noise: float  # variance of a label around its mean, over the variance of labels
    classes: bool
    variance: float = _SCALE**2

    def error(self, scores: Array) -> float:
        """Share of wrong classes, or mean squared error over the variance of labels."""
        if self.classes:
            return float(np.where(scores > 0, 1.0 - self.truth, self.truth).mean())
        gaps = (np.clip(scores, -1.0, 1.0) - self.truth) ** 2
        return float(gaps.mean()) / self.variance + self.noise

    @property
    def trivial(self) -> float:
        """Error of the best constant."""
        if self.classes:
            return float(min(self.truth.mean(), 1.0 - self.truth.mean()))
        return float(self.truth.var()) / self.variance + self.noise

    @property
    def best(self) -> float:
        """Error of the law itself."""
        return self.error(self.truth - 0.5 if self.classes else self.truth)


def draw_task(at: Setting, rng: np.random.Generator) -> Task:
    """Draw records, labels and 2,000 test records."""
    direction = rng.standard_normal(at.d)
    direction /= np.linalg.norm(direction)

    def form(X: Array) -> Array:
        t = math.sqrt(3.0) * X @ direction
        return t if at.shape == "linear" else math.sqrt(2.0) * (np.cos(2.0 * t) - math.exp(-2.0))

    X, test = (rng.uniform(-1.0, 1.0, (n, at.d)) for n in (at.n, _TEST))
    if at.loss == "squared":
        share = EXPLAINED[at.signal]
        root, rest = _SCALE * math.sqrt(share), _SCALE * math.sqrt(1.0 - share)
        y = np.clip(root * form(X) + rest * rng.standard_normal(at.n), -1.0, 1.0)
        return Task(X, y, test, root * form(test), 1.0 - share, False)
    slope = SLOPES[at.signal]
    y = np.where(rng.random(at.n) < expit(slope * form(X)), 1.0, -1.0)
    return Task(X, y, test, expit(slope * form(test)), 0.0, True)


# Candidates: linear learners by their estimators, fits that several releases share once.


class _Fits:
    """Weights in one set of features at several penalties, each fitted once."""

    def __init__(self, rows: Array, test: Array, y: Array, loss: str) -> None:
        self.rows, self.test, self._y, self._loss = rows, test, y, loss
        self._made: dict[float, tuple[Array, float]] = {}

    def at(self, regularization: float) -> tuple[Array, float]:
        """Return weights and sensitivity."""
        if regularization not in self._made:
            self._made[regularization] = _certified_weights(
                self.rows, self._y, loss=self._loss, regularization=regularization, tau=0.5,
                accuracy=None,
            )  # fmt: skip
        return self._made[regularization]


def _answers(task: Task, fits: _Fits, facts: Facts, rng: np.random.Generator) -> float:
    """Expected error of answers, in closed form for classes, by a draw at each point else."""
    weights, sensitivity = fits.at(penalty("answers", facts))
    scale = (facts.n_questions or 1) * sensitivity / facts.epsilon
    scale = scale * np.linalg.norm(fits.test, axis=1)
    scores = fits.test @ weights
    if not task.classes:
        return task.error(scores + scale * rng.laplace(size=len(scores)))
    wrong = 0.5 * np.exp(-np.abs(scores) / scale)
    share = np.where(scores > 0, 1.0 - task.truth, task.truth)
    return float(np.mean(share * (1.0 - wrong) + (1.0 - share) * wrong))


def _released(
    task: Task, fits: _Fits, asked: Array, name: str, facts: Facts, rng: np.random.Generator
) -> list[float]:
    """Errors of a kernel machine, by draws of the noise."""
    weights, sensitivity = fits.at(penalty(name, facts))
    release = {"gamma": "gamma", "queries": "queries", "process": "gaussian_process"}[name]
    noisy = partial(
        _add_noise, weights, sensitivity, asked, release=release, epsilon=facts.epsilon,  # type: ignore[arg-type]
        delta=facts.delta, rng=rng,
    )  # fmt: skip
    return [task.error(fits.test @ noisy().coef) for _ in range(_DRAWS)]


def _fitted(task: Task, model: Any, rng: np.random.Generator) -> float:
    """Error of an estimator, whose random states are set."""
    states = {
        name: rng.spawn(1)[0] if "sampler" not in name else int(rng.integers(2**31))
        for name in model.get_params()
        if name.endswith("random_state")
    }
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        model.set_params(**states).fit(task.X, task.y)
    scores = model.decision_function if task.classes else model.predict
    return task.error(np.asarray(scores(task.test)))


def _hinge_slope(scores: Array, y: Array) -> Array:
    return np.asarray(-y * (y * scores < 1.0))


def _logistic_slope(scores: Array, y: Array) -> Array:
    return np.asarray(-y * expit(-y * scores))


def _descended(task: Task, fits: _Fits, facts: Facts, rng: np.random.Generator) -> float:
    """Error of noisy gradients on a loss for classes: a rival, with public steps."""
    n, dimension = fits.rows.shape
    noise = gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta, sensitivity=2.0)
    time = _LONGER * 2.0 * n / (float(noise) * math.sqrt(math.e * dimension))
    steps = min(max(math.ceil(time), 1), _PASSES)
    slope = _hinge_slope if facts.loss == "hinge" else _logistic_slope
    fitted = noisy_gradient_descent(
        fits.rows, task.y, epsilon=facts.epsilon, delta=facts.delta, clip=1.0, steps=steps,
        learning_rate=max(time / steps, 1.0), derivative=slope, rng=rng,
    )  # fmt: skip
    return task.error(fits.test @ fitted.coef)


Errors = dict[tuple[str, float], list[float]]


def _all_errors(
    task: Task, at: Setting, *, public: np.random.Generator, noise: np.random.Generator,
    epsilons: Sequence[float] = EPSILONS, questions: Sequence[int] = QUESTIONS,
    delta: float = DELTAS[1], kernels: bool = True,
) -> Errors:  # fmt: skip
    """Errors by candidate and epsilon; candidates with Gaussian noise have ``delta``."""
    curved = at.shape == "curved"
    base = Facts(at.n, at.d, at.loss, 1.0, delta, None, at.shape, at.signal)
    linear = LaplaceAnswers("hinge", 1, 1.0, 1.0, data_norm=math.sqrt(at.d / 2.0))
    spaces = {False: [linear.features(X, None) for X in (task.X, task.test)]}
    asked = np.empty((0, 0))
    if curved or kernels:
        width = 0.35 * math.sqrt(at.d)
        frequencies = random_frequencies(at.d, 50, gamma=0.5 / width**2, rng=public)
        spaces[True] = [cos_sin_features(X, frequencies) for X in (task.X, task.test)]
        points = _ball_points(20, at.d, radius=math.sqrt(at.d / 2.0), rng=public)
        asked = cos_sin_features(points, frequencies)
    fits = {kind: _Fits(F, T, task.y, at.loss) for kind, (F, T) in spaces.items()}
    found: Errors = {}
    for epsilon in epsilons:
        facts = base._replace(epsilon=epsilon)
        for q in questions:
            here = facts._replace(n_questions=q)
            found[f"answers {q}", epsilon] = [_answers(task, fits[curved], here, noise)]
        if at.loss != "squared":
            found["gradient", epsilon] = [_descended(task, fits[curved], facts, noise)]
        for name in usable(facts):
            if name in ("gamma", "queries", "process"):
                if kernels:
                    at_ease = _released(task, fits[True], asked, name, facts, noise)
                    found[name, epsilon] = at_ease
            elif name != "answers":
                found[name, epsilon] = [_fitted(task, configure(name, facts), noise)]
    return found


def _trial(trial: Trial, *, at: Setting) -> tuple[Errors, float, float]:
    task = draw_task(at, trial.stream("data"))
    found = _all_errors(
        task, at, public=trial.stream("public"), noise=trial.stream("noise"),
        kernels=at.n <= 10_000,
    )  # fmt: skip
    return found, task.trivial, task.best


def simulate(at: Setting, *, seed: int, n_trials: int | None = None) -> dict[str, Any]:
    """Errors of all candidates at one setting: name and epsilon to an array of trials."""
    trials = run_trials(
        partial(_trial, at=at), TRIALS[at.n] if n_trials is None else n_trials, seed=seed,
        name="erm-choice-" + "-".join(map(str, at)), progress=False,
    )  # fmt: skip
    errors = {key: np.array([found[key] for found, _, _ in trials]) for key in trials[0][0]}
    trivial, best = (float(np.mean([trial[k] for trial in trials])) for k in (1, 2))
    return {"errors": errors, "trivial": trivial, "best": best}


# The archive: cells with means and standard errors, what is learnt from them, paired differences.


def _summed(values: Array) -> list[float]:
    """Return mean, standard error over trials, and deviation of a single run."""
    by_trial = values.mean(axis=1)
    error = by_trial.std(ddof=1) / math.sqrt(len(by_trial))
    return [round(float(x), 5) for x in (values.mean(), error, values.std())]


def cells(at: Setting, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the archive's cells of one setting: epsilon by delta, errors by candidate."""
    out = []
    for epsilon in EPSILONS:
        for delta in DELTAS:
            errors = {
                name: _summed(values)
                for (name, at_epsilon), values in result["errors"].items()
                if at_epsilon == epsilon and (delta > 0.0 or not gaussian(name))
            }
            limits = {key: round(result[key], 5) for key in ("trivial", "best")}
            out.append({**at._asdict(), "epsilon": epsilon, "delta": delta, **limits,
                        "errors": errors})  # fmt: skip
    return out


def gaussian(name: str) -> bool:
    """Whether a candidate of the map takes a delta."""
    return name in ("objective Gaussian", "gradient", "moments", "process")


def _points(rows: Sequence[dict[str, Any]]) -> dict[str, list[tuple[str, Facts, float, float]]]:
    """Return what is learnt from, by loss, shape and candidate: facts, gain and its deviation."""
    found: dict[str, list[tuple[str, Facts, float, float]]] = {}
    for row in rows:
        span = row["trivial"] - row["best"]
        facts = Facts(
            row["n"], row["d"], row["loss"], row["epsilon"], row["delta"], None, row["shape"],
            row["signal"],
        )  # fmt: skip
        for full, (mean, _, spread) in row["errors"].items():
            name, _, q = full.partition(" ") if full.startswith("answers") else (full, "", "")
            asked = facts._replace(n_questions=int(q)) if q else facts
            if (row["delta"] > 0.0) == gaussian(full) and name in usable(asked):
                key = f"{row['loss']}, {row['shape']}, {name}"
                value = (row["trivial"] - mean) / span
                found.setdefault(key, []).append((name, asked, value, spread / span))
    return found


#: Signs that coefficients of a gain must have: more records, budget and signal help, columns harm.
_LOW = (-40.0, 0.0, -4.0, 0.0, -40.0, 0.2, 0.2, -4.0, 0.0)
_HIGH = (40.0, 3.0, 0.0, 4.0, 40.0, 3.0, 3.0, 0.0, 4.0)


def learn(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Fit :func:`dplit.erm.choice.gain` to the cells by least squares; the tenth number is the
    deviation of single runs around it, where it is above a twentieth.
    """
    learnt = {}
    for key, points in _points(rows).items():
        x = np.array([_regressors(name, facts) for name, facts, _, _ in points])
        # harm counts, up to as much as could be gained: near the border the rule is careful
        target = np.maximum([value for _, _, value, _ in points], -1.0)

        def modelled(c: Array, x: Array = x) -> Array:
            return np.asarray(expit(x[:, :4] @ c[:4]) * expit(x[:, 4:] @ c[4:]))

        def gaps(c: Array, m: Callable[[Array], Array] = modelled, t: Array = target) -> Array:
            return m(c) - t

        start = (1.0, 0.2, -0.1, 0.2, -8.0, 1.0, 1.0, -0.5, 0.5)
        fit = least_squares(gaps, start, bounds=(_LOW, _HIGH), loss="soft_l1", f_scale=0.1)
        c = tuple(round(float(value), 2) for value in fit.x)
        got = modelled(np.array(c))
        missed = got - np.maximum(target, 0.0)
        single = np.array([spread for *_, spread in points]) ** 2 + missed**2
        heard = got > 0.05
        ratio = single[heard] / (got * (1.0 - got) + 0.01)[heard]
        scale = math.sqrt(float(np.mean(ratio))) if heard.any() else 1.0
        learnt[key] = (*c, round(scale, 2))
    return learnt


def _regressors(name: str, facts: Facts) -> list[float]:
    n, d = math.log(facts.n), math.log(facts.d)
    s = list(SLOPES).index(facts.signal) - 1.0
    return [1.0, n, d, s, 1.0, n, math.log(strength(name, facts)), d, s]


# Off the grid: other sizes and budgets, other laws, tables that come with scikit-learn.


class Case(NamedTuple):
    """Data by name, how many records of them, and what a user would say of the task. The signal is
    the nearest by the law (or, for tables, by what is published of them).
    """

    data: str
    n: int
    d: int
    loss: str
    shape: str = "linear"
    signal: str = "medium"


OFF_GRID = (
    Case("normal", 300, 5, "hinge"),
    Case("normal", 3000, 20, "logistic", signal="strong"),
    Case("sparse", 2000, 35, "hinge", signal="strong"),
    Case("heavy", 5000, 6, "logistic"),
    Case("moons", 1500, 2, "hinge", "curved", "strong"),
    Case("cancer", 400, 30, "hinge", signal="strong"),
    Case("cancer", 250, 30, "logistic", signal="strong"),
    Case("normal", 500, 4, "squared"),
    Case("normal", 4000, 15, "squared"),
    Case("diabetes", 300, 10, "squared"),
    Case("friedman", 3000, 5, "squared", "curved", "strong"),
)

#: Budgets and numbers of questions of the cases.
OFF_EPSILONS, OFF_DELTAS, OFF_QUESTIONS = (0.2, 0.6, 2.0, 6.0), (0.0, 1e-5), (2, 20, None)

#: Public ranges of the diabetes table and of its response.
_DIABETES = (
    (18, 1, 15, 50, 80, 30, 10, 1, 3, 50),
    (80, 2, 45, 140, 310, 250, 110, 10, 6.5, 130),
)


def _law(case: Case, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw columns in [-1, 1] and labels of a law that the map has not."""
    if case.data == "moons":
        X, y = make_moons(n, noise=0.25, random_state=int(rng.integers(2**31)))
        return np.clip((X - [0.5, 0.25]) / 2.0, -1.0, 1.0), 2.0 * y - 1.0
    if case.data == "friedman":
        U = rng.uniform(0.0, 1.0, (n, case.d))
        mean = 10.0 * np.sin(math.pi * U[:, 0] * U[:, 1]) + 20.0 * (U[:, 2] - 0.5) ** 2
        y = mean + 10.0 * U[:, 3] + 5.0 * U[:, 4] + rng.standard_normal(n)
        return 2.0 * U - 1.0, np.clip((y - 15.0) / 15.0, -1.0, 1.0)
    X = np.clip(rng.standard_normal((n, case.d)) / 2.5, -1.0, 1.0)
    weights = np.linspace(2.0, 0.5, case.d)
    if case.data == "sparse":
        X *= rng.random((n, case.d)) < 0.3
        weights = np.where(np.arange(case.d) < 4, 5.0, 0.0)
    if case.data == "heavy":
        X = np.clip(rng.standard_t(2.5, (n, case.d)) / 6.0, -1.0, 1.0)
    score = X @ weights + 0.3
    if case.loss == "squared":
        score = 0.5 * score / np.linalg.norm(weights) + 0.15 * rng.standard_normal(n)
        return X, np.clip(score, -1.0, 1.0)
    return X, np.where(rng.random(n) < expit(3.0 * score), 1.0, -1.0)


def _table(case: Case) -> tuple[Array, Array]:
    """Return a bundled table, scaled by public constants."""
    if case.data == "cancer":
        found = load_breast_cancer()
        low, high = CANCER_RANGES
        labels = 2.0 * found.target - 1.0
    else:
        found = load_diabetes(scaled=False)
        low, high = (np.array(ends, dtype=np.float64) for ends in _DIABETES)
        labels = np.clip(found.target / 200.0 - 1.0, -1.0, 1.0)
    return np.clip(2.0 * (found.data - low) / (high - low) - 1.0, -1.0, 1.0), labels


def off_grid_task(case: Case, rng: np.random.Generator) -> Task:
    """Draw training records and test records with their labels."""
    if case.data in ("cancer", "diabetes"):
        X, y = _table(case)
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
    else:
        X, y = _law(case, case.n + _TEST, rng)
    train, test = slice(None, case.n), slice(case.n, None)
    classes = case.loss != "squared"
    truth = (y[test] > 0).astype(np.float64) if classes else y[test]
    return Task(X[train], y[train], X[test], truth, 0.0, classes, float(y.var()))


def _off_grid_trial(trial: Trial, *, case: Case) -> tuple[Errors, float]:
    task = off_grid_task(case, trial.stream("data"))
    at = Setting(case.loss, case.shape, case.n, case.d, "medium")
    public, noise = trial.stream("public"), trial.stream("noise")
    found = _all_errors(
        task, at, public=public, noise=noise, epsilons=OFF_EPSILONS, delta=OFF_DELTAS[1],
        questions=[q for q in OFF_QUESTIONS if q is not None],
    )  # fmt: skip
    return found, task.trivial


Trials = list[tuple[Errors, float]]


def off_grid(case: Case, *, seed: int, n_trials: int = 6) -> Trials:
    """Errors of all candidates, and of a constant, on the data of a case."""
    return run_trials(
        partial(_off_grid_trial, case=case), n_trials, seed=seed,
        name="erm-choice-off-grid-" + "-".join(map(str, case[:5])), progress=False,
    )  # fmt: skip


def regrets(case: Case, trials: Trials) -> list[dict[str, Any]]:
    """Regret of the advice against the best candidate in hindsight, at each budget of a case.

    Constants are candidates as well, and hindsight takes the least mean over the trials.
    """
    out = []
    signals = dict.fromkeys(("medium", case.signal))
    for epsilon, delta, q, signal in itertools.product(
        OFF_EPSILONS, OFF_DELTAS, OFF_QUESTIONS, signals
    ):
        facts = Facts(case.n, case.d, case.loss, epsilon, delta, q, case.shape, signal)
        errors = {"constant": np.array([trivial for _, trivial in trials])}
        for name in usable(facts):
            full = f"answers {q}" if name == "answers" else name
            values = [found[full, epsilon] for found, _ in trials]
            errors[name] = np.array(values).mean(axis=1)
        told = chosen(facts)
        best = min(errors, key=lambda name, e=errors: float(e[name].mean()))  # type: ignore[misc]
        gaps = errors[told] - errors[best]
        out.append({
            "data": case.data, "setting": facts._asdict(), "known": signal == case.signal,
            "errors": {name: round(float(value.mean()), 4) for name, value in errors.items()},
            "recommended": told, "best": best, "regret": round(float(gaps.mean()), 4),
            "se": round(float(gaps.std(ddof=1)) / math.sqrt(len(trials)), 4),
        })  # fmt: skip
    return out


def off_grid_summary(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Regrets where the signal is known to the nearest of three, and where it is left at medium."""
    out = {}
    for told, kept in (
        ("signal known", [row for row in rows if row["known"]]),
        ("signal unsaid", [row for row in rows if row["setting"]["signal"] == "medium"]),
    ):
        found = np.array([row["regret"] for row in kept])
        same = np.mean([row["recommended"] == row["best"] for row in kept])
        out[told] = {
            "settings": len(kept), "same": round(float(same), 3),
            "mean": round(float(found.mean()), 4), "median": round(float(np.median(found)), 4),
            "ninth decile": round(float(np.quantile(found, 0.9)), 4),
            "largest": round(float(found.max()), 4),
        }  # fmt: skip
    return out


def chosen(facts: Facts) -> str:
    """Name of the candidate that is recommended; "constant" for none."""
    advice = ranking(facts)
    return advice[0] if advice else "constant"


def paired(
    results: Mapping[Setting, dict[str, Any]], one: str, other: str, *, loss: str, shape: str,
    d: int, epsilons: Sequence[float],
) -> dict[str, Any]:  # fmt: skip
    """Difference of the errors of two candidates on the same records, averaged over sizes, signals
    and budgets, with its standard error and t.
    """
    means, variances = [], []
    for at, result in results.items():
        if (at.loss, at.shape, at.d) == (loss, shape, d) and (one, epsilons[0]) in result["errors"]:
            pairs = [
                result["errors"][one, e].mean(axis=1) - result["errors"][other, e].mean(axis=1)
                for e in epsilons
            ]
            gaps = np.mean(pairs, axis=0)
            means.append(float(gaps.mean()))
            variances.append(float(gaps.var(ddof=1)) / len(gaps))
    mean, se = float(np.mean(means)), math.sqrt(sum(variances)) / len(means)
    where = {"loss": loss, "shape": shape, "d": d, "epsilon": list(epsilons)}
    return {"cell": where, "one": one, "other": other, "difference": round(mean, 4),
            "se": round(se, 4), "t": round(mean / se, 1)}  # fmt: skip


#: Comparisons that are archived: who was thought to win, who was found to.
COMPARED = (
    ("process", "objective Gaussian", ("hinge", "linear")),
    ("process", "objective Gaussian", ("hinge", "curved")),
    ("process", "objective Gaussian", ("logistic", "curved")),
    ("gamma", "objective pure", ("logistic", "curved")),
    ("gamma", "objective pure", ("hinge", "linear")),
    ("gamma", "objective pure", ("hinge", "curved")),
    ("objective Gaussian", "objective pure", ("hinge", "linear")),
    ("objective Gaussian", "gradient", ("hinge", "linear")),
    ("objective pure", "answers 1", ("hinge", "linear")),
    ("objective pure", "answers 3", ("hinge", "linear")),
    ("process", "gradient", ("squared", "linear")),
    ("process", "moments", ("squared", "curved")),
    ("moments", "gradient", ("squared", "linear")),
    ("moments", "gradient", ("squared", "curved")),
    ("process", "answers 1", ("squared", "linear")),
)


def comparisons(results: Mapping[Setting, dict[str, Any]]) -> list[dict[str, Any]]:
    """Every comparison by number of columns, at small budgets and at larger ones."""
    return [
        paired(results, one, other, loss=loss, shape=shape, d=d, epsilons=epsilons)
        for one, other, (loss, shape) in COMPARED
        for d in ((2, 10, 50) if shape == "linear" else (2, 10))
        for epsilons in (EPSILONS[:2], EPSILONS[2:])
    ]


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The advice on every cell and number of questions: recommended, best, regret in gain.

    A regret is a share of what can be gained; constants are candidates as well.
    """
    out = []
    for row in rows:
        for q in (*QUESTIONS, None):
            facts = Facts(
                row["n"], row["d"], row["loss"], row["epsilon"], row["delta"], q, row["shape"],
                row["signal"],
            )  # fmt: skip
            errors = {"constant": row["trivial"]}
            for name in usable(facts):
                full = f"answers {q}" if name == "answers" else name
                if full in row["errors"]:
                    errors[name] = row["errors"][full][0]
            told = chosen(facts)
            told = told if told in errors else "constant"  # kernels were not tried at 100,000
            best = min(errors, key=lambda name, e=errors: e[name])  # type: ignore[misc]
            regret = (errors[told] - errors[best]) / (row["trivial"] - row["best"])
            out.append({"facts": facts, "recommended": told, "best": best, "regret": regret})
    return out


def agreement(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Sum up :func:`judged`: how often the best is recommended, or nearly, and what it costs."""
    found = judged(rows)
    regrets_ = np.array([case["regret"] for case in found])
    same = np.array([case["recommended"] == case["best"] for case in found])
    return {
        "cases": len(found),
        "same": round(float(same.mean()), 4),
        "within 0.05": round(float((regrets_ <= 0.05).mean()), 4),
        "mean regret": round(float(regrets_.mean()), 4),
        "largest regret": round(float(regrets_.max()), 4),
    }


#: In words, where it stands for classes too.
RIVAL = (
    "noisy gradients with public steps; for classes on the loss itself, a rival that is no "
    "estimator of this room"
)


def archive(
    results: Mapping[Setting, dict[str, Any]], outside: Mapping[Case, Trials], *, seed: int
) -> str:
    """Return the text of the archive, one cell a line."""
    rows = [row for at, result in results.items() for row in cells(at, result)]
    beyond = [row for case, trials in outside.items() for row in regrets(case, trials)]
    axes = {
        "loss": ["squared", "logistic", "hinge"], "shape": ["linear", "curved"],
        "n": list(TRIALS), "d": [2, 10, 50], "signal": list(SLOPES), "epsilon": list(EPSILONS),
        "delta": list(DELTAS), "n_questions": [*QUESTIONS, None],
    }  # fmt: skip
    classes = "share of wrong classes"
    head = {
        "about": "Errors of private learners by public facts; [mean, standard error over trials, "
        "deviation of a single run]. Columns in [-1, 1], replacing one record.",
        "seed": seed,
        "command": "python -m benchmarks.archive_erm_choice",
        "axes": axes,
        "trials": {str(n): count for n, count in TRIALS.items()},
        "measures": {
            "squared": "mean squared error over the variance of labels", "logistic": classes,
            "hinge": classes,
        },
        "candidates": CANDIDATES | {"gradient": RIVAL},
        "agreement": agreement(rows),
        "learnt": learn(rows),
        "off_grid_summary": off_grid_summary(beyond),
        "paired": comparisons(results),
    }  # fmt: skip
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, lines in (("off_grid", beyond), ("cells", rows)):
        parts.append(f"{json.dumps(key)}: [\n" + ",\n".join(map(json.dumps, lines)) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
