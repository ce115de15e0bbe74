"""The notebooks' sources: pairs in step, parameters declared, prose before code."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from dplit.notebook import ParameterError
from dplit.notebook import cells as notebook_cells
from scripts import pairs
from scripts.files import BuildError
from scripts.layout import Layout, slug_of
from tests.papermills import papermill

LAYOUT = Layout(Path(__file__).resolve().parents[2])
SLUGS = LAYOUT.names()
RECORDED = LAYOUT.recorded()
COMMON = {"scale": "str", "seed": "int", "n_jobs": "int", "data": "str"}


def cells(slug: str) -> list[Any]:
    return list(nbformat.read(LAYOUT.notebooks / f"{slug}.ipynb", as_version=4).cells)


def code_cells(slug: str) -> list[Any]:
    return [cell for cell in cells(slug) if cell.cell_type == "code"]


def folded(cell: Any) -> bool:
    return bool({"hide-input", "hide-cell"} & set(cell.metadata.get("tags", [])))


def test_pairs_are_in_step() -> None:
    """Kills an edit of one file of a pair alone: the build's own question, which raises."""
    pairs.check(LAYOUT)


@pytest.mark.parametrize("slug", SLUGS)
def test_both_files_of_a_pair_hold_the_same_cells(slug: str) -> None:
    """A second route to `pairs.check`: by content, as jupytext reads the two files.

    What is folded is collapsed in JupyterLab and said once in the source: what JupyterLab saves by
    way of jupytext has the source's cells, tags and nothing else.
    """
    source = jupytext.read(LAYOUT.notebooks / f"{slug}.md")
    pair = nbformat.read(LAYOUT.notebooks / f"{slug}.ipynb", as_version=4)
    assert [(c.cell_type, c.source) for c in pair.cells] == [
        (c.cell_type, c.source) for c in source.cells
    ]
    assert not any(c.get("outputs") or c.get("execution_count") for c in pair.cells)
    assert len({c.id for c in pair.cells}) == len(pair.cells)
    code = [cell for cell in pair.cells if cell.cell_type == "code"]
    hidden = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in code]
    assert hidden == [folded(cell) for cell in code]
    assert any(hidden)
    saved = jupytext.reads(jupytext.writes(pair, fmt="md:myst"), fmt="md:myst")
    assert [cell.metadata for cell in saved.cells] == [cell.metadata for cell in source.cells]


@pytest.mark.parametrize("slug", SLUGS)
def test_parameters_come_first_typed_and_commented(slug: str) -> None:
    first = code_cells(slug)[0]
    assert first.metadata.get("tags") == ["parameters"]
    declared = {}
    for line, node in zip(first.source.split("\n"), ast.parse(first.source).body, strict=True):
        assert isinstance(node, ast.AnnAssign), line
        assert "  # " in line, f"no comment: {line}"
        declared[ast.unparse(node.target)] = ast.unparse(node.annotation)
    assert slug not in RECORDED or declared.items() >= COMMON.items()
    assert set(declared.values()) <= {"str", "int", "float", "bool"}


@pytest.mark.parametrize("slug", RECORDED)
def test_parameters_are_checked_in_the_next_cell(slug: str) -> None:
    calls = [n for n in ast.walk(ast.parse(code_cells(slug)[1].source)) if isinstance(n, ast.Call)]
    checks = [call for call in calls if ast.unparse(call.func).endswith("check_parameters")]
    assert [ast.unparse(call.args[0]) for call in checks] == [repr(slug_of(slug))]


@pytest.mark.parametrize("slug", SLUGS)
def test_no_claim_reads_an_archived_curve(slug: str) -> None:
    """Neither in the cell of the claim nor by a name that `Curves` or its `keep` gave."""
    kept: set[str] = set()
    for cell in code_cells(slug):
        tree = ast.parse(cell.source)
        calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        if "claim" in calls:
            assert not names & kept, cell.source
            assert "Curves" not in calls, cell.source
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and re.search(r"\bCurves\b|\.keep$", ast.unparse(node.value.func))
            ):
                targets = [n for t in node.targets for n in ast.walk(t)]
                kept |= {n.id for n in targets if isinstance(n, ast.Name)} - {"_"}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_sentence_stands_before_every_open_code_cell(slug: str) -> None:
    """What is open tells the story; a folded cell may follow another."""
    found = cells(slug)
    assert found[0].cell_type == "markdown"
    silent = [
        cell.source
        for before, cell in pairwise(found)
        if before.cell_type == cell.cell_type == "code" and not folded(cell)
    ]
    assert silent == []


