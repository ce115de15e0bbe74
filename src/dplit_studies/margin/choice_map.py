"""The evidence behind :mod:`dplit.margin.choice`: all learners at their best public settings.

Records of length 1 have a margin, and the rest of them is *round*, or leans one way for nine in ten
and the other way for one (*crowd*), whom the mean of the records gets wrong, or it is round in 5 or
20 directions of d, the same for all (*rank*). Errors are exact given
the weights. All learners meet the same records.
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
from scipy.special import betainc, expit

from dplit._checks import Array
from dplit._estimators import clip_rows
from dplit.accounting import gdp_budget
from dplit.baselines.objective import objective_noise
from dplit.datasets.classification import load_problem
from dplit.datasets.digits import load_fours_and_nines
from dplit.features import sign_projection
from dplit.margin.choice import (
    LARGE,
    Facts,
    chosen,
    components,
    configure,
    gained,
    names_of,
    strength,
)
from dplit.margin.descent import _PenalisedHinge, _perturbed_minimiser
from dplit.margin.exponential import gaussian_prior_draw
from dplit.margin.projected import pure_components, pure_margin_bound, pure_mean_error
from dplit.mechanisms import gamma_norm_noise
from dplit.trials import Trial, run_trials

#: What is compared at both values of delta; those that are not of `dplit.margin.choice` are the
#: paper's, or too slow to be an estimator.
METHODS = {
    0.0: ("mean", "objective", "mean, projected", "projected", "prior"),
    1e-6: (
        "mean",
        "objective",
        "descent",
        "margin",
        "margin, projected",
        "output",
        "projected",
        "descent, projected",
    ),
}

#: Directions of the records beside the one of the margin; None: all.
RANKS = {"round": None, "crowd": None, "rank 5": 5, "rank 20": 20}

LAWS = tuple(RANKS)

#: Axes of the map: records, columns, margin, flipped labels, epsilon.
AXES = ((300, 3000), (20, 200, 2000), (0.1, 0.3), (0.0, 0.2), (0.1, 1.0, 10.0))

#: Where descents have time: records, columns, margin, flipped labels, epsilon.
LARGE_AXES = ((16_000,), (20, 200), (0.1, 0.3), (0.05,), (0.1, 1.0))

#: Where records lie in few directions: the same, with as many columns as signs are for.
RANK_AXES = ((300,), (2000,), (0.1, 0.3), (0.0, 0.2), (0.1, 1.0, 10.0))

#: How far the crowd leans, share of those that lean the other way.
_LEAN, _FEW = 0.8, 0.1

#: Most columns of a fit with second derivatives, most records of a draw from the
#: prior. Thrown columns are tried with a delta in more columns and with no more records.
_WIDE, _MANY = 500, 300


def records(
    law: str, facts: Facts, rng: np.random.Generator, *, lean: float = _LEAN
) -> tuple[Array, Array]:
    """Draw unit records, first entry the margin times the right label, and labels with flips."""
    rho, s = facts.margin, math.sqrt(1.0 - facts.margin**2)
    y = np.where(rng.random(facts.n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((facts.n, facts.d))
    X[:, 0] = 0.0
    if (rank := RANKS[law]) is not None:
        X[:, rank + 1 :] = 0.0
    lies = 0.0
    if law == "crowd":
        X[:, 1], lies = 0.0, lean
    X *= (s * math.sqrt(1.0 - lies**2) / np.sqrt(np.vecdot(X, X)))[:, None]
    X[:, 0] = rho * y
    if lies:
        X[:, 1] = s * lies * y * np.where(rng.random(facts.n) < _FEW, -1.0, 1.0)
    return X, np.where(rng.random(facts.n) < facts.flips, -y, y)


def _cap(shift: float, length: float, dimension: int) -> float:
    """P(shift + length c <= 0) for a coordinate c of a random unit vector."""
    if abs(shift) >= length:
        return 0.0 if shift > 0 else 1.0
    tail = float(betainc((dimension - 1) / 2, 0.5, 1.0 - (shift / length) ** 2)) / 2
    return tail if shift >= 0 else 1.0 - tail


def law_error(law: str, facts: Facts, w: Array, *, lean: float = _LEAN) -> float:
    """Exact share of wrong classes among new records, flipped labels included."""
    rho, s = facts.margin, math.sqrt(1.0 - facts.margin**2)
    if law != "crowd":
        rank = RANKS[law]
        rest = w[1:] if rank is None else w[1 : rank + 1]
        wrong = _cap(rho * w[0], s * float(np.linalg.norm(rest)), len(rest))
    else:
        length = s * math.sqrt(1.0 - lean**2) * float(np.linalg.norm(w[2:]))
        ends = [_cap(rho * w[0] + side * s * lean * w[1], length, facts.d - 2) for side in (1, -1)]
        wrong = (1.0 - _FEW) * ends[0] + _FEW * ends[1]
    return facts.flips + (1.0 - 2.0 * facts.flips) * wrong


def _noisy_mean(X: Array, y: Array, facts: Facts, rng: np.random.Generator) -> Array:
    """The estimators' minimiser at a large penalty, where no score reaches the corner of the hinge:
    the sum with the noise of objective perturbation, less its share for the solver.
    """
    left = facts.epsilon - 1e-3 * min(facts.epsilon, 1.0)
    noise = objective_noise(
        epsilon=left, delta=facts.delta, data_norm=1.0,
        jacobian=math.log1p(1.0 / (2.0 * LARGE * len(X))),
    )  # fmt: skip
    d = X.shape[1]
    drawn = (
        noise * rng.standard_normal(d) if facts.delta else gamma_norm_noise(d, rate=noise, rng=rng)
    )
    return np.asarray(y @ X - drawn)


def weights_of(
    name: str, X: Array, y: Array, facts: Facts, public: np.random.Generator,
    rng: np.random.Generator,
) -> Array | None:  # fmt: skip
    """Weights of a learner, None where it would take minutes."""
    n, d = X.shape
    rho = facts.margin * (1.0 - 2.0 * facts.flips)
    k = pure_components(n_samples=n, n_features=d, epsilon=facts.epsilon, margin=rho)
    if name == "mean":
        return _noisy_mean(X, y, facts, rng)
    if name == "mean, projected":
        S = sign_projection(d, k, rng=public) if k < d else None
        Z = X if S is None else clip_rows(X @ S.T, 1.0)
        w = _noisy_mean(Z, y, facts, rng)
        return w if S is None else np.asarray(w @ S)
    if name == "prior":
        if n > _MANY:
            return None
        return gaussian_prior_draw(X, y, epsilon=facts.epsilon, rng=rng, max_proposals=20_000)
    if name == "output":
        if d > _WIDE or n > 3000:
            return None
        mu = gdp_budget(epsilon=facts.epsilon, delta=facts.delta)
        task = _PenalisedHinge(facts.margin, 1.0, 1.0, tolerance=1e-9)
        return np.asarray(_perturbed_minimiser(X, y, task, mu=mu, rng=rng).weights[0])
    if name in ("projected", "descent, projected") and facts.delta:
        k = components(facts)
        if k == d or d <= _WIDE or n > _MANY:  # another candidate, little to throw, or slow
            return None
    if (name == "objective" and d > _WIDE) or (name == "projected" and min(k, d) > _WIDE):
        return None
    model = configure("margin" if name == "margin, projected" else name, facts)
    if name == "margin, projected":
        model.set_params(projection="sign", n_components=max(10, d // 10))
    model.set_params(random_state=rng, classes=(-1.0, 1.0))
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(model.fit(X, y).coef_)


def _trial(trial: Trial, *, law: str, facts: Facts) -> list[float]:
    """Errors of all methods, those without a delta first; nan where one was not run."""
    X, y = records(law, facts, trial.stream("data"))
    public, noise, found = trial.stream("public"), trial.stream("noise"), []
    for delta, names in METHODS.items():
        for name in names:
            told = facts._replace(delta=delta)
            w = weights_of(name, X, y, told, public.spawn(1)[0], noise.spawn(1)[0])
            found.append(math.nan if w is None else law_error(law, facts, w))
    return found


def cell(law: str, facts: Facts, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """One cell of the map: mean errors and standard errors by delta and method."""
    name = "margin-choice-" + "-".join(map(str, (law, *facts[:5])))
    one = partial(_trial, law=law, facts=facts)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    return {
        "law": law, **dict(list(facts._asdict().items())[:5]), "trials": n_trials,
        "mean": _rounded(mean), "se": _rounded(se),
    }  # fmt: skip


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(f"{v:.5g}") for v in values]


def cells() -> Iterator[tuple[str, Facts, int]]:
    """Yield laws, facts and numbers of trials of the map."""
    for n, d, margin, flips, epsilon in itertools.chain(
        itertools.product(*AXES), itertools.product(*LARGE_AXES)
    ):
        for law in ("round", "crowd"):
            yield law, Facts(n, d, margin, flips, epsilon, 0.0), 2 if n > 3000 else 4
    for n, d, margin, flips, epsilon in itertools.product(*RANK_AXES):
        for law in ("rank 5", "rank 20"):
            yield law, Facts(n, d, margin, flips, epsilon, 0.0), 4


# What the rule learns, and what it loses.


def errors_at(row: Mapping[str, Any], delta: float) -> dict[str, float]:
    """Mean errors of the methods of one delta in a row of the map that were run."""
    first = 0 if delta == 0.0 else len(METHODS[0.0])
    found = row["mean"][first : first + len(METHODS[delta])]
    return {k: v for k, v in zip(METHODS[delta], found, strict=True) if v is not None}


def facts_of(row: Mapping[str, Any], delta: float) -> Facts:
    """Facts of a row of the map."""
    n, d, margin, flips, epsilon = (row[k] for k in Facts._fields[:5])
    return Facts(n, d, margin, flips, epsilon, delta, RANKS[row["law"]])


def regrets(
    rows: Sequence[Mapping[str, Any]], delta: float, limit: float = 0.0, *, told: bool = True
) -> Array:
    """What the advice loses to the best estimator, over what can be gained over a coin, by row;
    with a ``limit`` of the strength below which it would be the mean, ``told`` the rank or not.
    """
    found = []
    for row in rows:
        facts, errors = facts_of(row, delta), errors_at(row, delta)
        if not told:
            facts = facts._replace(rank=None)
        name = chosen(facts, limit=limit)
        if name == "projected" and name not in errors:
            name = "mean, projected"
        best = min(v for k, v in errors.items() if k != "prior")
        found.append((errors[name] - best) / (0.5 - facts.flips))
    return np.array(found)


def by_rank(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """Mean and largest regret with a delta in many columns, by law: rank told, and nothing told."""
    out = {}
    for law in RANKS:
        kept = [row for row in rows if row["law"] == law and row["d"] > _WIDE]
        told, untold = (regrets(kept, 1e-6, told=each) for each in (True, False))
        out[law] = _rounded([told.mean(), told.max(), untold.mean(), untold.max()])
    return out


def learn(rows: Sequence[Mapping[str, Any]], delta: float) -> tuple[float, float, float]:
    """Coefficients of ``dplit.margin.choice.LEARNT``: of the recommended estimators' mean shares by
    least squares, and of a single run around them.
    """
    first = 0 if delta == 0.0 else len(METHODS[0.0])
    shares, logs, noise = [], [], []
    for row in rows:
        facts, name = facts_of(row, delta), chosen(facts_of(row, delta))
        if name not in errors_at(row, delta) or facts.rank is not None:  # where all columns count
            continue
        room = 0.5 - facts.flips
        shares.append((0.5 - errors_at(row, delta)[name]) / room)
        logs.append(math.log(strength(facts)))
        se = row["se"][first + METHODS[delta].index(name)]
        noise.append(se / room * math.sqrt(row["trials"]))
    x, y, one = np.array(logs), np.array(shares), np.array(noise)

    def missed(c: Array) -> Array:
        return np.asarray(expit(c[0] + c[1] * x) - y)

    a, b = least_squares(missed, [0.0, 1.0]).x
    told = expit(a + b * x)
    scale = np.sum((y - told) ** 2 + one**2) / np.sum(told * (1.0 - told))
    return round(float(a), 2), round(float(b), 2), round(math.sqrt(float(scale)), 2)


def surprises(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Cells where a method beats all others of its delta by most standard errors, a row a method:
    facts, the margin in errors and its t.
    """
    out = []
    for delta, names in METHODS.items():
        first = 0 if delta == 0.0 else len(METHODS[0.0])
        for name in names:
            top: dict[str, Any] = {"t": 0.0}
            for row in rows:
                errors = errors_at(row, delta)
                if name not in errors or len(errors) < 2:
                    continue
                rival = min((k for k in errors if k != name), key=lambda k: errors[k])
                at = [first + names.index(k) for k in (name, rival)]
                se = math.hypot(*(row["se"][i] for i in at))
                gap = errors[rival] - errors[name]
                if se > 0.0 and gap / se > top["t"] and gap > 0.01:
                    top = {**{k: row[k] for k in ("law", *Facts._fields[:5])}, "delta": delta,
                           "method": name, "rival": rival, "gap": round(gap, 4),
                           "t": round(gap / se, 1)}  # fmt: skip
            out.append(top)
    return [row for row in out if row["t"] > 0.0]


