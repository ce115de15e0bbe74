"""The map behind :func:`dplit.erm.choice.recommend`: errors of all candidates, paired by data.

Columns are uniform on [-1, 1]; t is the linear form of unit variance in a random direction, or
(curved) a cosine of twice that. Labels are 1 with probability ``expit(s t)``, or ``0.4 (r t +
noise)`` with variance 0.16. Candidates meet the same records; noise, features and records have
streams of their own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from dplit._checks import Array
from dplit.baselines import noisy_gradient_descent
from dplit.erm.choice import Facts, LaplaceAnswers, configure, penalty, usable
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
TRIALS = {100: 12, 1000: 8, 10_000: 3, 100_000: 2}

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

    def error(self, scores: Array) -> float:
        """Share of wrong classes, or mean squared error over the variance of labels."""
        if self.classes:
            return float(np.where(scores > 0, 1.0 - self.truth, self.truth).mean())
        gaps = (np.clip(scores, -1.0, 1.0) - self.truth) ** 2
        return float(gaps.mean()) / _SCALE**2 + self.noise

    @property
    def trivial(self) -> float:
        """Error of the best constant."""
        if self.classes:
            return float(min(self.truth.mean(), 1.0 - self.truth.mean()))
        return float(self.truth.var()) / _SCALE**2 + self.noise

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
    fits = {kind: _Fits(*rows, task.y, at.loss) for kind, rows in spaces.items()}
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
