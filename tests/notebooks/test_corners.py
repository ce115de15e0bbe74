"""Every chapter at the corners of its parameters: it runs, or the rule that it prints refuses."""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest

from dplit.notebook import cells as notebook_cells
from dplit.notebook.cells import Between
from scripts.execute import environment
from scripts.layout import Layout
from tests.cells import dependencies, read_cell

LAYOUT = Layout(Path(__file__).resolve().parents[2])
#: Lowest and highest values where the ends of a range are open or far: budgets from one that says
#: nothing to one that protects nothing, delta down to where floats end.
ENDS = {"epsilon": ((0.01,), (50.0,)), "delta": ((1e-15, 1e-300), (0.4999,))}
ROWS = 6
CHAPTERS = [slug for slug in LAYOUT.names() if slug != "audits"]  # it has no parameters of its own


def covering_array(factors: int) -> list[tuple[int, ...]]:
    """Return six rows of zeros and ones in which every two columns show all four pairs.

    After Kleitman and Spencer (1973): a row of zeros, below it columns with three ones in five.
    """
    columns = list(itertools.islice(itertools.combinations(range(5), 3), factors))
    if len(columns) < factors:
        raise ValueError(f"factors must be at most 10, got factors={factors}")
    return [(0,) * factors] + [tuple(int(k in c) for c in columns) for k in range(5)]


def levels(name: str, rule: Between) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the lowest and the highest values of a parameter that are tried."""
    low, high = rule.low, rule.high
    width = high - low
    ends = (
        low if rule.closed_low else low + 1e-4 * width,
        high if rule.closed_high else high - 1e-3 * width,
    )
    found = tuple(
        tuple(v for v in ENDS.get(name, ((), ()))[k] if v in rule) or (ends[k],) for k in (0, 1)
    )
    return found[0], found[1]


def sources(slug: str) -> list[str]:
    notebook = nbformat.read(LAYOUT.notebooks / f"{slug}.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def driven(source: str, names: set[str], *, bare: bool) -> bool:
    """Whether a cell reads a chapter's own parameter, as ``run.name`` or in a lesson ``name``."""
    return any(
        (isinstance(x, ast.Attribute) and x.attr in names and ast.unparse(x.value) == "run")
        or (bare and isinstance(x, ast.Name) and x.id in names)
        for x in ast.walk(ast.parse(source))
    )


def slice_of(sources: Sequence[str], names: set[str]) -> list[str]:
    """Return the cells that the parameters drive, and all that these need, in order."""
    bare = "lesson_parameters(" in sources[1]
    cells = [read_cell(source) for source in sources]
    mutable = frozenset[str]().union(*(cell.changes for cell in cells))
    kept = {0, 1}
    for at, source in enumerate(sources):
        if at > 1 and driven(source, names, bare=bare):
            kept |= set(dependencies(cells, at, mutable))
    return [sources[k] for k in sorted(kept)]


def rules_of(slug: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Between]:
    """Return the rules of a chapter's numbers, as its own cell states them."""
    told: dict[str, Any] = {}
    plain = notebook_cells._table_of

    def table(declared: Any, rules: dict[str, Any]) -> str:
        told.update(rules)
        return plain(declared, rules)

    monkeypatch.setattr(notebook_cells, "_table_of", table)
    cells = sources(slug)
    monkeypatch.setattr(notebook_cells, "_executed_cells", lambda: cells[:1])
    exec("\n".join(cells[:2]), {})
    common = set(notebook_cells._COMMON)
    return {k: rule for k, rule in told.items() if isinstance(rule, Between) and k not in common}


def corners(rules: dict[str, Between], cells: Sequence[str]) -> Iterator[dict[str, float]]:
    """Yield six settings that show every two parameters at all four of their corners."""
    whole = {name for name in rules if any(f"{name}: int" in cell for cell in cells)}
    for k, row in enumerate(covering_array(len(rules))):
        values = {
            name: levels(name, rule)[end]
            for (name, rule), end in zip(rules.items(), row, strict=True)
        }
        chosen = {name: found[k % len(found)] for name, found in values.items()}
        yield {name: int(v) if name in whole else v for name, v in chosen.items()}


