"""What tests of several files need: mask laws, frequencies, directions, norms of the noises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dplit.papers.sketching.masks import mask_law
from dplit.sketching._kinds import Kind
from dplit.sketching.sketches import SketchMap
from dplit.streams import stream

LAWS = [
    mask_law("bernoulli", 6, alpha=0.3),
    mask_law("data", 6, alpha=0.3),
    mask_law("uniform", 6, n_kept=2),
    mask_law("block", 6, n_kept=4, block=2),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.scheme)


KINDS: tuple[Kind, ...] = ("fourier", "quantized", "quadratic")


def drawn_map(kind: Kind, d: int = 3, m: int = 12, seed: int = 0, scale: float = 1.0) -> SketchMap:
    rng = stream(seed, "test-sketches", "public")
    omega = scale * rng.standard_normal((d, m))
    return SketchMap(kind, omega, rng.uniform(0, 2 * np.pi, m) if kind == "quantized" else None)


def gaussian(d: int, m: int, trial: int = 0) -> np.ndarray:
    return stream(0, "test-quadratic", "public", trial).standard_normal((d, m)) / np.sqrt(d)


def circle(points: int = 20_001) -> np.ndarray:
    """Directions of the plane, up to their sign."""
    angle = np.linspace(0.0, np.pi, points)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def lengths(z: np.ndarray) -> dict[str, Any]:
    """Norms along the last axis, by the noise that is calibrated to them."""
    parts = np.abs([z.real, z.imag])
    return {
        "laplace": parts.sum(axis=(0, -1)),
        "gaussian": np.linalg.norm(z, axis=-1),
        "polydisc": np.abs(z).max(axis=-1),
        "cube": parts.max(axis=(0, -1)),
    }


def by_first(points: np.ndarray) -> np.ndarray:
    """The same points, in the order of their first coordinates."""
    return points[np.argsort(points[:, 0])]
