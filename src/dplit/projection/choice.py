r"""Noisy table, projection or moments: expected errors in closed form, and advice by public facts.

The error is that of predictions for new records, over that of the law itself: columns uniform on
[-1, 1], responses :math:`x^\top\theta` plus noise, ``snr`` the variance of the first over that of
the second. Predicting a constant errs 1 + snr. The formulas are those of large random matrices;
`dplit_studies.projection.choice_map` holds them against simulations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.advice import ExpectedError, Recommendation
from dplit.baselines import NoisyGradientRegressor
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma
from dplit.projection.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.projection.leakage import row_variance
from dplit.projection.moments import EntryMomentsRegressor, _best_penalty, entry_variances
from dplit.projection.projection import CAP

Publish = Literal["coefficients", "table"]


class Facts(NamedTuple):
    """Everything that advice may read; ``delta`` is None for a budget in bits."""

    n: int
    d: int
    snr: float
    epsilon: float
    delta: float | None = None


#: In words, by candidate.
CANDIDATES = {
    "moments": "noisy second moments",
    "gradients": "noisy gradients, which protect whole records and the responses",
    "projection": "a noisy projection of the table",
    "additive": "noise on every entry of the table",
}


def gain(facts: Facts) -> float:
    r"""Power that one entry may have over the noise: :math:`2^{2\epsilon}-1`, or a quarter of
    :math:`\mu^2`, which a change from -1 to 1 of a Gaussian mechanism allows.
    """
    if facts.delta is None:
        return math.expm1(2.0 * math.log(2.0) * facts.epsilon)
    return 0.25 / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta)) ** 2


def _record_mu(facts: Facts) -> float:
    r"""Gaussian privacy of a whole record that keeps the budget of its entries.

    In :math:`(\epsilon,\delta)` it is that budget. In bits, each of T clipped gradients of norm at
    most C tells at most :math:`C^2/(2\sigma^2)` nats of a record, whatever was told before: in all
    :math:`\mu^2/8` with :math:`\mu=2C\sqrt T/\sigma`.
    """
    if facts.delta is None:
        return math.sqrt(8.0 * math.log(2.0) * facts.epsilon)
    return 1.0 / float(gaussian_sigma(epsilon=facts.epsilon, delta=facts.delta))


def _delta(facts: Facts) -> float:
    """Delta of an estimator that needs one: it is told that of the budget, or one in a million."""
    return 1e-6 if facts.delta is None else facts.delta


def noise_share(facts: Facts, n_components: int) -> float:
    """Variance of a projection's noise over its number of rows.

    In bits it is one over :func:`gain`, as for additive noise; in (epsilon, delta) it is more, as
    the columns of S have random lengths.
    """
    if facts.delta is None:
        return 1.0 / gain(facts)
    return _share(facts.epsilon, facts.delta, n_components)


@lru_cache(maxsize=4096)
def _share(epsilon: float, delta: float, n_components: int) -> float:
    size = {"epsilon": epsilon, "delta": delta, "row_change": 2.0}
    return row_variance(n_components=n_components, **size) / n_components


def bits(share: float) -> float:
    """Budget in bits whose noise has this variance: the estimators are told in bits.

    >>> round(bits(1.0), 6)
    0.5
    """
    return 0.5 * math.log2(1.0 + 1.0 / share)


@lru_cache(maxsize=256)
def design_energies(n: int, d: int, count: int = 64) -> Array:
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


def unprotected_error(facts: Facts) -> float:
    """Error of least squares without privacy, :math:`1+d/(n-d-1)`."""
    left = facts.n - facts.d - 1
    return 1.0 + facts.d / left if left > 0 else math.inf


def additive_error(facts: Facts, *, corrected: bool = True) -> float:
    r"""Error of the fit on a noisy table, plain or with the best part of the noise taken off.

    Over the signal it is :math:`(1-\rho/x)^2+\frac{\gamma}{x^2-\gamma}\big(\rho^2(1-\frac1x)^2+
    \rho(1-\rho+\frac1{snr})\big)`, :math:`\gamma=d/n`, :math:`\rho=1/(1+3\sigma^2)` the part of the
    energy that is signal; x = 1 is the plain fit, x below it takes off :math:`(1-x)(1-\gamma/x)` of
    the energy, at most the noise and what the estimator's cap on the smallest eigenvalue allows.
    """
    n, d, snr, *_ = facts
    if n <= d + 1:
        return math.inf
    rho, crowded = 1.0 / (1.0 + 3.0 / gain(facts)), d / n
    x = np.linspace(1.0, math.sqrt(crowded), 400, endpoint=False) if corrected else np.ones(1)
    most = min(1.0 - rho, CAP * (1.0 - math.sqrt(crowded)) ** 2)
    legal = (1.0 - x) * (1.0 - crowded / x) <= most * (1.0 + 1e-9)
    spread = rho**2 * (1.0 - 1.0 / x) ** 2 + rho * (1.0 - rho + 1.0 / snr)
    errors = (1.0 - rho / x) ** 2 + crowded / (x**2 - crowded) * spread
    return 1.0 + snr * float(errors[legal].min())


def projection_error(facts: Facts, n_components: int, *, corrected: bool = True) -> float:
    r"""Error of the fit on a projection to ``n_components`` rows, plain or corrected at its best.

    Rows of the release are normal with covariance :math:`\Sigma=X^\top X+\lambda I`. Taking
    :math:`s=-m\kappa(1-\frac1m\operatorname{tr}\Sigma(\Sigma+\kappa)^{-1})` off their moments acts
    as a penalty :math:`\kappa\le0` on :math:`\Sigma`; the plain fit, :math:`\kappa=0`, is exact.
    """
    n, d, snr, *_ = facts
    m = n_components
    if m <= d + 1:
        return math.inf
    H, penalty = design_energies(n, d), m * noise_share(facts, m)
    S, T = H + penalty, 3.0 * snr / d
    steps = 1.0 - np.geomspace(1.0, 1e-3, 120 if corrected else 1)
    kappa = -float(S.min()) * steps[:, None]
    D = S / (S + kappa)
    free, twice = (d * np.mean(D**p, axis=1) / m for p in (1, 2))
    off = -m * kappa[:, 0] * (1.0 - free)
    edge = float(off[twice < 1.0].max())  # the smallest eigenvalue of the release
    legal = (twice < 1.0) & (off <= min(m * penalty, CAP * edge) * (1.0 + 1e-9))
    squares = (H * H * T + H) / S**2  # of ridge coefficients
    bias = d * np.mean((D * H / S - 1.0) ** 2 * T + (D / S) ** 2 * H, axis=1)
    left = max(n - d, 0) + d * float(np.mean(penalty / S * (H * T + 1.0)))
    left = left + kappa[:, 0] ** 2 * d * np.mean(squares * S / (S + kappa) ** 2, axis=1)
    lost = 1.0 - twice if corrected else np.full(1, (m - d - 1.0) / m)
    spread = d * np.mean(D**2 / S, axis=1) / m / lost * left
    return 1.0 + float((bias + spread)[legal].min()) / 3.0


def best_rows(facts: Facts) -> tuple[int, float]:
    """Best number of projected rows, at most n, and the error of the corrected fit on them."""
    if facts.n <= facts.d + 2:
        return facts.d + 2, math.inf
    grid = np.unique(np.round(np.geomspace(facts.d + 2, facts.n, 40)).astype(int))
    errors = [projection_error(facts, int(m)) for m in grid]
    at = int(np.argmin(errors))
    return int(grid[at]), errors[at]


def moments_error(facts: Facts) -> float:
    """Error of the fit on noisy moments, at its best penalty; responses are normal."""
    n, d, snr, *_ = facts
    H, T = design_energies(n, d), 3.0 * snr / d
    largest = (1.0 + snr) * float(norm.isf(math.log(2.0) / (2.0 * n))) ** 2  # of n, squared
    g, c = entry_variances(
        epsilon=bits(1.0 / gain(facts)), n_features=d, ones=1, response_energy=(1 + snr) / largest
    )
    _, error = _best_penalty(H, H * H * T + H + c * largest, H * T, variance=g * d)
    return 1.0 + d * (error + T) / 3.0


#: Of the error of noisy gradients; `dplit_studies.projection.choice_map.learn` made it.
LEARNT = (0.27, 1.04, 1.69, -1.5, -1.31)


def _gradients_error(facts: Facts) -> float:
    r"""Error of noisy gradients at their public defaults, a law learnt from simulations.

    :math:`1+\frac d{n-d-1}+e^a(1+snr)^bd^cn^e\mu^f` with :math:`\mu` of :func:`_record_mu`;
    eight in ten of the simulated means lie between 0.75 and 1.62 of it.
    """
    n, d, snr, *_ = facts
    logs = 1.0, math.log1p(snr), math.log(d), math.log(n), math.log(_record_mu(facts))
    noise = math.exp(min(sum(a * b for a, b in zip(LEARNT, logs, strict=True)), 700.0))
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


# The advice.


#: Least share of what can be gained over a constant that is worth a release.
_USEFUL = 0.05

#: Deviation of a single run, over the excess of its error above the law's: at d columns
#: the root of a sum of _SPREAD[0] and _SPREAD[1] / d. `choice_map` measured it.
_SPREAD = (0.01, 2.0)

#: What was tried.
_TRIED: dict[str, Any] = {
    "n / d": (2, 2500),
    "d": (5, 800),
    "snr": (0.1, 300.0),
    "bits per entry": (0.05, 2.0),
    "delta": (1e-6, 1e-5),
    "publish": ("coefficients", "table"),
}


def _checked(facts: Facts, publish: str) -> Facts:
    """Return legal facts."""
    check_choice("publish", publish, ("coefficients", "table"))
    check_positive("epsilon", facts.epsilon)
    if facts.delta is None:
        if facts.epsilon > 100.0:
            raise ValueError(f"epsilon must be at most 100 bits, got epsilon={facts.epsilon!r}")
    elif not 1e-14 <= check_probability("delta", facts.delta) < 0.5:
        raise ValueError(f"delta must be in [1e-14, 0.5), got delta={facts.delta!r}")
    return facts._replace(
        n=check_integer("n", facts.n), d=check_integer("d", facts.d),
        snr=check_positive("snr", facts.snr),
    )  # fmt: skip


_Bounds = tuple[float, float]


def _told_bounds(bounds: ArrayLike) -> _Bounds:
    """Return the bounds of responses, two increasing finite numbers."""
    ends = check_real_array("response_bounds", bounds, 1)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"response_bounds must be two increasing numbers, got {bounds!r}")
    return float(ends[0]), float(ends[1])


def errors_of(facts: Facts, n_components: int) -> dict[str, float]:
    """Expected errors by candidate, the projection on ``n_components`` rows."""
    return {
        "moments": moments_error(facts),
        "gradients": _gradients_error(facts),
        "projection": projection_error(facts, n_components),
        "additive": additive_error(facts),
    }


def _candidates(publish: str) -> list[str]:
    return [k for k in CANDIDATES if publish == "coefficients" or k in ("projection", "additive")]


def configure(
    name: str, facts: Facts, n_components: int, *, response_bounds: _Bounds | None = None
) -> Any:
    """Return a candidate's estimator for columns in [-1, 1], not fitted.

    Noisy gradients clip responses to ``response_bounds``; without them their ``fit`` refuses.
    """
    if name == "projection":
        return RandomProjectionRegressor(
            epsilon=_told(facts, noise_share(facts, n_components)), n_components=n_components,
            bounds=(-1.0, 1.0), correction="attenuation", **_level(facts),
        )  # fmt: skip
    if name == "gradients":
        return NoisyGradientRegressor(
            epsilon=float(gaussian_epsilon(delta=_delta(facts), sigma=1.0 / _record_mu(facts))),
            delta=_delta(facts), bounds=response_bounds, data_norm=math.sqrt(facts.d / 2.0),
        )  # fmt: skip
    kind = EntryMomentsRegressor if name == "moments" else AdditiveNoiseRegressor
    return kind(epsilon=_told(facts, 1.0 / gain(facts)), bounds=(-1.0, 1.0), **_level(facts))


def _told(facts: Facts, share: float) -> float:
    """Budget in bits of an estimator: the one that was asked for, if it was in bits."""
    return facts.epsilon if facts.delta is None else bits(share)


def _level(facts: Facts) -> dict[str, Any]:
    return {} if facts.delta is None else {"delta": facts.delta}


def _regret(facts: Facts, truth: float, *, names: Sequence[str]) -> tuple[float, float]:
    """Expected error of what is recommended where the signal is ``truth``, and the best one's.

    >>> tables = ("projection", "additive")
    >>> chosen, best = _regret(Facts(50_000, 20, 1.0, 0.2), 10.0, names=tables)
    >>> best <= chosen < 1.1 * best
    True
    """
    m, _ = best_rows(facts)
    guessed, real = errors_of(facts, m), facts._replace(snr=truth)
    chosen = min(names, key=lambda name: guessed[name])
    mine, best = errors_of(real, m)[chosen], errors_of(real, best_rows(real)[0])
    return mine, min(best[name] for name in names)


def recommend(
    *, n: int, d: int, epsilon: float, delta: float | None = None, snr: float = 1.0,
    publish: Publish = "coefficients", response_bounds: _Bounds | None = None,
) -> Recommendation:  # fmt: skip
    """Recommend a release for linear regression from public facts; it never takes data.

    **Entries of X are protected, one by one; the responses are public**, and so are n, d, the
    bounds of the columns and the guess of the signal.

    Parameters
    ----------
    n, d : int
        Public numbers of records and of columns, which are taken to be scaled to [-1, 1].
    epsilon : float
        Budget of one entry: in bits, at most 100, or that of (epsilon, delta).
    delta : float or None, default=None
        None: ``epsilon`` is in bits of mutual information. Else in [1e-14, 0.5).
    snr : float, default=1.0
        How much the columns tell, by what is known elsewhere: the variance of responses that they
        explain over the variance that they leave.
    publish : {"coefficients", "table"}, default="coefficients"
        Whether a fit is all that is wanted, or a table that others can fit in ways of their own.
    response_bounds : tuple of float or None, default=None
        Lowest and highest response, known without the data and in the responses' own units. Noisy
        gradients protect responses too, so they need them, and clip to them; None leaves gradients
        out, and the reason says what they would err.

    Returns
    -------
    Recommendation
        Its estimator is None where nothing is expected to gain a twentieth of what can be gained
        over a constant. The reason says what happens where the guess of the signal is wrong by ten.

    Notes
    -----
    Errors are those of :func:`moments_error`, :func:`projection_error`, :func:`additive_error` and
    of a law learnt from simulations of noisy gradients, for uniform columns; columns of other
    shapes and collinear ones err more. On three tables of scikit-learn, in means of 40 releases,
    the recommended table loses at most .02 of what can be gained over a constant where the guess of
    the signal is right, .05 where it is ten times too large and .13 where it is a tenth; with
    columns far narrower than their bounds .17, .01 and .32. So guess high rather than low. Single
    releases of few rows scatter much more, as ``expected.spread`` says.

    Noisy gradients come with an (epsilon, delta) of whole records that keeps the budget of entries.
    Their law is learnt where responses are clipped at three of their deviations. Wider bounds mean
    more noise; narrower ones shrink the fit, by :func:`clipping_cost` where responses are normal:
    bounds at a third of a deviation cost more than half of the signal. The reason tells the costs.

    Examples
    --------
    >>> type(recommend(n=50_000, d=20, epsilon=0.2).estimator).__name__
    'EntryMomentsRegressor'
    >>> facts = dict(n=10_000, d=800, epsilon=0.5, snr=289.0)
    >>> type(recommend(**facts, response_bounds=(-50.0, 50.0)).estimator).__name__
    'NoisyGradientRegressor'
    >>> "response_bounds" in recommend(**facts).reason
    True
    >>> recommend(n=50_000, d=20, epsilon=0.05, snr=6.7, publish="table").estimator.n_components
    639
    >>> recommend(n=100, d=50, epsilon=0.05, publish="table").estimator is None
    True
    """
    facts = _checked(Facts(n, d, snr, epsilon, delta), publish)
    told = None if response_bounds is None else _told_bounds(response_bounds)
    m, _ = best_rows(facts)
    every = errors_of(facts, m)
    names = [k for k in _candidates(publish) if k != "gradients" or told is not None]
    name = min(names, key=lambda k: every[k])
    trivial, error = 1.0 + facts.snr, every[name]
    measure = "squared error of predictions over the law's own"
    words = f"Of {len(names)} candidates at equal privacy, {CANDIDATES[name]}"
    asked = ""
    if publish == "coefficients" and told is None and every["gradients"] < error:
        asked = (
            f"; noisy gradients, left out for want of response_bounds, are expected to err "
            f"{every['gradients']:.4g} with bounds at three deviations of the responses"
        )
    if not trivial - error >= _USEFUL * facts.snr:
        reason = f"{words} would do best, and a constant hardly worse{asked}{_outside(facts)}."
        nothing = ExpectedError(measure, trivial, 0.0, trivial, 1.0)
        return Recommendation(None, reason, _TRIED, nothing)
    reason = f"{words} errs least, {error:.4g}"
    for factor, guess in ((10.0, "ten times the signal"), (0.1, "a tenth of it")):
        mine, best = _regret(facts, factor * facts.snr, names=names)
        reason += f"; with {guess} it errs {mine:.4g}, the best {best:.4g}"
    spread = (error - 1.0) * math.sqrt(_SPREAD[0] + _SPREAD[1] / facts.d)
    expected = ExpectedError(measure, error, spread, trivial, 1.0)
    if name == "gradients" and told is not None:
        costs = ", ".join(f"{clipping_cost(facts.snr, c):.2g} at {c:g}" for c in (1.0, 2.0))
        reason += (
            f". Entries, whole records and responses are protected; responses are clipped to "
            f"[{told[0]:g}, {told[1]:g}], which for normal ones adds {costs} of their deviations"
        )
    else:
        reason += f". Entries are protected, responses are public{asked}"
    made = configure(name, facts, m, response_bounds=told)
    return Recommendation(made, f"{reason}{_outside(facts)}.", _TRIED, expected)


def _outside(facts: Facts) -> str:
    """Say which facts lie outside what was tried."""
    told = {"n / d": facts.n / facts.d, "d": facts.d, "snr": facts.snr}
    told["bits per entry"] = bits(1.0 / gain(facts))
    tried = {name: np.array(_TRIED[name]) * (1.0 - 1e-9, 1.0 + 1e-9) for name in told}
    beyond = [name for name, x in told.items() if not tried[name][0] <= x <= tried[name][1]]
    return f"; {', '.join(beyond)} beyond what was tried, so this extrapolates" if beyond else ""
