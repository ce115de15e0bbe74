"""Records are held against the registry, and tests are tied to claims by their marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scripts import claims, marks
from scripts.files import BuildError
from scripts.layout import Layout

ENTRY: dict[str, Any] = {
    "slug": "toy",
    "kind": "theorem",
    "place": "Theorem 1",
    "title": "Toys",
    "verdict": "holds",
    "evidence": "derived",
    "note": "A toy.",
    "functions": ["dplit.streams.stream"],
}
REGISTRY = {"toy-thm1": ENTRY}
CELLS = """\
# Toys

claim(

```{code-cell} ipython3
:tags: [hide-input]
from dplit import streams

c = claim("toy-thm1")
c.equal(1, 1)
```
"""
YML = "src/dplit/papers/toy/claims.yml"


@pytest.fixture
def toy(tmp_path: Path) -> Layout:
    """One registered claim, its cell and its test."""
    layout = Layout(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "notebooks").mkdir()
    mark = '@pytest.mark.claim("toy-thm1")\ndef test_x():\n    assert True\n'
    (tmp_path / "tests" / "test_toy.py").write_text(mark)
    (tmp_path / "notebooks" / "toy.md").write_text(CELLS)
    (tmp_path / YML).parent.mkdir(parents=True)
    (tmp_path / YML).write_text("- {id: toy-thm1-also}\n- id: toy-thm1\n- {id: toy-thm2}\n")
    return layout


@pytest.fixture
def any_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema of records stands aside."""
    monkeypatch.setattr("dplit.notebook.claims.load_schema", dict)


@pytest.mark.parametrize(
    ("registry", "messages"),
    [
        (REGISTRY, []),
        (
            {"toy-thm1": {**ENTRY, "functions": ["dplit.streams.flow"]}},
            [f"{YML}:2: toy-thm1: dplit.streams.flow does not exist"],
        ),
        (
            {"toy-thm1": {**ENTRY, "functions": ["dplit.rivers.flow", "dplit_studies.flow.f"]}},
            [
                f"{YML}:2: toy-thm1: dplit.rivers.flow does not exist",
                f"{YML}:2: toy-thm1: dplit_studies.flow.f does not",
            ],
        ),
        (
            {
                "toy-thm1": {
                    **ENTRY,
                    "functions": ["dplit._solvers.interior_point.interior_point_box_qp"],
                }
            },
            [f"{YML}:2: toy-thm1: dplit._solvers.interior_point.interior_point_box_qp is private"],
        ),
        ({"toy-thm1": {**ENTRY, "functions": []}}, [f"{YML}:2: toy-thm1 names no function"]),
        (
            {"toy-thm1": {**ENTRY, "verdict": "hold"}},
            [f"{YML}:2: toy-thm1: $.verdict 'hold' is not one of ['defined', 'holds'"],
        ),
        (
            {"toy-thm1": {k: v for k, v in ENTRY.items() if k != "note"}},
            [f"{YML}:2: toy-thm1: $ 'note' is a required property"],
        ),
        (
            {"toy-thm1": ENTRY, "toy-thm2": ENTRY},
            [
                f"{YML}:3: toy-thm2 has no test",
                f"{YML}:3: toy-thm2 is registered and no cell of notebooks/toy.md names it; end",
            ],
        ),
        (
            {},
            [
                "notebooks/toy.md:9: claim toy-thm1 is not registered there",
                "tests/test_toy.py::test_x marks toy-thm1, not registered",
            ],
        ),
    ],
)
def test_the_registry_is_checked_without_running_anything(
    toy: Layout, registry: Any, messages: list[str]
) -> None:
    """Kills a check that looks at one of the four places only."""
    lines = claims.faults(toy, registry)
    assert len(lines) == len(messages)
    assert all(line.startswith(text) for line, text in zip(lines, messages, strict=True))


def record(identifier: str = "toy-thm1", **changes: Any) -> dict[str, Any]:
    whole = {
        "id": identifier,
        "slug": "toy",
        "page": "book/chapters/toy.html",
        "status": "passed",
        "reason": None,
        "checks": [{"how": "a against b", "ok": True}],
    }
    return {**whole, **changes}


MISSING = {"how": "c against d", "data": ["MNIST"]}


@pytest.mark.usefixtures("any_form")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("found", "message", "always"),
    [
        ([], "toy-thm1 is registered and not recorded", True),
        ([record(), record()], "toy-thm1 is recorded 2 times", True),
        ([record(), record("toy-thm2")], "toy-thm2 is recorded and not registered", True),
        ([record(page="book/chapters/other.html")], "belongs to toy, recorded on other", True),
        ([record(status="failed", reason="no check")], "toy-thm1 failed: no check", True),
        ([record(status="failed", checks=[{"how": "one", "ok": False}])], "failed: one", True),
        ([record(status="not_run", reason="no data")], "toy-thm1 was not run: no data", False),
        ([record(unasked=[MISSING])], "toy-thm1 was not asked: c against d", False),
        ([record()], "", False),
    ],
)
def test_each_fault_of_the_records_is_told_once(
    toy: Layout, found: list[dict[str, Any]], message: str, always: bool, strict: bool
) -> None:
    """Kills missing data that pass where they count, and that fail where they do not."""
    lines = claims.faults(toy, REGISTRY, found, strict=strict)
    assert len(lines) == (always or (strict and message != ""))
    assert all(message in line for line in lines)