#: What is no result: the root of 8e-6, whose tolerance stands before it, and the least margin of a
#: test, a setting.
REASONED = {"margin": {"0.0028"}, "face_off": {"0.02"}}
#: What a text holds beside words: code, formulas, roles with their arguments, addresses.
NO_WORDS = (
    r"(?ms)^(`{3,}|:{3,})(?:console|python|\{math\}).*?^\1$",
    r"(?s)\$\$.*?\$\$",
    r"\$[^$]*\$",
    r"\{[\w:-]+\}`[^`]*`",
    r"`[^`]*`",
    r"\]\([^)]*\)",
)
BARE = re.compile(r"(?<![\w./])\d+\.\d{2,}(?![\w/]|\.\d)")


#: Rooms of the library that a chapter is about.
ROOMS = {
    "erm": ("kernels", "advice"),
    "projection": ("entries", "advice"),
    "sketching": ("sketching", "advice"),
    "margin": ("margins", "advice"),
    "random_features": ("kernels", "advice"),
    "face_off": ("tables", "advice"),
}


def bare_numbers(slug: str, text: str) -> set[str]:
    """Return the numbers with two decimals and more among the words of a text that no code of the
    chapter holds, as a setting or as what the paper prints.
    """
    for pattern in NO_WORDS:
        text = re.sub(pattern, " ", text)
    rooms = [f"papers/{slug_of(slug)}", *ROOMS.get(slug_of(slug), ())]
    found = [p for room in rooms for p in (LAYOUT.package / room).rglob("*")]
    files = [p for p in found if p.suffix in (".py", ".yml")]
    held = [p.read_text("utf-8") for p in (*files, LAYOUT.package / "audit" / "events.py")]
    code = " ".join([*held, *(cell.source for cell in code_cells(slug))])
    known = set(re.findall(r"\d*\.\d+", code))
    return {x for x in BARE.findall(text) if not {x, x.removeprefix("0")} & known}


@pytest.mark.parametrize("slug", SLUGS)
def test_no_result_is_typed_into_the_text(slug: str) -> None:
    """Kills a number that a run found and a hand wrote; the control is a number of no code."""
    text = "\n".join(cell.source for cell in cells(slug) if cell.cell_type == "markdown")
    assert bare_numbers(slug, text) <= REASONED.get(slug_of(slug), set())
    assert bare_numbers(slug, f"{text}\nIt is 0.73519, and $0.86423$.") >= {"0.73519"}


SOURCE = """\
---
jupytext:
  cell_metadata_filter: tags,mystnb,-all
  formats: ipynb,md:myst
  notebook_metadata_filter: -jupytext.text_representation.jupytext_version
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A title

```{code-cell} ipython3
:tags: [parameters]
x: int = 1
```
"""


@pytest.fixture
def small(tmp_path: Path) -> Layout:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "toy.md").write_text(SOURCE)
    return Layout(tmp_path)


def test_sync_writes_a_pair_once_and_always_the_same(small: Layout) -> None:
    with pytest.raises(BuildError, match=r"toy\.ipynb is missing.*make sync"):
        pairs.check(small)
    assert pairs.sync(small) == ["toy"]
    text = (small.notebooks / "toy.ipynb").read_text()
    assert pairs.sync(small) == []
    pairs.check(small)
    (small.notebooks / "toy.ipynb").unlink()
    pairs.sync(small)
    assert (small.notebooks / "toy.ipynb").read_text() == text


def test_the_source_wins_whichever_file_is_newer(small: Layout) -> None:
    pairs.sync(small)
    path = small.notebooks / "toy.ipynb"
    damaged = path.read_text()[:100]
    path.write_text(path.read_text().replace("A title", "Another title"))
    with pytest.raises(BuildError, match=r"toy\.ipynb differs from its source toy\.md"):
        pairs.check(small)
    with pytest.raises(BuildError, match=r"^notebooks/toy\.ipynb:5: this cell was edited, and toy"):
        pairs.sync(small)  # what was written there alone is not lost
    (small.notebooks / "toy.md").write_text(SOURCE.replace("A title", "Another title"))
    assert pairs.sync(small) == ["toy"]
    (small.notebooks / "toy.md").write_text(SOURCE)
    path.write_text(damaged)
    assert pairs.sync(small) == ["toy"]
    assert "A title" in path.read_text()
    assert (small.notebooks / "toy.md").read_text() == SOURCE


def test_cells_keep_their_ids_when_others_change(small: Layout) -> None:
    pairs.sync(small)
    before = nbformat.read(small.notebooks / "toy.ipynb", as_version=4).cells
    source = small.notebooks / "toy.md"
    source.write_text(SOURCE.replace("# A title", "# Another title"))
    pairs.sync(small)
    after = nbformat.read(small.notebooks / "toy.ipynb", as_version=4).cells
    assert [a.id == b.id for a, b in zip(before, after, strict=True)] == [False, True]


