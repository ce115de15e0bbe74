"""What every chapter needs: parameters that are checked, figures that are described, provenance."""

from __future__ import annotations

from dplit.notebook.cells import (
    Between,
    ParameterError,
    Run,
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
from dplit.notebook.explorable import explore
from dplit.notebook.provenance import lock_differences

__all__ = [
    "Between",
    "Curves",
    "ParameterError",
    "Run",
    "archived",
    "check_parameters",
    "explore",
    "glue_numbers",
    "lock_differences",
    "notice",
    "provenance",
    "show",
    "show_archived",
    "show_table",
]
