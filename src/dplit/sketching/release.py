"""Private release of a sketch: which noise, on what, and which share of it by whom.

A :class:`ReleasePlan` holds everything that is public about a release and that workers must agree
on: law and scale of the noise, what happens to the count, and among how many workers one noise is
shared. It is calibrated once by :func:`plan_release` and applied to one sketch or to many parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

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
)
from dplit.mechanisms import (
    cube_noise,
    gaussian_noise,
    gaussian_sigma,
    laplace_noise,
    laplace_scale,
    polydisc_noise,
)
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap

__all__ = [
    "CountMode",
    "NoiseKind",
    "ReleasePlan",
    "map_sensitivity",
    "noise_share",
    "plan_release",
]

NoiseKind = Literal["laplace", "gaussian", "polydisc", "cube"]
CountMode = Literal["split", "public", "withheld"]


def map_sensitivity(
    sketch_map: SketchMap, *, noise: NoiseKind, neighboring: Neighboring = "add_remove"
) -> float:
    r"""Sensitivity of the sum of Fourier features in the norm that a noise asks for.

    Parameters
    ----------
    sketch_map : SketchMap
        Of kind "fourier" or "quantized".
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        The norm: :math:`\|\Re\|_1+\|\Im\|_1`, Euclidean, largest modulus, largest part.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Which data sets are neighbours.

    Returns
    -------
    float
        :math:`\sqrt2m`, :math:`\sqrt m`, 1, and :math:`2^{-1/2}` (one-bit) or 1; twice that when a
        record is replaced. Valid for every frequency matrix.

    Raises
    ------
    ValueError
        For quadratic features, whose sensitivity depends on the frequencies: pass a certified one
        to :func:`plan_release`.

    Notes
    -----
    Every entry of the map has modulus 1, and its parts satisfy
    :math:`|\Re|+|\Im|\le\sqrt2`, with equality for one-bit features.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemmas 7, 11 and 12, and Table 1.

    Examples
    --------
    >>> from dplit.sketching.release import map_sensitivity
    >>> from dplit.sketching.sketches import SketchMap
    >>> map_sensitivity(SketchMap("fourier", [[1.0, 2.0, 3.0, 4.0]]), noise="gaussian")
    2.0
    """
    check_choice("noise", noise, get_args(NoiseKind))
    check_neighboring(neighboring)
    if sketch_map.kind == "quadratic":
        raise ValueError("sensitivity must be given for quadratic features, got sensitivity=None")
    m = sketch_map.n_components
    one = {
        "laplace": np.sqrt(2.0) * m,
        "gaussian": np.sqrt(m),
        "polydisc": 1.0,
        "cube": np.sqrt(0.5) if sketch_map.kind == "quantized" else 1.0,
    }[noise]
    return float(one) * (1.0 if neighboring == "add_remove" else 2.0)


def noise_share(
    noise: NoiseKind,
    n_components: int,
    *,
    scale: float,
    complex: bool,
    rng: np.random.Generator,
    n_shares: int = 1,
) -> NDArray[Any]:
    r"""One of ``n_shares`` independent vectors whose sum has the law of one noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        The law. The last two have one radius for all coordinates and come undivided only.
    n_components : int
        Length of the vector.
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

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or an undividable law is asked for in shares.

    Notes
    -----
    The Laplace characteristic function is :math:`1/(1+b^2t^2)`, and the L-th root of it,
    :math:`(1-ibt)^{-1/L}(1+ibt)^{-1/L}`, is that of the difference.

    References
    ----------
    S. Kotz, T. Kozubowski and K. Podgorski, The Laplace distribution and generalizations, 2001,
    Section 2.4 (infinite divisibility).

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.release import noise_share
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


