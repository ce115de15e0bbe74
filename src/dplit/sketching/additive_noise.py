"""The two additive mechanisms on vectors, and noisy sums of features.

The noise is complex where the vector is: real noise would leave imaginary parts in the clear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._base import spawn_generators
from dplit._checks import check_choice, check_finite_array, check_positive, check_rng, quiet
from dplit.mechanisms.values import Gaussian, Laplace
from dplit.sketching._exact_sums import exact_sum
from dplit.sketching._kinds import NoiseKind
from dplit.sketching.plans import ReleasePlan
from dplit.sketching.sensitivity import noise_variance
from dplit.sketching.sketches import Sketch, SketchMap, _exact_part, merge_all


@quiet
def additive_mechanism(
    value: ArrayLike,
    *,
    noise: Literal["laplace", "gaussian"],
    scale: float,
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    r"""Return a finite vector, real or complex, with independent noise on every real coordinate.

    ``scale`` is b or sigma of each of them, two for a complex entry. Laplace noise is
    :math:`\Delta_1/b`-private, no better, where :math:`\Delta_1` counts real and imaginary parts;
    Gaussian noise has the profile of :func:`dplit.mechanisms.gaussian_delta`. The noise is exact
    (:mod:`dplit.mechanisms`). Chatalic et al. (2022), Definitions 12 and 15, Theorem 1.

    >>> rng = np.random.default_rng(0)
    >>> additive_mechanism([1j, 2.0], noise="laplace", scale=0.1, rng=rng).dtype
    dtype('complex128')
    """
    vector = check_finite_array("value", value)
    check_choice("noise", noise, ("laplace", "gaussian"))
    law = (Laplace if noise == "laplace" else Gaussian)(check_positive("scale", scale))
    return law.add(vector, hides="a vector", sensitivity=None, rng=rng)


@quiet
def noisy_sum(
    features: ArrayLike,
    *,
    noise: Literal["laplace", "gaussian"],
    scale: float,
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    r"""Return the noisy sum of features (n, m) of n records, :math:`\sum_i\Phi(x_i)+\xi`.

    Of their exact sum, rounded once: it has the same bits for every order of the records, and
    between neighbours it moves by at most one unit in its last place more than the features do,
    which ``scale`` has to count where an offset is 1e13 times as large as what one record adds.
    Chatalic et al. (2022), Definitions 17 and 19.

    >>> noisy_sum(np.ones((5, 3)), noise="laplace", scale=1.0, rng=np.random.default_rng(0)).shape
    (3,)
    """
    rows = check_finite_array("features", features, ndim=2)
    return additive_mechanism(exact_sum(rows), noise=noise, scale=scale, rng=rng)


def sketch_parts(
    parts: Sequence[Any],
    sketch_map: SketchMap,
    *,
    plan: ReleasePlan | None = None,
    rng: np.random.Generator | None = None,
) -> Sketch:
    """Sketch the data of several holders, each adding its noise before the sums meet.

    ``parts`` is what each holder has: an array, a memory map or an iterable of chunks, empty or
    not. ``plan`` is the noise of every holder: a whole one (``n_shares=1``, holders trust nobody,
    and the variance is multiplied by their number) or one share each (``n_shares=len(parts)``, the
    sum alone is seen); without it the result is exact and must not be published. Every holder gets
    a generator of its own, spawned by ``rng``: a simulation of holders, who in earnest draw their
    own noise. The error about what is not finite names part, chunk and record.

    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> from dplit.sketching.plans import plan_release
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
