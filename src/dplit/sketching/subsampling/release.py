"""Sums of subsampled features, with and without noise, and the estimators built on them.

Every record shows only the features that its mask keeps, divided by the rate: unbiased. Computing
only these saves the rest of the work: :func:`subsampled_map_sum`.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
    quiet,
)
from dplit.mechanisms.draws import record_draw
from dplit.sketching._exact_sums import feature_adder
from dplit.sketching.release import _exact_sum, additive_mechanism
from dplit.sketching.sketches import SketchMap
from dplit.sketching.subsampling.masks import _draw_masks, _MaskLaw, amplified_epsilon, base_epsilon

#: Records per block of :func:`subsampled_map_sum`.
_BLOCK_ROWS = 512


def _features_and_masks(features: ArrayLike, masks: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    values = check_finite_array("features", features, ndim=2)
    chosen = check_finite_array("masks", masks, ndim=2)
    if chosen.shape != values.shape or not np.isin(chosen, (0, 1)).all():
        raise ValueError(
            f"masks must be binary of shape {values.shape}, got masks of shape {chosen.shape}"
        )
    return values, chosen


def subsampled_sum(features: ArrayLike, masks: ArrayLike, *, alpha: float) -> NDArray[Any]:
    r"""Sum of the features (n, m) that masks (n, m) keep, over the sampling rate: Definition 20.

    :math:`\Sigma_H=\alpha^{-1}\sum_i\Phi(x_i)\odot h_i`; its mean over masks of rate alpha is the
    full sum.

    >>> subsampled_sum([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [1, 1]], alpha=0.5).tolist()
    [8.0, 8.0]
    """
    alpha = check_probability("alpha", alpha, one=True)
    values, chosen = _features_and_masks(features, masks)
    return np.asarray(_exact_sum(values * chosen) / alpha)


def subsampled_map_sum(X: ArrayLike, sketch_map: SketchMap, indices: ArrayLike) -> NDArray[Any]:
    """Subsampled sum that computes no feature but the kept ones (Section 5, sketching complexity).

    ``indices`` (n, r) are the positions of the features that each record keeps, as
    :func:`dplit.sketching.subsampling.masks.draw_indices` draws them; an index twice in a row is
    refused: the feature would count twice, which the sensitivity does not allow for. Equal to
    :func:`subsampled_sum` with alpha = r/m, up to the map's ``feature_error``, at r/m of the work;
    the features are those of :func:`dplit.sketching.sketches.sketch`, and add exactly in every
    order.
    """
    records = check_real_array("X", X, 2, copy=False)
    kept = check_finite_array("indices", indices, ndim=2)
    m, r = sketch_map.n_components, kept.shape[1]
    if records.shape[1] != sketch_map.n_features or len(kept) != len(records):
        raise ValueError(
            f"X must have {sketch_map.n_features} columns and as many rows as indices, "
            f"got X of shape {records.shape} and indices of shape {kept.shape}"
        )
    if kept.dtype.kind not in "iu" or kept.min() < 0 or kept.max() >= m:
        raise ValueError(f"indices must be integers from 0 to {m - 1}, got dtype {kept.dtype}")
    if r > m or not np.diff(np.sort(kept, axis=1), axis=1).all():
        raise ValueError(f"indices must be different in every row, at most {m}, got {r} in a row")
    adder = feature_adder(sketch_map, 1)
    parts, counts = np.zeros(adder.shape, np.int64), np.bincount(kept.ravel(), minlength=m)
    for start in range(0, len(records), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        parts += adder.scattered(records[rows], kept[rows])
    return np.asarray(adder.total(parts, counts) * (m / r))


@quiet
def noisy_subsampled_sum(
    features: ArrayLike, law: _MaskLaw, *, noise: Literal["laplace", "gaussian"], scale: float,
    mask_rng: np.random.Generator, rng: np.random.Generator,
) -> NDArray[Any]:  # fmt: skip
    r"""Noisy subsampled sum :math:`\Sigma_H+\xi`: Definitions 21 and 22, (13) and (18).

    Secret masks of ``law`` from ``mask_rng``, then "laplace" or "gaussian" noise of ``scale`` per
    real coordinate of the rescaled sum from ``rng``. With Laplace noise its exact epsilon under
    "add_remove" is the largest over records of
    :func:`dplit.sketching.subsampling.laplace.record_epsilon`; for Gaussian noise see
    :mod:`dplit.sketching.subsampling.gaussian`. Research noise, no release.
    """
    values = check_finite_array("features", features, ndim=2)
    record_draw("secret", "masks of the features", scale=1.0, shape=values.shape)
    masks = _draw_masks(law, len(values), rng=check_rng(mask_rng))
    total = subsampled_sum(values, masks, alpha=law.alpha)
    return additive_mechanism(total, noise=noise, scale=scale, rng=rng)


def hybrid_sum(
    features: ArrayLike, masks: ArrayLike, taken: ArrayLike, noise: ArrayLike, *, alpha: float,
    beta: float,
) -> NDArray[Any]:  # fmt: skip
    r"""Sum over sampled records of sampled features, with noise, unbiased for the full sum: (20).

    :math:`\beta^{-1}(\alpha^{-1}\sum_ig_i\Phi(x_i)\odot h_i+\xi)`, where ``taken`` is g, which
    records enter; ``noise`` is divided by ``beta`` like the rest.
    """
    beta = check_probability("beta", beta, one=True)
    values, chosen = _features_and_masks(features, masks)
    entered = check_finite_array("taken", taken, ndim=1).astype(bool)
    added = check_finite_array("noise", noise, ndim=1)
    if entered.shape != (len(values),) or added.shape != (values.shape[1],):
        raise ValueError(
            f"taken and noise must have {len(values)} and {values.shape[1]} entries, "
            f"got {entered.shape} and {added.shape}"
        )
    total = subsampled_sum(values, chosen.astype(bool) & entered[:, None], alpha=alpha)
    return np.asarray((total + added) / beta)


# Private sums over a fixed number of records, chosen without replacement: adding a record to the
# data *replaces* one of the sample, so that the sensitivity is that of "replace_one".


#: Most samples that :func:`sample_log_density` lists.
_LARGEST_COUNT = 1 << 16


def sample_scale(*, epsilon: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Laplace scale for the sum over a sample, by the budget that sampling leaves: (22).

    :math:`\Delta/\varepsilon'` with :math:`\varepsilon'=\log(1+(e^\varepsilon-1)/\beta)`.
    ``sensitivity`` is that for "replace_one" where the sample has a fixed size (Appendix D): with
    the one for "add_remove" the guarantee fails.

    >>> round(sample_scale(epsilon=1.0, sampling_rate=0.5, sensitivity=1.0), 4)
    0.6712
    """
    budget = base_epsilon(epsilon=check_positive("epsilon", epsilon), sampling_rate=sampling_rate)
    return check_positive("sensitivity", sensitivity) / budget


