"""Private release of a sketch: which noise, on what, and which share of it by whom.

A :class:`ReleasePlan` is all that is public about a release and that workers must agree on: it is
calibrated once by :func:`plan_release` and applied to one sketch or to many parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Array,
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
from dplit._estimators import clamp
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
from dplit.sketching.sensitivity import replace_l1_bound, s4_certificate, spectral_sensitivity
from dplit.sketching.sketches import (
    BLOCK_ROWS,
    NoiseRecord,
    Sketch,
    SketchMap,
    _dask_sketch,
    _exact_part,
    merge_all,
)

NoiseKind = Literal["laplace", "gaussian", "polydisc", "cube"]

_CountMode = Literal["split", "public", "withheld"]


#: Largest dimensions in which the certificate of S_4, an eigenproblem of size d^2 / 2, is computed:
#: for the best shift, and for one shift.
_BEST_SHIFT, _ONE_SHIFT = 24, 64


def map_sensitivity(
    sketch_map: SketchMap, *, noise: NoiseKind, neighboring: Neighboring = "add_remove"
) -> float:
    r"""Bound of the sensitivity of a sum of features in the norm of a noise, for every map.

    Parameters
    ----------
    sketch_map : SketchMap
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        The norm: :math:`\|\Re\|_1+\|\Im\|_1`, Euclidean, largest modulus, largest part; the last
        two for complex features only.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"

    Returns
    -------
    float
        Fourier features: :math:`\sqrt2m`, :math:`\sqrt m`, 1, and :math:`2^{-1/2}` (one-bit) or 1;
        twice that when a record is replaced. Quadratic ones: :math:`\lambda_1` or
        :math:`\lambda_1+\lambda_2` (Laplace), the certificate of :math:`S_4`, or that times
        :math:`\sqrt2` (Gaussian). The certificate takes the best shift up to dimension 24, the
        shift :math:`\sum_j\|\omega_j\|^4/(d(d+2))`, best for large sketches, up to 64, and gives
        way to :math:`\|\Omega\|_2\max_j\|\omega_j\|` beyond.

    References
    ----------
    Chatalic et al. (2022), Lemmas 7, 11 and 12, and Table 1.

    Examples
    --------
    >>> map_sensitivity(SketchMap("fourier", [[1.0, 2.0, 3.0, 4.0]]), noise="gaussian")
    2.0
    """
    check_choice("noise", noise, get_args(NoiseKind))
    check_neighboring(neighboring)
    if sketch_map.kind == "quadratic":
        return _quadratic_sensitivity(sketch_map.frequencies, noise, neighboring)
    m = sketch_map.n_components
    one = {
        "laplace": np.sqrt(2.0) * m,
        "gaussian": np.sqrt(m),
        "polydisc": 1.0,
        "cube": np.sqrt(0.5) if sketch_map.kind == "quantized" else 1.0,
    }[noise]
    return float(one) * (1.0 if neighboring == "add_remove" else 2.0)


def _quadratic_sensitivity(omega: Array, noise: NoiseKind, neighboring: Neighboring) -> float:
    """Return the bound for quadratic features, which depends on the frequencies (d, m)."""
    check_choice("noise", noise, ("laplace", "gaussian"))
    added = neighboring == "add_remove"
    if noise == "laplace":
        return spectral_sensitivity(omega) if added else replace_l1_bound(omega)
    d, lengths = len(omega), np.linalg.norm(omega, axis=0)
    if d <= _BEST_SHIFT:
        quartic = s4_certificate(omega)
    elif d <= _ONE_SHIFT:
        quartic = s4_certificate(omega, shift=float((lengths**4).sum()) / (d * (d + 2)))
    else:
        quartic = math.sqrt(spectral_sensitivity(omega)) * float(lengths.max())
    return quartic * (1.0 if added else math.sqrt(2.0))


def noise_share(
    noise: NoiseKind, n_components: int, *, scale: float, complex: bool, rng: np.random.Generator,
    n_shares: int = 1,
) -> NDArray[Any]:  # fmt: skip
    r"""One of ``n_shares`` independent vectors whose sum has the law of one noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        The law. The last two have one radius for all coordinates and come undivided only.
    n_components : int
    scale : float
        Laplace b or Gaussian sigma per real coordinate, or one over the rate of the other two.
    complex : bool
        Whether the vector is complex; the last two laws are.
    rng : numpy.random.Generator
        Source of privacy noise: every worker its own.
    n_shares : int, default=1
        Number of workers L.

    Returns
    -------
    ndarray of shape (n_components,)
        A Gaussian share has standard deviation :math:`\sigma/\sqrt L`; a Laplace share is the
        difference of two Gamma(1/L) variables of scale b. One share alone protects nobody to the
        level of the whole: shares are for workers whose sum alone is seen.

    References
    ----------
    S. Kotz, T. Kozubowski and K. Podgorski, The Laplace distribution and generalizations, 2001,
    Section 2.4 (infinite divisibility).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise_share("laplace", 3, scale=2.0, complex=True, rng=rng, n_shares=5).shape
    (3,)
    """
    check_choice("noise", noise, get_args(NoiseKind))
    size = check_integer("n_components", n_components)
    shares = check_integer("n_shares", n_shares)
    scale = check_positive("scale", scale)
    check_rng(rng)
    if noise == "gaussian":
        return gaussian_noise(size, sigma=scale / np.sqrt(shares), rng=rng, complex=complex)
    if noise == "laplace" and shares == 1:
        return laplace_noise(size, scale=scale, rng=rng, complex=complex)
    if noise == "laplace":
        reals = 2 * size if complex else size
        part = rng.gamma(1 / shares, scale, reals) - rng.gamma(1 / shares, scale, reals)
        return part.view(np.complex128) if complex else part
    if shares > 1:
        raise ValueError(f"n_shares must be 1 for {noise} noise, got n_shares={n_shares}")
    if not complex:
        raise ValueError(f"complex must be True for {noise} noise, got complex=False")
    sampler = polydisc_noise if noise == "polydisc" else cube_noise
    return sampler(size, rate=1.0 / scale, rng=rng)


#: What a ledger calls each noise, and the norm in which the change of a sum counts against it.
_TOLD_AS: dict[NoiseKind, tuple[Mechanism, Norm]] = {
    "laplace": ("laplace", "l1"), "gaussian": ("gaussian", "l2"),
    "polydisc": ("k_norm", "modulus"), "cube": ("k_norm", "max"),
}  # fmt: skip


@dataclass(frozen=True)
class ReleasePlan:
    """What a release adds to a sketch; public, and made by :func:`plan_release`.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polydisc", "cube"}
    scale : float
        Its scale, as in :func:`noise_share`.
    count : {"split", "public", "withheld"}
        Whether the count gets Laplace noise, is published as it is, or not at all.
    count_scale : float or None
        Laplace scale of the noise on the count; only for "split".
    epsilon, delta : float
        The guarantee of the whole release (once all shares are added).
    neighboring : {"add_remove", "replace_one"}
        The relation under which it holds.
    n_shares : int
        Number of workers among which one noise is shared.
    fingerprint : str or None
        Of the map for which the scale was calibrated; None fits every map, at the caller's risk.
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

        Parameters
        ----------
        exact : Sketch
            Without noise, and of the plan's map: others are refused.
        rng : numpy.random.Generator
            Stream of privacy noise.

        Returns
        -------
        Sketch
            With the guarantee of the plan if ``n_shares`` is 1; otherwise once all shares are
            merged. Floating-point noise is research noise, not a release.
        """
        if self.fingerprint not in (None, exact.map.fingerprint):
            raise ValueError(
                "exact must be of the map for which the noise was calibrated, got fingerprints "
                f"{exact.map.fingerprint} and {self.fingerprint}; nothing is released"
            )
        if exact.noise is not None:
            raise ValueError(f"exact must carry no noise yet, got noise={exact.noise}")
        record_draw(
            _TOLD_AS[self.noise][0], "sum of features", of=exact.sum, scale=self.scale,
            norm=_TOLD_AS[self.noise][1], shape=exact.sum.shape,
            sensitivity=lambda: map_sensitivity(
                exact.map, noise=self.noise, neighboring=self.neighboring
            ),
            parallel=self if self.n_shares > 1 else None,
        )  # fmt: skip
        noise = noise_share(
            self.noise,
            exact.map.n_components,
            scale=self.scale,
            complex=exact.map.is_complex,
            rng=rng,
            n_shares=self.n_shares,
        )
        count = exact.count if self.count == "public" else None
        if self.count_scale is not None and exact.count is not None:
            record_draw(
                "laplace", "count of the records", of=exact.count, sensitivity=1.0, norm="l1",
                scale=self.count_scale, shape=(1,), parallel=self if self.n_shares > 1 else None,
            )  # fmt: skip
            share = noise_share(
                "laplace", 1, scale=self.count_scale, complex=False, rng=rng, n_shares=self.n_shares
            )
            count = float(exact.count + share[0])
        record = NoiseRecord(
            self.noise, self.scale, self.count_scale, self.n_shares, neighboring=self.neighboring
        )
        return Sketch(exact.sum + noise, count, exact.map, record)


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
        Budget of the whole release, positive.
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
        Its :meth:`ReleasePlan.apply` is (epsilon, delta)-private under ``neighboring``.

    Notes
    -----
    Sum and count are two mechanisms on the same records, and budgets of independent mechanisms
    add: :math:`\gamma\varepsilon+(1-\gamma)\varepsilon=\varepsilon`.

    References
    ----------
    Chatalic et al. (2022), Lemmas 4 and 10.

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

    Parameters
    ----------
    released : Sketch
        Whose noise is complete. Without noise the answer is infinite, and so it is under
        "add_remove" where the number of records is published exactly, as a release for
        "replace_one" may do.
    delta : float
        For Gaussian noise, in (0, 1); not used otherwise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation that is asked about, whichever the sketch was released for.

    Returns
    -------
    float
        Sensitivity over scale (or the exact Gaussian epsilon), plus that of a noisy count. Merged
        releases of disjoint records have the epsilon of one of them.
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
    r"""Return a vector with independent noise on every real coordinate.

    Parameters
    ----------
    value : array_like
        Finite real or complex vector (or an array of them); a complex entry gets two draws.
    noise : {"laplace", "gaussian"}
    scale : float
        Laplace scale b, or standard deviation, of each real coordinate; positive.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float64 or complex128
        The release. Laplace: :math:`\Delta_1/b`-private, no better, where :math:`\Delta_1` counts
        real and imaginary parts. Gaussian: with the profile of
        :func:`dplit.mechanisms.gaussian_delta` at the :math:`\ell_2` sensitivity. Floating-point
        noise is for research.

    References
    ----------
    Chatalic et al. (2022), Definitions 12 and 15, Theorem 1.

    Examples
    --------
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
    r"""Return the noisy sum of features :math:`\sum_i\Phi(x_i)+\xi`.

    Parameters
    ----------
    features : array_like of shape (n, m)
        The features of n records, real or complex.
    noise : {"laplace", "gaussian"}
    scale : float
        Scale b of Laplace noise, or standard deviation of Gaussian noise, per real coordinate.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (m,)
        One noise vector on the sum, not one per record. The sum has the same bits for every order
        of the records. It is the exact sum, rounded once: between neighbours it moves by at most
        one unit in its last place more than the features do, which ``scale`` has to count where
        an offset is 1e13 times as large as what one record adds.

    References
    ----------
    Chatalic et al. (2022), Definitions 17 and 19.

    Examples
    --------
    >>> noisy_sum(np.ones((5, 3)), noise="laplace", scale=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    rows = check_finite_array("features", features, ndim=2)
    return additive_mechanism(_exact_sum(rows), noise=noise, scale=scale, rng=rng)


# Sketches of data that do not fit in memory or live on several machines: noise may be added before
# anything leaves a part. A part that contains a NaN stops everything: nothing is returned.


def _part(
    index: int, X: Any, sketch_map: SketchMap, block_rows: int, plan: ReleasePlan | None,
    rng: np.random.Generator | None,
) -> Sketch:  # fmt: skip
    """Return the sketch of one part, with its noise; runs on the worker that holds the part."""
    exact = _exact_part(index, X, sketch_map, block_rows)
    return exact if plan is None or rng is None else plan.apply(exact, rng=rng)


def _generators(
    count: int, plan: ReleasePlan | None, rng: np.random.Generator | None
) -> list[np.random.Generator | None]:
    """Return one generator per part, or Nones without a plan; check that shares and parts agree."""
    if plan is None:
        if rng is not None:
            raise ValueError("rng must be None without a plan: exact sketches draw nothing")
        return [None] * count
    if plan.n_shares not in (1, count):
        raise ValueError(
            f"n_shares must be 1 or the number of parts {count}, got n_shares={plan.n_shares}"
        )
    return list(check_rng(rng).spawn(count))


def sketch_parts(
    parts: Sequence[Any], sketch_map: SketchMap, *, plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None, block_rows: int = BLOCK_ROWS,
) -> Sketch:  # fmt: skip
    """Sketch the data of several holders, each adding its noise before the sums meet.

    Parameters
    ----------
    parts : sequence
        What each holder has: an array, a memory map or an iterable of chunks. Empty ones are fine.
    sketch_map : SketchMap
    plan : ReleasePlan, optional
        Noise of every holder: a whole one (``n_shares=1``, holders trust nobody, and the variance
        is multiplied by their number) or one share each (``n_shares=len(parts)``, the sum alone is
        seen). Without a plan the result is exact and must not be published.
    rng : numpy.random.Generator, optional
        Noise; with a plan only. Every holder gets a generator of its own, made here: a simulation
        of holders, who in earnest each draw their own noise.
    block_rows : int, default=128
        As in :func:`dplit.sketching.sketches.sketch`.

    Returns
    -------
    Sketch
        Of all records together. The error about what is not finite names part, chunk and record.

    Examples
    --------
    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> plan = plan_release(fourier, epsilon=1.0, count="withheld", n_shares=2)
    >>> parts = [np.zeros((5, 1)), np.ones((0, 1))]
    >>> sketch_parts(parts, fourier, plan=plan, rng=np.random.default_rng(0)).noise.complete
    True
    """
    generators = _generators(len(parts), plan, rng)
    return merge_all(
        _part(index, part, sketch_map, block_rows, plan, generator)
        for index, (part, generator) in enumerate(zip(parts, generators, strict=True))
    )


def merged_noise_energy(
    n_holders: int, *, n_shares: int, n_components: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Energy :math:`|\xi_j|^2/4b^2` (n_components,) of merged Laplace noise of L = ``n_holders``.

    Its expectation is L with whole noises (``n_shares=1``) and 1 with L shares.
    """
    holders, m = check_integer("n_holders", n_holders), check_integer("n_components", n_components)
    flat = SketchMap("fourier", np.ones((1, m)))
    plan = plan_release(flat, epsilon=1.0, count="withheld", n_shares=n_shares)
    whole = sketch_parts([np.empty((0, 1))] * holders, flat, plan=plan, rng=rng)
    return np.asarray(np.abs(whole.sum) ** 2 / (4.0 * plan.scale**2))


