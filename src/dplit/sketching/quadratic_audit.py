r"""Private sums of quadratic features where one record is replaced, and an attack on them.

The printed sensitivities count one record; a replacement moves two nonnegative vectors, which add
up where their supports differ. The attack looks at the pair :math:`e_1,e_2`: it asks whether the
likelihood ratio is as large as it gets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit._estimators import clip_rows
from dplit.audit import EventAudit, audit_hits
from dplit.features import quadratic_features
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise
from dplit.sketching.sensitivity import sketch_sensitivity

__all__ = ["attack_event", "audit_replacement", "noise_level", "quadratic_release"]

Array = NDArray[np.float64]
_BLOCK = 250_000


def noise_level(
    frequencies: ArrayLike, *, epsilon: float, delta: float = 0.0, as_printed: bool = False
) -> float:
    r"""Return the scale (delta = 0) or sigma of the noise where one record is replaced.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    epsilon : float
        Budget, positive.
    delta : float, default=0.0
        0 for Laplace noise, otherwise in [1e-300, 1) for Gaussian noise.
    as_printed : bool, default=False
        The paper's calibration, which is too small: for study only.

    Returns
    -------
    float
        Laplace scale, or Gaussian standard deviation.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_audit import noise_level
    >>> noise_level(np.eye(2), epsilon=1.0), noise_level(np.eye(2), epsilon=1.0, as_printed=True)
    (2.0, 1.0)
    """
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


def quadratic_release(
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
    r"""Return private sums of quadratic features, for neighbours that differ by a replacement.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Records; those outside the unit ball are scaled to its surface.
    frequencies : array_like of shape (d, m)
        One frequency per column.
    epsilon, delta : float
        Budget of each release; delta = 0 is Laplace noise.
    rng : numpy.random.Generator
        Source of the noise.
    as_printed : bool, default=False
        The paper's calibration, whose loss can be twice the budget: for study only.
    size : int, default=1
        Independent releases; each costs the budget.
    noise_factor : float, default=1.0
        Multiplies the noise: 1 is the release, less is a fault planted to test an audit.

    Returns
    -------
    ndarray of shape (size, m)
        The releases.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_audit import quadratic_release
    >>> quadratic_release(np.eye(2), np.eye(2), epsilon=1.0, rng=np.random.default_rng(0)).shape
    (1, 2)
    """
    records = clip_rows(np.asarray(check_finite_array("X", X, ndim=2), dtype=float), 1.0)
    total = quadratic_features(records, frequencies).sum(axis=0)
    level = noise_level(frequencies, epsilon=epsilon, delta=delta, as_printed=as_printed)
    level *= check_positive("noise_factor", noise_factor)
    shape = (check_integer("size", size), len(total))
    if delta == 0:
        return np.asarray(total + laplace_noise(shape, scale=level, rng=check_rng(rng)))
    return np.asarray(total + gaussian_noise(shape, sigma=level, rng=check_rng(rng)))


def attack_event(
    releases: ArrayLike,
    total: ArrayLike,
    neighbour: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    level: float,
) -> NDArray[np.bool_]:
    r"""Return where a two-point likelihood-ratio attack answers "the first data set".

    Parameters
    ----------
    releases : array_like of shape (runs, m)
        Outputs.
    total, neighbour : array_like of shape (m,)
        The exact sums of the two data sets.
    epsilon, delta : float
        Claimed budget; delta = 0 for Laplace noise.
    level : float
        Scale or standard deviation of the noise under attack.

    Returns
    -------
    ndarray of bool, shape (runs,)
        Laplace noise: every coordinate lies beyond both sums on the side of ``total``, where the
        loss is maximal. Gaussian noise: the loss exceeds ``epsilon``, the best event for delta.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.quadratic_audit import attack_event
    >>> attack_event([[1.5, -0.5], [0.5, 0.5]], [1.0, 0.0], [0.0, 1.0], epsilon=1.0, delta=0.0,
    ...              level=1.0)
    array([ True, False])
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
    r"""Audit the release on data sets that share a record and differ in :math:`e_1` or :math:`e_2`.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column, d at least 2.
    epsilon, delta : float
        Claimed budget.
    runs : int
        Releases of each data set.
    rng : numpy.random.Generator
        Source of the noise.
    as_printed : bool, default=False
        Whether the paper's calibration is audited, or the corrected one.
    confidence : float, default=0.9999
        Probability with which a true claim is not refuted (Clopper-Pearson).
    noise_factor : float, default=1.0
        Multiplies the noise, for controls.

    Returns
    -------
    EventAudit
        Counts, claim and lower bounds.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.quadratic_audit import audit_replacement
    >>> audit = audit_replacement(np.eye(2), epsilon=1.0, runs=20_000, as_printed=True,
    ...                           rng=np.random.default_rng(0))
    >>> audit.violated
    True
    """
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
            releases = quadratic_release(
                rows, omega, epsilon=epsilon, delta=delta, rng=rng, as_printed=as_printed,
                size=size, noise_factor=noise_factor,
            )  # fmt: skip
            event = attack_event(
                releases, f, g, epsilon=epsilon, delta=delta, level=level * noise_factor
            )
            count += int(event.sum())
        hits.append(count)
    return audit_hits(hits[0], hits[1], runs, epsilon=epsilon, delta=delta, confidence=confidence)
