"""Private clustering at public facts: settings, noise and expected error of each candidate.

The error of k centres is their risk less that of k-means without privacy, over what k-means gains
on the mean of all records: 0 is as good as without privacy, 1 as bad as one centre. Its laws are
learnt from simulations, `benchmarks.maps.sketching`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from dplit.advice.engine import learnt
from dplit.clusters.estimator import PrivateLloyd
from dplit.clusters.lloyd import lloyd_noise
from dplit.mechanisms import gaussian_sigma
from dplit.sketching.estimators import CompressiveKMeans

#: Deviation of a coordinate of the centres, which are uniform on [-0.8, 0.8], in half widths.
CENTRES = 0.8 / math.sqrt(3.0)


class ClusterFacts(NamedTuple):
    """Everything that advice may read; ``delta`` 0 is a pure budget."""

    n: int
    d: int
    k: int
    separation: float
    epsilon: float
    delta: float = 0.0


#: In words, by candidate; the last two are no estimators of the package.
CANDIDATES = {
    "sketch": "a sketch",
    "sketch, short": "a sketch of few frequencies",
    "lloyd, 1 step": "one noisy Lloyd step",
    "lloyd, 3 steps": "three noisy Lloyd steps",
    "lloyd, wide": "three noisy Lloyd steps from many centres",
    "grid": "a grid of noisy counts",
    "tree": "a tree of noisy counts",
}

#: Largest error that is worth a release.
USEFUL = 0.95

#: A sketch is taken where another candidate is expected to err less by no more than this: it asks
#: least of where in the box the records lie.
_TIE = 0.02

#: No grid has so many columns that two cells an axis come to more than 65,536.
_GRIDS = 16


def frequencies_of(facts: ClusterFacts, name: str) -> int:
    """Number of frequencies of a sketch: the estimator's own, or 2.5 for each coordinate."""
    d, k = facts.d, facts.k
    whole = k * min(10 * d, 60 + 3 * d)
    return whole if name == "sketch" else max(math.ceil(2.5 * k * d), k * (d + 1))


def settings(name: str, facts: ClusterFacts) -> dict[str, Any]:
    """Arguments of a candidate's estimator, for records in the box [-1, 1]^d."""
    told: dict[str, Any] = {
        "n_clusters": facts.k,
        "epsilon": facts.epsilon,
        "delta": facts.delta,
        "bounds": (-1.0, 1.0),
    }
    if name.startswith("sketch"):
        noise = "gaussian" if facts.delta else "polydisc"
        return told | {"noise": noise, "n_frequencies": frequencies_of(facts, name)}
    wide = 8 * facts.k if name == "lloyd, wide" else None
    steps = 1 if name == "lloyd, 1 step" else 3
    noise = "gaussian" if facts.delta else "laplace"
    return told | {"noise": noise, "n_iter": steps, "n_candidates": wide}


def configure(name: str, facts: ClusterFacts) -> Any:
    """Return a candidate's estimator, for columns in [-1, 1], not fitted."""
    kind = CompressiveKMeans if name.startswith("sketch") else PrivateLloyd
    return kind(**settings(name, facts))


def noise_ratio(name: str, facts: ClusterFacts) -> float:
    """Deviation of a candidate's noise on one number, over the records of one cluster.

    A sketch has it on every frequency, Lloyd's steps on a coordinate of a sum, a grid on a count, a
    tree on a coordinate of a leaf.
    """
    n, d, k, _, epsilon, delta = facts
    if name.startswith("sketch"):
        m = frequencies_of(facts, name)
        level = math.sqrt((2 * m + 1) * (2 * m + 2)) / 2.0 / epsilon
        if delta:
            level = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(m))
    elif name.startswith("lloyd"):
        told = settings(name, facts)
        scales = lloyd_noise(
            d, epsilon=epsilon, delta=delta, n_iter=told["n_iter"], noise=told["noise"]
        )
        level = scales.sum_scale * (1.0 if delta else math.sqrt(2.0))
    elif name == "tree" and delta:
        level = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(d))
    else:
        level = (d if name == "tree" else 1.0) / epsilon
    return float(level) * k / n


#: Law of each candidate's error, :func:`law_of_error`; `choice_map.learn` made it.
LEARNT = learnt("clusters")

#: Deviation of a single run around the law: a least one, and a share of the error.
_SPREAD = (0.02, 0.8)


def law_of_error(coefficients: Any, ratio: Any, d: Any, k: Any, separation: Any) -> Any:
    r"""Error with eleven coefficients; all arguments but the first are logarithms.

    :math:`e^{a\cdot l}`, at most 1, is lost without noise, and :math:`t/(1+e^{-b\cdot l'})` to it:
    l are 1 and the logarithms of d, k and separation, l' has that of the noise ratio too, and the
    product of those of d and k.
    """
    a, top, b = coefficients[:4], coefficients[4], coefficients[5:]
    bare = a[0] + a[1] * d + a[2] * k + a[3] * separation
    noisy = b[0] + b[1] * ratio + b[2] * d + b[3] * k + b[4] * separation
    noisy = noisy + b[5] * d * k
    return np.exp(np.minimum(bare, 0.0)) + top * expit(noisy)


def _error(name: str, facts: ClusterFacts) -> float:
    ratio = math.log(noise_ratio(name, facts))
    logs = math.log(facts.d), math.log(facts.k), math.log(facts.separation)
    return float(law_of_error(LEARNT[name], ratio, *logs))


def errors_of(facts: ClusterFacts) -> dict[str, float]:
    """Expected errors by candidate; more than 16 columns have no grid."""
    names = [name for name in CANDIDATES if name != "grid" or facts.d <= _GRIDS]
    return {name: _error(name, facts) for name in names}


def _shipped(found: dict[str, float]) -> dict[str, float]:
    return {name: error for name, error in found.items() if name not in ("grid", "tree")}


def chosen(found: dict[str, float]) -> str:
    """Which candidate of the package has the least expected error; a sketch where it is close.

    >>> chosen({"sketch": 0.05, "lloyd, 1 step": 0.04, "grid": 0.0})
    'sketch'
    """
    ours = _shipped(found)
    name = min(ours, key=lambda one: ours[one])
    return "sketch" if ours["sketch"] <= ours[name] + _TIE else name
