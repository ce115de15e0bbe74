"""The parameters of a lesson: its own, each of which drives what the page shows."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

from dplit.notebook import cells as _cells
from dplit.notebook import claims
from dplit.notebook.cells import ParameterError, Run, archived
from dplit.notebook.figures import style
from dplit.notebook.provenance import _find_project_file

#: Archived results that lessons draw from, which a run in another folder does not find.
_NEEDS = {
    "erm": ("erm_choice",),
    "face_off": ("face_off_choice", "rivals", "unseen"),
    "margin": ("margin_choice",),
    "projection": ("projection_choice",),
    "random_features": ("random_features_choice",),
    "sketching": ("sketching_planning", "sketching_choice"),
}


def _check_results(slug: str) -> None:
    """Refuse at once to run a lesson far from the results that it will ask for."""
    missing = [name for name in _NEEDS.get(slug, ()) if _results_file(name) is None]
    if missing:
        files = ", ".join(f"results/{name}.json" for name in missing)
        raise FileNotFoundError(
            f"{slug} draws from {files} of the project, not found from {str(Path.cwd())!r}: run it "
            f"inside the project (papermill --cwd <project>/notebooks ...) or put {files} there"
        )


def _results_file(name: str) -> Path | None:
    """Return ``results/<name>.json``, of a checkout or of the working folder."""
    relative = Path("results") / f"{name}.json"
    return _find_project_file(relative) or (relative if relative.exists() else None)


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
        For each parameter a :class:`~dplit.notebook.Between` or a tuple of choices.

    Raises
    ------
    ParameterError
        If a parameter is unknown, has the wrong type or is out of range; the right ones are listed.
    FileNotFoundError
        If archived results that the lesson draws from are not found from where it runs.
    """
    _check_results(slug)
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


def load_results(name: str) -> dict[str, Any]:
    """Return the archived results ``results/<name>.json``, of a checkout or beside the notebook.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    found = archived(name)
    if found is None:
        found = json.loads((Path("results") / f"{name}.json").read_text(encoding="utf8"))
    return found


#: Verdicts as a score board has them: what stands first, what is false last.
_VERDICTS = (
    "sharp",
    "holds",
    "defined",
    "reproduced",
    "loose",
    "conditional",
    "partly",
    "reconstruction",
    "gap",
    "not-reproducible",
    "erratum",
)

#: More claims of a paper, and of ours, than these in one row are folded.
_MANY = (20, 6)


def show_claims(slug: str) -> None:
    """Display the registered claims of a paper and of its chapter by verdict; records none.

    Each is a link to its place in the supplement: the paper's by place, ours by title. Errata have
    their severity; a long row is folded.

    Parameters
    ----------
    slug : str
        The lesson.

    Raises
    ------
    KeyError
        If no claims are registered for ``slug``.
    """
    from IPython.display import display

    registry = claims.load_registry(slug)
    if not registry:
        raise KeyError(f"no claims are registered for {slug!r}")
    rows = {v: [n for n, one in registry.items() if one["verdict"] == v] for v in _VERDICTS}
    page, plain = "", []
    for verdict, names in rows.items():
        printed = [name for name in names if "-beyond-" not in name]
        ours = [name for name in names if "-beyond-" in name]
        for text, found in ((verdict, printed), (f"{verdict}, ours", ours)):
            if found:
                links = ", ".join(_link(slug, name, registry[name]) for name in found)
                if len(found) > _MANY[found is ours]:
                    links = f"<details><summary>their list</summary>{links}</details>"
                page += f"<tr><th scope='row'>{text} ({len(found)})</th><td>{links}</td></tr>"
                plain.append(f"{text}: {', '.join(found)}")
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("verdict", "claims"))
    caption = f"{len(registry)} claims; each name leads to its proof, its check and its tests."
    table = f"<table class='dplit-table'><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
    table = f"<div class='dplit-scroll dplit-claims'>{table}<tbody>{page}</tbody></table></div>"
    display({"text/html": table, "text/plain": "\n".join(plain)}, raw=True)  # type: ignore[no-untyped-call]


def _link(slug: str, name: str, one: dict[str, Any]) -> str:
    text = str(one["title"] if "-beyond-" in name else one["place"])
    title = html.escape(str(one["title"]), quote=True)
    severity = f" ({one['severity']})" if one.get("severity") else ""
    address = f"{slug}_supplement.html#{name.lower()}"
    return f'<a href="{address}" title="{title}">{html.escape(text)}</a>{severity}'
