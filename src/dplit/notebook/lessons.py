"""The parameters of a lesson: its own, each of which drives what the page shows."""

from __future__ import annotations

import os
import warnings
from collections.abc import MutableMapping, Sequence
from typing import Any

from dplit import claims
from dplit.notebook import cells as _cells
from dplit.notebook.cells import ParameterError, Run
from dplit.notebook.figures import style


def lesson_parameters(
    slug: str,
    namespace: MutableMapping[str, Any],
    *,
    cells: Sequence[str] | None = None,
    **rules: Any,
) -> Run:
    """Check the parameters of a lesson, which are its own alone, and return them as a ``Run``.

    Names and types are read from the executed parameters cell, the first with annotated
    assignments; every name needs a rule.

    Parameters
    ----------
    slug : str
        The lesson.
    namespace : mutable mapping
        ``globals()`` of the notebook. An integer for a ``float`` parameter is converted in place.
    cells : sequence of str, optional
        Sources of the executed cells; by default those of the running IPython session.
    **rules
        For each parameter a :class:`Between` or a tuple of choices.

    Raises
    ------
    ParameterError
        If a parameter is unknown, has the wrong type or is out of range; the right ones are listed.
    """
    sources = _cells._executed_cells() if cells is None else list(cells)
    declared: dict[str, tuple[str, str]] = {}
    injected: set[str] = set()
    for source in sources:
        names = _cells._assignments(source)
        if source.lstrip().startswith("# Parameters"):
            injected |= names.keys()
        elif not declared:
            declared = {name: (kind, value) for name, (kind, value) in names.items() if kind}
    if declared.keys() != rules.keys():
        raise ParameterError(
            f"every parameter of {slug} needs a rule, and every rule a parameter, got parameters "
            f"{sorted(declared)} and rules {sorted(rules)}"
        )
    table = _cells._table_of(declared, rules)
    if unknown := sorted(injected - declared.keys()):
        raise ParameterError(f"unknown parameter {', '.join(unknown)}. {table}")
    parameters = {}
    for name, (annotation, _) in declared.items():
        try:
            value = _cells._checked_value(name, namespace.get(name), annotation, rules[name])
        except ParameterError as error:
            raise ParameterError(f"{error}. {table}") from None
        parameters[name] = namespace[name] = value
    if os.environ.get("DPLIT_BUILD"):
        warnings.simplefilter("error")
        warnings.filterwarnings("default", module="ipykernel|jupyter_client|traitlets|zmq")
    claims.set_context(**parameters)
    style()
    return Run(slug, parameters)
