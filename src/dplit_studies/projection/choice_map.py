"""The evidence behind :mod:`dplit.projection.choice`: simulations beside its closed forms.

Releases are drawn through their second moments, exactly, for normal columns of variance 1/3; other
laws and real tables go through the estimators themselves. All candidates meet the same records.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from sklearn.linear_model import LinearRegression

from dplit._checks import Array
from dplit.datasets.classification import scaled_table
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma
from dplit.projection.choice import (
    CANDIDATES,
    Facts,
    additive_error,
    best_rows,
    bits,
    configure,
    design_energies,
    errors_of,
    gain,
    moments_error,
    noise_share,
    projection_error,
    unprotected_error,
)
from dplit.projection.laws import _additive_moments, _projected_moments, bartlett_factor
from dplit.projection.moments import entry_variances, penalised_error, solve_moments
from dplit.projection.projection import _useful_amount
from dplit.projection.regression import _spectra_from_moments
from dplit.trials import Trial, run_trials

#: Axes of the map.
DS, RATIOS, SNRS = (5, 50, 800), (2, 10, 50, 250, 2500), (0.1, 1.0, 10.0, 300.0)

BUDGETS: tuple[tuple[float, float | None], ...] = (
    (0.05, None), (0.2, None), (0.5, None), (1.0, None), (2.0, None)
)  # fmt: skip

#: Budgets in (epsilon, delta) of an entry, for 50 columns.
PAIRS: tuple[tuple[float, float | None], ...] = ((1.0, 1e-6), (8.0, 1e-6))

METHODS = (
    "additive", "additive, corrected", "projection", "projection, corrected", "moments",
    "AdaSSP", "noisy gradients",
)  # fmt: skip

#: Corners that are simulated: columns, rows per column, signal, bits; and trials by columns.
CORNERS = (
    *itertools.product((5, 50), (2, 2500), (0.1, 300.0), (0.05, 0.5, 2.0)),
    (800, 10, 300.0, 0.5), (800, 50, 1.0, 0.2),
)  # fmt: skip

TRIALS = {5: 80, 50: 16, 800: 2}


def facts_of(d: int, ratio: int, snr: float, budget: tuple[float, float | None]) -> Facts:
    """Facts at one cell of the map."""
    return Facts(d * ratio, d, snr, *budget)


# The rivals that are no release of this room, at the same budget of an entry.


def adassp_scales(facts: Facts) -> tuple[float, float, float]:
    """Variances of the noise of Wang's (2018) three parts, a third of the budget each: of the
    smallest eigenvalue, of second moments beside the diagonal, of those with responses in [-1, 1].
    """
    d, third = facts.d, gain(facts) / 3.0
    extra = 0.0
    if facts.delta is None:
        third, extra = math.expm1(math.log1p(gain(facts)) / 3.0), 1.0 / 8.0
    others = max(d - 1, 1)
    return others / third, (others + extra * (1.0 + third)) / third, 1.0 / third


def adassp_error(facts: Facts, *, failure: float = 0.05) -> float:
    """Error of adaptive sufficient statistics: the penalty lifts the smallest eigenvalue, told with
    noise, above the noise.
    """
    n, d, snr, *_ = facts
    H, T = design_energies(n, d), 3.0 * snr / d
    told, g, c = adassp_scales(facts)
    largest = _largest_response(facts)
    lowest = max(float(H[0]) - _lowered(told, failure), 0.0)
    penalty = max(math.sqrt(d * g * math.log(2.0 * d * d / failure)) - lowest, 0.0)
    shifts = -float(H[0]) + (float(H[0]) + penalty) * np.linspace(0.001, 1.0, 2000)
    moments = H, H * H * T + H + c * largest, H * T
    errors, alphas = penalised_error(*moments, g * d, shifts)
    enough = np.flatnonzero(np.isfinite(errors) & (alphas >= penalty))
    error = float(errors[enough[0]])
    return 1.0 + d * (error + T) / 3.0


def _lowered(variance: float, failure: float) -> float:
    return math.sqrt(2.0 * math.log(3.0 / failure) * variance)


def _largest_response(facts: Facts) -> float:
    """Square of the largest of n normal responses, at its median."""
    return (1.0 + facts.snr) * 2.0 * math.log(1.5 * facts.n)


def gradient_error(facts: Facts) -> float:
    """Least error of noisy gradients over steps and rates, clipped where nothing is clipped yet.

    One entry can turn a clipped gradient round: nothing is gained from protecting no more.
    """
    n, d, snr, *_ = facts
    H, T = design_energies(n, d), 3.0 * snr / d
    clip = 2.0 * math.sqrt(d / 3.0 * (1.0 + snr))
    one = clip**2 / (2.0 * math.log(2.0) * facts.epsilon)
    if facts.delta is not None:
        level = gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta, sensitivity=2.0 * clip)
        one = float(level) ** 2
    step = np.geomspace(1e-3, 1.5, 25)[:, None] / float(H.max())
    kept, found = 1.0 - step * H, [1.0 + snr]
    for steps in (1, 2, 4, 8, 16, 64):
        reached = 1.0 - kept**steps
        heard = np.where(H > 0, reached / np.maximum(H, 1e-300), step * steps)
        noise = steps * one * step**2 * sum(kept ** (2 * k) for k in range(steps))
        mean = np.mean((1 - reached) ** 2 * T + heard**2 * H + noise, axis=1)
        found.append(1.0 + d * float(mean.min()) / 3.0)
    return min(found)


def cell(facts: Facts) -> dict[str, float]:
    """Errors of all methods by their closed forms; projections at their best number of rows."""
    m, corrected = best_rows(facts)
    grid = np.unique(np.round(np.geomspace(facts.d + 2, max(facts.n, facts.d + 2), 40)).astype(int))
    plain = min(projection_error(facts, int(k), corrected=False) for k in grid)
    errors = (
        additive_error(facts, corrected=False), additive_error(facts), plain, corrected,
        moments_error(facts), adassp_error(facts), gradient_error(facts),
    )  # fmt: skip
    return dict(zip(METHODS, errors, strict=True)) | {"rows": m}


# Simulations through second moments.


def _corrected(gram: Array, cross: Array, energy: float, rows: int, noise: float) -> Array:
    """The estimators' corrected fit, from second moments."""
    values, vectors = np.linalg.eigh(gram)
    right = vectors.T @ cross
    left = energy - float(right @ (right / values))
    off = _useful_amount((rows, len(cross)), float(values.sum()), energy, max(left, 0.0), noise)
    return np.asarray(vectors @ (right / (values - min(off, 0.8 * float(values[0])))))


