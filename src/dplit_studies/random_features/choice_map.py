"""The map behind :func:`dplit.random_features.choice.recommend`: who learns what, at one budget.

Columns are uniform on [-1, 1]. Labels are a target of deviation 0.4 and noise of 0.2, both times
``fill``, clipped to the bounds (-1, 1). Errors are of predictions against the target, over its
variance: a constant has 1. All learners meet the same records, and waves the same frequencies.
What adds Gaussian noise to a solution is exact over that noise; descents, statistics and additive
models are drawn.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit
from sklearn.pipeline import Pipeline

from dplit._checks import Array
from dplit.baselines import (
    NoisyGradientRegressor,
    PrivateAdditiveRegressor,
    SufficientStatisticsRegressor,
    objective_noise,
)
from dplit.datasets import load_medical, load_wine
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_sigma
from dplit.random_features._certified import balanced_penalty
from dplit.random_features.choice import (
    CANDIDATES,
    USEFUL,
    Facts,
    configure,
    gain,
    ranking,
    regressors,
    told_of,
    waves,
)
from dplit.random_features.sensitivity import record_sensitivity
from dplit.trials import Trial, run_trials
from dplit_studies.random_features.data import prepare

#: Axes of the map.
NS, DS, EPSILONS, DELTA = (300, 3000, 30_000), (2, 5, 20), (0.1, 1.0, 10.0), 1e-5

SHAPES = ("smooth", "bends", "rough")

#: Pairs of a cosine and a sine, and the kernel's gamma times the number of columns.
WAVES = ((40, 1.0), (40, 4.0), (40, 16.0), (10, 4.0), (160, 4.0))

#: Learners on waves. "ridge" has its own penalty; those with a star the best one in hindsight:
#: ridge; ridge whose residuals are clipped to 1; that with a penalty shaped by the expected Gram
#: matrix; objective perturbation of such a loss. (The noise of ridge does not depend on the number
#: of waves: a Gaussian process with the kernel is its limit.)
ON_WAVES = ("ridge", "ridge*", "clipped*", "shaped*", "objective*", "statistics", "gradients")

ON_COLUMNS = ("line, gradients", "line, statistics", "additive")

METHODS = (
    *(f"{name} {count} {g:g}" for count, g in WAVES for name in ON_WAVES), *ON_COLUMNS
)  # fmt: skip

#: Trials by number of records.
TRIALS = {300: 4, 3000: 2, 30_000: 2, 200_000: 1}


class Law(NamedTuple):
    """Where a trial is held: records, columns, target, and the part of the bounds labels fill."""

    n: int
    d: int
    shape: str
    fill: float = 1.0


#: Beside the grid: labels that fill a tenth of their bounds, many columns, many records.
CORNERS = (
    *(Law(n, d, s, 0.1) for n in (300, 3000) for d in (2, 20) for s in SHAPES),
    *(Law(3000, 80, s) for s in SHAPES),
    Law(200_000, 2, "rough"), Law(200_000, 20, "smooth"),
)  # fmt: skip


def target(shape: str, X: Array, rng: np.random.Generator) -> Array:
    """A target of deviation near 0.4: a sigmoid of one direction, a bend for each column, or waves
    that a pair of columns makes together, with periods of 1.6.
    """
    d = X.shape[1]
    if shape == "smooth":
        u = rng.standard_normal(d)
        t = X @ (u * math.sqrt(3.0) / np.linalg.norm(u))
        return np.asarray(0.4 * np.tanh(1.5 * t) / 0.73)
    if shape == "bends":
        signs = rng.choice([-1.0, 1.0], d) / math.sqrt(d)
        return np.asarray(0.4 * math.sqrt(2.0) * np.cos(math.pi * X) @ signs)
    return np.asarray(0.8 * np.sin(4.0 * X[:, 0]) * np.sin(4.0 * X[:, 1] + 1.0))


def draw(law: Law, rng: np.random.Generator, n_test: int = 2000) -> tuple[Array, ...]:
    """Records, labels, and records for tests with their target."""
    X = rng.uniform(-1.0, 1.0, (law.n + n_test, law.d))
    truth = law.fill * target(law.shape, X, rng)
    y = np.clip(truth[: law.n] + 0.2 * law.fill * rng.standard_normal(law.n), -1.0, 1.0)
    return X[: law.n], y, X[law.n :], truth[law.n :]


# Noise on a solution: errors are exact over it.


_ALPHAS = 2.0 ** np.arange(-2.0, 18.0)


class _Waves(NamedTuple):
    """Gram matrix and moments of training rows, test rows, their target, and public rows."""

    gram: Array
    moment: Array
    test: Array
    truth: Array
    public: Array

    def penalised(self, alphas: Array) -> tuple[Array, Array]:
        """Errors of ridge fits without noise, and ``|(G + a)^-1 t|^2`` on average over tests."""
        values, vectors = np.linalg.eigh(self.gram)
        inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
        tests = self.test @ vectors
        fits = tests @ ((vectors.T @ self.moment)[:, None] * inverse)
        error = np.mean((fits - self.truth[:, None]) ** 2, axis=0)
        return error, np.mean(tests**2, axis=0) @ inverse**2

    def shaped(self, share: float) -> tuple[_Waves, float]:
        """The waves in which a penalty ``(1 - share) I + share p M`` is the identity, M the
        expected Gram matrix of a record; and the largest squared norm of a row there.
        """
        p = len(self.gram)
        expected = self.public.T @ self.public / len(self.public)
        values, vectors = np.linalg.eigh((1.0 - share) * np.eye(p) + share * p * expected)
        root = (vectors / np.sqrt(values)) @ vectors.T
        rows = self.public @ root
        changed = _Waves(
            root @ self.gram @ root, root @ self.moment, self.test @ root, self.truth, rows
        )
        return changed, float(np.max(np.sum(rows**2, axis=1)))


@lru_cache(maxsize=4096)
def _moved(alpha: float, n: int) -> float:
    return record_sensitivity(alpha=alpha, label_bound=1.0, n_records=n)


@lru_cache(maxsize=4096)
def _objective(alpha: float, epsilon: float) -> float:
    """Deviation of the linear term; inf where the Jacobian costs nearly all of epsilon."""
    cost = math.log1p(1.0 / alpha)
    if cost >= 0.9 * epsilon:
        return math.inf
    return objective_noise(epsilon=epsilon, delta=DELTA, data_norm=1.0, jacobian=cost)


def solutions(waves: _Waves, n: int, epsilon: float) -> dict[str, float]:
    """Errors of the releases that add noise to a solution, or to its objective.

    If residuals are clipped to 1 a penalty ``a |c|^2 / 2`` beside them makes a replaced record move
    the solution by at most ``2 / a``; in the norm of a shaped penalty by ``2 v / a`` with v the
    largest norm of a row (here of public ones: in its favour). That no residual reaches 1 is taken
    for granted, again in their favour. Objective perturbation has noise of slopes in [-1, 1].
    """
    unit = float(gaussian_sigma(epsilon=epsilon, delta=DELTA))
    p = len(waves.gram)
    default = balanced_penalty(n, p, unit, "record")
    alphas = np.append(_ALPHAS, default)
    bias, spread = waves.penalised(alphas)
    record = bias + (unit * np.array([_moved(float(a), n) for a in alphas])) ** 2
    found = {"ridge": record[-1], "ridge*": record.min()}
    found["clipped*"] = np.min(bias + (2.0 * unit / alphas) ** 2)
    errors = []
    for share in (0.5, 0.9, 0.99):
        changed, longest = waves.shaped(share)
        moved, _ = changed.penalised(alphas)
        rows = float(np.mean(np.sum(changed.test**2, axis=1)))
        errors.append(np.min(moved + (2.0 * unit / alphas) ** 2 * longest * rows))
    found["shaped*"] = min(errors)
    levels = np.array([_objective(float(a), epsilon) for a in alphas])
    found["objective*"] = np.min(bias + levels**2 * spread)
    return {name: float(value) for name, value in found.items()}


def _drawn(model: Any, train: tuple[Array, Array], test: tuple[Array, Array]) -> float:
    """Mean squared error of one private fit."""
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        return float(np.mean((model.fit(*train).predict(test[0]) - test[1]) ** 2))


def _slow(law: Law, count: int, g: float, epsilon: float) -> bool:
    """Whether a descent takes minutes at settings that teach little, and is left out."""
    if law.n < 30_000 or count == 10:
        return False
    if count > 40:
        return law.n > 30_000 or epsilon < 10.0 or (law.shape == "rough" and law.d == 2)
    wide = {"smooth": 1.0, "bends": 4.0, "rough": 16.0 if law.d == 2 else 4.0}[law.shape]
    return epsilon != 1.0 if law.n > 30_000 else g != wide


def _trial(trial: Trial, *, law: Law) -> list[list[float]]:
    """Errors by budget and method."""
    X, y, test, truth = draw(law, trial.stream("data"))
    public, noise = trial.stream("public"), trial.stream("noise")
    places = public.uniform(-1.0, 1.0, (4000, law.d))
    found: dict[tuple[float, str], float] = {}
    for count, g in WAVES:
        if law.n > 30_000 and (count, g) not in ((40, 4.0), (10, 4.0)):
            continue
        omega = random_frequencies(law.d, count, gamma=g / law.d, rng=public)
        rows, rows_of = cos_sin_features(X, omega), cos_sin_features(test, omega)
        waves = _Waves(rows.T @ rows, rows.T @ y, rows_of, truth, cos_sin_features(places, omega))
        for epsilon in EPSILONS:
            errors = solutions(waves, law.n, epsilon)
            told = _stated(epsilon, noise, 1.0)
            statistics = SufficientStatisticsRegressor(neighboring="replace_one", **told)
            errors["statistics"] = _drawn(statistics, (rows, y), (rows_of, truth))
            if not _slow(law, count, g, epsilon):
                descent = NoisyGradientRegressor(**told)
                errors["gradients"] = _drawn(descent, (rows, y), (rows_of, truth))
            found |= {(epsilon, f"{k} {count} {g:g}"): e for k, e in errors.items()}
    for epsilon in EPSILONS:
        told = _stated(epsilon, noise, math.sqrt(law.d / 2.0))
        box = {"box": (-1.0, 1.0)} | {k: v for k, v in told.items() if k != "data_norm"}
        models = (
            NoisyGradientRegressor(**told),
            SufficientStatisticsRegressor(neighboring="replace_one", **told),
            PrivateAdditiveRegressor(**box),
        )
        for name, model in zip(ON_COLUMNS, models, strict=True):
            found[epsilon, name] = _drawn(model, (X, y), (test, truth))
    size = float(np.var(truth))
    return [[found.get((e, name), math.nan) / size for name in METHODS] for e in EPSILONS]


def _stated(epsilon: float, noise: np.random.Generator, norm: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon, "delta": DELTA, "bounds": (-1.0, 1.0), "data_norm": norm,
        "random_state": noise.spawn(1)[0],
    }  # fmt: skip


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(f"{v:.4g}") for v in values]


def cells(law: Law, n_trials: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Mean errors and their standard errors at one law, a row per budget."""
    name = "dprf-choice-" + "-".join(map(str, law))
    runs = np.array(
        run_trials(partial(_trial, law=law), n_trials, seed=seed, name=name, progress=False)
    )
    se = np.full(runs.shape[1:], math.nan)
    if n_trials > 1:
        se = runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    return [
        {
            **law._asdict(),
            "epsilon": e,
            "trials": n_trials,
            "errors": _rounded(m),
            "se": _rounded(s),
        }
        for e, m, s in zip(EPSILONS, runs.mean(axis=0), se, strict=True)
    ]


