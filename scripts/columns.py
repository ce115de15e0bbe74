"""A figure once more for narrow screens: its panels below each other, from the same drawing.

matplotlib writes a group for each panel, legend and title. The new picture holds the drawing once,
and shows its groups where there is room, legends first. A panel that shares the scale of another
beside it is given the numbers of the scale. Nothing is drawn again, and no chapter runs.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import NamedTuple

from scripts.ink import NUMBER, SVG, Box, Drawing, Piece, add

GAP = 6.0  # points between pieces, and around them
PIXELS = 4 / 3  # of a point
#: Up to which width, in pixels, a screen is shown the column.
SCREEN = 480


class UncutError(ValueError):
    """Why a figure stays as it is."""


class Column(NamedTuple):
    """A figure in one column, its pixels, and those of its width at which type has nine."""

    svg: str
    wide: float
    tall: float
    least: float


@dataclass
class Panels:
    """Panels that stand above each other, with their legends."""

    left: float
    right: float
    groups: list[ET.Element] = field(default_factory=list)


def called(parent: ET.Element, *kinds: str) -> list[ET.Element]:
    """Return the groups of some kinds in a group."""
    return [e for e in parent if e.get("id", "").rpartition("_")[0] in kinds]


def frame(axes: ET.Element) -> Box:
    """Return the rectangle of a panel, without its labels."""
    outline = next(axes.iter(f"{SVG}path"))
    n = [float(x) for x in NUMBER.findall(outline.get("d", ""))]
    return min(n[::2]), min(n[1::2]), max(n[::2]), max(n[1::2])


def columns_of(figure: ET.Element) -> list[Panels]:
    """Return the panels of a figure by columns; that of a colour bar is its neighbour's."""
    panels = sorted(((frame(e), e) for e in called(figure, "axes")), key=lambda pair: pair[0])
    widest = max((box[2] - box[0] for box, _ in panels), default=0)
    found: list[Panels] = []
    for box, axes in panels:
        if found and (box[0] < found[-1].right - 1 or box[2] - box[0] < widest / 4):
            found[-1].right = max(found[-1].right, box[2])
        else:
            found.append(Panels(box[0], box[2]))
        found[-1].groups.append(axes)
    if len(found) < 2:
        raise UncutError("one column already")
    return found


def scale_of(drawing: Drawing, figure: ET.Element, axes: ET.Element) -> Piece | None:
    """Return the numbers of a panel's upright scale where a panel to the left has them for it."""
    own = called(axes, "matplotlib.axis")[1:]
    if not own or not called(own[0], "ytick") or drawing.texts(own[0]):
        return None
    place = frame(axes)
    for other in reversed(called(figure, "axes")):
        there, texts = frame(other), drawing.texts(called(other, "matplotlib.axis")[-1])
        level = abs(there[1] - place[1]) + abs(there[3] - place[3]) < 1
        if level and there[0] < place[0] and texts:
            return drawing.piece(texts, place[0] - there[0])
    return None


def entries(drawing: Drawing, legend: ET.Element) -> list[Piece]:
    """Return the entries of a legend: what comes before a text belongs to it."""
    found, begun = list[Piece](), list[ET.Element]()
    for e in legend:
        begun.append(e)
        if e.get("id", "").startswith("text_") and (piece := drawing.piece(begun)):
            found.append(piece)
            begun = []
    for k, (box, uses) in enumerate(found):  # those of one line have one height
        for other, _ in found:
            if other[1] < box[3] and box[1] < other[3]:
                box = box[0], min(box[1], other[1]), box[2], max(box[3], other[3])
        found[k] = box, uses
    return found


def show(piece: Piece, x: float, y: float) -> str:
    """Return a piece of the drawing at a place."""
    (x0, y0, x1, y1), uses = piece
    x0, y0, wide, tall = x0 - 1, y0 - 1, x1 - x0 + 2, y1 - y0 + 2
    inner = "".join(f'<use xlink:href="#{name}" x="{by:.2f}"/>' for name, by in uses)
    size = f'x="{x - 1:.2f}" y="{y - 1:.2f}" width="{wide:.2f}" height="{tall:.2f}"'
    return f'<svg {size} viewBox="{x0:.2f} {y0:.2f} {wide:.2f} {tall:.2f}">{inner}</svg>\n'


