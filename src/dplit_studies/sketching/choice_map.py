"""The evidence behind :mod:`dplit.sketching.choice`: private clustering, each rival at its best.

The error of k centres is their risk less that of k-means without privacy, over what k-means gains
on the mean of all records: 0 is as good as without privacy, 1 as bad as one centre. All rivals
meet the same records in the box [-1, 1]^d, of which one may be added or removed, at one budget.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image

from dplit._checks import Array
from dplit.baselines import PrivateLloyd
from dplit.datasets.classification import CANCER_RANGES
from dplit.sketching.choice import (
    CANDIDATES,
    CENTRES,
    USEFUL,
    Facts,
    chosen,
    errors_of,
    frequencies_of,
    law_of_error,
    noise_ratio,
    settings,
)
from dplit.sketching.decoders.kmeans import sse
from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, _fourier_map
from dplit.sketching.release import plan_release
from dplit.sketching.sketches import Sketch, sketch
from dplit.trials import Trial, run_trials
from dplit_studies.sketching.rivals import (
    CELLS,
    Budget,
    em_centres,
    grid_centres,
    hybrid_centres,
    moment_centres,
    tree_centres,
)

#: Axes of the map: columns, clusters, separation, records, budget.
DS, KS, SEPARATIONS = (2, 6, 20, 60), (2, 6, 20), (2.0, 6.0, 20.0)

NS, EPSILONS = (1_000, 10_000, 100_000), (0.1, 1.0, 10.0)

#: A factor of ten from the middle of the map where the grid has less.
STAR = (
    *(Facts(10_000, 6, 6, separation, 1.0) for separation in (0.6, 60.0)),
    *(Facts(10_000, d, 6, 6.0, epsilon) for d in (1, 3) for epsilon in EPSILONS),
    Facts(10_000, 6, 60, 6.0, 1.0), Facts(100_000, 6, 60, 6.0, 1.0),
)  # fmt: skip

#: Delta of the budgets that have one: 10,000 records of middling separation.
DELTA = 1e-6

#: Numbers of a data set times its clusters from which the middle separation alone is run.
_LONG = 3_600_000

#: Trials by number of records.
TRIALS = {1_000: 3, 10_000: 3, 100_000: 2}

#: Family of rivals by method, in the order of the archive.
FAMILIES = {
    "sketch": "sketch", "sketch, short": "sketch", "sketch, mixture": "sketch",
    "lloyd, 1 step": "lloyd", "lloyd, 3 steps": "lloyd", "lloyd, wide": "lloyd",
    "grid": "grid", "grid, fine": "grid", "EUGkM": "grid", "hybrid": "grid",
    "tree, 6": "tree", "tree, 10": "tree", "tree, 20": "tree",
    "moments": "moments", "EM": "EM",
}  # fmt: skip

METHODS = tuple(FAMILIES)

_SHIPPED = ("sketch", "lloyd")

#: What is decoded as a mixture has at most so many components.
_MIXTURES = 6


# Records.


def law(facts: Facts, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records of k equal clusters and their centres, uniform on [-0.8, 0.8]^d, in the box."""
    centres = rng.uniform(-0.8, 0.8, (facts.k, facts.d))
    spread = CENTRES / facts.separation
    labels = rng.integers(facts.k, size=facts.n)
    X = centres[labels] + rng.normal(scale=spread, size=(facts.n, facts.d))
    return np.clip(X, -1.0, 1.0), centres


def reference(
    X: Array, k: int, rng: np.random.Generator, start: Array | None = None
) -> tuple[float, float]:
    """Risks of the mean and of k-means without privacy, the better of all its starts."""
    seed = int(rng.integers(2**31))
    few = KMeans(k, n_init=3, random_state=seed).fit(X[rng.permutation(len(X))[:4000]])
    starts = [few.cluster_centers_, *([] if start is None else [start])]
    found = [KMeans(k, init=one, n_init=1, max_iter=30).fit(X).cluster_centers_ for one in starts]
    return float(X.var(axis=0).sum()), float(np.min(sse(X, np.array(found))))


# Methods.


def _released(
    X: Array, facts: Facts, part: str, public: np.random.Generator, noise: np.random.Generator
) -> Callable[[float, float], Sketch]:
    """A sketch of records, computed once, with the estimators' noise at any budget."""
    m = frequencies_of(facts, part)
    made = _fourier_map(
        "fourier", np.ones(facts.d), m, gamma=None, bound=np.ones(facts.d), rng=public
    )
    exact = sketch(X, made)

    def at(epsilon: float, delta: float) -> Sketch:
        law = "gaussian" if delta else "polydisc"
        plan = plan_release(exact.map, epsilon=epsilon, delta=delta, noise=law, count="withheld")  # type: ignore[arg-type]
        return plan.apply(exact, rng=noise)

    return at


