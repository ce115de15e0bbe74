"""Which private regression on random features, at which budget and size: R^2 on tests.

Ridge is exact over the noise; rivals are drawn once, on features of the same kernel, on the same
records and bounds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplit._checks import Array, check_choice, check_integer, check_positive, check_probability
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._certified_ridge import balanced_penalty
from dplit.kernels.ridge_sensitivity import crude_sensitivity, record_sensitivity
from dplit.linear._descent import noisy_gradient_descent
from dplit.linear._moments import sufficient_statistics
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_sigma
from dplit_studies.random_features.comparison import _repeated, _stacked
from dplit_studies.random_features.preparation import _Prepared, _split
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial

#: Columns of the rivals' results; the first of each is fixed, the others are tried as well.
_WIDTHS = (40, 20, 80)
_STEPS = (50, 1, 10, 100)

_ALPHAS = tuple(10.0 ** (k / 4) for k in range(-12, 13))


def prediction_noise(
    alpha: float,
    *,
    n_records: int,
    label_bound: float,
    epsilon: float,
    delta: float,
    bound: str = "record",
) -> float:
    """Variance of a private ridge prediction's noise where rows have norm at most one.

    The sensitivity is one record's influence ("record"), or from the norm of all labels ("crude").
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
    """R^2 on tests, (repetition, setting, option), labels in [-1, 1]. Options are penalties
    ("record", "crude" exact over the noise, "simulated" with one draw), widths for "sufficient
    statistics", steps for "noisy gradient descent"; "default" is ridge at its own penalty, and
    the rivals' names with ", default" are their classes as they come.
    """

    settings: tuple[tuple[int, float], ...]  # (records, epsilon)
    alphas: Array

    def best(self, method: str) -> Array:
        """Best mean R^2 over the options, in hindsight, for every setting."""
        return np.asarray(self.mean(method).max(axis=1))


