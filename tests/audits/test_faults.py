"""Planted faults: who sees them and who does not."""

from __future__ import annotations

import numpy as np
import pytest

from dplit_studies.audits.faults import AUDITORS, FAULTS, SEEN_BY, alarms, faulty_sum


@pytest.mark.claim("audits-beyond-faults")
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_seen_by_the_auditors_named_for_it_and_no_other(fault: str) -> None:
    """False alarm 5e-7 for each silent auditor; kills an auditor that is deaf, or always loud."""
    rng = np.random.default_rng(7)
    found = alarms(fault, runs=100_000, confidence=1 - 5e-7, rng=rng)
    assert tuple(found) == AUDITORS
    assert tuple(who for who in AUDITORS if found[who]) == SEEN_BY[fault]


@pytest.mark.claim("audits-beyond-faults")
def test_every_auditor_sees_something_and_none_sees_all() -> None:
    seen = {who: sum(who in names for names in SEEN_BY.values()) for who in AUDITORS}
    assert min(seen.values()) > 0
    assert max(seen.values()) < len(FAULTS) - 1
    assert all(SEEN_BY[fault] for fault in FAULTS if fault != "none")


def test_the_release_is_the_clipped_sum_with_its_noise() -> None:
    X = np.array([[2.0, 0.25], [-0.5, -3.0]])
    many = faulty_sum(X, rng=np.random.default_rng(0), size=200_000)
    assert many.scale == 4.0  # two columns, replaced: 2 * 2 at epsilon 1
    error = 6.0 * np.sqrt(2.0) * 4.0 / np.sqrt(200_000)  # false alarm 4e-9
    assert np.abs(many.sum.mean(axis=0) - [0.5, -0.75]).max() < error
    assert many.n_records is None
    with pytest.raises(ValueError, match="fault must be"):
        faulty_sum(X, rng=np.random.default_rng(0), fault="unheard of")