def _sketched(
    facts: Facts, releases: Mapping[str, Callable[[float, float], Sketch]], seed: int
) -> dict[str, Array]:
    """Centres of what sketches decode to."""
    k, found = facts.k, dict[str, Array]()
    told: dict[str, Any] = {"bounds": (-1.0, 1.0), "random_state": seed, "delta": facts.delta}
    for name, release in releases.items():
        seen = release(facts.epsilon, facts.delta)
        found[name] = CompressiveKMeans(k, **told).fit_sketch(seen).cluster_centers_
        if name == "sketch" and k <= _MIXTURES:
            mixture = CompressiveGaussianMixture(k, n_starts=1, **told)
            found["sketch, mixture"] = mixture.fit_sketch(seen).means_
    return found


def _lloyds(X: Array, facts: Facts, seed: int) -> dict[str, Array]:
    """Centres of private Lloyd at its public settings."""
    found = {}
    for name in ("lloyd, 1 step", "lloyd, 3 steps", "lloyd, wide"):
        model = PrivateLloyd(**settings(name, facts), random_state=seed)
        found[name] = model.fit(X).cluster_centers_
    return found


def _rivals(
    X: Array, facts: Facts, rng: np.random.Generator, public: np.random.Generator
) -> dict[str, Array]:
    """Centres of everything that the package does not ship."""
    n, d, k, budget = facts.n, facts.d, facts.k, Budget(facts.epsilon, facts.delta)
    found = dict[str, Array]()
    known: dict[str, Any] = {"n": n, "budget": budget, "rng": rng}
    if CELLS ** (1.0 / d) >= 2.0:
        found["grid"] = grid_centres(X, k, **known)
        found["grid, fine"] = grid_centres(X, k, finer=2.0, **known)
        found["EUGkM"] = grid_centres(X, k, threshold=False, **known)
        found["hybrid"] = hybrid_centres(X, k, **known)
    for depth in (6, 10, 20):
        found[f"tree, {depth}"] = tree_centres(X, k, depth=depth, public=public, **known)
    found["moments"] = moment_centres(X, k, budget=budget, rng=rng)
    steps = 4 if n * facts.epsilon <= 10_000 else 8
    found["EM"] = em_centres(X, k, steps=steps, budget=budget, rng=rng, public=public)
    return found


def _errors_on(
    X: Array, facts: Facts, budgets: Sequence[tuple[float, float]], trial: Trial,
    start: Array | None = None, rivals: bool = True,
) -> Array:  # fmt: skip
    """Errors (budgets, methods) on one set of records; NaN where a method has no setting, and for
    all that the package does not ship where no ``rivals`` are asked for.
    """
    public, noise = trial.stream("public"), trial.stream("noise")
    one, best = reference(X, facts.k, trial.stream("data").spawn(1)[0], start)
    releases = {
        name: _released(X, facts, name, *public.spawn(1), *noise.spawn(1))
        for name in ("sketch", "sketch, short")
    }
    rows = []
    for epsilon, delta in budgets:
        told = facts._replace(epsilon=epsilon, delta=delta)
        seed, rng = int(noise.integers(2**31)), noise.spawn(1)[0]
        with warnings.catch_warnings():  # that noise rules is what is measured
            warnings.simplefilter("ignore", UserWarning)
            found = _sketched(told, releases, seed) | _lloyds(X, told, seed)
            found |= _rivals(X, told, rng, public) if rivals else {}
        rows.append([
            (float(sse(X, found[name])) - best) / (one - best) if name in found else math.nan
            for name in METHODS
        ])  # fmt: skip
    return np.array(rows)


def _trial(trial: Trial, *, facts: Facts, budgets: Sequence[tuple[float, float]]) -> Array:
    X, centres = law(facts, trial.stream("data"))
    return _errors_on(X, facts, budgets, trial, centres)


# The map.


def groups() -> Iterator[tuple[Facts, list[tuple[float, float]]]]:
    """Yield the map's settings, those that differ in the budget alone together."""
    pure = [(epsilon, 0.0) for epsilon in EPSILONS]
    for n, d, k, separation in itertools.product(NS, DS, KS, SEPARATIONS):
        if n * d * k > _LONG and separation != 6.0:
            continue
        extra = [] if n != 10_000 or separation != 6.0 else [(e, DELTA) for e in EPSILONS]
        yield Facts(n, d, k, separation, 1.0), pure + extra
    for _, same in itertools.groupby(STAR, key=lambda facts: facts[:4]):
        held = list(same)
        yield held[0], [(facts.epsilon, 0.0) for facts in held]


