"""A few answers: fresh Laplace noise on values, and nothing else is published."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import spawn_generators
from dplit._bounds import stated_ends
from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_real_array,
    check_rng,
)
from dplit._numerics.clipping import clamp, clip_rows
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._defaults import ANSWER_COMPONENTS, ANSWER_LOSSES, Loss
from dplit.kernels._feature_release import _certified_weights
from dplit.kernels.queries import QueryOracle


class PrivateAnswers:
    """Answers of a fitted function with Laplace noise, at a fixed number of different points.

    It is the curator's: it holds the function and refuses to be pickled.

    >>> model = LaplaceAnswers("hinge", n_questions=2, epsilon=1.0, regularization=0.01)
    >>> answers = model.fit([[-1.0], [1.0]], [-1.0, 1.0], rng=np.random.default_rng(0))
    >>> bool(answers.answer([[0.5]])[0] == answers.answer([[0.5]])[0]), answers.remaining
    (True, 1)
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
    n_components: int = ANSWER_COMPONENTS
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
        check_choice("loss", self.loss, ANSWER_LOSSES)
        labels = check_finite_array("y", y, ndim=1)
        rows = check_real_array("X", X, 2)
        if len(labels) != len(rows):
            raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
        public, noise = spawn_generators(check_rng(rng), 2)
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
            self.features(rows, frequencies),
            targets,
            loss=self.loss,
            tau=0.5,
            accuracy=None,
            regularization=check_positive("regularization", self.regularization),
        )
        oracle = QueryOracle(
            _inner,
            weights[None],
            [1.0],
            sensitivity=sensitivity,
            epsilon=self.epsilon,
            n_queries=self.n_questions,
            rng=noise,
        )
        return PrivateAnswers(self, oracle, frequencies)


def _inner(X: Array, Z: Array) -> Array:
    """Kernel of functions that are linear in features: the one with weights w is ``K(w, .)``."""
    return np.asarray(X @ Z.T)
