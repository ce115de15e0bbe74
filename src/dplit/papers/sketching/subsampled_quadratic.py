r"""Privacy of subsampled quadratic features :math:`(\omega_j^\top x)^2` on the unit ball.

With mask h a record moves the sum by :math:`\alpha^{-1}x^\top\Omega_h\Omega_h^\top x`. Where a
record is *replaced* the printed sensitivities are too small: nonnegative vectors with disjoint
supports add up. The corrected ones use the two largest eigenvalues.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, Neighboring, check_neighboring, check_real_array
from dplit.papers.sketching.masks import _MaskLaw, mask_support
from dplit.papers.sketching.mixture_densities import far_point, log_density
from dplit.papers.sketching.quadratic import s4_ascent
from dplit.sketching.sensitivity import s4_certificate


def _columns(frequencies: ArrayLike, law: _MaskLaw) -> Array:
    columns = check_real_array("frequencies", frequencies, 2)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    return columns


def _masked_operators(frequencies: ArrayLike, law: _MaskLaw) -> tuple[Array, Array]:
    r"""Matrices :math:`\Omega_h\Omega_h^\top` (S, d, d) of all masks, and their probabilities."""
    columns = _columns(frequencies, law)
    masks, probabilities = mask_support(law)
    operators = np.einsum("aj,sj,bj->sab", columns, masks.astype(float), columns, optimize=True)
    return operators, probabilities


def quadratic_q1(
    frequencies: ArrayLike,
    law: _MaskLaw,
    *,
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Largest l1 distance, over masks and records, that one record moves the subsampled sum.

    :math:`\alpha^{-1}\max_h\lambda_1`, exact, or for "replace_one" the bound with
    :math:`\lambda_1+\lambda_2`, which Lemmas 19 and 20 as printed lack.
    """
    check_neighboring(neighboring)
    count = 1 if neighboring == "add_remove" or as_printed else 2
    spectra = np.maximum(np.linalg.eigvalsh(_masked_operators(frequencies, law)[0]), 0.0)
    return float(spectra[:, ::-1][:, :count].sum(axis=1).max()) / law.alpha


def masked_quartic(
    frequencies: ArrayLike, law: _MaskLaw, *, rng: np.random.Generator | None = None
) -> Array:
    r""":math:`S_4(\Omega_h)` of every mask, certified; with ``rng`` found from below."""
    columns, values = _columns(frequencies, law), []
    for mask in mask_support(law)[0]:
        kept = columns[:, mask]
        if kept.shape[1] == 0:
            values.append(0.0)
        elif rng is None:
            values.append(s4_certificate(kept))
        else:
            values.append(s4_ascent(kept, rng=rng).value)
    return np.array(values)


def quadratic_q2(
    frequencies: ArrayLike,
    law: _MaskLaw,
    *,
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Bound of the l2 distance, over masks and records, that one record moves the sum.

    :math:`\alpha^{-1}\max_hS_4(\Omega_h)`, certified, times :math:`\sqrt2` for "replace_one", which
    Lemma 25 as printed lacks.
    """
    check_neighboring(neighboring)
    factor = 1.0 if neighboring == "add_remove" or as_printed else math.sqrt(2.0)
    return factor * float(masked_quartic(frequencies, law).max()) / law.alpha


def replaced_loss(
    frequencies: ArrayLike, law: _MaskLaw, x: ArrayLike, y: ArrayLike, *, scale: float
) -> float:
    """Log density ratio at a far release where y takes the place of x: a lower bound of epsilon."""
    columns = check_real_array("frequencies", frequencies, 2)
    pair = [check_real_array(n, v, 1) for n, v in (("x", x), ("y", y))]
    for name, record in zip(("x", "y"), pair, strict=True):
        if record.shape != (len(columns),) or np.linalg.norm(record) > 1 + 1e-12:
            raise ValueError(
                f"{name} must have {len(columns)} entries and norm at most 1, "
                f"got {name} of shape {record.shape} and norm {np.linalg.norm(record):.6g}"
            )
    first, second = ((record @ columns) ** 2 for record in pair)
    distance = 10.0 * float(max(first.max(), second.max())) / law.alpha + 1.0
    point = far_point(first - second, distance=distance)[None]
    densities = [log_density(point, [value], law, scale=scale)[0] for value in (first, second)]
    return float(densities[0] - densities[1])
