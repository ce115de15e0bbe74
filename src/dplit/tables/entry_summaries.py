"""Noisy moments at a budget per entry from a summary: a folder, one pass, the same bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplit._base import fitting, noise_source
from dplit._bounds import Box, check_box, stated_ends
from dplit._checks import Array, quiet
from dplit._numerics.exact import gram_rounding, grid_values
from dplit.entries._moments import entry_variances, moment_epsilon, moment_mus, solve_moments
from dplit.entries.moments import EntryMomentsRegressor
from dplit.linear._moments import Moments
from dplit.tables.grids import Summary, _Room

#: A step of the grid, of entries and responses in [-1, 1].
_STEP = grid_values(np.zeros(1), 1.0)[1]


@dataclass(frozen=True)
class EntryGrid:
    """The grid of `EntryMomentsRegressor`, with a column of ones behind the entries.

    Parameters
    ----------
    low, high : tuple of float
        Bounds of each column; entries outside are clipped.
    responses : tuple of float
        Public bounds of the responses, which are rounded to a grid between them.

    Examples
    --------
    >>> grid = EntryGrid(low=(0.0,), high=(2.0,), responses=(0.0, 1.0))
    >>> entry, one, response = grid([np.array([1.0, 2.0])], np.array([0.5, 1.0]))
    >>> (entry / one).tolist(), (response / one).tolist()  # in half widths about the middle
    ([0.0, 1.0], [0.0, 1.0])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    responses: tuple[float, float]

    def box(self) -> Box:
        """Return the box of the columns."""
        return check_box((np.array(self.low), np.array(self.high)), len(self.low))

    def __call__(self, columns: Sequence[Array], labels: Array, room: _Room | None = None) -> Array:
        """Return whole numbers (q, n): entries, ones, responses; ``room`` is not used."""
        units = self.box().unit(np.column_stack(columns))
        whole, _ = grid_values(np.column_stack([units, np.ones(len(units))]), 1.0)
        response = check_box(self.responses, 1).unit(labels[:, None])
        return np.vstack([whole.T, grid_values(response, 1.0)[0].T])


def entry_grid(
    model: EntryMomentsRegressor, *, n_columns: int, responses: tuple[float, float]
) -> EntryGrid:
    """Return what :func:`dplit.tables.summaries.summarise` adds for noisy moments of entries.

    Parameters
    ----------
    model : EntryMomentsRegressor
        Whose bounds are taken.
    n_columns : int
        Number of columns of X.
    responses : tuple of float
        Lowest and highest response, for a grid of 16 bits between them; others are clipped.

    Returns
    -------
    EntryGrid

    Examples
    --------
    >>> model = EntryMomentsRegressor(epsilon=1.0, bounds=(0.0, 2.0))
    >>> entry_grid(model, n_columns=2, responses=(0.0, 1.0))
    EntryGrid(low=(0.0, 0.0), high=(2.0, 2.0), responses=(0.0, 1.0))
    """
    check_box(model.bounds, n_columns)
    low, high = (np.broadcast_to(np.asarray(e, float), n_columns) for e in model.bounds or ())
    return EntryGrid(tuple(low.tolist()), tuple(high.tolist()), stated_ends(responses))


@quiet
def fit_entry_summary(model: EntryMomentsRegressor, summary: Summary) -> EntryMomentsRegressor:
    """Fit noisy moments from a summary: every entry is protected, **the responses are not**.

    Parameters
    ----------
    model : EntryMomentsRegressor
        With the bounds of the summary.
    summary : Summary
        Made on :func:`entry_grid`, without persons: the promise is for an entry.

    Returns
    -------
    EntryMomentsRegressor
        ``model``, fitted. Its own ``fit`` rounds responses after it has centred and scaled them,
        which takes two passes; here they are rounded first, by at most 2^-15 of half their range,
        and mean, scale and moments are exact in fractions, rounded once. Bits are those of ``fit``
        where the responses are on the grid already, with mean 0 and largest modulus 1.

    Raises
    ------
    ValueError
        If bounds differ, the summary has persons or is of no record.

    Notes
    -----
    An entry meets its response as a number of [-1, 1], so that sensitivities are those of ``fit``;
    a total, of at most 2^30 in unit bounds, is rounded once, by at most 2^-24, less than
    what the calibration allows.

    Examples
    --------
    >>> from dplit.tables.summaries import summarise
    >>> X = np.linspace(-1.0, 1.0, 2000).reshape(-1, 1)
    >>> model = EntryMomentsRegressor(epsilon=1.0, bounds=(-1.0, 1.0), random_state=0)
    >>> grid = entry_grid(model, n_columns=1, responses=(-1.0, 5.0))
    >>> model = fit_entry_summary(model, summarise((X, 2.0 + 3.0 * X[:, 0]), grid))
    >>> bool(abs(model.predict([[0.5]])[0] - 3.5) < 0.1), model.neighboring_
    (True, 'replace_entry')
    """
    facts, grid = summary.facts, summary.facts.grid
    model._check_parameters()
    if not isinstance(grid, EntryGrid):
        raise ValueError(f"summary must be made on an EntryGrid, got grid={grid}")
    given = entry_grid(model, n_columns=len(facts.columns), responses=grid.responses)
    if given != grid:
        raise ValueError(f"model must have the public facts of the summary, {grid}, got {given}")
    if facts.group is not None:
        raise ValueError("summary must have no persons: the promise is for an entry of a record")
    if summary.labels == 0:
        raise ValueError("summary must be of at least one record with a response")
    with fitting(model) as draft:
        draft.n_features_in_ = len(facts.columns)
        if facts.named:
            draft.feature_names_in_ = np.asarray(facts.columns, dtype=object)
        _fit(draft, summary, grid)
    return model


