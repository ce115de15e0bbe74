"""From a table to a model that others may use: public numbers in JSON, and a card that says what it
is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dplit._base import RandomState, price_of, spawn_generators
from dplit._checks import (
    check_choice,
    check_epsilon,
    check_interval,
    check_neighboring,
    check_probability,
)
from dplit._statements import state_guarantee, whose_records
from dplit.accounting import group_budget
from dplit.accounting.budget import Budget
from dplit.advice.engine import Recommendation
from dplit.advice.tables import recommend
from dplit.audit import ledger
from dplit.mechanisms._draws import charged, part_of_records, passing
from dplit.tables._cards import UNSAID, doubts, said_of, stated_about
from dplit.tables._chunks import TableError
from dplit.tables._folders import _check_new, _public, writing
from dplit.tables._held_out import HELD_OUT, parted, score_on_card, scored
from dplit.tables.facts import (
    Problem,
    TableFacts,
    _parsed,
    _plain,
    header_of,
    load_problem,
    state_facts,
)
from dplit.tables.mechanisms import MECHANISMS, TableMechanism, is_gaussian
from dplit.tables.mechanisms import mechanism as mechanism_of
from dplit.tables.released import ReleasedModel, load_model


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

    Examples
    --------
    >>> facts = state_facts(["age", "cost"], target="cost", bounds={"age": (0, 99), "cost": (0, 9)})
    >>> check_request(facts, "noisy_gradient", '{"steps": 20}')
    {'steps': 20}
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
            facts=facts,
        )
        mechanism_of(name, facts.task).make(
            public, epsilon=1.0, delta=1e-5, neighboring=neighboring, settings=chosen
        )
    return chosen


def release_problem(
    problem: Problem,
    facts: TableFacts,
    name: str,
    folder: str | os.PathLike[str] | None,
    *,
    epsilon: float,
    delta: float,
    neighboring: str = "replace_one",
    settings: Mapping[str, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    held: float = 0.0,
    random_state: RandomState = None,
) -> ReleasedModel:
    """Fit one mechanism to a table that was read, at the full budget; write the model and its card.

    Parameters
    ----------
    problem, facts
        The table and what is public about it: that by which it was read.
    name : str
        The mechanism, one of its task.
    folder : str, path or None
        Receives ``model.json``, ``card.json`` and ``card.html``. A folder that holds a release, a
        whole one or one that is unfinished, is refused: another release costs another budget. It is
        claimed before any noise is drawn, by a card that says that it is unfinished until all is
        written; a release that fails before that leaves nothing. With None nothing is written.
    epsilon, delta : float
        The budget.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Under "replace_one" the number of records is public and stands in the guarantee.
    settings : mapping or None, default=None
        Settings of the estimator, chosen without this table: numbers, texts or lists of them.
    about : mapping or None, default=None
        What the card is to say besides, all of it public: names with texts or numbers.
    held : float, default=0.0
        As in :func:`release`.
    random_state : int, Generator, RandomState or None, default=None
        None draws the noise from the operating system's entropy. Anything else is for tests and
        voids the guarantee, as the card then says.

    Returns
    -------
    ReleasedModel

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> table = {"age": [20.0, 40.0, 60.0, 80.0] * 100, "days": [1.0, 2.0, 4.0, 8.0] * 100}
    >>> bounds = {"age": (0, 100), "days": (0, 10)}
    >>> facts = state_facts(list(table), target="days", task="regression", bounds=bounds)
    >>> problem = load_problem(table, facts)
    >>> with TemporaryDirectory() as place:
    ...     model = release_problem(
    ...         problem, facts, "additive", f"{place}/stay", epsilon=1.0, delta=1e-6
    ...     )
    ...     days = load_model(f"{place}/stay").predict({"age": [30.0, 70.0]})
    >>> model.card["epsilon"], len(days)
    (1.0, 2)
    """
    found, chosen = mechanism_of(name, facts.task), _plain(settings or {})
    epsilon, delta = (
        check_epsilon(epsilon),
        check_probability("delta", delta, zero=True),
    )
    _check_agrees(problem, facts)
    _check_memory(found, len(problem.X), neighboring)
    if facts.group and neighboring != "replace_one":
        raise ValueError(f"neighboring must be 'replace_one' with a group, got {neighboring!r}")
    gaussian = is_gaussian(found, problem)
    one = group_budget(epsilon=epsilon, delta=delta, size=facts.rows_each, gaussian=gaussian)
    budget: dict[str, Any] = {"epsilon": one[0], "delta": one[1], "neighboring": neighboring}
    unfitted = found.make(problem, **budget, settings=chosen)
    _public(unfitted)
    each, held = facts.rows_each, _checked_held(held, facts, neighboring, len(problem.X))
    fits, noise, parts = random_state, None, None
    if held:
        split, *seeds = spawn_generators(random_state, 3)
        parts = parted(len(problem.X), each, held, split)
        if random_state is not None:
            fits, noise = seeds
    named = (about or {}).get("table")
    price = replace(
        price_of(unfitted, f"release of {name} for {facts.target or facts.task}"),
        epsilon=epsilon,
        table="" if named in (None, UNSAID) else named,
    )
    if facts.group:
        price = replace(price, delta=delta, gaussian=gaussian, unit="person")
    if held:  # the score has Laplace noise
        price = replace(price, gaussian=False)
    n_records = len(problem.X) if neighboring == "replace_one" else None
    with ledger() as book, writing(folder, facts, book, epsilon, delta) as write:
        releases: list[Any] = []

        def written(released: Any) -> Any:
            releases.append(released)
            return released

        with charged(price):
            rows = None if parts is None else parts[0]
            with part_of_records("records fitted to") if held else nullcontext(), passing(written):
                fitted, told = found.fit(
                    problem, rows=rows, **budget, random_state=fits, settings=chosen
                )
            about = dict(about or {})
            if parts is not None:
                with part_of_records("records held out"):
                    score = scored(problem, fitted, parts[1], epsilon=epsilon, each=each, rng=noise)
                about[HELD_OUT] = score_on_card(score, parts, facts)
                fitted.random_state = random_state
        units = None if n_records is None else n_records // each
        if facts.group or held:
            whole = delta if facts.group else fitted.delta_
            _state_whole(fitted, facts, epsilon, whole, len(problem.X) // each, parts)
        told += doubts(epsilon, delta, units)
        said = said_of(units, about, "persons" if facts.group else "records")
        n_fitted = n_records if parts is None else len(parts[0])
        return write(found, fitted, chosen, told, releases, n_fitted, said)


def _checked_held(held: float, facts: TableFacts, neighboring: str, n: int) -> float:
    """Return the share that is held out, 0 where none is."""
    if not held:
        return 0.0
    held = check_interval("held", held, 0.0, 1.0)
    if facts.task == "clustering" or neighboring != "replace_one":
        raise TableError("held must be 0 without a target, and but for neighboring='replace_one'")
    if n // facts.rows_each < 10:
        raise TableError(f"held must be 0 below 10 {'persons' if facts.group else 'records'}")
    return held


def _state_whole(
    fitted: Any,
    facts: TableFacts,
    epsilon: float,
    delta: float,
    units: int,
    parts: tuple[np.ndarray, np.ndarray] | None,
) -> None:
    """Let a model say what the whole release promises, beside what its fit promises a record."""
    each = facts.rows_each
    whose, unit = whose_records(units, each if facts.group else None), "record"
    if facts.group:
        unit = "person"
        whose += (
            f"; the fit is ({fitted.epsilon_:.4g}, {fitted.delta_:.3g})-private for one record, "
            f"which makes this of {each}"
        )
    if parts is not None:
        sizes = [len(part) // each for part in parts]
        whose += (
            f"; the model was fitted to {sizes[0]} of them and the other {sizes[1]}, to which "
            f"nothing was fitted, score it: each {unit} is in one part only"
        )
    change = f"{whose}; values are clipped to the stated bounds)"
    state_guarantee(fitted, epsilon, delta, "replace_one", change)


def release(
    file: Any,
    *,
    target: str | None = None,
    bounds: Mapping[str, Sequence[float]] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    classes: Sequence[Any] | None = None,
    fill: Mapping[str, float] | None = None,
    ignore: Sequence[str] | None = None,
    skewed: Sequence[str] | None = None,
    interactions: Sequence[tuple[str, str]] | None = None,
    majority: float | None = None,
    expected: Literal["little", "some", "much"] | None = None,
    n_clusters: int = 0,
    epsilon: float,
    delta: float,
    folder: str | os.PathLike[str] | None = None,
    mechanism: str | None = None,
    settings: Mapping[str, Any] | None = None,
    neighboring: str = "replace_one",
    budget: str | os.PathLike[str] | Budget | None = None,
    table: str | None = None,
    stated_by: str | None = None,
    intended_use: str | None = None,
    group: str | None = None,
    rows_each: int = 1,
    held: float = 0.0,
    separator: str | None = None,
    decimal: str = ".",
    thousands: str = "",
    random_state: RandomState = None,
) -> ReleasedModel:
    """Publish a private model of a table: read it, fit one mechanism once, write a card.

    Everything that is stated must be known without the table. What is missing is told all at once,
    before a record is read, and whatever can fail is checked before any noise is drawn.

    Parameters
    ----------
    file : str, path or table
        CSV, also compressed, or Parquet, or a folder of either; or a table of pandas, polars,
        pyarrow or dask, or a mapping of names to columns.
    target : str, optional
        Column that is predicted; None for clusters. A record without it contributes nothing.
    bounds : mapping of str to pair of float, optional
        Lowest and highest value of each numeric column, and of a numeric target; what is outside
        is clipped.
    categories : mapping of str to sequence, optional
        Values of each column of texts; every other value counts as the first, and a missing one as
        ``""`` if that is among them.
    classes : sequence, optional
        Two or more labels, for classification.
    fill : mapping of str to float, optional
        What stands for missing numbers; else the middle of the bounds, or of a skewed scale.
    ignore, skewed : sequence of str, optional
        Columns that are not used; numeric ones that crowd near their lowest bound.
    interactions : sequence of pairs of str, optional
        Columns that say something together that is no sum of what each says: additive models learn
        a map of each pair.
    majority : float, optional
        Public share of the most frequent class, by which the rule knows what a constant errs.
    expected : {"little", "some", "much"}, optional
        Of a regression, how much columns tell of the target, as
        :func:`~dplit.advice.tables.recommend` has it: from what is known elsewhere.
    n_clusters : int, default=0
        Number of clusters, where there is no target.
    epsilon, delta : float
        Budget of the release: epsilon positive, delta in [0, 1/2). Delta 0 is for mechanisms of
        pure noise.
    folder : str or path, optional
        Receives ``model.json``, ``card.json`` and ``card.html``; one that holds a release is
        refused. With None nothing is written.
    mechanism : str, optional
        One of ``dplit.tables.mechanisms.MECHANISMS`` for the task. By default that of
        :func:`~dplit.advice.tables.recommend`, which reads public numbers; where it says that
        nothing is worth a release, nothing is released. ``"constant"`` is the mean of the target,
        or its most frequent class, with an interval.
    settings : mapping, optional
        Settings of the estimator, chosen without this table.
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Under "replace_one" the number of records is public; under "add_remove" a mechanism must be
        named, since the rule reads that number.
    budget : str, path or Budget, optional
        A :class:`~dplit.accounting.Budget` on disk, or its file, which pays: the release is
        refused where its cap would be passed. Budgets that are open pay as well.
    table, stated_by, intended_use : str, optional
        For the card: the name of the table (that of the file is not told, since it may say
        something), by default that of the budget; who stated what is public; what the model is for.
    group : str, optional
        Column that says whose a record is, for a table with a target: then the guarantee is for a
        person with all records, and the number of persons is public.
    rows_each : int, default=1
        Records of a person that count, at most: by a public hash of their own values, those with a
        label first. More of them cost more noise.
    held : float, default=0.0
        Share of the records (or persons), in (0, 1), to which nothing is fitted: the card then says
        what the model errs on them, privately, with an interval. It costs these records and no
        budget: public chance parts them, and each is in one part only. 0 for none.
    separator, decimal, thousands
        How a file is written, as in :func:`~dplit.tables.exploring.explore`.
    random_state : int, Generator, RandomState or None, default=None
        None for releases; anything else is for tests and voids the guarantee.

    Returns
    -------
    ReleasedModel
        As :func:`~dplit.tables.released.load_model` loads it from the folder: ``predict``,
        ``card``, ``plot()``.

    Raises
    ------
    TableError
        With the whole list of what is to be stated; if nothing is worth a release; or as
        :func:`~dplit.tables.facts.load_problem`.
    BudgetError
        If the budget does not cover it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> table = load_wine(as_frame=True).frame[["alcohol", "color_intensity", "target"]]
    >>> model = release(table, target="target", classes=(0, 1, 2), epsilon=3.0, delta=1e-6,
    ...     bounds={"alcohol": (10, 16), "color_intensity": (0, 15)})
    >>> model.card["mechanism"], len(model.predict(table))
    ('additive', 178)
    """
    kind = "classification" if classes is not None else "regression" if target else "clustering"
    epsilon, delta = check_epsilon(epsilon), check_probability("delta", delta, zero=True)
    if delta >= 0.5:
        raise ValueError(f"delta must be below 1/2, got delta={delta!r}")
    check_neighboring(neighboring)
    held = check_interval("held", held, 0.0, 1.0) if held else 0.0
    account = _account(budget)
    about = stated_about(account, table, stated_by, intended_use)
    if mechanism is not None:
        names = [one.name for one in MECHANISMS if one.task == kind]
        check_choice("mechanism", mechanism, names)
    elif neighboring == "add_remove" or (kind == "clustering" and n_clusters):
        why = "has no rule" if kind == "clustering" else "hides the number that the rule reads"
        names = [
            one.name for one in MECHANISMS if one.task == kind and neighboring in one.relations
        ]
        raise TableError(f"mechanism must be one of {', '.join(names)}: {neighboring} {why}")
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
        n_clusters=n_clusters,
        skewed=skewed,
        interactions=interactions,
        decimal=decimal,
        thousands=thousands,
        group=group,
        rows_each=rows_each,
    )
    chosen = check_request(facts, mechanism or "", settings or {}, neighboring)
    problem = load_problem(file, facts, progress=False, separator=separator)
    hidden = neighboring == "add_remove"
    advice = None if hidden else _advice(problem, facts, epsilon, delta, majority, expected, held)
    name = mechanism or _recommended(advice, kind)
    about["expected"] = _expectation(advice, kind, majority)
    with nullcontext() if account is None else account:
        model = release_problem(
            problem,
            facts,
            name,
            folder,
            epsilon=epsilon,
            delta=delta,
            neighboring=neighboring,
            settings=chosen,
            about=about,
            held=held,
            random_state=random_state,
        )
    return model if folder is None else load_model(folder)


def _account(budget: Any) -> Budget | None:
    """Return the budget that is to pay."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)


