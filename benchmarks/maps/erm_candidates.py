"""Candidates of the map: linear learners by their estimators, fits that several releases share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.maps.erm import (
    _DRAWS,
    _LONGER,
    _PASSES,
    DELTAS,
    EPSILONS,
    QUESTIONS,
    TRIALS,
    Setting,
    Task,
    draw_task,
)
from dplit._checks import Array
from dplit.advice._function_settings import FunctionFacts, configure, penalty, usable
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._feature_release import _add_noise, _ball_points, _certified_weights
from dplit.kernels.answers import LaplaceAnswers
from dplit.linear._descent import noisy_gradient_descent
from dplit.mechanisms import gaussian_sigma
from dplit_studies.trials import Trial, run_trials


class _Fits:
    """Weights in one set of features at several penalties, each fitted once."""

    def __init__(self, rows: Array, test: Array, y: Array, loss: str) -> None:
        self.rows, self.test, self._y, self._loss = rows, test, y, loss
        self._made: dict[float, tuple[Array, float]] = {}

    def at(self, regularization: float) -> tuple[Array, float]:
        """Return weights and sensitivity."""
        if regularization not in self._made:
            self._made[regularization] = _certified_weights(
                self.rows,
                self._y,
                loss=self._loss,
                regularization=regularization,
                tau=0.5,
                accuracy=None,
            )
        return self._made[regularization]


def _answers(task: Task, fits: _Fits, facts: FunctionFacts, rng: np.random.Generator) -> float:
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
    task: Task, fits: _Fits, asked: Array, name: str, facts: FunctionFacts, rng: np.random.Generator
) -> list[float]:
    """Errors of a kernel machine, by draws of the noise."""
    weights, sensitivity = fits.at(penalty(name, facts))
    release = {"gamma": "gamma", "queries": "queries", "process": "gaussian_process"}[name]
    noisy = partial(
        _add_noise,
        weights,
        sensitivity,
        asked,
        release=release,
        epsilon=facts.epsilon,  # type: ignore[arg-type]
        delta=facts.delta,
        rng=rng,
    )
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


def _descended(task: Task, fits: _Fits, facts: FunctionFacts, rng: np.random.Generator) -> float:
    """Error of noisy gradients on a loss for classes: a rival, with public steps."""
    n, dimension = fits.rows.shape
    noise = gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta, sensitivity=2.0)
    time = _LONGER * 2.0 * n / (float(noise) * math.sqrt(math.e * dimension))
    steps = min(max(math.ceil(time), 1), _PASSES)
    slope = _hinge_slope if facts.loss == "hinge" else _logistic_slope
    fitted = noisy_gradient_descent(
        fits.rows,
        task.y,
        epsilon=facts.epsilon,
        delta=facts.delta,
        clip=1.0,
        steps=steps,
        learning_rate=max(time / steps, 1.0),
        derivative=slope,
        rng=rng,
    )
    return task.error(fits.test @ fitted.coef)


Errors = dict[tuple[str, float], list[float]]


def _all_errors(
    task: Task,
    at: Setting,
    *,
    public: np.random.Generator,
    noise: np.random.Generator,
    epsilons: Sequence[float] = EPSILONS,
    questions: Sequence[int] = QUESTIONS,
    delta: float = DELTAS[1],
    kernels: bool = True,
) -> Errors:
    """Errors by candidate and epsilon; candidates with Gaussian noise have ``delta``."""
    curved = at.shape == "curved"
    base = FunctionFacts(at.n, at.d, at.loss, 1.0, delta, None, at.shape, at.signal)
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
        task,
        at,
        public=trial.stream("public"),
        noise=trial.stream("noise"),
        kernels=at.n <= 10_000,
    )
    return found, task.trivial, task.best


def simulate(at: Setting, *, seed: int, n_trials: int | None = None) -> dict[str, Any]:
    """Errors of all candidates at one setting: name and epsilon to an array of trials."""
    trials = run_trials(
        partial(_trial, at=at),
        TRIALS[at.n] if n_trials is None else n_trials,
        seed=seed,
        name="erm-choice-" + "-".join(map(str, at)),
        progress=False,
    )
    errors = {key: np.array([found[key] for found, _, _ in trials]) for key in trials[0][0]}
    trivial, best = (float(np.mean([trial[k] for trial in trials])) for k in (1, 2))
    return {"errors": errors, "trivial": trivial, "best": best}
