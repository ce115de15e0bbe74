"""Private release of a sketch: which noise, on what, and which share of it by whom.

A :class:`ReleasePlan` is all that is public about a release and that workers must agree on: it is
calibrated once by :func:`plan_release` and applied to one sketch or to many parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dplit._checks import (
    Neighboring,
    check_choice,
    check_integer,
    check_neighboring,
    check_nonnegative,
    check_positive,
    check_probability,
    check_rng,
    quiet,
)
from dplit._numerics.rounding import round_down, round_up
from dplit.mechanisms import (
    gaussian_epsilon,
    gaussian_noise,
    gaussian_sigma,
    laplace_scale,
)
from dplit.mechanisms._bits import check_source
from dplit.mechanisms._draws import record_draw
from dplit.mechanisms.values import Cube, Gaussian, Laplace, Polydisc
from dplit.sketching._kinds import NoiseKind
from dplit.sketching.sensitivity import sketch_sensitivity
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap

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


@dataclass(frozen=True)
class ReleasePlan:
    """What a release adds to a sketch; public, and made by :func:`plan_release`.

    ``scale`` is b or sigma per real coordinate of the sum, or one over the rate; ``count_scale`` is
    that of Laplace noise on the count, for "split" alone. ``epsilon`` and ``delta`` are the
    guarantee of the whole release under ``neighboring``, once all ``n_shares`` are added.
    ``fingerprint`` is that of the map for which the scale was calibrated; None fits every map, at
    the caller's risk.

    >>> from dplit.sketching.sketches import sketch
    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> plan = plan_release(fourier, epsilon=1.0, count="withheld")
    >>> released = plan.apply(sketch(np.zeros((5, 1)), fourier), rng=np.random.default_rng(0))
    >>> released.count is None, released.noise.scale == plan.scale
    (True, True)
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
    def apply(self, exact: Sketch, *, rng: np.random.Generator | None = None) -> Sketch:
        """Return the sketch with this plan's noise (or this worker's share of it) added.

        ``exact`` is without noise, and of the plan's map: others are refused. The plan's guarantee,
        for its records or persons, holds once all shares are merged. A whole noise is exact, of
        bits of the operating system unless ``rng`` makes it a replay; shares of one are
        floating-point noise, whose low bits can tell of what they hide.
        """
        check_source(rng)
        if self.fingerprint not in (None, exact.map.fingerprint):
            raise ValueError(
                "exact must be of the map for which the noise was calibrated, got fingerprints "
                f"{exact.map.fingerprint} and {self.fingerprint}; nothing is released"
            )
        if exact.noise is not None:
            raise ValueError(f"exact must carry no noise yet, got noise={exact.noise}")
        unit = exact.unit
        told: dict[str, Any] = {
            "hides": "sum of features" if unit == "record" else "sum of persons' mean features",
            "sensitivity": lambda: map_sensitivity(
                exact.map, noise=self.noise, neighboring=self.neighboring
            ),
        }
        counted: dict[str, Any] = {"hides": f"count of the {unit}s", "sensitivity": 1.0}
        count = exact.count if self.count == "public" else None
        if self.n_shares == 1:
            total = self._noise().add(exact.sum, rng=rng, **told)
            if self.count_scale is not None and exact.count is not None:
                count = float(Laplace(self.count_scale).add(exact.count, rng=rng, **counted))
        else:
            source = np.random.default_rng() if rng is None else rng
            total = self._with_share(exact.sum, self.scale, source, self.noise, **told)
            if self.count_scale is not None and exact.count is not None:
                one = np.array([exact.count], np.float64)
                noisy = self._with_share(one, self.count_scale, source, "laplace", **counted)
                count = float(noisy[0])
        record = NoiseRecord(
            self.noise, self.scale, self.count_scale, self.n_shares, neighboring=self.neighboring
        )
        return Sketch(total, count, exact.map, record, exact.unit)

    def _noise(self) -> Gaussian | Laplace | Polydisc | Cube:
        """Return the noise on the sum."""
        if self.noise == "laplace":
            return Laplace(self.scale)
        if self.noise == "gaussian":
            return Gaussian(self.scale)
        rate = 1 / Fraction(self.scale)
        return Polydisc(rate) if self.noise == "polydisc" else Cube(rate)

    def _with_share(
        self,
        value: NDArray[Any],
        scale: float,
        rng: np.random.Generator,
        noise: NoiseKind,
        *,
        hides: str,
        sensitivity: float | Callable[[], float],
    ) -> NDArray[Any]:
        """Return a vector with one of ``n_shares`` shares of noise, in floating point."""
        gaussian, both = noise == "gaussian", value.dtype.kind == "c"
        record_draw(
            "gaussian" if gaussian else "laplace",
            hides,
            of=value,
            scale=scale,
            norm="l2" if gaussian else "l1",
            shape=value.shape,
            sensitivity=sensitivity,
            parallel=self,
        )
        if gaussian:
            sigma = scale / math.sqrt(self.n_shares)
            share = gaussian_noise(len(value), sigma=sigma, rng=rng, complex=both)
        else:
            share = laplace_share(
                len(value), scale=scale, complex=both, rng=rng, n_shares=self.n_shares
            )
        return np.asarray(value + share)


def plan_release(
    sketch_map: SketchMap,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: NoiseKind = "laplace",
    count: _CountMode = "split",
    split: float | None = None,
    neighboring: Neighboring = "add_remove",
    sensitivity: float | None = None,
    n_shares: int = 1,
) -> ReleasePlan:
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
        :mod:`dplit.papers.sketching.budget` for good values.
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
        noise,
        scale,
        count,
        count_scale,
        epsilon,
        float(delta),
        neighboring,
        shares,
        sketch_map.fingerprint,
    )


def spent_epsilon(
    released: Sketch, *, delta: float, neighboring: Neighboring = "add_remove"
) -> float:
    """Epsilon at ``delta`` of a released sketch, from the scales that it says it carries.

    Sensitivity over scale (or the exact Gaussian epsilon), plus that of a noisy count, under the
    relation that is asked about, whichever the sketch was released for. Infinite without noise, and
    under "add_remove" where the number of records is published exactly. ``delta``, in (0, 1), is
    for Gaussian noise alone. Merged releases of disjoint records have the epsilon of one of them.

    >>> from dplit.sketching.sketches import sketch
    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> plan = plan_release(fourier, epsilon=1.0, split=0.8)
    >>> released = plan.apply(sketch(np.zeros((5, 1)), fourier), rng=np.random.default_rng(0))
    >>> round(spent_epsilon(released, delta=0.0), 12)
    1.0
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