RUN = """
import json, sys
sys.path.insert(0, {root!r})
import matplotlib
matplotlib.use("Agg")
from IPython.core.interactiveshell import InteractiveShell
from dplit.notebook import claims
shell = InteractiveShell.instance()
def publish(data, metadata=None, **_):
    figure = (metadata or {{}}).get("dplit", {{}}).get("figure", {{}})
    print(figure.get("caption", ""), data.get("text/plain", ""), sep="\\n")
shell.display_pub.publish = publish
for cell in json.loads(sys.stdin.read()):
    result = shell.run_cell(cell, store_history=True)
    if result.error_in_exec is not None or result.error_before_exec is not None:
        print("ERROR", type(result.error_in_exec or result.error_before_exec).__name__)
        sys.exit(1)
found = claims.shown_records().items()
print("FAILED", *(i for i, record in found if record["status"] == "failed"))
"""


def run_cells(cells: Sequence[str], values: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Run cells with other parameters in a process of their own.

    Returns the last line, "FAILED" and the claims that failed, or "ERROR" and its kind; and all
    that was said.
    """
    declares = next(k for k, c in enumerate(cells) if ": float =" in c or "scale: str" in c)
    injected = "\n".join(["# Parameters", *(f"{k} = {v!r}" for k, v in values.items())])
    ran = subprocess.run(
        [sys.executable, "-c", RUN.format(root=str(LAYOUT.root))],
        input=json.dumps([*cells[: declares + 1], injected, *cells[declares + 1 :]]),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(LAYOUT),
    )
    return (ran.stdout.strip().splitlines() or [""])[-1], ran.stdout + ran.stderr


#: What no reader of a lesson should meet, whatever the parameters.
FAULTS = {
    "a plural of one": r"(?<![\d.,:=^/-])\b1 "
    r"(?!(?:as|does|ends|has|is|less|minus|plus|times|was)\b)[a-z]+[^s\W]s\b",
    "a number that has lost its digits": r"(?<![\d.])-?0\.0{4,}(?!\d)",
    "not a number": r"(?i)(?<![\w-])(?:nan|inf)(?![\w-])",
    "odds in floating point": r"\bonce in \d[\d.]*e\+",
    "a chance that has lost its digits": r"\b(?:probability|loudness)(?: of)? 0\.0+(?!\d)",
    "thousands that run together": r"(?<![\d.,+=e-])\d{5,}(?= [a-z]+s\b)",
}
_NUMBER = r"(-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?)"


def _value(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))


class Pair(NamedTuple):
    """A sentence and the numbers beside it: what must hold wherever the pattern is found.

    ``right`` and ``wrong`` are examples of both.
    """

    slug: str
    pattern: str
    holds: Callable[..., bool]
    right: str
    wrong: str


def _highest(row: str, said: str) -> bool:
    scores = [_value(v) for v in re.findall(_NUMBER, row)]
    return scores[SWEPT.index(int(said))] == max(scores) if int(said) in SWEPT else True


SWEPT = (2, 3, 4, 6, 8, 12, 32)
PAIRS = [
    Pair(
        "",
        rf"(?<![\w.]){_NUMBER} of {_NUMBER}(?![\w.])",
        lambda a, b: _value(a) <= _value(b),
        "wins in 0 of 120",
        "wins in 121 of 120",
    ),
    Pair(
        "",
        rf"\bdelta(?: of)? {_NUMBER}([^\n]*no promise)?",
        lambda d, warned: _value(d) <= 1 or bool(warned),
        "delta 1.8 (1 or more: no promise at all)",
        "delta 1.8e+39",
    ),
    Pair(
        "",
        rf"(?i)\bprobability(?: of)? {_NUMBER}(?!\s*%|\d)",
        lambda p: _value(p) <= 1,
        "with probability 5e-11",
        "with probability 1.2",
    ),
    Pair(
        "basics",
        rf"spends at least {_NUMBER}, claims {_NUMBER}: (not )?refuted",
        lambda least, claim, no: (_value(least) > _value(claim)) != bool(no),
        "spends at least 0.4, claims 0.5: not refuted",
        "spends at least 0.6, claims 0.5: not refuted",
    ),
    Pair(
        "basics",
        rf"(?m)^ +\d+ +{_NUMBER} +{_NUMBER} +{_NUMBER}  (Gaussian|Laplace)$",
        lambda _, own, bell, least: (
            _value(bell) <= _value(own) if least == "Gaussian" else _value(bell) >= _value(own)
        ),
        "       1    5.657           5.657     16.12  Laplace",
        "       1    5.657           5.657     16.12  Gaussian",
    ),
    Pair(
        "basics",
        rf"the textbooks: {_NUMBER}(, which is too little)?",
        lambda ratio, short: _value(ratio) <= 1 if short else _value(ratio) >= 1,
        "the textbooks: 0.93, which is too little here",
        "the textbooks: 0.93",
    ),
    Pair(
        "erm",
        r"noise up to (\d+) (questions?)\b",
        lambda n, word: (n == "1") == (word == "question"),
        "have less noise up to 1 question",
        "have less noise up to 1 questions",
    ),
    Pair(
        "face_off",
        r"drawn with probability (\d+)%",
        lambda share: 50 <= int(share) <= 100,
        "the model with more points is drawn with probability 73%",
        "the model with more points is drawn with probability 40%",
    ),
    Pair(
        "face_off",
        r"(?m)^(?:your budget|three times the noise) +"
        r"((?:-?[\d.]+ +){7})highest: (\d+)",
        _highest,
        "your budget   0.26 0.4 0.5 0.6 0.65 0.6 0.3  highest: 8",
        "your budget   0.26 0.4 0.5 0.6 0.65 0.6 0.3  highest: 2",
    ),
    Pair(
        "sketching",
        rf"loudness {_NUMBER}, the rule asks for {_NUMBER};"
        rf" waves {_NUMBER} kd, it asks for {_NUMBER} kd\n(both limits are kept)?",
        lambda loud, least, waves, few, both: (
            (_value(loud) >= _value(least) and _value(waves) >= _value(few)) == bool(both)
        ),
        "loudness 15.2, the rule asks for 8; waves 10.0 kd, it asks for 6 kd\nboth limits are kept",
        "loudness 15.2, the rule asks for 8; waves 1.7 kd, it asks for 6 kd\nboth limits are kept",
    ),
]


def faults(slug: str, told: str) -> list[str]:
    """Return what a reader should not meet in the outputs of a lesson."""
    found = [
        f"{name}: {match.group()}"
        for name, pattern in FAULTS.items()
        for match in re.finditer(pattern, told)
    ]
    for pair in PAIRS:
        if pair.slug in ("", slug):
            found += [
                f"a sentence contradicts its number: {match.group()}"
                for match in re.finditer(pair.pattern, told)
                if not pair.holds(*match.groups())
            ]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "1 questions see 0.7",
        "from 1 groups",
        "a scale of 0.0000",
        "it costs nan",
        "once in 1.97e+10",
        "two or more with probability 0.000",
        "the curve of 100000 patients",
    ],
)
def test_a_fault_of_the_page_is_seen(text: str) -> None:
    """Each stood on a page at a legal corner. Kills a pattern that finds nothing."""
    assert len(faults("toy", text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "1 question",
        "21 questions",
        "0.1 seconds",
        "1 is not a prime",
        "0.00001",
        "10.0000",
        "1 less",
        "banana, infinite",
        "once in 97",
        "delta 1e-06",
        "1 across",
        "probability 0.005",
        "1,000 patients of 100,000",
    ],
)
def test_a_plain_page_has_no_faults(text: str) -> None:
    assert faults("toy", text) == []


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.right for pair in PAIRS])
def test_a_sentence_is_held_against_its_number(pair: Pair) -> None:
    """Kills a pattern that does not reach its sentence, and a relation that is turned round."""
    assert re.search(pair.pattern, pair.right)
    assert faults(pair.slug, pair.right) == []
    assert any("contradicts" in fault for fault in faults(pair.slug, pair.wrong))


def test_six_rows_show_all_pairs() -> None:
    """Kills a row that is lost, and a column that repeats another."""
    for factors in range(2, 11):
        rows = covering_array(factors)
        assert len(rows) == ROWS
        for a, b in itertools.combinations(range(factors), 2):
            assert {(row[a], row[b]) for row in rows} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_slice_holds_what_the_parameters_drive_and_what_that_needs() -> None:
    """Kills a slice without the cell that binds, or the one that changes, what is needed."""
    cells = [
        "epsilon: float = 1.0",
        "import numpy as np\nrun = check_parameters('toy', globals())",
        "a = np.ones(3)",
        "b = [x for x in (1, 2)]",
        "a[0] = 2",
        "b = 4",
        "c = a * run.epsilon",
        "d = a",
    ]
    assert slice_of(cells, {"epsilon"}) == [cells[k] for k in (0, 1, 2, 4, 6)]


def test_what_would_take_hours_is_refused_by_the_first_cells(tmp_path: Path) -> None:
    """Also kills a runner that finds no error."""
    cells = slice_of(sources("margin_supplement"), {"n_samples", "n_features"})
    last, told = run_cells(cells, {"n_samples": 20_000, "n_features": 5000}, tmp_path)
    assert last == "ERROR ParameterError"
    assert "n_samples times n_features must be at most 10,000,000" in told
    assert run_cells(["x: float = 1.0", "x / 0"], {}, tmp_path)[0] == "ERROR ZeroDivisionError"


@pytest.mark.weekly
@pytest.mark.parametrize("slug", CHAPTERS)
def test_every_corner_runs_or_is_refused(
    slug: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kills a legal value at which a later cell stops, rules that let no corner run, and in lessons
    a sentence, label or number that only the default's reader can read."""
    rules = rules_of(slug, monkeypatch)
    monkeypatch.undo()
    cells, table = sources(slug), {}
    kept = slice_of(cells, set(rules))
    (tmp_path / "results").symlink_to(LAYOUT.root / "results")  # of the maps that lessons draw
    if slug == "face_off_supplement":  # a reader's table
        rows = [f"{20 + k % 79},{k % 9}" for k in range(60)]
        (tmp_path / "mine.csv").write_text("\n".join(["age,cost", *rows]) + "\n")
        table = {"file": "mine.csv", "bounds": '{"age": [20, 99], "cost": [0, 9]}'}
        kept, rules["n_clusters"] = cells, Between(1, 20, True, True)  # more than records: warned
    ran = 0
    for values in corners(rules, cells):
        last, told = run_cells(kept, {**values, **table}, tmp_path)
        assert last in ("FAILED", "ERROR ParameterError"), f"{values}: {told[-3000:]}"
        assert slug not in LAYOUT.lessons() or faults(slug, told) == [], values
        ran += last == "FAILED"
    assert ran  # a chapter that refuses every corner has wrong rules


@pytest.mark.weekly
def test_audits_fail_as_seldom_as_they_say(tmp_path: Path) -> None:
    """Thirty seeds, each of which fails with probability at most 1e-4: two or more failures have
    probability below 1e-5. Kills a check whose false alarms or misses are not rare."""
    failed = {}
    for seed in range(1, 31):
        last, told = run_cells(sources("audits"), {"seed": seed}, tmp_path)
        assert last.startswith("FAILED"), told[-3000:]
        if last != "FAILED":
            failed[seed] = last
    assert len(failed) <= 1, failed