@dataclass(frozen=True)
class ReleasePlan:
    """What a release adds to a sketch; public, and made by :func:`plan_release`.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polydisc", "cube"}
        Law of the noise on the sum.
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
    count: CountMode
    count_scale: float | None
    epsilon: float
    delta: float
    neighboring: Neighboring
    n_shares: int = 1
    fingerprint: str | None = field(default=None, repr=False)

    def apply(self, exact: Sketch, *, rng: np.random.Generator) -> Sketch:
        """Return the sketch with this plan's noise (or this worker's share of it) added.

        Parameters
        ----------
        exact : Sketch
            Without noise.
        rng : numpy.random.Generator
            Stream of privacy noise.

        Returns
        -------
        Sketch
            With the guarantee of the plan if ``n_shares`` is 1; otherwise once all shares are
            merged. Floating-point noise is research noise, not a release.

        Raises
        ------
        ValueError
            If the sketch carries noise already, or is of another map than the plan.
        """
        if self.fingerprint not in (None, exact.map.fingerprint):
            raise ValueError(
                "exact must be of the map for which the noise was calibrated, got fingerprints "
                f"{exact.map.fingerprint} and {self.fingerprint}; nothing is released"
            )
        if exact.noise is not None:
            raise ValueError(f"exact must carry no noise yet, got noise={exact.noise}")
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
            share = noise_share(
                "laplace", 1, scale=self.count_scale, complex=False, rng=rng, n_shares=self.n_shares
            )
            count = float(exact.count + share[0])
        record = NoiseRecord(
            self.noise, self.scale, self.count_scale, self.n_shares, neighboring=self.neighboring
        )
        return Sketch(exact.sum + noise, count, exact.map, record)


def plan_release(
    sketch_map: SketchMap,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: NoiseKind = "laplace",
    count: CountMode = "split",
    split: float | None = None,
    neighboring: Neighboring = "add_remove",
    sensitivity: float | None = None,
    n_shares: int = 1,
) -> ReleasePlan:
    r"""Calibrate the noise of a release; looks at the public map only, never at data.

    Parameters
    ----------
    sketch_map : SketchMap
        The public map.
    epsilon : float
        Budget of the whole release, positive.
    delta : float, default=0.0
        In (0, 1) for Gaussian noise and 0 for the other laws.
    noise : {"laplace", "gaussian", "polydisc", "cube"}, default="laplace"
        Law of the noise on the sum.
    count : {"split", "public", "withheld"}, default="split"
        "split" hides the count by Laplace noise of its own budget; "withheld" publishes no count
        (who knows n from elsewhere may use it); "public" publishes it, which only
        ``neighboring="replace_one"`` allows.
    split : float, optional
        Fraction gamma of ``epsilon`` for the sum, in (0, 1): for "split", and needed there. See
        :mod:`dplit.sketching.budget` for good values.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Which data sets are neighbours.
    sensitivity : float, optional
        Of the sum, in the norm of the noise; by default :func:`map_sensitivity`.
    n_shares : int, default=1
        Number of workers among which one noise is shared; 1 if each adds it all.

    Returns
    -------
    ReleasePlan
        Its :meth:`ReleasePlan.apply` is (epsilon, delta)-private under ``neighboring``.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range or contradicts another one.

    Notes
    -----
    Sum and count are two mechanisms on the same records, and budgets of independent mechanisms
    add: :math:`\gamma\varepsilon+(1-\gamma)\varepsilon=\varepsilon`.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Lemmas 4 and 10.

    Examples
    --------
    >>> from dplit.sketching.release import plan_release
    >>> from dplit.sketching.sketches import SketchMap
    >>> plan = plan_release(SketchMap("fourier", [[1.0, 2.0]]), epsilon=1.0, split=0.8)
    >>> round(plan.scale, 4), round(plan.count_scale, 4)
    (3.5355, 5.0)
    """
    epsilon = check_positive("epsilon", epsilon)
    check_choice("count", count, get_args(CountMode))
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
    part = epsilon if split is None else split * epsilon
    if noise == "gaussian":
        scale = gaussian_sigma(epsilon=part, delta=delta, sensitivity=sensitivity)
    else:
        scale = laplace_scale(epsilon=part, sensitivity=sensitivity)
    count_scale = None if split is None else laplace_scale(epsilon=(1.0 - split) * epsilon)
    return ReleasePlan(
        noise, scale, count, count_scale, epsilon, float(delta), neighboring, shares,
        sketch_map.fingerprint,
    )  # fmt: skip


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
