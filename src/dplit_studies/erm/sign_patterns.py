r"""The released classifier :math:`\mathrm{sgn}(f_z+b)`: how often it shows a pattern of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_integer
from dplit.papers.erm.attacks import sign_pattern_probability
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.papers.erm.release import _release_classifier
from dplit.papers.erm.scales import hinge_scale
from dplit.streams import stream


def _pattern_hits(
    values: ArrayLike, pattern: ArrayLike, *, scale: float, runs: int, rng: np.random.Generator
) -> int:
    r"""How often, in ``runs`` releases, :math:`\mathrm{sgn}(f+b)` shows a pattern of labels."""
    labels = _release_classifier(values, scale=scale, rng=rng, releases=runs)
    wanted = np.asarray(pattern)
    if wanted.shape != labels.shape[1:]:
        raise ValueError(f"pattern must hold {labels.shape[1]} labels, got pattern={pattern!r}")
    return int((labels == wanted).all(axis=1).sum())


@dataclass(frozen=True)
class _PatternCurve:
    """Probability of the labels (+, -) at the points (1, -1) on two neighbouring data sets.
    ``exact`` and ``hits`` on z, ``other_hits`` on the neighbour, shape (2, k): for the printed and
    the doubled scale, at k budgets.
    """

    epsilons: Array
    exact: Array
    hits: NDArray[np.intp]
    other_hits: NDArray[np.intp]
    runs: int

    @property
    def se(self) -> Array:
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
) -> _PatternCurve:
    """Release the classifier of a balanced pair at several budgets and count the pattern (+, -)."""
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
                hits[row, side, k] = _pattern_hits(
                    values, pattern, scale=scale, runs=count, rng=rng
                )
    return _PatternCurve(np.array(epsilons, float), exact, hits[:, 0], hits[:, 1], count)
