r"""Noisy table, projection or moments: expected errors in closed form, and advice by public facts.

The error is that of predictions for new records, over that of the law itself: columns uniform on
[-1, 1], responses :math:`x^\top\theta` plus noise, ``snr`` the variance of the first over that of
the second. Predicting a constant errs 1 + snr. The formulas are those of large random matrices;
`benchmarks.maps.projection` holds them against simulations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import norm

from dplit._checks import Array
from dplit.advice.engine import learnt
from dplit.entries._moments import best_penalty, entry_variances
from dplit.entries.privacy import row_variance
from dplit.entries.projections import CAP
from dplit.mechanisms import gaussian_sigma

_Publish = Literal["coefficients", "table"]


class EntryFacts(NamedTuple):
    """Everything that advice may read; ``delta`` is None for a budget in bits.

    >>> facts = EntryFacts(n=1000, d=10, snr=1.0, epsilon=0.5)  # half a bit for each entry
    >>> facts._replace(epsilon=1.0, delta=1e-5).delta  # the same table, a budget in nats
    1e-05
    """

    n: int
    d: int
    snr: float
    epsilon: float
    delta: float | None = None


#: In words, by candidate.
_CANDIDATES = {
    "moments": "noisy second moments",
    "gradients": "noisy gradients, which protect whole records and the responses",
    "projection": "a noisy projection of the table",
    "additive": "noise on every entry of the table",
}


def _entry_power(facts: EntryFacts) -> float:
    r"""Power that one entry may have over the noise: :math:`2^{2\epsilon}-1`, or a quarter of
    :math:`\mu^2`, which a change from -1 to 1 of a Gaussian mechanism allows.
    """
    if facts.delta is None:
        return math.expm1(2.0 * math.log(2.0) * facts.epsilon)
    return 0.25 / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta)) ** 2


def _record_mu(facts: EntryFacts) -> float:
    r"""Gaussian privacy of a whole record that keeps the budget of its entries.

    In :math:`(\epsilon,\delta)` it is that budget. In bits, each of T clipped gradients of norm at
    most C tells at most :math:`C^2/(2\sigma^2)` nats of a record, whatever was told before: in all
    :math:`\mu^2/8` with :math:`\mu=2C\sqrt T/\sigma`.
    """
    if facts.delta is None:
        return math.sqrt(8.0 * math.log(2.0) * facts.epsilon)
    return 1.0 / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta))


def _delta(facts: EntryFacts) -> float:
    """Delta of an estimator that needs one: it is told that of the budget, or one in a million."""
    return 1e-6 if facts.delta is None else facts.delta


def _noise_share(facts: EntryFacts, n_components: int) -> float:
    """Variance of a projection's noise over its number of rows.

    In bits it is one over :func:`_entry_power`, as for additive noise; in (epsilon, delta) it is
    more, as the columns of S have random lengths.
    """
    if facts.delta is None:
        return 1.0 / _entry_power(facts)
    return _share(facts.epsilon, facts.delta, n_components)


@lru_cache(maxsize=4096)
def _share(epsilon: float, delta: float, n_components: int) -> float:
    size = {"epsilon": epsilon, "delta": delta, "row_change": 2.0}
    return row_variance(n_components=n_components, **size) / n_components


def _bits(share: float) -> float:
    """Budget in bits whose noise has this variance: the estimators are told in bits.

    >>> round(_bits(1.0), 6)
    0.5
    """
    return 0.5 * math.log2(1.0 + 1.0 / share)


@lru_cache(maxsize=256)
def _design_energies(n: int, d: int, count: int = 64) -> Array:
    r"""Quantiles of the eigenvalues of :math:`X^\top X`, entries of variance 1/3.

    The law of Marchenko and Pastur, at ``count`` equally likely levels.
    """
    ratio = min(d / n, n / d)
    low, high = (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2
    angle = (np.arange(4000) + 0.5) / 4000 * np.pi / 2
    x = low + (high - low) * np.sin(angle) ** 2
    mass = np.cumsum(np.sin(angle) ** 2 * np.cos(angle) ** 2 / x)
    zeros = max(1.0 - n / d, 0.0)
    levels = ((np.arange(count) + 0.5) / count - zeros) / (1.0 - zeros)
    found = max(n, d) / 3.0 * np.interp(levels, mass / mass[-1], x)
    energies = np.where(levels > 0, found, 0.0)
    energies.flags.writeable = False
    return energies


def unprotected_error(facts: EntryFacts) -> float:
    """Error of least squares without privacy, :math:`1+d/(n-d-1)`.

    >>> unprotected_error(EntryFacts(n=121, d=20, snr=1.0, epsilon=0.5))  # 1 + 20 / 100
    1.2
    """
    left = facts.n - facts.d - 1
    return 1.0 + facts.d / left if left > 0 else math.inf


def additive_error(facts: EntryFacts, *, corrected: bool = True) -> float:
    r"""Error of the fit on a noisy table, plain or with the best part of the noise taken off.

    Over the signal it is :math:`(1-\rho/x)^2+\frac{\gamma}{x^2-\gamma}\big(\rho^2(1-\frac1x)^2+
    \rho(1-\rho+\frac1{snr})\big)`, :math:`\gamma=d/n`, :math:`\rho=1/(1+3\sigma^2)` the part of the
    energy that is signal; x = 1 is the plain fit, x below it takes off :math:`(1-x)(1-\gamma/x)` of
    the energy, at most the noise and what the estimator's cap on the smallest eigenvalue allows.

    >>> facts = EntryFacts(n=10**9, d=2, snr=1.0, epsilon=0.5)  # noise of variance 1, rho = 1/4
    >>> round(additive_error(facts, corrected=False), 6)  # 1 + snr (1 - rho)^2
    1.5625
    """
    n, d, snr, *_ = facts
    if n <= d + 1:
        return math.inf
    rho, crowded = 1.0 / (1.0 + 3.0 / _entry_power(facts)), d / n
    x = np.linspace(1.0, math.sqrt(crowded), 400, endpoint=False) if corrected else np.ones(1)
    most = min(1.0 - rho, CAP * (1.0 - math.sqrt(crowded)) ** 2)
    legal = (1.0 - x) * (1.0 - crowded / x) <= most * (1.0 + 1e-9)
    spread = rho**2 * (1.0 - 1.0 / x) ** 2 + rho * (1.0 - rho + 1.0 / snr)
    errors = (1.0 - rho / x) ** 2 + crowded / (x**2 - crowded) * spread
    return 1.0 + snr * float(errors[legal].min())


#: Numbers that are tried at a time for the best correction.
_STEPS = 120


def projection_error(facts: EntryFacts, n_components: int, *, corrected: bool = True) -> float:
    r"""Error of the fit on a projection to ``n_components`` rows, plain or corrected at its best.

    Rows of the release are normal with covariance :math:`\Sigma=X^\top X+\lambda I`. Taking
    :math:`s=-m\kappa(1-\frac1m\operatorname{tr}\Sigma(\Sigma+\kappa)^{-1})` off their moments acts
    as a penalty :math:`\kappa\le0` on :math:`\Sigma`; the plain fit, :math:`\kappa=0`, is exact.

    >>> facts = EntryFacts(n=50_000, d=20, snr=1.0, epsilon=0.2)  # a constant errs 1 + snr = 2
    >>> [round(projection_error(facts, m), 2) for m in (21, 100, 10_000)]
    [inf, 1.25, 1.02]
    """
    n, d, snr, *_ = facts
    m = n_components
    if m <= d + 1:
        return math.inf
    H, penalty = _design_energies(n, d), m * _noise_share(facts, m)
    S, T = H + penalty, 3.0 * snr / d
    lost = None if corrected else (m - d - 1.0) / m

    def taken(kappa: Array) -> tuple[Array, Array, Array]:
        """Return what is taken off, nothing where no solution is stable, and what bears the error:
        shares of directions that are left, and the mean of their squares.
        """
        D = S / (S + kappa[:, None])
        free, twice = (d * np.mean(D**p, axis=1) / m for p in (1, 2))
        return np.where(twice < 1.0, -m * kappa * (1.0 - free), -np.inf), D, twice

    def error(kappa: Array, D: Array, twice: Array) -> Array:
        squares = (H * H * T + H) / S**2  # of ridge coefficients
        bias = d * np.mean((D * H / S - 1.0) ** 2 * T + (D / S) ** 2 * H, axis=1)
        left = max(n - d, 0) + d * float(np.mean(penalty / S * (H * T + 1.0)))
        left = left + kappa**2 * d * np.mean(squares * S / (S + kappa[:, None]) ** 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = d * np.mean(D**2 / S, axis=1) / m / (1.0 - twice if lost is None else lost)
            return np.asarray(1.0 + (bias + spread * left) / 3.0)

    if not corrected:
        return float(error(np.zeros(1), *taken(np.zeros(1))[1:])[0])
    tried = -float(S.min()) * (1.0 - np.geomspace(1.0, 1e-3, _STEPS))
    near = _around(tried, int(np.argmax(taken(tried)[0])))
    edge = float(taken(near)[0].max())  # the smallest eigenvalue of the release
    most = min(m * penalty, CAP * edge) * (1.0 + 1e-9)
    for _ in range(3):  # a finer look around the least error, also where it is the limit
        off, *parts = taken(tried)
        errors = np.where((off > -np.inf) & (off <= most), error(tried, *parts), np.inf)
        at = int(np.argmin(errors))
        least, tried = float(errors[at]), _around(tried, at)
    return least


def _around(grid: Array, at: int) -> Array:
    """Return a finer grid between the neighbours of one of its numbers, that number included."""
    ends = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    return np.append(np.linspace(*ends, _STEPS), grid[at])


def best_rows(facts: EntryFacts) -> tuple[int, float]:
    """Best number of projected rows, at most n, and the error of the corrected fit on them.

    >>> facts = EntryFacts(n=50_000, d=20, snr=1.0, epsilon=0.2)
    >>> rows, error = best_rows(facts)
    >>> others = [projection_error(facts, m) for m in (30, 40_000)]
    >>> error == projection_error(facts, rows) < min(others)
    True
    """
    if facts.n <= facts.d + 2:
        return facts.d + 2, math.inf
    grid = np.unique(np.round(np.geomspace(facts.d + 2, facts.n, 40)).astype(int))
    errors = [projection_error(facts, int(m)) for m in grid]
    at = int(np.argmin(errors))
    return int(grid[at]), errors[at]


def moments_error(facts: EntryFacts) -> float:
    """Error of the fit on noisy moments, at its best penalty; responses are normal.

    >>> few, many = (EntryFacts(n, 5, 1.0, epsilon=0.5) for n in (100, 10**6))
    >>> round(moments_error(many), 3) < moments_error(few) < 2.0  # a constant errs 1 + snr
    True
    """
    n, d, snr, *_ = facts
    H, T = _design_energies(n, d), 3.0 * snr / d
    largest = (1.0 + snr) * float(norm.isf(math.log(2.0) / (2.0 * n))) ** 2  # of n, squared
    g, c = entry_variances(
        epsilon=_bits(1.0 / _entry_power(facts)),
        n_features=d,
        ones=1,
        response_energy=(1 + snr) / largest,
    )
    _, error = best_penalty(H, H * H * T + H + c * largest, H * T, variance=g * d)
    return 1.0 + d * (error + T) / 3.0


#: Of the error of noisy gradients; `benchmarks.maps.projection_gradients.learn` made it.
_LEARNT = learnt("entries")["gradients"]


def _gradients_error(facts: EntryFacts) -> float:
    r"""Error of noisy gradients at their public defaults, a law learnt from simulations.

    :math:`1+\frac d{n-d-1}+e^a(1+snr)^bd^cn^e\mu^f` with :math:`\mu` of :func:`_record_mu`;
    eight in ten of the simulated means lie between 0.75 and 1.62 of it.
    """
    n, d, snr, *_ = facts
    logs = 1.0, math.log1p(snr), math.log(d), math.log(n), math.log(_record_mu(facts))
    noise = math.exp(min(sum(a * b for a, b in zip(_LEARNT, logs, strict=True)), 700.0))
    return unprotected_error(facts) + noise


def clipping_cost(snr: float, deviations: float) -> float:
    r"""What a fit loses where normal responses are clipped at so many of their deviations.

    The covariance of a clipped normal response with a column is that of the response times the
    chance p that nothing is clipped (Bussgang). So slopes shrink by p, and the error grows by
    :math:`snr\,(1-p)^2`.

    >>> [round(clipping_cost(10.0, c), 3) for c in (0.3, 1.0, 2.0, 3.0)]
    [5.84, 1.007, 0.021, 0.0]
    """
    return float(snr * (2.0 * norm.sf(deviations)) ** 2)
