"""Records to which nothing is fitted: chosen by public chance, and what a model errs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit.accounting import group_budget
from dplit.mechanisms import laplace_scale
from dplit.mechanisms._means import Bounded, laplace_bound, laplace_mean, of_new_records, share_of
from dplit.mechanisms.values import Laplace
from dplit.tables.facts import Problem, TableFacts

#: Chance with which an interval misses: half of it for noise, half for which records there are.
_CHANCE = 0.05

#: What the card calls it.
HELD_OUT = "score on records that were held out"


def parted(
    n: int, each: int, held: float, chance: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of records to fit to and of those held out, at least one of each.

    The ``each`` records of a person, which are neighbours in the table, stay together.
    """
    order = chance.permutation(n // each)
    cut = max(len(order) - max(1, round(held * len(order))), 1)
    fit_to, rest = (
        (people[:, None] * each + np.arange(each)).ravel() for people in (order[:cut], order[cut:])
    )
    return fit_to, rest


def scored(
    problem: Problem,
    model: Any,
    rows: NDArray[np.intp],
    *,
    epsilon: float,
    each: int,
    rng: np.random.Generator | None,
) -> dict[str, list[float]]:
    """Return what a model errs on records that it was not fitted to, epsilon-privately.

    Of classes the numbers of right and of wrong predictions are released for each, of numbers the
    mean distance between prediction and label, which lies between 0 and the width of the bounds.
    Every interval covers with 95 % chance what the model errs on *new* records of the same law, if
    records are independent; of persons with several records, on *these* records.

    Returns
    -------
    dict
        By measure the value, and the lowest and the highest that it may be.
    """
    X, known = problem.X[rows], np.ones(len(rows), bool)
    if problem.known is not None:
        known = problem.known[rows]
    predicted, truth = model.predict(X), problem.y[rows]
    each_epsilon, _ = group_budget(epsilon=epsilon, delta=0.0, size=each, gaussian=False)
    if problem.task == "classification":
        return _of_classes(model, predicted, truth, known, each_epsilon, each > 1, rng)
    low, high = problem.public["bounds"]
    width = high - low
    gap = np.nan_to_num(np.abs(np.clip(truth, low, high) - predicted) / width, nan=1.0)
    found, number = laplace_mean(
        np.where(known, np.clip(2.0 * gap - 1.0, -1.0, 1.0), np.nan),
        epsilon=each_epsilon,
        hides="errors on records held out, and their number",
        chance=_CHANCE if each > 1 else _CHANCE / 2,
        most=len(rows),
        rng=rng,
    )
    share = Bounded(*((end + 1.0) / 2.0 for end in found))
    if each == 1:
        share = of_new_records(share, number.low, chance=_CHANCE / 2)
    return {"mean absolute error": [end * width for end in share]}


def _of_classes(
    model: Any,
    predicted: NDArray[Any],
    truth: NDArray[Any],
    known: NDArray[np.bool_],
    epsilon: float,
    together: bool,
    rng: np.random.Generator | None,
) -> dict[str, list[float]]:
    """Return the share of wrong classes, and of each class the share that is found."""
    classes = list(model.classes_)
    right = predicted == truth
    counts = [
        float(np.sum(known & (truth == one) & (right == good)))
        for one in classes
        for good in (True, False)
    ]
    scale = laplace_scale(epsilon=epsilon, sensitivity=2.0)
    noisy = Laplace(scale).add(
        counts, hides="right and wrong predictions, by class", sensitivity=2.0, rng=rng
    )
    good, bad = noisy[::2], noisy[1::2]
    chance = _CHANCE if together else _CHANCE / 2
    told = {"share of wrong classes": _share(bad, good, scale, chance, together)}
    for k, one in enumerate(classes):
        found = _share(good[k : k + 1], bad[k : k + 1], scale, chance, together)
        told[f"share of {one} that is found"] = found
    return told


def _share(
    some: NDArray[Any], others: NDArray[Any], scale: float, chance: float, together: bool
) -> list[float]:
    """Return the share of some counts, with Laplace noise, among all."""
    off = laplace_bound(scale, chance=chance / 2, count=len(some))
    found = share_of(float(some.sum()), float(others.sum()), off, off)
    if not together:
        number = max(float(some.sum() + others.sum()) - 2.0 * off, 1.0)
        found = of_new_records(found, number, chance=chance)
    return list(found)


def score_on_card(
    score: Mapping[str, Sequence[float]],
    parts: tuple[NDArray[np.intp], NDArray[np.intp]],
    facts: TableFacts,
) -> dict[str, Any]:
    """Return a score as the card has it."""
    sizes = [len(part) // facts.rows_each for part in parts]
    law = "these records" if facts.rows_each > 1 else "new records of the same law, if independent"
    return {
        "paid for by": f"{sizes[1]:,} of {sum(sizes):,} {'persons' if facts.group else 'records'}, "
        "which public chance chose and nothing was fitted to",
        f"value, and 95 % interval for {law}": {
            name: [float(f"{end:.4g}") for end in found] for name, found in score.items()
        },
    }
