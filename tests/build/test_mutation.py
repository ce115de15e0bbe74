"""`make mutate` finds the tests that do not notice a wrong function, and says so."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scripts import mutants, mutate
from scripts.files import BuildError
from scripts.mutants import Tally
from scripts.mutate import Mutant, Verdict


@dataclass(frozen=True)
class Pair:
    value: float
    name: str


class Estimator:
    def __init__(self) -> None:
        self.alpha = 2.0
        self.coef_ = np.array([2.0])
        self._hidden_ = 1.0


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (2.0, "x1.05", 2.1),
        (2.0, "x0.5", 1.0),
        (1j, "x0.5", 0.5j),
        (3, "x1.05", 4),
        (100, "x1.05", 105),
        (3, "x0.5", 1),
        (True, "not", False),
        ("text", "x0.5", "text"),
        (None, "not", None),
        ((2.0, [4.0, "a"]), "x0.5", (1.0, [2.0, "a"])),
        ({"a": {"b": 2.0}}, "x0.5", {"a": {"b": 1.0}}),
        (Pair(2.0, "n"), "x0.5", Pair(1.0, "n")),
        (np.float64(2.0), "x0.5", np.float64(1.0)),
        (np.bool_(True), "not", np.bool_(False)),
    ],
)
def test_values_are_changed_in_kind(value: Any, kind: str, expected: Any) -> None:
    tally = Tally()
    changed = mutants.mutate(value, kind, tally)
    assert changed == pytest.approx(expected) if isinstance(value, float) else changed == expected
    assert type(changed) is type(value)
    assert bool(tally.changed) == (changed != value)


def test_arrays_keep_their_type_and_the_original_its_values() -> None:
    array = np.array([1.0, np.nan, 0.0], dtype=np.float32)
    tally = Tally()
    changed = mutants.mutate(array, "x0.5", tally)
    assert changed.dtype == np.float32
    np.testing.assert_array_equal(changed, [0.5, np.nan, 0.0])
    np.testing.assert_array_equal(array, [1.0, np.nan, 0.0])
    assert tally.changed == 1
    np.testing.assert_array_equal(mutants.mutate(np.array([True]), "not", tally), [False])


def test_an_estimator_loses_what_it_learned_and_keeps_its_parameters() -> None:
    changed = mutants.mutate(Estimator(), "x0.5", Tally())
    assert (changed.coef_[0], changed.alpha, changed._hidden_) == (1.0, 2.0, 1.0)


def test_a_generator_is_changed_item_by_item() -> None:
    assert list(mutants.mutate((x for x in (2.0, 4.0)), "x0.5", Tally())) == [1.0, 2.0]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the package that another one has imported a function from."""
    import sys

    first, second = ModuleType("dplit.first"), ModuleType("dplit.second")
    code = (
        "def f(x):\n    return 2.0 * x\n\n"
        "class C:\n    def predict(self):\n        return 4.0\n    @property\n"
        "    def size(self):\n        return 6.0\n"
        "    @staticmethod\n    def s():\n        return 8.0\n"
        "class D:\n    def __init__(self):\n        self.level = 2.0\n"
    )
    exec(code, first.__dict__)
    second.g = first.f  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dplit.first", first)
    monkeypatch.setitem(sys.modules, "dplit.second", second)
    return first


def halve(function: Any) -> Any:
    return mutants.wrap(function, "x0.5", Tally())


def test_a_mutant_stands_wherever_the_function_was_imported(module: ModuleType) -> None:
    import sys

    mutants.plant("dplit.first.f", halve)
    assert module.f(1.0) == 1.0
    assert sys.modules["dplit.second"].g(1.0) == 1.0


@pytest.mark.parametrize(
    ("hold", "call"),
    [
        (lambda f: functools.partial(f, 1.0), lambda held: held()),
        (lambda f: functools.partial(f, x=1.0), lambda held: held()),
        (lambda f: [len, f], lambda held: held[1](1.0)),
        (lambda f: (f, len), lambda held: held[0](1.0)),
        (lambda f: {"f": f, "other": len}, lambda held: held["f"](1.0)),
    ],
)
def test_a_mutant_stands_in_what_holds_the_function(
    module: ModuleType, hold: Any, call: Any
) -> None:
    held = hold(module.f)
    names = {"held": held, "other": [len], "text": "f"}
    mutants.plant("dplit.first.f", halve, [names])
    assert call(names["held"]) == 1.0
    assert type(names["held"]) is type(held)
    assert call(held) == 2.0  # a copy is changed, not what other namespaces hold
    assert (names["other"], names["text"]) == ([len], "f")


@pytest.mark.parametrize(
    ("target", "call", "expected"),
    [
        ("C.predict", lambda m: m.C().predict(), 2.0),
        ("C.size", lambda m: m.C().size, 3.0),
        ("C.s", lambda m: m.C().s(), 4.0),
        ("D.__init__", lambda m: m.D().level, 1.0),
    ],
)
def test_a_mutant_stands_in_a_class(
    module: ModuleType, target: str, call: Any, expected: float
) -> None:
    mutants.plant(f"dplit.first.{target}", halve)
    assert call(module) == expected