@pytest.mark.usefixtures("any_form")
def test_registry_and_records_are_told_in_one_list(toy: Layout) -> None:
    """Kills a build that lets pass what `make claims` would refuse, such as a stray mark."""
    lines = claims.faults(toy, {}, [record()])
    assert [line.partition(" ")[2] for line in lines] == [
        "claim toy-thm1 is not registered there",
        "marks toy-thm1, not registered",
        "is recorded and not registered",
    ]


def test_the_schema_is_applied(toy: Layout) -> None:
    lines = claims.faults(toy, REGISTRY, [record()])
    assert any("'verdict' is a required property" in line for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("c.equal", "streams.steam", 10, "dplit.streams.steam does not exist .*; did you mean str"),
        ("import streams", "import steams", 7, "dplit.steams does not exist"),
        ("from dplit import", "from dplit.rivers import", 7, "dplit.rivers.streams does not exist"),
    ],
)
def test_a_name_that_left_the_package_is_told_before_a_chapter_runs(
    toy: Layout, old: str, new: str, line: int, message: str
) -> None:
    """Kills a function renamed without its cells, of which a chapter says so after minutes."""
    path = toy.notebooks / "toy.md"
    path.write_text(CELLS.replace(old, new))
    (told,) = claims.faults(toy, REGISTRY)
    assert re.match(rf"notebooks/toy\.md:{line}: {message}", told)
    path.write_text(CELLS.replace(old, new).replace("c = ", "streams = "))
    assert len(claims.faults(toy, REGISTRY)) == (old != "c.equal")  # a variable of the cell's own


def test_a_name_of_two_figures_is_told_before_a_chapter_runs(toy: Layout) -> None:
    """Kills a copied figure that is told when all chapters have run, by the last step."""
    cell = '\n```{code-cell} ipython3\nshow(f, name="fig-a")\n```\n'
    (toy.notebooks / "toy.md").write_text(CELLS + cell)
    assert claims.faults(toy, REGISTRY) == []
    (toy.notebooks / "toys.md").write_text(cell)
    wanted = "notebooks/toys.md:3: a figure at notebooks/toy.md:14 is called fig-a too"
    assert claims.faults(toy, REGISTRY) == [wanted]


def test_a_cell_that_does_not_parse_is_told_by_its_line(toy: Layout) -> None:
    """Kills a traceback of ours, in which the chapter is not named."""
    (toy.notebooks / "toy.md").write_text(CELLS.replace("equal(1, 1)", "equal(1, 1"))
    with pytest.raises(BuildError, match=r"^notebooks/toy\.md:10: .* never closed"):
        claims.faults(toy, REGISTRY)