def laws() -> Iterator[Law]:
    """The laws of the map, small ones first."""
    for n, d, shape in itertools.product(NS, DS, SHAPES):
        yield Law(n, d, shape)
    yield from CORNERS


# What advice learns.


Row = Mapping[str, Any]

_LOW = (-8.0, 0.0, -4.0, -30.0, 0.2, -1.0, -6.0, 0.0)

_HIGH = (8.0, 2.0, 1.0, 12.0, 4.0, 1.0, 1.0, 4.0)


def facts_of(row: Row) -> Facts:
    """What a user would say of a cell."""
    return Facts(row["n"], row["d"], row["shape"], row["epsilon"], DELTA, row["fill"])


def error_of(row: Row, name: str) -> float:
    """Error of a candidate in a cell, on as many waves as the rule says; nan if not measured."""
    facts = facts_of(row)
    if name in CANDIDATES and name not in ON_COLUMNS:
        count, gamma = waves(**told_of(facts))
        name = f"{name} {count} {gamma * facts.d:g}"
    found = row["errors"][METHODS.index(name)]
    return math.nan if found is None else float(found)


def learn(rows: Sequence[Row]) -> dict[str, tuple[float, ...]]:
    """Fit :func:`dplit.random_features.choice.gain` to the cells, by shape and candidate; the last
    number is the deviation of single cells around it.
    """
    learnt = {}
    for shape, name in itertools.product(SHAPES, CANDIDATES):
        known = [r for r in rows if r["shape"] == shape and not math.isnan(error_of(r, name))]
        # harm counts, up to as much as could be gained
        wanted = np.maximum([1.0 - error_of(row, name) for row in known], -1.0)
        able, heard = (
            np.array(x) for x in zip(*(regressors(facts_of(r)) for r in known), strict=True)
        )

        def modelled(c: Array, a: Array = able, h: Array = heard) -> Array:
            return np.asarray(expit(a @ c[:3]) * expit(h @ c[3:]))

        def gaps(c: Array, m: Callable[[Array], Array] = modelled, w: Array = wanted) -> Array:
            return m(c) - w

        start = (2.0, 0.1, -0.1, -4.0, 1.0, 0.0, -0.5, 0.5)
        fit = least_squares(gaps, start, bounds=(_LOW, _HIGH), loss="soft_l1", f_scale=0.1)
        c = tuple(round(float(value), 2) for value in fit.x)
        got = modelled(np.array(c))
        ratio = (got - np.maximum(wanted, 0.0)) ** 2 / (got * (1.0 - got) + 0.01)
        learnt[f"{shape}, {name}"] = (*c, round(math.sqrt(float(np.mean(ratio))), 2))
    return learnt


