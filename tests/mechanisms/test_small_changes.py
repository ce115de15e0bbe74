"""Small changes of the mechanisms' arithmetic that larger tests do not tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.mechanisms.selection import _normalised


def test_scores_are_normalised_by_both_sensitivities() -> None:
    """Kills one sensitivity for the sum of two, other quarters, and a margin with another sign."""
    q, widths, margin = np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 7.0]), 3.0
    shifted = q + margin * widths
    expected = [max((s - t) / (w + u) for t, u in zip(shifted, widths, strict=True))
                for s, w in zip(shifted, widths, strict=True)]  # fmt: skip
    assert _normalised(q, widths, margin) == pytest.approx(expected, rel=1e-12)
