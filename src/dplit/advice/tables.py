r"""Which mechanism for a table, from public facts alone: a rule learnt on tables.

One number says how much a budget can learn, :func:`strength`,

.. math:: r=\frac{n}{s\sqrt m},

n records in m columns with s the deviation of the Gaussian noise that hides a replaced record of
norm 1. Where r is small, straight lines for the columns; else a shape for each. The limits have the
least mean regret on ``results/face_off_choice.json``: tables that anybody can make and measure
again, and numbers of other packages' tables, whole and cut to a tenth, 168 cells of regression,
208 of two classes and 48 of more. The rule is on average 0.019 of R2 and 0.008 and 0.007 of
accuracy below the best of each cell; from 2,000 records on 0.003, 0.003 and 0.000;
below 500 0.050, 0.014 and 0.014. With limits learnt without the table 0.024, 0.010
and 0.008 on average, and 0.005, 0.003 and 0.000 from 2,000 records on. Means hide what happens to
one small table: whoever follows :func:`recommend`, and takes the constant where it names nothing,
loses below 500 records 0.031, 0.018 and 0.013 on average, and 0.241, 0.319 and 0.058 in the worst
cell; from 2,000 records on 0.044, 0.042 and 0.004 in the worst. A second public fact, ``expected``,
made both smaller on the regressions below 500 records that were tried, but for the worst case where
label bounds are more than 12 deviations of labels apart.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from scipy.special import expit

from dplit._checks import check_choice, check_epsilon, check_integer, check_probability
from dplit.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dplit.advice.engine import ExpectedError, Recommendation, learnt, outside
from dplit.advice.functions import recommend as recommend_answers
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.linear.regressors import NoisyGradientRegressor
from dplit.mechanisms import gaussian_sigma

Task = Literal["regression", "classification"]

#: Mechanism of straight lines, and the strength from which columns get shapes.
_LIMITS = {
    "regression": ("noisy_gradient", 7.9),
    "classes": ("noisy_gradient", 5.0),
    "many": ("noisy_gradient", 5.0),
}

#: The linear mechanism and the additive one, in words.
_WORDS = {
    "noisy_gradient": "noisy gradients for a linear model",
    "objective_perturbation": "objective perturbation of a linear model",
    "additive": "an additive model on public knots",
}


class _Kind(NamedTuple):
    """What was learnt of a kind of task: share of what can be gained ``expit(a + b ln r)``."""

    a: float
    b: float
    spread: float
    trivial: float
    best: float


class _Limits(NamedTuple):
    """What was learnt of regressions of which so much is expected: strengths below which a
    constant did best, and from which shapes did; and their curve.
    """

    nothing: float
    shapes: float
    curve: _Kind


#: By kind, as the archive has them; `trivial` and `best` are medians over its tables.
_KINDS = {kind: _Kind(*told) for kind, told in learnt("tables").items()}

#: By the R2 that is expected, as ``results/expected.json`` has them.
_BY_EXPECTED = {
    name: _Limits(told[0], told[1], _Kind(*told[2:]))
    for name, told in learnt("tables, expected").items()
}

_MEASURES = {
    "regression": "mean squared error over the variance of labels",
    "classes": "share of wrong classes",
    "many": "share of wrong classes",
}

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (205, 21_000),
    "n_columns": (2, 85),
    "n_classes": (2, 10),
    "epsilon": (0.3, 10.0),
    "delta": (1e-6, 1e-6),
    "task": ("regression", "classification"),
}

#: Strengths of the tables of each kind.
_STRENGTHS = {"regression": (0.949, 7340.0), "classes": (1.21, 6140.0), "many": (4.4, 8680.0)}

#: Shares of the most frequent class among the tables of two classes, and of more.
_BALANCES = {"classes": (0.5, 0.955), "many": (0.12, 0.51)}

#: Least share of what can be gained that is worth a release.
_USEFUL = 0.05


class _Public(NamedTuple):
    """Everything that the rule reads."""

    task: str
    n: int
    n_columns: int
    n_classes: int | None
    epsilon: float
    delta: float
    majority: float | None = None
    expected: str | None = None

    @property
    def kind(self) -> str:
        """Name of the kind of task."""
        if self.task == "regression":
            return "regression"
        return "classes" if self.n_classes == 2 else "many"


def strength(n: int, n_columns: int, epsilon: float, delta: float) -> float:
    r"""Return ``n / (s sqrt(n_columns))``, with s the noise that hides one replaced record.

    Without a delta the noise has a mean length of ``2 n_columns / epsilon`` in place of
    ``s sqrt(n_columns)``.

    >>> round(strength(2000, 9, epsilon=1.0, delta=1e-6), 1)
    78.9
    """
    if delta == 0.0:
        return n * epsilon / (2.0 * n_columns)
    noise = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=2.0))
    return n / (noise * math.sqrt(n_columns))


def ranked(
    *,
    task: str,
    n: int,
    n_columns: int,
    epsilon: float,
    delta: float,
    n_classes: int | None = None,
    expected: str | None = None,
) -> list[str]:
    """Names of mechanisms, the recommended one first; arguments as of :func:`recommend`.

    >>> table = {"task": "regression", "n_columns": 10, "epsilon": 1.0, "delta": 1e-6}
    >>> ranked(n=50, **table), ranked(n=300_000, **table)
    (['noisy_gradient', 'additive'], ['additive', 'noisy_gradient'])
    """
    facts = _checked(task, n, n_columns, n_classes, epsilon, delta, expected=expected)
    if delta == 0.0:  # noise of a descent is Gaussian
        return ["objective_perturbation", "additive"]
    names = [_LIMITS[facts.kind][0], "additive"]
    return names if _reach(facts) < _limit(facts) else names[::-1]


def _reach(facts: _Public) -> float:
    """Return the strength of a table's facts."""
    return strength(facts.n, facts.n_columns, facts.epsilon, facts.delta)


