"""The pictures of a page: their places, and those that a phone is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from scripts.columns import SCREEN, Column, UncutError, in_column
from scripts.files import write_text

#: A picture of a chapter, and what an SVG says of its size.
PICTURE = re.compile(
    r'<img ((?![^>]*\bwidth=)[^>]*src="([^"]*_images/([^"/]+)\.svg)"[^>]*>)',
)
SIZE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')


@cache
def head_of(picture: Path) -> str:
    """Return the beginning of an SVG file, which is read once for all pages."""
    with picture.open(encoding="utf-8") as file:
        return file.read(2000)


@cache
def column_of(picture: Path) -> Column | None:
    """Return a figure in one column, for narrow screens, if its panels can be told apart."""
    try:
        return in_column(picture.read_text(encoding="utf-8"))
    except UncutError:
        return None


def size_pictures(
    page: str, heads: Mapping[str, str], columns: Mapping[str, Column | None] | None = None
) -> str:
    """Return a page whose pictures have their places before they have come.

    Each has a box, in which it can be moved where a narrow screen would make its type too small. A
    figure of several columns is another picture on a phone, which need not be moved.

    Parameters
    ----------
    page : str
        The page's HTML.
    heads : mapping of str to str
        The beginnings of SVG files, by their names in the site without ``.svg``.
    columns : mapping of str to Column, optional
        Figures in one column, by the same names.
    """

    def sized(found: re.Match[str]) -> str:
        size = SIZE.search(heads.get(found[3], ""))
        if size is None:
            return found[0]
        wide, tall = (round(float(points) * 4 / 3) for points in size.groups())
        picture, told = f'<img width="{wide}" height="{tall}" {found[1]}', f"--wide:{wide}px"
        if column := (columns or {}).get(found[3]):
            source = found[2].removesuffix(".svg") + ".column.svg"
            place = f'width="{column.wide:.0f}" height="{column.tall:.0f}"'
            query = f'media="(max-width: {SCREEN}px)"'
            picture = f'<picture><source {query} srcset="{source}" {place} />{picture}</picture>'
            told += f";--column:{column.wide:.0f}px;--least:{column.least:.0f}px"
        return f'<span class="dplit-wide" style="{told}">{picture}</span>'

    return PICTURE.sub(sized, page)


def write_columns(folder: Path, columns: Mapping[str, Column | None]) -> None:
    """Write figures in one column beside those that they are made from."""
    for name, column in columns.items():
        if column:
            write_text(folder / f"{name}.column.svg", column.svg)
