r"""What subsampled quadratic features really spend, and when Lemma 20 is sharp.

The budget is the maximum over the unit ball of a mean of exponentials of convex quadratics. An
ascent finds it from below, the mean of the largest exponentials bounds it from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dplit._checks import check_finite_array, check_integer, check_positive, check_rng
from dplit.sketching.masks import MaskLaw
from dplit.sketching.subsampled_quadratic import masked_operators, quadratic_q1

__all__ = [
    "QuadraticEpsilon",
    "Spending",
    "lemma20_ratio",
    "lemma20_spending",
    "quadratic_epsilon",
]

Array = NDArray[np.float64]


class QuadraticEpsilon(NamedTuple):
    """Exact epsilon between an ascent from below and the mean over masks from above."""

    lower: float
    upper: float
    x: Array


class Spending(NamedTuple):
    """Budgets spent at the noise of Lemma 20 for epsilon = 1, for several mask laws."""

    exact: Array
    finer: Array
    plain: Array


def lemma20_ratio(frequencies: ArrayLike, law: MaskLaw) -> float:
    r"""Noise that Lemma 20 asks for, over the noise that is needed without subsampling.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column, not all zero.
    law : MaskLaw
        With a support that can be listed.

    Returns
    -------
    float
        :math:`\max_h\|\Omega_h\|^2/(\alpha\|\Omega\|^2)`, at least 1. Lemma 20 is sharp if and
        only if it is 1.

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law or are all zero.

    Notes
    -----
    Write :math:`\lambda=\max_h\|\Omega_h\|^2`. The mean of the nonnegative
    :math:`\lambda-x^\top\Omega_h\Omega_h^\top x` over masks is
    :math:`\lambda-\alpha x^\top\Omega\Omega^\top x`; it vanishes for some unit x if and only if
    :math:`\lambda=\alpha\|\Omega\|^2`, and only then is :math:`E_he^{Q/b}=e^{\lambda/(\alpha b)}`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.quadratic_spending import lemma20_ratio
    >>> lemma20_ratio(np.eye(2), mask_law("uniform", 2, n_kept=1))
    2.0
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    whole = check_positive("norm of frequencies", float(np.linalg.norm(columns, 2)))
    return quadratic_q1(columns, law) / whole**2


def quadratic_epsilon(
    frequencies: ArrayLike,
    law: MaskLaw,
    *,
    scale: float,
    rng: np.random.Generator,
    n_starts: int = 30,
    max_iter: int = 2000,
) -> QuadraticEpsilon:
    r"""Exact epsilon of subsampled quadratic features with Laplace noise, under "add_remove".

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.
    scale : float
        Scale b of the noise per coordinate, positive.
    rng : numpy.random.Generator
        Source of the random starts.
    n_starts, max_iter : int
        Starts of the ascent and steps of each.

    Returns
    -------
    QuadraticEpsilon
        ``lower``: the largest :math:`\log E_he^{Q(x,h)/b}` found, at the record ``x``; ``upper``:
        :math:`\log E_he^{\|\Omega_h\|^2/(\alpha b)}`, the paper's finer bound.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    The exponential of a convex quadratic is convex, so the step to the direction of the gradient,
    :math:`x\leftarrow E_h[e^{Q/b}\Omega_h\Omega_h^\top]x` normalised, never goes down.

    References
    ----------
    Chatalic et al. (2022), Lemmas 15 and 20.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.quadratic_spending import quadratic_epsilon
    >>> law = mask_law("uniform", 2, n_kept=1)
    >>> found = quadratic_epsilon(np.eye(2), law, scale=2.0, rng=np.random.default_rng(0))
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.6201, 1.0)
    """
    operators, probabilities = masked_operators(frequencies, law)
    b = check_positive("scale", scale) * law.alpha
    x = check_rng(rng).standard_normal((check_integer("n_starts", n_starts), operators.shape[1]))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    before = np.full(len(x), -np.inf)
    for _ in range(check_integer("max_iter", max_iter)):
        moved = np.einsum("na,sab,nb->ns", x, operators, x, optimize=True) / b
        value = logsumexp(moved, axis=1, b=probabilities)
        if np.all(value <= before + 1e-14):
            break
        before = value
        weights = probabilities * np.exp(moved - value[:, None])
        x = np.einsum("ns,sab,nb->na", weights, operators, x, optimize=True)
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
    best = int(value.argmax())
    norms = np.linalg.eigvalsh(operators)[:, -1]
    upper = float(logsumexp(norms / b, b=probabilities))
    return QuadraticEpsilon(float(value[best]), upper, x[best])


def lemma20_spending(
    frequencies: ArrayLike, laws: Sequence[MaskLaw], *, rng: np.random.Generator
) -> Spending:
    r"""What is really spent where Lemma 20 says that epsilon is 1.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    laws : sequence of MaskLaw
    rng : numpy.random.Generator
        Source of the starts of the ascents.

    Returns
    -------
    Spending
        For each law the exact epsilon, the finer bound, and
        :math:`\|\Omega\|^2/b`, what the same noise spends without subsampling.

    Raises
    ------
    TypeError, ValueError
        As in :func:`quadratic_epsilon`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.quadratic_spending import lemma20_spending
    >>> laws, rng = [mask_law("uniform", 2, n_kept=1)], np.random.default_rng(0)
    >>> [round(float(v[0]), 4) for v in lemma20_spending(np.eye(2), laws, rng=rng)]
    [0.6201, 1.0, 0.5]
    """
    rows = []
    for law in laws:
        scale = quadratic_q1(frequencies, law)
        found = quadratic_epsilon(frequencies, law, scale=scale, rng=rng)
        whole = float(np.linalg.norm(np.asarray(frequencies, dtype=float), 2)) ** 2
        rows.append((found.lower, found.upper, whole / scale))
    return Spending(*np.array(rows).T)