def _advice(
    problem: Problem,
    facts: TableFacts,
    epsilon: float,
    delta: float,
    majority: float | None,
    expected: Literal["little", "some", "much"] | None,
    held: float,
) -> Recommendation | None:
    """Return what the rule says by public numbers, None where it has none for them."""
    if facts.task == "clustering":
        return None
    many = len(facts.classes) if facts.task == "classification" else None
    if delta == 0.0 and many != 2:
        return None
    return recommend(
        task=facts.task,
        n=max(round((1.0 - held) * len(problem.X)), 1),
        n_columns=len(facts.columns),
        n_classes=many,
        epsilon=epsilon / facts.rows_each,
        delta=delta,
        majority=majority,
        expected=expected,
    )


def _expectation(advice: Recommendation | None, kind: str, majority: float | None) -> str:
    """Say what the rule expected, and of what that is true."""
    if advice is None:
        return "no rule for this"
    told = f"on the tables that the rule was learnt on: {advice.expected}. {advice.reason}"
    if kind == "classification" and majority is None:
        told += " The share of the most frequent class was not stated (majority=)."
    return told


def _recommended(advice: Recommendation | None, kind: str) -> str:
    """Return the name of what is recommended, or refuse to release."""
    if advice is None:
        raise TableError("mechanism must be stated where delta is 0 and there are not two classes")
    if advice.name is None:
        what = "the mean" if kind == "regression" else "the most frequent class"
        raise TableError(
            f"nothing is worth a release here: {advice.reason} mechanism='constant' releases "
            f"{what} with its interval, at the same budget; to release another all the same, name "
            "it by mechanism=..."
        )
    return advice.name


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
            "pairs or persons": not facts.interactions and not facts.group,
        }
        wrong = [name for name, equal in same.items() if not equal]
    if wrong:
        raise TableError(
            f"facts must be those by which the problem was read: {', '.join(wrong)} differ"
        )
