"""A mechanism chosen by the records themselves, privately: the safe sibling of exploring."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dplit._base import RandomState, noise_source, spawn_generators
from dplit._checks import check_between, check_interval, check_probability
from dplit._statements import state_guarantee, whose_records
from dplit.accounting import group_budget
from dplit.accounting.budget import Budget
from dplit.advice.tables import ranked
from dplit.audit import ledger
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma, report_noisy_min
from dplit.mechanisms._draws import Price, charged, part_of_records
from dplit.tables._cards import UNSAID, doubts, said_of, stated_about
from dplit.tables._chunks import TableError
from dplit.tables._folders import _check_new, writing
from dplit.tables._held_out import parted
from dplit.tables.facts import Problem, header_of, load_problem, state_facts
from dplit.tables.mechanisms import TableMechanism, is_gaussian, mechanism
from dplit.tables.released import ReleasedModel
from dplit.tables.releasing import _account, _check_memory

#: Steps of a record's loss, which lies between 0 and 1: whole numbers add exactly.
_UNIT = 1 << 20

#: Error of a regression, over the width of the bounds, from which a record's loss is 1.
_FAR = 0.25


def _shares(gaussian: Sequence[bool], epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Budgets of fits to the same records that come to (epsilon, delta) together.

    Gaussian ones divide their share as ``mu / sqrt(g)``, all others by adding.
    """
    k, g = len(gaussian), sum(gaussian)
    each = epsilon / k, delta / k
    if g < 2:
        return [each] * k
    whole = epsilon * g / k, delta * g / k
    sigma = gaussian_sigma(epsilon=whole[0], delta=whole[1]) * math.sqrt(g)
    joint = float(gaussian_epsilon(delta=whole[1], sigma=sigma)) * (1.0 - 1e-9)
    return [(joint, whole[1]) if one and joint > 0.0 else each for one in gaussian]


def _losses(problem: Problem, model: Any, rows: np.ndarray) -> int:
    """Return the sum of the losses of some records, each from 0 to ``_UNIT``, as a whole number.

    A record without a label loses nothing.
    """
    if problem.known is not None:
        rows = rows[problem.known[rows]]
    if not len(rows):
        return 0
    predicted, truth = model.predict(problem.X[rows]), problem.y[rows]
    if problem.task == "classification":
        return int(np.sum(predicted != truth)) * _UNIT
    low, high = problem.public["bounds"]
    far = (np.clip(truth, low, high) - predicted) / (_FAR * (high - low))
    return int(np.floor(np.minimum(np.nan_to_num(far, nan=1.0) ** 2, 1.0) * _UNIT).sum())


def _candidates(kind: str, names: Sequence[str], problem: Problem) -> list[TableMechanism]:
    """Return different mechanisms of a task, at least two."""
    if isinstance(names, str) or len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"candidates must be two different names or more, got {names!r}")
    found = [mechanism(name, kind) for name in names]
    for one in found:
        _check_memory(one, len(problem.X), "replace_one")
    return found


