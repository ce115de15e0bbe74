"""Two studies over draws of frequencies: how near searches come to the bounds, and what a
replacement adds for quadratic features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer
from dplit.features import orthonormal_blocks
from dplit.sketching.nonresonance import alignment_search
from dplit.sketching.quadratic_sensitivity import (
    replace_l1_bound,
    replace_search,
    s4_ascent,
    s4_certificate,
    spectral_sensitivity,
)
from dplit.trials import Trial, run_trials

__all__ = ["Replacement", "alignment_curves", "replacement_curves", "replacement_ratios"]

Array = NDArray[np.float64]
Design = Literal["gaussian", "blocks"]


def alignment_curves(
    n_features: int,
    sizes: Sequence[int],
    radii: Sequence[float],
    *,
    n_trials: int,
    seed: int,
    name: str = "sketch-alignment",
    n_draws: int = 2000,
) -> Array:
    r"""Return the best ratios to the bounds of Lemmas 7 and 12 that searches find.

    Parameters
    ----------
    n_features : int
        Dimension d of the records.
    sizes : sequence of int
        Numbers of frequencies m, standard normal vectors.
    radii : sequence of float
        Standard deviations of the starts, in units of the inverse frequency.
    n_trials : int
        Draws of the frequencies.
    seed : int
        Seed of the run.
    name : str, default="sketch-alignment"
        Name of the streams.
    n_draws : int, default=2000
        Random points per search.

    Returns
    -------
    ndarray of shape (2, n_trials, len(sizes), len(radii))
        Ratios for norm 1 and norm 2. The frequencies of the sizes are nested.

    Raises
    ------
    TypeError, ValueError
        If a size is out of range.

    Examples
    --------
    >>> from dplit.sketching.sensitivity_curves import alignment_curves
    >>> alignment_curves(2, [2, 4], [10.0], n_trials=1, seed=0, n_draws=50).shape
    (2, 1, 2, 1)
    """
    check_integer("n_features", n_features)

    def one(trial: Trial) -> Array:
        public, search = trial.stream("public"), trial.stream("data")
        omega = public.standard_normal((max(sizes), n_features)).T
        found = [
            alignment_search(omega[:, :m], norm=norm, radius=r, rng=search, n_draws=n_draws).ratio
            for norm in (1, 2)
            for m in sizes
            for r in radii
        ]
        return np.reshape(found, (2, len(sizes), len(radii)))

    return np.stack(run_trials(one, n_trials, seed=seed, name=name, n_jobs=1), axis=1)


class Replacement(NamedTuple):
    """Replace-one sensitivities over the printed ones: reached by records, and bounded."""

    reached_l1: float
    bound_l1: float
    reached_l2: float
    bound_l2: float


def replacement_ratios(
    frequencies: Array, *, rng: np.random.Generator, n_starts: int = 20
) -> Replacement:
    r"""Return by which factors a replacement moves quadratic features more than is printed.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    rng : numpy.random.Generator
        Source of the starts of the searches.
    n_starts : int, default=20
        Starts of every search.

    Returns
    -------
    Replacement
        Reached and bounded: in :math:`\ell_1` over :math:`\|\Omega\|_2^2`; in :math:`\ell_2` the
        reached distance over the certificate of :math:`S_4` (so it understates the factor), and
        :math:`\sqrt2`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sensitivity_curves import replacement_ratios
    >>> [round(r, 5) for r in replacement_ratios(np.eye(2), rng=np.random.default_rng(0))]
    [2.0, 2.0, 1.41421, 1.41421]
    """
    top = spectral_sensitivity(frequencies)
    first, second = (
        replace_search(frequencies, norm=p, rng=rng, n_starts=n_starts).value for p in (1, 2)
    )
    best = s4_ascent(frequencies, rng=rng, n_starts=n_starts).value
    certified = s4_certificate(frequencies)
    if best > certified:
        raise ArithmeticError(f"a record exceeds the certificate: {best!r} > {certified!r}")
    return Replacement(
        first / top, replace_l1_bound(frequencies) / top, second / certified, np.sqrt(2.0).item()
    )


def replacement_curves(
    n_features: int,
    sizes: Sequence[int],
    *,
    design: Design,
    n_trials: int,
    seed: int,
    name: str = "sketch-replacement",
) -> Array:
    r"""Return :func:`replacement_ratios` over draws of the frequencies.

    Parameters
    ----------
    n_features : int
        Dimension d.
    sizes : sequence of int
        Numbers of frequencies, multiples of d.
    design : {"gaussian", "blocks"}
        Gaussian frequencies, or unions of random orthonormal bases.
    n_trials : int
        Draws.
    seed : int
        Seed of the run.
    name : str, default="sketch-replacement"
        Name of the streams.

    Returns
    -------
    ndarray of shape (4, n_trials, len(sizes))
        The fields of :class:`Replacement`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.sensitivity_curves import replacement_curves
    >>> replacement_curves(2, [2, 4], design="blocks", n_trials=1, seed=0).shape
    (4, 1, 2)
    """
    check_choice("design", design, ("gaussian", "blocks"))

    def one(trial: Trial) -> Array:
        public, search = trial.stream("public"), trial.stream("data")
        rows = []
        for m in sizes:
            if design == "gaussian":
                omega = public.standard_normal((n_features, m)) / np.sqrt(n_features)
            else:
                omega = orthonormal_blocks(n_features, m, rng=public)
            rows.append(replacement_ratios(omega, rng=search))
        return np.array(rows).T

    return np.stack(run_trials(one, n_trials, seed=seed, name=name, n_jobs=1), axis=1)
