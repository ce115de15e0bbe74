r"""Sensitivities of sketches: by enumeration, for sums on a finite domain, and for the three maps.

Complex vectors count as vectors of real and imaginary parts: the :math:`\ell_1` norm of z is
:math:`\|\Re z\|_1+\|\Im z\|_1`, which is not the sum of the moduli.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_neighboring,
)
from dplit.sketching.quadratic_sensitivity import (
    replace_l1_bound,
    s4_certificate,
    spectral_sensitivity,
)

__all__ = ["enumerated_sensitivity", "real_norm", "sketch_sensitivity", "sum_sensitivity"]

MapKind = Literal["fourier", "quantized", "quadratic"]
_MOST_DATASETS = 200_000


def _check_norm(norm: int) -> int:
    if check_integer("norm", norm) > 2:
        raise ValueError(f"norm must be 1 or 2, got norm={norm!r}")
    return norm


def real_norm(features: ArrayLike, *, norm: Literal[1, 2]) -> NDArray[np.float64]:
    r"""Return :math:`Q_p`: the norm of each feature vector, complex ones as real vectors.

    Parameters
    ----------
    features : array_like of shape (..., m)
        Finite, real or complex.
    norm : {1, 2}
        Which norm.

    Returns
    -------
    ndarray of shape (...)
        For complex features :math:`\|\Re z\|_1+\|\Im z\|_1` or :math:`\|z\|_2`.

    Raises
    ------
    TypeError, ValueError
        If ``features`` is not numeric, finite and nonempty, or ``norm`` is not 1 or 2.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 13 and 16 and Lemma 5.

    Examples
    --------
    >>> from dplit.sketching.sensitivity import real_norm
    >>> real_norm([[3 + 4j, 0]], norm=1), real_norm([[3 + 4j, 0]], norm=2)
    (array([7.]), array([5.]))
    """
    values = check_finite_array("features", features)
    if _check_norm(norm) == 1:
        sums: NDArray[np.float64] = (np.abs(values.real) + np.abs(values.imag)).sum(axis=-1)
        return sums
    return np.asarray(np.linalg.norm(values, axis=-1), dtype=np.float64)


def enumerated_sensitivity(
    query: Callable[[Any], ArrayLike],
    domain: ArrayLike,
    *,
    n_records: int,
    norm: Literal[1, 2],
    neighboring: Neighboring,
) -> float:
    r"""Return the sensitivity of any query by going through all neighbouring data sets.

    Parameters
    ----------
    query : callable
        ``query(records)`` is a vector; records is an array with at least one row.
    domain : array_like of shape (k, ...)
        The k values that a record can take.
    n_records : int
        Records of the larger data set, at least 1 (2 for ``add_remove``).
    norm : {1, 2}
        Norm of the difference, complex vectors as real ones.
    neighboring : {"add_remove", "replace_one"}
        Whether the neighbour lacks one record or has another in its place.

    Returns
    -------
    float
        The exact supremum of the definition over data sets of this size from this domain.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or there are too many data sets.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Definitions 9, 10, 13 and 16.

    Examples
    --------
    >>> from dplit.sketching.sensitivity import enumerated_sensitivity
    >>> enumerated_sensitivity(lambda X: [X.sum()], [0.0, 3.0], n_records=3, norm=1,
    ...                        neighboring="add_remove")
    3.0
    """
    values = check_finite_array("domain", domain)
    add = check_neighboring(neighboring) == "add_remove"
    n = check_integer("n_records", n_records, minimum=2 if add else 1)
    if len(values) ** n > _MOST_DATASETS:
        raise ValueError(f"n_records must leave at most {_MOST_DATASETS} data sets, got {n}")
    answers: dict[tuple[int, ...], NDArray[Any]] = {
        rows: np.atleast_1d(query(values[list(rows)]))
        for size in ({n - 1, n} if add else {n})
        for rows in product(range(len(values)), repeat=size)
    }
    best = 0.0
    for rows in product(range(len(values)), repeat=n):
        for at in range(n):
            rest = [()] if add else [(value,) for value in range(len(values))]
            others = [answers[rows[:at] + middle + rows[at + 1 :]] for middle in rest]
            gaps = real_norm(np.stack(others) - answers[rows], norm=norm)
            best = max(best, float(gaps.max()))
    return best


def sum_sensitivity(
    features: ArrayLike, *, norm: Literal[1, 2], neighboring: Neighboring = "add_remove"
) -> float:
    r"""Return the sensitivity of a sum of features over a finite domain.

    Parameters
    ----------
    features : array_like of shape (k, m)
        The features of all k values that a record can take, real or complex.
    norm : {1, 2}
        Norm, complex vectors as real ones.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Which data sets are neighbours.

    Returns
    -------
    float
        The largest norm of a feature vector (``add_remove``) or of a difference of two
        (``replace_one``). On an infinite domain it is a lower bound.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Neighbours that share all other records have sums that differ by one feature vector, or by two
    with opposite signs: the rest of the data set cancels.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemma 5 and equation (9).

    Examples
    --------
    >>> from dplit.sketching.sensitivity import sum_sensitivity
    >>> sum_sensitivity([[1.0, 0.0], [0.0, 1.0]], norm=1, neighboring="replace_one")
    2.0
    """
    rows = check_finite_array("features", features, ndim=2)
    check_neighboring(neighboring)
    if neighboring == "add_remove":
        return float(real_norm(rows, norm=norm).max())
    return max(float(real_norm(rows - row, norm=norm).max()) for row in rows)


def sketch_sensitivity(
    kind: MapKind,
    frequencies: ArrayLike,
    *,
    norm: Literal[1, 2],
    neighboring: Neighboring = "add_remove",
    as_printed: bool = False,
) -> float:
    r"""Return the sensitivity to which the noise on a sum of features is calibrated.

    Parameters
    ----------
    kind : {"fourier", "quantized", "quadratic"}
        The map; records of quadratic features lie in the unit ball.
    frequencies : array_like of shape (d, m)
        One frequency per column.
    norm : {1, 2}
        1 for Laplace noise per real coordinate, 2 for Gaussian noise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Which data sets are neighbours.
    as_printed : bool, default=False
        The paper's value. Its replace-one values for quadratic features are too small: noise
        calibrated to them has up to twice the privacy loss. For study only.

    Returns
    -------
    float
        Never below the supremum. Fourier and one-bit features: :math:`\sqrt2m` or
        :math:`\sqrt m`, doubled for a replacement. Quadratic ones: :math:`\|\Omega\|_2^2` or a
        certified :math:`S_4`; for a replacement :math:`\lambda_1+\lambda_2` or :math:`\sqrt2` times
        the certificate.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sensitivity import sketch_sensitivity
    >>> [sketch_sensitivity("quadratic", np.eye(2), norm=1, neighboring="replace_one",
    ...                     as_printed=printed) for printed in (True, False)]
    [1.0, 2.0]
    """
    check_choice("kind", kind, get_args(MapKind))
    columns = check_finite_array("frequencies", frequencies, ndim=2)
    replace = check_neighboring(neighboring) == "replace_one"
    first = _check_norm(norm) == 1
    if kind != "quadratic":
        m = columns.shape[1]
        return float(np.sqrt(2.0) * m if first else np.sqrt(m)) * (2.0 if replace else 1.0)
    corrected = replace and not as_printed
    if first:
        return replace_l1_bound(columns) if corrected else spectral_sensitivity(columns)
    return s4_certificate(columns) * (np.sqrt(2.0).item() if corrected else 1.0)