def _trial(trial: Trial, *, facts: Facts, rows: int) -> list[float]:
    """Errors of a trial: additive and projection, plain and corrected, and moments."""
    n, d, snr, *_ = facts
    data, noise = trial.stream("data"), trial.stream("noise")
    T = bartlett_factor(n, d, rng=data)
    theta = data.standard_normal(d)
    theta *= math.sqrt(3.0 * snr) / np.linalg.norm(theta)
    design = T / math.sqrt(3.0)
    inside, outside = data.standard_normal(d), float(data.chisquare(n - d))
    seen = design @ theta + inside
    energy = float(seen @ seen) + outside
    (problem,) = _spectra_from_moments(design.T @ design, (design.T @ seen)[:, None], [energy])
    share, spread = noise_share(facts, rows), 1.0 / gain(facts)
    ((gram, cross),) = _additive_moments([problem], [math.sqrt(spread)], n, noise)
    cross = cross[:, 0]
    fits = [np.linalg.solve(gram, cross), _corrected(gram, cross, energy, n, spread)]
    ((gram, cross, energies),) = _projected_moments([problem], [rows * share], rows, noise)
    cross = cross[:, 0]
    fits += [np.linalg.solve(gram, cross)]
    fits += [_corrected(gram, cross, float(energies[0]), rows, rows * share)]
    fits.append(_moments_fit(problem, facts, energy, noise))
    truth = problem.rotate(theta)
    return [1.0 + float(np.sum((fit - truth) ** 2)) / 3.0 for fit in fits]