def test_what_is_mutated_of_a_class(module: ModuleType) -> None:
    assert mutants.targets("dplit.first.f") == ["dplit.first.f"]
    assert mutants.targets("dplit.first.C") == ["dplit.first.C.predict"]
    assert mutants.targets("dplit.first.D") == ["dplit.first.D.__init__"]


def test_watching_counts_and_changes_nothing() -> None:
    tallies = {kind: Tally() for kind in mutants.KINDS}
    watched = mutants.watch(lambda: (2.0, True), tallies)
    assert watched() == (2.0, True)
    assert {kind: tally.changed for kind, tally in tallies.items()} == {
        "x1.05": 1,
        "x0.5": 1,
        "not": 1,
    }


def baseline(outcome: str = "sound", called: int = 1, **changed: int) -> Verdict:
    kinds = {k: {"called": called, "changed": changed.get(k, 0)} for k in ("x0.5", "not")}
    return Verdict(Mutant("erm-a"), outcome, 0.1, {"dplit.f": kinds})


@pytest.mark.parametrize(
    ("seen", "kinds", "message"),
    [
        (baseline(**{"x0.5": 3}), ["x0.5"], None),
        (baseline(**{"x0.5": 3, "not": 1}), ["x0.5", "not"], None),
        (baseline("broken"), [], "erm-a: its tests fail without any mutant"),
        (baseline(called=0), [], "erm-a: its tests never call dplit.f"),
        (baseline(), [], "erm-a: dplit.f returns no number or truth value in its tests"),
    ],
)
def test_mutants_are_made_where_tests_can_tell(
    seen: Verdict, kinds: list[str], message: str | None
) -> None:
    found, told = mutate.mutants_of(seen)
    assert [mutant.kind for mutant in found] == kinds
    assert told == ([message] if message else [])


def test_the_report_names_survivors_and_fails() -> None:
    lines: list[str] = []
    killed = Verdict(Mutant("erm-a", "dplit.f", "x0.5"), "killed", 0.1, {})
    alive = Verdict(Mutant("erm-a", "dplit.f", "x1.05"), "survived", 0.1, {})
    assert mutate.report([killed], [], lines.append) == 0
    assert mutate.report([killed, alive], [], lines.append) == 1
    assert mutate.report([killed], ["erm-b has no tests"], lines.append) == 1
    assert "  erm-a: dplit.f x1.05 survived" in lines
    assert "1 of 2 mutants killed" in lines


def test_the_score_of_a_chapter_counts_all_its_claims_or_is_not_kept() -> None:
    """Kills a score of a part of a chapter, and survivors that count as killed."""
    slugs = {"erm-a": "erm", "erm-b": "erm", "proj-a": "projection"}
    verdicts = [
        Verdict(Mutant(claim, "dplit.f", "x0.5"), outcome, 0.1, {})
        for claim, outcome in (("erm-a", "killed"), ("erm-b", "survived"), ("proj-a", "killed"))
    ]
    both = {"mutants": 2, "killed": 1}
    one = {"mutants": 1, "killed": 1}
    assert mutate.scores(verdicts, slugs, list(slugs)) == {"erm": both, "projection": one}
    assert mutate.scores(verdicts[1:], slugs, ["erm-b", "proj-a"]) == {"projection": one}


LOOSE = """
@pytest.mark.claim("bet-thm1")
def test_double_is_positive() -> None:
    assert numbers.double(2.0) > 0
"""


@pytest.mark.build
@pytest.mark.weekly
def test_a_loose_test_lets_mutants_live_and_a_sharp_one_does_not(toy: Any) -> None:
    path = toy.path("tests/test_beta.py")
    head = path.read_text().partition("@pytest")[0]
    path.write_text(head + LOOSE)
    (toy.path("tests/conftest.py")).write_text("")
    done = toy.run("mutate")
    assert done.returncode == 1, done.stderr
    assert "2 of 4 mutants killed" in done.stdout
    assert "  bet-thm1: dplit.papers.beta.numbers.double x0.5 survived" in done.stdout
    assert "  bet-thm1: dplit.papers.beta.numbers.double x1.05 survived" in done.stdout
    assert toy.run("mutate", "alpha").returncode == 0
    kept = json.loads(toy.path("results/mutation.json").read_text())
    assert kept["beta"] == {"killed": 0, "mutants": 2}
    assert kept["alpha"] == {"killed": 2, "mutants": 2}  # and what beta came to stays


def test_unknown_names_are_refused() -> None:
    with pytest.raises(BuildError, match="NAME must be claims or chapters, got nothing"):
        mutate._chosen({"erm-a": {"slug": "erm"}}, ["nothing"])


def test_a_mutant_without_report_counts_as_killed() -> None:
    assert mutate._verdict(Mutant("erm-a", "dplit.f", "x0.5"), None, 1.0).outcome == "killed"
    assert mutate._verdict(Mutant("erm-a"), None, 1.0).outcome == "broken"