def sketch_dask(
    X: Any, sketch_map: SketchMap, *, plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None, block_rows: int = BLOCK_ROWS,
) -> Sketch:  # fmt: skip
    """Sketch a dask array where its chunks lie; only sketches travel.

    Parameters
    ----------
    X : dask.array.Array
        Real, of shape (n_samples, n_features); chunked along records at will, sizes may be unknown.
    sketch_map : SketchMap
    plan : ReleasePlan, optional
        Noise added by the worker that holds a chunk, before the sketch leaves it: whole or in
        shares, as in :func:`sketch_parts`, with chunks of records in the place of holders.
    rng : numpy.random.Generator, optional
        Noise; with a plan only. Every task carries a generator of its own, so that a chunk that is
        computed again (its worker died) gets the same noise again.
    block_rows : int, default=128
        As in :func:`dplit.sketching.sketches.sketch`.

    Returns
    -------
    Sketch
        The bits of the array in memory.

    Raises
    ------
    TypeError, ValueError
        If a chunk is not finite (the message names it), or arguments do not fit together.
    RuntimeError
        If workers died again and again over one chunk. Nothing is returned then.

    Notes
    -----
    The scheduler is the one in force: threads by default, or the workers of a ``Client``. A worker
    that dies is replaced by dask up to ``distributed.scheduler.allowed-failures`` times.

    The caller makes the generators and could subtract the noise: this protects records from
    readers of the result, not from the caller. Holders who do not trust the caller apply a
    :class:`dplit.sketching.release.ReleasePlan` with a generator of their own.
    """

    def arguments(count: int) -> list[tuple[Any, ...]]:
        return [(block_rows, plan, generator) for generator in _generators(count, plan, rng)]

    return _dask_sketch(X, sketch_map, _part, arguments)


def _noise_deviation(released: Sketch) -> float:
    """Standard deviation per real coordinate of the noise that a sketch says it carries."""
    record = released.noise
    if record is None:
        return 0.0
    size = 2.0 * released.map.n_components  # of the space in which the last two laws are radial
    radial = math.sqrt((size + 1.0) * (size + 2.0))
    unit = {
        "laplace": math.sqrt(2.0),
        "gaussian": 1.0,
        "polydisc": radial / 2.0,
        "cube": radial / math.sqrt(3.0),
    }[record.kind]
    return unit * record.scale * math.sqrt(record.variance_factor)
