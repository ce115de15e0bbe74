r"""The error of a released predictor, a bound for each part and exact expectations.

:math:`\mathcal E(f_{z,A})-\mathcal E(f_\rho)\le R_1+R_2+S+D(\lambda)`: generalisation, price of the
noise, sample error, approximation error.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dplit._checks import (
    Array,
    check_choice,
    check_integer,
    check_interval,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
    check_rng,
)
from dplit.erm.stability import lipschitz_stability

# Expected losses of a prediction that is shifted by independent Laplace noise, in closed form.


_CLOSED = ("squared", "hinge", "pinball", "absolute")


def _broadcast(predictions: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    t = check_real_array("predictions", predictions)
    targets = check_real_array("y", y)
    try:
        np.broadcast_shapes(t.shape, targets.shape)
    except ValueError:
        raise ValueError(
            f"predictions and y must have shapes that fit, got {t.shape} and {targets.shape}"
        ) from None
    return t, targets


def expected_loss_laplace(
    loss: str, predictions: ArrayLike, y: ArrayLike, *, scale: float, tau: float = 0.5
) -> Array:
    r"""Mean loss of a prediction plus Laplace noise, :math:`\mathbb E_bL(t+b,y)`, entry by entry.

    Least squares gains :math:`2s^2`; a convex kink of slope change :math:`\omega` (2 for the
    absolute error, else 1) at distance u costs :math:`\frac{\omega s}2e^{-|u|/s}`; linear pieces
    cost nothing. A ``scale`` s of 0 is no noise.

    >>> expected_loss_laplace("hinge", 1.0, 1.0, scale=0.5)
    array(0.25)
    """
    check_choice("loss", loss, _CLOSED)
    level, s = check_probability("tau", tau), check_nonnegative("scale", scale)
    t, targets = _broadcast(predictions, y)
    if loss == "hinge" and not np.all(np.abs(targets) == 1.0):
        raise ValueError(f"y must hold labels -1 and +1, got {np.unique(targets)[:5].tolist()}")
    error = 1.0 - targets * t if loss == "hinge" else targets - t
    if loss == "squared":
        return np.asarray(error**2 + 2.0 * s**2)
    if loss == "hinge":
        plain = np.maximum(error, 0.0)
    elif loss == "pinball":
        plain = np.maximum(level * error, (level - 1.0) * error)
    else:
        plain = np.abs(error)
    if s == 0.0:
        return np.asarray(plain)
    kink = s * np.exp(-np.abs(error) / s)
    return np.asarray(plain + (kink if loss == "absolute" else 0.5 * kink))


def wrong_sign_probability(predictions: ArrayLike, y: ArrayLike, *, scale: float) -> Array:
    r"""Probability that the sign of a prediction plus Laplace noise is not the label.

    :math:`\frac12e^{-yt/s}` for :math:`yt\ge0`, else :math:`1-\frac12e^{yt/s}`; without noise a
    prediction of 0 counts one half.
    """
    s = check_nonnegative("scale", scale)
    t, targets = _broadcast(predictions, y)
    if not np.all(np.abs(targets) == 1.0):
        raise ValueError(f"y must hold labels -1 and +1, got {np.unique(targets)[:5].tolist()}")
    margin = targets * t
    if s == 0.0:
        return np.asarray(0.5 * (1.0 - np.sign(margin)))
    tail = 0.5 * np.exp(-np.abs(margin) / s)
    return np.where(margin >= 0, tail, 1.0 - tail)


def noise_error_bound(*, scale: float, lipschitz: float, width: float | None = None) -> float:
    r"""Bound on what data-independent Laplace noise adds to the mean loss, :math:`\mathbb ER_2`.

    :math:`\frac\omega2s` with the ``width`` :math:`\omega` of the range of slopes, at most
    :math:`2C_L`; without one :math:`C_Ls`, as in the proof of Proposition 3. A kink attains it.
    """
    s, constant = check_positive("scale", scale), check_positive("lipschitz", lipschitz)
    omega = 2.0 * constant if width is None else check_positive("width", width)
    if omega > 2.0 * constant * (1.0 + 1e-12) or not math.isfinite(omega):
        raise ValueError(f"width must be at most twice lipschitz={constant:g}, got width={omega:g}")
    return 0.5 * omega * s


class _Decomposition(NamedTuple):
    r"""The parts of the error, and the error: equation (3).

    ``generalization`` is :math:`R_1=\mathcal E(f_{z,A})-\mathcal E_z(f_{z,A})`, ``noise``
    :math:`R_2=\mathcal E_z(f_{z,A})-\mathcal E_z(f_z)`, ``sample``
    :math:`S=\mathcal E_z(f_\lambda)-\mathcal E(f_\lambda)`, ``approximation``
    :math:`D(\lambda)=\mathcal E(f_\lambda)-\mathcal E(f_\rho)+\lambda\Omega(f_\lambda)`, ``excess``
    :math:`\mathcal E(f_{z,A})-\mathcal E(f_\rho)`, ``slack`` the sum of the four minus the excess.
    """

    generalization: float
    noise: float
    sample: float
    approximation: float
    excess: float
    slack: float


def _law(name: str, value: ArrayLike, size: int) -> Array:
    law = check_real_array(name, value, 1)
    if law.shape != (size,) or law.min() < 0 or abs(law.sum() - 1.0) > 1e-9:
        raise ValueError(
            f"{name} must hold {size} nonnegative weights that sum to 1, got shape {law.shape}, "
            f"sum {law.sum():.6g}"
        )
    return law


def error_decomposition(
    loss: str, *, y: ArrayLike, population: ArrayLike, empirical: ArrayLike, fitted: ArrayLike,
    stepping: ArrayLike, target: ArrayLike, penalties: tuple[float, float], shift: float = 0.0,
    scale: float = 0.0, tau: float = 0.5,
) -> _Decomposition:  # fmt: skip
    r"""Equation (3) on a finite population of n records.

    ``population`` and ``empirical`` weigh the records and sum to 1; ``fitted``, ``stepping`` and
    ``target`` are the predictions of :math:`f_z,f_\lambda,f_\rho`, ``penalties`` are
    :math:`\lambda\Omega` of the first two. ``shift`` is noise that was added to :math:`f_z`,
    ``scale`` that of further Laplace noise over which the parts are averaged.
    """
    targets = check_real_array("y", y, 1)
    n = len(targets)
    rho, z = _law("population", population, n), _law("empirical", empirical, n)
    moved = {}
    for name, values in (("fitted", fitted), ("stepping", stepping), ("target", target)):
        moved[name] = check_real_array(name, values, 1)
        if moved[name].shape != (n,):
            raise ValueError(f"{name} must hold {n} predictions, got shape {moved[name].shape}")
    first, second = (check_nonnegative("penalties", value) for value in penalties)

    def losses(t: Array, s: float = 0.0) -> Array:
        return expected_loss_laplace(loss, t, targets, scale=s, tau=tau)

    move = check_interval("shift", shift, -math.inf, math.inf)
    released = losses(moved["fitted"] + move, check_nonnegative("scale", scale))
    plain, step, best = losses(moved["fitted"]), losses(moved["stepping"]), losses(moved["target"])
    generalization = float(rho @ released - z @ released)
    noise = float(z @ released - z @ plain)
    sample = float(z @ step - rho @ step)
    approximation = float(rho @ step - rho @ best) + second
    excess = float(rho @ released - rho @ best)
    slack = float(z @ step) + second - (float(z @ plain) + first) + first
    return _Decomposition(generalization, noise, sample, approximation, excess, slack)


def coin_decomposition(
    n_records: int, *, regularization: float, probability: float, scale: float
) -> _Decomposition:
    r"""Exact expectation of all parts for the hinge loss on one point with random labels.

    K = 1, so f is a number; with the share :math:`\bar p` of positive labels
    :math:`f_z=\operatorname{clip}\bigl((2\bar p-1)/(2\lambda),-1,1\bigr)`. The stepping stone is
    the minimiser of the regularised population risk, ``probability`` that of the label +1.
    """
    m = check_integer("n_records", n_records)
    penalty = check_positive("regularization", regularization)
    eta = check_probability("probability", probability)

    def fit(share: float) -> float:
        return min(max((2.0 * share - 1.0) / (2.0 * penalty), -1.0), 1.0)

    step, best = fit(eta), 1.0 if eta >= 0.5 else -1.0
    total = np.zeros(6)
    for count, chance in enumerate(binom.pmf(np.arange(m + 1), m, eta)):
        w = fit(count / m)
        parts = error_decomposition(
            "hinge", y=[1.0, -1.0], population=[eta, 1.0 - eta],
            empirical=[count / m, 1.0 - count / m], fitted=[w, w], stepping=[step, step],
            target=[best, best], penalties=(penalty * w * w, penalty * step * step), scale=scale,
        )  # fmt: skip
        total += chance * np.asarray(parts)
    return _Decomposition(*total.tolist())


def privacy_generalization(
    *, epsilon: float, baseline: float, noise_error: float,
    version: Literal["printed", "proof", "sharp"] = "sharp",
) -> float:  # fmt: skip
    r"""Bound on :math:`\mathbb ER_1` by privacy (Proposition 2).

    With ``baseline`` :math:`G_0=B_0+\lambda\Omega(0)` and ``noise_error`` :math:`\mathbb ER_2`: as
    printed :math:`4\epsilon G_0+2\epsilon\,\mathbb ER_2`, by its proof
    :math:`2\epsilon(G_0+\mathbb ER_2)`, sharp :math:`(e^\epsilon-1)(G_0+\mathbb ER_2)`.
    """
    eps = check_positive("epsilon", epsilon)
    base = check_nonnegative("baseline", baseline)
    price = check_nonnegative("noise_error", noise_error)
    check_choice("version", version, ("printed", "proof", "sharp"))
    if version == "printed":
        return 4.0 * eps * base + 2.0 * eps * price
    return (2.0 * eps if version == "proof" else math.expm1(eps)) * (base + price)


def stability_generalization(
    *, lipschitz: float, regularization: float, n_records: int, kappa: float = 1.0,
    strong_convexity: float = 2.0,
) -> float:  # fmt: skip
    r"""Bound on :math:`\mathbb ER_1` by stability, for any noise that is independent of the data.

    :math:`2\kappa^2C_L^2/(\lambda\gamma m)`: Theorem 2, times the size of a slope.
    """
    distance = lipschitz_stability(
        lipschitz=lipschitz, regularization=regularization, n_records=n_records, kappa=kappa,
        strong_convexity=strong_convexity,
    )  # fmt: skip
    return lipschitz * kappa * distance


# Privacy controls the gap between the mean on the sample and the mean on new records: by
# :math:`2G\epsilon` as printed; :math:`(1-e^{-\epsilon})G` and :math:`(e^\epsilon-1)G` follow from
# the proof.


#: "over": the mean on the sample is the larger one; "under": the mean on new records is.
_Side = Literal["over", "under"]

_SIDES = ("over", "under")


class _Gap(NamedTuple):
    r"""Exact means of a mechanism, and its exact privacy.

    ``sample`` is :math:`\mathbb E\frac1m\sum_ig_{z,A}(z_i)`, ``population``
    :math:`\mathbb E\int g_{z,A}\,d\rho`, ``epsilon`` the largest absolute log-ratio of two output
    probabilities over all neighbours.
    """

    sample: float
    population: float
    epsilon: float


def generalization_bound(
    *, epsilon: float, mean: float = 1.0, side: _Side = "over",
    version: Literal["printed", "sharp"] = "sharp",
) -> float:  # fmt: skip
    r"""Bound on the gap of sample and population mean of a private function (Theorem 3).

    Printed :math:`2\epsilon G` with the ``mean`` G; sharp :math:`(1-e^{-\epsilon})G` where the
    sample mean is the larger one (``"over"``) and :math:`(e^\epsilon-1)G` where it is the smaller
    (``"under"``).

    >>> round(generalization_bound(epsilon=0.5), 4), round(generalization_bound(
    ...     epsilon=0.5, side="under"), 4), generalization_bound(epsilon=0.5, version="printed")
    (0.3935, 0.6487, 1.0)
    """
    eps = check_positive("epsilon", epsilon)
    check_choice("side", side, _SIDES)
    check_choice("version", version, ("printed", "sharp"))
    if version == "printed":
        factor = 2.0 * eps
    else:
        factor = -math.expm1(-eps) if side == "over" else math.expm1(eps)
    return factor * check_nonnegative("mean", mean)


def printed_threshold() -> float:
    """Return the epsilon up to which the second printed inequality of Theorem 3 holds.

    >>> round(printed_threshold(), 4)
    1.2564
    """
    value = 1.25
    for _ in range(8):  # Newton; the function is convex
        value -= (math.expm1(value) - 2.0 * value) / (math.exp(value) - 2.0)
    return value


def exact_gap(law: ArrayLike, values: ArrayLike, *, weights: ArrayLike | None = None) -> _Gap:
    r"""Sample mean, population mean and privacy of a finite mechanism, by enumeration.

    Records lie in 0, ..., k - 1 with the law ``weights`` (uniform). ``law`` has a row for each data
    set, in the order of ``itertools.product(range(k), repeat=m)``, and a column for each output;
    ``values`` holds :math:`g\ge0` for each output and record.

    >>> gap = exact_gap(*response_mechanism(2, epsilon=0.5))
    >>> round(1 - gap.population / gap.sample, 4), round(gap.epsilon, 12)
    (0.1967, 0.5)
    """
    table = check_real_array("law", law, 2)
    g = check_real_array("values", values, 2)
    k = g.shape[1]
    m = round(math.log(len(table)) / math.log(k)) if k > 1 else 0
    if m < 1 or k**m != len(table) or table.shape[1] != len(g):
        raise ValueError(
            f"law must have k**m rows and a column for each row of values, got law of shape "
            f"{table.shape} and values of shape {g.shape}"
        )
    rho = np.full(k, 1.0 / k) if weights is None else check_real_array("weights", weights, 1)
    if rho.shape != (k,):
        raise ValueError(f"weights must have {k} entries, got weights of shape {rho.shape}")
    for name, rows in (("law", table), ("weights", rho.reshape(1, -1))):
        if rows.min() <= 0 or np.abs(rows.sum(axis=1) - 1.0).max() > 1e-9:
            raise ValueError(f"{name} must hold positive probabilities that sum to 1, got {rows}")
    if g.min() < 0:
        raise ValueError(f"values must be nonnegative, got {g.min()}")
    cube = table.reshape((k,) * m + (-1,))
    expected = np.tensordot(cube, g, axes=1)  # mean of g at every record, for every data set
    chance = np.ones(())
    for _ in range(m):
        chance = np.multiply.outer(chance, rho)
    population = float(np.sum(chance[..., None] * expected * rho))
    sample, largest = 0.0, 0.0
    for place in range(m):
        own = np.diagonal(np.moveaxis(expected, place, -2), axis1=-2, axis2=-1)
        sample += float(np.sum(np.moveaxis(chance, place, -1) * own)) / m
        logs = np.log(np.moveaxis(cube, place, 0))
        largest = max(largest, float((logs.max(axis=0) - logs.min(axis=0)).max()))
    return _Gap(sample, population, largest)


# Private mechanisms small enough to enumerate. In the limit of a large domain randomised response
# (one record) and the subset mechanism (any number) attain the constants of Theorem 3.


#: Largest number of data sets times outputs that is enumerated.
_LARGEST = 10_000_000


def _weight(epsilon: float, side: str) -> float:
    """Return the log-odds that a record gives to itself."""
    check_choice("side", side, ("over", "under"))
    return check_positive("epsilon", epsilon) * (1.0 if side == "over" else -1.0)


def response_gap(k: int, *, epsilon: float, side: _Side = "over") -> float:
    r"""Relative gap of k-ary randomised response on one record, in closed form.

    :math:`(1-\frac1k)(1-e^{-\epsilon})` for :math:`g=1\{\cdot=\text{answer}\}`; on the side
    ``"under"``, with :math:`e^{-\epsilon}` in the place of :math:`e^\epsilon`, its counterpart.
    """
    values = check_integer("k", k, minimum=2)
    return (1.0 - 1.0 / values) * abs(math.expm1(-_weight(epsilon, side)))


def inclusion_probability(p: float, *, epsilon: float, side: _Side = "over") -> float:
    r"""Probability with which the subset mechanism includes an element that the data contain.

    Others enter with probability ``p``; its odds are :math:`e^{\pm\epsilon}` times theirs.
    """
    share = check_probability("p", p)
    factor = math.exp(_weight(epsilon, side))
    return factor * share / (1.0 - share + factor * share)


def subset_gap(k: int, m: int, p: float, *, epsilon: float, side: _Side = "over") -> float:
    r"""Relative gap of the subset mechanism, :math:`(1-\frac1k)^m(1-p)(1-e^{-\epsilon})`."""
    fresh = (1.0 - 1.0 / check_integer("k", k, minimum=2)) ** check_integer("m", m)
    rest = 1.0 - check_probability("p", p)
    return fresh * rest * abs(math.expm1(-_weight(epsilon, side)))


def response_mechanism(k: int, *, epsilon: float, side: _Side = "over") -> tuple[Array, Array]:
    """Table of k-ary randomised response on one record, as :func:`exact_gap` takes it."""
    odds = np.ones((check_integer("k", k, minimum=2),) * 2)
    np.fill_diagonal(odds, math.exp(_weight(epsilon, side)))
    return odds / odds.sum(axis=1, keepdims=True), np.eye(k)


def subset_mechanism(
    k: int, m: int, p: float, *, epsilon: float, side: _Side = "over"
) -> tuple[Array, Array]:
    """Table of the mechanism that releases a random subset of the domain.

    Columns are the subsets, coded by their bits; exactly epsilon-private.
    """
    size, count = check_integer("k", k, minimum=2), check_integer("m", m)
    if size > 20 or size**count * 2**size > _LARGEST:
        raise ValueError(f"k and m must give a table of at most 1e7 entries, got k={k}, m={m}")
    q = inclusion_probability(p, epsilon=epsilon, side=side)
    values = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
    inside = np.zeros((size**count, size), dtype=bool)
    for row, data in enumerate(itertools.product(range(size), repeat=count)):
        inside[row, list(data)] = True
    share = np.where(inside, q, p)
    law = np.exp(np.log(share) @ values.T + np.log1p(-share) @ (1.0 - values.T))
    return law, values


def random_mechanism(
    k: int, m: int, n_outputs: int, *, epsilon: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Table of a private mechanism without structure, with heavy-tailed nonnegative values.

    An exponential mechanism with independent scores in [0, 1] and absolute Cauchy values: no bound.
    """
    rows = check_integer("k", k, minimum=2) ** check_integer("m", m)
    columns = check_integer("n_outputs", n_outputs)
    scores = check_rng(rng).random((rows, columns))
    odds = np.exp(0.5 * check_positive("epsilon", epsilon) * scores)
    return odds / odds.sum(axis=1, keepdims=True), np.abs(rng.standard_cauchy((columns, k)))