def cell(
    facts: Facts, budgets: Sequence[tuple[float, float]], *, seed: int = 0
) -> list[dict[str, Any]]:
    """Mean errors of all methods and their standard errors, a row for each budget."""
    trials = TRIALS[facts.n]
    name = "sketch-choice-" + "-".join(f"{value:g}" for value in facts[:4])
    one = partial(_trial, facts=facts, budgets=budgets)
    runs = np.array(run_trials(one, trials, seed=seed, name=name, progress=False))
    rows = []
    for at, (epsilon, delta) in enumerate(budgets):
        here = facts._replace(epsilon=epsilon, delta=delta)
        rows.append({**here._asdict(), "trials": trials, **_told(runs[:, at])})
    return rows


def _told(runs: Array) -> dict[str, list[float | None]]:
    """Means and standard errors; None where nothing ran."""
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
    return {"errors": _rounded(mean), "se": _rounded(se)}


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(f"{value:.3g}") for value in values]


# Off the grid: between its levels, other laws, and tables that come with scikit-learn.


class Case(NamedTuple):
    """Records by name; ``separation`` is the law's, and of tables what k-means finds."""

    data: str
    n: int
    d: int
    k: int
    separation: float


OFF_GRID = (
    Case("law", 4_000, 4, 4, 4.0), Case("law", 30_000, 10, 10, 10.0),
    Case("law", 3_000, 35, 3, 4.0), Case("unequal", 20_000, 5, 8, 8.0),
    Case("corner", 10_000, 8, 5, 5.0), Case("long", 10_000, 3, 4, 3.0),
    Case("corner", 20_000, 3, 6, 6.0), Case("corner", 5_000, 15, 3, 4.0),
    Case("pixels", 50_000, 3, 8, 5.9), Case("breast cancer", 569, 30, 2, 0.76),
    Case("digits", 1_797, 64, 10, 0.92),
)  # fmt: skip

OFF_BUDGETS = ((0.1, 0.0), (0.5, 0.0), (2.0, 0.0), (1.0, 1e-6))

#: Guesses of the separation, over the truth.
GUESSES = {"known": 1.0, "ten times": 10.0, "a tenth": 0.1}


def draw(case: Case, rng: np.random.Generator) -> Array:
    """Records of a case in the box: a law, other shapes of it, or a table by public limits."""
    if case.data in ("pixels", "breast cancer", "digits"):
        return _table(case, rng)
    centres = rng.uniform(-0.8, 0.8, (case.k, case.d))
    shares = np.ones(case.k)
    if case.data == "unequal":
        shares = 1.0 / np.arange(1.0, case.k + 1.0)
    if case.data == "corner":  # a quarter of the box's sides
        centres = 0.25 * centres - 0.5
    labels = rng.choice(case.k, size=case.n, p=shares / shares.sum())
    spread = float(centres.std()) / case.separation * np.ones(case.d)
    if case.data == "long":
        spread = spread * np.sqrt(case.d) * np.eye(case.d)[0] + 0.2 * spread
    return np.clip(centres[labels] + spread * rng.standard_normal((case.n, case.d)), -1.0, 1.0)


def _table(case: Case, rng: np.random.Generator) -> Array:
    """A table of scikit-learn's, scaled by public limits."""
    if case.data == "pixels":
        pixels = load_sample_image("china.jpg").reshape(-1, 3) / 127.5 - 1.0
        return np.asarray(pixels[rng.choice(len(pixels), case.n, replace=False)])
    if case.data == "digits":
        return np.asarray(load_digits().data / 8.0 - 1.0)
    low, high = CANCER_RANGES
    scaled = 2.0 * (load_breast_cancer().data - low) / (high - low) - 1.0
    return np.asarray(np.clip(scaled, -1.0, 1.0))


def _off_trial(trial: Trial, *, case: Case, budgets: Any, rivals: bool) -> Array:
    X = draw(case, trial.stream("data"))
    facts = Facts(case.n, case.d, case.k, case.separation, 1.0)
    return _errors_on(X, facts, budgets, trial, rivals=rivals)


