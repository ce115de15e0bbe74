"""`make mutate NAME=arithmetic` changes one place of a program, and finds who notices."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from scripts import forks
from scripts.arithmetic import Mutant, changes_of, is_another_program, plant, sample, silent
from scripts.files import BuildError
from scripts.layout import Layout
from scripts.mutate_arithmetic import Kept, durations, is_near, meet_all, reach, record, within

SOURCE = '''"""A module."""
from functools import wraps

LIMIT = 3 - 1


def twice(function):
    @wraps(function)
    def both(*args):
        return function(*args) + function(*args)

    return both


@twice
def scale(sensitivity, epsilon):
    """Return 1 - 2."""
    if sensitivity < 0 or (epsilon > 9 and not sensitivity) is True:
        raise ValueError(f"sensitivity must be {1 + 1}")
    epsilon = min(epsilon, 1.5)
    assert list(zip([True], [0], strict=False))
    return sensitivity / epsilon


class Model:
    @property
    def loss(self):
        return 2.0 - 0.5
'''


WHOLE = "sensitivity < 0 or (epsilon > 9 and not sensitivity) is True"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A package of one module, which is loaded."""
    file = tmp_path / "src/dplit/toy.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    module = types.ModuleType("dplit.toy")
    exec(compile(SOURCE, "src/dplit/toy.py", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "dplit.toy", module)
    return Layout(tmp_path)


def mutants(layout: Layout) -> list[Mutant]:
    changes = changes_of(layout, layout.package / "toy.py")
    return [change for change in changes if is_another_program(layout.root, change)]


def texts(layout: Layout) -> set[tuple[str, str, str]]:
    return {(m.kind, m.before, m.after) for m in mutants(layout)}


def test_each_kind_of_change_is_found_where_programs_compute(toy: Layout) -> None:
    """Kills mutants of messages, of docstrings, of decorators and outside functions."""
    found = texts(toy)
    assert found >= {
        ("first operand alone", "sensitivity / epsilon", "sensitivity"),
        ("second operand alone", "sensitivity / epsilon", "epsilon"),
        ("operands swapped", "sensitivity / epsilon", "(epsilon / sensitivity)"),
        ("another operator", "sensitivity / epsilon", "(sensitivity * epsilon)"),
        ("another comparison", "sensitivity < 0", "(sensitivity <= 0)"),
        ("condition negated", WHOLE, f"(not ({WHOLE}))"),
        ("another call", "min", "max"),
        ("stale variable", "min(epsilon, 1.5)", "epsilon"),
        ("another variable", "sensitivity", "epsilon"),
        ("number", "1.5", "(2.5)"),
        ("and, or", "epsilon > 9 and not sensitivity", "((epsilon > 9) or (not sensitivity))"),
        ("last condition dropped", "epsilon > 9 and not sensitivity", "((epsilon > 9))"),
        ("sign or not dropped", "not sensitivity", "sensitivity"),
        ("truth value", "True", "False"),
    }
    assert {m.function for m in mutants(toy)} == {"twice", "scale", "Model.loss"}
    assert not {m.line for m in mutants(toy)} & silent(SOURCE)
    assert not any("1 + 1" in before for _, before, _ in found)
    assert ("truth value", "False", "True") not in found  # how zip compares lengths


def test_a_sample_has_all_kinds_and_nothing_twice(toy: Layout) -> None:
    changes = changes_of(toy, toy.package / "toy.py")
    chosen = sample(toy.root, changes, 14)
    assert len(set(chosen)) == len(chosen) == 14
    kinds = {m.kind for m in mutants(toy)}
    assert len({m.kind for m in chosen}) == min(14, len(kinds))
    assert sample(toy.root, changes, 14) == chosen
    assert set(sample(toy.root, changes, 10_000)) == set(mutants(toy))


def named(layout: Layout, after: str, before: str) -> Mutant:
    return next(m for m in mutants(layout) if (m.before, m.after) == (before, after))


def test_whoever_holds_a_function_runs_the_changed_one(toy: Layout) -> None:
    """Behind a decorator, and a property of a class."""
    module: Any = sys.modules["dplit.toy"]
    held, model = module.scale, module.Model()
    assert (held(3.0, 2.0), model.loss) == (4.0, 1.5)
    plant(named(toy, "sensitivity", "sensitivity / epsilon"), toy.root)
    plant(named(toy, "(2.0 + 0.5)", "2.0 - 0.5"), toy.root)
    assert (held(3.0, 2.0), model.loss) == (6.0, 2.5)


def test_mutants_meet_the_tests_that_reach_their_line(
    toy: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is killed by its test; one, that no test tells apart, survives. Kills a fork that runs
    nothing, runs other tests, or changes this process."""
    root = toy.root
    (root / "tests").mkdir()
    (root / "tests/test_toy.py").write_text(
        "from dplit.toy import scale\n\n\ndef test_half():\n    assert scale(1.5, 9) == 2.0\n\n\n"
        "def test_other():\n    assert False\n\n\ndef test_red():\n    assert scale(1.5, 9) == 9\n"
    )
    folder = toy.build / "coverage"
    folder.mkdir(parents=True)
    case = '<testcase classname="tests.test_toy" name="test_{}" time="0.5"{}>'
    cases = [("half", "/"), ("red", "/"), ("other", "><failure/></testcase")]
    told_cases = "".join(case.format(*one) for one in cases)
    (folder / "tests.xml").write_text(
        f"<testsuites><testsuite>{told_cases}</testsuite></testsuites>"
    )
    names = ["tests/test_toy.py::test_half", "tests/test_toy.py::test_red"]
    assert durations(toy) == dict.fromkeys(names, 0.5)
    file = toy.package / "toy.py"
    data = CoverageData(basename=str(folder / "data"))
    data.add_lines({str(file): [16]})
    data.write()
    with pytest.raises(BuildError, match="remove _build"):
        reach(toy, [file])
    data.set_context("tests/test_toy.py::test_half|run")
    lines = SOURCE.splitlines()
    reached = [k for k, line in enumerate(lines, 1) if "min(" in line or "/ epsilon" in line]
    data.add_lines({str(file): reached})
    data.set_context("tests/test_toy.py::test_red|run")  # it fails in any case, and kills nothing
    data.add_lines({str(file): reached})
    data.write()
    data.close(force=True)
    quotient = "sensitivity / epsilon"
    changes = [("sensitivity", quotient), ("epsilon", "min(epsilon, 1.5)")]
    changes.append(("(epsilon / sensitivity)", quotient))
    aims = [named(toy, *change) for change in changes]
    told: list[str] = []
    monkeypatch.setenv("DPLIT_MUTATE", "1")  # set there for the forks; undone here
    rows = meet_all(toy, aims, [file], told.append, where=[str(root / "tests")])
    said = len(told)
    again = meet_all(toy, aims, [file], told.append, where=[str(root / "tests")])
    assert len(told) == said == 4  # one red test; a second run meets nobody
    assert {row["key"] for row in again} == {row["key"] for row in rows}
    outcomes = {row["after"]: (row["outcome"], row["tests"]) for row in rows}
    assert outcomes == {
        "sensitivity": ("killed", 2),
        "epsilon": ("killed", 2),
        "(epsilon / sensitivity)": ("survived", 2),
    }
    archive = record(rows, {})
    assert archive["folders"] == {"": {"mutants": 3, "killed": 2}}
    (survivor,) = archive["survivors"]
    assert (survivor["why"], survivor["tests"], survivor["left"]) == ("", 2, 0)
    survivor["why"] = "both are one here"
    assert record(rows, json.loads(json.dumps(archive))) == archive
    changed = [{**row, "before": "x"} for row in rows]
    assert record(changed, archive)["survivors"][0]["why"] == ""


def test_a_survivor_meets_other_tests_and_one_that_is_killed_nobody(toy: Layout) -> None:
    """Kills a run that forgets, and one that believes rows of another text or of fewer tests, but
    for survivors that are explained."""
    one, other = mutants(toy)[:2]
    file = toy.build / "arithmetic.jsonl"
    kept = Kept(file, toy.root)
    kept.add(one, ["a"], outcome="survived")
    kept.add(other, ["a"], outcome="killed")
    kept = Kept(file, toy.root)
    assert kept.known(one, ["a"]) is not None
    assert kept.known(one, ["a", "b"]) is None
    assert kept.known(other, ["b"]) is not None
    for why, met in (("", True), ("it is speed", False)):
        told = {"survivors": [{**asdict(one), "why": why}]}
        assert (Kept(file, toy.root, told).known(one, ["a", "b"]) is None) is met
    source = toy.package / "toy.py"
    source.write_text(source.read_text() + "\n")
    assert kept.known(other, ["a"]) is None


def test_patience_is_for_near_and_quick_tests(toy: Layout) -> None:
    """Kills an order by name, a sum that begins anew, and a long test that ends the choice."""
    seconds = {"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.5}
    assert within("abc", seconds, 3.5, "a".__ne__) == ["b", "c"]
    assert within("abc", seconds, 4.0, "a".__eq__) == ["b", "a"]
    assert within("acd", seconds, 2.0, "a".__eq__) == ["d"]
    written = "tests/test_small_changes.py::test_a"
    slow = {**seconds, written: 3.5}
    assert within([*"abc", written], slow, 6.5, "a".__ne__) == [written, "b", "c"]
    mutant = mutants(toy)[0]
    assert is_near(mutant, "tests/test_toy.py::test_a")
    assert not is_near(mutant, "tests/other/test_a.py::test_toy")
    inner = replace(mutant, file="src/dplit/erm/toy.py")
    assert is_near(inner, "tests/erm/test_a.py::test_a")
    assert not is_near(inner, "tests/test_toy.py::test_a")


def test_a_mutant_that_never_ends_is_stopped(toy: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills a test that may compute as long as it likes."""
    from scripts import mutate_arithmetic

    monkeypatch.setattr(mutate_arithmetic, "SPARE", 0.2)
    item: Any = types.SimpleNamespace(nodeid="a", ihook=types.SimpleNamespace())

    def endless(**_: Any) -> None:
        while True:
            pass

    item.ihook.pytest_runtest_protocol = endless
    told: list[Any] = []
    session = mutate_arithmetic.Session(print, {})
    forks.run(
        [0],
        lambda _: session.meet(None, [item], toy.root),
        lambda _, killer, seconds: told.append((killer, seconds < 8)),
        width=1,
        limit=9.0,
    )
    assert told == [(None, True)]
