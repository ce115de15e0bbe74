"""A lesson that runs far from the project says in its first cell which files it will ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dplit.notebook import lesson_parameters, lessons

_NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.md"))


def test_the_results_that_lessons_need_are_those_that_they_load() -> None:
    """Kills a lesson that fails in its last cells, a minute after it was started."""
    asked = {
        path.stem: tuple(dict.fromkeys(re.findall(r'load_results\("(\w+)"\)', path.read_text())))
        for path in _NOTEBOOKS
    }
    assert {slug: names for slug, names in asked.items() if names} == lessons._NEEDS
    calls = sum(len(re.findall(r"load_results\(", path.read_text())) for path in _NOTEBOOKS)
    literal = sum(len(re.findall(r'load_results\("', path.read_text())) for path in _NOTEBOOKS)
    assert calls == literal


@pytest.mark.parametrize("slug", sorted(lessons._NEEDS))
def test_a_lesson_in_another_folder_names_its_files_first(
    slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"{slug} draws from results/\w+.json.* --cwd "):
        lesson_parameters(slug, {}, cells=[])
    (tmp_path / "results").mkdir()
    for name in lessons._NEEDS[slug]:
        (tmp_path / "results" / f"{name}.json").write_text("{}")
    lesson_parameters(slug, {}, cells=[])