def formulas(rows: Sequence[Mapping[str, Any]]) -> list[list[float | None]]:
    """For round records without a delta: error by ``pure_mean_error`` beside that of the noisy mean
    of projected records, and the bound with a proof (of right labels, at its best k of the data).
    """
    out = []
    for row in rows:
        if row["law"] != "round":
            continue
        facts = facts_of(row, 0.0)
        size: Any = {"n_samples": facts.n, "epsilon": facts.epsilon, "margin": facts.margin}
        k = pure_components(n_features=facts.d, flips=facts.flips, **size)
        wrong = pure_mean_error(n_features=facts.d, n_components=k, flips=facts.flips, **size)
        bound = pure_margin_bound(n_components=k, projected=k < facts.d, **size)
        told = facts.flips + (1.0 - 2.0 * facts.flips) * wrong
        out.append([*_rounded([told]), errors_at(row, 0.0)["mean, projected"],
                    None if math.isinf(bound) or facts.flips else round(bound, 3)])  # fmt: skip
    return out


# Off the grid: other sizes and laws, and tables, through the estimators.


class Case(NamedTuple):
    """Records by name and what a user would say of them."""

    data: str
    n: int
    d: int
    margin: float
    flips: float


OFF_GRID = (
    Case("round", 1000, 60, 0.2, 0.1), Case("leaning", 1000, 60, 0.2, 0.1),
    Case("leaning", 6000, 100, 0.15, 0.0), Case("round", 600, 600, 0.4, 0.05),
    Case("low rank", 2000, 300, 0.2, 0.05), Case("low rank", 500, 1000, 0.3, 0.1),
    Case("cancer", 284, 30, 0.1, 0.05), Case("digits", 180, 64, 0.1, 0.05),
    Case("mnist", 995, 784, 0.1, 0.05),
)  # fmt: skip