def test_a_module_that_cannot_be_imported_is_told_once_and_alone(
    toy: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function was renamed, and a module still imports it by its old name."""
    broken = tmp_path / "broken_by_name.py"
    broken.write_text("import math\nfrom math import no_such_root\n")
    (tmp_path / "broken_by_form.py").write_text("x = 1\ny = (\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, message in (("name", ":2: ImportError: cannot"), ("form", ":2: SyntaxError: '")):
        two = [f"broken_by_{name}.f", f"broken_by_{name}.g"]
        with pytest.raises(BuildError, match=f"^{tmp_path}/broken_by_{name}.py{message}"):
            claims.faults(toy, {"toy-thm1": {**ENTRY, "functions": two}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- id: toy-thm1\n  title: Toys: again\n", r"(?s)mapping values .*claims\.yml\", line 2"),
        ("- id: toy-thm1\n- id: toy-thm1\n", "'toy-thm1' is registered twice, in toy/claims.yml"),
        ("- id: toy-thm1\n- title: A\n", "entry 2 of toy/claims.yml has no id: {'title': 'A'}"),
    ],
)
def test_a_registry_that_cannot_be_read_is_told_by_its_file(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a traceback, and a line of a file that has no name."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "claims.yml").write_text(text)
    monkeypatch.setattr(claims.library.resources, "files", lambda package: tmp_path)
    claims.library.load_registry.cache_clear()
    try:
        with pytest.raises(BuildError, match=message):
            claims.registered()
    finally:
        claims.library.load_registry.cache_clear()


def test_resolve_finds_functions_classes_and_methods() -> None:
    from dplit.notebook import claims as notebook_claims

    assert claims.resolve("dplit.notebook.claims.Claim.equal") is notebook_claims.Claim.equal
    assert claims.resolve("dplit.notebook.claims") is notebook_claims


def test_an_import_that_fails_inside_a_module_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        claims.resolve("broken_module.f")


@pytest.mark.parametrize(("value", "strict"), [("", False), ("0", False), ("1", True)])
def test_strictness_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str, strict: bool
) -> None:
    monkeypatch.setenv("DPLIT_STRICT", value)
    assert claims.is_strict() is strict


def test_the_registry_of_the_book_holds_together() -> None:
    assert claims.check(Layout(Path(__file__).resolve().parents[2])) > 200


TESTS = """
import pytest
pytestmark = [pytest.mark.claim("erm-thm1"), pytest.mark.site]

@pytest.mark.claim("erm-thm2")
@pytest.mark.parametrize("x", [1])
def test_a(x):
    assert x

def helper():
    pass

class TestGroup:
    pytestmark = pytest.mark.claim("erm-thm3")

    @pytest.mark.claim("erm-thm2")
    def test_b(self):
        assert True
"""


def test_marks_are_read_from_functions_classes_and_modules(tmp_path: Path) -> None:
    """As pytest collects them, and sorted."""
    folder = tmp_path / "tests" / "erm"
    folder.mkdir(parents=True)
    (folder / "test_x.py").write_text(TESTS)
    found = marks.marked_tests(Layout(tmp_path))
    a, b = "tests/erm/test_x.py::test_a", "tests/erm/test_x.py::TestGroup::test_b"
    assert [test.node for test in found] == [a, b]
    assert found[0].source.startswith('@pytest.mark.claim("erm-thm2")')
    assert found[0].source.endswith("assert x")
    ours = marks.nodes_by_claim(found)
    assert ours == {"erm-thm1": [b, a], "erm-thm2": [b, a], "erm-thm3": [b]}


@pytest.mark.parametrize(
    ("text", "message"),
    [("def test_(:", "does not parse"), ("@pytest.mark.claim(X)\ndef test_a(): ...", "a string")],
)
def test_marks_that_cannot_be_read_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(text)
    with pytest.raises(BuildError, match=message):
        marks.marked_tests(Layout(tmp_path))