def regret(row: Row, *, told: bool = True) -> float:
    """What the advice explains less in a cell than the best candidate or a constant; the shape is
    told, or not. (Not told, waves are still as wide as for the shape.)
    """
    facts = facts_of(row) if told else facts_of(row)._replace(shape=None)
    errors = {name: error_of(row, name) for name in CANDIDATES}
    measured = {k: e for k, e in errors.items() if not math.isnan(e)}
    first = next(name for name in ranking(facts) if name in measured)
    reached = measured[first] if gain(first, facts) >= USEFUL else 1.0
    return reached - min(1.0, *measured.values())


# Off the grid: other laws and three tables, through the estimators that are recommended.


class Case(NamedTuple):
    """Data by name, records to learn from, columns, and what a user would say of the target."""

    data: str
    n: int
    d: int
    shape: str
    fill: float = 1.0


OFF_GRID = (
    Case("correlated", 1000, 8, "smooth"), Case("narrow", 4000, 12, "smooth", 0.3),
    Case("friedman", 5000, 10, "bends"), Case("steps", 2000, 3, "bends"),
    Case("peaks", 8000, 3, "rough"), Case("diabetes", 300, 11, "smooth"),
    Case("medical", 1000, 11, "smooth"), Case("wine", 5000, 11, "bends"),
)  # fmt: skip

