"""Test errors of all compared methods for one draw of features, at one number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dplit.random_features._nested import (
    NestedGram,
    gradient_dual,
    min_norm_dual_distinct,
    nested_grams,
)
from dplit.random_features.interpolation import kaczmarz
from dplit.random_features.scales import (
    correct_scale,
    gamma_scale,
    published_scale,
    sgd_scale,
)
from dplit.random_features.settings import Setting
from dplit.streams import stream

_Array = NDArray[np.float64]
_Indices = NDArray[np.intp]


def _mean_square(residual: _Array) -> _Array:
    return np.asarray(np.mean(residual**2, axis=0))


def _ours(block: NestedGram, residual: _Array, exact: _Array | None, s: Setting,
          normals: _Array) -> dict[str, _Array]:  # fmt: skip
    sigma = np.array([
        published_scale(block.n_components, epsilon=e, delta=s.delta, sensitivity=s.sensitivity)
        for e in s.epsilons
    ])  # fmt: skip
    correct = np.array([correct_scale(epsilon=e, delta=s.delta) for e in s.epsilons])
    spread = block.row_norms2.mean()
    noise = sigma * normals
    errors = {
        "nonprivate": _mean_square(residual),
        "ours": _mean_square(residual[:, None] - noise),
        "ours_expected": _mean_square(residual) + sigma**2 * spread,
        "corrected_expected": _mean_square(residual) + correct**2 * spread,
    }
    if exact is not None:
        errors["min_norm"] = _mean_square(exact)
        errors["min_norm_private"] = _mean_square(exact[:, None] - noise)
        errors["min_norm_private_expected"] = errors["min_norm"] + sigma**2 * spread
    return errors


def _gamma(block: NestedGram, residual: _Array, s: Setting, normals: _Array, norms: _Array,
           rng: np.random.Generator) -> dict[str, _Array]:  # fmt: skip
    n = block.n_components
    scale = s.sensitivity / np.sqrt(n) / np.array(s.epsilons)
    radius = scale * rng.gamma(n, size=len(s.epsilons))
    expected = [gamma_scale(n, epsilon=e, sensitivity=s.sensitivity) ** 2 for e in s.epsilons]
    return {
        "gamma": _mean_square(residual[:, None] - normals * (radius / norms)),
        "gamma_expected": _mean_square(residual) + np.array(expected) * block.row_norms2.mean(),
    }


def _sgd(block: NestedGram, y: tuple[_Array, _Array], rows: _Indices, s: Setting,
         normals: _Array) -> dict[str, _Array]:  # fmt: skip
    m = len(y[0])
    plain = np.column_stack([
        y[1] - block.cross @ gradient_dual(block.gram, y[0], rows, rate / m)
        for rate in s.learning_rates
    ])  # fmt: skip
    sigma = np.array([
        sgd_scale(m, epsilon=e, delta=s.delta, learning_rate=rate / m)
        for rate in s.learning_rates for e in s.epsilons
    ])  # fmt: skip
    residual = np.repeat(plain, len(s.epsilons), axis=1)
    return {
        "sgd_nonprivate": _mean_square(plain),
        "sgd": _mean_square(residual - sigma * normals),
        "sgd_expected": _mean_square(residual) + sigma**2 * block.row_norms2.mean(),
    }


def method_errors(
    X: tuple[_Array, _Array],
    y: tuple[_Array, _Array],
    components: Sequence[int],
    setting: Setting,
    *,
    seed: int,
    name: str,
    trial: int,
    methods: tuple[str, ...] = ("ours", "gamma", "sgd"),
    exact: bool = True,
) -> list[Mapping[str, _Array]]:
    """Return the errors of every method at every number of features, one nested draw.

    X and y are pairs (training, test). Features, row sequences and noise have streams of their own.
    ``exact`` adds the minimum-norm fit, which takes one factorisation per number of features.
    """
    q = len(setting.epsilons)
    widths = {"ours": q, "gamma": q, "sgd": q * len(setting.learning_rates)}
    per_block = sum(widths[method] for method in methods)
    noise_rng = stream(seed, name, "noise", trial)
    radius_rng = stream(seed, f"{name}-radius", "noise", trial)
    rows_rng = stream(seed, f"{name}-rows", "public", trial)
    m = len(y[0])
    blocks = nested_grams(
        *X, components, frequency_sd=setting.frequency_sd, rng=stream(seed, name, "public", trial),
        noise_rng=noise_rng, directions=per_block * len(components),
    )  # fmt: skip
    results: list[Mapping[str, _Array]] = []
    for k, block in enumerate(blocks):
        at = k * per_block
        rows, sgd_rows = rows_rng.integers(m, size=(2, m))
        residual = y[1] - block.cross @ kaczmarz(block.gram, y[0], rows)
        best = None
        if exact:
            best = y[1] - block.cross @ min_norm_dual_distinct(block.gram, y[0], X[0])
        errors: dict[str, _Array] = {}
        for method in methods:
            use = slice(at, at + widths[method])
            at += widths[method]
            normals, norms = block.responses[:, use], np.sqrt(block.direction_norms2[use])
            if method == "ours":
                errors |= _ours(block, residual, best, setting, normals)
            elif method == "gamma":
                errors |= _gamma(block, residual, setting, normals, norms, radius_rng)
            else:
                errors |= _sgd(block, y, sgd_rows, setting, normals)
        errors["zero"] = _mean_square(y[1])
        errors["constant"] = _mean_square(y[1] - y[0].mean())
        results.append(errors)
    return results