def choose(
    file: Any,
    *,
    target: str,
    bounds: Mapping[str, Sequence[float]],
    categories: Mapping[str, Sequence[Any]] | None = None,
    classes: Sequence[Any] | None = None,
    fill: Mapping[str, float] | None = None,
    ignore: Sequence[str] | None = None,
    task: str | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    candidates: Sequence[str] | None = None,
    held: float = 0.2,
    folder: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | Budget | None = None,
    table: str | None = None,
    stated_by: str | None = None,
    intended_use: str | None = None,
    random_state: RandomState = None,
    skewed: Sequence[str] | None = None,
    interactions: Sequence[tuple[str, str]] | None = None,
    expected: Literal["little", "some", "much"] | None = None,
    group: str | None = None,
    rows_each: int = 1,
    separator: str | None = None,
    decimal: str = ".",
    thousands: str = "",
) -> ReleasedModel:
    r"""Fit several mechanisms and release the one that did best on records held out, privately.

    The whole is (epsilon, delta)-private for replacing one record.
    :func:`~dplit.advice.tables.recommend` reads none and costs nothing: on 24 tables of 3,500
    training records a private choice between its two mechanisms was 0.04 below it at epsilon 0.3,
    0.05 at 1, 0.03 at 3 and 0.01 at 10 (R2 or accuracy, means). Choose
    privately where the table is unlike those that the rule was learnt on, or between mechanisms
    that it does not know.

    Parameters
    ----------
    file, target, bounds, categories, classes, fill, ignore, task
        The table and what is public about it, as in :func:`~dplit.tables.exploring.explore`.
    epsilon, delta : float, default=1.0 and 1e-6
        Budget of everything, from 1e-48 to 1e20 and in (0, 1/2).
    candidates : sequence of str, optional
        Two or more names of mechanisms; by default the two of the rule.
    held : float, default=0.2
        Share of the records, in (0, 1), that no candidate is fitted to.
    folder : str or path, optional
        Receives the model and its card, as :func:`~dplit.tables.releasing.release` writes them.
    random_state : int, Generator, RandomState or None, default=None
        None for releases; anything else is for tests and voids the guarantee.
    budget, table, stated_by, intended_use, group, rows_each
        What pays, what the card says, and persons, as in :func:`~dplit.tables.releasing.release`.
    skewed, interactions, expected, separator, decimal, thousands
        As in :func:`~dplit.tables.exploring.explore`.

    Returns
    -------
    ReleasedModel
        Of the candidate that was chosen: ``card["mechanism"]`` says which; ``predict``, ``plot()``.

    Notes
    -----
    Public chance, not the records, parts them. The candidates share the budget on the larger part:
    Gaussian ones so that together they are exactly as private, :math:`\mu/\sqrt k` each, others an
    equal share. On the other part each has the sum of its losses, which lie in [0, 1] for every
    record: 1 for a wrong class, or for regression
    :math:`\min\bigl((4(y-\hat y)/w)^2,1\bigr)`, w the width of the bounds. The least sum after
    one-sided noise (:func:`~dplit.mechanisms.report_noisy_min`) is chosen at the whole epsilon: a
    record, or a person with all records, is in one part only, and loses what its part does; of
    persons each share is turned into one for a record, and the sums move by so many losses. What
    was fitted to the larger part is the release; nothing is fitted again.

    Raises
    ------
    TableError
        As :func:`~dplit.tables.exploring.explore`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.uniform(20, 80, 3000)}
    >>> table["cost"] = 100 * abs(table["age"] - 50) + rng.normal(0, 300, 3000)
    >>> model = choose(table, target="cost", bounds={"age": (20, 80), "cost": (0, 5000)},
    ...     random_state=0)
    >>> model.card["mechanism"], model.estimator.epsilon_
    ('additive', 1.0)
    """
    kind = task or ("classification" if classes is not None else "regression")
    if kind not in ("regression", "classification"):
        raise TableError(f"task must be regression or classification, got task={task!r}")
    epsilon = check_between("epsilon", epsilon, 1e-48, 1e20)  # each fit has a share of it
    delta = check_probability("delta", delta)
    if delta >= 0.5:
        raise ValueError(f"delta must be below 1/2, got delta={delta!r}")
    held = check_interval("held", held, 0.0, 1.0)
    account = _account(budget)
    about = stated_about(account, table, stated_by, intended_use)
    if folder is not None:
        _check_new(Path(folder))
    facts = state_facts(
        header_of(file, separator=separator),
        target=target,
        task=kind,
        bounds=bounds,
        categories=categories,
        classes=classes,
        fill=fill,
        ignore=ignore,
        skewed=skewed,
        interactions=interactions,
        decimal=decimal,
        thousands=thousands,
        group=group,
        rows_each=rows_each,
    )
    problem = load_problem(file, facts, progress=False, separator=separator)
    units, unit = len(problem.X) // facts.rows_each, "person" if group else "record"
    if units < 10:
        raise TableError(f"choosing needs at least 10 {unit}s, got {units}")
    names = candidates or ranked(
        task=kind,
        n=len(problem.X),
        n_columns=len(facts.columns),
        epsilon=epsilon / facts.rows_each,
        delta=delta,
        n_classes=len(facts.classes) if kind == "classification" else None,
        expected=expected,
    )
    found = _candidates(kind, names, problem)
    for one in found:
        one.make(problem, epsilon=epsilon, delta=delta)  # checks what is stated of it
    named = "" if about["table"] == UNSAID else about["table"]
    price = Price(f"choice of a mechanism for {target}", epsilon, delta, unit=unit, table=named)
    with (
        nullcontext() if account is None else account,
        ledger() as book,
        writing(folder, facts, book, epsilon, delta) as write,
    ):
        with charged(price):
            best, fits, parts = _chosen(problem, found, epsilon, delta, held, random_state)
        fitted, told = fits[best]
        fitted.random_state = random_state
        sizes = [len(part) // facts.rows_each for part in parts]
        whose = whose_records(units, facts.rows_each if group else None)
        state_guarantee(
            fitted,
            epsilon,
            delta,
            "replace_one",
            f"{whose}; {', '.join(names)} were fitted to {sizes[0]} of them with shares of the "
            f"budget, and the other {sizes[1]}, to which nothing was fitted, chose between them; "
            "values are clipped to the stated bounds)",
        )
        told += doubts(epsilon, delta, units)
        return write(found[best], fitted, {}, told, about=said_of(units, about, f"{unit}s"))


def _chosen(
    problem: Problem,
    found: Sequence[TableMechanism],
    epsilon: float,
    delta: float,
    held: float,
    random_state: RandomState,
) -> tuple[int, list[tuple[Any, list[str]]], tuple[np.ndarray, np.ndarray]]:
    """Return the index that was chosen, all fits with their warnings, and both parts."""
    split, noise, *seeds = spawn_generators(random_state, 2 + len(found))
    bits = noise_source(random_state, noise)
    each = 1 if problem.facts is None else problem.facts.rows_each  # of a person
    fit_to, judged_on = parted(len(problem.X), each, held, split)
    exact = [is_gaussian(one, problem) for one in found]
    fits = []
    with part_of_records("records fitted to"):
        shares = _shares(exact, epsilon, delta)
        for one, (mine, slack), gaussian, seed in zip(found, shares, exact, seeds, strict=True):
            state = None if random_state is None else seed
            budget = group_budget(epsilon=mine, delta=slack, size=each, gaussian=gaussian)
            fits.append(
                one.fit(
                    problem, rows=fit_to, epsilon=budget[0], delta=budget[1], random_state=state
                )
            )
    with part_of_records("records held out"):
        scores = np.array([_losses(problem, model, judged_on) for model, _ in fits], np.float64)
        best = report_noisy_min(scores, epsilon=epsilon, sensitivity=float(each * _UNIT), rng=bits)
    return best, fits, (fit_to, judged_on)
