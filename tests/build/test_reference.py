"""The pages of the package are written from the modules and from the registry of claims."""

from __future__ import annotations

from pathlib import Path

from scripts import reference
from scripts.layout import Layout

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "dplit"


def _module(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_module_has_a_page_unless_its_rooms_face_gives_all_its_names(tmp_path: Path) -> None:
    package = tmp_path / "dplit"
    _module(package, "__init__.py", "__all__ = ['a']")
    _module(package, "room/__init__.py", "__all__ = ['a', 'b']")
    _module(package, "room/given.py", "__all__ = ['a', 'b']")
    _module(package, "room/own.py", "__all__ = ['a', 'c']")
    _module(package, "room/_hidden.py", "__all__ = ['d']")
    _module(package, "room/deep/__init__.py", '"""A folder."""')
    _module(package, "room/deep/inner.py", "x = 1")
    found = reference.documented_modules(package)
    assert found == ["dplit.room", "dplit.room.deep.inner", "dplit.room.own"]


def test_a_page_describes_its_module() -> None:
    page = reference.pages(PACKAGE)["papers.erm.stability.md"]
    assert ".. automodule:: dplit.papers.erm.stability\n   :members:\n" in page


def test_pages_of_modules_that_are_gone_go(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    _module(layout.package, "__init__.py", "")
    _module(layout.package, "room/__init__.py", "")
    gone = layout.book / "reference" / "gone.md"
    _module(gone.parent, "gone.md", "")
    reference.write_reference(layout)
    assert [path.name for path in gone.parent.iterdir()] == ["room.md"]


def test_no_name_stands_on_the_page_of_its_room_and_on_one_of_its_own() -> None:
    """The pages of source code link a name to one of the two, by the address of the other."""
    for module in reference.documented_modules(PACKAGE):
        room, _, inner = module.rpartition(".")
        face = reference.module_file(room, PACKAGE) if "." in room else None
        given = (reference.public_names(face) if face else None) or set()
        own = reference.public_names(reference.module_file(module, PACKAGE) or Path()) or set()
        assert not given & own, f"{inner}: its face gives only {sorted(given & own)}"
