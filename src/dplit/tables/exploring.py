"""All mechanisms on splits of one table, beside what public facts alone recommend."""

from __future__ import annotations

import html
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score, recall_score, roc_auc_score

from dplit._bounds import LARGEST_INPUT
from dplit._checks import check_epsilon, check_integer, check_probability
from dplit.accounting import group_budget
from dplit.accounting.budget import BudgetError
from dplit.advice.engine import Recommendation
from dplit.advice.tables import ranked, recommend
from dplit.features.hats import HatMap
from dplit.mechanisms._draws import open_accounts
from dplit.streams import stream
from dplit.tables._chunks import TableError
from dplit.tables.facts import Array, Problem, TableFacts, _loaded, header_of, state_facts
from dplit.tables.mechanisms import TableMechanism, _applicable, is_gaussian
from dplit.tables.releasing import check_request

#: Training records from which a fit takes minutes, for mechanisms that visit features of all
#: records at every step.
_SLOW = {"kernel_margin": 2000, "kernel_machine": 10**5, "random_features": 10**6}

#: Columns from which second moments are too many.
_WIDE = 1500

#: Features of the additive models in memory: records times entries of a row.
_HELD = 2.5e8

_RELEASED = (
    "This comparison was computed from the records without privacy: whoever sees it has received a "
    "release of the table that no budget covers. Show it to those alone who may see the records."
)


#: What is measured of a classifier, the first also of the rule.
_OF_CLASSES = ("accuracy", "balanced accuracy", "AUC")


class Measured(NamedTuple):
    """Scores by one measure.

    Attributes
    ----------
    scores : mapping of str to ndarray of shape (n_splits, n_epsilons)
    trivial : ndarray of shape (n_splits,)
        Of the best constant.
    not_private : mapping of str to ndarray of shape (n_splits,)

    Examples
    --------
    >>> found = Measured({"additive": np.array([[0.8]])}, np.array([0.5]), {})
    >>> found.scores["additive"] - found.trivial[:, None]
    array([[0.3]])
    """

    scores: Mapping[str, Array]
    trivial: Array
    not_private: Mapping[str, Array]


