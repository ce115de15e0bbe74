"""One fit for others to use: a model as public numbers in JSON, and a card that says what it is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplit._base import RandomState
from dplit._checks import check_epsilon, check_probability
from dplit.audit import ledger
from dplit.mechanisms._draws import passing
from dplit.tables._chunks import TableError
from dplit.tables._folders import _public, writing
from dplit.tables.facts import Problem, TableFacts, _parsed, _plain
from dplit.tables.mechanisms import TableMechanism, mechanism


def _check_memory(found: TableMechanism, n_records: int, neighboring: str) -> None:
    """Refuse what this machine cannot hold, before the fit: where the number of records is public,
    a release says no more than they.
    """
    needed, there = 8 * found.held * n_records, _memory()
    if neighboring == "replace_one" and needed > there:
        raise TableError(
            f"release must be another mechanism here: {found.name} visits the features of all "
            f"{n_records} records at every step and holds them, about {needed / 1e9:.1f} GB, where "
            f"this machine has {there / 1e9:.1f} GB"
        )


def _memory() -> int:
    """Return the bytes of memory of this machine, or 2^63 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 63


def check_request(
    facts: TableFacts, name: str, settings: Any = "", neighboring: str = "replace_one"
) -> dict[str, Any]:
    """Return the settings of a release; a wrong request is refused here, before
    a record is read.

    Parameters
    ----------
    facts : TableFacts
    name : str
        The mechanism; with the empty one the form of the settings alone is checked.
    settings : mapping or str, optional
        Settings of the estimator; a text is JSON.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
    """
    told: list[str] = []
    chosen: dict[str, Any] = _parsed("settings", settings, dict, told)
    if told:
        raise TableError(told[0])
    if name:
        nothing = np.empty((0, len(facts.box[0])))
        public = Problem(
            "",
            facts.task,
            nothing,
            nothing,
            facts.public,
            facts.data_norm,
            facts.box,
            facts.indicators,
        )
        mechanism(name, facts.task).make(
            public, epsilon=1.0, delta=1e-5, neighboring=neighboring, settings=chosen
        )
    return chosen


def release(
    problem: Problem,
    facts: TableFacts,
    name: str,
    folder: str | os.PathLike[str],
    *,
    epsilon: float,
    delta: float,
    neighboring: str = "replace_one",
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = None,
) -> dict[str, Any]:
    """Fit one mechanism to a whole table at the full budget, and write the model and its card.

    Parameters
    ----------
    problem, facts
        The table and what is public about it: that by which it was read.
    name : str
        The mechanism, one of its task.
    folder : str or path
        Receives ``model.json``, ``card.json`` and ``card.html``. A folder that holds a release, a
        whole one or one that is unfinished, is refused: another release costs another budget. It is
        claimed before any noise is drawn, by a card that says that it is unfinished until all is
        written; a release that fails before that leaves nothing.
    epsilon, delta : float
        The budget.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Under "replace_one" the number of records is public and stands in the guarantee.
    settings : mapping or None, default=None
        Settings of the estimator, chosen without this table: numbers, texts or lists of them.
    random_state : int, Generator, RandomState or None, default=None
        None draws the noise from the operating system's entropy. Anything else is for tests and
        voids the guarantee, as the card then says.

    Returns
    -------
    dict
        The card.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from dplit import load_model
    >>> from dplit.tables.facts import load_problem, state_facts
    >>> table = {"age": [20.0, 40.0, 60.0, 80.0] * 100, "days": [1.0, 2.0, 4.0, 8.0] * 100}
    >>> bounds = {"age": (0, 100), "days": (0, 10)}
    >>> facts = state_facts(list(table), target="days", task="regression", bounds=bounds)
    >>> problem = load_problem(table, facts)
    >>> with TemporaryDirectory() as place:
    ...     card = release(problem, facts, "additive", f"{place}/stay", epsilon=1.0, delta=1e-6)
    ...     days = load_model(f"{place}/stay").predict({"age": [30.0, 70.0]})
    >>> card["epsilon"], len(days)
    (1.0, 2)
    """
    found, chosen = mechanism(name, facts.task), _plain(settings or {})
    epsilon, delta = (
        check_epsilon(epsilon),
        check_probability("delta", delta, zero=True),
    )
    _check_agrees(problem, facts)
    _check_memory(found, len(problem.X), neighboring)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighboring": neighboring}
    _public(found.make(problem, **budget, settings=chosen))
    with ledger() as book, writing(folder, facts, book, epsilon, delta) as write:
        releases: list[Any] = []

        def written(released: Any) -> Any:
            releases.append(released)
            return released

        with passing(written):
            fitted, told = found.fit(problem, **budget, random_state=random_state, settings=chosen)
        public = len(problem.X) if neighboring == "replace_one" else None
        return dict(write(found, fitted, chosen, told, releases, public).card)


def _check_agrees(problem: Problem, facts: TableFacts) -> None:
    """Refuse facts by which the problem was not encoded: the card would be about another table."""
    if problem.facts is not None:
        mine, given = problem.facts.as_json(), facts.as_json()
        wrong = [name for name in mine if json.dumps(mine[name]) != json.dumps(given[name])]
    else:
        same = {
            "task": problem.task == facts.task,
            "bounds or classes": dict(problem.public) == facts.public,
            "columns": problem.data_norm == facts.data_norm
            and np.array_equal(problem.box, facts.box),
            "categories": tuple(problem.indicators) == facts.indicators,
        }
        wrong = [name for name, equal in same.items() if not equal]
    if wrong:
        raise TableError(
            f"facts must be those by which the problem was read: {', '.join(wrong)} differ"
        )
