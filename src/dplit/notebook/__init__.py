"""What every chapter needs: parameters that are checked, figures that are described, provenance."""

from __future__ import annotations

from dplit.notebook.cells import (
    Between,
    ParameterError,
    Run,
    Written,
    archived,
    check_parameters,
    glue_numbers,
    notice,
    provenance,
    show,
    show_archived,
    show_table,
)
from dplit.notebook.curves import Curves
from dplit.notebook.exercises import Exercise, grade
from dplit.notebook.explorable import explorable
from dplit.notebook.lessons import lesson_parameters, load_results, show_claims
from dplit.notebook.proofs import ProofError, running_proof
from dplit.notebook.provenance import lock_differences, made_on

__all__ = [
    "Between",
    "Curves",
    "Exercise",
    "ParameterError",
    "ProofError",
    "Run",
    "Written",
    "archived",
    "check_parameters",
    "explorable",
    "glue_numbers",
    "grade",
    "lesson_parameters",
    "load_results",
    "lock_differences",
    "made_on",
    "notice",
    "provenance",
    "running_proof",
    "show",
    "show_archived",
    "show_claims",
    "show_table",
]
