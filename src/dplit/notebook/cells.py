"""What the cells of a chapter call: parameters, figures, tables, glued numbers, provenance."""

from __future__ import annotations

import ast
import base64
import html
import io
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplit.notebook import claims
from dplit.notebook.datasets.needs import missing_data
from dplit.notebook.figures import style
from dplit.notebook.provenance import _collect_provenance, _find_project_file, made_on
from dplit.streams import Role, stream

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

_CURVES_MIMETYPE = "application/vnd.dplit.curves+json"

_PROVENANCE_MIMETYPE = "application/vnd.dplit.provenance+json"

_TYPES: dict[str, tuple[Any, ...]] = {"float": (float, int), "int": (int,), "str": (str,)}

_INJECTED = "# Parameters"

_STAND_IN = "Stand-in data, not the paper's."

_glued: dict[str, float | int | str] = {}

#: Of glued numbers about data that a run lacks: "archived", or "stand-in" where none is archived.
_notes: dict[str, str] = {}


class ParameterError(ValueError):
    """A notebook parameter is unknown, has the wrong type or is out of range."""


@dataclass(frozen=True)
class Between:
    """The rule that a number lies in an interval, open unless an end is said to be closed."""

    low: float
    high: float
    closed_low: bool = False
    closed_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low or (self.closed_low and value == self.low)
        return above and (value < self.high or (self.closed_high and value == self.high))

    def __str__(self) -> str:
        left, right = "[" if self.closed_low else "(", "]" if self.closed_high else ")"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class Written:
    """The rule that a value is a mapping or a list: JSON of one, as a command line has it, or the
    thing itself, as a file of parameters has it.
    """

    kind: type[dict[str, Any]] | type[list[Any]]

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, (str, self.kind))

    def __str__(self) -> str:
        what = "mapping" if self.kind is dict else "list"
        return f"a {what}, or JSON of one"


_COMMON: dict[str, Any] = {
    "scale": ("quick", "paper"),
    "seed": Between(0, 2**63, closed_low=True),
    "n_jobs": Between(1, 1024, closed_low=True, closed_high=True),
    "data": ("auto", "paper", "bundled"),
}


