"""The learners of Try it: test errors around one budget, and what the fits warned of."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplit._checks import Array, check_integer
from dplit.linear.objective import objective_perturbation
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream

#: Share of flipped labels, regularisation of the rival.
_FLIPS, _PENALTY = 0.05, 0.1

RIVAL = "objective perturbation"


@dataclass(frozen=True)
class _Tried:
    """Test errors (sets, budgets) by learner, their warnings by learner, the statements of the
    first learner by budget.
    """

    scores: dict[str, Array]
    warned: dict[str, str]
    statements: tuple[str, ...]

    @property
    def told(self) -> list[str]:
        """Warnings, each with the learners that gave it."""
        groups: dict[str, list[str]] = {}
        for name, message in self.warned.items():
            groups.setdefault(message, []).append(name)
        return [f"{', '.join(names)}, {message}" for message, names in groups.items()]

    @property
    def lines(self) -> dict[str, Array]:
        """Scores without repetition: learners that err alike on every set share one line."""
        groups: dict[bytes, list[str]] = {}
        for name, values in self.scores.items():
            groups.setdefault(values.tobytes(), []).append(name)
        return {
            f"all {len(names)} learners"
            if len(names) == len(self.scores)
            else " = ".join(names): self.scores[names[0]]
            for names in groups.values()
        }


def _learners(n_components: int) -> dict[str, dict[str, Any]]:
    return {
        "full batch, margin given": {},
        "margin chosen": {"margin": "private"},
        "projected": {"projection": "fast", "n_components": n_components},
        "phased": {"solver": "phased"},
    }


def tried_errors(
    epsilons: tuple[float, ...],
    *,
    delta: float,
    n_samples: int,
    n_features: int,
    margin: float,
    n_components: int,
    seed: int,
    sets: int = 3,
) -> _Tried:
    """Errors of five learners on as many new records, a twentieth of all labels flipped."""
    kinds = _learners(min(n_components, n_features))
    shape = sets, len(epsilons)
    scores = {name: np.zeros(shape) for name in (*kinds, RIVAL)}
    warned, statements = dict[str, str](), dict[float, str]()
    for trial in range(check_integer("sets", sets)):
        X, y = margin_data(
            2 * n_samples,
            n_features,
            margin=margin,
            flips=_FLIPS,
            rng=stream(seed, "margin-explore", "data", trial),
        )
        X, T, y, labels = *np.split(X, 2), *np.split(y, 2)
        for j, epsilon in enumerate(epsilons):
            at: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "data_norm": 1.0}
            for name in scores:
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    if name == RIVAL:
                        rng = stream(seed, "margin-explore", "noise", 10 * trial + j)
                        coef = objective_perturbation(
                            X, y, **at, regularization=_PENALTY, loss="huberised_hinge", rng=rng
                        ).coef
                        scores[name][trial, j] = np.mean(labels * (T @ coef) <= 0)
                    else:
                        model = PrivateMarginClassifier(**at, **kinds[name], random_state=trial)
                        scores[name][trial, j] = np.mean(model.fit(X, y).predict(T) != labels)
                        statements.setdefault(epsilon, model.privacy_statement_)
                for found in told:
                    warned.setdefault(name, f"at ε = {epsilon:g}: {found.message}")
    return _Tried(scores, warned, tuple(statements.values()))