# Hoeffding's inequality, exact laws of fair coins, and the sample error, a centred mean since
# :math:`f_\lambda` is fixed before the sample.


def hoeffding_bound(deviation: float, *, n_records: int, radius: float) -> float:
    r"""Lemma 2: bound on the probability of a deviation of at least t to either side.

    :math:`2e^{-mt^2/(2\Xi^2)}` with the ``radius`` :math:`\Xi\ge|\xi-\mathbb E\xi|`.
    """
    t, r = check_positive("deviation", deviation), check_positive("radius", radius)
    return 2.0 * math.exp(-check_integer("n_records", n_records) * t * t / (2.0 * r * r))


def coin_tail(deviation: float, *, n_records: int) -> float:
    """Exact probability that the mean of m fair signs (radius 1) is at least t away from 0."""
    t, m = check_positive("deviation", deviation), check_integer("n_records", n_records)
    least = math.ceil(m * (1.0 + t) / 2.0 - 1e-9)  # positive signs in the upper tail
    return 2.0 * float(binom.sf(least - 1, m, 0.5))


def sample_error_bound(
    *, n_records: int, loss_bound: float, version: Literal["printed", "variance"] = "variance"
) -> float:
    r"""Bound on :math:`\mathbb E|S|` for losses in :math:`[0,B_\rho]` (Proposition 4).

    ``"printed"`` :math:`2\sqrt{2\pi}B_\rho/\sqrt m`, stated for :math:`\mathbb ES`, which is 0;
    ``"variance"`` :math:`B_\rho/(2\sqrt m)`, a standard deviation.
    """
    root = math.sqrt(check_integer("n_records", n_records))
    check_choice("version", version, ("printed", "variance"))
    factor = 2.0 * math.sqrt(2.0 * math.pi) if version == "printed" else 0.5
    return factor * check_positive("loss_bound", loss_bound) / root


def mean_coin_error(n_records: int) -> tuple[float, float]:
    r"""Exact means of the sample error S and of its modulus for losses 0 or 1 with equal chance.

    >>> mean, modulus = mean_coin_error(400)
    >>> abs(mean) < 1e-12, round(modulus, 5)
    (True, 0.01993)
    """
    m = check_integer("n_records", n_records)
    counts = np.arange(m + 1)
    chance, error = binom.pmf(counts, m, 0.5), counts / m - 0.5
    return float(chance @ error), float(chance @ np.abs(error))