def off_grid(
    case: Case, n_trials: int, *, seed: int = 0, budgets: Any = OFF_BUDGETS, rivals: bool = True
) -> list[dict[str, Any]]:
    """Mean errors on one case, a row for each budget; of what ships alone without ``rivals``."""
    name = "sketch-choice-off-" + "-".join(map(str, case))
    one = partial(_off_trial, case=case, budgets=budgets, rivals=rivals)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    return [
        {**case._asdict(), "epsilon": epsilon, "delta": delta, "trials": n_trials}
        | _told(runs[:, at])
        for at, (epsilon, delta) in enumerate(budgets)
    ]


# Reading the map, and the archive.


def best_of(row: Mapping[str, Any]) -> dict[str, float]:
    """Least mean error of every family on one row, its setting in hindsight."""
    found: dict[str, float] = {}
    for name, error in zip(METHODS, row["errors"], strict=True):
        if error is not None:
            found[FAMILIES[name]] = min(error, found.get(FAMILIES[name], math.inf))
    return found


def learn(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Coefficients of the laws of :mod:`dplit.sketching.choice`, by robust least squares on roots
    of errors; a grid and a tree are those of the best setting.
    """
    return {name: _learnt(name, rows) for name in CANDIDATES}


def _learnt(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    found = [(facts_of(row), error_of(row, name)) for row in rows]
    kept = [(facts, error) for facts, error in found if error is not None]
    wanted = np.sqrt(np.maximum([error for _, error in kept], 0.0))
    logs = np.log([
        (noise_ratio(name, facts), facts.d, facts.k, facts.separation) for facts, _ in kept
    ]).T  # fmt: skip

    def gaps(c: Array) -> Array:
        return np.asarray(np.sqrt(law_of_error(c, *logs)) - wanted)

    lowest = [-12.0, -3.0, -3.0, -3.0, 0.3, -30.0, 0.2, -5.0, -5.0, -5.0, -5.0]
    highest = [0.0, 3.0, 3.0, 3.0, 3.0, 30.0, 5.0, 5.0, 5.0, 5.0, 5.0]
    start = [-5.0, 0.0, 0.5, 0.0, 1.2, 1.0, 1.5, 0.0, 0.0, 0.0, 0.0]
    fit = least_squares(gaps, start, bounds=(lowest, highest), loss="soft_l1", f_scale=0.1)
    return tuple(round(float(value), 2) for value in fit.x)


def facts_of(row: Mapping[str, Any]) -> Facts:
    """Facts of a row of the archive."""
    return Facts(*(row[name] for name in Facts._fields))


def error_of(row: Mapping[str, Any], name: str) -> float | None:
    """Mean error of a candidate on a row, of a grid and a tree at their best setting."""
    if name in ("grid", "tree"):
        return best_of(row).get(name)
    found: float | None = row["errors"][METHODS.index(name)]
    return found


def losses(case: Facts, row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What is recommended by guess of the separation, and what that loses on a row to the best
    setting that the package ships and to the best of all, one centre included.
    """
    out = {}
    shipped = [name for name in CANDIDATES if name in METHODS and FAMILIES[name] in _SHIPPED]
    errors = {name: float(row["errors"][METHODS.index(name)]) for name in shipped}
    ours = min(1.0, *errors.values())
    best = min(ours, *best_of(row).values())
    for guess, factor in GUESSES.items():
        told = errors_of(case._replace(separation=factor * case.separation))
        name = chosen(told)
        none = told[name] > USEFUL
        reached = 1.0 if none else errors[name]
        lost = (round(reached - least, 4) for least in (ours, best))
        out[guess] = ["none" if none else name, *lost]
    return out


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """By guess of the separation the mean and largest loss to the best that the package ships, and
    the mean loss to the best of all.
    """
    out = {}
    for guess in GUESSES:
        lost = np.array([losses(facts_of(row), row)[guess][1:] for row in rows])
        out[guess] = _rounded((lost[:, 0].mean(), lost[:, 0].max(), lost[:, 1].mean()))
    return out


_Rows = Sequence[Mapping[str, Any]]


def archive(cells: _Rows, outside: _Rows, again: _Rows, *, seed: int) -> str:
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private clustering: risk less that of k-means, over what k centres "
        "gain on one; records in [-1, 1]^d, one added or removed. All simulated.",
        "seed": seed, "command": "python -m benchmarks.archive_sketching_choice",
        "methods": METHODS, "summary": {"cells": summary(cells), "cases": summary(outside)},
    }  # fmt: skip
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (("cells", cells), ("cases", outside), ("again", again)):
        lines.append(f'"{key}": [\n' + ",\n".join(map(_line, rows)) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(row: Mapping[str, Any]) -> str:
    """A row with the least error of every family, as text."""
    return json.dumps({**row, "best": best_of(row)})