def stack(lines: list[Piece], strips: list[tuple[Piece, float]]) -> tuple[float, float, str]:
    """Return width, height and pieces of a column: small ones in lines, then the panels.

    The left ends of the panels' frames, told beside them, come to stand above each other.
    """
    before = max(at - piece[0][0] for piece, at in strips)
    after = max(piece[0][2] - at for piece, at in strips)
    wide = max(before + after, *(box[2] - box[0] for box, _ in lines), 0)
    x, y, line, told = 0.0, GAP, 0.0, ""
    for piece in lines:
        across = piece[0][2] - piece[0][0]
        if x and x + across > wide:
            x, y, line = 0.0, y + line + GAP, 0.0
        told += show(piece, GAP + x, y)
        x, line = x + across + 2 * GAP, max(line, piece[0][3] - piece[0][1])
    y += line + 2 * GAP if lines else 0
    for piece, at in strips:
        told += show(piece, GAP + before - (at - piece[0][0]), y)
        y += piece[0][3] - piece[0][1] + 2 * GAP
    return wide + 2 * GAP, y - GAP, told


def in_column(text: str) -> Column:
    """Return a figure in one column.

    Raises
    ------
    UncutError
        If the figure is as narrow as a screen, or shows what is no part of a panel.
    """
    drawing = Drawing(text)
    figure = drawing.ids.get("figure_1")
    if figure is None:
        raise UncutError("not of matplotlib")
    if drawing.width * PIXELS <= SCREEN:
        raise UncutError("narrow as it is")
    columns = columns_of(figure)
    lines, beside = list[Piece](), list[Piece]()
    alone = len(called(figure, "legend")) == 1
    for e in figure:
        kind, seen = e.get("id", "").rpartition("_")[0], drawing.piece([e])
        if kind == "axes" or seen is None:
            continue
        x0, y0, x1, y1 = seen[0]
        over = [c for c in columns if c.left < x1 and x0 < c.right]
        if kind == "legend" and len(over) == 1 and not (alone and over[0] in columns[1:-1]):
            over[0].groups.append(e)
        elif kind == "legend":
            lines += entries(drawing, e)
        elif kind == "text" and x1 - x0 < y1 - y0:
            beside.append(seen)
        elif kind == "text" and y1 < min(frame(axes)[1] for c in columns for axes in c.groups):
            lines.insert(0, seen)
        else:
            raise UncutError("something stands between the panels")
    strips = []
    for c in columns:
        axes_of = [e for e in c.groups if e.get("id", "")[:5] == "axes_"]
        scales = [scale_of(drawing, figure, axes) for axes in axes_of]
        strip = add(drawing.piece(c.groups), *scales)
        for (x0, y0, x1, y1), [(name, _)] in beside:
            by = strip[0][0] - GAP - x1
            strip = add(strip, ((x0 + by, y0, x1 + by, y1), [(name, by)]))
        strips.append((strip, c.left))
    wide, tall, told = stack(lines, strips)
    if wide > 0.8 * drawing.width:
        raise UncutError("one panel is nearly as wide as all")
    least = min(float(size) for size in re.findall(r"scale\(([\d.]+) -", text)) * 100 * PIXELS
    head, body = re.split(r"(?<=>)(?=\s*<metadata>)", text.rpartition("</svg>")[0], maxsplit=1)
    size = f'width="{wide:.2f}pt" height="{tall:.2f}pt" viewBox="0 0 {wide:.2f} {tall:.2f}"'
    head = re.sub(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', size, head)
    svg = f"{head}<defs>{body}</defs>\n{told}</svg>\n"
    return Column(svg, wide * PIXELS, tall * PIXELS, wide * PIXELS * 9 / least)
