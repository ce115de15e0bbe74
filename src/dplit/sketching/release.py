"""Private release of a sketch: which noise, on what, and which share of it by whom.

A :class:`ReleasePlan` is all that is public about a release and that workers must agree on: it is
calibrated once by :func:`plan_release` and applied to one sketch or to many parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit._estimators import clamp, spawn_generators
from dplit._numerics.rounding import round_down, round_up
from dplit.mechanisms import (
    cube_noise,
    gaussian_epsilon,
    gaussian_noise,
    gaussian_sigma,
    laplace_noise,
    laplace_scale,
    polydisc_noise,
)
from dplit.mechanisms.draws import Mechanism, Norm, record_draw
from dplit.sketching.sensitivity import NoiseKind, noise_variance, sketch_sensitivity
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap, _exact_part, merge_all

_CountMode = Literal["split", "public", "withheld"]


def map_sensitivity(
    sketch_map: SketchMap, *, noise: NoiseKind, neighboring: Neighboring = "add_remove"
) -> float:
    r"""Bound of the sensitivity of a sum of features in the norm of a noise, for every map.

    For "laplace" and "gaussian" that of :func:`dplit.sketching.sensitivity.sketch_sensitivity`
    in the norms 1 and 2. For "polydisc" and "cube", the largest modulus and the largest part of
    complex features: 1, and :math:`2^{-1/2}` (one-bit) or 1; twice that when a record is replaced.

    >>> map_sensitivity(SketchMap("fourier", [[1.0, 2.0, 3.0, 4.0]]), noise="gaussian")
    2.0
    """
    kind, omega = sketch_map.kind, sketch_map.frequencies
    real = kind == "quadratic"
    check_choice("noise", noise, ("laplace", "gaussian") if real else get_args(NoiseKind))
    if noise == "laplace":
        return sketch_sensitivity(kind, omega, norm=1, neighboring=neighboring)
    if noise == "gaussian":
        return sketch_sensitivity(kind, omega, norm=2, neighboring=neighboring)
    one = math.sqrt(0.5) if noise == "cube" and kind == "quantized" else 1.0
    return one * (1.0 if check_neighboring(neighboring) == "add_remove" else 2.0)


def laplace_share(
    n_components: int, *, scale: float, complex: bool, rng: np.random.Generator, n_shares: int
) -> NDArray[Any]:
    r"""One of ``n_shares`` independent vectors whose sum is Laplace noise of scale b.

    Each coordinate is the difference of two Gamma(1/L) variables of scale b: Kotz, Kozubowski and
    Podgorski, The Laplace distribution and generalizations, 2001, Section 2.4. One share alone
    protects nobody to the level of the whole.

    >>> laplace_share(3, scale=2.0, complex=True, rng=np.random.default_rng(0), n_shares=5).shape
    (3,)
    """
    size, shares = check_integer("n_components", n_components), check_integer("n_shares", n_shares)
    scale, reals = check_positive("scale", scale), 2 * size if complex else size
    check_rng(rng)
    part = rng.gamma(1 / shares, scale, reals) - rng.gamma(1 / shares, scale, reals)
    return part.view(np.complex128) if complex else part


#: What a ledger calls each noise, and the norm in which the change of a sum counts against it.
_TOLD_AS: dict[NoiseKind, tuple[Mechanism, Norm]] = {
    "laplace": ("laplace", "l1"), "gaussian": ("gaussian", "l2"),
    "polydisc": ("k_norm", "modulus"), "cube": ("k_norm", "max"),
}  # fmt: skip


@dataclass(frozen=True)
class ReleasePlan:
    """What a release adds to a sketch; public, and made by :func:`plan_release`.

    ``scale`` is b or sigma per real coordinate of the sum, or one over the rate; ``count_scale`` is
    that of Laplace noise on the count, for "split" alone. ``epsilon`` and ``delta`` are the
    guarantee of the whole release under ``neighboring``, once all ``n_shares`` are added.
    ``fingerprint`` is that of the map for which the scale was calibrated; None fits every map, at
    the caller's risk.
    """

    noise: NoiseKind
    scale: float
    count: _CountMode
    count_scale: float | None
    epsilon: float
    delta: float
    neighboring: Neighboring
    n_shares: int = 1
    fingerprint: str | None = field(default=None, repr=False)

    @quiet
    def apply(self, exact: Sketch, *, rng: np.random.Generator) -> Sketch:
        """Return the sketch with this plan's noise (or this worker's share of it) added.

        ``exact`` is without noise, and of the plan's map: others are refused. The plan's guarantee,
        for its records or persons, holds once all shares are merged. The noise is research noise.
        """
        if self.fingerprint not in (None, exact.map.fingerprint):
            raise ValueError(
                "exact must be of the map for which the noise was calibrated, got fingerprints "
                f"{exact.map.fingerprint} and {self.fingerprint}; nothing is released"
            )
        if exact.noise is not None:
            raise ValueError(f"exact must carry no noise yet, got noise={exact.noise}")
        record_draw(
            _TOLD_AS[self.noise][0],
            "sum of features" if exact.unit == "record" else "sum of persons' mean features",
            of=exact.sum, scale=self.scale, norm=_TOLD_AS[self.noise][1], shape=exact.sum.shape,
            sensitivity=lambda: map_sensitivity(
                exact.map, noise=self.noise, neighboring=self.neighboring
            ),
            parallel=self if self.n_shares > 1 else None,
        )  # fmt: skip
        m, shares = exact.map.n_components, self.n_shares
        options: dict[str, Any] = {"complex": exact.map.is_complex, "rng": rng}
        laplace = laplace_noise if shares == 1 else partial(laplace_share, n_shares=shares)
        if self.noise == "laplace":
            noise = laplace(m, scale=self.scale, **options)
        elif self.noise == "gaussian":
            noise = gaussian_noise(m, sigma=self.scale / math.sqrt(shares), **options)
        else:
            sampler = polydisc_noise if self.noise == "polydisc" else cube_noise
            noise = sampler(m, rate=1.0 / self.scale, rng=rng)
        count = exact.count if self.count == "public" else None
        if self.count_scale is not None and exact.count is not None:
            record_draw(
                "laplace", f"count of the {exact.unit}s", of=exact.count, sensitivity=1, norm="l1",
                scale=self.count_scale, shape=(1,), parallel=self if shares > 1 else None,
            )  # fmt: skip
            share = laplace(1, scale=self.count_scale, complex=False, rng=rng)
            count = float(exact.count + share[0])
        record = NoiseRecord(
            self.noise, self.scale, self.count_scale, self.n_shares, neighboring=self.neighboring
        )
        return Sketch(exact.sum + noise, count, exact.map, record, exact.unit)


def plan_release(
    sketch_map: SketchMap, *, epsilon: float, delta: float = 0.0, noise: NoiseKind = "laplace",
    count: _CountMode = "split", split: float | None = None,
    neighboring: Neighboring = "add_remove", sensitivity: float | None = None, n_shares: int = 1,
) -> ReleasePlan:  # fmt: skip
    r"""Calibrate the noise of a release; looks at the public map only, never at data.

    Parameters
    ----------
    sketch_map : SketchMap
    epsilon : float
        Budget of the whole release, positive: budgets of sum and count add up to it.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise and 0 for the other laws.
    noise : {"laplace", "gaussian", "polydisc", "cube"}, default="laplace"
    count : {"split", "public", "withheld"}, default="split"
        "split" hides the count by Laplace noise of its own budget; "withheld" publishes no count
        (who knows n from elsewhere may use it); "public" publishes it, which only
        ``neighboring="replace_one"`` allows.
    split : float, optional
        Fraction gamma of ``epsilon`` for the sum, in (0, 1): for "split", and needed there. See
        :mod:`dplit.sketching.counts` for good values.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
    sensitivity : float, optional
        Of the sum, in the norm of the noise; by default :func:`map_sensitivity`.
    n_shares : int, default=1
        Number of workers among which one noise is shared; 1 if each adds it all.

    Returns
    -------
    ReleasePlan
        Its :meth:`ReleasePlan.apply` is (epsilon, delta)-private under ``neighboring``: Chatalic et
        al. (2022), Lemmas 4 and 10.

    Examples
    --------
    >>> plan = plan_release(SketchMap("fourier", [[1.0, 2.0]]), epsilon=1.0, split=0.8)
    >>> round(plan.scale, 4), round(plan.count_scale, 4)
    (3.5355, 5.0)
    """
    epsilon = check_positive("epsilon", epsilon)
    check_choice("count", count, get_args(_CountMode))
    check_neighboring(neighboring)
    shares = check_integer("n_shares", n_shares)
    _check_modes(noise, delta, count, split, neighboring)
    if shares > 1 and noise not in ("laplace", "gaussian"):
        raise ValueError(f"n_shares must be 1 for {noise} noise, got n_shares={n_shares}")
    if noise in ("polydisc", "cube") and not sketch_map.is_complex:
        raise ValueError(f"noise must be 'laplace' or 'gaussian' for a real map, got {noise!r}")
    if sensitivity is None:
        sensitivity = map_sensitivity(sketch_map, noise=noise, neighboring=neighboring)
    sensitivity = check_positive("sensitivity", sensitivity)
    part = epsilon if split is None else round_down(Fraction(split) * Fraction(epsilon))
    if noise == "gaussian":
        scale = gaussian_sigma(epsilon=part, delta=delta, sensitivity=sensitivity)
    else:
        scale = laplace_scale(epsilon=part, sensitivity=sensitivity)
    count_scale = None
    if split is not None:
        rest = round_down((1 - Fraction(split)) * Fraction(epsilon))
        count_scale = laplace_scale(epsilon=rest)
    return ReleasePlan(
        noise, scale, count, count_scale, epsilon, float(delta), neighboring, shares,
        sketch_map.fingerprint,
    )  # fmt: skip


def spent_epsilon(
    released: Sketch, *, delta: float, neighboring: Neighboring = "add_remove"
) -> float:
    """Epsilon at ``delta`` of a released sketch, from the scales that it says it carries.

    Sensitivity over scale (or the exact Gaussian epsilon), plus that of a noisy count, under the
    relation that is asked about, whichever the sketch was released for. Infinite without noise, and
    under "add_remove" where the number of records is published exactly. ``delta``, in (0, 1), is
    for Gaussian noise alone. Merged releases of disjoint records have the epsilon of one of them.
    """
    check_neighboring(neighboring)
    record = released.noise
    if record is None:
        return math.inf
    if not record.complete:
        raise ValueError(
            f"sketch must carry all {record.n_shares} shares of its noise, got {record.collected}"
        )
    if record.kind == "gaussian" and not 0.0 < delta < 1.0:
        raise ValueError(
            "delta must be in (0, 1) for a sketch with Gaussian noise, whose epsilon depends on "
            f"it, got delta={delta!r}"
        )
    if released.count_is_exact and neighboring == "add_remove":
        return math.inf
    noise = cast("NoiseKind", record.kind)
    size = map_sensitivity(released.map, noise=noise, neighboring=neighboring)
    if noise == "gaussian":
        spent = gaussian_epsilon(delta=delta, sigma=record.scale, sensitivity=size)
    else:
        spent = round_up(Fraction(size) / Fraction(record.scale))
    if record.count_scale is not None and neighboring == "add_remove":
        spent = round_up(Fraction(spent) + 1 / Fraction(record.count_scale))
    return float(spent)


def _check_modes(
    noise: str, delta: float, count: str, split: float | None, neighboring: str
) -> None:
    """Refuse combinations that make no sense together."""
    check_choice("noise", noise, get_args(NoiseKind))
    check_nonnegative("delta", delta)
    if noise == "gaussian":
        check_probability("delta", delta)
    elif delta != 0:
        raise ValueError(f"delta must be 0 for {noise} noise, got delta={delta!r}")
    if count == "public" and neighboring != "replace_one":
        raise ValueError(
            "count='public' must go with neighboring='replace_one' "
            f"(otherwise use 'split' or 'withheld'), got neighboring={neighboring!r}"
        )
    if count == "split" and neighboring != "add_remove":
        raise ValueError(
            "count='split' must go with neighboring='add_remove' "
            f"(replacing a record keeps the count), got neighboring={neighboring!r}"
        )
    if (split is None) == (count == "split"):
        rule = "given" if count == "split" else "None"
        raise ValueError(f"split must be {rule} for count={count!r}, got split={split!r}")
    if split is not None:
        check_probability("split", split)


# The two additive mechanisms on vectors, and noisy sums of features.
#
# The noise is complex where the vector is: real noise would leave imaginary parts in the clear.


def _exact_sum(rows: NDArray[Any]) -> NDArray[Any]:
    """Sum of finite rows (n, m), rounded once: the same bits for every order of the rows.

    A plain sum rounds at every step, so that one row more moves the rounding of all the others.
    Real and imaginary parts are clamped to +-1e150 first, and the sum overflows for no row.
    """
    kind = np.complex128 if rows.dtype.kind == "c" else np.float64
    parts = clamp(np.ascontiguousarray(rows, kind).view(np.float64))
    return np.array([math.fsum(column) for column in parts.T.tolist()]).view(kind)


@quiet
def additive_mechanism(
    value: ArrayLike, *, noise: Literal["laplace", "gaussian"], scale: float,
    rng: np.random.Generator,
) -> NDArray[Any]:  # fmt: skip
    r"""Return a finite vector, real or complex, with independent noise on every real coordinate.

    ``scale`` is b or sigma of each of them, two for a complex entry. Laplace noise is
    :math:`\Delta_1/b`-private, no better, where :math:`\Delta_1` counts real and imaginary parts;
    Gaussian noise has the profile of :func:`dplit.mechanisms.gaussian_delta`. Floating-point noise
    is for research. Chatalic et al. (2022), Definitions 12 and 15, Theorem 1.

    >>> rng = np.random.default_rng(0)
    >>> additive_mechanism([1j, 2.0], noise="laplace", scale=0.1, rng=rng).dtype
    dtype('complex128')
    """
    vector = check_finite_array("value", value)
    record_draw(
        noise, "a vector", of=vector, scale=scale, norm="l1" if noise == "laplace" else "l2",
        shape=vector.shape,
    )  # fmt: skip
    both = vector.dtype.kind == "c"
    check_choice("noise", noise, ("laplace", "gaussian"))
    if noise == "laplace":
        draws = laplace_noise(vector.shape, scale=scale, rng=rng, complex=both)
    else:
        sigma = check_positive("scale", scale)
        draws = gaussian_noise(vector.shape, sigma=sigma, rng=rng, complex=both)
    return np.asarray(vector + draws)


@quiet
def noisy_sum(
    features: ArrayLike, *, noise: Literal["laplace", "gaussian"], scale: float,
    rng: np.random.Generator,
) -> NDArray[Any]:  # fmt: skip
    r"""Return the noisy sum of features (n, m) of n records, :math:`\sum_i\Phi(x_i)+\xi`.

    Of their exact sum, rounded once: it has the same bits for every order of the records, and
    between neighbours it moves by at most one unit in its last place more than the features do,
    which ``scale`` has to count where an offset is 1e13 times as large as what one record adds.
    Chatalic et al. (2022), Definitions 17 and 19.

    >>> noisy_sum(np.ones((5, 3)), noise="laplace", scale=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    rows = check_finite_array("features", features, ndim=2)
    return additive_mechanism(_exact_sum(rows), noise=noise, scale=scale, rng=rng)


def sketch_parts(
    parts: Sequence[Any], sketch_map: SketchMap, *, plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None,
) -> Sketch:  # fmt: skip
    """Sketch the data of several holders, each adding its noise before the sums meet.

    ``parts`` is what each holder has: an array, a memory map or an iterable of chunks, empty or
    not. ``plan`` is the noise of every holder: a whole one (``n_shares=1``, holders trust nobody,
    and the variance is multiplied by their number) or one share each (``n_shares=len(parts)``, the
    sum alone is seen); without it the result is exact and must not be published. Every holder gets
    a generator of its own, spawned by ``rng``: a simulation of holders, who in earnest draw their
    own noise. The error about what is not finite names part, chunk and record.

    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> plan = plan_release(fourier, epsilon=1.0, count="withheld", n_shares=2)
    >>> parts = [np.zeros((5, 1)), np.ones((0, 1))]
    >>> sketch_parts(parts, fourier, plan=plan, rng=np.random.default_rng(0)).noise.complete
    True
    """
    exact = (_exact_part(index, part, sketch_map) for index, part in enumerate(parts))
    if plan is None:
        if rng is not None:
            raise ValueError("rng must be None without a plan: exact sketches draw nothing")
        return merge_all(exact)
    if plan.n_shares not in (1, len(parts)):
        raise ValueError(
            f"n_shares must be 1 or the number of parts {len(parts)}, got n_shares={plan.n_shares}"
        )
    generators = spawn_generators(check_rng(rng), len(parts))
    return merge_all(plan.apply(part, rng=own) for part, own in zip(exact, generators, strict=True))


def _noise_deviation(released: Sketch) -> float:
    """Standard deviation per real coordinate of the noise that a sketch says it carries."""
    record = released.noise
    if record is None:
        return 0.0
    kind = cast("NoiseKind", record.kind)
    unit = math.sqrt(noise_variance(kind, n_components=released.map.n_components) / 2.0)
    return unit * record.scale * math.sqrt(record.variance_factor)
