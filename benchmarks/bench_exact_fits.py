"""What exact noise costs in a fit: private estimators as they are, and with NumPy's float noise.

The peer is the same estimator, whose laws of noise draw a float in the place of the exact number.
Each pair is measured interleaved in one run; times are medians of seven, the spread is the range of
the ratios. A ratio of 0.9 says that exact noise makes the fit a ninth longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from sklearn.base import clone

import dplit
from dplit.mechanisms import values
from dplit.streams import stream

REPEATS = 7

_BOX: dict[str, Any] = {"bounds": (-1.0, 1.0)}
_NORM: dict[str, Any] = {"data_norm": 1.0}

FITS: dict[str, tuple[Any, int, int]] = {
    "sufficient statistics": (dplit.SufficientStatisticsRegressor(**_NORM, **_BOX), 20_000, 20),
    "noisy gradients": (dplit.NoisyGradientRegressor(**_NORM, **_BOX), 20_000, 20),
    "additive shapes": (dplit.PrivateAdditiveRegressor(box=(-1.0, 1.0), **_BOX), 5_000, 10),
    "three classes": (dplit.NoisyGradientClassifier(classes=(0, 1, 2), **_NORM), 5_000, 10),
    "objective": (dplit.ObjectivePerturbationClassifier(classes=(0, 1), **_NORM), 5_000, 10),
    "margins": (dplit.PrivateMarginClassifier(classes=(0, 1), **_NORM), 5_000, 10),
    "random features": (dplit.PrivateRandomFeatureRegressor(box=(-1, 1), **_BOX), 5_000, 5),
    "Lloyd": (dplit.PrivateLloyd(5, **_BOX), 20_000, 5),
    "sketched k-means": (dplit.CompressiveKMeans(3, **_BOX), 20_000, 3),
    "noisy entries": (dplit.AdditiveNoiseRegressor(**_BOX), 5_000, 20),
}


#: Fits that are little else than noise: 100,000 draws beside one least-squares solve.
MOSTLY_NOISE = {"noisy entries"}


def _float_add(self: Any, value: Any, *, unit: Any = 1.0, rng: Any = None, **_: Any) -> Any:
    array = np.asarray(value)
    both, scale = array.dtype.kind == "c", float(self._scale())
    shape = (*array.shape, 2) if both else array.shape
    draw = rng.normal if isinstance(self, values.Gaussian) else rng.laplace
    noise = draw(scale=scale, size=shape)
    return array * float(unit) + (noise.view(complex)[..., 0] if both else noise)


def _float_symmetric(self: Any, value: Any, *, unit: Any, rng: Any, **_: Any) -> Any:
    noise = rng.normal(scale=float(self.sigma), size=np.shape(value))
    return np.asarray(value) * float(unit) + (noise + noise.T) / 2.0


def _float_steps(self: Any, shape: Any, *, rng: Any, **_: Any) -> Callable[[Any], Any]:
    scale = float(self._scale())
    return lambda value: value + scale * rng.standard_normal(shape)


@contextmanager
def float_noise() -> Iterator[None]:
    """Let normal and Laplace noise be floats inside."""
    with (
        mock.patch.object(values._Noise, "add", _float_add),
        mock.patch.object(values.Gaussian, "add_symmetric", _float_symmetric),
        mock.patch.object(values._Independent, "repeatedly", _float_steps),
    ):
        yield


def _seconds(model: Any, data: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    clone(model).set_params(random_state=0).fit(*data)
    return time.perf_counter() - start


def _data(model: Any, n: int, d: int) -> tuple[Any, ...]:
    rng = stream(0, f"bench-exact-fits-{type(model).__name__}", "data")
    X = rng.uniform(-1.0, 1.0, (n, d)) / np.sqrt(d)
    classes = getattr(model, "classes", None)
    return X, rng.uniform(-1.0, 1.0, n) if classes is None else rng.choice(classes, n)


def run() -> list[dict[str, Any]]:
    """Return the rows."""
    found = []
    for name, (model, n, d) in FITS.items():
        data, pairs = _data(model, n, d), []
        _seconds(model, data)
        for _ in range(REPEATS):
            ours = _seconds(model, data)
            with float_noise():
                pairs.append((ours, _seconds(model, data)))
        mine, theirs = np.array(pairs).T
        found.append(
            {
                "name": f"a fit of {name}, n={n} d={d}",
                "ours": "exact noise",
                "peer": "float noise",
                "ours_seconds": float(np.median(mine)),
                "peer_seconds": float(np.median(theirs)),
                "ratio": float(np.median(theirs) / np.median(mine)),
                "ratio_min": float((theirs / mine).min()),
                "ratio_max": float((theirs / mine).max()),
                "target": 0.6 if name in MOSTLY_NOISE else 0.9,
            }
        )
    return found
