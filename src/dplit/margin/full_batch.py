r"""Noisy full-batch gradient descent on the hinge loss of a margin, many draws at a time.

All draws of the noise descend together, so that a step is two matrix products, whatever the number
of draws.  Labels may differ between draws as well: an audit flips them.  For other losses, one draw
at a time, there is :func:`dplit.baselines.noisy_gradient_descent`, which clips every gradient; the
gradients of this one are bounded by the margin and the norm of a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_integer, check_positive, check_rng
from dplit.margin._records import Array, check_geometry, gridded_records

__all__ = [
    "NoisyDescent",
    "balanced_steps",
    "descent_bound",
    "descent_noise",
    "descent_step",
    "noisy_hinge_descent",
    "rank_bound",
    "signal_to_noise",
]

#: Steps of :func:`balanced_steps`, at least and at most.
_STEPS = (100, 2000)


@dataclass(frozen=True)
class NoisyDescent:
    """Weights of all draws and what was used to find them.

    Attributes
    ----------
    weights : ndarray of shape (n_draws, d)
        Mean of the iterates, one row per draw of the noise.
    sigma : float
        Standard deviation of the noise on each coordinate of each mean gradient.
    step : float
        Step length.
    mu : float
        Gaussian-DP level of one draw (infinite without noise), with all iterates published.
    """

    weights: Array
    sigma: float
    step: float
    mu: float


def descent_noise(
    *, margin: float, data_norm: float, n_samples: int, mu: float, n_steps: int
) -> float:
    r"""Noise of one step: standard deviation per coordinate of the mean gradient.

    Parameters
    ----------
    margin, data_norm : float
        Positive; :math:`G=r/\rho` bounds every gradient.
    n_samples, n_steps : int
        Records m and steps T.
    mu : float
        Gaussian-DP level of all steps together under replacement of one record; infinity for none.

    Returns
    -------
    float
        :math:`2G\sqrt T/(m\mu)`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    Replacing a record moves the mean gradient by at most :math:`2G/m` (not :math:`G/m`); T adaptive
    Gaussian releases of level :math:`\mu/\sqrt T` compose to :math:`\mu`, exactly.

    Examples
    --------
    >>> from dplit.margin.full_batch import descent_noise
    >>> descent_noise(margin=0.5, data_norm=1.0, n_samples=1000, mu=0.25, n_steps=25)
    0.08
    """
    gradient = check_positive("data_norm", data_norm) / check_positive("margin", margin)
    m, steps = check_integer("n_samples", n_samples), check_integer("n_steps", n_steps)
    return 2.0 * gradient * math.sqrt(steps) / (m * check_positive("mu", mu, infinite=True))


def descent_step(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Step length that balances start and noise.

    Parameters
    ----------
    gradient : float
        Bound G on the gradients.
    radius : float
        Norm D of the comparator.
    sigma : float
        Noise per coordinate.
    noise_dimension : int
        Number q of coordinates whose noise counts: d with projection, the rank of the data without.
    n_steps : int
        Steps T.

    Returns
    -------
    float
        :math:`D/\sqrt{T(G^2+q\sigma^2)}`.

    Examples
    --------
    >>> from dplit.margin.full_batch import descent_step
    >>> descent_step(gradient=3.0, radius=1.0, sigma=2.0, noise_dimension=4, n_steps=4)
    0.1
    """
    q, steps = check_integer("noise_dimension", noise_dimension), check_integer("n_steps", n_steps)
    moved = check_positive("gradient", gradient) ** 2 + q * sigma**2
    return check_positive("radius", radius) / math.sqrt(steps * moved)


def descent_bound(
    *, gradient: float, radius: float, sigma: float, noise_dimension: int, n_steps: int
) -> float:
    r"""Bound on the expected excess hinge loss of the mean iterate.

    Parameters
    ----------
    gradient, radius, sigma, noise_dimension, n_steps
        As in :func:`descent_step`, whose step length is meant.

    Returns
    -------
    float
        :math:`DG\sqrt{(1+q\sigma^2/G^2)/T}`.

    Notes
    -----
    With projection :math:`E\|w_{t+1}-w\|^2\le E\|w_t-w\|^2-2\eta E(L(w_t)-L(w))+\eta^2(G^2+d
    \sigma^2)` for every w of the ball; summed, the mean iterate has excess at most
    :math:`D^2/(2\eta T)+\eta(G^2+d\sigma^2)/2`.

    Examples
    --------
    >>> from dplit.margin.full_batch import descent_bound
    >>> descent_bound(gradient=3.0, radius=1.0, sigma=2.0, noise_dimension=4, n_steps=4)
    2.5
    """
    args = {"gradient": gradient, "radius": radius, "sigma": sigma}
    step = descent_step(**args, noise_dimension=noise_dimension, n_steps=n_steps)
    return radius**2 / (step * n_steps)


