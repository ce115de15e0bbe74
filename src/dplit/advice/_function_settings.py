"""Facts, candidates, settings and learnt gains of private learners for one task.

What each candidate gains over a constant, as a share of what can be gained, is a product of two
logistic curves, of the records alone and of records times budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from scipy.special import expit
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from dplit._checks import check_choice, check_delta, check_epsilon, check_integer
from dplit.advice.engine import ExpectedError, learnt
from dplit.kernels._defaults import (
    ANSWER_COMPONENTS,
    ANSWER_LOSSES,
    KernelPlan,
    default_regularization,
    default_width,
)
from dplit.kernels.answers import LaplaceAnswers
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.linear.objective import SmoothLoss
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier, objective_penalty
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_sigma

FunctionShape = Literal["linear", "curved"]

Signal = Literal["weak", "medium", "strong"]

_SIGNALS = ("weak", "medium", "strong")

#: Penalty of a few answers times records times epsilon over their number; at most 1.
_ANSWERS = {"hinge": 3.0, "logistic": 10.0}

#: Penalty of objective perturbation in features times records times epsilon: of 1, 3 and 10.
_FEATURES = 10.0


class FunctionFacts(NamedTuple):
    """Everything that advice may read."""

    n: int
    d: int
    loss: str
    epsilon: float
    delta: float
    n_questions: int | None = None
    shape: str = "linear"
    signal: str = "medium"


#: In words, by candidate.
CANDIDATES = {
    "answers": "Laplace noise on the few values that are asked",
    "objective pure": "objective perturbation with noise of gamma-distributed length",
    "objective Gaussian": "objective perturbation with Gaussian noise",
    "gradient": "noisy gradients with steps and clipping from public numbers",
    "moments": "noisy sufficient statistics",
    "gamma": "a kernel machine whose coefficients have noise of gamma-distributed length",
    "queries": "a kernel machine drawn through twenty noisy answers",
    "process": "a kernel machine with the noise of a Gaussian process",
}

#: Whose noise is Gaussian, which takes a delta.
_GAUSSIAN = ("objective Gaussian", "gradient", "moments", "process")

_RELEASES = {"gamma": "gamma", "queries": "queries", "process": "gaussian_process"}

_N_QUERIES = 20


def usable(facts: FunctionFacts) -> list[str]:
    """Return the candidates that can be used: a delta where noise is Gaussian, few questions, ...

    Noisy gradients and moments fit least squares; a sign of theirs is no candidate of ours.
    """
    regression = facts.loss == "squared"
    out = {"objective pure", "objective Gaussian"} if regression else {"gradient", "moments"}
    out |= set(_GAUSSIAN) if facts.delta == 0.0 else set()
    out |= {"answers"} if facts.n_questions is None else set()
    return [name for name in CANDIDATES if name not in out]


def ladder(penalty: float) -> float:
    """Return the power of two nearest to a penalty, between 2^-30 and 2^10."""
    return float(2.0 ** min(max(round(math.log2(penalty)), -30), 10))


def penalty(name: str, facts: FunctionFacts) -> float:
    """Penalty of answers and of kernel machines, from public numbers, rounded by :func:`ladder`."""
    q = facts.n_questions or 1
    if name == "answers" and facts.loss != "squared":
        return ladder(min(_ANSWERS[facts.loss] * q / (facts.n * facts.epsilon), 1.0))
    count = q if name == "answers" else _N_QUERIES
    delta = facts.delta if name == "process" else 0.0
    release = _RELEASES.get(name, "queries")
    return ladder(_balanced(facts.loss, facts.n, facts.epsilon, delta, release, count))


@lru_cache(maxsize=4096)
def _balanced(
    loss: str, n_records: int, epsilon: float, delta: float, release: str, n_queries: int
) -> float:
    """Penalty of kernel machines, whose sensitivity for least squares is a search."""
    plan = KernelPlan(
        loss=loss,
        tau=0.5,
        n_records=n_records,
        dimension=2 * ANSWER_COMPONENTS,
        epsilon=epsilon,
        delta=delta,
        release=release,
        n_queries=n_queries,
    )
    return default_regularization(plan)


def configure(name: str, facts: FunctionFacts) -> Any:
    """Return a candidate's estimator, not fitted."""
    norm, curved = math.sqrt(facts.d / 2.0), facts.shape == "curved"
    budget: dict[str, Any] = {"epsilon": facts.epsilon}
    if name in _GAUSSIAN:
        budget["delta"] = facts.delta
    width = default_width(facts.d)
    if name == "answers":
        if facts.n_questions is None:
            raise ValueError("n_questions must be a number for answers, got n_questions=None")
        kind: dict[str, Any] = {"width": width} if curved else {"data_norm": norm}
        return LaplaceAnswers(
            facts.loss,  # type: ignore[arg-type]
            n_questions=facts.n_questions,
            regularization=penalty(name, facts),
            **budget,
            **kind,
        )
    if name in _RELEASES:
        kernel: dict[str, Any] = {"n_components": ANSWER_COMPONENTS, "release": _RELEASES[name]}
        kernel |= {"regularization": penalty(name, facts), **budget}
        if name == "queries":
            kernel |= {"n_queries": _N_QUERIES, "data_norm": norm}
        if facts.loss == "squared":
            return PrivateKernelMachine(bounds=(-1.0, 1.0), **kernel)
        return PrivateKernelClassifier(loss=facts.loss, **kernel)  # type: ignore[arg-type]
    linear = _linear(name, facts.loss, {**budget, "data_norm": 1.0 if curved else norm})
    if not curved:
        return linear
    if name.startswith("objective"):  # features need no constant, which would halve their squares
        linear.set_params(fit_intercept=False, regularization=_feature_penalty(linear, facts))
    # public features, of norm near 1, drawn without the records
    return make_pipeline(
        RBFSampler(gamma=0.5 / width**2, n_components=2 * ANSWER_COMPONENTS), linear
    )