@dataclass(frozen=True)
class Run:
    """The checked parameters of one execution of a chapter."""

    slug: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.parameters[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def paper_scale(self) -> bool:
        """Whether the run uses the repetitions of the paper."""
        return bool(self.parameters["scale"] == "paper")

    def repeats(self, quick: int, paper: int) -> int:
        """Return the number of repetitions of this run's scale."""
        return paper if self.paper_scale else quick

    def lacks(self, *data: str) -> tuple[str, ...]:
        """Return which of the paper's data sets, by name, this run replaces by stand-ins."""
        return missing_data(data, self.parameters.get("data", "auto"))

    def glue_on(self, data: Sequence[str], **values: float | int | str) -> None:
        """Store numbers about data sets of the paper for the text, as :func:`glue_numbers` does.

        Where this run has stand-ins for one of them the numbers of the archived run are stored in
        their place, and the build marks them in the text.
        """
        if not self.lacks(*data):
            glue_numbers(**values)
            return
        held = (archived(self.slug) or {}).get("numbers", {})
        for name, value in values.items():
            _glue(name, held.get(name, value), note="archived" if name in held else "stand-in")

    def stream(self, name: str, role: Role, trial: int = 0) -> np.random.Generator:
        """Return the generator of :func:`dplit.streams.stream` under this run's seed."""
        return stream(self.parameters["seed"], name, role, trial)


def _assignments(source: str) -> dict[str, tuple[str | None, str]]:
    """Return name -> (annotation or None, value as source) of a cell of plain assignments."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return {}
    found: dict[str, tuple[str | None, str]] = {}
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = (ast.unparse(node.annotation), ast.unparse(node.value))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = (None, ast.unparse(node.value))
    return found


def _executed_cells() -> list[str]:
    from IPython import get_ipython

    shell = get_ipython()
    return list(shell.user_ns.get("In", [])) if shell is not None else []


def _declared_and_injected(cells: Sequence[str]) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """Split executed cells: the last parameters cell, and what papermill injected after it."""
    declared: dict[str, tuple[str, str]] = {}
    injected: set[str] = set()
    for source in cells:
        names = _assignments(source)
        if source.lstrip().startswith(_INJECTED):
            injected |= names.keys()
        elif "scale" in names and names["scale"][0]:
            declared = {k: (a, v) for k, (a, v) in names.items() if a}
            injected = set()
    if not declared:
        raise ParameterError("no executed cell declares the parameters (scale: str = ...)")
    return declared, injected


def _rule_text(rule: Any) -> str:
    if rule is None:
        return ""
    named = isinstance(rule, (Between, Written))
    return str(rule) if named else "one of " + ", ".join(map(repr, rule))


def _table_of(declared: dict[str, tuple[str, str]], rules: dict[str, Any]) -> str:
    lines = []
    for name, (annotation, default) in declared.items():
        rule = _rule_text(rules.get(name))
        lines.append(f"  {name}: {annotation} = {default}" + (f"  # {rule}" if rule else ""))
    return "This chapter's parameters are\n" + "\n".join(lines)


def _checked_value(name: str, value: Any, annotation: str, rule: Any) -> Any:
    """Return the value in its declared type, or raise with the rule that it breaks."""
    accepted = _TYPES.get(annotation, (bool,) if annotation == "bool" else (object,))
    if isinstance(rule, Written):
        accepted = (object,)  # the rule says it all
    if not isinstance(value, accepted) or (isinstance(value, bool) and annotation != "bool"):
        raise ParameterError(f"{name} must be of type {annotation}, got {name}={value!r}")
    if annotation == "float":
        value = float(value)
    if rule is not None and value not in rule:
        raise ParameterError(f"{name} must be {_rule_text(rule)}, got {name}={value!r}")
    return value


def check_parameters(
    slug: str,
    namespace: MutableMapping[str, Any],
    *,
    cells: Sequence[str] | None = None,
    **rules: Any,
) -> Run:
    """Check the parameters of a chapter and return them as a :class:`Run`.

    The declared names and types are read from the executed parameters cell, the names that were
    passed from papermill's injected cell; so the guard can be run again in a live kernel.

    Parameters
    ----------
    slug : str
        The chapter.
    namespace : mutable mapping
        ``globals()`` of the notebook. An integer for a ``float`` parameter is converted in place.
    cells : sequence of str, optional
        Sources of the executed cells; by default those of the running IPython session.
    **rules
        For each own parameter of the chapter a :class:`Between`, a :class:`Written` or a tuple of
        choices.
    """
    sources = _executed_cells() if cells is None else list(cells)
    declared, injected = _declared_and_injected(sources)
    rules = {**_COMMON, **rules}
    help_text = _table_of(declared, rules)
    unknown = sorted(injected - declared.keys())
    if unknown:
        raise ParameterError(f"unknown parameter {', '.join(unknown)}. {help_text}")
    if "DPLIT_N_JOBS" in os.environ and "n_jobs" not in injected:
        namespace["n_jobs"] = int(os.environ["DPLIT_N_JOBS"])
    parameters = {}
    for name, (annotation, _) in declared.items():
        try:
            value = _checked_value(name, namespace.get(name), annotation, rules.get(name))
        except ParameterError as error:
            raise ParameterError(f"{error}. {help_text}") from None
        parameters[name] = namespace[name] = value
    if os.environ.get("DPLIT_BUILD"):
        warnings.simplefilter("error")
        warnings.filterwarnings("default", module="ipykernel|jupyter_client|traitlets|zmq")
    shared = {key: value for key, value in parameters.items() if key != "n_jobs"}
    claims.set_context(**shared)
    style()
    return Run(slug, parameters)


def _require_labels(fig: Figure, name: str) -> None:
    for axes in fig.axes:
        labelled = axes.get_xlabel() or fig.get_supxlabel()
        labelled = labelled and (axes.get_ylabel() or fig.get_supylabel())
        shared = axes.get_shared_x_axes().get_siblings(axes)
        shared += axes.get_shared_y_axes().get_siblings(axes)
        if axes.axison and not labelled and len(shared) <= 2:
            raise ValueError(f"figure {name!r}: every axis needs a label")


def show(fig: Figure, *, name: str, caption: str, alt: str, stand_in: bool = False) -> None:
    """Display a figure as reproducible SVG with the name, caption and alternative text it needs.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        The figure; it is closed afterwards. Its axes must be labelled.
    name : str
        Label for cross-references, such as ``fig-dprf-fig1``; letters, digits and hyphens.
    caption : str
        What is drawn: settings, trials, band. Markdown.
    alt : str
        What the figure shows, for a reader who does not see it; 40 to 300 characters.
    stand_in : bool, default=False
        Whether stand-in data are drawn. The caption then says so, and an alternative text that
        tells a finding about the paper's data is replaced by one that tells none.
    """
    _show_figure(fig, name, caption, alt, stand_in, {})


def _show_figure(
    fig: Figure, name: str, caption: str, alt: str, stand_in: bool, more: dict[str, Any]
) -> None:
    """Do what :func:`show` does; ``more`` travels with the figure, by MIME type."""
    import matplotlib.pyplot as plt

    caption, alt = _described(name, caption, alt, stand_in)
    _require_labels(fig, name)
    buffer = io.StringIO()
    fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    _display_figure({"image/svg+xml": buffer.getvalue(), **more}, name, caption, alt)


def _described(name: str, caption: str, alt: str, stand_in: bool) -> tuple[str, str]:
    """Return caption and alternative text, or raise with the rule that they or the name break."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"name must be lower case letters, digits and hyphens, got name={name!r}")
    if not 40 <= len(alt) <= 300 or alt.strip() == caption.strip():
        raise ValueError(
            f"alt must have 40 to 300 characters and differ from the caption, got {len(alt)}"
        )
    if not caption.strip():
        raise ValueError("caption must not be empty")
    if not stand_in:
        return caption, alt
    alt = f"Stand-in data drawn as {name}: what the paper's data show is not seen here."
    return f"{caption} {_STAND_IN}", alt


def _display_figure(data: dict[str, Any], name: str, caption: str, alt: str) -> None:
    """Show a picture; outside of the build, which has captions of its own, with the caption."""
    from IPython.display import display

    if not os.environ.get("DPLIT_BUILD"):
        # as an img: viewers drop an svg of a notebook that they do not trust
        picture = base64.b64encode(data["image/svg+xml"].encode()).decode()
        picture = f'<img src="data:image/svg+xml;base64,{picture}" alt="{html.escape(alt)}">'
        told = f"<figcaption>{html.escape(caption)}</figcaption>"
        data = {**data, "text/html": f"<figure>{picture}{told}</figure>"}
    display(  # type: ignore[no-untyped-call]
        {**data, "text/plain": alt},
        metadata={"dplit": {"figure": {"name": name, "caption": caption, "alt": alt}}},
        raw=True,
    )


def glue_numbers(**values: float | int | str) -> None:
    """Store numbers, to twelve digits, for use in the text as ``{glue:text}`name:.3g```."""
    for name, value in values.items():
        _glue(name, value)


def _glue(name: str, value: float | int | str, note: str = "") -> None:
    """Store one number; ``note`` says whose it is, where it is not this run's."""
    from IPython.display import display

    prefix = "application/papermill.record/"
    if not isinstance(value, str):
        plain: Any = value.item() if hasattr(value, "item") else value
        if not isinstance(plain, (int, float)):
            raise TypeError(f"{name} must be a number or a string, got {name}={value!r}")
        text = repr(float(f"{plain:.12g}") if isinstance(plain, float) else plain)
    else:
        text = repr(value)
    _glued[name] = ast.literal_eval(text)
    _notes.pop(name, None)
    metadata: dict[str, Any] = {"scrapbook": {"name": name, "mime_prefix": prefix}}
    if note:
        _notes[name] = note
        metadata["dplit"] = {"whose": note}
    data = {prefix + "text/plain": text}
    if not os.environ.get("DPLIT_BUILD"):  # only the book puts numbers into the text
        data["text/plain"] = f"{name} = {text}" + (f" ({note})" if note else "")
    display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


def _table_cell(value: Any, pattern: str) -> str:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)) or value is None:
        return "" if value is None else str(value)
    return format(float(value), pattern)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str,
    pattern: str = ".4g",
    stand_in: bool = False,
) -> None:
    """Display a table: one heading per column, numbers in ``pattern``, a caption above it.

    With ``stand_in`` the caption says that the numbers do not come from the paper's data.
    """
    caption = f"{caption} {_STAND_IN}" if stand_in else caption
    _show_tables(columns, [(caption, rows)], pattern, {})


