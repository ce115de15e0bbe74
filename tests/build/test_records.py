"""Records are held against the registry, and tests are tied to claims by their marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import claims, marks
from scripts.files import BuildError
from scripts.layout import Layout


def record(identifier: str = "toy-thm1", **changes: Any) -> dict[str, Any]:
    whole = {
        "id": identifier,
        "slug": "toy",
        "page": "book/chapters/toy.html",
        "functions": ["dplit.streams.stream"],
        "tests": ["tests/test_toy.py::test_x"],
        "status": "passed",
        "reason": None,
        "checks": [{"how": "a against b", "ok": True}],
    }
    return {**whole, **changes}


REGISTRY: dict[str, Any] = {"toy-thm1": {}}


def told(*found: dict[str, Any], registry: Any = None, **options: Any) -> list[str]:
    return claims.faults(found, REGISTRY if registry is None else registry, {}, **options)


def test_whole_records_have_no_fault() -> None:
    assert told(record()) == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "toy-thm1 is registered and not recorded"),
        ([record(), record()], "toy-thm1 is recorded 2 times"),
        ([record(), record("toy-thm2")], "toy-thm2 is recorded and not registered"),
        ([record(tests=[])], "toy-thm1 has no test"),
        ([record(functions=[])], "toy-thm1 names no function"),
        ([record(functions=["dplit.streams.flow"])], "dplit.streams.flow does not exist"),
        ([record(functions=["dplit.rivers.flow"])], "dplit.rivers.flow does not exist"),
        ([record(functions=["nopackage.flow"])], "nopackage.flow does not exist"),
        ([record(page="book/chapters/other.html")], "belongs to toy, recorded on"),
        ([record(status="failed", reason="no check")], "toy-thm1 failed: no check"),
        (
            [record(status="failed", checks=[{"how": "this one", "ok": False}])],
            "toy-thm1 failed: this one",
        ),
    ],
)
def test_each_fault_is_told_once(found: list[dict[str, Any]], message: str) -> None:
    lines = told(*found)
    assert len(lines) == 1
    assert message in lines[0]


def test_not_run_is_a_fault_only_where_it_counts() -> None:
    missing = record(status="not_run", reason="no data here")
    assert told(missing) == []
    assert told(missing, strict=True) == ["toy-thm1 was not run: no data here"]
    assert told(missing, strict=True, allowed=["toy-thm1"]) == []


def test_the_schema_is_applied() -> None:
    from dplit.claims import load_schema

    lines = claims.faults([record()], REGISTRY, load_schema())
    assert any("'verdict' is a required property" in line for line in lines)


def test_resolve_finds_functions_classes_and_methods() -> None:
    import dplit.claims as real

    assert claims.resolve("dplit.claims.Claim.equal") is real.Claim.equal
    assert claims.resolve("dplit.claims") is real


def test_an_import_that_fails_inside_a_module_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        claims.resolve("broken_module.f")


def test_the_list_of_claims_that_may_stay_unchecked(tmp_path: Path) -> None:
    assert claims.allowed_not_run(Layout(tmp_path)) == set()
    (tmp_path / "scripts").mkdir()
    text = "# why\nerm-thm2  # the data are closed\n\nerm-thm3\n"
    (tmp_path / "scripts" / "allowed_not_run.txt").write_text(text)
    assert claims.allowed_not_run(Layout(tmp_path)) == {"erm-thm2", "erm-thm3"}


@pytest.mark.parametrize(("value", "strict"), [("", False), ("0", False), ("1", True)])
def test_strictness_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str, strict: bool
) -> None:
    monkeypatch.setenv("DPLIT_STRICT", value)
    assert claims.is_strict() is strict


@pytest.fixture
def toy(tmp_path: Path) -> Layout:
    """One registered claim, its cell and its test."""
    layout = Layout(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "notebooks").mkdir()
    mark = '@pytest.mark.claim("toy-thm1")\ndef test_x():\n    assert True\n'
    (tmp_path / "tests" / "test_toy.py").write_text(mark)
    cell = {"cell_type": "code", "source": ["c = claim('toy-thm1')\n", "c.equal(1, 1)"]}
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": ["claim("]}, cell]})
    (tmp_path / "notebooks" / "toy.ipynb").write_text(text)
    (tmp_path / "notebooks" / "toy.md").write_text("")
    return layout


ENTRY = {"slug": "toy", "functions": ["dplit.streams.stream"]}


@pytest.mark.parametrize(
    ("registry", "messages"),
    [
        ({"toy-thm1": ENTRY}, []),
        (
            {"toy-thm1": {**ENTRY, "functions": ["dplit.streams.flow"]}},
            ["toy-thm1: dplit.streams.flow does not exist"],
        ),
        (
            {"toy-thm1": {**ENTRY, "functions": ["dplit.erm._solvers.interior_point_box_qp"]}},
            ["toy-thm1: dplit.erm._solvers.interior_point_box_qp is private"],
        ),
        (
            {"toy-thm1": ENTRY, "toy-thm2": ENTRY},
            ["toy-thm2 has no test", "toy-thm2 is registered and no cell of toy names it"],
        ),
        (
            {},
            [
                "toy records toy-thm1, not registered there",
                "tests/test_toy.py::test_x marks toy-thm1, which is not registered",
            ],
        ),
    ],
)
def test_the_registry_is_checked_without_running_anything(
    toy: Layout, registry: Any, messages: list[str]
) -> None:
    """Kills a check that looks at one of the four places only."""
    lines = claims.registry_faults(toy, registry)
    assert len(lines) == len(messages)
    assert all(line.startswith(text) for line, text in zip(lines, messages, strict=True))


def test_the_registry_of_the_book_holds_together() -> None:
    assert claims.check_registry(Layout(Path(__file__).resolve().parents[2])) > 200


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
