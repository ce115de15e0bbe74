"""What a digest of code keeps: all that may change a number, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.reach import Reach, _says_only, reach_of

NOTEBOOK = """
from p.a import f, Shape
from p import tools

print(f(2), tools.inner.late(3), Shape().area)
"""

FILES = {
    "__init__.py": "",
    "__init__.pyi": "from p.a import f as f\n",
    "a.py": """'Prose.'
import numpy as np
from p.b import g, unused
from p.tools import inner

__all__ = ["f"]
LIMIT = 3
registry = {}
registry["f"] = 1

def f(x, *, y=1):
    "More prose."
    from p.lazy import h
    return g(x) + h(y) + LIMIT + np.sum(x) + inner.late(1)

class Shape:
    @property
    def area(self):
        return _side() ** 2

def _side():
    return 4

def idle():
    return 5
""",
    "b.py": "def g(x):\n    return 2 * x\n\ndef unused(x):\n    return 2 * x\n",
    "lazy.py": "def h(y):\n    return y\n",
    "other.py": "def g(x):\n    return 3 * x\n\ndef h(y):\n    return y\n",
    "tools/__init__.py": "from . import inner\n",
    "tools/inner.py": "from .deep import late\n",
    "tools/deep.py": "def late(z):\n    return z\n",
}


def digests(folder: Path, files: dict[str, str], notebook: str = NOTEBOOK) -> list[str]:
    for name, text in files.items():
        (folder / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "p" / name).write_text(text)
    return sorted(Reach(folder / "p").digests([notebook]).values())


def changed(tmp_path: Path, name: str, old: str, new: str) -> bool:
    assert old in FILES[name]
    before = digests(tmp_path / "before", FILES)
    again = {**FILES, name: FILES[name].replace(old, new)}
    return digests(tmp_path / "after", again) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.py", "'Prose.'", "'Other prose.'"),
        ("a.py", "More prose.", "Less."),
        ("a.py", '__all__ = ["f"]', "__all__ = []"),
        ("a.py", "return 5", "return 6  # which nobody asks for"),
        ("a.py", "g, unused", "unused, g"),
        ("a.py", "_side", "side"),
        ("a.py", "+ LIMIT", "+ (LIMIT)"),
        ("a.py", "import numpy as np", "import numpy as np\nimport json"),
        ("a.py", "from p.lazy", "from p.other"),  # the same definition, elsewhere
        ("b.py", "def unused(x):\n    return 2", "def unused(x):\n    return 4"),
        ("b.py", "    return 2 * x\n\nd", "    record_draw(unused(x))\n    return 2 * x\n\nd"),
    ],
)
def test_what_changes_no_number_changes_no_digest(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    assert not changed(tmp_path, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.py", "y=1", "y=2"),
        ("a.py", "*, y", "y"),
        ("a.py", "LIMIT = 3", "LIMIT = 4"),
        ("a.py", "return 4", "return 5"),
        ("a.py", "** 2", "** 3"),
        ("a.py", 'registry["f"] = 1', 'registry["f"] = 2'),  # runs on import
        ("a.py", "from p.b import g", "from p.other import g"),  # another definition
        ("a.py", "from p.b import g, unused", "from p.b import unused as g"),
        ("a.py", "import numpy as np", "import math as np"),
        ("b.py", "2 * x\n\ndef", "2 + x\n\ndef"),
        ("b.py", "    return 2 * x\n\nd", "    print(record_draw(x))\n    return 2 * x\n\nd"),
        ("b.py", "    return 2 * x\n\nd", "    x = record_draw(x)\n    return 2 * x\n\nd"),
        ("lazy.py", "return y", "return -y"),
        ("tools/deep.py", "return z", "return -z"),
        ("tools/inner.py", "from .deep import late", "from p.lazy import h as late"),
    ],
)
def test_what_may_change_a_number_changes_the_digest(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    assert changed(tmp_path, name, old, new)


def test_moved_definitions_have_the_digests_that_they_had(tmp_path: Path) -> None:
    """Kills digests that hold a module's name, and names that are followed one file deep."""
    moved = dict(FILES)
    moved["room/__init__.py"] = "from .hall import LIMIT, Shape, f\n"
    moved["room/hall.py"] = moved.pop("a.py").replace(
        "from p.b import g, unused", "from p.c import g"
    )
    moved["c.py"] = moved.pop("b.py")
    notebook = NOTEBOOK.replace("p.a", "p.room")
    assert digests(tmp_path / "new", moved, notebook) == digests(tmp_path / "old", FILES)


def test_names_that_a_package_fetches_when_asked_are_found_in_its_stub(tmp_path: Path) -> None:
    digests(tmp_path, FILES)
    found = Reach(tmp_path / "p").digests(["from p import f\nf(1)"])
    assert {"p.a.f", "p.a.LIMIT", "p.b.g", "p.lazy.h", "p.tools.deep.late"} <= found.keys()
    assert "p.a.Shape" not in found


def test_a_reach_is_kept_until_a_file_changes(tmp_path: Path) -> None:
    """Kills a reach that is read anew each time, and one that outlives an edit of its files."""
    digests(tmp_path, FILES)
    package = tmp_path / "p"
    before, told = reach_of(package), reach_of(package).digests([NOTEBOOK])
    assert reach_of(package) is before
    (package / "b.py").write_text(FILES["b.py"].replace("2 * x", "4 * x"))
    edited = reach_of(package).digests([NOTEBOOK])
    assert edited == Reach(package).digests([NOTEBOOK]) != told
    (package / "b.py").write_text(FILES["b.py"])
    assert reach_of(package).digests([NOTEBOOK]) == told


def test_names_are_followed_beside_code(tmp_path: Path) -> None:
    digests(tmp_path, FILES)
    found = Reach(tmp_path / "p").digests([], ["p.a.Shape.area", "p.tools.inner.late"])
    assert {"p.a.Shape", "p.a._side", "p.tools.deep.late"} <= found.keys()
    assert "p.a.f" not in found


def test_a_module_that_is_handed_on_counts_as_a_whole(tmp_path: Path) -> None:
    digests(tmp_path, FILES)
    found = Reach(tmp_path / "p").digests(["from p import b\nprint(vars(b))"])
    assert {"p.b.g", "p.b.unused"} <= found.keys()


def test_what_a_ledger_is_told_changes_nothing_and_draws_nothing(root: Path) -> None:
    """Digests pass these statements by: kills a value that is bound, filled or drawn in one."""
    told = [
        line
        for path in (root / "src").rglob("*.py")
        for line in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(line, ast.Expr) and _says_only(line) and isinstance(line.value, ast.Call)
    ]
    assert len(told) > 25
    for line in told:
        for node in ast.walk(line):
            assert not isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield)), ast.unparse(line)
            assert getattr(node, "arg", "") != "out", ast.unparse(line)
            name = getattr(node, "id", "") + getattr(node, "attr", "")
            assert name.lstrip("_") not in ("rng", "generator"), ast.unparse(line)
