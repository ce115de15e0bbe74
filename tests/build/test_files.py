"""Files are written whole or not at all; digests see every change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import files
from scripts.files import BuildError


def test_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "page.md"
    files.write_text(path, "first, and longer\n")
    files.write_text(path, "second\n")
    assert path.read_text() == "second\n"
    assert [p.name for p in path.parent.iterdir()] == ["page.md"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "page.md"
    files.write_text(path, "good\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(BuildError, match=r"cannot write .*page\.md: No space left on device"):
        files.write_text(path, "bad\n")
    assert path.read_text() == "good\n"
    assert [p.name for p in tmp_path.iterdir()] == ["page.md"]


def test_a_folder_that_cannot_be_made_is_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot write"):
        files.write_text(tmp_path / "file" / "page.md", "x")


def test_json_is_sorted_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"b": 1, "a": [1.5, None, "é"]})
    assert path.read_text().index('"a"') < path.read_text().index('"b"')
    assert files.read_json(path) == {"a": [1.5, None, "é"], "b": 1}


@pytest.mark.parametrize("content", [None, "{", pytest.param("\xff", id="no UTF-8")])
def test_unreadable_json_is_none(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    assert files.read_json(path) is None


def test_digests_name_files_relative_to_the_root_and_see_missing_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    told = files.digest_files([tmp_path / "a", tmp_path / "b"], tmp_path)
    assert list(told) == ["a", "b"]
    assert told["b"] == "missing"
    assert told["a"] == files.digest_bytes(b"x")
    assert files.changed_parts(told, {"a": told["a"]}) == ["b"]
    assert files.changed_parts(None, told) == ["a", "b"]
