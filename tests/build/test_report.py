"""The report of sizes, on a repository small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

from scripts import report
from scripts.layout import Layout

SOURCE = '"""Toy."""\n\n\nclass C:\n    def f(self, a, *, b=1):\n        # why\n        return a\n'


def test_sizes_are_printed_and_none_of_them_fails(tmp_path: Path) -> None:
    """Kills lines of docstrings and comments that count as code, and ``self`` as a parameter."""
    for name, text in {
        "src/dplit/toy/rooms.py": SOURCE,
        "tests/toy/test_rooms.py": "def test_f():\n    assert True\n",
        "scripts/a.py": "KIND = 'application/vnd.dplit.claim+json'\n",
        "Makefile": "book: environment ## build\n",
        "pyproject.toml": '[x]\nmarkers = [\n  "site: x",\n]\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    said: list[str] = []
    report.main(Layout(tmp_path), said.append)
    rows = {line.rpartition("  ")[0].strip(): line.split() for line in "\n".join(said).split("\n")}
    lines = [line.split() for line in "\n".join(said).split("\n")]
    assert ["src/dplit/toy", "1", "3", "1", "1", "0"] in lines
    assert ["tests", "1", "2", "0", "0", "1"] in lines
    assert ["src/dplit/toy/rooms.py:", "f", "2"] in lines
    assert rows["kinds of output"][-1] == rows["marks of tests"][-1] == "1"
