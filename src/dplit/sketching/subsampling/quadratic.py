r"""Privacy of subsampled quadratic features :math:`(\omega_j^\top x)^2` on the unit ball.

With mask h a record moves the sum by :math:`\alpha^{-1}x^\top\Omega_h\Omega_h^\top x`. Where a
record is *replaced* the printed sensitivities are too small: nonnegative vectors with disjoint
supports add up. The corrected ones use the two largest eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplit._checks import (
    Array,
    Neighboring,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_positive,
    check_rng,
)
from dplit.sketching.sensitivity import s4_ascent, s4_certificate
from dplit.sketching.subsampling.laplace import far_point, log_density
from dplit.sketching.subsampling.masks import MaskLaw, mask_support

__all__ = [
    "QuadraticEpsilon",
    "Spending",
    "lemma20_ratio",
    "lemma20_spending",
    "masked_operators",
    "masked_quartic",
    "masked_spectra",
    "quadratic_epsilon",
    "quadratic_q1",
    "quadratic_q2",
    "replaced_loss",
]


def masked_operators(frequencies: ArrayLike, law: MaskLaw) -> tuple[Array, Array]:
    r"""Matrices :math:`\Omega_h\Omega_h^\top` of all masks, and the masks' probabilities.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.

    Returns
    -------
    operators : ndarray of shape (S, d, d)
    probabilities : ndarray of shape (S,)

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law.

    Examples
    --------
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import masked_operators
    >>> operators, probabilities = masked_operators([[3.0]], mask_law("data", 1, alpha=0.25))
    >>> operators.ravel().tolist(), probabilities.tolist()
    ([0.0, 9.0], [0.75, 0.25])
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    masks, probabilities = mask_support(law)
    operators = np.einsum("aj,sj,bj->sab", columns, masks.astype(float), columns, optimize=True)
    return operators, probabilities


def masked_spectra(frequencies: ArrayLike, law: MaskLaw) -> Array:
    r"""Eigenvalues of :math:`\Omega_h\Omega_h^\top` for every mask h, largest first.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.

    Returns
    -------
    ndarray of shape (S, d)

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law.

    References
    ----------
    Chatalic et al. (2022), Lemma 19.

    Examples
    --------
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import masked_spectra
    >>> masked_spectra([[2.0, 0.0], [0.0, 1.0]], mask_law("uniform", 2, n_kept=1)).tolist()
    [[4.0, 0.0], [1.0, 0.0]]
    """
    operators, _ = masked_operators(frequencies, law)
    spectra: Array = np.maximum(np.linalg.eigvalsh(operators)[:, ::-1], 0.0)
    return spectra


def quadratic_q1(
    frequencies: ArrayLike,
    law: MaskLaw,
    *,
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Largest l1 distance, over masks and records, that one record moves the subsampled sum.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    as_printed : bool, default=False
        The paper's value for "replace_one", which is too small in general.

    Returns
    -------
    float
        :math:`\alpha^{-1}\max_h\lambda_1`, exact, for "add_remove";
        :math:`\alpha^{-1}\max_h(\lambda_1+\lambda_2)`, an upper bound, for "replace_one".
        Laplace noise of scale this over epsilon is epsilon-private.

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law or ``neighboring`` is unknown.

    Notes
    -----
    Replaced records: :math:`\sum_j|(\omega_j^\top x)^2-(\omega_j^\top y)^2|` is largest for
    orthogonal x, y, and then at most :math:`\lambda_1+\lambda_2` (Ky Fan).

    References
    ----------
    Chatalic et al. (2022), Lemmas 19 and 20.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import quadratic_q1
    >>> law = mask_law("block", 2, n_kept=2, block=2)
    >>> [quadratic_q1(np.eye(2), law, neighboring=n) for n in ("add_remove", "replace_one")]
    [1.0, 2.0]
    """
    check_neighboring(neighboring)
    count = 1 if neighboring == "add_remove" or as_printed else 2
    spectra = masked_spectra(frequencies, law)
    return float(spectra[:, :count].sum(axis=1).max()) / law.alpha


def masked_quartic(
    frequencies: ArrayLike, law: MaskLaw, *, rng: np.random.Generator | None = None
) -> Array:
    r"""The quantity :math:`S_4(\Omega_h)` of every mask: certified from above, or found from below.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed; every mask costs an eigenproblem of size d(d + 1)/2.
    rng : numpy.random.Generator, optional
        With it, a multi-start ascent (a lower bound); without, the certificate (an upper bound).

    Returns
    -------
    ndarray of shape (S,)

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law.

    References
    ----------
    Chatalic et al. (2022), Lemma 25.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import masked_quartic
    >>> masked_quartic(np.eye(2), mask_law("uniform", 2, n_kept=1)).round(6).tolist()
    [1.0, 1.0]
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    values = []
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
    law: MaskLaw,
    *,
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Largest l2 distance, over masks and records, that one record moves the subsampled sum.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    as_printed : bool, default=False
        The paper's value for "replace_one", which is too small in general.

    Returns
    -------
    float
        :math:`\alpha^{-1}\max_hS_4(\Omega_h)` with certified :math:`S_4`, times :math:`\sqrt2`
        for "replace_one": upper bounds, fit for calibration by Lemma 23.

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law or ``neighboring`` is unknown.

    Notes
    -----
    :math:`(a-b)^2\le a^2+b^2` for nonnegative a, b.

    References
    ----------
    Chatalic et al. (2022), Lemma 25.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import quadratic_q2
    >>> law = mask_law("block", 2, n_kept=2, block=2)
    >>> round(quadratic_q2(np.eye(2), law, neighboring="replace_one"), 6)
    1.414214
    """
    check_neighboring(neighboring)
    factor = 1.0 if neighboring == "add_remove" or as_printed else math.sqrt(2.0)
    return factor * float(masked_quartic(frequencies, law).max()) / law.alpha


def replaced_loss(
    frequencies: ArrayLike, law: MaskLaw, x: ArrayLike, y: ArrayLike, *, scale: float
) -> float:
    r"""Log density ratio of two releases in which one record is replaced, far out.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column.
    law : MaskLaw
        With a support that can be listed.
    x, y : array_like of shape (d,)
        The record and the one that takes its place, of norm at most 1.
    scale : float
        Scale b of the Laplace noise, positive.

    Returns
    -------
    float
        A lower bound of the epsilon under "replace_one", attained at an actual release.

    Raises
    ------
    TypeError, ValueError
        If shapes do not fit or a record is longer than 1.

    References
    ----------
    Chatalic et al. (2022), Lemmas 19, 21 and 23.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import replaced_loss
    >>> law = mask_law("block", 2, n_kept=2, block=2)
    >>> replaced_loss(np.eye(2), law, [1.0, 0.0], [0.0, 1.0], scale=1.0)
    2.0
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    pair = [check_finite_array(n, v, ndim=1).astype(float) for n, v in (("x", x), ("y", y))]
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


# What subsampled quadratic features really spend, and when Lemma 20 is sharp.
#
# The budget is the maximum over the unit ball of a mean of exponentials of convex quadratics. An
# ascent finds it from below, the mean of the largest exponentials bounds it from above.


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
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import lemma20_ratio
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
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import quadratic_epsilon
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
    >>> from dplit.sketching.subsampling.masks import mask_law
    >>> from dplit.sketching.subsampling.quadratic import lemma20_spending
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
