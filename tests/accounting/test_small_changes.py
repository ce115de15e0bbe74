"""Small changes of the accounting that larger tests do not tell apart."""

from __future__ import annotations

import pytest

from dplit.papers.composition import compose_budgets, group_guarantee
from dplit.papers.definition import privacy_loss


@pytest.mark.parametrize(
    ("p", "q"), [([1.5, -0.5], [0.5, 0.5]), ([0.5, 0.5], [1.5, -0.5])], ids=["first", "second"]
)
def test_one_negative_density_is_refused(p: list[float], q: list[float]) -> None:
    """Kills a refusal of laws that are negative everywhere."""
    with pytest.raises(ValueError, match="must be nonnegative"):
        privacy_loss(p, q)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf")])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_group_has_no_guarantee_from_no_budget(epsilon: float, delta: float) -> None:
    """Kills an epsilon that is used unchecked."""
    with pytest.raises(ValueError, match=r"epsilon must be .*got epsilon="):
        group_guarantee(epsilon=epsilon, delta=delta, size=3)


def test_budgets_of_either_end_compose() -> None:
    """Kills a delta of zero or of one that is refused."""
    assert compose_budgets([(1.0, 0.0), (0.5, 0.0)]) == (1.5, 0.0)
    assert compose_budgets([(1.0, 1.0)]) == (1.0, 1.0)
