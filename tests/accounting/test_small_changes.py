"""Small changes of the accounting that larger tests do not tell apart."""

from __future__ import annotations

import pytest

from dplit.accounting.finite import privacy_loss


@pytest.mark.parametrize(
    ("p", "q"), [([1.5, -0.5], [0.5, 0.5]), ([0.5, 0.5], [1.5, -0.5])], ids=["first", "second"]
)
def test_one_negative_density_is_refused(p: list[float], q: list[float]) -> None:
    """Kills a refusal of laws that are negative everywhere."""
    with pytest.raises(ValueError, match="must be nonnegative"):
        privacy_loss(p, q)
