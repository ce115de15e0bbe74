"""The evidence behind :mod:`dplit.advice.classifiers`: all learners at their best public settings.

Records of length 1 have a margin, and the rest of them is *round*, or leans one way for nine in ten
and the other way for one (*crowd*), whom the mean of the records gets wrong, or it is round in 5 or
20 directions of d, the same for all (*rank*). Errors are exact given
the weights. All learners meet the same records.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betainc

from dplit._checks import Array
from dplit._numerics.clipping import clip_rows
from dplit.accounting import gdp_budget
from dplit.advice._classifier_settings import LARGE, ClassifierFacts, components, configure
from dplit.features import sign_projection
from dplit.linear.objective import objective_noise
from dplit.margins.projected import pure_components
from dplit.mechanisms import gamma_norm_noise
from dplit.papers.margin.gibbs import gaussian_prior_draw
from dplit.papers.margin.output_perturbation import _PenalisedHinge, _perturbed_minimiser
from dplit_studies.trials import Trial, run_trials

#: What is compared at both values of delta; what `dplit.advice._classifier_settings` lacks is
#: the paper's, or too slow to be an estimator.
METHODS = {
    0.0: ("mean", "objective", "mean, projected", "projected", "prior"),
    1e-6: (
        "mean",
        "objective",
        "descent",
        "margin",
        "margin, projected",
        "output",
        "projected",
        "descent, projected",
    ),
}

#: Directions of the records beside the one of the margin; None: all.
RANKS = {"round": None, "crowd": None, "rank 5": 5, "rank 20": 20}

LAWS = tuple(RANKS)

#: Axes of the map: records, columns, margin, flipped labels, epsilon.
AXES = ((300, 3000), (20, 200, 2000), (0.1, 0.3), (0.0, 0.2), (0.1, 1.0, 10.0))

#: Where descents have time: records, columns, margin, flipped labels, epsilon.
LARGE_AXES = ((16_000,), (20, 200), (0.1, 0.3), (0.05,), (0.1, 1.0))

#: Where records lie in few directions: the same, with as many columns as signs are for.
RANK_AXES = ((300, 3000), (2000,), (0.1, 0.3), (0.0, 0.2), (0.1, 1.0, 10.0))

#: How far the crowd leans, share of those that lean the other way.
_LEAN, _FEW = 0.8, 0.1

#: Most columns of a fit with second derivatives, most records of a draw from the
#: prior. Thrown columns are tried with a delta in more columns, and with no more records unless
#: these have a rank.
_WIDE, _MANY = 500, 300


def records(
    law: str, facts: ClassifierFacts, rng: np.random.Generator, *, lean: float = _LEAN
) -> tuple[Array, Array]:
    """Draw unit records, first entry the margin times the right label, and labels with flips."""
    rho, s = facts.margin, math.sqrt(1.0 - facts.margin**2)
    y = np.where(rng.random(facts.n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((facts.n, facts.d))
    X[:, 0] = 0.0
    if (rank := RANKS[law]) is not None:
        X[:, rank + 1 :] = 0.0
    lies = 0.0
    if law == "crowd":
        X[:, 1], lies = 0.0, lean
    X *= (s * math.sqrt(1.0 - lies**2) / np.sqrt(np.vecdot(X, X)))[:, None]
    X[:, 0] = rho * y
    if lies:
        X[:, 1] = s * lies * y * np.where(rng.random(facts.n) < _FEW, -1.0, 1.0)
    return X, np.where(rng.random(facts.n) < facts.flips, -y, y)


def _cap(shift: float, length: float, dimension: int) -> float:
    """P(shift + length c <= 0) for a coordinate c of a random unit vector."""
    if abs(shift) >= length:
        return 0.0 if shift > 0 else 1.0
    tail = float(betainc((dimension - 1) / 2, 0.5, 1.0 - (shift / length) ** 2)) / 2
    return tail if shift >= 0 else 1.0 - tail


def law_error(law: str, facts: ClassifierFacts, w: Array, *, lean: float = _LEAN) -> float:
    """Exact share of wrong classes among new records, flipped labels included."""
    rho, s = facts.margin, math.sqrt(1.0 - facts.margin**2)
    if law != "crowd":
        rank = RANKS[law]
        rest = w[1:] if rank is None else w[1 : rank + 1]
        wrong = _cap(rho * w[0], s * float(np.linalg.norm(rest)), len(rest))
    else:
        length = s * math.sqrt(1.0 - lean**2) * float(np.linalg.norm(w[2:]))
        ends = [_cap(rho * w[0] + side * s * lean * w[1], length, facts.d - 2) for side in (1, -1)]
        wrong = (1.0 - _FEW) * ends[0] + _FEW * ends[1]
    return facts.flips + (1.0 - 2.0 * facts.flips) * wrong


def _noisy_mean(X: Array, y: Array, facts: ClassifierFacts, rng: np.random.Generator) -> Array:
    """The estimators' minimiser at a large penalty, where no score reaches the corner of the hinge:
    the sum with the noise of objective perturbation, less its share for the solver.
    """
    left = facts.epsilon - 1e-3 * min(facts.epsilon, 1.0)
    noise = objective_noise(
        epsilon=left,
        delta=facts.delta,
        data_norm=1.0,
        jacobian=math.log1p(1.0 / (2.0 * LARGE * len(X))),
    )
    d = X.shape[1]
    drawn = (
        noise * rng.standard_normal(d) if facts.delta else gamma_norm_noise(d, rate=noise, rng=rng)
    )
    return np.asarray(y @ X - drawn)


def weights_of(
    name: str,
    X: Array,
    y: Array,
    facts: ClassifierFacts,
    public: np.random.Generator,
    rng: np.random.Generator,
) -> Array | None:
    """Weights of a learner, None where it would take minutes."""
    n, d = X.shape
    rho = facts.margin * (1.0 - 2.0 * facts.flips)
    k = pure_components(n_samples=n, n_features=d, epsilon=facts.epsilon, margin=rho)
    if name == "mean":
        return _noisy_mean(X, y, facts, rng)
    if name == "mean, projected":
        S = sign_projection(d, k, rng=public) if k < d else None
        Z = X if S is None else clip_rows(X @ S.T, 1.0)
        w = _noisy_mean(Z, y, facts, rng)
        return w if S is None else np.asarray(w @ S)
    if name == "prior":
        if n > _MANY:
            return None
        return gaussian_prior_draw(X, y, epsilon=facts.epsilon, rng=rng, max_proposals=20_000)
    if name == "output":
        if d > _WIDE or n > 3000:
            return None
        mu = gdp_budget(epsilon=facts.epsilon, delta=facts.delta)
        task = _PenalisedHinge(facts.margin, 1.0, 1.0, tolerance=1e-9)
        return np.asarray(_perturbed_minimiser(X, y, task, mu=mu, rng=rng).weights[0])
    if name in ("projected", "descent, projected") and facts.delta:
        k = components(facts)
        slow = n > _MANY and facts.rank is None
        if k == d or d <= _WIDE or slow:  # another candidate, little to throw, or slow
            return None
    if (name == "objective" and d > _WIDE) or (name == "projected" and min(k, d) > _WIDE):
        return None
    model = configure("margin" if name == "margin, projected" else name, facts)
    if name == "margin, projected":
        model.set_params(projection="sign", n_components=max(10, d // 10))
    model.set_params(random_state=rng, classes=(-1.0, 1.0))
    with warnings.catch_warnings():  # that noise rules is what is measured
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(model.fit(X, y).coef_)


def _trial(trial: Trial, *, law: str, facts: ClassifierFacts) -> list[float]:
    """Errors of all methods, those without a delta first; nan where one was not run."""
    X, y = records(law, facts, trial.stream("data"))
    public, noise, found = trial.stream("public"), trial.stream("noise"), []
    for delta, names in METHODS.items():
        for name in names:
            told = facts._replace(delta=delta, rank=RANKS[law])
            w = weights_of(name, X, y, told, public.spawn(1)[0], noise.spawn(1)[0])
            found.append(math.nan if w is None else law_error(law, facts, w))
    return found


def cell(law: str, facts: ClassifierFacts, n_trials: int, *, seed: int = 0) -> dict[str, Any]:
    """One cell of the map: mean errors and standard errors by delta and method."""
    name = "margin-choice-" + "-".join(map(str, (law, *facts[:5])))
    one = partial(_trial, law=law, facts=facts)
    runs = np.array(run_trials(one, n_trials, seed=seed, name=name, progress=False))
    mean, se = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(n_trials)
    return {
        "law": law,
        **dict(list(facts._asdict().items())[:5]),
        "trials": n_trials,
        "mean": _rounded(mean),
        "se": _rounded(se),
    }


def _rounded(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(f"{v:.5g}") for v in values]


def cells() -> Iterator[tuple[str, ClassifierFacts, int]]:
    """Yield laws, facts and numbers of trials of the map."""
    for n, d, margin, flips, epsilon in itertools.chain(
        itertools.product(*AXES), itertools.product(*LARGE_AXES)
    ):
        for law in ("round", "crowd"):
            yield law, ClassifierFacts(n, d, margin, flips, epsilon, 0.0), 2 if n > 3000 else 4
    for n, d, margin, flips, epsilon in itertools.product(*RANK_AXES):
        for law in ("rank 5", "rank 20"):
            yield law, ClassifierFacts(n, d, margin, flips, epsilon, 0.0), 4 if n <= _MANY else 3
