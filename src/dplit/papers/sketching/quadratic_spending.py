"""What subsampled quadratic features really spend, and when Lemma 20 is sharp."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_positive
from dplit.papers.sketching.masks import _MaskLaw
from dplit.papers.sketching.subsampled_quadratic import _columns, quadratic_q1


def lemma20_ratio(frequencies: ArrayLike, law: _MaskLaw) -> float:
    r"""Noise that Lemma 20 asks for, over the noise that is needed without subsampling.

    :math:`\max_h\|\Omega_h\|^2/(\alpha\|\Omega\|^2)\ge1`; Lemma 20 is sharp if and only if it is 1.

    >>> from dplit.papers.sketching.masks import mask_law
    >>> lemma20_ratio(np.eye(2), mask_law("uniform", 2, n_kept=1))
    2.0
    """
    columns = _columns(frequencies, law)
    whole = check_positive("norm of frequencies", float(np.linalg.norm(columns, 2)))
    return quadratic_q1(columns, law) / whole**2
