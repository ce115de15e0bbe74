"""Losses of additive classifiers where one of two classes is rare: four measures of each."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn import datasets
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from benchmarks.maps.face_off import DELTA, free_models, measured_facts
from dplit._checks import Array
from dplit.notebook.datasets.papers import load_wine
from dplit.streams import stream
from dplit.tables.facts import Problem
from dplit.tables.mechanisms import mechanism
from dplit_studies.face_off.tasks import _WINE, _problem, load_task

BALANCES = (0.5, 0.2, 0.05, 0.01)

EPSILONS = (0.1, 1.0, 10.0)

#: Training records of made tables, and how many tables are made of each number.
SIZES = {300: 8, 3000: 4, 30_000: 1}

#: Held-out records of made tables.
_HELD = 20_000

#: Splits of bundled tables, and the fewest records of a rare class with which one is measured; half
#: as many to train on of made tables.
_SPLITS, _FEWEST = 6, 20

#: Settings of the additive classifier.
CANDIDATES: dict[str, dict[str, Any]] = {
    "hinge": {},
    "logistic": {"loss": "logistic"},
    "weighted logistic": {"loss": "logistic", "class_weight": "alike"},
}

#: Candidates whose differences are told.
COMPARED = (("logistic", "hinge"), ("weighted logistic", "logistic"))

#: What is measured of each table.
NAMES = ("constant", "linear", "boosting", *CANDIDATES)

MEASURES = ("accuracy", "balanced accuracy", "AUC", "log loss")


class Part(NamedTuple):
    """A table with its places of training and of held-out records."""

    problem: Problem
    train: np.ndarray
    test: np.ndarray


def _made(name: str, n: int, balance: float, rng: np.random.Generator) -> tuple[Array, np.ndarray]:
    """Return records and classes, of which the second has about a share of ``balance``."""
    state = int(rng.integers(2**31))
    if name == "sphere":  # two classes as frequent: of the second only some are kept
        X, y = datasets.make_hastie_10_2(2 * n, random_state=state)
        common, rare = (np.flatnonzero(y == side) for side in (-1.0, 1.0))
        n_rare = int(balance * n)
        kept = rng.permutation(np.concatenate([common[: n - n_rare], rare[:n_rare]]))
        return X[kept], (y[kept] > 0).astype(int)
    X, y = datasets.make_classification(
        n,
        15,
        n_informative=5,
        class_sep=1.5,
        flip_y=0.0,
        weights=[1.0 - balance],
        random_state=state,
    )
    return X, y


def _bundled() -> dict[str, Problem]:
    """Tables of two classes that scikit-learn ships, and white wine of quality 7 or more."""
    found = {"breast cancer": load_task("breast cancer", "bundled")}
    wine = load_wine("paper")
    good = (wine.target >= 7).astype(int)
    two = {"classes": (0, 1)}
    found["wine"] = _problem("wine", "classification", wine.numeric, good, two, _WINE)
    X, y = datasets.load_digits(return_X_y=True)
    found["a digit"] = _problem(
        "a digit", "classification", X, (y == 9).astype(int), two, (0.0, 16.0)
    )
    return found


def parts(seed: int = 0) -> Iterator[tuple[str, float, list[Part]]]:
    """Yield tables by name and share of the rare class, with their splits."""
    for name in ("clusters", "sphere"):
        for n, repeats in SIZES.items():
            for balance in BALANCES:
                if balance * n < _FEWEST / 2:
                    continue
                found = []
                for k in range(repeats):
                    rng = stream(seed, f"balance-{name}-{n}-{balance}", "data", k)
                    X, y = _made(name, n + _HELD, balance, rng)
                    ends = (-3.0, 3.0) if name == "sphere" else (-5.0, 5.0)
                    problem = _problem(name, "classification", X, y, {"classes": (0, 1)}, ends)
                    found.append(Part(problem, np.arange(n), np.arange(n, n + _HELD)))
                yield f"{name}, {n}", balance, found
    for name, problem in _bundled().items():
        second = problem.y == problem.public["classes"][1]
        rare = second if second.mean() <= 0.5 else ~second
        for balance in BALANCES:
            size = min((~rare).sum() / (1.0 - balance), rare.sum() / balance)
            if int(balance * size) < _FEWEST:
                continue
            found = []
            for k in range(_SPLITS):
                rng = stream(seed, f"balance-{name}-{balance}", "public", k)
                few = rng.permutation(np.flatnonzero(rare))[: int(balance * size)]
                many = rng.permutation(np.flatnonzero(~rare))[: int((1.0 - balance) * size)]
                places = [np.split(one, [int(0.7 * len(one))]) for one in (few, many)]
                found.append(Part(problem, *map(np.concatenate, zip(*places, strict=True))))
            yield name, balance, found


def measured(model: Any, part: Part) -> list[float]:
    """Return the ``MEASURES`` of a classifier; its score counts as the log of the odds."""
    X, y = part.problem.X[part.test], part.problem.y[part.test]
    score = model.decision_function(X) if hasattr(model, "decision_function") else None
    if score is None:
        told = model.predict_proba(X)[:, 1]
        score = np.log(told) - np.log1p(-told)
    second = (y == model.classes_[1]).astype(int)
    predicted = (score > 0).astype(int)
    return [
        float(np.mean(predicted == second)),
        float(balanced_accuracy_score(second, predicted)),
        float(roc_auc_score(second, score)),
        float(log_loss(second, expit(score), labels=[0, 1])),
    ]


def measured_table(
    title: str, balance: float, held: Sequence[Part], name: str, seed: int = 0
) -> list[dict[str, float]]:
    """Return means over the splits: of a candidate one for each budget, of a model without privacy
    one, of the constant one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise, and of steps without privacy
        if name == "constant":
            return [_constant(held)]
        if name not in CANDIDATES:
            return [_mean([_free(name, part) for part in held])]
        found = []
        for place, epsilon in enumerate(EPSILONS):
            told = []
            for k, part in enumerate(held):  # all candidates share their noise
                at = len(held) * place + k
                rng = stream(seed, f"balance-{title}-{balance}", "noise", at)
                settings = _weighted(CANDIDATES[name], part, balance)
                told.append(_private(settings, part, epsilon, rng))
            found.append(_mean(told))
    return found


