"""Private sums of quadratic features where one record is replaced, and an attack on them.

The printed sensitivities count one record; two nonnegative vectors with disjoint supports add up.
The attack on the pair :math:`e_1,e_2` asks whether the likelihood ratio is as large as it gets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit._numerics.clipping import clip_rows
from dplit.audit import EventAudit, audit_hits
from dplit.features import quadratic_features
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise
from dplit.sketching.sensitivity import sketch_sensitivity

_BLOCK = 250_000


def noise_level(
    frequencies: ArrayLike, *, epsilon: float, delta: float = 0.0, as_printed: bool = False
) -> float:
    """Return the scale (delta = 0) or sigma of the noise where one record is replaced."""
    norm = 1 if check_probability("delta", delta, zero=True) == 0 else 2
    size = sketch_sensitivity(
        "quadratic",
        frequencies,
        norm=1 if norm == 1 else 2,
        neighboring="replace_one",
        as_printed=as_printed,
    )
    if norm == 1:
        return size / check_positive("epsilon", epsilon)
    return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=size)


def _quadratic_release(
    X: ArrayLike,
    frequencies: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    rng: np.random.Generator,
    as_printed: bool = False,
    size: int = 1,
    noise_factor: float = 1.0,
) -> Array:
    """Private sums of quadratic features for neighbours by replacement: ``size`` releases, each of
    which costs the budget. ``noise_factor`` below 1 is a planted fault, the loss ``as_printed``
    up to twice the budget.
    """
    records = clip_rows(check_real_array("X", X, 2), 1.0)
    total = quadratic_features(records, frequencies).sum(axis=0)
    level = noise_level(frequencies, epsilon=epsilon, delta=delta, as_printed=as_printed)
    level *= check_positive("noise_factor", noise_factor)
    shape = (check_integer("size", size), len(total))
    if delta == 0:
        return np.asarray(total + laplace_noise(shape, scale=level, rng=check_rng(rng)))
    return np.asarray(total + gaussian_noise(shape, sigma=level, rng=check_rng(rng)))


def _attack_event(
    releases: ArrayLike,
    total: ArrayLike,
    neighbour: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    level: float,
) -> NDArray[np.bool_]:
    """Return where a two-point likelihood-ratio attack answers "the first data set", (runs,).

    Laplace noise (delta = 0): every coordinate beyond both sums; Gaussian: a loss above epsilon.
    """
    s = check_finite_array("releases", releases, ndim=2)
    f, g = check_finite_array("total", total), check_finite_array("neighbour", neighbour)
    level = check_positive("level", level)
    if delta == 0:
        beyond = np.where(f >= g, s >= f, s <= f) | (f == g)
        return np.asarray(beyond.all(axis=1))
    loss = (s - (f + g) / 2) @ (f - g) / level**2
    return np.asarray(loss > epsilon)


def _blocks(runs: int) -> list[int]:
    """Split runs so that no block of releases needs much memory."""
    whole, rest = divmod(runs, _BLOCK)
    return [_BLOCK] * whole + [rest] * (rest > 0)


def audit_replacement(
    frequencies: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    runs: int,
    rng: np.random.Generator,
    as_printed: bool = False,
    confidence: float = 0.9999,
    noise_factor: float = 1.0,
) -> EventAudit:
    """Audit the release on data sets that share a record and differ in e_1 or e_2."""
    omega = check_finite_array("frequencies", frequencies, ndim=2)
    check_integer("dimension of frequencies", len(omega), minimum=2)
    shared = np.full(len(omega), 0.5 / np.sqrt(len(omega)))
    data, neighbour = (np.stack([shared, np.eye(len(omega))[k]]) for k in (0, 1))
    f, g = (quadratic_features(rows, omega).sum(axis=0) for rows in (data, neighbour))
    level = noise_level(omega, epsilon=epsilon, delta=delta, as_printed=as_printed)
    hits = []
    for rows in (data, neighbour):
        count = 0
        for size in _blocks(check_integer("runs", runs)):
            releases = _quadratic_release(
                rows,
                omega,
                epsilon=epsilon,
                delta=delta,
                rng=rng,
                as_printed=as_printed,
                size=size,
                noise_factor=noise_factor,
            )
            event = _attack_event(
                releases, f, g, epsilon=epsilon, delta=delta, level=level * noise_factor
            )
            count += int(event.sum())
        hits.append(count)
    return audit_hits(hits[0], hits[1], runs, epsilon=epsilon, delta=delta, confidence=confidence)
