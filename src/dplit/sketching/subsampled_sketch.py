r"""Sums of subsampled features, with and without noise, and the estimators built on them.

Every record shows the sum only the features that its mask keeps, divided by the rate at which they
are kept; the sum is unbiased for the full one. Computing only the kept features saves the rest of
the work: :func:`subsampled_map_sum`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_noise, laplace_noise
from dplit.sketching._sums import feature_adder
from dplit.sketching.additive_release import exact_sum
from dplit.sketching.masks import MaskLaw, draw_masks
from dplit.sketching.sketches import SketchMap

__all__ = [
    "draw_records",
    "gaussian_subsampled_sum",
    "hybrid_sum",
    "laplace_subsampled_sum",
    "subsampled_map_sum",
    "subsampled_sum",
]

Sampling = Literal["none", "poisson", "without_replacement"]

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
    r"""Sum of the features that the masks keep, divided by the sampling rate.

    Parameters
    ----------
    features : array_like of shape (n, m)
        Features of the records, real or complex.
    masks : array_like of shape (n, m)
        One binary mask per record.
    alpha : float
        Probability in (0, 1] with which a feature is kept.

    Returns
    -------
    ndarray of shape (m,)
        :math:`\Sigma_H=\alpha^{-1}\sum_i\Phi(x_i)\odot h_i`. Its mean over masks of rate alpha is
        the full sum.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit, a mask is not binary or alpha is not in (0, 1].

    References
    ----------
    Chatalic et al. (2022), Definition 20.

    Examples
    --------
    >>> from dplit.sketching.subsampled_sketch import subsampled_sum
    >>> subsampled_sum([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [1, 1]], alpha=0.5).tolist()
    [8.0, 8.0]
    """
    alpha = check_probability("alpha", alpha, one=True)
    values, chosen = _features_and_masks(features, masks)
    total: NDArray[Any] = exact_sum(values * chosen) / alpha
    return total


def subsampled_map_sum(X: ArrayLike, sketch_map: SketchMap, indices: ArrayLike) -> NDArray[Any]:
    r"""Subsampled sum that computes no feature but the kept ones.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Finite records; clipped to the unit ball for the quadratic map.
    sketch_map : SketchMap
        Fourier, quantized or quadratic.
    indices : array_like of int, shape (n, r)
        Positions of the features that each record keeps, as
        :func:`dplit.sketching.masks.draw_indices` draws them; all different in a row.

    Returns
    -------
    ndarray of shape (n_components,)
        Equal to :func:`subsampled_sum` of all features with these masks and alpha = r/m, up to
        the map's ``feature_error``, at r/m of the products and cosines. The features are those of
        :func:`dplit.sketching.sketches.sketch`, and add exactly in every order.

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape, or an index is out of range or twice in a row: the feature
        would count twice, which the sensitivity does not allow for.

    References
    ----------
    Chatalic et al. (2022), Section 5, "A note on sketching complexity".

    Examples
    --------
    >>> from dplit.sketching.sketches import SketchMap
    >>> from dplit.sketching.subsampled_sketch import subsampled_map_sum
    >>> quadratic = SketchMap("quadratic", [[1.0, 0.5]])
    >>> subsampled_map_sum([[1.0], [1.0]], quadratic, [[0], [1]]).round(4).tolist()
    [2.0, 0.5]
    """
    records = check_finite_array("X", X, ndim=2)
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
    scaled: NDArray[Any] = adder.total(parts, counts) * (m / r)
    return scaled


def laplace_subsampled_sum(
    features: ArrayLike,
    law: MaskLaw,
    *,
    scale: float,
    mask_rng: np.random.Generator,
    rng: np.random.Generator,
) -> NDArray[Any]:
    r"""Laplacian subsampled sum: secret masks, then Laplace noise on every real coordinate.

    Parameters
    ----------
    features : array_like of shape (n, m)
        Features of the records, real or complex.
    law : MaskLaw
        Law of each record's mask; the masks are independent.
    scale : float
        Scale b of the noise per real coordinate of the rescaled sum, positive.
    mask_rng, rng : numpy.random.Generator
        Sources of the masks and of the noise. Both are secret.

    Returns
    -------
    ndarray of shape (m,)
        :math:`\Sigma_H+\xi`. Its exact epsilon under "add_remove" is the supremum over records
        of :func:`dplit.sketching.subsampled_laplace.record_epsilon`. Research noise, no release.

    Raises
    ------
    TypeError, ValueError
        If the features do not fit the law or ``scale`` is not positive.

    References
    ----------
    Chatalic et al. (2022), Definition 21, (13).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.subsampled_sketch import laplace_subsampled_sum
    >>> streams = dict(mask_rng=np.random.default_rng(0), rng=np.random.default_rng(1))
    >>> law = mask_law("uniform", 4, n_kept=2)
    >>> laplace_subsampled_sum(np.ones((3, 4)), law, scale=1.0, **streams).shape
    (4,)
    """
    values = check_finite_array("features", features, ndim=2)
    masks = draw_masks(law, len(values), rng=check_rng(mask_rng))
    total = subsampled_sum(values, masks, alpha=law.alpha)
    is_complex = values.dtype.kind == "c"
    noisy: NDArray[Any] = total + laplace_noise(
        law.n_components, scale=scale, rng=rng, complex=is_complex
    )
    return noisy


def gaussian_subsampled_sum(
    features: ArrayLike,
    law: MaskLaw,
    *,
    sigma: float,
    mask_rng: np.random.Generator,
    rng: np.random.Generator,
) -> NDArray[Any]:
    r"""Gaussian subsampled sum: secret masks, then Gaussian noise on every real coordinate.

    Parameters
    ----------
    features : array_like of shape (n, m)
        Features of the records, real or complex.
    law : MaskLaw
        Law of each record's mask; the masks are independent.
    sigma : float
        Standard deviation of the noise per real coordinate of the rescaled sum, positive.
    mask_rng, rng : numpy.random.Generator
        Sources of the masks and of the noise. Both are secret.

    Returns
    -------
    ndarray of shape (m,)
        :math:`\Sigma_H+\xi`. For Fourier features the exact delta is in
        :mod:`dplit.sketching.subsampled_gaussian`. Research noise, no release.

    Raises
    ------
    TypeError, ValueError
        If the features do not fit the law or ``sigma`` is not positive.

    References
    ----------
    Chatalic et al. (2022), Definition 22, (18).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.subsampled_sketch import gaussian_subsampled_sum
    >>> streams = dict(mask_rng=np.random.default_rng(0), rng=np.random.default_rng(1))
    >>> law = mask_law("uniform", 4, n_kept=2)
    >>> gaussian_subsampled_sum(np.ones((3, 4)), law, sigma=1.0, **streams).shape
    (4,)
    """
    values = check_finite_array("features", features, ndim=2)
    masks = draw_masks(law, len(values), rng=check_rng(mask_rng))
    total = subsampled_sum(values, masks, alpha=law.alpha)
    is_complex = values.dtype.kind == "c"
    noisy: NDArray[Any] = total + gaussian_noise(
        law.n_components, sigma=sigma, rng=rng, complex=is_complex
    )
    return noisy


def draw_records(
    n_samples: int, *, sampling: Sampling, rate: float = 1.0, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which records enter a sum: all, an independent choice, or a fixed number of them.

    Parameters
    ----------
    n_samples : int
        Number n of records.
    sampling : {"none", "poisson", "without_replacement"}
    rate : float, default=1.0
        Sampling rate beta in (0, 1]; without replacement ``rate * n_samples`` must be an integer.
    rng : numpy.random.Generator
        Source of the choice, which is secret.

    Returns
    -------
    ndarray of bool, shape (n_samples,)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    References
    ----------
    Chatalic et al. (2022), Section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampled_sketch import draw_records
    >>> kind = dict(sampling="without_replacement", rate=0.4)
    >>> int(draw_records(10, **kind, rng=np.random.default_rng(0)).sum())
    4
    """
    n = check_integer("n_samples", n_samples)
    check_choice("sampling", sampling, ("none", "poisson", "without_replacement"))
    rate = check_probability("rate", rate, one=True)
    if sampling == "none" or rate == 1.0:
        return np.ones(n, dtype=bool)
    if sampling == "poisson":
        return check_rng(rng).random(n) < rate
    count = round(rate * n)
    if count < 1 or abs(count - rate * n) > 1e-9 * n:
        raise ValueError(f"rate * n_samples must be a positive integer, got {rate * n!r}")
    taken = np.zeros(n, dtype=bool)
    taken[check_rng(rng).choice(n, count, replace=False)] = True
    return taken


