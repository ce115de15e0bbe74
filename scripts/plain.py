"""An executed chapter in plain Markdown: numbers, boxes and captions in any notebook viewer.

MyST is for the book. JupyterLab, nbconvert and others show its roles and directives as they are
typed; here they become what every viewer knows.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.finish import box_title
from scripts.normalise import IMAGES, join, outputs

GLUE = re.compile(r"\{glue:(?:text)?\}`([^`:]+)(?::([^`]+))?`")
ROLE = re.compile(r"\{([a-z:]+)\}`([^`<]+?)(?:\s*<([^`>]+)>)?`")
TARGET = re.compile(r"^\(([^)\s]+)\)=\s*$")
OPEN = re.compile(r"^(:{3,}|`{3,})\{([a-z:-]+)\}\s*(.*)$")
OPTION = re.compile(r"^:([a-z-]+):\s*(.*)$")
#: Directives that hold no text for a reader.
SILENT = ("bibliography", "contents", "tableofcontents")


def plain(
    notebook: dict[str, Any], numbers: Mapping[str, Any], macros: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an executed notebook that reads well without MyST; changed in place.

    Parameters
    ----------
    notebook : dict
        As papermill left it.
    numbers : mapping
        What it glued, by name.
    macros : mapping
        The book's TeX macros: their text, or a pair of text and number of arguments.
    """
    figures: dict[str, int] = {}
    for _, output in outputs(notebook["cells"]):
        figure = output.get("metadata", {}).get("dplit", {}).get("figure")
        if figure:
            number = figures[figure["name"]] = len(figures) + 1
            _caption(output["data"], figure, f"Fig. {number}. {figure['caption']}")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = "\n".join(_lines(join(cell["source"]).split("\n")))
            cell["source"] = _words(text, numbers, figures)
    written = "".join(join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    used = [name for name in macros if re.search(rf"\\{name}(?![A-Za-z])", written)]
    if used:
        source = f"${''.join(_define(name, macros[name]) for name in used)}$"
        about = {"id": "macros", "metadata": {}, "source": source}
        notebook["cells"].insert(0, {"cell_type": "markdown", **about})
    return notebook


def _define(name: str, value: Any) -> str:
    text, count = value if isinstance(value, list) else (value, 0)
    return f"\\newcommand{{\\{name}}}{f'[{count}]' if count else ''}{{{text}}}"


def _caption(data: dict[str, Any], figure: Mapping[str, str], caption: str) -> None:
    """Put the picture with its caption into the output, where a viewer prefers it."""
    kind = next(kind for kind in IMAGES if kind in data)
    content = join(data[kind])
    if kind.startswith("image/svg"):
        content = base64.b64encode(content.encode()).decode()
    picture = f'<img src="data:{kind};base64,{content}" alt="{html.escape(figure["alt"])}">'
    data["text/html"] = (
        f'<figure id="{figure["name"]}">{picture}<figcaption>{html.escape(caption)}</figcaption>'
        "</figure>"
    )


def _lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a cell without directives: boxes are quoted, dropdowns fold."""
    k = 0
    while k < len(lines):
        line = lines[k]
        k += 1
        if target := TARGET.match(line):
            yield from (f'<a id="{target[1]}"></a>', "")
            continue
        opened = OPEN.match(line)
        if opened is None:
            yield line
            continue
        fence, name, title = opened.groups()
        end = next((j for j in range(k, len(lines)) if lines[j].strip() == fence), len(lines))
        body = lines[k:end]
        k = end + 1
        yield from _box(name, title, body)


def _box(name: str, title: str, body: list[str]) -> Iterator[str]:
    label = ""
    while body and (option := OPTION.match(body[0])):
        label = option[2] if option[1] in ("label", "name") else label
        body = body[1:]
    if name in SILENT:
        return
    inner = list(_lines(body))
    if name == "math":
        yield from ("$$", *inner, "$$")
        return
    if label:
        yield from (f'<a id="{label}"></a>', "")
    if name == "dropdown":
        yield from (f"<details><summary>{title}</summary>", "", *inner, "", "</details>")
        return
    if name.startswith("prf:"):
        title = box_title(name.removeprefix("prf:").capitalize(), title)
    yield from (f"> **{title or name.capitalize()}**", ">")
    yield from (f"> {line}".rstrip() for line in inner)


def _words(text: str, numbers: Mapping[str, Any], figures: Mapping[str, int]) -> str:
    def number(found: re.Match[str]) -> str:
        value = numbers.get(found[1], f"({found[1]})")
        return format(value, found[2] or "") if not isinstance(value, str) else value

    def role(found: re.Match[str]) -> str:
        kind, words, target = found.groups()
        if kind == "numref":
            place = (target or words).strip()
            told = f"Fig. {figures[place]}" if place in figures else place
            return f"[{words.replace('%s', told) if target else told}](#{place})"
        if kind in ("ref", "prf:ref"):
            return f"[{words}](#{target or words})"
        if kind.startswith("cite"):
            return f"[{words}]"
        return f"({words})" if kind == "eq" else f"`{words}`"

    return ROLE.sub(role, GLUE.sub(number, text))
