"""Privacy against utility for the repaired model, against baselines, on the vertical axis R^2.

Ridge regression on cos/sin features (rows of norm one) with Gaussian output noise: the expected
squared error of the private model is that of the non-private one plus the noise variance, so the
frontier over the penalty needs no simulation. Penalties are not chosen on the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplit._checks import Array, check_choice, check_positive, check_probability
from dplit.baselines import noisy_gradient_descent, sufficient_statistics
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_sigma
from dplit.random_features.data import _Prepared, _split
from dplit.random_features.experiments.curves import _repeated, _stacked
from dplit.random_features.sensitivity import crude_sensitivity, record_sensitivity
from dplit.trials import Runs, Trial

__all__ = [
    "frontier",
    "noise_variance",
]

_Pair = tuple[Array, Array]  # training, test


def noise_variance(
    alpha: float, *, n_records: int, label_bound: float, epsilon: float, delta: float,
    bound: str = "record",
) -> float:  # fmt: skip
    """Variance sigma^2 of a private ridge prediction's noise where rows have norm at most one.

    One record of m is replaced; the sensitivity is one record's influence ("record") or from the
    norm b sqrt(m) of all labels ("crude"), the noise the exact minimum for it.
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    if check_choice("bound", bound, ("record", "crude")) == "record":
        sensitivity = record_sensitivity(alpha=alpha, label_bound=label_bound, n_records=n_records)
    else:
        sensitivity = crude_sensitivity(alpha=alpha, label_norm=label_bound * math.sqrt(n_records))
    return float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)) ** 2


@dataclass(frozen=True)
class _Frontier(Runs):
    """R^2 on test records against the penalty, and of baselines, which have no penalty axis.

    Without noise, exact over the noise of either bound ("record", "crude"), "simulated" with one
    draw of the former; "constant" predicts the middle of the label bounds.
    """

    alphas: Array

    @property
    def best(self) -> tuple[float, float]:
        """Penalty with the largest mean private R^2, and that R^2."""
        means = self.mean("record")
        at = int(np.argmax(means))
        return float(self.alphas[at]), float(means[at])


def _smooth_data(n: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return Gaussian inputs and labels ``tanh(x_1 + x_2 / 2)`` in (-1, 1)."""
    X = rng.standard_normal((n, 2))
    return X, np.tanh(X[:, 0] + 0.5 * X[:, 1])


def _r2(errors: Array, y: Array) -> Array:
    return np.asarray(1.0 - errors / np.var(y))


def _baselines(
    F: _Pair, few: _Pair, y: _Pair, b: float, budget: dict[str, Any], rng: np.random.Generator
) -> dict[str, float]:
    shared = {**budget, "neighboring": "replace_one", "rng": rng}
    statistics = sufficient_statistics(few[0], y[0], data_norm=1.0, label_bound=b, **shared)
    descent = noisy_gradient_descent(F[0], y[0], clip=b, steps=50, learning_rate=1.0, **shared)
    predictions = {
        "sufficient statistics": few[1] @ statistics.coef,
        "noisy gradient descent": F[1] @ descent.coef,
        "constant": np.zeros(len(y[1])),
    }
    return {k: float(_r2(np.mean((y[1] - p) ** 2), y[1])) for k, p in predictions.items()}


def _trial(
    trial: Trial, *, data: _Prepared | None, n_records: int, widths: tuple[int, int], gamma: float,
    alphas: Array, b: float, variances: Mapping[str, Array], budget: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    rng = trial.stream("data")
    if data is None:
        X, y = _smooth_data(2 * n_records, rng=rng)
        train, test = np.arange(n_records), np.arange(n_records, 2 * n_records)
    else:
        X, y = data.X, data.y - 0.5
        train, test = _split(len(y) - n_records, groups=np.zeros(len(y), dtype=int), rng=rng)
    public, noise = trial.stream("public"), trial.stream("noise")
    maps = []
    for width in widths:
        omega = random_frequencies(X.shape[1], width // 2, gamma=gamma, rng=public)
        maps.append((cos_sin_features(X[train], omega), cos_sin_features(X[test], omega)))
    F, few = maps
    values, vectors = np.linalg.eigh(F[0] @ F[0].T)
    coordinates = vectors.T @ y[train]
    duals = vectors @ (coordinates[:, None] / (np.clip(values, 0, None)[:, None] + alphas))
    predicted = (F[1] @ F[0].T) @ duals
    error = np.mean((y[test][:, None] - predicted) ** 2, axis=0)
    z = noise.standard_normal((widths[0], len(alphas)))
    private = predicted + np.sqrt(variances["record"]) * (F[1] @ z)
    return {
        "nonprivate": _r2(error, y[test]),
        "record": _r2(error + variances["record"], y[test]),
        "crude": _r2(error + variances["crude"], y[test]),
        "simulated": _r2(np.mean((y[test][:, None] - private) ** 2, axis=0), y[test]),
        **_baselines(F, few, (y[train], y[test]), b, budget, noise),
    }


def frontier(
    data: _Prepared | None = None, *, seed: int, epsilon: float = 1.0, delta: float = 1e-5,
    alphas: Sequence[float] = (20.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0),
    n_repeats: int = 5, n_jobs: int = 1, n_records: int = 1000, n_components: int = 2000,
    few_components: int = 40, gamma: float = 0.1,
) -> _Frontier:  # fmt: skip
    """Private R^2 against the ridge penalty, with the baselines at the same budget (replace one).

    Data with labels in [0, 1], split anew in every repetition (``n_records`` train), or fresh draws
    of ``_smooth_data``; ``few_components`` are for the sufficient statistics.
    """
    b = 1.0 if data is None else 0.5
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    if n_components % 2 or few_components % 2:
        sizes = f"{n_components} and {few_components}"
        raise ValueError(f"n_components and few_components must be even, got {sizes}")
    if data is not None and n_records >= len(data.y):
        raise ValueError(f"n_records must be below {len(data.y)}, got n_records={n_records}")
    penalties = [check_positive("alphas", a) for a in alphas]
    case = {**budget, "n_records": n_records, "label_bound": b}
    variances = {
        bound: np.array([noise_variance(alpha, bound=bound, **case) for alpha in penalties])
        for bound in ("record", "crude")
    }
    trials = _repeated(
        _trial, n_repeats, seed=seed, n_jobs=n_jobs, data=data, n_records=n_records,
        name="dprf-beyond-frontier" if data is None else "dprf-beyond-frontier-data",
        widths=(n_components, few_components), gamma=check_positive("gamma", gamma),
        alphas=np.array(penalties), b=b, variances=variances, budget=budget,
    )  # fmt: skip
    return _Frontier(_stacked(trials), np.array(penalties))
