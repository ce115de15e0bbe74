"""Leakage of an entry with several values: likelihoods, draws, and an optimised prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_integer, check_rng
from dplit.projection.channels import Bits
from dplit.projection.leakage import EntryChannel

__all__ = ["levels_leakage", "log_likelihoods"]

_Array = NDArray[np.float64]


def log_likelihoods(
    channel: EntryChannel, levels: ArrayLike, gram: ArrayLike, *, n_components: int
) -> _Array:
    r"""Log-likelihoods of the values of one entry, up to a constant, from whitened Gram matrices.

    Parameters
    ----------
    channel : EntryChannel
        One entry.
    levels : array_like of shape (m,)
        Values of the entry.
    gram : array_like of shape (..., 2, 2)
        For whitened rows W: the Gram matrix of ``W a`` and ``W b``.
    n_components : int
        Number of rows of W.

    Returns
    -------
    ndarray of shape (..., m)
        :math:`-\frac{n'}2\log(1+|v|^2)+\frac{|Wv|^2}{2(1+|v|^2)}` with :math:`v=xa+b`.

    Raises
    ------
    TypeError, ValueError
        If an array is not finite or a size is not a count.

    Examples
    --------
    >>> channel = EntryChannel(*np.array([1.0, 0.0, 0.0, 0.0]))
    >>> log_likelihoods(channel, [0.0, 1.0], np.eye(2), n_components=1).round(4)
    array([0.5   , 0.1534])
    """
    n = check_integer("n_components", n_components)
    x = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    G = np.asarray(check_finite_array("gram", gram), dtype=float)
    aa, ab, bb, _ = (float(part) for part in channel)
    q = np.maximum(x**2 * aa + 2 * x * ab + bb, 0.0)
    energy = x**2 * G[..., 0, 0, None] + 2 * x * G[..., 0, 1, None] + G[..., 1, 1, None]
    return np.asarray(-n / 2 * np.log1p(q) + energy / (2 * (1 + q)))


def _sample_grams(
    channel: EntryChannel, level: float, n: int, count: int, rng: np.random.Generator
) -> _Array:
    """Gram matrices of (W a, W b) for rows of W with covariance I + v v^T, v = level a + b."""
    aa, ab, _, det = (float(part) for part in channel)
    size = np.sqrt(aa)
    frame = np.array([[size, ab / size], [0.0, np.sqrt(max(det, 0.0)) / size]])  # columns a, b
    v = frame @ [level, 1.0]
    L = np.linalg.cholesky(np.eye(2) + np.outer(v, v))
    T = np.zeros((count, 2, 2))  # Bartlett: W_2(n, I) = T T^T
    T[:, 0, 0] = np.sqrt(rng.chisquare(n, count))
    T[:, 1, 1] = np.sqrt(rng.chisquare(n - 1, count)) if n > 1 else 0.0
    T[:, 1, 0] = rng.standard_normal(count)
    half = np.swapaxes(L @ T, 1, 2) @ frame
    return np.asarray(np.swapaxes(half, 1, 2) @ half)


def _divergences(logs: list[_Array], prior: _Array) -> list[_Array]:
    """Per level and draw, log2 of the likelihood over that of the mixture."""
    weights = np.log(np.maximum(prior, 1e-300))
    return [
        (log[:, k] - np.logaddexp.reduce(log + weights, axis=1)) / np.log(2.0)
        for k, log in enumerate(logs)
    ]


def levels_leakage(
    channel: EntryChannel,
    levels: ArrayLike,
    *,
    n_components: int,
    rng: np.random.Generator,
    n_draws: int = 4000,
    optimise: bool = False,
) -> Bits:
    """Information about an entry with several values: a Monte-Carlo lower bound on the MI-DP.

    Parameters
    ----------
    channel : EntryChannel
        One entry, with finite ``aa``.
    levels : array_like of shape (m,)
        Values that the entry can take.
    n_components : int
        Rows n' of the release.
    rng : numpy.random.Generator
        Source of the draws.
    n_draws : int, default=4000
        Draws per level, at least 2.
    optimise : bool, default=False
        Improve the uniform prior by fifty Blahut-Arimoto steps on draws of their own; the
        information is then estimated with that prior on fresh draws, so that it is unbiased.

    Returns
    -------
    Bits
        Information at the prior, and its standard error.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.projection.leakage import binary_leakage
    >>> from dplit.streams import stream
    >>> channel = EntryChannel(*np.array([0.1, 0.0, 0.4, 0.04]))
    >>> bits = levels_leakage(channel, [-1, 1], n_components=30, rng=stream(0, "doc", "noise"))
    >>> bool(abs(bits.value - binary_leakage(channel, n_components=30)[0]) < 5 * bits.error)
    True
    """
    x = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    n = check_integer("n_components", n_components)
    count = check_integer("n_draws", n_draws, minimum=2)
    check_rng(rng)
    if not np.isfinite(channel.aa):
        raise ValueError("channel must have finite aa: this entry is not protected at all")
    prior = np.full(len(x), 1.0 / len(x))

    def draw() -> list[_Array]:
        grams = (_sample_grams(channel, float(level), n, count, rng) for level in x)
        return [log_likelihoods(channel, x, gram, n_components=n) for gram in grams]

    if optimise:
        logs = draw()
        for _ in range(50):
            gains = np.array([part.mean() for part in _divergences(logs, prior)])
            prior = prior * np.exp2(gains - gains.max())
            prior /= prior.sum()
    parts = _divergences(draw(), prior)
    value = float(sum(p * part.mean() for p, part in zip(prior, parts, strict=True)))
    spread = sum((p * part.std(ddof=1)) ** 2 / count for p, part in zip(prior, parts, strict=True))
    return Bits(value, float(np.sqrt(spread)))
