r"""Which private learner for which task: advice from public facts, learnt on a map of simulations.

The map (`dplit_studies.erm.choice_map`, archived) holds errors of all candidates. What each gains
over a constant, as a share of what can be gained, is summed up here as a product of two logistic
curves, of the records alone and of records times budget; :func:`recommend` takes the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit._estimators import clamp, clip_rows, stated_ends
from dplit.baselines import (
    NoisyGradientRegressor,
    ObjectivePerturbationClassifier,
    SufficientStatisticsRegressor,
)
from dplit.erm.estimators import (
    PrivateKernelClassifier,
    PrivateKernelMachine,
    _certified_weights,
    _default_regularization,
    _default_width,
)
from dplit.erm.repairs import QueryOracle
from dplit.features import cos_sin_features, random_frequencies

Loss = Literal["squared", "logistic", "hinge"]

Shape = Literal["linear", "curved"]

Signal = Literal["weak", "medium", "strong"]

_LOSSES = ("squared", "logistic", "hinge")

_SIGNALS = ("weak", "medium", "strong")

#: Pairs of a cosine and a sine of the kernel machines; as many features for linear learners.
_COMPONENTS = 50

#: Penalty of a few answers times records times epsilon over their number; at most 1.
_ANSWERS = {"hinge": 3.0, "logistic": 10.0}


# A few answers: fresh Laplace noise on values, and nothing else is published.


class PrivateAnswers:
    """Answers of a fitted function with Laplace noise, at a fixed number of different points.

    It is the curator's: it holds the function and refuses to be pickled.
    """

    def __init__(self, settings: LaplaceAnswers, oracle: QueryOracle, frequencies: Array | None):
        self._settings, self._oracle, self._frequencies = settings, oracle, frequencies

    @property
    def epsilon(self) -> float:
        """Budget of all answers together; delta is 0, for replacing one record."""
        return self._oracle.epsilon

    @property
    def remaining(self) -> int:
        """Number of new points that can still be asked."""
        return self._oracle.remaining

    def answer(self, points: ArrayLike) -> Array:
        """Return noisy values at ``points`` (q, d); positive means the second class.

        Labels' bounds limit the answers of least squares. Choosing points by earlier answers is
        covered; a point asked twice gets the same answer.
        """
        rows = self._settings.features(points, self._frequencies)
        values = self._oracle.answer(rows)
        if self._settings.loss != "squared":
            return values
        low, high = stated_ends(self._settings.bounds)
        return np.clip(low / 2 + high / 2 + (high / 2 - low / 2) * values, low, high)


@dataclass(frozen=True)
class LaplaceAnswers:
    """A function of which a few values are asked: its fit stays secret, answers get Laplace noise.

    Attributes
    ----------
    loss : {"squared", "logistic", "hinge"}
    n_questions : int
        Number of different points that can be asked, fixed before the first.
    epsilon : float
        Budget of all answers together.
    regularization : float
        Factor of the squared norm beside the mean loss, in unit bounds.
    data_norm : float, default=1.0
        Norm to which rows and points are clipped, chosen without the data; linear functions only.
    width : float or None, default=None
        None for linear functions with an intercept; else that of a Gaussian kernel, through
        ``n_components`` public random frequencies.
    n_components : int, default=50
    bounds : tuple of float, default=(-1.0, 1.0)
        Lowest and highest label of the squared loss.

    Notes
    -----
    Replacing a record moves the function by at most the stability of Theorem 2 (or of least
    squares), the solver's error included; q answers have noise of scale q times that over epsilon.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = np.linspace(-1.0, 1.0, 2000)[:, None]
    >>> model = LaplaceAnswers("hinge", n_questions=2, epsilon=1.0, regularization=0.01)
    >>> answers = model.fit(X, np.sign(X[:, 0]), rng=stream(0, "example", "noise"))
    >>> np.sign(answers.answer([[-0.5], [0.5]])).tolist(), answers.remaining
    ([-1.0, 1.0], 0)
    """

    loss: Loss
    n_questions: int
    epsilon: float
    regularization: float
    data_norm: float = 1.0
    width: float | None = None
    n_components: int = _COMPONENTS
    bounds: tuple[float, float] = (-1.0, 1.0)

    def features(self, X: ArrayLike, frequencies: Array | None) -> Array:
        """Return rows of norm at most 1: clipped with a constant, or cosines and sines."""
        rows = clamp(check_real_array("X", X, 2))
        if frequencies is not None:
            return np.asarray(cos_sin_features(rows, frequencies))
        norm = check_positive("data_norm", self.data_norm)
        unit = clip_rows(rows, norm) / norm
        return np.hstack([unit, np.ones((len(unit), 1))]) / math.sqrt(2.0)

    def fit(self, X: ArrayLike, y: ArrayLike, *, rng: np.random.Generator) -> PrivateAnswers:
        """Fit the function, which is not published.

        Parameters
        ----------
        X, y : array_like of shapes (n_samples, d) and (n_samples,)
            Finite records and labels: 1 is the second class, everything else the first; those of
            least squares are clipped to ``bounds``.
        rng : numpy.random.Generator
            Source of features and noise, which get streams of their own.

        Returns
        -------
        PrivateAnswers
        """
        check_choice("loss", self.loss, _LOSSES)
        labels = check_finite_array("y", y, ndim=1)
        rows = check_real_array("X", X, 2)
        if len(labels) != len(rows):
            raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
        public, noise = check_rng(rng).spawn(2)
        frequencies = None
        if self.width is not None:
            gamma = 0.5 / check_positive("width", self.width) ** 2
            count = check_integer("n_components", self.n_components)
            frequencies = random_frequencies(rows.shape[1], count, gamma=gamma, rng=public)
        if self.loss == "squared":
            low, high = stated_ends(self.bounds)
            inside = np.clip(labels, low, high) - (low / 2 + high / 2)
            targets = np.clip(inside / (high / 2 - low / 2), -1.0, 1.0)
        else:
            targets = np.where(labels == 1, 1.0, -1.0)
        weights, sensitivity = _certified_weights(
            self.features(rows, frequencies), targets, loss=self.loss, tau=0.5, accuracy=None,
            regularization=check_positive("regularization", self.regularization),
        )  # fmt: skip
        oracle = QueryOracle(
            _inner, weights[None], [1.0], sensitivity=sensitivity, epsilon=self.epsilon,
            n_queries=self.n_questions, rng=noise,
        )  # fmt: skip
        return PrivateAnswers(self, oracle, frequencies)


def _inner(X: Array, Z: Array) -> Array:
    """Kernel of functions that are linear in features: the one with weights w is ``K(w, .)``."""
    return np.asarray(X @ Z.T)


# The candidates, configured from public facts for columns and labels in [-1, 1].


class Facts(NamedTuple):
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


def usable(facts: Facts) -> list[str]:
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


def penalty(name: str, facts: Facts) -> float:
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
    return _default_regularization(
        loss=loss, tau=0.5, n_records=n_records, dimension=2 * _COMPONENTS, epsilon=epsilon,
        delta=delta, release=release, n_queries=n_queries,
    )  # fmt: skip


def configure(name: str, facts: Facts) -> Any:
    """Return a candidate's estimator, not fitted."""
    norm, curved = math.sqrt(facts.d / 2.0), facts.shape == "curved"
    budget: dict[str, Any] = {"epsilon": facts.epsilon}
    if name in _GAUSSIAN:
        budget["delta"] = facts.delta
    width = _default_width(facts.d)
    if name == "answers":
        if facts.n_questions is None:
            raise ValueError("n_questions must be a number for answers, got n_questions=None")
        kind = {"width": width} if curved else {"data_norm": norm}
        return LaplaceAnswers(
            facts.loss, n_questions=facts.n_questions, regularization=penalty(name, facts),  # type: ignore[arg-type]
            **budget, **kind,
        )  # fmt: skip
    if name in _RELEASES:
        kernel: dict[str, Any] = {"n_components": _COMPONENTS, "release": _RELEASES[name]}
        kernel |= {"regularization": penalty(name, facts), **budget}
        if name == "queries":
            kernel |= {"n_queries": _N_QUERIES, "data_norm": norm}
        if facts.loss == "squared":
            return PrivateKernelMachine(bounds=(-1.0, 1.0), **kernel)
        return PrivateKernelClassifier(loss=facts.loss, **kernel)  # type: ignore[arg-type]
    linear = _linear(name, facts.loss, {**budget, "data_norm": 1.0 if curved else norm})
    if not curved:
        return linear
    # public features, of norm near 1, drawn without the records
    return make_pipeline(RBFSampler(gamma=0.5 / width**2, n_components=2 * _COMPONENTS), linear)


def _linear(name: str, loss: str, stated: dict[str, Any]) -> Any:
    """Return a linear learner."""
    if name == "moments":
        stated |= {"bounds": (-1.0, 1.0), "neighboring": "replace_one"}
        return SufficientStatisticsRegressor(**stated)
    if name == "gradient":
        return NoisyGradientRegressor(bounds=(-1.0, 1.0), **stated)
    smooth = "logistic" if loss == "logistic" else "huberised_hinge"
    return ObjectivePerturbationClassifier(loss=smooth, **stated)