@dataclass(frozen=True)
class Exploration:
    """What :func:`explore` found: scores without privacy, and the recommendation beside them.

    Attributes
    ----------
    scores : mapping of str to ndarray of shape (n_splits, n_epsilons)
        Held-out R2 or accuracy of each mechanism.
    recommended : tuple of str or None
        One name of ``scores`` for each epsilon, from public facts only; None where nothing is worth
        a release by ``advice``.
    trivial : ndarray of shape (n_splits,)
        Score of the best constant of the training records.
    not_private : mapping of str to ndarray of shape (n_splits,)
        Scores of a linear fit and of boosted trees without privacy.
    advice : tuple of Recommendation
        What :func:`~dplit.advice.tables.recommend` says at each epsilon, with its reason.
    left_out : mapping of str to str
        Mechanisms that were not fitted, and why.
    task, measure : str
    epsilons : tuple of float
    delta : float
    n_train : int
        Records that each model was fitted to.
    facts : Facts
        What was stated.
    odd : mapping of str to float
        Share of the cells of each column that are missing or not what is stated, where there are
        any: read from the records, as the scores are.
    beside : mapping of str to Measured
        The same by the other measures of classes, "balanced accuracy" and "AUC", for which the
        frequency of a class counts nothing: where one is rare, accuracy is that of a constant for
        everybody. Not a number on a split that holds out one class alone.
    settings : mapping of str to mapping
        Of mechanisms that were not fitted at their defaults.
    majority, expected : float, str or None
        What was stated of the most frequent class, and of how much columns tell.

    Examples
    --------
    >>> table = {"age": np.linspace(20.0, 80.0, 1000), "cost": np.linspace(0.0, 9.0, 1000)}
    >>> found = explore(table, target="cost", bounds={"age": (20, 80), "cost": (0, 9)},
    ...                 epsilons=(1.0, 10.0), n_splits=1)
    >>> found.measure, found.n_train, len(found.recommended), found.trivial.shape
    ('R2', 700, 2, (1,))
    """

    scores: Mapping[str, Array]
    recommended: tuple[str | None, ...]
    trivial: Array
    not_private: Mapping[str, Array]
    advice: tuple[Recommendation, ...] = field(repr=False)
    left_out: Mapping[str, str]
    task: str
    measure: str
    epsilons: tuple[float, ...]
    delta: float
    n_train: int
    facts: TableFacts = field(repr=False)
    odd: Mapping[str, float] = field(default_factory=dict, repr=False)
    beside: Mapping[str, Measured] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    majority: float | None = None
    expected: str | None = None

    def _call(self) -> str:
        """Return the short and safe way to the same recommendation."""
        known = self.task == "classification"
        classes = f"n_classes={len(self.facts.classes)}, " if known else ""
        if self.majority is not None:
            classes += f"majority={self.majority!r}, "
        if self.expected is not None:
            classes += f"expected={self.expected!r}, "
        return (
            f"recommend(task={self.task!r}, n={self.n_train}, n_columns={len(self.facts.columns)}, "
            f"{classes}epsilon={self.epsilons[0] / self.facts.rows_each:g}, delta={self.delta:g})"
        )

    def _by_measure(self) -> dict[str, Measured]:
        """All scores, by what is measured."""
        first = Measured(self.scores, self.trivial, self.not_private)
        return {self.measure: first, **self.beside}

    def _rows(self, told: Measured) -> Iterator[tuple[str, list[str]]]:
        """Yield a name and its mean scores; the recommended one has a star."""
        means = {name: _mean(values) for name, values in told.scores.items()}
        for name in sorted(means, key=lambda name: -float(np.mean(means[name]))):
            marks = ["*" if name == chosen else "" for chosen in self.recommended]
            yield name, [f"{v:.3f}{mark}" for v, mark in zip(means[name], marks, strict=True)]
        for name, free in told.not_private.items():
            yield f"{name}, not private", [f"{_mean(free):.3f}"] * len(self.epsilons)
        yield "a constant", [f"{_mean(told.trivial):.3f}"] * len(self.epsilons)

    def _heads(self, measure: str) -> list[str]:
        return [measure, *(f"epsilon {e:g}" for e in self.epsilons)]

    def _notes(self) -> list[str]:
        notes = [
            f"* recommended from public facts, never from these scores. Safe: {self._call()}.",
            _RELEASED,
        ]
        for epsilon, name in zip(self.epsilons, self.recommended, strict=True):
            if name is None:
                notes.append(f"Nothing is worth a release at epsilon {epsilon:g}: see advice.")
        notes += [f"{name} is left out: {why}." for name, why in self.left_out.items()]
        for name, told in self.settings.items():
            stated = ", ".join(f"{key}={value!r}" for key, value in told.items())
            notes.append(f"{name} is fitted with {stated}.")
        return notes + [
            f"{share:.1%} of {column} is missing or not what is stated, and {self._counts(column)}."
            for column, share in self.odd.items()
        ]

    def _counts(self, column: str) -> str:
        """Say what a cell that is not what is stated does."""
        if column == self.facts.target and column not in self.facts.fill:
            return "its record contributes nothing"
        if column in self.facts.categories:
            return "counts as the first category, or where it is missing as '' if that is stated"
        return "counts as its fill, or as the middle of its scale"

    def __str__(self) -> str:
        rows: list[list[str]] = []
        for measure, told in self._by_measure().items():
            rows += [
                [""],
                self._heads(measure),
                *([name, *cells] for name, cells in self._rows(told)),
            ]
        wide = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
        lines = [
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(row, wide, strict=False))
            ).rstrip()
            for row in rows[1:]
        ]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        """Return a table for each measure as HTML, the warning with them."""
        tables = ""
        for measure, told in self._by_measure().items():
            heads = "".join(
                f'<th scope="col">{html.escape(head)}</th>' for head in self._heads(measure)
            )
            rows = "".join(
                f'<tr><th scope="row">{html.escape(name)}</th>'
                + "".join(
                    f"<td><strong>{cell}</strong></td>"
                    if cell.endswith("*")
                    else f"<td>{cell}</td>"
                    for cell in cells
                )
                + "</tr>"
                for name, cells in self._rows(told)
            )
            tables += f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return tables + "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())

    def plot(self) -> Any:
        """Draw the mean scores against epsilon; circles mark what is recommended.

        Returns
        -------
        matplotlib.figure.Figure
            One panel for each measure.
        """
        from matplotlib.figure import Figure

        measures = self._by_measure()
        figure = Figure(figsize=(3.0 + 4.0 * len(measures), 4.0), layout="constrained")
        panels = figure.subplots(1, len(measures), squeeze=False).ravel()
        for axes, (measure, told) in zip(panels, measures.items(), strict=True):
            self._draw(axes, measure, told)
        panels[-1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    def _draw(self, axes: Any, measure: str, told: Measured) -> None:
        """Draw the scores by one measure."""
        styles = ("-", "--", "-.", ":")
        means = {name: _mean(values) for name, values in told.scores.items()}
        for k, (name, mean) in enumerate(means.items()):
            axes.plot(self.epsilons, mean, styles[k % 4], marker=".", label=name.replace("_", " "))
            chosen = [i for i, best in enumerate(self.recommended) if best == name]
            axes.plot(
                np.array(self.epsilons)[chosen], mean[chosen], "o", ms=11, mfc="none", mec="black"
            )
        free = {name: float(_mean(values)) for name, values in told.not_private.items()}
        for style, (name, level) in zip(styles[1:], free.items(), strict=False):
            axes.axhline(level, color="0.5", ls=style, lw=1.0, label=f"{name}, not private")
        low = float(_mean(told.trivial))
        axes.axhline(low, color="0.5", lw=1.0, label="a constant")
        axes.set(xscale="log", xlabel="epsilon (circles: recommended)", ylabel=measure)
        tops = [low, *free.values(), *(float(mean.max()) for mean in means.values())]
        if np.isfinite(tops).all():
            axes.set_ylim(low - 0.1, max(tops) + 0.02)
        axes.set_xticks(self.epsilons, [f"{e:g}" for e in self.epsilons])
        axes.minorticks_off()


def _mean(values: Array) -> Array:
    """Mean over the splits that have a score; not a number where none has."""
    there = np.isfinite(values)
    count = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.where(count, total / np.maximum(count, 1), np.nan))


