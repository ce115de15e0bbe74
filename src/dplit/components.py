"""Principal components of a noisy matrix of second moments."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dplit._base import RandomState, noise_source, whole
from dplit._bounds import stated_norm
from dplit._checks import (
    Neighboring,
    check_epsilon,
    check_integer,
    check_neighboring,
    check_probability,
    quiet,
    warn_of_noise,
)
from dplit._numerics.exact import exact_gram, gram_rounding, grid_rows
from dplit._predictors import ComponentsEstimator
from dplit._records import validated
from dplit._statements import state_guarantee
from dplit.mechanisms import gaussian_sigma
from dplit.mechanisms.values import Gaussian

#: Noise alone passes its expected largest eigenvalue by this many deviations in 3 fits of 100.
_RISE = 2.65


class PrivatePCA(ComponentsEstimator):
    """Private principal components: leading eigenvectors of second moments with Gaussian noise.

    Parameters
    ----------
    n_components : int, default=2
        Number k of components, at most the number of columns.
    epsilon, delta : float, default=1.0 and 1e-5
        From 1e-50 to 1e20, and in (0, 1).
    data_norm : float
        Euclidean norm to which rows are clipped. Must be given, and chosen without the data.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    random_state : int, Generator, RandomState or None, default=None
        Source of the noise. None takes entropy from the operating system; anything else is for
        reproduction and voids the privacy guarantee. ``clone`` copies a generator together with
        its state, so that two clones share their noise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, in order of falling second moment; the entry of largest modulus of each is
        positive.
    moments_ : ndarray of shape (n_features, n_features)
        The release: noisy second moments of records divided by ``data_norm``, not projected.
    sigma_ : float
        Standard deviation of the noise on their diagonal.
    epsilon_, delta_, neighboring_ : float, float, str
        The guarantee that the fitted attributes satisfy together.
    privacy_statement_ : str
        The guarantee in one sentence, with its limits.
    n_features_in_ : int

    Warns
    -----
    UserWarning
        If the largest noisy eigenvalue is no larger than noise alone makes one. The warning is a
        function of the release.

    Notes
    -----
    Records are not centred. For unit vectors :math:`|xx^T-yy^T|_F\\le\\sqrt2`, and 1 for a record
    that is added, removed, or has one column: the noise is calibrated exactly for that, and for the
    rounding of large sums, which are exact below. Noise of deviation :math:`\\sigma` has an
    expected largest eigenvalue of at most :math:`\\sigma\\sqrt{2d}`, and passes it by 2.65 of
    :math:`\\sigma` with probability at most .03, by concentration.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang, Analyze Gauss, STOC 2014, Algorithm 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(5_000, 3)) * [1.0, 0.1, 0.1]
    >>> model = PrivatePCA(1, data_norm=3.0, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 0]) > 0.99)
    True
    """

    #: All of its noise is Gaussian.
    _gaussian = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        data_norm: float | None = None,
        neighboring: Neighboring = "add_remove",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.neighboring = neighboring
        self.random_state = random_state

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release the noisy moments of the clipped records and take them apart.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored
        """
        epsilon = check_epsilon(self.epsilon)
        delta = check_probability("delta", self.delta)
        check_neighboring(self.neighboring)
        norm = stated_norm(self.data_norm)
        records = validated(self, X, dtype=np.float64)
        d = records.shape[1]
        k = check_integer("n_components", self.n_components, maximum=d)
        replaced = self.neighboring == "replace_one"
        change = math.sqrt(2.0) if replaced and d > 1 else 1.0
        self.sigma_ = gaussian_sigma(
            epsilon=epsilon, delta=delta, sensitivity=change + gram_rounding(d * d)
        )
        rows, step = grid_rows(records, norm)
        self.moments_ = Gaussian(self.sigma_).add_symmetric(
            exact_gram(rows, rows),
            unit=(Fraction(step) / Fraction(norm)) ** 2,
            hides="second moments",
            sensitivity=change + gram_rounding(d * d),
            rng=noise_source(self.random_state),
        )
        relation = "replacing one record" if replaced else "adding or removing one record"
        known = "; their number is public" if replaced else ""
        clipped = f"{relation} (rows clipped to norm {norm:g}{known})"
        state_guarantee(self, epsilon, delta, self.neighboring, clipped)
        return self._decompose(k)

    def _decompose(self, k: int) -> Self:
        """Find the components of what was released."""
        values, vectors = np.linalg.eigh(self.moments_)
        rows = vectors[:, ::-1][:, :k].T
        signs = np.sign(rows[np.arange(k), np.abs(rows).argmax(axis=1)])
        self.components_ = rows * signs[:, None]
        self._n_features_out = k
        if values[-1] <= self.sigma_ * (math.sqrt(2.0 * len(values)) + _RISE):
            warn_of_noise(
                f"PrivatePCA: noise of standard deviation {self.sigma_:.3g} hides the second "
                f"moments in {len(values)} dimensions; the components may be no better than any "
                "others. More records or a larger epsilon would help"
            )
        return self