def test_a_pair_without_source_and_a_source_without_header_are_named(small: Layout) -> None:
    pairs.sync(small)
    (small.notebooks / "old.ipynb").write_text("{}")
    with pytest.raises(BuildError, match=r"old\.ipynb has no source old\.md"):
        pairs.check(small)
    (small.notebooks / "bare.md").write_text("# Only prose\n")
    with pytest.raises(BuildError, match=r"bare\.md has no kernelspec"):
        pairs.sync(small)


@pytest.mark.parametrize("key", pairs.HEADER)
def test_a_header_without_what_jupyterlab_needs_is_named(key: str, small: Layout) -> None:
    source = small.notebooks / "toy.md"
    source.write_text(SOURCE.replace(f"  {key}: {pairs.HEADER[key]}\n", ""))
    with pytest.raises(BuildError, match=rf"toy\.md must have '{key}: .*' under jupytext"):
        pairs.sync(small)


def test_a_save_keeps_the_spelling_of_every_line_that_stays() -> None:
    """Kills a text as jupytext spells it: a header in blocks, a blank line below the tags."""
    notebook = pairs.read_source(SOURCE)
    assert pairs.saved_pair(SOURCE, notebook, "toy")[0] == SOURCE
    notebook.cells[0].source = "# Another title"
    notebook.cells[1].source += "\ny: int = 2"
    text, pair, plain = pairs.saved_pair(SOURCE, notebook, "toy")
    wanted = SOURCE.replace("A title", "Another title").replace(" = 1", " = 1\ny: int = 2")
    assert text == wanted != plain
    assert [cell.source for cell in pair.cells] == [cell.source for cell in notebook.cells]


BAD = {
    "unknown name": (["-p", "epsilom", "0.5"], "unknown parameter epsilom"),
    "wrong type": (["-p", "seed", "zero"], "seed must be of type int, got seed='zero'"),
    "out of range": (["-p", "scale", "huge"], "scale must be one of 'quick', 'paper', got"),
}


def test_plain_papermill_stops_at_a_bad_parameter(tmp_path: Path) -> None:
    """What it says of a chapter's first two cells; all chapters refuse by one function."""
    whole = nbformat.read(LAYOUT.notebooks / f"{RECORDED[0]}.ipynb", as_version=4)
    wanted = [c.id for c in whole.cells if c.cell_type == "code"][:2]
    whole.cells = [c for c in whole.cells if c.id in wanted]
    whole.cells.append(nbformat.v4.new_code_cell("print('went on')"))
    nbformat.write(whole, tmp_path / "first.ipynb")
    runs = {name: ["first.ipynb", f"{name}.ipynb", *said] for name, (said, _) in BAD.items()}
    for name, (code, said) in papermill(runs, cwd=tmp_path, timeout=120).items():
        assert code != 0
        assert BAD[name][1] in said
        for parameter, kind in COMMON.items():
            assert f"{parameter}: {kind} =" in said
        assert "went on\\n" not in (tmp_path / f"{name}.ipynb").read_text()


@pytest.mark.parametrize("slug", RECORDED)
def test_a_parameter_that_a_chapter_does_not_have_is_refused(
    slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, check = (cell.source for cell in code_cells(slug)[:2])
    injected = "# Parameters\nepsilom = 0.5"
    monkeypatch.setattr(notebook_cells, "_executed_cells", lambda: [first, injected])
    with pytest.raises(ParameterError, match="unknown parameter epsilom") as caught:
        exec("\n".join([first, injected, check]), {})
    for parameter, kind in COMMON.items():
        assert f"{parameter}: {kind} =" in str(caught.value)


def excuses(source: str) -> list[str]:
    """Return where code asks by itself whether a run has the paper's data, to forgive a check."""
    return re.findall(
        r"\bor not real\b|statistical=not \w+|\bstand_in=|not_run\(reason=.*(?:data|MNIST|files)",
        source,
    )


@pytest.mark.parametrize("slug", SLUGS)
def test_no_check_asks_itself_whether_its_data_are_there(slug: str) -> None:
    """A claim knows its data (`data:` in claims.yml, `on`), curves and numbers say theirs.

    Kills what failed for every user without the papers' files: a statement about them, checked on
    stand-ins and excused by `statistical=not real`.
    """
    assert excuses("\n".join(cell.source for cell in code_cells(slug))) == []


@pytest.mark.parametrize(
    "planted",
    [
        'c.statement(text, fails, how="8 spectra", statistical=not real)',
        "c.statement(text, fails or not real, how=how)",
        'c.not_run(reason="MNIST is not here")',
        "archive.show(fig, caption=caption, alt=alt, stand_in=not real)",
    ],
)
def test_an_excuse_is_seen(planted: str) -> None:
    assert excuses(planted)
