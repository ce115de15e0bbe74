"""Mechanisms as printed: refuted; their repairs are not."""

from __future__ import annotations

import pytest

from dplit_studies.audits.printed import PRINTED, audit_printed


@pytest.mark.claim("audits-beyond-printed")
@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_is_refuted_and_its_repair_is_not(name: str) -> None:
    """False alarm 5e-7 for each repair; kills a repair with the printed noise."""
    claimed = 0.5 if name.startswith("projection") else 1.0
    runs = 20_000 if PRINTED[name][3] else 600
    found = audit_printed(name, runs=runs, confidence=1 - 5e-7, seed=0)
    assert found.sound
    assert found.null.claimed == found.planted.claimed == claimed
    assert found.null.lower <= claimed < found.planted.lower


@pytest.mark.claim("audits-beyond-printed")
def test_bounds_do_not_pass_the_truth() -> None:
    """The printed losses are 2 exactly, by the chapters' proofs; false alarm 1e-6."""
    for name in ("erm: shift, one value", "sketching: quadratic features"):
        found = audit_printed(name, runs=200_000, confidence=1 - 5e-7, seed=1)
        assert 1.9 < found.planted.lower <= 2.0
        assert 0.9 < found.null.lower <= 1.0


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="name must be"):
        audit_printed("margin", runs=10, confidence=0.99, seed=0)
