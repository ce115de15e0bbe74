"""Least squares from noisy second moments: one Gaussian release, then post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._base import check_regression
from dplit._checks import (
    Array,
    Neighboring,
    check_neighboring,
    check_positive,
    check_probability,
    quiet,
)
from dplit._numerics.exact import exact_gram, gram_rounding, grid_rows, grid_values
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms._bits import check_source
from dplit.mechanisms.values import Gaussian


class Moments(NamedTuple):
    """Second moments, and moments with the labels, as whole sums and what a 1 in them stands for.

    ``second`` (d, d) and ``label`` (d,) are exact sums of products of grid steps, which add up to
    those of a union of records; a unit of rows is ``second_unit``, rational, and so on.
    """

    second: Array
    label: Array
    second_unit: Fraction
    label_unit: Fraction

    def released(
        self,
        *,
        sigmas: tuple[float, float],
        moved: tuple[float, float],
        joint: float,
        rng: np.random.Generator | None,
        responses: str = "labels",
    ) -> tuple[Array, Array]:
        """Return both with exact Gaussian noise, isotropic in the Frobenius norm of the matrix.

        ``sigmas`` are the deviations (on the diagonal) and ``moved`` the sensitivities of both, in
        units of rows and labels; ``joint`` is that of the two together, over their deviations.
        """
        gram = Gaussian(sigmas[0]).add_symmetric(
            self.second,
            unit=self.second_unit,
            hides="second moments",
            sensitivity=moved[0],
            rng=rng,
        )
        moment = Gaussian(sigmas[1]).add(
            self.label,
            unit=self.label_unit,
            hides=f"moments with the {responses}",
            sensitivity=moved[1],
            joint=joint,
            rng=rng,
        )
        return gram, moment


@dataclass(frozen=True)
class PrivateMoments:
    """A private linear model with the noisy moments it was made from; all of it may be published.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Ridge solution from the noisy moments, the second one projected on the positive cone.
    gram : ndarray of shape (d, d)
        Noisy ``X^T X``, symmetric, not projected.
    moment : ndarray of shape (d,)
        Noisy ``X^T y``.
    alpha : float
        Ridge parameter that was used.
    epsilon, delta : float
        Guarantee of the whole.
    neighboring : str
    sigma : float
        Standard deviation of the noise on the moments of rows of norm 1 and labels in [-1, 1].
    """

    coef: NDArray[np.float64]
    gram: NDArray[np.float64]
    moment: NDArray[np.float64]
    alpha: float
    epsilon: float
    delta: float
    neighboring: str
    sigma: float

    def solve(self, *, alpha: float) -> NDArray[np.float64]:
        """Return the ridge solution for another ``alpha``, at no further cost of privacy.

        Parameters
        ----------
        alpha : float
            Ridge parameter in (0, inf), on the scale of ``X^T X`` as in scikit-learn's ``Ridge``.

        Returns
        -------
        ndarray of shape (d,)
            ``(G_+ + alpha I)^-1 h``, where ``G_+`` is the noisy second moment with its negative
            eigenvalues set to zero.
        """
        return ridge_solution(self.gram, self.moment, check_positive("alpha", alpha))


def moment_sensitivity(
    *, data_norm: float, label_bound: float, neighboring: Neighboring = "add_remove"
) -> float:
    """Exact L2 sensitivity of the pair ``(X^T X, X^T y)`` for clipped records.

    Parameters
    ----------
    data_norm : float
        Bound r on the Euclidean norm of every row, in (0, inf).
    label_bound : float
        Bound b on ``|y|``, in (0, inf).
    neighboring : {"add_remove", "replace_one"}, default="add_remove"

    Returns
    -------
    float
        The largest distance in the norm ``sqrt(||G - G'||_F^2 + ||h - h'||_2^2)``, attained (in at
        least two dimensions for ``replace_one``).

    Notes
    -----
    One record contributes ``(x x^T, y x)`` of squared norm ``|x|^4 + y^2 |x|^2``, hence
    ``r sqrt(r^2 + b^2)`` for adding or removing it. Replacing (x, y) by (z, w) moves the pair by::

        |x|^4 + |z|^4 - 2 <x, z>^2 + y^2 |x|^2 + w^2 |z|^2 - 2 y w <x, z>,

    largest at full norms and labels ``y w = -b^2 sign<x, z>``: with ``t = |<x, z>|`` this is
    ``2 r^4 - 2 t^2 + 2 b^2 r^2 + 2 b^2 t``, whose maximum over ``0 <= t <= r^2`` is at
    ``t = min(b^2 / 2, r^2)``. So the sensitivity is ``sqrt(2) (r^2 + b^2 / 2)`` if
    ``b^2 <= 2 r^2`` and ``2 b r`` otherwise: between sqrt(2) and 2 times the other one.

    Examples
    --------
    >>> round(moment_sensitivity(data_norm=1.0, label_bound=1.0), 6)
    1.414214
    >>> round(moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring="replace_one"), 6)
    2.12132
    """
    r, b = check_positive("data_norm", data_norm), check_positive("label_bound", label_bound)
    check_neighboring(neighboring)
    if neighboring == "add_remove":
        return r * math.hypot(r, b)
    return math.sqrt(2.0) * (r * r + b * b / 2.0) if b * b <= 2.0 * r * r else 2.0 * b * r


def ridge_solution(
    gram: NDArray[np.float64], moment: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Solve ``(G_+ + alpha I) c = h`` through the eigenvalues of ``G``."""
    values, vectors = np.linalg.eigh(gram)
    coef: NDArray[np.float64] = vectors @ ((vectors.T @ moment) / (np.maximum(values, 0) + alpha))
    return coef