def _plain_models(task: str, one_class: bool) -> dict[str, Any]:
    """Return what needs no privacy: a linear fit and boosted trees."""
    if task == "regression":
        boosted = HistGradientBoostingRegressor(random_state=0)
        return {"linear": Ridge(alpha=0.1), "boosting": boosted}
    if one_class:
        return {"linear": DummyClassifier(), "boosting": DummyClassifier()}
    boosted = HistGradientBoostingClassifier(random_state=0)
    return {"linear": LogisticRegression(C=10.0, max_iter=2000), "boosting": boosted}


def _too_much(found: TableMechanism, n_train: int, n_columns: int, n_paired: int = 0) -> str:
    """Say why a mechanism is not fitted, from public numbers, or nothing."""
    if n_train > _SLOW.get(found.name, n_train):
        return f"a fit to {n_train:,} records takes minutes"
    if found.name == "sufficient_statistics" and n_columns > _WIDE:
        return f"{n_columns:,} columns have too many second moments"
    if found.name == "additive" and n_train * (8.0 * n_columns + n_paired) > _HELD:
        return f"the shapes of {n_columns:,} columns in {n_train:,} records need too much memory"
    return ""


def _each(problem: Problem) -> int:
    """Return how many records a person has in a table."""
    return 1 if problem.facts is None else problem.facts.rows_each


