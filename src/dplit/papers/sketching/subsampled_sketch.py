"""Sums of subsampled features, with and without noise, and the estimators built on them.

Every record shows only the features that its mask keeps, divided by the rate: unbiased. Computing
only these saves the rest of the work: :func:`subsampled_map_sum`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_finite_array, check_probability, check_real_array, check_rng, quiet
from dplit.mechanisms._draws import record_draw
from dplit.papers.sketching.masks import _draw_masks, _MaskLaw
from dplit.sketching._exact_sums import exact_sum, feature_adder
from dplit.sketching.additive_noise import additive_mechanism
from dplit.sketching.sketches import SketchMap

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
    return np.asarray(exact_sum(values * chosen) / alpha)


def subsampled_map_sum(X: ArrayLike, sketch_map: SketchMap, indices: ArrayLike) -> NDArray[Any]:
    """Subsampled sum that computes no feature but the kept ones (Section 5, sketching complexity).

    ``indices`` (n, r) are the positions of the features that each record keeps, as
    :func:`dplit.papers.sketching.masks.draw_indices` draws them; an index twice in a row is
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
    features: ArrayLike,
    law: _MaskLaw,
    *,
    noise: Literal["laplace", "gaussian"],
    scale: float,
    mask_rng: np.random.Generator,
    rng: np.random.Generator,
) -> NDArray[Any]:
    r"""Noisy subsampled sum :math:`\Sigma_H+\xi`: Definitions 21 and 22, (13) and (18).

    Secret masks of ``law`` from ``mask_rng``, then "laplace" or "gaussian" noise of ``scale`` per
    real coordinate of the rescaled sum from ``rng``. With Laplace noise its exact epsilon under
    "add_remove" is the largest over records of
    :func:`dplit.papers.sketching.subsampled_laplace.record_epsilon`; for Gaussian noise see
    :mod:`dplit.papers.sketching.subsampled_gaussian`. Research noise, no release.
    """
    values = check_finite_array("features", features, ndim=2)
    record_draw("secret", "masks of the features", scale=1.0, shape=values.shape)
    masks = _draw_masks(law, len(values), rng=check_rng(mask_rng))
    total = subsampled_sum(values, masks, alpha=law.alpha)
    return additive_mechanism(total, noise=noise, scale=scale, rng=rng)


def hybrid_sum(
    features: ArrayLike,
    masks: ArrayLike,
    taken: ArrayLike,
    noise: ArrayLike,
    *,
    alpha: float,
    beta: float,
) -> NDArray[Any]:
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
