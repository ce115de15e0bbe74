"""`make badges` breaks what a badge is about and says which change turns it red."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import badges, pairs
from scripts.badges import Bases, dependencies, read_cell
from scripts.files import write_json
from scripts.layout import Layout
from tests.build.conftest import Toy, make_toy

NUMBERS = '''

def line(n: int) -> np.ndarray:
    """Return 1, ..., n."""
    return np.arange(1.0, n + 1.0)


def is_even(n: int) -> bool:
    """Return whether n is even."""
    return n % 2 == 0


def draw(rng: np.random.Generator) -> float:
    """Return one draw."""
    return float(rng.normal())


@cache
def cached(x: float) -> float:
    """Return four times a number."""
    return 2.0 * double(x)


def positive(x: float) -> float:
    """Return a number, refused outside (0, 1]."""
    if not 0 < x <= 1:
        raise ValueError("x must be in (0, 1]")
    return 1.0 * x
'''
#: Claim, function, what its badge must see, and the cells that check it.
TOY: list[tuple[str, str, str | None, list[str]]] = [
    ("thm1", "double", "5 %", ['claim("alp-thm1").equal(numbers.double(2.0), 4.0, how="sum")']),
    (
        "coarse",
        "double",
        "factor 2",
        ['claim("alp-coarse").at_most(numbers.double(2.0), 7.0, how="a loose bound")'],
    ),
    (
        "blind",
        "double",
        None,
        ['claim("alp-blind").at_least(numbers.double(2.0), 0.0, how="positive")'],
    ),
    (
        "even",
        "is_even",
        "reversal",
        ['claim("alp-even").statement("2 is even", numbers.is_even(2), how="division")'],
    ),
    (
        "line",
        "line",
        "order",
        [
            "ends = numbers.line(3)[[0, -1]]",
            'claim("alp-line").at_most(ends[0], ends[1], how="a rise")',
        ],
    ),
    (
        "two",
        "double",
        "5 %",
        [
            'c = claim("alp-two")\nc.equal(numbers.double(1.0), 2.0, how="one")',
            'c.at_least(numbers.double(3.0), 0.0, how="another")',
        ],
    ),
    (
        "drawn",
        "draw",
        "5 %",
        [
            "rng = np.random.default_rng(1)",
            "first = numbers.draw(rng)",
            "second = numbers.draw(rng)",
            "sound = np.random.default_rng(1).normal(size=2)[1]\n"
            'claim("alp-drawn").equal(second, sound, how="the second draw of one generator")',
        ],
    ),
    (
        "cached",
        "double",
        "5 %",
        [
            "value = numbers.cached(5.0)",
            'claim("alp-cached").equal(numbers.cached(5.0), 20.0, how="remembered")',
        ],
    ),
    (
        "stops",
        "double",
        "factor 2",
        [
            "share = numbers.double(0.5)",
            'claim("alp-stops").at_least(numbers.positive(share), 0.9, how="x1.05 is refused")',
        ],
    ),
    ("unused", "is_even", None, ['claim("alp-unused").equal(1.0, 1.0, how="no function at all")']),
]


def make(toy: Toy) -> None:
    """Give the chapter alpha the claims and cells of the toy table."""
    imports = "annotations\n\nfrom functools import cache\n\nimport numpy as np\n"
    toy.edit("src/dplit/alpha/numbers.py", "annotations\n", imports)
    path = toy.path("src/dplit/alpha/numbers.py")
    path.write_text(path.read_text(encoding="utf-8") + NUMBERS, encoding="utf-8")
    toy.edit("notebooks/alpha.md", "from dplit.claims", "import numpy as np\nfrom dplit.claims")
    text = toy.path("notebooks/alpha.md").read_text(encoding="utf-8").partition("(alp-thm1)=")[0]
    entry = toy.path("src/dplit/alpha/claims.yml").read_text(encoding="utf-8")
    entries = []
    for name, function, _, cells in TOY:
        text += f"\n(alp-{name})=\nText.\n"
        text += "".join(f"\n```{{code-cell}} ipython3\n{c}\n```\n\nMore text.\n" for c in cells)
        here = entry.replace("alp-thm1", f"alp-{name}").replace(
            "numbers.double", f"numbers.{function}"
        )
        here += "  blind: the order is all that it states\n" if name == "line" else ""
        entries.append(here)
    toy.path("notebooks/alpha.md").write_text(text, encoding="utf-8")
    toy.path("src/dplit/alpha/claims.yml").write_text("".join(entries), encoding="utf-8")
    pairs.sync(Layout(toy.root))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Toy, str]:
    toy = make_toy(tmp_path_factory.mktemp("badges") / "repository")
    make(toy)
    done = toy.run("badges", "alpha")
    assert done.returncode == 1, done.stdout + done.stderr
    return toy, done.stdout


@pytest.fixture(scope="module")
def written(measured: tuple[Toy, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(measured[0].path("results/alpha.badges.json").read_text())
    return found


@pytest.mark.parametrize(("name", "function", "expected"), [row[:3] for row in TOY])
def test_a_badge_sees_what_it_sees(
    written: dict[str, Any], name: str, function: str, expected: str | None
) -> None:
    told = written[f"alp-{name}"]
    assert told.get("fault") is None
    assert told["resolution"] == expected
    assert told["functions"] == {f"dplit.alpha.numbers.{function}": expected}


def test_a_badge_sees_changes_inside_a_function_that_its_cells_call(
    written: dict[str, Any],
) -> None:
    """Kills mutants that are not planted, and those of functions that are not called."""
    inside = {name: tuple(written[f"alp-{name}"]["arithmetic"]) for name, *_ in TOY}
    assert inside["unused"] == (0, 0)
    assert all(seen <= tried <= badges.ARITHMETIC for seen, tried in inside.values())
    doubled = [inside[name] for name, function, *_ in TOY if function == "double"]
    assert max(seen for seen, _ in doubled) >= 3


@pytest.fixture
def bases(measured: tuple[Toy, str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], Bases]:
    for name in ("DPLIT_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DPLIT_CACHE", str(measured[0].root / "no_cache"))
    return lambda: Bases(Layout(measured[0].root), "alpha")


def test_what_was_measured_on_is_written_and_is_no_part_of_it(
    bases: Callable[[], Bases], written: dict[str, Any]
) -> None:
    now = bases()
    assert all(one["digest"] == now.digest(i, one["mutable"]) for i, one in written.items())
    assert all(one["digest"] for one in written.values())


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ('how="remembered"', 'how="not remembered"', {"alp-cached"}),
        ("numbers.double(0.5)", "numbers.double(0.6)", {"alp-stops"}),
        ("More text.", "Other text.", set()),
    ],
)
def test_a_change_of_one_cell_makes_its_own_badge_stale(
    measured: tuple[Toy, str], bases: Callable[[], Bases], written: dict[str, Any],
    old: str, new: str, stale: set[str],
) -> None:  # fmt: skip
    toy = measured[0]
    path = toy.path("notebooks/alpha.ipynb")
    before = path.read_text(encoding="utf-8")
    quoted = [json.dumps(part)[1:-1] for part in (old, new)]
    assert quoted[0] in before
    try:
        path.write_text(before.replace(*quoted), encoding="utf-8")
        now = bases()
        found = {i for i, one in written.items() if one["digest"] != now.digest(i, one["mutable"])}
    finally:
        path.write_text(before, encoding="utf-8")
    assert found == stale


def test_the_build_reads_resolutions_until_what_is_below_them_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Now:
        def __init__(self, *_: object) -> None: ...

        def holds(self, claim: str, told: dict[str, Any]) -> bool:
            now = {"a": "1", "b": "1", "c": "1", "d": "2"}[claim] + "".join(told["mutable"])
            return bool(told["digest"] == now)

    monkeypatch.setattr(badges, "Bases", Now)
    layout = Layout(tmp_path)
    assert badges.resolutions(layout, "toy") == {}
    seen: dict[str, Any] = {"a": "5 %", "b": None, "c": None, "d": "5 %"}
    told = {
        key: {"resolution": value, "functions": {}, "digest": "1x", "mutable": ["x"]}
        for key, value in seen.items()
    }
    told["c"] |= {"fault": "not run"}
    told["a"] |= {"arithmetic": [3, 8]}
    write_json(tmp_path / "results" / "toy.badges.json", told)
    assert badges.resolutions(layout, "toy") == {
        "a": {"resolution": "5 %", "arithmetic": [3, 8]},
        "b": {"resolution": "blind", "arithmetic": [0, 0]},
    }


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(
    measured: tuple[Toy, str], written: dict[str, Any]
) -> None:
    toy = measured[0]
    path = toy.path("results/alpha.badges.json")
    claims = dict(written)
    del claims["alp-coarse"]
    write_json(path, claims)
    done = toy.run("badges", "alpha")
    told = re.findall(r"^  (alp-\S+) +(?:5 %|factor 2)(?:  |$)", done.stdout, re.MULTILINE)
    assert told == ["alp-coarse"], done.stdout + done.stderr
    assert json.loads(path.read_text()) == written


def test_blind_badges_are_named_and_counted(measured: tuple[Toy, str]) -> None:
    said = measured[1]
    double, even = "dplit.alpha.numbers.double", "dplit.alpha.numbers.is_even"
    assert f"alp-blind is blind to {double}: its changes are not seen" in said
    assert f"alp-unused is blind to {even}: its cells never call it" in said
    assert "alp-blind: blind (no reason is given)" in said
    assert "alp-line: order (the order is all that it states)" in said
    assert "alp-even: reversal (a truth value has no finer change)" in said
    assert f"6 of {len(TOY)} badges see a factor 2 or less" in said
    assert "\nalp-coarse, alp-blind, alp-stops, alp-unused: mend the check" in said


@pytest.mark.parametrize(
    ("told", "code", "message"),
    [
        ({"resolution": "5 %"}, 0, "1 of 1 badges"),
        ({"resolution": "factor 2"}, 1, "a: factor 2 (no reason is given)"),
        ({"resolution": None}, 1, "a: blind (no reason is given)"),
        ({"resolution": "reversal"}, 1, "a: reversal (no reason is given)"),
        ({"resolution": "reversal", "finest": "reversal"}, 0, "a truth value has no finer change"),
        ({"resolution": None, "fault": "not run"}, 0, "a: blind (not run)"),
        ({"resolution": None, "fault": "red unbroken: a check fails"}, 1, "(red unbroken: a"),
        ({"resolution": "5 %", "blind_to": {"dplit.f": "why"}}, 0, "a is blind to dplit.f: why"),
    ],
)
@pytest.mark.parametrize("blind", [None, "a sign"])
def test_a_badge_that_sees_too_little_fails_unless_its_claim_says_why(
    told: dict[str, Any], code: int, message: str, blind: str | None
) -> None:
    lines: list[str] = []
    whole = {"finest": "5 %", "functions": {}, "blind_to": {}, **told}
    found = badges.report({"a": whole}, {"a": {"blind": blind}}, lines.append)
    if blind and not told.get("fault"):
        code, message = 0, message.replace("no reason is given", blind)
        message = message.replace("a truth value has no finer change", blind)
    assert found == code
    assert message in "\n".join(lines)


def test_one_claim_is_measured_alone_and_nothing_is_written(measured: tuple[Toy, str]) -> None:
    toy = measured[0]
    before = toy.path("results/alpha.badges.json").read_bytes()
    done = toy.run("badges", "alpha", "alp-coarse")
    assert "1 of 1 badges see a factor 2 or less" in done.stdout
    assert toy.path("results/alpha.badges.json").read_bytes() == before
    done = toy.run("badges", "alpha", "alp-nothing")
    assert done.returncode != 0
    assert "alp-nothing" in done.stderr


def test_a_chapter_that_fails_is_said_with_its_cell(measured: tuple[Toy, str]) -> None:
    toy = measured[0]
    toy.rewrite("glue_numbers(bet_double", "1 / 0\nglue_numbers(bet_double", "beta")
    done = toy.run("badges", "beta")
    assert done.returncode != 0
    assert "beta: code cell 3 failed: ZeroDivisionError" in done.stderr
    assert not toy.path("results/beta.badges.json").exists()


def test_dependencies_are_followed_by_names() -> None:
    sources = ["p = 1", "run = p", "a = 1", "b = a", "x = [0]", "x[0] = b", "y = 2", "z = x[0]"]
    cells = [read_cell(source) for source in sources]
    assert dependencies(cells, 7, {"x"}) == [2, 3, 4, 5, 7]
    assert dependencies(cells, 7, ()) == [4, 7]
    assert dependencies(cells, 6, ()) == [6]
    again = [*cells[:4], read_cell("x = [1]"), *cells[5:]]
    assert dependencies([*again, read_cell("x = [2]"), cells[7]], 9, {"x"}) == [8, 9]
    cells[0] = read_cell("b = 3")  # a parameter is never made again
    assert dependencies(cells, 7, {"x"}) == [4, 5, 7]


@pytest.mark.parametrize(
    ("source", "reads", "sets"),
    [
        ("x = 1\ny = x + z", {"z"}, {"x", "y"}),
        ("x = x + 1", {"x"}, {"x"}),
        ("y = [k * z for k in range(3)]", {"z"}, {"y"}),
        ("def f(k):\n    return k + z", {"z"}, {"f"}),
        ("for k in range(3):\n    total = k\nprint(k, total)", {"k", "total"}, {"k", "total"}),
        ("import numpy as np\nnp.sum(a)", {"a"}, {"np"}),
        ("tail = lambda t: t + shift", {"shift"}, {"tail"}),
    ],
)
def test_what_a_cell_reads_is_what_it_has_not_set(
    source: str, reads: set[str], sets: set[str]
) -> None:
    """Kills slices with each cell whose comprehension happens to use the same letter."""
    cell = read_cell(source)
    assert (cell.reads, cell.sets) == (reads, sets)


def test_what_a_cell_changes() -> None:
    cell = read_cell("x[0] = 1\ny.z = 2\nrows.append(3)\nnew = []\nnew.append(4)")
    assert cell.changes == {"x", "y", "rows", "new"}
    assert cell.reads == {"x", "y", "rows"}


def test_the_finer_of_two_resolutions() -> None:
    assert badges._finer("factor 2", "5 %") == "5 %"
    assert badges._finer(None, "order") == "order"
    assert badges._finer(None, None) is None