def _show_tables(
    columns: Sequence[str],
    tables: Iterable[tuple[str, Iterable[Sequence[Any]]]],
    pattern: str,
    more: dict[str, Any],
) -> None:
    """Show a table and, folded below it, others of the same columns, each with its caption."""
    from IPython.display import display

    page, plain = "", []
    for caption, rows in tables:
        lines = []
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"each row needs {len(columns)} entries, got {list(row)!r}")
            lines.append([_table_cell(value, pattern) for value in row])
        table = _table_html(columns, lines, caption if not page else "")
        summary = f"<summary>{html.escape(caption)}</summary>"
        page += f"<details>{summary}{table}</details>" if page else table
        plain += [" | ".join(line) for line in [list(columns), *lines]]
    data = {"text/html": page, "text/plain": "\n".join(plain), **more}
    display(data, raw=True)  # type: ignore[no-untyped-call]


def _table_html(columns: Sequence[str], lines: Sequence[Sequence[str]], caption: str) -> str:
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in columns)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(value)}</td>" for value in line) + "</tr>"
        for line in lines
    )
    return (
        f"<div class='dplit-scroll'><table class='dplit-table'>{title}"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def notice(title: str, text: str) -> None:
    """Display a visible box, for example that a chapter runs on bundled data."""
    from IPython.display import display

    box = (
        f"<div class='admonition warning dplit-notice'><p class='admonition-title'>"
        f"{html.escape(title)}</p><p>{html.escape(text)}</p></div>"
    )
    display({"text/html": box, "text/plain": f"{title}: {text}"}, raw=True)  # type: ignore[no-untyped-call]


def archived(slug: str) -> dict[str, Any] | None:
    """Return the archived paper-scale run ``results/<slug>.json``, or None where there is none."""
    path = _find_project_file(Path("results") / f"{slug}.json")
    if path is None:
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return content


def _within(record: dict[str, Any]) -> str:
    if record["status"] == "not_run":
        return "not run"
    rows = [row for check in record["checks"] for row in check.get("rows", [])]
    checks = f"{sum(c['ok'] for c in record['checks'])} of {len(record['checks'])} checks"
    return f"{checks}, {sum(r['within'] for r in rows)} of {len(rows)} numbers" if rows else checks


def show_archived(run: Run, numbers: Mapping[str, str]) -> None:
    """Display the archived run at the paper's scale beside this one.

    Parameters
    ----------
    run : Run
        This run; its chapter names the archive ``results/<slug>.json``.
    numbers : mapping of str to str
        Description -> name of a number that this run has glued.
    """
    stored = archived(run.slug)
    if stored is None:
        notice("No archived run", "results/ has no run of this chapter at the paper's scale.")
        return
    old = {record["id"]: record for record in stored["claims"]}
    rows = [
        (text, "not run" if name in _notes else _glued[name], stored["numbers"].get(name))
        for text, name in numbers.items()
    ]
    shown = claims.shown_records()
    for identifier, record in shown.items():
        if record["kind"] in ("figure", "table") and identifier in old:
            compared = (_within(record), _within(old[identifier]))
            rows.append((f"{record['place']}: {record['title']}", *compared))
    caption = f"This run ({run.scale}) beside the run at the paper's scale, archived "
    caption += f"{made_on(stored)}."
    _show_tables(["what", "this run", "paper's scale"], [(caption, rows)], ".4g", {})


def provenance(run: Run) -> None:
    """Display what this run was made with, and how the archived one was made.

    Versions, parameters with the seed, checksums of data; date, commit, versions, seed and CPU
    seconds of the run at the paper's scale.
    """
    from IPython.display import display

    facts = _collect_provenance(run.slug, run.parameters)
    if stored := archived(run.slug):
        made = stored["made"]
        versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
        facts["archived run"] = f"made {made_on(stored)}, seed {made['seed']}, "
        facts["archived run"] += f"{made['seconds']:.0f} CPU seconds, {versions}"
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(key)}</th>"
        f"<td><code>{html.escape(value)}</code></td></tr>"
        for key, value in facts.items()
    )
    table = f"<div class='dplit-scroll'><table class='dplit-provenance'>{rows}</table></div>"
    plain = "\n".join(f"{key}: {value}" for key, value in facts.items())
    display(  # type: ignore[no-untyped-call]
        {"text/html": table, "text/plain": plain, _PROVENANCE_MIMETYPE: facts}, raw=True
    )