def _feature_penalty(model: ObjectivePerturbationClassifier, facts: FunctionFacts) -> float:
    """Penalty of objective perturbation in many features, not below the default."""
    least = objective_penalty(
        n_records=facts.n,
        dimension=2 * ANSWER_COMPONENTS,
        epsilon=facts.epsilon,
        delta=model.delta,
        loss=model.loss,
        smoothing=model.smoothing,
    )
    return max(_FEATURES / (facts.n * facts.epsilon), least)


def _linear(name: str, loss: str, stated: dict[str, Any]) -> Any:
    """Return a linear learner."""
    if name == "moments":
        stated |= {"bounds": (-1.0, 1.0), "neighboring": "replace_one"}
        return SufficientStatisticsRegressor(**stated)
    if name == "gradient":
        return NoisyGradientRegressor(bounds=(-1.0, 1.0), **stated)
    smooth: SmoothLoss = "logistic" if loss == "logistic" else "huberised_hinge"
    return ObjectivePerturbationClassifier(loss=smooth, **stated)


def strength(name: str, facts: FunctionFacts) -> float:
    """Budget that a candidate's noise is made of: epsilon, epsilon over the number of questions, or
    1 over the deviation of Gaussian noise at sensitivity 1.
    """
    if name in _GAUSSIAN:
        return 1.0 / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta))
    return facts.epsilon / (facts.n_questions or 1) if name == "answers" else facts.epsilon


def gain(name: str, facts: FunctionFacts, coefficients: Sequence[float]) -> float:
    r"""Share of what can be gained over a constant: a product of two logistic curves.

    :math:`\Lambda(a_0+a_1\ln n+a_2\ln d+a_3s)\,\Lambda(b_0+b_1\ln n+b_2\ln\epsilon'+b_3\ln d+b_4s)`
    with the signal s in -1, 0, 1 and :math:`\epsilon'` of :func:`strength`.
    """
    a, b = coefficients[:4], coefficients[4:9]
    n, d, s = math.log(facts.n), math.log(facts.d), _SIGNALS.index(facts.signal) - 1.0
    learnt = a[0] + a[1] * n + a[2] * d + a[3] * s
    heard = b[0] + b[1] * n + b[2] * math.log(strength(name, facts)) + b[3] * d + b[4] * s
    return float(expit(learnt) * expit(heard))


#: Least gain that is worth a release.
_USEFUL = 0.05

#: Of gains, by loss, shape and candidate: coefficients of :func:`gain`, and the deviation of a
#: single run over sqrt(g (1 - g) + 0.01). `benchmarks.maps.erm_archive.learn` made them.
LEARNT = learnt("functions")

#: Errors of the best constant and of the law itself at the three signals, by task and shape.
_LAWS: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("squared", "linear"): ((1.0, 0.9), (1.001, 0.6), (0.999, 0.1)),
    ("squared", "curved"): ((1.0, 0.9), (1.0, 0.6), (1.0, 0.1)),
    ("classes", "linear"): ((0.496, 0.319), (0.493, 0.154), (0.492, 0.05)),
    ("classes", "curved"): ((0.474, 0.296), (0.467, 0.115), (0.47, 0.032)),
}


def _checked(facts: FunctionFacts) -> FunctionFacts:
    """Return facts that are legal; infinitely many questions are the whole function."""
    check_choice("loss", facts.loss, ANSWER_LOSSES)
    check_choice("shape", facts.shape, ("linear", "curved"))
    check_choice("signal", facts.signal, _SIGNALS)
    check_epsilon(facts.epsilon)
    check_delta(facts.delta)
    q = facts.n_questions
    if isinstance(q, float) and math.isinf(q) and q > 0:
        q = None
    return facts._replace(
        n=check_integer("n", facts.n),
        d=check_integer("d", facts.d),
        n_questions=None if q is None else check_integer("n_questions", q),
    )


def expected_error(name: str, facts: FunctionFacts) -> ExpectedError:
    """Error that the map lets expect of a candidate.

    >>> facts = FunctionFacts(5000, 10, "hinge", epsilon=1.0, delta=0.0)
    >>> 0.15 < expected_error("objective pure", facts).mean < 0.25
    True
    """
    coefficients = LEARNT[f"{facts.loss}, {facts.shape}, {name}"]
    g = gain(name, facts, coefficients)
    task = "squared" if facts.loss == "squared" else "classes"
    trivial, best = _LAWS[task, facts.shape][_SIGNALS.index(facts.signal)]
    measure = (
        "mean squared error over the variance of labels"
        if task == "squared"
        else "share of wrong classes"
    )
    spread = (trivial - best) * coefficients[9] * math.sqrt(g * (1.0 - g) + 0.01)
    return ExpectedError(measure, trivial - g * (trivial - best), spread, trivial, best)


def _by_error(facts: FunctionFacts) -> list[str]:
    """Return the candidates, the least expected error first; of equal ones the first named."""
    known = [name for name in usable(facts) if f"{facts.loss}, {facts.shape}, {name}" in LEARNT]
    return sorted(known, key=lambda name: expected_error(name, facts).mean)


def ranking(facts: FunctionFacts) -> list[str]:
    """Return the candidates that are expected to be useful, the best first.

    >>> ranking(FunctionFacts(1000, 10, "hinge", epsilon=1.0, delta=0.0))[0]
    'objective pure'
    """
    found = {name: expected_error(name, facts) for name in _by_error(facts)}
    return [
        name for name, e in found.items() if e.trivial - e.mean >= _USEFUL * (e.trivial - e.best)
    ]