def _moments_fit(problem: Any, facts: Facts, energy: float, rng: np.random.Generator) -> Array:
    n, d = facts.n, facts.d
    largest = math.sqrt(_largest_response(facts))
    mean = energy / n / largest**2
    g, c = entry_variances(
        epsilon=bits(1.0 / gain(facts)), n_features=d, ones=1, response_energy=mean
    )
    square = math.sqrt(g / 2.0) * rng.standard_normal((d, d))
    gram = np.diag(problem.energies) + square + square.T
    cross = np.sqrt(problem.energies) * problem.scores / largest
    cross = cross + math.sqrt(c) * rng.standard_normal(d)
    theta, _ = solve_moments(gram, cross, variances=(g, c), n_samples=n, response_energy=mean)
    return theta * largest


def simulate(facts: Facts, n_trials: int, *, seed: int = 0) -> Array:
    """Errors (trials, 5) of the first five methods; projections at the best number of rows."""
    rows, _ = best_rows(facts)
    name = "proj-choice-" + "-".join(f"{value:g}" for value in facts[:4])
    one = partial(_trial, facts=facts, rows=rows)
    return np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))


def corner(facts: Facts, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """One simulated corner: closed forms, means and standard errors, at the same rows."""
    rows, _ = best_rows(facts)
    formulas = (
        additive_error(facts, corrected=False), additive_error(facts),
        projection_error(facts, rows, corrected=False), projection_error(facts, rows),
        moments_error(facts),
    )  # fmt: skip
    found = simulate(facts, n_trials, seed=seed)
    return {
        **facts._asdict(), "rows": rows, "trials": n_trials, "spread": _spread(found[:, 4]),
        "formula": _rounded(formulas), "mean": _rounded(found.mean(axis=0)),
        "se": _rounded(found.std(axis=0, ddof=1) / math.sqrt(n_trials)),
    }  # fmt: skip


def _spread(errors: Array) -> float:
    """Deviation of a single run over its mean excess."""
    return round(float(errors.std(ddof=1) / (errors.mean() - 1.0)), 4)


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


# Off the grid: other laws, and tables that come with scikit-learn, through the estimators.


class Case(NamedTuple):
    """Records by name and what a user would say of them; ``snr`` is the law's, or the table's."""

    data: str
    n: int
    d: int
    snr: float


OFF_GRID = (
    Case("uniform", 3000, 12, 4.0), Case("signs", 6000, 30, 2.0),
    Case("narrow", 5000, 8, 5.0), Case("correlated", 8000, 20, 20.0),
    Case("heavy", 4000, 10, 3.0), Case("uniform", 300, 60, 8.0),
    Case("diabetes", 442, 10, 1.07), Case("breast_cancer", 569, 30, 3.4),
    Case("digits", 1797, 61, 1.5),
)  # fmt: skip

OFF_BUDGETS: tuple[tuple[float, float | None], ...] = (
    (0.1, None), (0.35, None), (1.5, None), (4.0, 1e-5),
)  # fmt: skip


#: Guesses of the signal, over the truth.
GUESSES = {"known": 1.0, "ten times": 10.0, "a tenth": 0.1}


class Records(NamedTuple):
    """Records, responses, and what measures predictions: rows, their means, the law's error."""

    X: Array
    y: Array
    test: Array
    truth: Array
    noise: float

    def error(self, predicted: Array) -> float:
        """Squared error of predictions over the law's own (of tables: that of least squares)."""
        return 1.0 + float(np.mean((predicted - self.truth) ** 2)) / self.noise


def draw(case: Case, rng: np.random.Generator) -> Records:
    """Draw a law's records, or read a table, whose predictions are measured on its own rows."""
    if case.data in ("diabetes", "breast_cancer", "digits"):
        X, y = _table(case.data)
        fitted = np.asarray(LinearRegression().fit(X, y).predict(X))
        return Records(X, y, X, fitted, float(np.mean((y - fitted) ** 2)))
    X, test = _columns(case, case.n, rng), _columns(case, 2000, rng)
    theta = rng.standard_normal(case.d)
    theta *= math.sqrt(case.snr / np.var(test @ theta))
    noise = rng.standard_normal(case.n)
    if case.data == "heavy":
        noise = rng.standard_t(3.0, case.n) / math.sqrt(3.0)
    return Records(X, X @ theta + noise, test, test @ theta, 1.0)


def _table(name: str) -> tuple[Array, Array]:
    if name != "digits":
        return scaled_table(name)
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = found.data[:, found.data.std(axis=0) > 0.0] / 8.0 - 1.0
    return np.asarray(pixels), np.where(found.target % 2 == 1, 1.0, -1.0)


def _columns(case: Case, n: int, rng: np.random.Generator) -> Array:
    if case.data == "signs":
        return rng.choice([-1.0, 1.0], (n, case.d))
    if case.data == "narrow":
        return rng.uniform(-0.3, 0.5, (n, case.d))
    if case.data == "correlated":
        shared = rng.uniform(-1.0, 1.0, (n, 1))
        return np.asarray(0.7 * shared + 0.3 * rng.uniform(-1.0, 1.0, (n, case.d)))
    return rng.uniform(-1.0, 1.0, (n, case.d))


def _off_trial(trial: Trial, *, case: Case, budget: tuple[float, float | None]) -> list[float]:
    """Errors of the candidates at the guesses of the signal, then of a constant and of none."""
    data = draw(case, trial.stream("data"))
    noise, found = trial.stream("noise"), []
    for factor in GUESSES.values():
        facts = Facts(case.n, case.d, factor * case.snr, *budget)
        rows, _ = best_rows(facts)
        for name in CANDIDATES:
            ends = float(data.y.min()), float(data.y.max())  # responses are public here
            model = configure(name, facts, rows, response_bounds=ends)
            model.set_params(random_state=noise.spawn(1)[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found.append(data.error(model.fit(data.X, data.y).predict(data.test)))
    fitted = LinearRegression().fit(data.X, data.y).predict(data.test)
    return [*found, data.error(np.full(len(data.test), data.y.mean())), data.error(fitted)]


def off_grid(
    case: Case, budget: tuple[float, float | None], n_trials: int, *, seed: int = 0
) -> dict[str, Any]:
    """Mean errors on one case, and what the advice loses there by guess of the signal."""
    name = "proj-choice-off-" + "-".join(map(str, (*case, *budget)))
    one = partial(_off_trial, case=case, budget=budget)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": budget[0], "delta": budget[1], "trials": n_trials}
    return row | {"mean": _rounded(mean), "se": _rounded(se)} | losses(case, budget, mean)


def losses(case: Case, budget: tuple[float, float | None], mean: Array) -> dict[str, list[Any]]:
    """What is recommended by guess of the signal, and how much of what can be gained over a
    constant that loses to the best candidate at any guess.
    """
    names, (constant, bare) = list(CANDIDATES), mean[-2:]
    errors, out = mean[:-2].reshape(len(GUESSES), len(names)), {}
    for got, (guess, factor) in zip(errors, GUESSES.items(), strict=True):
        facts = Facts(case.n, case.d, factor * case.snr, *budget)
        said = errors_of(facts, best_rows(facts)[0])
        for publish in ("coefficients", "table"):
            kept = names if publish == "coefficients" else ["projection", "additive"]
            told = {"none": 1.0 + 0.95 * facts.snr} | {name: said[name] for name in kept}
            chosen = min(told, key=lambda name: told[name])
            reached = constant if chosen == "none" else got[names.index(chosen)]
            best = min(constant, *(errors[:, names.index(name)].min() for name in kept))
            lost = float((reached - best) / (constant - bare))
            out[f"{publish}, {guess}"] = [chosen, round(lost, 4)]
    return out


# Noisy gradients by their estimator: what advice learns, and how they stand to moments.


#: Signals and Gaussian privacy mu; with columns and records per column.
_LEVELS = (0.1, 1.0, 10.0, 100.0), (0.3, 0.8, 1.7, 3.3)

DESCENTS = (
    *itertools.product((5, 20), (4, 10, 50, 250), *_LEVELS),
    *itertools.product((50,), (4, 10, 50), *_LEVELS),
)  # fmt: skip

_DELTA = 1e-6


def _descent_trial(trial: Trial, *, facts: Facts) -> list[float]:
    """Errors of noisy moments, which protect an entry, and of noisy gradients, which protect whole
    records with their responses; both meet the same uniform records.
    """
    n, d, snr, *_ = facts
    records, noise = draw(Case("uniform", n, d, snr), trial.stream("data")), trial.stream("noise")
    end, errors = 3.0 * math.sqrt(1.0 + snr), []
    for name in ("moments", "gradients"):
        model = configure(name, facts, 0, response_bounds=(-end, end))
        model.set_params(random_state=noise.spawn(1)[0])
        with warnings.catch_warnings():  # that noise rules is what is measured
            warnings.simplefilter("ignore", UserWarning)
            errors.append(records.error(model.fit(records.X, records.y).predict(records.test)))
    return errors


def descent(d: int, ratio: int, snr: float, mu: float, n_trials: int, *, seed: int = 0) -> Any:
    """Mean errors of moments and gradients, and the standard error of their difference."""
    epsilon = float(gaussian_epsilon(delta=_DELTA, sigma=1.0 / mu))
    facts = Facts(d * ratio, d, snr, epsilon, _DELTA)
    name = f"proj-choice-descent-{d}-{ratio}-{snr:g}-{mu:g}"
    one = partial(_descent_trial, facts=facts)
    found = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    gap = found[:, 0] - found[:, 1]
    se = float(gap.std(ddof=1)) / math.sqrt(n_trials)
    return {
        "n": d * ratio, "d": d, "snr": snr, "mu": mu, "mean": _rounded(found.mean(axis=0)),
        "se": _rounded([se])[0], "trials": n_trials,
    }  # fmt: skip


def learn(rows: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Coefficients of :func:`dplit.projection.choice._gradients_error`, by robust least squares on
    the logs of mean excesses; no gap counts for more than a factor of 12.
    """
    n, d, snr, mu = (np.array([float(row[k]) for row in rows]) for k in ("n", "d", "snr", "mu"))
    wanted = np.log(np.maximum([row["mean"][1] - 1.0 for row in rows], 1e-4))
    logs = np.stack([np.ones(len(n)), np.log1p(snr), np.log(d), np.log(n), np.log(mu)])

    def gaps(c: Array) -> Array:
        noise = np.exp(c @ logs) + d / (n - d - 1.0)
        return np.asarray(np.clip(np.log(noise) - wanted, -2.5, 2.5))

    found = least_squares(gaps, [0.0, 1.0, 1.0, -1.5, -1.5], loss="soft_l1").x
    return tuple(round(float(value), 2) for value in found)


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Mean and largest loss of the advice off the grid, by what is published and the guess."""
    keys = [key for key in rows[0] if key.startswith(("coefficients", "table"))]
    lost = {key: np.array([row[key][1] for row in rows]) for key in keys}
    return {key: _rounded((values.mean(), values.max())) for key, values in lost.items()}


def archive(
    cells: Sequence[Mapping[str, Any]], corners: Sequence[Mapping[str, Any]],
    outside: Sequence[Mapping[str, Any]], descents: Sequence[Mapping[str, Any]], *, seed: int,
) -> str:  # fmt: skip
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private linear regression at a budget per entry, responses public: "
        "squared error of predictions over the law's own. Cells are closed forms, corners and "
        "cases are simulated.",
        "seed": seed, "command": "python -m benchmarks.archive_projection_choice",
        "methods": METHODS, "simulated": METHODS[:5], "summary": summary(outside),
    }  # fmt: skip
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("cells", cells), ("corners", corners), ("cases", outside),
                      ("descents", descents)):  # fmt: skip
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def cells() -> Iterator[dict[str, Any]]:
    """Yield the map's cells, errors by `METHODS`."""
    pairs = itertools.product((50,), RATIOS, SNRS, PAIRS)
    for d, ratio, snr, budget in itertools.chain(
        itertools.product(DS, RATIOS, SNRS, BUDGETS), pairs
    ):
        facts = facts_of(d, ratio, snr, budget)
        found = cell(facts)
        errors = _rounded(found[name] for name in METHODS)
        bare = float(f"{unprotected_error(facts):.6g}")
        yield {**facts._asdict(), "rows": int(found["rows"]), "errors": errors, "bare": bare}