def _responses(summary: Summary, grid: EntryGrid, ones: int) -> tuple[Fraction, Fraction, float]:
    """Return centre, scale and energy of the public responses, of exact fractions."""
    box, n = check_box(grid.responses, 1), summary.labels
    middle, step = Fraction(float(box.middle[0])), Fraction(float(box.half[0] * _STEP))
    steps = int(summary.gram[-2, -1]) // round(1.0 / _STEP)
    center = middle + step * Fraction(steps, n) if ones else Fraction(0)
    largest = max(abs(middle + step * end - center) for end in summary.ends) or Fraction(1)
    shift = middle - center
    squares = n * shift**2 + 2 * shift * step * steps + step**2 * int(summary.gram[-1, -1])
    return center, largest, float(squares / (n * largest**2))


def _fit(model: EntryMomentsRegressor, summary: Summary, grid: EntryGrid) -> EntryMomentsRegressor:
    """Draw what `EntryMomentsRegressor.fit` draws, from the moments, and solve."""
    rng = noise_source(model.random_state)
    n, d, ones = summary.labels, len(grid.low), int(bool(model.fit_intercept))
    center, largest, energy = _responses(summary, grid, ones)
    g, c = entry_variances(epsilon=model.epsilon, n_features=d, ones=ones, response_energy=energy)
    gram, model.cross_ = _noisy(summary, grid, (center, largest), ones, (g, c), rng)
    means = gram[:d, d:] / n
    model.gram_ = gram[:d, :d] - n * (means @ means.T)
    model.gram_sigma_, model.cross_sigma_ = math.sqrt(g), math.sqrt(c)
    theta, model.alpha_ = solve_moments(
        model.gram_, model.cross_, variances=(g, c), n_samples=n, response_energy=energy
    )
    box = grid.box()
    model.coef_ = float(largest) * theta / box.half
    model.intercept_ = -float(box.middle @ model.coef_)
    if ones:
        model.intercept_ += float(center) - float(largest) * float(means[:, 0] @ theta)
    entry, row = (moment_epsilon(model.delta, mu) for mu in moment_mus(d, ones, g, c))
    model._state(n, entry, row, "Noisy second moments")
    return model


def _noisy(
    summary: Summary,
    grid: EntryGrid,
    responses: tuple[Fraction, Fraction],
    ones: int,
    variances: tuple[float, float],
    rng: np.random.Generator | None,
) -> tuple[Array, Array]:
    """Release the moments of ``[X, 1]`` (or of X), and of X with the centred responses."""
    d, (g, c), (center, largest) = len(grid.low), variances, responses
    size, others, loss = d + ones, d - 1 + ones, gram_rounding(d * d + d)
    box, step = check_box(grid.responses, 1), Fraction(_STEP)
    shift = (Fraction(float(box.middle[0])) - center) / largest
    slope = Fraction(float(box.half[0])) / largest
    sums: Any = summary.gram.tolist()
    told = np.array(
        [float(shift * sums[j][d] * step**2 + slope * sums[j][d + 1] * step**2) for j in range(d)]
    )
    exact = Moments(summary.gram[:size, :size].astype(np.float64), told, step * step, Fraction(1))
    return exact.released(
        sigmas=(math.sqrt(2.0 * g), math.sqrt(c)),
        moved=(math.sqrt(max(8.0 * others, 1.0)) * (1.0 + loss), 2.0 * (1.0 + loss)),
        joint=moment_mus(d, ones, g, c)[0],
        rng=rng,
        responses="responses",
    )
