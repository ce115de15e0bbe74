"""Noisy gradients at a budget per entry: what advice learns, and how they stand to moments."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from benchmarks.maps.projection import BUDGETS, DS, PAIRS, RATIOS, SNRS, _rounded, facts_of
from benchmarks.maps.projection_off_grid import Case, draw
from benchmarks.maps.projection_rivals import METHODS, cell
from dplit._checks import Array
from dplit.advice.entries import _configure
from dplit.advice.entry_errors import EntryFacts, unprotected_error
from dplit.mechanisms import gaussian_epsilon
from dplit_studies.trials import Trial, run_trials

#: Signals and Gaussian privacy mu; with columns and records per column.
_LEVELS = (0.1, 1.0, 10.0, 100.0), (0.3, 0.8, 1.7, 3.3)

DESCENTS = (
    *itertools.product((5, 20), (4, 10, 50, 250), *_LEVELS),
    *itertools.product((50,), (4, 10, 50), *_LEVELS),
)

_DELTA = 1e-6


def _descent_trial(trial: Trial, *, facts: EntryFacts) -> list[float]:
    """Errors of noisy moments, which protect an entry, and of noisy gradients, which protect whole
    records with their responses; both meet the same uniform records.
    """
    n, d, snr, *_ = facts
    records, noise = draw(Case("uniform", n, d, snr), trial.stream("data")), trial.stream("noise")
    end, errors = 3.0 * math.sqrt(1.0 + snr), []
    for name in ("moments", "gradients"):
        model = _configure(name, facts, 0, response_bounds=(-end, end))
        model.set_params(random_state=noise.spawn(1)[0])
        with warnings.catch_warnings():  # that noise rules is what is measured
            warnings.simplefilter("ignore", UserWarning)
            errors.append(records.error(model.fit(records.X, records.y).predict(records.test)))
    return errors


def descent(d: int, ratio: int, snr: float, mu: float, n_trials: int, *, seed: int = 0) -> Any:
    """Mean errors of moments and gradients, and the standard error of their difference."""
    epsilon = float(gaussian_epsilon(delta=_DELTA, sigma=1.0 / mu))
    facts = EntryFacts(d * ratio, d, snr, epsilon, _DELTA)
    name = f"proj-choice-descent-{d}-{ratio}-{snr:g}-{mu:g}"
    one = partial(_descent_trial, facts=facts)
    found = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    gap = found[:, 0] - found[:, 1]
    se = float(gap.std(ddof=1)) / math.sqrt(n_trials)
    return {
        "n": d * ratio,
        "d": d,
        "snr": snr,
        "mu": mu,
        "mean": _rounded(found.mean(axis=0)),
        "se": _rounded([se])[0],
        "trials": n_trials,
    }


def learn(rows: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Coefficients of :func:`dplit.advice.entry_errors._gradients_error`, by robust least squares
    on
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
    cells: Sequence[Mapping[str, Any]],
    corners: Sequence[Mapping[str, Any]],
    outside: Sequence[Mapping[str, Any]],
    descents: Sequence[Mapping[str, Any]],
    *,
    seed: int,
) -> str:
    """Return the archive as text, a line per row."""
    head = {
        "about": "Errors of private linear regression at a budget per entry, responses public: "
        "squared error of predictions over the law's own. Cells are closed forms, corners and "
        "cases are simulated.",
        "seed": seed,
        "command": "python -m benchmarks.archive_projection_choice",
        "methods": METHODS,
        "simulated": METHODS[:5],
        "summary": summary(outside),
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    for key, rows in (
        ("cells", cells),
        ("corners", corners),
        ("cases", outside),
        ("descents", descents),
    ):
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