OFF_EPSILONS = (0.3, 1.0, 4.0)


def off_cases() -> Iterator[tuple[Case, float, float]]:
    """Yield cases, epsilon and delta off the grid, but for the slowest."""
    for case, epsilon, delta in itertools.product(OFF_GRID, OFF_EPSILONS, METHODS):
        if (case.data, epsilon, delta > 0.0) != ("mnist", 4.0, True):
            yield case, epsilon, delta


#: Guesses of the margin, over the one that is stated.
GUESSES = {"stated": 1.0, "three times": 3.0, "a third": 1.0 / 3.0}

TABLES = {"cancer": 0.3, "digits": 0.3, "mnist": 0.13}  # public centres of their columns


def table(name: str) -> tuple[Array, Array]:
    """Records less a public centre, clipped to 0.3 roots of d and divided by it, and signs."""
    if name == "mnist":
        digits = load_fours_and_nines("paper")
        X, y = digits.images.reshape(len(digits.labels), -1), digits.labels
    else:
        X, y = load_problem(name)
    norm = 0.3 * math.sqrt(X.shape[1])
    return np.asarray(clip_rows(X - TABLES[name], norm) / norm), np.asarray(y, float)


def _low_rank(facts: Facts, rng: np.random.Generator) -> tuple[Array, Array]:
    """Unit records whose rest lives in five directions."""
    X, y = records("round", facts._replace(d=6), rng)
    return np.hstack([X, np.zeros((facts.n, facts.d - 6))]), y


