"""Algorithm 2: project, clip, learn privately in the small space, and bring the weights back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array
from dplit.margins._checks import clipped_records
from dplit.margins._kinds import LinearMap
from dplit.margins._learning import learn
from dplit.margins.compressed import compress, draw_projection, expand
from dplit.margins.plans import LearningPlan


@dataclass(frozen=True)
class _CompressedLearner:
    """Weights for records as they are (d,) and projected (k,), and the public map."""

    coef: Array
    compressed_coef: Array
    projection: LinearMap


def compressed_learner(
    X: ArrayLike,
    y: ArrayLike,
    plan: LearningPlan,
    *,
    data_norm: float,
    public_rng: np.random.Generator,
    rng: np.random.Generator,
) -> _CompressedLearner:
    """Algorithm 2: a private linear classifier through a random projection (Theorem 3.2).

    Records are clipped to ``data_norm`` and projected to as many columns as the plan has; its ball
    is inflated, in the paper by 2. The map comes from ``public_rng``, the noise from another
    stream; the guarantee is that of the plan, under replacement of one record.
    """
    rows, labels = clipped_records(X, y, data_norm)
    if public_rng is rng:
        raise ValueError("rng must not be public_rng: the map is public, the noise is not")
    phi = draw_projection(rows.shape[1], plan.n_features, kind="fast", rng=public_rng)
    weights = learn(compress(rows, phi), labels, plan, rng=rng).weights
    return _CompressedLearner(expand(weights, phi), weights, phi)
