r"""Reading one entry of X off a projected release, and how well it works.

The adversary of the definition knows every other entry, y and the noise variance. It whitens the
release by the matrix A of :mod:`dplit.projection.leakage`, keeps two inner products, and takes
the most likely value. Where two columns agree outside Alice's row a root mean square is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi

from dplit._checks import check_finite_array, check_integer, check_nonnegative, check_rng
from dplit.projection.leakage import EntryChannel, single_entry
from dplit.projection.levels import log_likelihoods
from dplit.projection.projection import ProjectionRelease, release_projection

__all__ = [
    "AttackedEntry",
    "attack_entry",
    "likeliest_entry",
    "rms_attack",
    "rms_attack_quantiles",
    "whitened_gram",
]

_Array = NDArray[np.float64]


def rms_attack(release: ProjectionRelease) -> float:
    """Size of the entry by which two columns differ, from their released difference.

    Parameters
    ----------
    release : ProjectionRelease
        Release of two columns that agree in all rows but one, without noise.

    Returns
    -------
    float
        Root mean square of the difference of the released columns.

    Raises
    ------
    ValueError
        If the release does not have two columns.

    Examples
    --------
    >>> rms_attack(ProjectionRelease(np.array([[3.0, 0.0], [4.0, 0.0]]), np.zeros(2))).__round__(4)
    3.5355
    """
    Z = np.asarray(release.X)
    if Z.ndim != 2 or Z.shape[1] != 2:
        raise ValueError(f"release.X must have 2 columns, got shape {Z.shape}")
    return float(np.sqrt(np.mean((Z[:, 0] - Z[:, 1]) ** 2)))


def rms_attack_quantiles(size: float, probabilities: ArrayLike, *, n_components: int) -> _Array:
    r"""Quantiles of :func:`rms_attack`: its law is :math:`|x|\chi_{n'}/\sqrt{n'}`.

    Parameters
    ----------
    size : float
        True difference :math:`|x|`, nonnegative.
    probabilities : array_like
        In (0, 1).
    n_components : int
        Rows n' of the release.

    Returns
    -------
    ndarray
        The relative standard deviation is about :math:`1/\sqrt{2n'}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> rms_attack_quantiles(1.0, [0.05, 0.95], n_components=300).round(3)
    array([0.933, 1.067])
    """
    n = check_integer("n_components", n_components)
    p = np.asarray(check_finite_array("probabilities", probabilities), dtype=float)
    return np.asarray(check_nonnegative("size", size) * chi.ppf(p, n) / np.sqrt(n))


def whitened_gram(
    release: ProjectionRelease, X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int,
    column: int,
) -> tuple[EntryChannel, _Array]:  # fmt: skip
    """Sufficient statistic of a release for one entry, from what the adversary knows.

    Parameters
    ----------
    release : ProjectionRelease
        What was published.
    X : array_like of shape (n, d)
        The data; the entry in question is not read.
    y : array_like of shape (n,) or None
        Responses; None ignores the released ones.
    variance : float
        Variance of the noise.
    row, column : int
        The entry.

    Returns
    -------
    channel : EntryChannel
    gram : ndarray of shape (2, 2)
        Gram matrix of ``W a`` and ``W b``, W the whitened release.

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        As :func:`dplit.projection.leakage.single_entry`.

    Examples
    --------
    >>> release = ProjectionRelease(np.array([[2.0]]), np.array([0.0]))
    >>> X = [[0.0], [1.0], [1.0]]
    >>> whitened_gram(release, X, None, variance=2.0, row=0, column=0)[1][0, 0].round(6)
    np.float64(0.25)
    """
    channel = single_entry(X, y, variance=variance, row=row, column=column)
    data = np.asarray(X, dtype=float)
    Z = np.asarray(release.X)
    noise = np.full(data.shape[1], float(variance))
    if y is not None:
        data, noise = np.column_stack([data, np.asarray(y, dtype=float)]), np.append(noise, 0.0)
        Z = np.column_stack([Z, release.y])
    rest = np.delete(data, row, axis=0)
    unit = np.eye(data.shape[1])[column]
    start = np.where(unit > 0, 0.0, data[row])
    filters = np.linalg.solve(rest.T @ rest + np.diag(noise), np.column_stack([unit, start]))
    seen = Z @ filters  # (n', 2): W a and W b
    return channel, np.asarray(seen.T @ seen)


def likeliest_entry(
    release: ProjectionRelease, X: ArrayLike, y: ArrayLike | None, *, variance: float, row: int,
    column: int, levels: ArrayLike,
) -> float:  # fmt: skip
    """Most likely value of one entry, given everything else.

    Parameters
    ----------
    release, X, y, variance, row, column
        As in :func:`whitened_gram`.
    levels : array_like of shape (m,)
        Candidates.

    Returns
    -------
    float
        The candidate of largest likelihood.

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        As :func:`whitened_gram`.

    Examples
    --------
    >>> release = ProjectionRelease(np.array([[9.0]]), np.array([0.0]))
    >>> likeliest_entry(release, [[0.0], [1.0], [1.0]], None, variance=0.0, row=0, column=0,
    ...                 levels=[0.0, 1.0])
    1.0
    """
    candidates = np.asarray(check_finite_array("levels", levels, ndim=1), dtype=float)
    channel, gram = whitened_gram(release, X, y, variance=variance, row=row, column=column)
    logs = log_likelihoods(channel, candidates, gram, n_components=len(np.asarray(release.X)))
    return float(candidates[int(np.argmax(logs))])


class AttackedEntry(NamedTuple):
    """True values, and for each the guesses of the adversary in repeated releases."""

    truth: _Array
    guesses: _Array


def attack_entry(
    X: ArrayLike,
    y: ArrayLike,
    *,
    variance: float,
    n_components: int,
    row: int,
    column: int,
    truth: ArrayLike,
    levels: ArrayLike,
    n_trials: int,
    rng: np.random.Generator,
) -> AttackedEntry:
    """Repeat the public release with several values of one entry and guess the value each time.

    Parameters
    ----------
    X, y, variance, row, column
        As in :func:`whitened_gram`.
    n_components : int
        Rows n' of the release.
    truth : array_like of shape (t,)
        Values that the entry really has.
    levels : array_like of shape (m,)
        Candidates of the adversary.
    n_trials : int
        Releases per true value.
    rng : numpy.random.Generator
        Source of the releases.

    Returns
    -------
    AttackedEntry
        ``guesses`` has shape (t, n_trials).

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X, y = np.ones((30, 1)), np.append(9.0, np.tile([1.0, -1.0], 15)[:29])
    >>> attack = attack_entry(X, y, variance=0.0, n_components=20, row=0, column=0, truth=[0.5],
    ...     levels=[-0.5, 0.5], n_trials=20, rng=stream(0, "doc", "noise"))
    >>> attack.guesses.shape
    (1, 20)
    """
    data = np.array(check_finite_array("X", X, ndim=2), dtype=float)
    values = np.asarray(check_finite_array("truth", truth, ndim=1), dtype=float)
    count = check_integer("n_trials", n_trials)
    check_rng(rng)
    guesses = np.empty((len(values), count))
    for k, value in enumerate(values):
        data[row, column] = value
        for trial in range(count):
            release = release_projection(
                data, y, n_components=n_components, variance=variance, rng=rng
            )
            guesses[k, trial] = likeliest_entry(
                release, data, y, variance=variance, row=row, column=column, levels=levels
            )
    return AttackedEntry(values, guesses)