def rows_of_table(
    title: str, balance: float, held: Sequence[Part], told: Mapping[str, Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return a row for each budget, of what was measured by name."""
    facts = measured_facts(held[0].problem) | {"n": len(held[0].train)}
    return [
        {
            "table": title,
            "n": facts["n"],
            "columns": facts["n_columns"],
            "balance": balance,
            "epsilon": epsilon,
            **{name: found[place if name in CANDIDATES else 0] for name, found in told.items()},
        }
        for place, epsilon in enumerate(EPSILONS)
    ]


def _constant(held: Sequence[Part]) -> dict[str, float]:
    """Measures of the more frequent class, and of its share as a probability."""
    shares = [part.problem.y[part.test] == part.problem.public["classes"][1] for part in held]
    rare = float(np.mean([min(share.mean(), 1.0 - share.mean()) for share in shares]))
    entropy = -rare * math.log(rare) - (1.0 - rare) * math.log1p(-rare)
    return dict(zip(MEASURES, (round(1.0 - rare, 4), 0.5, 0.5, round(entropy, 4)), strict=True))


def _mean(told: Sequence[Sequence[float]]) -> dict[str, float]:
    return dict(zip(MEASURES, np.mean(told, axis=0).round(4).tolist(), strict=True))


def _free(name: str, part: Part) -> list[float]:
    """Measures of a model without privacy."""
    model = free_models("classification")[name]
    model.fit(part.problem.X[part.train], part.problem.y[part.train])
    return measured(model, part)


def _weighted(settings: Mapping[str, Any], part: Part, balance: float) -> dict[str, Any]:
    """Return settings with the weights by which classes of stated shares count alike."""
    if "class_weight" not in settings:
        return dict(settings)
    second = np.mean(part.problem.y[part.train] == part.problem.public["classes"][1])
    weights = [balance / (1.0 - balance), 1.0]
    return {**settings, "class_weight": weights if second <= 0.5 else weights[::-1]}


def _private(
    settings: Mapping[str, Any], part: Part, epsilon: float, rng: np.random.Generator
) -> list[float]:
    """Measures of an additive classifier."""
    model, _ = mechanism("additive", "classification").fit(
        part.problem,
        rows=part.train,
        epsilon=epsilon,
        delta=DELTA,
        random_state=rng,
        settings=settings,
    )
    return measured(model, part)


def differences(rows: Sequence[Mapping[str, Any]], one: str, other: str) -> list[dict[str, Any]]:
    """Mean of one candidate's measures less another's, by balance and epsilon, over the tables.

    ``larger`` and ``smaller`` count tables on which they differ by more than 0.005 so.
    """
    found = []
    for balance in BALANCES:
        for epsilon in EPSILONS:
            held = [r for r in rows if (r["balance"], r["epsilon"]) == (balance, epsilon)]
            told: dict[str, Any] = {}
            for measure in MEASURES:
                gaps = np.array([r[one][measure] - r[other][measure] for r in held])
                told[measure] = {
                    "mean": round(float(gaps.mean()), 3),
                    "larger": int(np.sum(gaps > 0.005)),
                    "smaller": int(np.sum(gaps < -0.005)),
                }
            found.append({"balance": balance, "epsilon": epsilon, "tables": len(held), **told})
    return found


def archive(rows: Sequence[Mapping[str, Any]], *, seed: int) -> str:
    """Return the text of the archive, one row a line."""
    head = {
        "about": "Additive classifiers of two classes by the share of the rare one: means of "
        "measures on held-out records; n counts training records. The score counts as the log of "
        "the odds in the log loss, for the hinge too, whose score is none.",
        "command": "python -m benchmarks.archive_balance",
        "seed": seed,
        "delta": DELTA,
    }
    parts_ = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    compared = {f"{one} less {other}": differences(rows, one, other) for one, other in COMPARED}
    for key, lines in (compared | {"rows": list(rows)}).items():
        text = ",\n".join(map(json.dumps, lines))
        parts_.append(f"{json.dumps(key)}: [\n{text}\n]")
    return "{\n" + ",\n".join(parts_) + "\n}\n"
