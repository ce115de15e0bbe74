"""How much room a formula takes before it is set, so that nothing moves when it is.

Formulas are set when the screen comes near them. Their places are kept by widths of TeX's fonts, in
units that follow the text's font, from a reading of TeX that knows groups, scripts, fractions,
roots and rows. `matplotlib.mathtext` was weighed: exact where it reads a formula, but it reads two
of three here, at 5 ms each (ours: all, at .1 ms); MathJax would need a browser to build the book.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\s+|.", re.DOTALL)


def _table(text: str) -> dict[str, float]:
    """Return widths in em from lines such as "1.334: = <": all tokens behind it are as wide."""
    lines = (line.partition(": ") for line in text.strip().split("\n"))
    return {token: float(width) for width, _, tokens in lines for token in tokens.split()}


def _words(text: str) -> set[str]:
    return set(text.split())


#: Widths of single tokens in thousandths of an em, in Computer Modern, in which MathJax sets.
NAMED = r"""
a 529 b 429 c 433 d 520 e 466 f 550 g 477 h 576 i 345 j 412 k 521 l 298 m 878 n 600 o 485 p 503
q 446 r 451 s 469 t 361 u 572 v 485 w 716 x 572 y 490 z 465 A 750 B 759 C 760 D 828 E 764 F 749
G 786 H 888 I 504 J 633 K 889 L 681 M 1051 N 888 O 763 P 751 Q 791 R 759 S 645 T 704 U 767 V 769
W 1048 X 852 Y 763 Z 723 ( 389 ) 389 [ 278 ] 278 . 278 | 278 ! 278 ? 472 ' 278 , 445 ; 445 * 500
\alpha 640 \beta 566 \gamma 518 \delta 444 \epsilon 406 \varepsilon 466 \zeta 438 \eta 497
\theta 469 \iota 354 \kappa 576 \lambda 583 \mu 603 \nu 494 \xi 438 \pi 570 \rho 517 \sigma 571
\tau 437 \phi 596 \varphi 654 \chi 626 \psi 651 \omega 622 \Gamma 625 \Delta 833 \Theta 778
\Lambda 694 \Xi 667 \Pi 750 \Sigma 722 \Phi 722 \Psi 778 \Omega 722 \infty 1000 \partial 531
\nabla 833 \ell 417 \ldots 1172 \dots 1172 \cdots 1172 \lVert 500 \rVert 500 \Vert 500 \| 500
\lvert 278 \rvert 278 \vert 278 \langle 389 \rangle 389 \lceil 444 \rceil 444 \lfloor 444
\rfloor 444 \top 778 \emptyset 500 \sharp 389 \star 500 \square 778 \forall 556 \exists 556
\{ 500 \} 500 \% 833 \# 833 \, 167 \: 222 \; 278 \! -167 \quad 1000 \qquad 2000 \Re 722 \Im 722
"""
WIDTHS = {name: int(width) / 1000 for name, width in zip(*[iter(NAMED.split())] * 2, strict=True)}
#: Relations and operations with the room around them; the latter have none where they are signs.
RELATIONS = _table(r"""
0.83: : \mid
1.22: \in \ni \subset \subseteq \ne \neq \notin
1.334: = < > \le \leq \ge \geq \approx \sim \equiv \ll \gg \propto \gtrsim \lesssim
1.556: \to \rightarrow \leftarrow \mapsto \Rightarrow \Leftrightarrow
2.1: \iff \implies
""")
BINARY = _table(r"""
0.72: \cdot
0.944: \setminus \circ
1.11: \cap \cup
1.222: + - \pm \mp \times \odot \oplus \otimes \wedge \vee
""")
LARGE = _table(r"""
0.6: \int
0.9: \bigcup \bigcap \prod
1.06: \sum
""")
LIMITS = _words(r"\max \min \sup \inf \lim \argmin \argmax")
WORDS = _words(
    r"\text \operatorname \operatorname* \mathrm \mathsf \mathbf \mathit \mathtt \textbf \textit "
    r"\textrm \texttt \mbox \tag"
)
ACCENTS = _words(
    r"\hat \tilde \bar \dot \vec \widehat \widetilde \overline \underline \boldsymbol \mathbb "
    r"\mathcal \mathfrak"
)
STACKED = _words(r"\overset \underset \stackrel")
FRACTIONS = _words(r"\frac \tfrac \dfrac \binom")
STYLES = {r"\displaystyle": True, r"\textstyle": False}
IGNORED = re.compile(r"\s+|\\(?:left|right|middle|(?:no)?limits|[bB]igg?[lrm]?)\Z")
SCRIPT = 0.72
#: Heights in which there are signs of a root.
ROOTS = (1.0, 1.2, 1.8, 2.4, 3.0)


class Box(NamedTuple):
    """Width, height above and depth below the line, in em."""

    width: float
    up: float = 0.7
    down: float = 0.2

    def times(self, scale: float) -> Box:
        """Return the box in another size."""
        return Box(*(scale * side for side in self))


class Reader:
    """Reads one formula, token by token."""

    def __init__(self, tex: str, macros: Mapping[str, Any], display: bool) -> None:
        self.tokens = TOKEN.findall(tex)[::-1]
        self.macros, self.display, self.style = macros, display, 0

    def argument(self) -> str:
        """Take the next token or group, as text."""
        while self.tokens and self.tokens[-1].isspace():
            self.tokens.pop()
        if not self.tokens or self.tokens[-1] != "{":
            return self.tokens.pop() if self.tokens else ""
        deep, taken = 0, []
        while self.tokens:
            taken.append(token := self.tokens.pop())
            deep += (token == "{") - (token == "}")
            if not deep:
                break
        return "".join(taken[1:-1])

    def inner(self, scale: float = 1.0, display: bool = False) -> Box:
        """Take an argument, measured."""
        reader = Reader(self.argument(), self.macros, display)
        reader.style = self.style + (scale < 1)
        return reader.rows().times(scale)

    def scripts(self, base: Box, limits: bool) -> Box:
        """Take what stands above and below a base."""
        wide, up, down = 0.0, base.up, base.down
        while self.tokens and self.tokens[-1] in "^_'":
            mark = self.tokens.pop()
            box = Box(0.2) if mark == "'" else self.inner(SCRIPT)
            wide = max(wide, box.width)
            if mark == "_":
                down = base.down + box.up + box.down if limits else max(down, 0.15 + box.down)
            else:
                up = base.up + box.up + box.down if limits else max(up, base.up - 0.3 + box.up)
        if limits:
            return Box(max(base.width, wide), up, down)
        return Box(base.width + wide + 0.05 * (wide > 0), up, down)

    def atom(self, token: str, sign: bool) -> Box:
        """Measure one token, with the arguments that it takes."""
        space = self.style == 0
        if token in RELATIONS:
            return Box(RELATIONS[token] - 0.556 * (not space))
        if token in BINARY:
            return Box(BINARY[token] - 0.444 * (sign or not space))
        if token in LARGE:
            large = 1.35 if self.display else 1.0
            return Box(0.17 + large * LARGE[token], 0.75 * large, 0.35 * large)
        if token in WORDS:
            return Box(sum(0.72 if letter.isupper() else 0.48 for letter in self.argument()))
        if token in FRACTIONS:
            large = (self.display and token != r"\tfrac") or token == r"\dfrac"
            above, below = (self.inner(1.0 if large else SCRIPT) for _ in "ab")
            room = (0.23, 0.7) if large else (0.2, 0.25)
            up, down = above.up + above.down + room[0], below.up + below.down + room[1] - 0.5
            return Box(max(above.width, below.width) + 0.42, up, down)
        if token == r"\sqrt":
            box = self.inner(display=self.display)
            least = box.up + box.down + 0.3 * self.display
            size = next((s for s in ROOTS if s >= least), 3.0)
            return Box(box.width + 0.92, size - box.down + 0.1, box.down)
        if token in STACKED:
            above, base = self.inner(SCRIPT), self.inner()
            return Box(max(above.width, base.width), base.up + above.up, base.down)
        if token in ACCENTS:
            box = self.inner()
            return Box(box.width, max(box.up, 0.9), box.down)
        if token == "{":
            self.tokens.append(token)
            return self.inner(display=self.display)
        if token == r"\begin":
            return self.environment()
        if token[0] == "\\" and token[1:].isalpha() and token not in WIDTHS:
            return Box(0.5 * len(token))  # a name, such as \log
        if token in WIDTHS:
            return Box(WIDTHS[token])
        return Box(0.0 if token.isspace() else 0.5)

    def environment(self) -> Box:
        """Take all up to the end of an environment."""
        name, deep, taken = self.argument(), 1, list[str]()
        if name == "array":
            self.argument()
        while self.tokens and deep:
            taken.append(token := self.tokens.pop())
            deep += (token == r"\begin") - (token == r"\end")
        self.argument()
        reader = Reader(
            "".join(taken[:-1]),
            self.macros,
            self.display and name != "array" and "matrix" not in name,
        )
        box = reader.rows(0.0 if "align" in name else 1.0)
        return Box(box.width + 0.9 * (name == "cases"), box.up, box.down)

    def rows(self, gap: float = 0.0) -> Box:
        """Measure rows of cells."""
        table, lines = [[self.cell()]], list[tuple[float, float]]()
        while self.tokens:
            if self.tokens.pop() == "&":
                table[-1].append(self.cell())
            else:
                table.append([self.cell()])
        for cells in table:
            lines.append((max(c.up for c in cells), max(c.down for c in cells)))
        if len(table) == 1 and len(table[0]) == 1:
            return table[0][0]
        count = max(map(len, table))
        wide = [max(row[k].width for row in table if k < len(row)) for k in range(count)]
        tall = sum(max(up, 0.7) + max(down, 0.3) for up, down in lines) + 0.3 * (len(lines) - 1)
        return Box(sum(wide) + gap * (count - 1), tall / 2 + 0.25, tall / 2 - 0.25)

    def cell(self) -> Box:
        """Measure what stands up to the end of a cell."""
        width, up, down, sign = 0.0, 0.7, 0.2, True
        display = self.display
        while self.tokens and self.tokens[-1] not in ("&", r"\\"):
            token = self.tokens.pop()
            if IGNORED.match(token):
                continue
            if token in STYLES:
                self.display = STYLES[token]
                continue
            if token[1:] in self.macros and token[0] == "\\":
                self.expand(token[1:])
                continue
            if token in ("^", "_"):
                self.tokens.append(token)
                box = self.scripts(Box(0.0), False)
            else:
                limits = self.display and (token in LARGE or token in LIMITS) and token != r"\int"
                box = self.scripts(self.atom(token, sign), limits)
            sign = token in RELATIONS or token in BINARY or token in "([,;"
            width, up, down = width + box.width, max(up, box.up), max(down, box.down)
        self.display = display
        return Box(width, up, down)

    def expand(self, name: str) -> None:
        """Put a macro's text in its place."""
        macro = self.macros[name]
        text, count = (macro, 0) if isinstance(macro, str) else (macro[0], macro[1])
        for number in range(1, count + 1):
            text = text.replace(f"#{number}", "{" + self.argument() + "}")
        self.tokens += TOKEN.findall(text)[::-1]


def measure(tex: str, macros: Mapping[str, Any], display: bool = False) -> Box:
    r"""Return the room that a formula takes, in em of its own font.

    Examples
    --------
    >>> measure("x^2+1", {}).width < measure(r"\frac{x^2}{y}+1+z", {}).width
    True
    >>> measure(r"a\\b", {}, display=True).up > measure("a", {}, display=True).up
    True
    """
    return Reader(tex, macros, display).rows()
