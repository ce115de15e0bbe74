"""Lower bounds on the privacy loss from outputs, exact tests of noise, and a search for neighbours.

An auditor never proves privacy; it refutes a claim, or says how strong a claim it would have
refuted. Every bound holds with a stated confidence whatever the mechanism does, and each auditor is
tested on a correct mechanism and on one with half the noise (:func:`~dplit.audit.run_controls`).
"""

from __future__ import annotations

from dplit.audit._ledger import Ledger, LedgerError, ledger
from dplit.audit._nasty_pairs import NeighbourPair, float_sensitivity, nasty_pairs
from dplit.audit._odd_pairs import container_pairs
from dplit.audit._replays import ReplayError, replay
from dplit.audit._side_channels import SideChannel, SideChannelReport, side_channels
from dplit.audit.controls import Controls, EventAudit, audit_event, audit_hits, run_controls
from dplit.audit.events import (
    clopper_pearson,
    delta_lower_bound,
    epsilon_lower_bound,
    gaussian_dp_lower_bound,
)
from dplit.audit.neighbours import NeighbourSearch, search_neighbours
from dplit.audit.noise_tests import NoiseTest, chi_square_noise_test, gamma_noise_test
from dplit.audit.one_run import OneRunAudit, one_run_audit, one_run_p_value

__all__ = [
    "Controls",
    "EventAudit",
    "Ledger",
    "LedgerError",
    "NeighbourPair",
    "NeighbourSearch",
    "NoiseTest",
    "OneRunAudit",
    "ReplayError",
    "SideChannel",
    "SideChannelReport",
    "audit_event",
    "audit_hits",
    "chi_square_noise_test",
    "clopper_pearson",
    "container_pairs",
    "delta_lower_bound",
    "epsilon_lower_bound",
    "float_sensitivity",
    "gamma_noise_test",
    "gaussian_dp_lower_bound",
    "ledger",
    "nasty_pairs",
    "one_run_audit",
    "one_run_p_value",
    "replay",
    "run_controls",
    "search_neighbours",
    "side_channels",
]