def sample_epsilon(*, scale: float, sampling_rate: float, sensitivity: float) -> float:
    r"""Epsilon of a noisy sum over a sample of fixed size, under "add_remove" of a record.

    :math:`\log(1+\beta(e^{\Delta/b}-1))`, attained where all other records are equal; ``scale`` b
    is that of the unrescaled sum, :math:`\beta=n'/n` counts the larger data set and ``sensitivity``
    is for "replace_one": given that the new record is in the sample, the rest is the sample of the
    smaller data set with one member left out, so that the density is :math:`(1-\beta)p_Y+\beta p'`
    with :math:`p'\le e^{\Delta/b}p_Y`.

    >>> round(sample_epsilon(scale=0.6712, sampling_rate=0.5, sensitivity=2.0), 3)
    2.336
    """
    ratio = check_positive("sensitivity", sensitivity) / check_positive("scale", scale)
    return amplified_epsilon(epsilon=ratio, sampling_rate=sampling_rate)


def sample_log_density(
    points: ArrayLike, features: ArrayLike, n_kept: int, *, scale: float
) -> Array:
    """Exact log density of a noisy sum over a sample of fixed size, by listing the samples.

    ``points`` (n_points, m) are releases, ``features`` (n, m) real, ``scale`` that of the
    unrescaled sum; without the constant ``-m log(2 b)``, and for at most 65,536 samples.
    """
    where = check_real_array("points", points, 2)
    values = check_real_array("features", features, 2)
    n = len(values)
    kept = check_integer("n_kept", n_kept, maximum=n)
    if where.shape[1] != values.shape[1]:
        raise ValueError(f"points must have {values.shape[1]} columns, got {where.shape}")
    count = comb(n, kept)
    if count > _LARGEST_COUNT:
        raise ValueError(f"there must be at most {_LARGEST_COUNT} samples, got {count}")
    sums = np.array([values[list(chosen)].sum(axis=0) for chosen in combinations(range(n), kept)])
    distances = np.abs(where[:, None, :] - sums[None]).sum(axis=2)
    return np.asarray(
        logsumexp(-distances / check_positive("scale", scale), axis=1) - np.log(count)
    )