OFF_EPSILONS = (0.3, 3.0)

#: Trials of each case at each budget.
OFF_TRIALS = 10

#: Public ranges of the tables' columns, in order, and of what is predicted.
_RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "diabetes": {
        "age": (18, 80), "bmi": (15, 50), "bp": (50, 140), "s1": (80, 320), "s2": (30, 250),
        "s3": (10, 110), "s4": (1, 10), "s5": (3, 7), "s6": (50, 150), "target": (0, 350),
    },
    "medical": {"age": (18, 65), "bmi": (10, 60), "children": (0, 6), "target": (0, 65_000)},
    "wine": {
        "fixed acidity": (3, 16), "volatile acidity": (0, 2), "citric acid": (0, 2),
        "residual sugar": (0, 70), "chlorides": (0, 1), "free sulfur dioxide": (0, 300),
        "total sulfur dioxide": (0, 450), "density": (0.98, 1.04), "pH": (2.5, 4.5),
        "sulphates": (0, 2.5), "alcohol": (8, 15), "target": (0, 10),
    },
}  # fmt: skip


def records_of(case: Case, rng: np.random.Generator) -> tuple[Array, ...]:
    """Records and labels to learn from, then those of tests: a table split anew, or a law."""
    if case.data in _RANGES:
        loader = load_wine if case.data == "wine" else load_medical
        table = prepare(
            loader("bundled" if case.data == "diabetes" else "paper"), bounds=_RANGES[case.data]
        )
        order = rng.permutation(len(table.y))
        X, y = 2.0 * table.X[order] - 1.0, 2.0 * table.y[order] - 1.0
        return X[: case.n], y[: case.n], X[case.n :], y[case.n :]
    X = _columns(case, case.n + 2000, rng)
    truth = case.fill * 0.4 * _unusual(case, X)
    y = np.clip(truth + 0.2 * case.fill * rng.standard_normal(len(X)), -1.0, 1.0)
    return X[: case.n], y[: case.n], X[case.n :], truth[case.n :]


def _columns(case: Case, count: int, rng: np.random.Generator) -> Array:
    X = rng.uniform(-1.0, 1.0, (count, case.d))
    if case.data == "correlated":
        return np.asarray(0.3 * X + 0.7 * rng.uniform(-1.0, 1.0, (count, 1)))
    return 0.4 * X + 0.1 if case.data == "narrow" else X


