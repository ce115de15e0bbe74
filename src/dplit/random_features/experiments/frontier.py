"""Privacy against utility for the repaired model, against baselines, on the vertical axis R^2.

Ridge regression on cos/sin features (rows of norm one) with Gaussian output noise: the expected
squared error of the private model is that of the non-private one plus the noise variance, so the
frontier over the penalty needs no simulation. Penalties are not chosen on the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dplit._checks import Array, check_choice, check_integer, check_positive, check_probability
from dplit.baselines import noisy_gradient_descent, sufficient_statistics
from dplit.features import cos_sin_features, random_frequencies
from dplit.mechanisms import gaussian_sigma
from dplit.random_features.data import Prepared, split
from dplit.random_features.sensitivity import crude_sensitivity, record_sensitivity
from dplit.streams import stream
from dplit.trials import run_trials

__all__ = [
    "Frontier",
    "frontier",
    "noise_variance",
    "smooth_data",
]


def noise_variance(
    alpha: float, *, n_records: int, label_bound: float, epsilon: float, delta: float,
    bound: str = "record",
) -> float:  # fmt: skip
    """Variance of a private ridge prediction's noise where rows have norm at most one."""
    alpha, b = check_positive("alpha", alpha), check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records)
    if check_choice("bound", bound, ("record", "crude")) == "record":
        sensitivity = record_sensitivity(
            alpha=alpha, label_bound=b, n_records=m, neighboring="replace_one"
        )
    else:
        sensitivity = crude_sensitivity(alpha=alpha, label_norm=b * np.sqrt(m))
    sigma = gaussian_sigma(
        epsilon=check_positive("epsilon", epsilon),
        delta=check_probability("delta", delta),
        sensitivity=float(sensitivity),
    )
    return float(sigma) ** 2


@dataclass(frozen=True)
class Frontier:
    """R^2 on test records against the penalty, and of the baselines."""

    alphas: Array
    nonprivate: Array
    record: Array
    crude: Array
    simulated: Array
    noise_record: Array
    noise_crude: Array
    baselines: Mapping[str, Array]
    epsilon: float
    delta: float

    @property
    def best(self) -> tuple[float, float]:
        """Penalty with the largest mean private R^2, and that R^2."""
        means = self.record.mean(axis=0)
        at = int(np.argmax(means))
        return float(self.alphas[at]), float(means[at])