def _limit(facts: _Public) -> float:
    """Return the strength from which columns get shapes."""
    return _LIMITS[facts.kind][1] if facts.expected is None else _BY_EXPECTED[facts.expected].shapes


def _checked(
    task: str,
    n: int,
    n_columns: int,
    n_classes: int | None,
    epsilon: float,
    delta: float,
    majority: float | None = None,
    expected: str | None = None,
) -> _Public:
    """Return facts that are legal."""
    check_choice("task", task, ("regression", "classification"))
    check_epsilon(epsilon)
    if check_probability("delta", delta, zero=True) >= 0.5:
        raise ValueError(f"delta must be below 1/2, got delta={delta!r}")
    check_integer("n", n)
    check_integer("n_columns", n_columns)
    if task == "regression":
        if n_classes is not None:
            raise ValueError(f"n_classes must be None for regression, got n_classes={n_classes!r}")
        if majority is not None:
            raise ValueError(f"majority must be None for regression, got majority={majority!r}")
        if expected is not None:
            check_choice("expected", expected, tuple(_BY_EXPECTED))
    else:
        if expected is not None:
            rule = "expected must be None for classification"
            raise ValueError(f"{rule}, got expected={expected!r}")
        n_classes = check_integer("n_classes", 2 if n_classes is None else n_classes, minimum=2)
        if majority is not None and check_probability("majority", majority) < 1.0 / n_classes:
            rule = f"majority must be at least 1 / n_classes, {1.0 / n_classes:g}"
            raise ValueError(f"{rule}, got majority={majority!r}")
    if delta == 0.0 and n_classes != 2:
        raise ValueError(f"delta must be positive but for two classes, got delta={delta!r}")
    return _Public(task, n, n_columns, n_classes, epsilon, delta, majority, expected)


def _configured(name: str, facts: _Public) -> Any:
    """Return an estimator that is told the budget; what is public of a table is not known here."""
    budget = {"epsilon": facts.epsilon, "delta": facts.delta}
    if facts.task == "regression":
        regressor = {"additive": PrivateAdditiveRegressor, "noisy_gradient": NoisyGradientRegressor}
        return regressor[name](**budget)
    classifier: dict[str, Any] = {
        "additive": PrivateAdditiveClassifier,
        "noisy_gradient": NoisyGradientClassifier,
        "objective_perturbation": ObjectivePerturbationClassifier,
    }
    return classifier[name](**budget)


def _expected(facts: _Public) -> tuple[float, ExpectedError]:
    """Return the share of what can be gained, and the error, of what is recommended."""
    kind = _KINDS[facts.kind] if facts.expected is None else _BY_EXPECTED[facts.expected].curve
    rarity = _rarity(facts)
    reach = rarity * _reach(facts)
    share = min(rarity * float(expit(kind.a + kind.b * math.log(reach))), 1.0)
    trivial = kind.trivial if facts.majority is None else 1.0 - facts.majority
    best = rarity * kind.best
    gain = rarity * (kind.trivial - kind.best)
    error = trivial - share * gain
    return share, ExpectedError(_MEASURES[facts.kind], error, kind.spread * gain, trivial, best)


def _rarity(facts: _Public) -> float:
    """Error of the stated constant over that of the tables that the curve was learnt on."""
    if facts.majority is None:
        return 1.0
    return (1.0 - facts.majority) / _KINDS[facts.kind].trivial