def halves(case: Case, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Training and test records of a case; laws are tested on 2,000 others."""
    if case.data in TABLES:
        X, y = table(case.data)
        order = rng.permutation(len(y))
        train, test = order[: case.n], order[case.n :]
        return X[train], y[train], X[test], y[test]
    facts = Facts(case.n + 2000, *case[2:], 1.0, 0.0)
    if case.data == "low rank":
        X, y = _low_rank(facts, rng)
    else:
        law = "round" if case.data == "round" else "crowd"
        X, y = records(law, facts, rng, lean=0.5)
    return X[: case.n], y[: case.n], X[case.n :], y[case.n :]


def _off_trial(trial: Trial, *, case: Case, epsilon: float, delta: float) -> list[float]:
    """Errors of the candidates at the guesses of the margin, then of a constant."""
    X, y, T, labels = halves(case, trial.stream("data"))
    noise, found = trial.stream("noise"), []
    for factor in GUESSES.values():
        margin = min(factor * case.margin, 1.0)
        facts = Facts(case.n, case.d, margin, case.flips, epsilon, delta)
        for name in names_of(facts):
            if name == "objective" and case.d > _WIDE:
                found.append(math.nan)
                continue
            model = configure(name, facts)
            model.set_params(random_state=noise.spawn(1)[0], classes=(-1.0, 1.0))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found.append(float(np.mean(model.fit(X, y).predict(T) != labels)))
    majority = float(np.mean(labels > 0.0))
    return [*found, min(majority, 1.0 - majority)]


def off_grid(
    case: Case, epsilon: float, delta: float, n_trials: int, *, seed: int = 0
) -> dict[str, Any]:
    """Mean errors on one case, and what the advice loses there by guess of the margin."""
    name = "margin-choice-off-" + "-".join(map(str, (*case, epsilon, delta)))
    one = partial(_off_trial, case=case, epsilon=epsilon, delta=delta)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    row = {**case._asdict(), "epsilon": epsilon, "delta": delta, "trials": n_trials}
    return row | {"mean": _rounded(mean), "se": _rounded(se)} | losses(case, epsilon, delta, mean)


def losses(
    case: Case, epsilon: float, delta: float, mean: Any, *, limit: float | None = None
) -> dict[str, list[Any]]:
    """What is recommended by guess of the margin, and how much of what can be gained over a
    constant that loses to the best candidate at any guess; with a ``limit`` always something.
    """
    values = np.array(mean, dtype=float)
    names = names_of(Facts(case.n, case.d, case.margin, case.flips, epsilon, delta))
    errors, out = values[:-1].reshape(len(GUESSES), len(names)), {}
    best = min(float(np.nanmin(errors)), values[-1])
    for got, (guess, factor) in zip(errors, GUESSES.items(), strict=True):
        margin = min(factor * case.margin, 1.0)
        facts = Facts(case.n, case.d, margin, case.flips, epsilon, delta)
        useful = limit is not None or gained(facts) >= 0.05
        name = chosen(facts, limit=limit or 0.0) if useful else "none"
        reached = values[-1] if name == "none" else got[names.index(name)]
        out[guess] = [name, round(float(reached - best) / (values[-1] - case.flips), 4)]
    return out


#: Limits that were tried, by delta.
TRIED_LIMITS = {
    0.0: (0.0, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0), 1e-6: (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
}  # fmt: skip


def price(
    rows: Sequence[Mapping[str, Any]], outside: Sequence[Mapping[str, Any]], delta: float,
    limit: float,
) -> float:  # fmt: skip
    """What a limit loses: half of its mean regret on the map and half of its mean loss on tables,
    at all guesses of the margin.
    """
    tables = [
        losses(Case(*(row[k] for k in Case._fields)), row["epsilon"], delta, row["mean"],
               limit=limit)
        for row in outside if row["data"] in TABLES and row["delta"] == delta
    ]  # fmt: skip
    lost = np.mean([[found[guess][1] for guess in GUESSES] for found in tables])
    return float(regrets(rows, delta, limit).mean() + lost) / 2.0


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Mean and largest loss off the grid, on laws and on tables, by guess of the margin."""
    told = {}
    for kind in ("laws", "tables"):
        kept = [row for row in rows if (row["data"] in TABLES) == (kind == "tables")]
        for guess in GUESSES:
            lost = [row[guess][1] for row in kept]
            told[f"{kind}, {guess}"] = [round(float(np.mean(lost)), 4), max(lost)]
    return told


def archive(
    rows: Sequence[Mapping[str, Any]], outside: Sequence[Mapping[str, Any]], *, seed: int
) -> str:
    """Return the archive as text, a line per row."""
    outside = [
        {**row, **losses(Case(*(row[k] for k in Case._fields)), row["epsilon"], row["delta"],
                         row["mean"])}
        for row in outside
    ]  # fmt: skip
    head = {
        "about": "Errors of private linear classifiers on records of length 1 with a margin: share "
        "of wrong classes among new records, flipped labels included, exact given the weights; "
        "replacement of a record. Cases off the grid are tested on other records.",
        "seed": seed, "command": "python -m benchmarks.archive_margin_choice",
        "methods": {f"{delta:g}": names for delta, names in METHODS.items()},
        "learnt": [learn(rows, delta) for delta in METHODS],
        "regret": {f"{delta:g}": _rounded((v.mean(), v.max()))
                   for delta in METHODS for v in (regrets(rows, delta),)},
        "ranks": by_rank(rows), "summary": summary(outside), "formulas": formulas(rows),
    }  # fmt: skip
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, found in (("cells", rows), ("cases", outside), ("surprises", surprises(rows))):
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in found) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
