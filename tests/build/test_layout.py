"""Names of notebooks: a paper's slug is its lesson, its record is the supplement."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import book, runs
from scripts.files import BuildError
from scripts.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A paper with a lesson, one without, a chapter of ours, and the lesson before all."""
    (tmp_path / "notebooks").mkdir()
    for name in ("basics", "taught", "taught_supplement", "waiting_supplement", "ours"):
        (tmp_path / "notebooks" / f"{name}.md").write_text("")
    return Layout(tmp_path)


def test_what_teaches_and_what_records(layout: Layout) -> None:
    """Kills a lesson that is archived, and a record that is held to a lesson's measures."""
    assert layout.lessons() == ["basics", "taught"]
    assert layout.recorded() == ["ours", "taught_supplement", "waiting_supplement"]
    assert [layout.record(s) for s in ("ours", "taught")] == ["ours", "taught_supplement"]
    assert layout.archive("taught_supplement") == layout.results / "taught.json"


def test_a_slug_names_its_record_where_one_is_wanted(layout: Layout) -> None:
    assert layout.check_recorded("taught") == "taught_supplement"
    assert layout.check_recorded("taught_supplement") == "taught_supplement"
    with pytest.raises(BuildError, match="basics is a lesson: it records no claims"):
        layout.check_recorded("basics")


def test_a_slug_without_a_lesson_names_its_supplement(layout: Layout) -> None:
    assert layout.check_name("taught") == "taught"
    assert layout.check_name("waiting") == "waiting_supplement"
    refused = r"NAME must be a chapter \(basics, ours, .*got NAME='x'"
    for command in (
        lambda: runs.chapter(layout, "x", [], print),
        lambda: book.preview(layout, "x", print),
    ):
        with pytest.raises(BuildError, match=refused):
            command()
