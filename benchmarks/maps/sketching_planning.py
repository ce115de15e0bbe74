"""The evidence behind the planning rule: when three decoders find the groups of a noisy sketch.

The groups are found if the risk of the decoded centres is above that of k-means without privacy by
at most a twentieth of what k-means gains on one centre. How loud a group is, is told by
:func:`dplit.advice.planning.planned`; budget and records enter through it alone, so that one
sketch serves all levels of the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

from benchmarks.maps.sketching_off_grid import Case, _table
from benchmarks.maps.sketching_records import reference
from dplit._checks import Array
from dplit.advice._cluster_settings import CENTRES
from dplit.features import random_frequencies
from dplit.mechanisms import gaussian_noise, laplace_noise
from dplit.papers.sketching.knorm import pure_noise
from dplit.sketching.decoders.clompr import decode_kmeans
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.decoders.mixtures import decode_mixture
from dplit.sketching.estimators import _default_gamma
from dplit.sketching.sketches import SketchMap, sketch
from dplit_studies.trials import Trial, run_trials

#: Names of the decoders: the estimator's, that of mixtures, and the greedy one of few lines.
DECODERS = ("kmeans", "mixture", "greedy")

#: A decode that loses more than this share of what k-means gains on one centre has not found them.
FOUND = 0.05

#: Loudness of a group, in the order of the archive's lists.
LEVELS = (0.5, 1.5, 3.0, 5.0, 8.0, 16.0, 50.0)

#: Frequencies for each coordinate of each centre.
SIZES = (1.0, 2.5, 6.0, 20.0)

#: Runs of a case on the grid or held out; those beyond it have two.
TRIALS = 3

#: Most frequencies, and most numbers of centres times frequencies, that are decoded.
_MOST_WAVES, _MOST_WORK = 1500, 16_000

#: What trials take in turn: the noise, and after every two another number of records.
_NOISES, _RECORDS = ("laplace", "polydisc", "gaussian"), (1_000, 10_000)

#: Columns and clusters: a grid, and a factor of ten from its middle at one separation.
GRID, STAR = tuple(itertools.product((2, 6, 20), (2, 6))), ((2, 20), (1, 6), (60, 6))

SEPARATIONS = (2.0, 6.0, 20.0)

#: Laws that the rule does not see, with their columns, clusters and separations.
HELD_OUT = (
    Case("circle", 10_000, 2, 3, 6.0),
    Case("circle", 10_000, 2, 5, 6.0),
    Case("law", 10_000, 10, 10, 10.0),
    Case("law", 10_000, 35, 3, 4.0),
    Case("skewed", 10_000, 2, 4, 4.0),
    Case("skewed", 10_000, 8, 5, 6.0),
    Case("heavy", 10_000, 2, 4, 4.0),
    Case("heavy", 10_000, 8, 5, 6.0),
    Case("unequal", 10_000, 2, 4, 8.0),
    Case("unequal", 10_000, 5, 8, 8.0),
    Case("long", 10_000, 3, 4, 3.0),
    Case("corner", 10_000, 2, 3, 6.0),
    Case("pixels", 10_000, 3, 8, 5.9),
    Case("breast cancer", 569, 30, 2, 0.76),
    Case("digits", 1_797, 64, 10, 0.92),
)


def draw(case: Case, rng: np.random.Generator) -> Array:
    """Records of a law in the box [-1, 1]^d, or of a table by public limits."""
    if case.data in ("pixels", "breast cancer", "digits"):
        return _table(case, rng)
    k, d = case.k, case.d
    centres = rng.uniform(-0.8, 0.8, (k, d))
    if case.data == "circle":
        angle = 2.0 * np.pi * np.arange(k) / k + 0.4
        centres = 0.6 * np.column_stack([np.cos(angle), np.sin(angle)])
    if case.data == "corner":  # a quarter of the box's sides
        centres = 0.25 * centres - 0.5
    shares = 1.0 / np.arange(1.0, k + 1.0) if case.data == "unequal" else np.ones(k)
    labels = rng.choice(k, size=case.n, p=shares / shares.sum())
    spread = (0.25 if case.data == "corner" else 1.0) * CENTRES / case.separation * np.ones(d)
    if case.data == "skewed":
        cloud = rng.exponential(size=(case.n, d)) - 1.0
    elif case.data == "heavy":  # three degrees of freedom
        cloud = rng.standard_t(3.0, (case.n, d)) / math.sqrt(3.0)
    else:
        cloud = rng.standard_normal((case.n, d))
    if case.data == "long":
        spread = spread * (math.sqrt(d) * np.eye(d)[0] + 0.2)
    return np.clip(centres[labels] + spread * cloud, -1.0, 1.0)


def greedy_decode(
    target: NDArray[Any], omega: Array, k: int, grid: Array, *, rounds: int | None = None
) -> Array:
    """Centres (k, d) by the highest hills of the residual on a grid of places, then polished.

    Twice as many places as centres are taken, their weights fitted after each, and the k heaviest
    adjusted together.
    """
    atoms = np.exp(1j * grid @ omega)
    places, residual = np.empty((0, len(omega))), target
    for _ in range(2 * k if rounds is None else rounds):
        hill = int(np.argmax((atoms.conj() @ residual).real))
        places = np.vstack([places, grid[hill]])
        weights = _weights(places, target, omega)
        residual = target - weights @ np.exp(1j * places @ omega)
    places = places[np.argsort(-weights)[:k]]

    def misfit(flat: Array) -> Array:
        left = target - flat[-k:] @ np.exp(1j * flat[:-k].reshape(k, -1) @ omega)
        return np.append(left.real, left.imag)

    start = np.append(places, _weights(places, target, omega))
    found = least_squares(misfit, start, max_nfev=50).x
    return np.asarray(np.clip(found[:-k].reshape(k, -1), -1.0, 1.0))


def _weights(places: Array, target: NDArray[Any], omega: Array) -> Array:
    waves = np.exp(1j * places @ omega).T
    parts = np.vstack([waves.real, waves.imag])
    return np.asarray(nnls(parts, np.append(target.real, target.imag))[0])


def sizes_of(d: int, k: int) -> list[int]:
    """Numbers of frequencies that are tried: enough unknowns, and not too long a decode."""
    sizes = {max(math.ceil(r * k * d), math.ceil(k * (2 * d + 1) / 2)) for r in SIZES}
    return sorted(m for m in sizes if m <= _MOST_WAVES and m * k <= _MOST_WORK)


class _Runs(NamedTuple):
    """Errors (decoders, levels) of one trial at one size; NaN where a decoder was not run."""

    n_frequencies: int
    errors: Array


def _noises(law: str, m: int, rng: np.random.Generator) -> NDArray[Any]:
    """Complex noise (m,) of deviation 1 on each real number."""
    if law == "polydisc":
        drawn = pure_noise(m, noise="polydisc", epsilon=1.0, rng=rng)
        return np.asarray(drawn) / (math.sqrt((2 * m + 1) * (2 * m + 2)) / 2.0)
    if law == "laplace":
        parts = laplace_noise((2, m), scale=1.0 / math.sqrt(2.0), rng=rng)
    else:
        parts = gaussian_noise((2, m), sigma=1.0, rng=rng)
    return np.asarray(parts[0] + 1j * parts[1])


def _trial(trial: Trial, *, case: Case, mixtures: bool) -> list[_Runs]:
    """Decode sketches of one set of records at all sizes and all levels of noise."""
    turn, k, d = int(trial), case.k, case.d
    data, public, noise = (trial.stream(role) for role in ("data", "public", "noise"))
    if case.data not in ("breast cancer", "digits"):
        case = case._replace(n=_RECORDS[turn // 2 % 2])
    X = draw(case, data)
    one, best = reference(X, k, data.spawn(1)[0])
    side = np.linspace(-1.0, 1.0, 41)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    out = []
    for at_size, m in enumerate(sizes_of(d, k)):
        omega = random_frequencies(d, m, gamma=_default_gamma(d), rng=public)
        mean = sketch(X, SketchMap("fourier", omega, bound=np.ones(d))).mean
        unit = _noises(_NOISES[turn % len(_NOISES)], m, noise)
        deviations = math.sqrt(m / d) / (k * np.array(LEVELS))  # on the mean
        seen = mean + deviations[:, None] * unit
        told: dict[str, Any] = {"bounds": (-1.0, 1.0), "rng": public}
        found = np.full((len(DECODERS), len(LEVELS), k, d), np.nan)
        found[0] = decode_kmeans(seen, omega, k, **told).centroids
        if mixtures and k <= 6 and turn in (0, 2)[: 2 if d <= 2 else 1] and at_size % 2:
            fits = [
                decode_mixture(z, omega, k, n_starts=1, min_variance=1e-3, **told) for z in seen
            ]
            found[1] = [fit.means for fit in fits]
        if d == 2 and k <= 6:
            found[2] = [greedy_decode(z, omega, k, grid) for z in seen]
        errors = np.full(found.shape[:2], np.nan)
        for at in np.ndindex(errors.shape):
            if np.isfinite(found[at]).all():
                errors[at] = (float(sse(X, found[at])) - best) / (one - best)
        out.append(_Runs(m, errors))
    return out


def rows_of(case: Case, trials: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of the archive for one case, one for each number of frequencies."""
    name = "sketch-planning-" + "-".join(map(str, case))
    one = partial(_trial, case=case, mixtures=case.data != "law" or case.separation in (4.0, 6.0))
    runs = run_trials(one, trials, seed=seed, name=name, progress=False)
    rows = []
    for same in zip(*runs, strict=True):
        errors = np.array([one.errors for one in same])
        row: dict[str, Any] = {
            **{key: getattr(case, key) for key in ("data", "d", "k", "separation")},
            "n_frequencies": same[0].n_frequencies,
        }
        for at, decoder in enumerate(DECODERS):
            run = errors[~np.isnan(errors[:, at]).any(axis=1), at]
            if len(run):
                row[decoder] = {
                    "trials": len(run),
                    "found": (run <= FOUND).sum(axis=0).tolist(),
                    "median": [float(f"{value:.3g}") for value in np.median(run, axis=0)],
                }
        rows.append(row)
    return rows


def cases() -> Iterator[tuple[str, Case, int]]:
    """Yield part of the archive, case and trials: what the rule saw, then what it did not."""
    for d, k in GRID:
        for separation in SEPARATIONS:
            if d * k <= 12 or separation == 6.0:
                yield "seen", Case("law", 10_000, d, k, separation), TRIALS
    for d, k in STAR:
        yield "seen", Case("law", 10_000, d, k, 6.0), 2
    for case in HELD_OUT:
        yield "held out", case, TRIALS
