"""Two studies over draws of frequencies.

How near searches come to the bounds, and what a replacement adds for quadratic features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from dplit._checks import Array, check_choice, check_integer
from dplit.features import orthonormal_blocks
from dplit.papers.sketching.quadratic import s4_ascent
from dplit.sketching.sensitivity import replace_l1_bound, s4_certificate, spectral_sensitivity
from dplit_studies.sketching.searches import alignment_search, replace_search
from dplit_studies.trials import Trial, run_trials

_Design = Literal["gaussian", "blocks"]


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
    """Return the best ratios to Lemmas 7 and 12 that searches find, (2, n_trials, sizes, radii).

    Standard normal frequencies, nested over the sizes; radii in units of the inverse frequency.
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


class _Replacement(NamedTuple):
    """Replace-one sensitivities over the printed ones: reached by records, and bounded."""

    reached_l1: float
    bound_l1: float
    reached_l2: float
    bound_l2: float


def _replacement_ratios(
    frequencies: Array, *, rng: np.random.Generator, n_starts: int = 20
) -> _Replacement:
    """Return by which factors a replacement moves quadratic features more than is printed.

    In l2 over the certificate of S4, so that the factor is understated.
    """
    top = spectral_sensitivity(frequencies)
    first, second = (
        replace_search(frequencies, norm=p, rng=rng, n_starts=n_starts).value for p in (1, 2)
    )
    best = s4_ascent(frequencies, rng=rng, n_starts=n_starts).value
    certified = s4_certificate(frequencies)
    if best > certified:
        raise ArithmeticError(f"a record exceeds the certificate: {best!r} > {certified!r}")
    return _Replacement(
        first / top, replace_l1_bound(frequencies) / top, second / certified, np.sqrt(2.0).item()
    )


def replacement_curves(
    n_features: int,
    sizes: Sequence[int],
    *,
    design: _Design,
    n_trials: int,
    seed: int,
    name: str = "sketch-replacement",
) -> Array:
    """Return ``_replacement_ratios`` over draws of the frequencies, (4, n_trials, sizes)."""
    check_choice("design", design, ("gaussian", "blocks"))

    def one(trial: Trial) -> Array:
        public, search = trial.stream("public"), trial.stream("data")
        rows = []
        for m in sizes:
            if design == "gaussian":
                omega = public.standard_normal((n_features, m)) / np.sqrt(n_features)
            else:
                omega = orthonormal_blocks(n_features, m, rng=public)
            rows.append(_replacement_ratios(omega, rng=search))
        return np.array(rows).T

    return np.stack(run_trials(one, n_trials, seed=seed, name=name, n_jobs=1), axis=1)