@quiet
def sufficient_statistics(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    data_norm: float,
    label_bound: float,
    neighboring: Neighboring = "add_remove",
    alpha: float | None = None,
    rng: np.random.Generator | None = None,
) -> PrivateMoments:
    """Linear regression from one (epsilon, delta)-private release of ``X^T X`` and ``X^T y``.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records or features; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (n_samples,)
        Finite labels, clipped to ``[-label_bound, label_bound]``.
    epsilon, delta : float
        In (0, inf) and (0, 1).
    data_norm, label_bound : float
        Bounds chosen without looking at the data, in (0, inf).
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    alpha : float or None, default=None
        Ridge parameter on the scale of ``X^T X``. None takes ``sigma r^2 sqrt(2 d)``, the largest
        eigenvalue that the noise alone is expected to have: a choice that reads no data.
    rng : numpy.random.Generator or None, default=None
        None: bits of the operating system. A generator is a replay, which voids the guarantee.

    Returns
    -------
    PrivateMoments
        The solution and the noisy moments, all under one (epsilon, delta) guarantee.

    Notes
    -----
    Moments are taken in the units of the bounds (rows of norm at most 1, labels in [-1, 1]), which
    makes the result equivariant under scaling of X and y with their bounds and balances the two
    parts. The symmetric noise has variance sigma^2 on the diagonal and sigma^2/2 off it, the
    isotropic Gaussian of the Frobenius norm, calibrated exactly for :func:`moment_sensitivity`.
    That bound also holds for what the machine adds up: clipped records are rounded to a public grid
    (16 bits of each bound), on which their moments are exact in every order, and totals beyond
    2^53 steps are rounded once, for which the calibration has a further ``2^-21 sqrt(d^2 + d)``.

    References
    ----------
    Vu and Slavkovic, Differential privacy for clinical trial data, ICDM workshops 2009; Wang,
    Revisiting differentially private linear regression, UAI 2018, arXiv:1803.02596, Algorithm 2
    (which splits the budget in three; here one joint release and no private norm).

    Examples
    --------
    >>> from dplit.streams import stream
    >>> X = stream(0, "example", "data").uniform(-1, 1, (5000, 1))
    >>> model = sufficient_statistics(X, 0.5 * X[:, 0], epsilon=1.0, delta=1e-6, data_norm=1.0,
    ...                               label_bound=1.0, rng=stream(0, "example", "noise"))
    >>> bool(abs(model.coef[0] - 0.5) < 0.05)
    True
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    r, b = check_positive("data_norm", data_norm), check_positive("label_bound", label_bound)
    ridge = None if alpha is None else check_positive("alpha", alpha)
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=neighboring)
    rows, labels = check_regression(X, y)
    check_source(rng)
    d = rows.shape[1]
    sigma = gaussian_sigma(
        epsilon=epsilon, delta=delta, sensitivity=unit + gram_rounding(d * d + d)
    )
    rows, step = grid_rows(rows, r)
    labels, label_step = grid_values(labels, b)
    share, label_share = Fraction(step) / Fraction(r), Fraction(label_step) / Fraction(b)
    exact = Moments(
        exact_gram(rows, rows), exact_gram(rows, labels), share * share, share * label_share
    )
    added = neighboring == "add_remove"
    gram, moment = exact.released(
        sigmas=(sigma, sigma),
        moved=(
            (1.0 if added else math.sqrt(2.0)) + gram_rounding(d * d),
            (1.0 if added else 2.0) + gram_rounding(d),
        ),
        joint=(unit + gram_rounding(d * d + d)) / sigma,
        rng=rng,
    )
    gram, moment = gram * r * r, moment * r * b
    if ridge is None:
        ridge = sigma * r * r * math.sqrt(2.0 * d)
    coef = ridge_solution(gram, moment, ridge)
    return PrivateMoments(coef, gram, moment, ridge, epsilon, delta, neighboring, sigma)