def _unusual(case: Case, X: Array) -> Array:
    """Targets of mean near 0 and deviation near 1, of other forms than those of the map."""
    if case.data == "correlated":
        values = np.tanh(2.0 * X[:, 0] + X[:, 1] - X[:, 2])
    elif case.data == "narrow":
        values = X[:, :4].sum(axis=1) ** 2 + 2.0 * X[:, 4]
    elif case.data == "friedman":
        Z = (X + 1.0) / 2.0
        values = 10.0 * np.sin(math.pi * Z[:, 0] * Z[:, 1]) + 20.0 * (Z[:, 2] - 0.5) ** 2
        values = values + 10.0 * Z[:, 3] + 5.0 * Z[:, 4]
    elif case.data == "steps":
        values = np.sign(X[:, 0] - 0.3) + np.abs(X[:, 1]) * 2.0
    else:
        values = np.exp(-8.0 * np.sum((X[:, :2] - 0.4) ** 2, axis=1))
        values = values - np.exp(-8.0 * np.sum((X[:, :2] + 0.4) ** 2, axis=1))
    return np.asarray((values - values.mean()) / values.std())


def _off_trial(trial: Trial, *, case: Case, epsilon: float) -> list[list[float]]:
    """Errors of the candidates at each guess of the shape."""
    X, y, test, truth = records_of(case, trial.stream("data"))
    public, noise = trial.stream("public"), trial.stream("noise")
    found = []
    for shape in SHAPES:
        facts = Facts(case.n, case.d, shape, epsilon, DELTA, case.fill)
        errors = []
        for name in CANDIDATES:
            model, seed = configure(name, facts), noise.spawn(1)[0]
            if isinstance(model, Pipeline):
                model[0].set_params(random_state=public.spawn(1)[0])
                model[1].set_params(random_state=seed)
            else:
                model.set_params(random_state=seed)
            errors.append(_drawn(model, (X, y), (test, truth)) / float(np.var(truth)))
        found.append(errors)
    return found


def off_grid(case: Case, epsilon: float, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """Mean errors on one case by guess of the shape, and what the advice loses."""
    name = "dprf-choice-off-" + "-".join(map(str, (*case, epsilon)))
    one = partial(_off_trial, case=case, epsilon=epsilon)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    se = runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": epsilon, "trials": n_trials}
    row |= {"mean": [_rounded(x) for x in runs.mean(axis=0)], "se": [_rounded(x) for x in se]}
    return row | {"lost": losses(case, epsilon, np.array(row["mean"]))}


def losses(case: Case, epsilon: float, mean: Array) -> dict[str, list[Any]]:
    """By guess of the shape, or "unknown", what is recommended, and what that explains less than
    the best candidate at any guess, or than a constant.
    """
    out: dict[str, list[Any]] = {}
    # where nothing is thought of the shape, waves are those for bends
    for shape, errors in zip((*SHAPES, None), (*mean, mean[1]), strict=True):
        facts = Facts(case.n, case.d, shape, epsilon, DELTA, case.fill)
        first = ranking(facts)[0]
        useful = gain(first, facts) >= USEFUL
        reached = errors[list(CANDIDATES).index(first)] if useful else 1.0
        lost = float(reached - min(1.0, float(np.min(mean))))
        out[shape or "unknown"] = [first if useful else "none", round(lost, 4)]
    return out


def summary(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Mean and largest loss off the grid: of advice to right guesses, to none, to wrong ones and to
    one who guesses the same of all tables; and of additive models everywhere, without any advice.
    """
    additive = list(CANDIDATES).index("additive")
    found = {
        "right": [row["lost"][row["shape"]][1] for row in rows],
        "none": [row["lost"]["unknown"][1] for row in rows],
        "wrong": [row["lost"][s][1] for row in rows for s in SHAPES if s != row["shape"]],
        **{f"always {s}": [row["lost"][s][1] for row in rows] for s in SHAPES},
        "additive": [
            row["mean"][SHAPES.index(row["shape"])][additive] - min(1.0, *map(min, row["mean"]))
            for row in rows
        ],
    }
    return {
        key: [round(float(np.mean(x)), 4), round(float(np.max(x)), 4)] for key, x in found.items()
    }


def archive(found: Sequence[Row], outside: Sequence[Row], *, seed: int) -> str:
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private regression on and beside random waves, replacement of a "
        "record: squared error of predictions over the variance of the target.",
        "seed": seed, "command": "python -m benchmarks.archive_random_features_choice",
        "delta": DELTA, "methods": METHODS, "summary": summary(outside),
    }  # fmt: skip
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("cells", found), ("cases", outside)):
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
