r"""The released classifier :math:`\mathrm{sgn}(f_z+b)`: how often it shows a pattern of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_integer
from dplit.erm.attacks import sign_pattern_probability
from dplit.erm.line_pairs import hinge_pair
from dplit.erm.release import release_classifier
from dplit.erm.scales import hinge_scale
from dplit.streams import stream

__all__ = ["PatternCurve", "pattern_curve", "pattern_hits"]

_Array = NDArray[np.float64]


def pattern_hits(
    values: ArrayLike,
    pattern: ArrayLike,
    *,
    scale: float,
    runs: int,
    rng: np.random.Generator,
) -> int:
    r"""How often the released classifier :math:`\mathrm{sgn}(f+b)` shows a pattern of labels.

    Parameters
    ----------
    values : array_like of shape (n,)
        The function at n points.
    pattern : array_like of shape (n,)
        Labels -1 and 1.
    scale : float
        Laplace scale, positive.
    runs : int
        Independent releases, at least 1.
    rng : numpy.random.Generator

    Returns
    -------
    int
        Number of releases with exactly these labels.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> pattern_hits([-1.0, 1.0], [1, -1], scale=5.0, runs=99, rng=stream(0, "example", "noise"))
    0
    """
    labels = release_classifier(values, scale=scale, rng=rng, releases=runs)
    wanted = np.asarray(pattern)
    if wanted.shape != labels.shape[1:]:
        raise ValueError(f"pattern must hold {labels.shape[1]} labels, got pattern={pattern!r}")
    return int((labels == wanted).all(axis=1).sum())


@dataclass(frozen=True)
class PatternCurve:
    """Probability of the labels (+, -) at the points (1, -1) on two neighbouring data sets.

    Attributes
    ----------
    epsilons : ndarray of shape (k,)
        Nominal budgets.
    exact : ndarray of shape (2, k)
        Exact probabilities on z: with the printed scale, and with the doubled one.
    hits : ndarray of int, shape (2, k)
        Releases of the classifier on z that show the pattern.
    other_hits : ndarray of int, shape (2, k)
        The same on the neighbour, where the pattern is impossible.
    runs : int
        Releases behind each number.
    """

    epsilons: _Array
    exact: _Array
    hits: NDArray[np.intp]
    other_hits: NDArray[np.intp]
    runs: int

    @property
    def se(self) -> _Array:
        """Standard errors of ``hits / runs``, from the exact probabilities."""
        return np.asarray(np.sqrt(self.exact * (1.0 - self.exact) / self.runs))


def pattern_curve(
    epsilons: Sequence[float],
    *,
    runs: int,
    seed: int,
    n_records: int = 101,
    regularization: float = 0.1,
    name: str = "erm-svm-sgn",
) -> PatternCurve:
    """Release the classifier of a balanced pair at several budgets and count the pattern (+, -).

    Parameters
    ----------
    epsilons : sequence of float
        Budgets, positive.
    runs : int
        Releases per budget, scale and data set.
    seed : int
    n_records : int, default=101
        Odd.
    regularization : float, default=0.1
    name : str, default="erm-svm-sgn"
        Name of the streams.

    Returns
    -------
    PatternCurve

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> curve = pattern_curve([0.5], runs=1000, seed=0)
    >>> curve.exact.round(4).tolist(), curve.other_hits.tolist()
    ([[0.3935], [0.2212]], [[0], [0]])
    """
    if len(epsilons) == 0:
        raise ValueError("epsilons must not be empty")
    count = check_integer("runs", runs)
    pair = hinge_pair(n_records=n_records, regularization=regularization)
    functions, pattern = pair.values([1.0, -1.0]), [1, -1]
    exact = np.empty((2, len(epsilons)))
    hits = np.empty((2, 2, len(epsilons)), dtype=np.intp)  # scale, data set, budget
    for k, epsilon in enumerate(epsilons):
        for row, printed in enumerate((True, False)):
            scale = hinge_scale(
                epsilon=epsilon,
                kappa=1.0,
                regularization=regularization,
                n_records=n_records,
                as_printed=printed,
            )
            exact[row, k] = sign_pattern_probability(functions[0], pattern, scale=scale)
            for side, values in enumerate(functions):
                rng = stream(seed, name, "noise", 4 * k + 2 * row + side)
                hits[row, side, k] = pattern_hits(values, pattern, scale=scale, runs=count, rng=rng)
    return PatternCurve(np.array(epsilons, float), exact, hits[:, 0], hits[:, 1], count)
