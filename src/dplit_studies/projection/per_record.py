"""Regressions at one budget of a record, its response included."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dplit._checks import Array
from dplit.advice.entry_errors import EntryFacts
from dplit.linear.adaptive import AdaSSPRegressor
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit_studies.projection.prior_work import mixing_floor
from dplit_studies.trials import Trial, run_trials


def mixed_fit(
    second: Array,
    *,
    square: float,
    floor: float,
    n_components: int,
    delta: float,
    rng: np.random.Generator,
) -> Array:
    r"""Least squares on Lev et al.'s mixtures, drawn from the second moments of [X y].

    ``square`` bounds the squared norm of a record. The table's least eigenvalue, told with noise
    and lowered by :math:`\sqrt{2\ln(3/\delta)}` deviations, counts towards ``floor``, over
    ``square``, and noise on columns and responses does the rest. Rows are then normal.
    """
    low, size = float(np.linalg.eigvalsh(second)[0]) / square, len(second)
    late = math.sqrt(2.0 * math.log(3.0 / delta)) - rng.standard_normal()
    told = max(low - floor / math.sqrt(n_components) * late, 0.0)
    lifted = second + max(floor - told, 0.0) * square * np.eye(size)
    rows = rng.standard_normal((n_components, size)) @ np.linalg.cholesky(lifted).T
    return np.asarray(np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0])


class Rival(NamedTuple):
    """Mean error of one method and its standard error; rows of mixtures, 0 where there are none."""

    mean: float
    se: float
    rows: int


#: Rows of mixtures that are tried, over the number of columns: the best mean is taken.
MULTIPLES = (2, 4, 8, 16, 32, 64)


def _record_trial(trial: Trial, facts: EntryFacts) -> list[float]:
    """Errors of mixtures by their rows, then of moments, AdaSSP and gradients; one table."""
    n, d, snr, epsilon, _ = facts
    delta, end = facts.delta or 0.0, 3.0 * math.sqrt(1.0 + snr)
    data, noise = trial.stream("data"), trial.stream("noise")
    X, theta = data.uniform(-1.0, 1.0, (n, d)), data.standard_normal(d)
    theta *= math.sqrt(3.0 * snr) / np.linalg.norm(theta)
    y = np.clip(X @ theta + data.standard_normal(n), -end, end)
    M = np.column_stack([X / math.sqrt(d), y / end])  # both halves at most 1 long
    second, fits = M.T @ M, []
    for multiple in MULTIPLES:
        size: dict[str, Any] = {"n_components": multiple * d, "delta": delta}
        floor = mixing_floor(epsilon=epsilon, **size)
        fit = mixed_fit(second, square=2.0, floor=floor, rng=noise, **size)
        fits.append(fit * end / math.sqrt(d))
    known: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "data_norm": math.sqrt(d),
        "bounds": (-end, end),
        "neighboring": "add_remove",
        "fit_intercept": False,
    }
    models = (
        SufficientStatisticsRegressor(**known),
        AdaSSPRegressor(**known),
        NoisyGradientRegressor(**known, public_size=n),
    )
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        for model in models:
            fits.append(model.set_params(random_state=noise.spawn(1)[0]).fit(X, y).coef_)
    return [1.0 + float(np.sum((fit - theta) ** 2)) / 3.0 for fit in fits]


def compare_per_record(
    facts: EntryFacts, n_trials: int, *, seed: int = 0, n_jobs: int = 1
) -> dict[str, Rival]:
    """Errors, as on the map, at one (epsilon, delta) for a record that may be left out.

    Uniform columns; responses are clipped at three deviations, which are taken to be public.
    Mixtures have the best number of rows in hindsight.
    """
    name = "proj-prior-" + "-".join(f"{value:g}" for value in facts if value is not None)
    one = partial(_record_trial, facts=facts)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    means, errors = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    best = int(np.argmin(means[: len(MULTIPLES)]))
    places = {"mixtures": best, "moments": -3, "AdaSSP": -2, "gradients": -1}
    rows = {"mixtures": MULTIPLES[best] * facts.d}
    return {k: Rival(float(means[i]), float(errors[i]), rows.get(k, 0)) for k, i in places.items()}