def hybrid_sum(
    features: ArrayLike,
    masks: ArrayLike,
    taken: ArrayLike,
    noise: ArrayLike,
    *,
    alpha: float,
    beta: float,
) -> NDArray[Any]:
    r"""Sum over sampled records of sampled features, with noise.

    Parameters
    ----------
    features, masks : array_like of shape (n, m)
        Features and binary masks of all records.
    taken : array_like of bool, shape (n,)
        Which records enter, as :func:`draw_records` draws them.
    noise : array_like of shape (m,)
        The noise; it is divided by ``beta`` like the rest.
    alpha, beta : float
        Sampling rates of features and of records, in (0, 1].

    Returns
    -------
    ndarray of shape (m,)
        :math:`\beta^{-1}(\alpha^{-1}\sum_ig_i\Phi(x_i)\odot h_i+\xi)`, unbiased for the full sum.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit or a rate is not in (0, 1].

    References
    ----------
    Chatalic et al. (2022), (20).

    Examples
    --------
    >>> from dplit.sketching.subsampled_sketch import hybrid_sum
    >>> ones = [[1.0], [1.0]]
    >>> hybrid_sum(ones, ones, [True, False], [0.5], alpha=1.0, beta=0.5).tolist()
    [3.0]
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
    alpha = check_positive("alpha", alpha)
    total = subsampled_sum(values, chosen.astype(bool) & entered[:, None], alpha=alpha)
    scaled: NDArray[Any] = (total + added) / beta
    return scaled
