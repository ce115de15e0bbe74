"""The chapter without the paper's files: its cells about real data, run on the bundled stand-in.

Only the cells that record a claim about the paper's data, or draw them, and the cells that they
depend on are executed, with two repetitions and smaller where the page allows.
"""

from __future__ import annotations

import ast
import symtable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from dplit.claims import Claim
from dplit.notebook import Run
from dplit.random_features import attacks
from dplit_studies.random_features import curves as comparison
from dplit_studies.random_features import curves as settings
from dplit_studies.random_features import frontier

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "random_features_supplement.ipynb"
ABOUT_DATA = {"on_paper_data", "real", "medical", "wine", "MEDICAL", "WINE", "RED"}
COMPARED = {*(f"dprf-fig{n}" for n in range(4, 10)), "dprf-tab1", "dprf-tab2", "dprf-beyond-audit"}
FEW = {"n_runs": 100, "n_pilot": 100}
#: Mappings that later cells extend.
CHANGED = {"fig4", "fronts", "tab2"}


class Two(Run):
    """A run on stand-in data with two repetitions of everything."""

    def repeats(self, quick: int, paper: int) -> int:
        return 2


def names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell binds at its top level, and those that it needs."""
    top = symtable.symtable(source, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used, scopes = {s.get_name() for s in top.get_symbols() if s.is_referenced()}, [top]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        used |= {s.get_name() for s in scope.get_symbols() if scope is not top and s.is_global()}
    return bound, used - bound


def cells_about_data() -> list[str]:
    """Return the chapter's cells about real data with all that they need, in order."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    sources = [c.source for c in cells if c.cell_type == "code"][2:]  # after the guard
    about, compared = [], False
    for source in sources:  # from on_paper_data(...) on, c is a claim about real data
        bound, used = names(source)
        compared = "on_paper_data" in used or (compared and "c" not in bound)
        about.append(bool(used & ABOUT_DATA) or (compared and "c" in used))
    kept, needed = [], set()
    for source, wanted in zip(sources[::-1], about[::-1], strict=True):
        bound, used = names(source)
        changed = {name for name in CHANGED & used if f"{name}[" in source or f"{name}." in source}
        if wanted or (bound | changed) & needed:
            kept.append(source)
            needed = (needed - bound) | used
    return kept[::-1]


def execute(source: str, space: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, as a notebook does."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), space)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "cell", "exec"), space)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space)


def make_small(patch: pytest.MonkeyPatch) -> None:
    """A quarter of the features or less, fewer runs and records; axes are labelled as before."""
    audit, rivals, real = attacks.membership_audit, frontier.frontier, comparison.real_curves
    synthetic = comparison.feature_curves

    def small_figure(figure: str, **options: Any) -> Any:
        s = settings._setting(figure)
        base = replace(s, components=tuple(n // 20 for n in s.components), records=(50,))
        found = synthetic(figure, **options, base=replace(base, test_records=50))
        return replace(found, axis=found.axis * 20)

    def small_frontier(*task: Any, settings: Any, **options: Any) -> Any:
        found = rivals(*task, settings=[(min(m, 60), e) for m, e in settings], **options)
        return replace(found, settings=tuple(settings))

    def small_curves(figure: str, *data: Any, **options: Any) -> Any:
        s = settings._setting(figure)
        times = s.components[0] // 500
        base = replace(s, components=tuple(n // times for n in s.components))
        found = real(figure, *data, **options, base=base)
        return replace(found, axis=found.axis * times)

    patch.setattr(comparison, "real_curves", small_curves)
    patch.setattr(
        attacks, "membership_audit", lambda *data, **options: audit(*data, **{**options, **FEW})
    )
    patch.setattr(comparison, "feature_curves", small_figure)
    patch.setattr(frontier, "frontier", small_frontier)


@pytest.fixture(scope="module")
def ran() -> Any:
    """What the cells display on stand-in data: claims by id, figures, texts of all outputs."""
    outputs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    shown: dict[str, Claim] = {}
    parameters = {"scale": "quick", "seed": 0, "n_jobs": 1, "data": "bundled"}
    parameters |= {"epsilon": 1.0, "delta": 1e-5, "eta": 0.375, "n_components": 2000}
    parameters |= {"n_records": 1000}
    space: dict[str, Any] = {"run": Two("random_features", parameters)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "IPython.display.display",
            lambda data, metadata=None, raw=False: outputs.append((data, metadata or {})),
        )
        make_small(patch)
        for source in cells_about_data():
            value = execute(source, space)
            if isinstance(value, Claim):
                shown[value.entry["id"]] = value
    figures = [m["dplit"]["figure"] for _, m in outputs if "figure" in m.get("dplit", {})]
    return shown, figures, [data.get("text/plain", "") for data, _ in outputs], space


def test_claims_about_the_papers_data_are_not_run_and_say_why(ran: Any) -> None:
    """Kills a claim that is checked on stand-in data, and one that stops the chapter there."""
    shown, _, texts, space = ran
    not_run = {key for key, c in shown.items() if c.record["status"] == "not_run"}
    assert space["real"] is False
    assert not_run == COMPARED
    assert {shown[key].record["reason"] for key in not_run} == {space["STAND_IN"]}
    assert all(shown[key].checks for key in not_run)
    assert sum(text.startswith("Stand-in data: This section") for text in texts) == len(COMPARED)


def test_the_theorem_on_error_gaps_holds_on_stand_in_data_too(ran: Any) -> None:
    gaps = ran[3]["equal"]
    np.testing.assert_allclose(gaps.squared, gaps.squared[0], rtol=1e-10)
    np.testing.assert_allclose(gaps.bias, gaps.bias[0], rtol=1e-10)
    assert np.all(np.diff(gaps.absolute) < 0)


def test_figures_of_stand_in_data_say_so_and_tell_no_finding(ran: Any) -> None:
    figures = {f["name"]: f for f in ran[1]}
    drawn = {f"fig-dprf-fig{n}" for n in (4, 5, 7, 9)} | {"fig-frontier", "fig-frontier-penalty"}
    assert drawn <= figures.keys()
    for name in drawn:
        assert figures[name]["caption"].endswith("Stand-in data, not the paper's.")
        assert name in figures[name]["alt"]
        assert "curve" not in figures[name]["alt"]
    assert len({f["alt"] for f in figures.values()}) == len(figures)


def test_no_table_or_figure_passes_a_stand_in_off_as_the_papers_data(ran: Any) -> None:
    """Kills typed names of data sets in captions and rows of what ran on something else."""
    _, figures, texts, _ = ran
    told = [f["caption"] for f in figures] + [line for t in texts for line in t.split("\n")]
    for line in told:
        if " | " in line or line in {f["caption"] for f in figures}:
            bare = line.replace("stand-in for", "").replace("stand-in for red", "")
            named = {"medical", "red wine"} & set(bare.split(" | "))
            assert not named or "stand-in" in line, line