def rank_bound(
    *, margin: float, radius: float, data_norm: float, n_samples: int, rank: int, mu: float,
    n_steps: int | None = None,
) -> float:  # fmt: skip
    r"""Excess hinge loss of noisy descent **without** projection, against every w of the ball.

    Parameters
    ----------
    margin, radius, data_norm : float
        Margin, norm of the comparator, norm of the records.
    n_samples, rank : int
        Records m and rank q of the data, at most min(m, d).
    mu : float
        Gaussian-DP level; infinity for no noise.
    n_steps : int or None, default=None
        Steps T; None: the limit of many steps.

    Returns
    -------
    float
        :math:`\Lambda G\sqrt{1/T+4q/(m\mu)^2}` with :math:`G=r/\rho`.

    Notes
    -----
    Let P be the projection on the span of the data. The losses see only :math:`Pw`, the gradients
    lie in the span, and the noise outside it never returns: the argument of :func:`descent_bound`
    runs for :math:`P w_t` with the noise of q coordinates. Nobody projects on a ball, and the
    dimension d has gone. The argument is that of Song, Steinke, Thakkar and Thakurta (2021).

    References
    ----------
    S. Song, T. Steinke, O. Thakkar, A. Thakurta, Evading the curse of dimensionality in
    unconstrained private GLMs, AISTATS 2021.

    Examples
    --------
    >>> from dplit.margin.full_batch import rank_bound
    >>> round(rank_bound(margin=0.3, radius=1.0, data_norm=1.0, n_samples=10_000, rank=10_000,
    ...     mu=0.2367), 3)
    0.282
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    q, m = check_integer("rank", rank), check_integer("n_samples", n_samples)
    level = check_positive("mu", mu, infinite=True)
    steps = math.inf if n_steps is None else check_integer("n_steps", n_steps)
    return size * norm / rho * math.sqrt(1.0 / steps + 4.0 * q / (m * level) ** 2)


def balanced_steps(*, n_samples: int, noise_dimension: int, mu: float) -> int:
    r"""Number of steps from which on noise and no longer the descent limits the accuracy.

    Parameters
    ----------
    n_samples, noise_dimension : int
        Records m and noisy coordinates q.
    mu : float
        Gaussian-DP level of all steps together.

    Returns
    -------
    int
        :math:`T=(m\mu)^2/(4q)`, where the two terms of :func:`rank_bound` are equal: more steps
        gain less than a factor :math:`\sqrt2` in the bound. At least 100, which never makes the
        bound worse, and at most 2000, for the sake of time. Public numbers alone.

    Examples
    --------
    >>> from dplit.margin.full_batch import balanced_steps
    >>> [balanced_steps(n_samples=m, noise_dimension=50, mu=0.25) for m in (100, 1600, 10**5)]
    [100, 800, 2000]
    """
    m, q = check_integer("n_samples", n_samples), check_integer("noise_dimension", noise_dimension)
    wanted = (m * check_positive("mu", mu)) ** 2 / (4.0 * q)
    return math.ceil(min(max(wanted, _STEPS[0]), _STEPS[1]))


def signal_to_noise(*, n_samples: int, noise_dimension: int, mu: float) -> float:
    r"""Length of the longest possible gradient over that of the noise on the mean of all of them.

    Parameters
    ----------
    n_samples, noise_dimension, mu
        As in :func:`balanced_steps`.

    Returns
    -------
    float
        :math:`m\mu/(2\sqrt q)`: T gradients of length at most G, each with noise
        :math:`2G\sqrt T/(m\mu)` on q coordinates. Neither margin nor steps matter.

    Examples
    --------
    >>> from dplit.margin.full_batch import signal_to_noise
    >>> signal_to_noise(n_samples=1000, noise_dimension=25, mu=0.25)
    25.0
    """
    q = check_integer("noise_dimension", noise_dimension)
    m = check_integer("n_samples", n_samples)
    return m * check_positive("mu", mu) / (2.0 * math.sqrt(q))


def noisy_hinge_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float,
    data_norm: float,
    mu: float,
    n_steps: int,
    rng: np.random.Generator,
    project: bool = True,
    step: float | None = None,
    n_draws: int = 1,
) -> NoisyDescent:
    r"""Minimise the mean hinge loss privately by noisy full-batch (sub)gradient steps.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Finite records; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (m,) or (n_draws, m)
        Labels -1 and 1, for all draws or for each.
    margin : float
        Margin :math:`\rho` of the hinge loss :math:`\max(0,1-u/\rho)`, in (0, radius * data_norm].
    radius : float
        Radius of the ball of comparators, on which iterates are projected if ``project``.
    data_norm : float
        Public bound r on the norm of a record.
    mu : float
        Gaussian-DP level of one draw, see :func:`dplit.conversions.gdp_budget`; infinity for none.
    n_steps : int
        Number T of steps.
    rng : numpy.random.Generator
        Source of the noise: floating-point research noise, not a release.
    project : bool, default=True
        Whether every iterate is projected on the ball. Privacy does not need it.
    step : float or None, default=None
        Step length; None takes :func:`descent_step` with d (projected) or min(m, d) noisy
        coordinates (not projected).
    n_draws : int, default=1
        Independent draws of the noise. Each is mu-GDP; together they are an experiment.

    Returns
    -------
    NoisyDescent
        Mean of the iterates :math:`w_0=0,\dots,w_{T-1}` per draw. Each draw is ``mu``-GDP for the
        replacement of one record (m is public), even with all iterates published.

    Raises
    ------
    TypeError, ValueError
        If the labels are not -1 and 1, the margin is outside its range or another argument is.

    Notes
    -----
    :math:`w_{t+1}=\Pi(w_t+\eta(\frac1{m\rho}\sum_{i:\,y_i\langle w_t,x_i\rangle<\rho}y_ix_i-
    \sigma z_t))`, with the noise of :func:`descent_noise`.  In expectation the excess is at most
    :func:`descent_bound` with projection and :func:`rank_bound` without. Records are rounded to a
    grid on which the sum over i has no rounding error, whatever the order of a matrix product: its
    sensitivity :math:`2r/(m\rho)` holds for what the machine computes.

    References
    ----------
    R. Bassily, A. Smith, A. Thakurta, FOCS 2014, arXiv:1405.7085 (noisy gradient descent).

    Examples
    --------
    >>> from dplit.margin.full_batch import noisy_hinge_descent
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 500)
    >>> run = noisy_hinge_descent(y[:, None] * [0.6, 0.8], y, margin=0.5, radius=1.0,
    ...     data_norm=1.0, mu=0.25, n_steps=50, rng=stream(0, "example", "noise"))
    >>> bool(run.weights[0] @ [0.6, 0.8] > 0.25)
    True
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    rows, labels = gridded_records(X, y, norm)
    steps, draws = check_integer("n_steps", n_steps), check_integer("n_draws", n_draws)
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    check_rng(rng)
    m, d = rows.shape
    sigma = descent_noise(margin=rho, data_norm=norm, n_samples=m, mu=mu, n_steps=steps)
    if step is None:
        noisy = d if project else min(m, d)
        step = descent_step(
            gradient=norm / rho, radius=size, sigma=sigma, noise_dimension=noisy, n_steps=steps
        )
    limit = size if project else math.inf
    eta = check_positive("step", step)
    mean = _descend(rows, labels, draws, rho, limit, sigma, eta, steps, rng)
    return NoisyDescent(mean, sigma, eta, float(mu))


