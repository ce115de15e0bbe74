"""Which pages are read and written again where Sphinx keeps what it has read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from dplit_book import kept, records

from scripts.files import digest_bytes

PAGES = ["book/intro", "book/reference/erm", "book/chapters/erm"]


@pytest.fixture
def app(tmp_path: Path) -> Any:
    """What the extension sees of Sphinx: titles, targets, numbers, and the repository's files."""
    for name in ("src/dplit/a.py", "src/dplit/erm/claims.yml", "_toc.yml", "out/book/x.glue.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    labels = {"a": ("book/intro", "a", "A label")}
    std, works = {"labels": labels, "kinds": {"x", "y"}}, [SimpleNamespace(key="warner1965")]
    env = SimpleNamespace(
        _search_index_index_entries={},
        all_docs=dict.fromkeys(PAGES),
        titles={"book/intro": nodes.title("", "A book")},
        toctree_includes={"book/intro": PAGES[1:]},
        domaindata={"std": std, "cite": {"citations": works}},
        mystnb_config=SimpleNamespace(output_folder=str(tmp_path / "out")),
        images={"out/book/new.svg": ({"book/chapters/erm"}, "new.svg")},
    )
    config = SimpleNamespace(bibtex_bibfiles=["works.bib"])
    paths = dict.fromkeys(("srcdir", "doctreedir", "outdir"), str(tmp_path))
    return SimpleNamespace(env=env, config=config, **paths)


def test_the_pages_of_the_package_are_read_again_when_sources_or_registries_change(
    app: Any, tmp_path: Path
) -> None:
    """Kills a module or a registry that is not looked at, chapters read for it, and each time."""
    first = kept.on_outdated(app, app.env, (), (), ())
    assert first == ["book/reference/erm"]
    assert kept.on_outdated(app, app.env, (), (), ()) == []
    for name in ("src/dplit/a.py", "src/dplit/erm/claims.yml", "src/dplit/new.py"):
        (tmp_path / name).write_text(name)
        assert kept.on_outdated(app, app.env, (), (), ()) == first
    assert kept.on_outdated(app, app.env, (), (), ()) == []


def test_all_pages_are_written_again_when_what_they_show_of_others_changes(
    app: Any, tmp_path: Path
) -> None:
    """Kills a title, target, glued number or table of contents that is not looked at, and a record
    that reads otherwise each time."""
    env = app.env
    assert kept.on_updated(app, env) == PAGES
    assert kept.on_updated(app, env) == []
    env.titles["book/intro"] = nodes.title("", "A book")
    env.domaindata["std"]["kinds"] = {"y", "x"}
    assert kept.on_updated(app, env) == []
    env.titles["book/intro"] = nodes.title("", "Another book")
    assert kept.on_updated(app, env) == PAGES
    env.domaindata["std"]["labels"]["a"] = ("book/intro", "a", "Another label")
    assert kept.on_updated(app, env) == PAGES
    env.domaindata["cite"]["citations"].append(SimpleNamespace(key="dwork2006"))
    assert kept.on_updated(app, env) == PAGES
    for name in ("_toc.yml", "works.bib", "out/book/x.glue.json"):
        (tmp_path / name).write_text("{1}")
        assert kept.on_updated(app, env) == PAGES
    assert kept.on_updated(app, env) == []


def test_the_search_keeps_the_index_entries_of_pages_that_are_not_written_again(app: Any) -> None:
    """Kills a search that loses the claims of unchanged pages, and an order of its own."""
    written = {"book/reference/erm": [("a claim", "index-1", "main")], "book/intro": []}
    app.env._search_index_index_entries = dict(written)
    app.builder = SimpleNamespace(indexer=None)
    kept.on_finished(app, None)
    app.env._search_index_index_entries = {}
    kept.on_updated(app, app.env)
    found = app.env._search_index_index_entries
    assert found == {**written, "book/chapters/erm": []}
    assert list(found) == sorted(found)


def test_a_picture_that_no_page_shows_any_more_goes(app: Any, tmp_path: Path) -> None:
    """Kills a site that keeps the figures of earlier runs, and one that loses those of unchanged
    pages.
    """
    pictures = tmp_path / "_images"
    pictures.mkdir()
    for name in ("old.svg", "new.svg"):
        (pictures / name).write_text("<svg/>")
    app.builder = SimpleNamespace(indexer=None)
    kept.on_finished(app, ValueError())
    assert len(list(pictures.iterdir())) == 2
    kept.on_finished(app, None)
    assert [path.name for path in pictures.iterdir()] == ["new.svg"]


def test_a_word_that_no_page_has_any_more_is_forgotten(app: Any) -> None:
    """Kills a kept search that differs from one of a build from nothing by empty words."""
    indexer = SimpleNamespace(_mapping={"a": {"x"}, "b": set()}, _title_mapping={"c": set()})
    app.builder = SimpleNamespace(indexer=indexer)
    assert kept.on_collected(app) == []
    assert (indexer._mapping, indexer._title_mapping) == ({"a": {"x"}}, {})


def test_a_page_is_read_again_when_what_it_shows_of_the_records_changes(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a page that keeps a claim's old verdict, and pages read for another's records."""
    says = {"erm": "holds", "margin": "gap"}
    monkeypatch.setattr(records, "SHOWN", {"verdict": lambda layout, slug: says[slug]})
    shown = {slug: {("verdict", slug): digest_bytes(says[slug].encode())} for slug in says}
    app.env.metadata = {**{slug: {"shown": told} for slug, told in shown.items()}, "intro": {}}
    assert records.on_outdated(app, app.env, (), (), ()) == []
    says["erm"] = "erratum"
    assert records.on_outdated(app, app.env, (), (), ()) == ["erm"]
    monkeypatch.setattr(records, "SHOWN", {})
    assert records.on_outdated(app, app.env, (), (), ()) == ["erm", "margin"]