def recommend(
    *,
    task: Task,
    n: int,
    n_columns: int,
    n_classes: int | None = None,
    epsilon: float,
    delta: float,
    majority: float | None = None,
    expected: Literal["little", "some", "much"] | None = None,
    n_questions: int | None = None,
) -> Recommendation:
    """Recommend a mechanism for a table from public facts; it never takes data.

    Parameters
    ----------
    task : {"regression", "classification"}
    n, n_columns : int
        Public numbers of records, and of columns to learn from (a column of texts is one).
    n_classes : int or None, default=None
        Number of classes, by default two; None for regression.
    epsilon, delta : float
        Budget of everything. A delta of 0 is for two classes only.
    majority : float or None, default=None
        Public share of the most frequent class, from one over ``n_classes`` to below 1: known from
        elsewhere, not counted in the table. What is expected, and whether it is worth a release,
        then follow the error of *this* constant; None is the median of the tables of the rule.
    expected : {"little", "some", "much"} or None, default=None
        Share of the variance of labels that columns are expected to tell without privacy, by what
        is known elsewhere: an R2 below 0.2, from there on, or from 0.5 on. For regression only;
        what is recommended then follows it, see the notes. None is no answer.
    n_questions : int or None, default=None
        If only so many values of the fitted function will ever be asked,
        :func:`dplit.advice.functions.recommend` answers, for regression and two classes.

    Returns
    -------
    Recommendation
        Its ``name`` is that by which :func:`dplit.tables.releasing.release` knows the mechanism.
        Its estimator is told the budget. What is public of the table is yours to set:
        ``set_params(box=..., indicators=..., bounds=...)`` for additive models, ``data_norm`` and
        ``bounds`` or ``classes`` for linear ones; a fit without them is refused. Both are None
        where less than a twentieth of what can be gained over a constant is expected, or, with
        ``expected``, where a constant did best.

    Notes
    -----
    The rule and the errors are from tables of 205 to 21,000 records and 2 to 85 columns, whose
    signals differ: ``spread`` is the deviation between tables and runs, ``trivial`` and ``best``
    are medians. With delta 0 it is objective perturbation, which alone is pure.

    With a ``majority`` a constant errs t = 1 - majority, s = t / ``trivial`` of what it errs by the
    median. The share that is gained of what can be is then s times the learnt one at a strength of
    s r: of n records s n tell of rare classes, and against the odds columns decide less often. It
    has no further number that is fitted. On the 92 cells of two classes whose constant errs at most
    0.3 it is off by 0.006 (t up to 0.12) and 0.018 (above) in the mean, without ``majority`` by
    0.216 and 0.079; t was from 0.045 on. On the 48 cells of more classes, t from 0.49, it is off by
    0.10 in the mean and without by 0.11. On tables of ``results/balance.json``, from which nothing
    was learnt, it is off by 0.060, 0.005 and 0.001 where the rare of two classes is a fifth, a
    twentieth and a hundredth, and without by 0.136, 0.193 and 0.180. It is about wrong classes
    alone: where a model has no fewer than the constant, its scores may rank records all the same,
    as the AUC tells (:func:`dplit.tables.exploring.explore`).

    With ``expected`` each answer has two limits of the strength: below the first nothing is worth a
    release, from the second on columns get shapes. They are learnt from made tables of 20 laws (200
    to 20,000 records, 5 to 75 columns that are independent, alike, texts or in loose boxes, label
    bounds 4 to 12 deviations of labels apart) and with as much weight from the face-off's
    regressions (``results/expected.json``). R2 lost against the best of both mechanisms and a
    constant, mean and worst over epsilon 0.3 to 10, where nothing is the constant; with
    ``expected`` the law or the table is left out, and without it the limits were learnt on the
    face-off's tables (these left out too, it loses 0.005 from 2,000 records on):

    =====================================  ===========  =================
    regret of R2, mean and worst           without      with ``expected``
    =====================================  ===========  =================
    laws                                   0.045, 0.89  0.023, 0.52
    laws, below 500 records                0.057, 0.89  0.034, 0.52
    laws, from 2,000 records               0.021, 0.25  0.011, 0.08
    face-off's tables                      0.013, 0.24  0.011, 0.20
    face-off's tables, below 500 records   0.031, 0.24  0.014, 0.20
    face-off's tables, from 2,000 records  0.003, 0.04  0.007, 0.17
    bundled tables                         0.051, 0.67  0.028, 0.44
    bundled tables, below 500 records      0.070, 0.67  0.036, 0.44
    bundled tables, from 2,000 records     0.006, 0.02  0.006, 0.02
    with wider bounds                      0.126, 0.70  0.122, 0.98
    with wider bounds, below 500 records   0.134, 0.70  0.129, 0.98
    with wider bounds, from 2,000 records  0.059, 0.09  0.059, 0.09
    =====================================  ===========  =================

    Nothing was learnt from the bundled tables, whose wider bounds are 14 to 29 deviations apart:
    there the worst case is worse with ``expected``. The means of laws fall by 0.021 (standard error
    0.006); those of real data sets tie: 0.029 (0.019) on 7 bundled ones, -0.004 (0.004) on the 14
    of the face-off. An answer one too high lost 0.037, 0.011 and 0.030 on average on laws, the
    face-off's tables and bundled ones, less than none; one too low 0.021, 0.029 and 0.057. In the
    place of this fact the width of label bounds over the deviation of labels left 0.025, 0.016 and
    0.074, whether columns are alike 0.025, 0.019 and 0.033, and the deviation of predictions over
    that width 0.020, 0.011 and 0.044; columns that are alike beside it 0.019, 0.013 and 0.032. It
    was chosen among these by all three numbers.

    Examples
    --------
    >>> advice = recommend(task="classification", n=6000, n_columns=8, n_classes=2, epsilon=1.0,
    ...     delta=1e-6)
    >>> advice.name, type(advice.estimator).__name__, advice.estimator.epsilon
    ('additive', 'PrivateAdditiveClassifier', 1.0)
    >>> rare = recommend(task="classification", n=12_600, n_columns=11, epsilon=0.3, delta=1e-6,
    ...     majority=0.955)
    >>> rare.name is None, round(rare.expected.trivial, 3)
    (True, 0.045)
    >>> wide = {"task": "regression", "n": 280, "n_columns": 73, "epsilon": 1.0, "delta": 1e-6}
    >>> recommend(**wide).name, recommend(**wide, expected="much").name
    (None, 'noisy_gradient')
    >>> recommend(task="regression", n=50, n_columns=30, epsilon=0.1, delta=1e-6).estimator is None
    True
    """
    facts = _checked(task, n, n_columns, n_classes, epsilon, delta, majority, expected)
    tried = _TRIED if majority is None else _TRIED | {"majority": _BALANCES[facts.kind]}
    tried = tried | {"strength": _STRENGTHS[facts.kind]}
    if expected is not None:
        tried = _TRIED | {"expected": tuple(_BY_EXPECTED)}
    if n_questions is not None:
        for name, fact in (("majority", majority), ("expected", expected)):
            if fact is not None:
                raise ValueError(f"{name} must be None with n_questions, got {name}={fact!r}")
        if facts.kind == "many":
            raise ValueError(
                f"n_questions must be None for more than two classes, got {n_questions}"
            )
        return recommend_answers(
            n=n,
            d=n_columns,
            loss="squared" if task == "regression" else "hinge",
            epsilon=epsilon,
            delta=delta,
            n_questions=n_questions,
        )
    stated: dict[str, Any] = {"task": task, "n_classes": facts.n_classes, "n_columns": n_columns}
    name = ranked(n=n, epsilon=epsilon, delta=delta, expected=expected, **stated)[0]
    share, error = _expected(facts)
    told = _reason(facts, name)
    reach = None if delta == 0.0 else _reach(facts)
    beyond = outside(facts._asdict() | {"strength": reach}, tried)
    nothing = error._replace(mean=error.trivial, spread=0.0)
    if expected is not None and _reach(facts) < (least := _BY_EXPECTED[expected].nothing):
        reason = f"n / (noise sqrt(columns)) is {_beside(facts, least)}: a constant "
        reason += f"did best where columns are expected to tell {expected}"
        return Recommendation(None, f"{reason}{beyond}.", tried, nothing)
    if expected is None and share < _USEFUL:
        reason = f"{told} would gain {share:.0%} of what can be gained over a constant"
        if majority is not None:
            reason += f" that errs {error.trivial:.2g}; scores may rank records all the same"
        return Recommendation(None, f"{reason}{beyond}.", tried, nothing)
    if facts.delta == 0.0:
        reason = f"{told}, which alone is pure{beyond}."
    else:
        reason = f"{told} lost less in the mean over the tables of that side{beyond}."
    return Recommendation(_configured(name, facts), reason, tried, error, name)


def _reason(facts: _Public, name: str) -> str:
    """Say by which number a mechanism was chosen."""
    if facts.delta == 0.0:
        return "without a delta objective perturbation of a linear model"
    return f"n / (noise sqrt(columns)) is {_beside(facts, _limit(facts))}: {_WORDS[name]}"


def _beside(facts: _Public, limit: float) -> str:
    """Return the strength and its side of a limit, with as many digits as tell them apart."""
    reach, digits = _reach(facts), 3
    while digits < 17 and (float(f"{reach:.{digits}g}") < limit) != (reach < limit):
        digits += 1
    shown = f"{reach:.{digits}g}" if reach < 999.5 else f"{reach:,.0f}"
    return f"{shown}, {'below' if reach < limit else 'above'} {limit:g}"
