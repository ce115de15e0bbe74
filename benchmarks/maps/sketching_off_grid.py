"""Clustering off the grid: between its levels, other laws, and tables of scikit-learn."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image

from benchmarks.maps.sketching_methods import _errors_on
from benchmarks.maps.sketching_records import _told
from dplit._checks import Array
from dplit.advice._cluster_settings import ClusterFacts
from dplit.notebook.datasets.classification import CANCER_RANGES
from dplit_studies.trials import Trial, run_trials


class Case(NamedTuple):
    """Records by name; ``separation`` is the law's, and of tables what k-means finds."""

    data: str
    n: int
    d: int
    k: int
    separation: float


OFF_GRID = (
    Case("law", 4_000, 4, 4, 4.0),
    Case("law", 30_000, 10, 10, 10.0),
    Case("law", 3_000, 35, 3, 4.0),
    Case("unequal", 20_000, 5, 8, 8.0),
    Case("corner", 10_000, 8, 5, 5.0),
    Case("long", 10_000, 3, 4, 3.0),
    Case("corner", 20_000, 3, 6, 6.0),
    Case("corner", 5_000, 15, 3, 4.0),
    Case("pixels", 50_000, 3, 8, 5.9),
    Case("breast cancer", 569, 30, 2, 0.76),
    Case("digits", 1_797, 64, 10, 0.92),
)

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
    facts = ClusterFacts(case.n, case.d, case.k, case.separation, 1.0)
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
