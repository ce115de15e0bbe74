"""Numbers in the tables of a chapter's page: columns of them end at one edge, powers are raised."""

from __future__ import annotations

import re

_TABLE = re.compile(r"<table class='dplit-table'>.*?</table>", re.DOTALL)
_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(
    r"<(td|th scope='(?:col|row)')(?: class='dplit-number')?>(.*?)</t[dh]>", re.DOTALL
)
_POWER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-])0*(\d+)(?!\w|\.\d)")
_NUMBER = re.compile(r"[-+−]?(\d[\d.,]*|inf|nan)(·10<sup>−?\d+</sup>)?( ?%)?")


def _raised(found: re.Match[str]) -> str:
    sign = "−" if found[2] == "-" else ""
    return f"{found[1]}·10<sup>{sign}{found[3]}</sup>"


def _set(table: re.Match[str]) -> str:
    text = _POWER.sub(_raised, table[0])
    rows = [[cell[2] for cell in _CELL.finditer(row[1])] for row in _ROW.finditer(text)]
    columns = list(zip(*rows[1:], strict=False))
    ends = [any(c) and all(_NUMBER.fullmatch(x) for x in c if x) for c in columns]

    def row(found: re.Match[str]) -> str:
        cells = []
        for k, cell in enumerate(_CELL.finditer(found[1])):
            name = " class='dplit-number'" if k < len(ends) and ends[k] else ""
            cells.append(f"<{cell[1]}{name}>{cell[2]}</{cell[1][:2]}>")
        return f"<tr>{''.join(cells)}</tr>"

    return _ROW.sub(row, text)


def typeset_numbers(text: str) -> str:
    """Return HTML whose tables, as ``dplit.notebook`` writes them, are set as tables are in print.

    Examples
    --------
    >>> typeset_numbers("<table class='dplit-table'><thead><tr><th scope='col'>n</th></tr></thead>"
    ...     "<tbody><tr><td>7.98e+03</td></tr></tbody></table>").split("<tbody>")[1]
    "<tr><td class='dplit-number'>7.98·10<sup>3</sup></td></tr></tbody></table>"
    """
    return _TABLE.sub(_set, text)
