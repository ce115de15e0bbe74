"""What the groups of an SVG of matplotlib cover: their boxes, from the drawing itself.

All text is outlines there, so that nothing has to be rendered.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from functools import reduce
from math import cos, radians, sin

Box = tuple[float, float, float, float]
#: What is shown somewhere: a box of the drawing, and groups with their ways to the right.
Piece = tuple[Box, list[tuple[str, float]]]
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d[\d.]*(?:e-?\d+)?")


def join(a: Box, b: Box) -> Box:
    """Return the smallest box around two."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def add(*pieces: Piece | None) -> Piece:
    """Return pieces of a drawing as one."""
    some = [piece for piece in pieces if piece]
    uses = dict.fromkeys(use for _, told in some for use in told)
    return reduce(join, (box for box, _ in some)), list(uses)


def affine(told: str) -> list[float]:
    """Return the map that an SVG's ``transform`` says, as six numbers.

    Examples
    --------
    >>> affine("translate(3 4) scale(2 -2)")
    [2.0, 0.0, 0.0, -2.0, 3.0, 4.0]
    """
    a, b, c, d, e, f = 1.0, 0.0, 0.0, 1.0, 0.0, 0.0
    for kind, inner in re.findall(r"(\w+)\(([^)]*)\)", told):
        v = [float(x) for x in NUMBER.findall(inner)]
        turn = radians(v[0])
        p, q, r, s, t, u = {
            "translate": [1, 0, 0, 1, v[0], v[-1]],
            "scale": [v[0], 0, 0, v[-1], 0, 0],
            "rotate": [cos(turn), sin(turn), -sin(turn), cos(turn), 0, 0],
            "matrix": v,
        }[kind]
        e, f = a * t + c * u + e, b * t + d * u + f
        a, b, c, d = a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s
    return [a, b, c, d, e, f]


class Drawing:
    """An SVG of matplotlib, and what its groups cover."""

    def __init__(self, text: str) -> None:
        root = ET.fromstring(text.encode())
        self.ids = {name: e for e in root.iter() if (name := e.get("id"))}
        self.width = float(root.get("viewBox", "").split()[2])

    def ink(self, e: ET.Element) -> Box | None:
        """Return the box of what an element shows, in its parent's coordinates."""
        tag, style = e.tag.removeprefix(SVG), (e.get("style") or "").replace(" ", "")
        pad = 0.0
        if tag in ("path", "rect", "image"):
            n = [float(x) for x in NUMBER.findall(e.get("d") or "")]
            if tag != "path":
                x, y, w, h = (float(e.get(k, 0)) for k in ("x", "y", "width", "height"))
                n = [x, y, x + w, y + h]
            line = re.search(r"stroke:(?!none)", style)
            boxes = [(min(n[::2]), min(n[1::2]), max(n[::2]), max(n[1::2]))] if n else []
            if line:
                thick = re.search(r"stroke-width:([\d.]+)", style)
                pad = float(thick[1]) / 2 if thick else 0.5
            elif "fill:none" in style:
                return None
        else:
            parts = [self.ids[e.get(LINK, "")[1:]]] if tag == "use" else list(e)
            parts = [part for part in parts if part.tag not in (SVG + "defs", SVG + "style")]
            boxes = [found for part in parts if (found := self.ink(part))]
        if not boxes:
            return None
        box = reduce(join, boxes)
        dx, dy = (float(e.get(k, 0)) if tag == "use" else 0.0 for k in "xy")
        a, b, c, d, s, t = affine(e.get("transform", ""))
        corners = [(x + dx, y + dy) for x in box[::2] for y in box[1::2]]
        xs, ys = zip(*((a * x + c * y + s, b * x + d * y + t) for x, y in corners), strict=True)
        box = min(xs) - pad, min(ys) - pad, max(xs) + pad, max(ys) + pad
        if held := e.get("clip-path"):
            r = self.ink(self.ids[held[5:-1]][0]) or box
            box = max(box[0], r[0]), max(box[1], r[1]), min(box[2], r[2]), min(box[3], r[3])
        return box if box[0] <= box[2] and box[1] <= box[3] else None

    def piece(self, groups: Iterable[ET.Element], by: float = 0.0) -> Piece | None:
        """Return some groups, moved to the right, as a piece of the drawing, if they show any."""
        seen = [(box, e.get("id", "")) for e in groups if (box := self.ink(e))]
        if not seen:
            return None
        x0, y0, x1, y1 = reduce(join, (box for box, _ in seen))
        return (x0 + by, y0, x1 + by, y1), [(name, by) for _, name in seen]

    def texts(self, group: ET.Element) -> list[ET.Element]:
        """Return the texts in a group that show anything."""
        inside = (e for e in group.iter() if e.get("id", "").startswith("text_"))
        return [e for e in inside if self.ink(e)]
