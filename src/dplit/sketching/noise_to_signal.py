r"""Noise-to-signal ratios of private subsampled sketches, in closed form.

The ratio is the mean squared error of the released mean, over the squared norm of a reference: the
sketch z of the law of the data (and then the draw of the data counts as noise), or the sketch
:math:`z_X` of the data at hand. The joint law of a mask's entries does not matter, only its rate.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)

__all__ = ["noise_to_signal", "noise_variance", "without_replacement_variance"]

Reference = Literal["law", "data"]
Sampling = Literal["poisson", "without_replacement"]
Noise = Literal["laplace", "gaussian", "polydisc", "cube"]


def noise_variance(
    noise: Noise, *, scale: float, n_components: int, complex_valued: bool = True
) -> float:
    r"""Mean squared modulus of one entry of the noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polydisc", "cube"}
    scale : float
        Laplace scale b, Gaussian sigma (both per real coordinate), or the inverse of the rate.
    n_components : int
        Number m of entries; matters for "polydisc" and "cube", whose entries share a radius.
    complex_valued : bool, default=True
        Whether an entry has two real coordinates; "polydisc" and "cube" are always complex.

    Returns
    -------
    float
        :math:`4b^2`, :math:`2\sigma^2`, :math:`(2m+1)(m+1)/\xi^2` or
        :math:`\frac23(2m+1)(2m+2)/\xi^2`; half of the first two for real entries.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range, or a real polydisc or cube is asked for.

    References
    ----------
    Chatalic et al. (2022), Definitions 11, 12 and 15, Appendix D.

    Examples
    --------
    >>> from dplit.sketching.noise_to_signal import noise_variance
    >>> noise_variance("laplace", scale=3.0, n_components=20)
    36.0
    """
    check_choice("noise", noise, ("laplace", "gaussian", "polydisc", "cube"))
    square, m = check_positive("scale", scale) ** 2, check_integer("n_components", n_components)
    parts = 2 if complex_valued else 1
    if noise == "laplace":
        return parts * 2.0 * square
    if noise == "gaussian":
        return parts * square
    if not complex_valued:
        raise ValueError(f"complex_valued must be True for {noise!r} noise, got {complex_valued!r}")
    radius = (2.0 * m + 1.0) * (2.0 * m + 2.0) * square
    return radius / 2.0 if noise == "polydisc" else radius * 2.0 / 3.0


def noise_to_signal(
    *,
    n_samples: int,
    n_components: int,
    feature_energy: float,
    signal_energy: float,
    noise_variance: float,
    alpha: float = 1.0,
    beta: float = 1.0,
    reference: Reference = "law",
    sampling: Sampling = "poisson",
) -> float:
    r"""Noise-to-signal ratio of a private, subsampled sketch with public n.

    Parameters
    ----------
    n_samples, n_components : int
        Numbers n of records (at least 2 without replacement) and m of features.
    feature_energy : float
        Mean of :math:`\|\Phi(x)\|^2` over the reference; m for Fourier features.
    signal_energy : float
        Squared norm of the reference, positive.
    noise_variance : float
        :math:`E|\xi_j|^2`, nonnegative, as :func:`noise_variance` computes it.
    alpha, beta : float, default=1.0
        Sampling rates of features and records, in (0, 1].
    reference : {"law", "data"}, default="law"
        Sketch z of the law, or :math:`z_X` of the data.
    sampling : {"poisson", "without_replacement"}, default="poisson"
        How records are sampled.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range.

    Notes
    -----
    Poisson: :math:`\frac1n(\frac{E\|\Phi\|^2}{\alpha\beta\|z\|^2}-1)+N` and
    :math:`\frac1n(\frac1{\alpha\beta}-1)\frac{E\|\Phi\|^2}{\|z_X\|^2}+N`, with
    :math:`N=m\sigma_\xi^2/(n^2\beta^2\|z\|^2)`. Without replacement the first has
    :math:`\frac1{n\beta}(\frac{E\|\Phi\|^2}{\alpha\|z\|^2}-1)`, the second
    :math:`(\frac{1/\beta-1}{n-1}+\frac{1/\alpha-1}{\beta n})\frac{E\|\Phi\|^2}{\|z_X\|^2}
    -\frac{1/\beta-1}{n-1}`.

    References
    ----------
    Chatalic et al. (2022), Lemma 26 and Appendix D.

    Examples
    --------
    >>> from dplit.sketching.noise_to_signal import noise_to_signal
    >>> energies = dict(feature_energy=10.0, signal_energy=5.0, noise_variance=4.0)
    >>> round(noise_to_signal(n_samples=100, n_components=10, alpha=0.5, **energies), 9)
    0.0308
    """
    n, m = check_integer("n_samples", n_samples), check_integer("n_components", n_components)
    power = check_positive("feature_energy", feature_energy)
    signal = check_positive("signal_energy", signal_energy)
    variance = check_nonnegative("noise_variance", noise_variance)
    alpha = check_probability("alpha", alpha, one=True)
    beta = check_probability("beta", beta, one=True)
    check_choice("reference", reference, ("law", "data"))
    check_choice("sampling", sampling, ("poisson", "without_replacement"))
    added, ratio = m * variance / (n * n * beta * beta * signal), power / signal
    if sampling == "poisson":
        rest = ratio / (alpha * beta) - 1.0
        if reference == "data":
            rest = (1.0 / (alpha * beta) - 1.0) * ratio
        return rest / n + added
    check_integer("n_samples", n_samples, minimum=2)
    if reference == "law":
        return (ratio / alpha - 1.0) / (n * beta) + added
    left_out = (1.0 / beta - 1.0) / (n - 1)
    return (left_out + (1.0 / alpha - 1.0) / (beta * n)) * ratio - left_out + added


def without_replacement_variance(values: ArrayLike, n_kept: int) -> float:
    r"""Variance of the mean of some entries, chosen without replacement.

    Parameters
    ----------
    values : array_like of shape (n,)
        Real or complex numbers, at least two.
    n_kept : int
        Number n' of entries in the mean, 1 to n.

    Returns
    -------
    float
        :math:`\frac{\sigma^2}{n'}\frac{n-n'}{n-1}`, with :math:`\sigma^2` the mean of
        :math:`|x_i-\mu|^2`.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two values or ``n_kept`` is out of range.

    References
    ----------
    Chatalic et al. (2022), Lemma 30.

    Examples
    --------
    >>> from dplit.sketching.noise_to_signal import without_replacement_variance
    >>> without_replacement_variance([0.0, 2.0], 1)
    1.0
    """
    entries = check_finite_array("values", values, ndim=1)
    n, kept = len(entries), check_integer("n_kept", n_kept)
    if n < 2 or kept > n:
        raise ValueError(f"n_kept must be at most {n}, and n at least 2, got n_kept={n_kept!r}")
    spread = float(np.mean(np.abs(entries - entries.mean()) ** 2))
    return spread / kept * (n - kept) / (n - 1)