def _descend(
    rows: Array, labels: Array, draws: int, rho: float, limit: float, sigma: float, eta: float,
    steps: int, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Return the mean iterate of each draw: two matrix products a step, all else in place.

    Noise meets the sum of the gradients before anything else does: that sum is exact, so that what
    follows, rounding included, is post-processing of a Gaussian mechanism.
    """
    m, d = rows.shape
    if labels.ndim == 1:  # labels into the records, once
        rows, signs = rows * labels[:, None], None
    else:
        signs = labels
    w, total = np.zeros((draws, d)), np.zeros((draws, d))
    scores, active = np.empty((draws, m)), np.empty((draws, m))
    noise, move = np.empty((draws, d)), np.empty((draws, d))
    for _ in range(steps):
        total += w
        np.matmul(w, rows.T, out=scores)
        if signs is not None:
            scores *= signs
        np.less(scores, rho, out=active, casting="unsafe")
        if signs is not None:
            active *= signs
        np.matmul(active, rows, out=move)
        if sigma > 0.0:
            rng.standard_normal(out=noise)
            noise *= sigma * m * rho
            move -= noise
        move *= eta / (m * rho)
        w += move
        if limit < math.inf:
            norms = np.sqrt(np.einsum("ij,ij->i", w, w))
            w *= (limit / np.maximum(norms, limit))[:, None]
    return total / steps
