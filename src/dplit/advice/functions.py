"""Which private learner for which task: advice from public facts, learnt on a map of simulations.

The map (`benchmarks.maps.erm`, archived) holds errors of all candidates. What each gains
over a constant, as a share of what can be gained, is summed up as a product of two logistic curves,
of the records alone and of records times budget; :func:`recommend` takes the largest.
"""

from __future__ import annotations

from typing import Any

from dplit.advice._function_settings import (
    _SIGNALS,
    CANDIDATES,
    FunctionFacts,
    FunctionShape,
    Signal,
    _by_error,
    _checked,
    configure,
    expected_error,
    ranking,
)
from dplit.advice.engine import ExpectedError, Recommendation, outside
from dplit.kernels._defaults import ANSWER_LOSSES, Loss

#: What was tried.
_TRIED: dict[str, Any] = {
    "n": (100, 100_000),
    "d": (2, 50),
    "epsilon": (0.1, 10.0),
    "delta": (0.0, 1e-5),
    "n_questions": (1, 100),
    "loss": ANSWER_LOSSES,
    "shape": ("linear", "curved (n to 10,000, d to 10)"),
    "signal": _SIGNALS,
}


def _outside(facts: FunctionFacts) -> str:
    curved = {"n": (100, 10_000), "d": (2, 10)} if facts.shape == "curved" else {}
    return outside(facts._asdict(), _TRIED | curved)


def recommend(
    *,
    n: int,
    d: int,
    loss: Loss,
    epsilon: float,
    delta: float = 0.0,
    n_questions: int | None = None,
    shape: FunctionShape = "linear",
    signal: Signal = "medium",
) -> Recommendation:
    """Recommend a private learner from public facts; it never takes data.

    Parameters
    ----------
    n, d : int
        Public numbers of records and of columns, which are taken to be scaled to [-1, 1] by public
        constants, as the labels of least squares are.
    loss : {"squared", "logistic", "hinge"}
        Regression, two classes with probabilities, or two classes.
    epsilon : float
        Budget of everything, positive.
    delta : float, default=0.0
        In [0, 1/2); 0 admits no Gaussian noise.
    n_questions : int or None, default=None
        Number of values that will be asked; None, or infinity: the whole function.
    shape : {"linear", "curved"}, default="linear"
        Whether a linear function of the columns is thought to do.
    signal : {"weak", "medium", "strong"}, default="medium"
        How much the columns tell, by what is known elsewhere: two classes with logit 1, 3 or 10
        times a linear form of unit variance; 10, 40 or 90 % of the variance of labels.

    Returns
    -------
    Recommendation
        Its estimator is None where nothing is expected to gain a twentieth of what can be gained
        over a constant.

    Notes
    -----
    Bounds are those of scaled columns, ``data_norm = sqrt(d / 2)``; others by ``set_params``. All
    candidates are for replacing one record. The errors are those of simulated laws.

    Examples
    --------
    >>> advice = recommend(n=5000, d=10, loss="hinge", epsilon=1.0)
    >>> type(advice.estimator).__name__
    'ObjectivePerturbationClassifier'
    >>> recommend(n=100, d=50, loss="hinge", epsilon=0.1).estimator is None
    True
    """
    facts = _checked(FunctionFacts(n, d, loss, epsilon, delta, n_questions, shape, signal))
    names = _by_error(facts)
    first = expected_error(names[0], facts)
    rivals = f"{len(names)} candidates at one budget"
    if not ranking(facts):
        reason = f"None of {rivals} is expected to beat a constant worth telling"
        reason += f": the nearest, {CANDIDATES[names[0]]}, would err {first.mean:.3g}"
        if facts.signal != "strong" and ranking(strong := facts._replace(signal="strong")):
            reason += f" (were the signal strong, {CANDIDATES[ranking(strong)[0]]} would help)"
        nothing = ExpectedError(first.measure, first.trivial, 0.0, first.trivial, first.best)
        return Recommendation(None, f"{reason}{_outside(facts)}.", _TRIED, nothing)
    least = CANDIDATES[names[0]]
    reason = f"Of {rivals}, {least} errs least by curves fitted to our map, {first.mean:.3g}"
    if len(names) > 1:
        second = expected_error(names[1], facts)
        reason += f"; next is {CANDIDATES[names[1]]}, {second.mean:.3g}"
    return Recommendation(configure(names[0], facts), f"{reason}{_outside(facts)}.", _TRIED, first)