def _task_data(
    task: str | _Prepared, n_records: int, *, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return training and test inputs and labels, labels in [-1, 1]."""
    if isinstance(task, _Prepared):
        groups = np.zeros(len(task.y), dtype=int)
        train, test = _split(len(groups) - n_records, groups=groups, rng=rng)
        y = 2.0 * task.y - 1.0
        return task.X[train], y[train], task.X[test], y[test]
    X = rng.standard_normal((n_records + 1000, 2))
    score = X[:, 0] + 0.5 * X[:, 1]
    y = np.tanh(score) if task == "tanh" else np.sin(2.0 * score)
    return X[:n_records], y[:n_records], X[n_records:], y[n_records:]


def _ridge(
    maps: tuple[Array, Array],
    y: tuple[Array, Array],
    alphas: Array,
    noise: Mapping[str, Array],
    rng: np.random.Generator,
) -> dict[str, Array]:
    """R^2 of ridge without noise, with its expectation and with one draw, penalty by penalty."""
    F, T = maps
    values, vectors = np.linalg.eigh(F.T @ F)
    moment = vectors.T @ (F.T @ y[0])
    coef = vectors @ (moment[:, None] / (np.clip(values, 0, None)[:, None] + alphas))
    z = rng.standard_normal(coef.shape) * np.sqrt(noise["record"])
    error = np.mean((y[1][:, None] - T @ coef) ** 2, axis=0)
    drawn = np.mean((y[1][:, None] - T @ (coef + z)) ** 2, axis=0)
    found = {"nonprivate": error, "simulated": drawn}
    return found | {bound: error + variance for bound, variance in noise.items()}


def _class_defaults(
    full: tuple[Array, Array],
    few: tuple[Array, Array],
    y: tuple[Array, Array],
    *,
    rng: np.random.Generator,
    **budget: Any,
) -> dict[str, Array]:
    """Mean squared errors of the rivals' classes with nothing set but bounds and neighbours."""
    options: dict[str, Any] = {"data_norm": 1.0, "bounds": (-1.0, 1.0), "random_state": rng}
    errors = {}
    for name, model, (F, T) in (
        ("sufficient statistics", SufficientStatisticsRegressor(**budget, **options), few),
        ("noisy gradient descent", NoisyGradientRegressor(**budget, **options), full),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the budget is small
            found = model.fit(F, y[0]).predict(T)
        errors[f"{name}, default"] = np.array([np.mean((y[1] - found) ** 2)])
    return errors


def _trial(
    trial: Trial,
    *,
    task: str | _Prepared,
    settings: tuple[tuple[int, float], ...],
    gamma: float | None,
    n_components: int,
    penalties: Sequence[Array],
    noise: Sequence[Mapping[str, Array]],
    delta: float,
) -> dict[str, list[Any]]:
    X, y, X_test, y_test = _task_data(task, max(m for m, _ in settings), rng=trial.stream("data"))
    public, rng = trial.stream("public"), trial.stream("noise")
    gamma = 1.0 / X.shape[1] if gamma is None else gamma
    omega = random_frequencies(X.shape[1], n_components // 2, gamma=gamma, rng=public)

    def maps(width: int) -> tuple[Array, Array]:
        return cos_sin_features(X, omega[:, : width // 2]), cos_sin_features(
            X_test, omega[:, : width // 2]
        )

    (F, T), few = maps(n_components), [maps(width) for width in _WIDTHS]
    results = []
    for (m, epsilon), alphas, variances in zip(settings, penalties, noise, strict=True):
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rng": rng}
        budget["neighboring"] = "replace_one"
        errors = _ridge((F[:m], T), (y[:m], y_test), alphas, variances, rng)
        default = errors["record"][-1:]
        errors = {key: value[:-1] for key, value in errors.items()} | {"default": default}
        statistics = [
            P @ sufficient_statistics(S[:m], y[:m], data_norm=1.0, label_bound=1.0, **budget).coef
            for S, P in few
        ]
        descents = [
            T
            @ noisy_gradient_descent(
                F[:m], y[:m], clip=1.0, steps=steps, learning_rate=1.0, **budget
            ).coef
            for steps in _STEPS
        ]
        rivals = {"sufficient statistics": statistics, "noisy gradient descent": descents}
        for method, predictions in rivals.items():
            errors[method] = np.mean((y_test - np.array(predictions)) ** 2, axis=1)
        first, second = few[0]
        errors |= _class_defaults((F[:m], T), (first[:m], second), (y[:m], y_test), **budget)
        errors["constant"] = np.array([np.mean(y_test**2)])
        results.append({key: 1.0 - value / np.var(y_test) for key, value in errors.items()})
    return {key: [r[key] for r in results] for key in results[0]}


def frontier(
    task: str | _Prepared = "tanh",
    *,
    settings: Sequence[tuple[int, float]],
    seed: int,
    delta: float = 1e-5,
    alphas: Sequence[float] = _ALPHAS,
    n_repeats: int = 5,
    n_jobs: int = 1,
    n_components: int = 200,
    gamma: float | None = None,
) -> _Frontier:
    """R^2 of private ridge and its rivals at (records, epsilon), replacement of one record.
    ``task`` is "tanh" or "sine" (Gaussian inputs in the plane, 1,000 test records) or data with
    labels in [0, 1], split anew in every repetition. Scaling must be by public bounds. The kernel
    is ``exp(-gamma ||x - x'||^2)``; None is one over the number of columns.
    """
    cases = tuple((check_integer("records", m), check_positive("epsilon", e)) for m, e in settings)
    if check_integer("n_components", n_components) % 2 or n_components < max(_WIDTHS):
        raise ValueError(f"n_components must be even and at least {max(_WIDTHS)}")
    grid = [check_positive("alphas", a) for a in alphas]
    penalties, noise = [], []
    for m, epsilon in cases:
        unit = float(gaussian_sigma(epsilon=epsilon, delta=delta))
        penalties.append(np.array([*grid, balanced_penalty(m, n_components, unit, "record")]))
        case: dict[str, Any] = {"n_records": m, "epsilon": epsilon, "delta": delta}
        case["label_bound"] = 1.0
        noise.append(
            {
                bound: np.array([prediction_noise(a, bound=bound, **case) for a in penalties[-1]])
                for bound in ("record", "crude")
            }
        )
    if isinstance(task, _Prepared):
        kind = "data"
        if max(m for m, _ in cases) >= len(task.y):
            raise ValueError(f"settings must have fewer than {len(task.y)} records")
    else:
        kind = check_choice("task", task, ("tanh", "sine"))
    trials = _repeated(
        _trial,
        n_repeats,
        seed=seed,
        n_jobs=n_jobs,
        name=f"dprf-beyond-frontier-{kind}",
        task=task,
        settings=cases,
        penalties=penalties,
        n_components=n_components,
        gamma=None if gamma is None else check_positive("gamma", gamma),
        noise=noise,
        delta=delta,
    )
    return _Frontier(_stacked(trials), cases, np.array(grid))
