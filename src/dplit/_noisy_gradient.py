"""Full-batch gradient descent with clipped gradients and Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_rng,
)
from dplit._estimators import check_regression
from dplit.mechanisms import gaussian_sigma

__all__ = ["PrivateCoefficients", "noisy_gradient_descent", "squared_loss_derivative"]

Derivative = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class PrivateCoefficients:
    """A private linear model.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Coefficients.
    epsilon, delta : float
        Guarantee of the whole run.
    neighboring : str
        Its neighbouring relation.
    sigma : float
        Standard deviation of the noise on each sum of clipped gradients.
    """

    coef: NDArray[np.float64]
    epsilon: float
    delta: float
    neighboring: str
    sigma: float


def squared_loss_derivative(scores: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Derivative of ``(s - y)^2 / 2`` in the score s, for every record.

    Parameters
    ----------
    scores, y : ndarray of shape (n,)
        Scores ``<x, w>`` and labels.

    Returns
    -------
    ndarray of shape (n,)
        ``scores - y``.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.baselines import squared_loss_derivative
    >>> squared_loss_derivative(np.array([1.0]), np.array([3.0])).tolist()
    [-2.0]
    """
    return np.asarray(scores - y)


def _clipped_gradient_sum(
    X: NDArray[Any],
    lengths: NDArray[Any],
    y: NDArray[Any],
    w: NDArray[Any],
    clip: float,
    derivative: Derivative,
) -> NDArray[Any]:
    """Return the sum over records of ``l'(<x, w>, y) x``, each scaled back to norm ``clip``."""
    slopes = derivative(X @ w, y)
    norms = np.abs(slopes) * lengths
    return np.asarray((slopes * (clip / np.maximum(norms, clip))) @ X)


def noisy_gradient_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    clip: float,
    steps: int,
    learning_rate: float,
    neighboring: Neighboring = "replace_one",
    public_size: int | None = None,
    radius: float | None = None,
    average: bool = True,
    derivative: Derivative = squared_loss_derivative,
    rng: np.random.Generator,
) -> PrivateCoefficients:
    """Linear model by full-batch gradient descent, (epsilon, delta)-private by clipping and noise.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records or features.
    y : array_like of shape (n_samples,)
        Finite labels.
    epsilon : float
        In (0, inf).
    delta : float
        In (0, 1).
    clip : float
        Norm C to which every record's gradient is scaled back, in (0, inf). The guarantee rests
        on it alone: no bound on X or y is needed.
    steps : int
        Number T of steps, at least 1.
    learning_rate : float
        Step length on the mean gradient, in (0, inf).
    neighboring : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation. Under ``add_remove`` the number of records is private, and
        ``public_size`` must be given.
    public_size : int or None, default=None
        Number by which gradient sums are divided; None: the number of records, where it is public.
    radius : float or None, default=None
        Radius of the ball on which every iterate is projected; None: no projection.
    average : bool, default=True
        Return the mean of the last half of the iterates instead of the last one.
    derivative : callable, default=squared_loss_derivative
        ``derivative(scores, y)``: the derivative of any loss in the score, record by record.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    PrivateCoefficients
        The coefficients and the guarantee; every iterate could be published as well.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite, real and of matching length or an argument is out of range.

    Notes
    -----
    One record moves a sum of clipped gradients by at most ``s = C`` (add_remove) or ``2 C``
    (replace_one). Each step is therefore ``s/sigma``-GDP, the T adaptive steps compose exactly to
    ``sqrt(T) s/sigma``-GDP, and ``sigma = gaussian_sigma(sensitivity=s sqrt(T))``.

    References
    ----------
    Bassily, Smith and Thakurta, Private empirical risk minimization, FOCS 2014, arXiv:1405.7085;
    Dong, Roth and Su, Gaussian differential privacy, J. R. Stat. Soc. B 84 (2022), Corollary 2.

    Examples
    --------
    >>> from dplit.baselines import noisy_gradient_descent
    >>> from dplit.streams import stream
    >>> X = stream(0, "example", "data").uniform(-1, 1, (5000, 1))
    >>> model = noisy_gradient_descent(X, 0.5 * X[:, 0], epsilon=1.0, delta=1e-6, clip=0.5,
    ...     steps=40, learning_rate=1.0, rng=stream(0, "example", "noise"))
    >>> bool(abs(model.coef[0] - 0.5) < 0.05)
    True
    """
    rows, labels = check_regression(X, y)
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    check_neighboring(neighboring)
    steps = check_integer("steps", steps)
    clip = check_positive("clip", clip)
    rate = check_positive("learning_rate", learning_rate) / _size(rows, neighboring, public_size)
    limit = math.inf if radius is None else check_positive("radius", radius)
    check_rng(rng)
    moved = clip if neighboring == "add_remove" else 2.0 * clip
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=moved * math.sqrt(steps))
    lengths = np.linalg.norm(rows, axis=1)
    w = np.zeros(rows.shape[1])
    total = np.zeros_like(w)
    for step in range(steps):
        gradient = _clipped_gradient_sum(rows, lengths, labels, w, clip, derivative)
        w = w - rate * (gradient + sigma * rng.standard_normal(w.shape))
        w = w * (limit / max(limit, float(np.linalg.norm(w)))) if limit < math.inf else w
        total += w if step >= steps // 2 else 0.0
    coef = total / (steps - steps // 2) if average else w
    return PrivateCoefficients(coef, epsilon, delta, neighboring, sigma)


def _size(rows: NDArray[Any], neighboring: str, public_size: int | None) -> int:
    """Return the public number of records; where it is private, none may be read from the data."""
    if public_size is not None:
        return check_integer("public_size", public_size)
    if neighboring == "add_remove":
        raise ValueError(
            "public_size must be given under add_remove, where the number of records is private, "
            "got public_size=None"
        )
    return len(rows)