def smooth_data(n: int, dimension: int = 2, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return Gaussian inputs and labels ``tanh(x_1 + x_2 / 2)`` in (-1, 1)."""
    shape = (check_integer("n", n), check_integer("dimension", dimension, minimum=2))
    X = rng.standard_normal(shape)
    return X, np.tanh(X[:, 0] + 0.5 * X[:, 1])


def _r2(errors: Array, y: Array) -> Array:
    return np.asarray(1.0 - errors / np.var(y))


def _baselines(
    F: tuple[Array, Array], few: tuple[Array, Array], y: tuple[Array, Array],
    b: float, epsilon: float, delta: float, rng: np.random.Generator,
) -> dict[str, float]:  # fmt: skip
    statistics = sufficient_statistics(
        few[0], y[0], epsilon=epsilon, delta=delta, data_norm=1.0, label_bound=b,
        neighboring="replace_one", rng=rng,
    )  # fmt: skip
    descent = noisy_gradient_descent(
        F[0], y[0], epsilon=epsilon, delta=delta, clip=b, steps=50, learning_rate=1.0,
        neighboring="replace_one", rng=rng,
    )  # fmt: skip
    predictions = {
        "sufficient statistics": few[1] @ statistics.coef,
        "noisy gradient descent": F[1] @ descent.coef,
        "constant": np.zeros(len(y[1])),
    }
    return {k: float(_r2(np.mean((y[1] - p) ** 2), y[1])) for k, p in predictions.items()}


def _trial(
    trial: int, *, seed: int, name: str, data: Prepared | None, n_records: int, n_components: int,
    few_components: int, gamma: float, alphas: Array, b: float, variances: Mapping[str, Array],
    epsilon: float, delta: float,
) -> tuple[dict[str, Array], dict[str, float]]:  # fmt: skip
    rng = stream(seed, name, "data", trial)
    if data is None:
        X, y = smooth_data(2 * n_records, rng=rng)
        train, test = np.arange(n_records), np.arange(n_records, 2 * n_records)
    else:
        X, y = data.X, data.y - 0.5
        train, test = split(len(y) - n_records, groups=np.zeros(len(y), dtype=int), rng=rng)
    public = stream(seed, name, "public", trial)
    noise = stream(seed, name, "noise", trial)
    maps = []
    for width in (n_components, few_components):
        omega = random_frequencies(X.shape[1], width // 2, gamma=gamma, rng=public)
        maps.append((cos_sin_features(X[train], omega), cos_sin_features(X[test], omega)))
    F, few = maps
    values, vectors = np.linalg.eigh(F[0] @ F[0].T)
    coordinates = vectors.T @ y[train]
    duals = vectors @ (coordinates[:, None] / (np.clip(values, 0, None)[:, None] + alphas))
    predicted = (F[1] @ F[0].T) @ duals
    error = np.mean((y[test][:, None] - predicted) ** 2, axis=0)
    z = noise.standard_normal((n_components, len(alphas)))
    private = predicted + np.sqrt(variances["record"]) * (F[1] @ z)
    curves = {
        "nonprivate": _r2(error, y[test]),
        "record": _r2(error + variances["record"], y[test]),
        "crude": _r2(error + variances["crude"], y[test]),
        "simulated": _r2(np.mean((y[test][:, None] - private) ** 2, axis=0), y[test]),
    }
    return curves, _baselines(F, few, (y[train], y[test]), b, epsilon, delta, noise)


def frontier(
    data: Prepared | None = None, *, seed: int, epsilon: float = 1.0, delta: float = 1e-5,
    alphas: Sequence[float] = (20.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0),
    n_repeats: int = 5,
    n_jobs: int = 1, n_records: int = 1000, n_components: int = 2000, few_components: int = 40,
    gamma: float = 0.1,
) -> Frontier:  # fmt: skip
    """Private R^2 against the ridge penalty, with the baselines under the same guarantee."""
    b = 1.0 if data is None else 0.5
    m, n = check_integer("n_records", n_records), check_integer("n_components", n_components)
    few = check_integer("few_components", few_components)
    if n % 2 or few % 2:
        raise ValueError(f"n_components and few_components must be even, got {n} and {few}")
    if data is not None and m >= len(data.y):
        raise ValueError(f"n_records must be below {len(data.y)}, got n_records={m}")
    penalties = np.array([check_positive("alphas", a) for a in alphas])
    variances = {
        bound: np.array([
            noise_variance(
                alpha, n_records=m, label_bound=b, epsilon=epsilon, delta=delta, bound=bound
            )
            for alpha in penalties.tolist()
        ])
        for bound in ("record", "crude")
    }  # fmt: skip
    name = "dprf-beyond-frontier" if data is None else "dprf-beyond-frontier-data"
    trials = run_trials(
        partial(
            _trial, seed=seed, name=name, data=data, n_records=m, n_components=n,
            few_components=few, gamma=check_positive("gamma", gamma), alphas=penalties, b=b,
            variances=variances, epsilon=epsilon, delta=delta,
        ),
        check_integer("n_repeats", n_repeats, minimum=2), seed=seed, name=name, n_jobs=n_jobs,
    )  # fmt: skip
    stacked = {key: np.array([curves[key] for curves, _ in trials]) for key in trials[0][0]}
    rivals = {key: np.array([scores[key] for _, scores in trials]) for key in trials[0][1]}
    return Frontier(
        alphas=penalties, noise_record=variances["record"] / b**2,
        noise_crude=variances["crude"] / b**2, epsilon=epsilon, delta=delta, baselines=rivals,
        **stacked,
    )  # fmt: skip