class _Scorer:
    """Splits of a table, and the score of a model on what a split holds out.

    Records without a label are in no part: the model that is scored has seen none of them.
    """

    def __init__(self, problem: Problem, truth: Array, seed: int):
        self.problem, self.truth, self.seed = problem, truth, seed

    def split(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of training and of held-out records."""
        n, each = len(self.problem.X), _each(self.problem)
        order = np.random.default_rng(self.seed + index).permutation(n // each)
        parts = [
            (people[:, None] * each + np.arange(each)).ravel()
            for people in np.split(order, [int(0.7 * len(order))])
        ]
        if self.problem.known is not None:
            parts = [part[self.problem.known[part]] for part in parts]
        return parts[0], parts[1]

    def scores(self, model: Any, rows: np.ndarray) -> list[float]:
        """Return R2 against the labels as they are, where they are numbers; or what is measured of
        classes.
        """
        if self.problem.task == "classification":
            return _scores_of_classes(model, self.problem.X[rows], self.problem.y[rows])
        known = np.isfinite(self.truth[rows])
        if known.sum() < 2:
            return [float("nan")]
        predicted = model.predict(self.problem.X[rows])
        truth, told = self.truth[rows][known], np.asarray(predicted)[known]
        size = max(float(np.abs(truth).max()), float(np.abs(told).max()))
        if size > LARGEST_INPUT:  # no square of it is a float; R2 has no unit
            truth, told = truth / size, told / size
        return [float(r2_score(truth, told))]


def _scores_of_classes(model: Any, X: Array, y: np.ndarray) -> list[float]:
    """Return what is measured of a classifier on held-out records, in the order of _OF_CLASSES."""
    if not len(X):
        return [float("nan")] * len(_OF_CLASSES)
    predicted, held = model.predict(X), np.unique(y)
    recalls = recall_score(y, predicted, labels=held, average=None, zero_division=0.0)
    if len(held) == 1:  # nothing to rank against
        areas = [float("nan")]
    else:  # two classes have one area between them
        areas = [_area(model, X, y, one) for one in held[: 1 if len(model.classes_) < 3 else None]]
    return [float(accuracy_score(y, predicted)), float(np.mean(recalls)), float(np.mean(areas))]


def _area(model: Any, X: Array, y: np.ndarray, one: Any) -> float:
    """Return the area under the curve of one class against the rest, by its score.

    Of two classes the score is the one of both, up to its sign; of more the probability.
    """
    classes = list(model.classes_)
    if one not in classes or len(classes) == 1:
        return 0.5  # it was in no training record, so that nothing ranks it
    if len(classes) == 2 and hasattr(model, "decision_function"):
        score = model.decision_function(X) * (1.0 if classes[1] == one else -1.0)
    else:
        score = model.predict_proba(X)[:, classes.index(one)]
    return float(roc_auc_score(y == one, score))


def explore(
    file: Any,
    *,
    target: str,
    bounds: Mapping[str, Sequence[float]],
    categories: Mapping[str, Sequence[Any]] | None = None,
    classes: Sequence[Any] | None = None,
    fill: Mapping[str, float] | None = None,
    ignore: Sequence[str] | None = None,
    task: str | None = None,
    epsilons: Sequence[float] = (0.3, 1.0, 3.0, 10.0),
    delta: float = 1e-6,
    n_splits: int = 3,
    seed: int = 0,
    rows: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    majority: float | None = None,
    expected: Literal["little", "some", "much"] | None = None,
    skewed: Sequence[str] | None = None,
    interactions: Sequence[tuple[str, str]] | None = None,
    group: str | None = None,
    rows_each: int = 1,
    separator: str | None = None,
    decimal: str = ".",
    thousands: str = "",
) -> Exploration:
    """Compare all mechanisms on a table. **The comparison is itself a release of the table.**

    The safe way comes first: :func:`~dplit.advice.tables.recommend` names a mechanism from public
    facts and reads no record; and a stand-in drawn from the stated bounds can be explored by
    anyone. Explore a private table only if you may see its records, and show the result to nobody
    else.

    Parameters
    ----------
    file : str, path or table
        CSV, also compressed by gzip, bz2 or xz, or Parquet, or a folder of either; or a table of
        pandas, polars, pyarrow or dask, or a mapping of names to columns.
    target : str
        Column that is predicted. A record in which it is missing, no finite number or none of the
        classes contributes nothing.
    bounds : mapping of str to pair of float
        Lowest and highest value of each numeric column, and of a numeric target; what is outside
        is clipped. Known without the table, as all that follows.
    categories : mapping of str to sequence, optional
        Values of each column of texts; every other value counts as the first, and a missing one as
        ``""`` if that is among them.
    classes : sequence, optional
        Two or more labels.
    fill : mapping of str to float, optional
        What stands for missing numbers; else the middle of the bounds, or of a skewed scale.
    ignore : sequence of str, optional
        Columns that are not used.
    task : {"regression", "classification"}, optional
        By default classification where there are classes.
    epsilons : sequence of float, default=(0.3, 1.0, 3.0, 10.0)
    delta : float, default=1e-6
        In (0, 1/2).
    n_splits : int, default=3
        Split s is ``numpy.random.default_rng(seed + s).permutation(n)``, of which the first
        ``int(0.7 * n)`` train.
    seed : int, default=0
        Of splits and noise.
    rows : int or None, default=None
        Of a larger table only so many records, the first of
        ``numpy.random.default_rng(seed).permutation``; n is then their number.
    settings : mapping of str to mapping, optional
        For mechanisms by name what replaces their defaults, as
        ``{"additive": {"loss": "logistic"}}``.
    majority : float, optional
        Public share of the most frequent class, which is told to
        :func:`~dplit.advice.tables.recommend`; it is never counted here.
    expected : {"little", "some", "much"}, optional
        How much columns tell of a regression's target, which is told to it as well.
    skewed : sequence of str, optional
        Numeric columns whose values crowd near their lowest bound, as amounts and counts do: read
        on a logarithmic scale, where half of the range is for the lowest tenth. Where that is so an
        additive model gains much; where it is not, it loses much: state it only if you know it.
    interactions : sequence of pairs of str, optional
        Columns that say something together which is no sum of what each says, as two coordinates
        do: additive models learn a map of each pair. Each costs budget: name few, and only such as
        are known without this table.
    group, rows_each
        Persons, as in :func:`~dplit.tables.releasing.release`: budgets are theirs, and the records
        of a person are in one part of a split.
    separator : str or None, default=None
        One character between the fields of a CSV file; None reads it off the first line.
    decimal, thousands : str, default="." and ""
        How numbers are written where they are texts, as in ``1.234,5``.

    Returns
    -------
    Exploration
        ``scores``, ``recommended``, ``trivial``, ``not_private``, ``plot()``; of classes also
        ``beside``, by balanced accuracy and AUC. A page shows a table for each measure.

    Raises
    ------
    TableError
        With the whole list of what is to be stated; or if a column agrees with what is stated of it
        in no record at all (another spelling, dates as numbers), which counts as public.
    BudgetError
        Inside an open budget.

    Notes
    -----
    All models are fitted under ``replace_one``, at their defaults but for ``settings``. R2 is that
    of the labels as they are, also beyond the bounds; records whose label is no number do not enter
    it. Balanced accuracy is the mean share of each class that is found. AUC is the chance that a
    record of the second class scores above one of the first; of more classes the mean over all,
    each against the rest, by probabilities. A constant has one over the number of classes, and 0.5.

    What costs minutes a fit is left out, as ``left_out`` says: kernels with a margin above 2,000
    training records, kernel machines above 100,000, second moments of more than 1,500 columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.uniform(20, 80, 3000)}
    >>> table["cost"] = 100 * table["age"] + rng.normal(0, 300, 3000)
    >>> found = explore(table, target="cost", bounds={"age": (20, 80), "cost": (0, 9000)},
    ...     epsilons=(1.0,), n_splits=1)
    >>> best = found.recommended[0]
    >>> bool(found.scores[best].mean() > 0.8), found.scores[best].shape
    (True, (1, 1))
    """
    if open_accounts():
        raise BudgetError("explore must not run inside a budget: no budget covers its scores")
    kind = task or ("classification" if classes is not None else "regression")
    if kind not in ("regression", "classification"):
        raise TableError(f"task must be regression or classification, got task={task!r}")
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
    budgets = tuple(check_epsilon(epsilon, "epsilons") for epsilon in epsilons)
    if not budgets or check_probability("delta", delta) >= 0.5:
        rule = "epsilons must hold a number and delta be below 1/2"
        raise ValueError(f"{rule}, got epsilons={epsilons!r}, delta={delta!r}")
    check_integer("n_splits", n_splits)
    check_integer("seed", seed, minimum=0)
    chosen = _checked_settings(settings, facts)
    problem, truth, odd = _loaded(file, facts, truth=True, separator=separator)
    if rows is not None and check_integer("rows", rows, minimum=10) < len(problem.X):
        problem, truth = _some(problem, truth, rows, seed)
    if len(problem.X) // facts.rows_each < 10:
        unit = "persons" if group else "records"
        raise TableError(
            f"exploring needs at least 10 {unit}, got {len(problem.X) // facts.rows_each}"
        )
    if len(problem.labelled().X) < 10:
        raise TableError("exploring needs at least 10 records with a label")
    scorer = _Scorer(problem, truth, seed)
    found = _compared(scorer, facts, budgets, delta, n_splits, chosen, majority, expected)
    return replace(found, odd={column: share for column, share in odd.items() if share})


def _checked_settings(
    settings: Mapping[str, Mapping[str, Any]] | None, facts: TableFacts
) -> dict[str, dict[str, Any]]:
    """Return settings by mechanism; what no estimator takes is refused before the table is read."""
    names = [m.name for m in _applicable(facts.task, n_classes=len(facts.classes) or 2)]
    told = dict(settings or {})
    if unknown := [name for name in told if name not in names]:
        rule = f"settings must be by the name of a mechanism, {', '.join(names)}"
        raise ValueError(f"{rule}, got {', '.join(map(repr, unknown))}")
    return {name: check_request(facts, name, one) for name, one in told.items()}


def _compared(
    scorer: _Scorer,
    facts: TableFacts,
    budgets: tuple[float, ...],
    delta: float,
    n_splits: int,
    settings: Mapping[str, Mapping[str, Any]],
    majority: float | None,
    expected: Literal["little", "some", "much"] | None,
) -> Exploration:
    """Fit everything on every split."""
    kind, (n, width) = facts.task, scorer.problem.X.shape
    each = facts.rows_each
    n_train = int(0.7 * (n // each)) * each
    n_classes = len(facts.classes) if kind == "classification" else None
    usable = _applicable(kind, n_classes=n_classes or 2)
    shapes = HatMap.of(8, facts.box, facts.indicators, width, facts.pairs)
    paired = sum(part.stop - part.start for part in shapes.slices()[len(shapes.groups) :])
    left_out = {m.name: why for m in usable if (why := _too_much(m, n_train, width, paired))}
    kept = [m for m in usable if m.name not in left_out]
    stated: dict[str, Any] = {
        "task": kind,
        "n": n_train,
        "n_columns": len(facts.columns),
        "n_classes": n_classes,
        "delta": delta,
        "expected": expected,
    }
    advice = tuple(recommend(**stated, epsilon=e / each, majority=majority) for e in budgets)
    named = {m.name for m in kept}
    chosen = tuple(
        None
        if told.estimator is None
        else next(name for name in ranked(**stated, epsilon=epsilon / each) if name in named)
        for epsilon, told in zip(budgets, advice, strict=True)
    )
    measures = ("R2",) if kind == "regression" else _OF_CLASSES
    scores = {m.name: np.empty((n_splits, len(budgets), len(measures))) for m in kept}
    trivial = np.empty((n_splits, len(measures)))
    free = {name: np.empty((n_splits, len(measures))) for name in ("linear", "boosting")}
    for s in range(n_splits):
        trivial[s], plain = _without_privacy(scorer, s)
        for name, value in plain.items():
            free[name][s] = value
        for found in kept:
            told = settings.get(found.name, {})
            scores[found.name][s] = _scored(found, scorer, s, budgets, delta, told)
    first, *others = (
        Measured(
            {name: values[..., k] for name, values in scores.items()},
            trivial[:, k],
            {name: values[:, k] for name, values in free.items()},
        )
        for k in range(len(measures))
    )
    return Exploration(
        **first._asdict(),
        recommended=chosen,
        advice=advice,
        left_out=left_out,
        task=kind,
        measure=measures[0],
        epsilons=budgets,
        delta=delta,
        n_train=n_train,
        facts=facts,
        beside=dict(zip(measures[1:], others, strict=True)),
        settings=settings,
        majority=majority,
        expected=expected,
    )


def _some(problem: Problem, truth: Array, rows: int, seed: int) -> tuple[Problem, Array]:
    """Return some records of a table, drawn without looking at them."""
    each = _each(problem)
    people = np.random.default_rng(seed).permutation(len(problem.X) // each)[: rows // each]
    kept = (people[:, None] * each + np.arange(each)).ravel()
    known = None if problem.known is None else problem.known[kept]
    return replace(problem, X=problem.X[kept], y=problem.y[kept], known=known), truth[kept]


def _without_privacy(scorer: _Scorer, index: int) -> tuple[list[float], dict[str, list[float]]]:
    """Return the scores of a constant, and of a linear fit and boosted trees."""
    problem, (train, test) = scorer.problem, scorer.split(index)
    X, y = problem.X[train], problem.y[train]
    regression = problem.task == "regression"
    constant: Any = DummyRegressor() if regression else DummyClassifier()
    plain = _plain_models(problem.task, not regression and len(np.unique(y)) == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for a ceiling
        found = {name: scorer.scores(model.fit(X, y), test) for name, model in plain.items()}
    return scorer.scores(constant.fit(X, y), test), found


def _scored(
    found: TableMechanism,
    scorer: _Scorer,
    index: int,
    epsilons: Sequence[float],
    delta: float,
    settings: Mapping[str, Any],
) -> list[list[float]]:
    """Return the scores of a mechanism on one split, at each epsilon."""
    train, test = scorer.split(index)
    scores = []
    for place, epsilon in enumerate(epsilons):
        rng = stream(scorer.seed + index, f"explore-{found.name}", "noise", place)
        gaussian = is_gaussian(found, scorer.problem)
        budget = group_budget(
            epsilon=epsilon, delta=delta, size=_each(scorer.problem), gaussian=gaussian
        )
        model, _ = found.fit(
            scorer.problem,
            rows=train,
            epsilon=budget[0],
            delta=budget[1],
            random_state=rng,
            settings=settings,
        )
        scores.append(scorer.scores(model, test))
    return scores
