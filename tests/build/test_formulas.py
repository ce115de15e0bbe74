"""The room that a formula takes, against what MathJax needed for it in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scripts.finish import keep_room
from scripts.formulas import measure

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
MACROS = CONFIG["mathjax3_config"]["tex"]["macros"]
#: Widths in em as MathJax 3.2.2 set them; each kills a rule of the reader, and 10 % are no jump.
WIDE = {
    r"g=\frac2G(d-1+\frac{1+G}8)": 8.94,
    r"A_{jk}=e^{i\langle\omega_k,x_j\rangle}": 5.79,
    r"\pm1/\sqrt2": 3.13,
    r"\operatorname{tr}M=N": 4.22,
    r"-2,-1,0,1,2": 5.83,
    r"2\le G\le2+A": 6.42,
    r"\sum_iy_i\phi_i": 3.29,
}
#: The same of heights, of formulas in places of their own.
TALL = {
    r"\mathbb ER_1\le\frac{2\kappa^2C_L^2}{\lambda\gamma m}.": 2.49,
    r"\|f_{\mathbf z}-f_{\bar{\mathbf z}}\|_K\le\sqrt{\frac{16\,B}{\lambda\gamma m}} .": 3.07,
    r"X=\begin{pmatrix}x&0\\1&1\\1&1\end{pmatrix}.": 3.8,
}


@pytest.mark.parametrize("tex", WIDE)
def test_a_formula_within_a_line_takes_the_room_that_is_kept(tex: str) -> None:
    """Kills a rule of the reader that is lost: fractions, scripts, roots, words, signs, macros."""
    assert measure(tex, MACROS).width == pytest.approx(WIDE[tex], rel=0.1)


@pytest.mark.parametrize("tex", TALL)
def test_a_formula_in_a_place_of_its_own_is_as_tall_as_told(tex: str) -> None:
    """Kills rows, limits, fractions and roots that are lost."""
    box = measure(tex, MACROS, display=True)
    assert box.up + box.down == pytest.approx(TALL[tex], rel=0.15)


@pytest.mark.parametrize(
    "tex", ["", "{", "}", "^", r"\frac", r"\begin{aligned}a", r"a\\", "&", "_'"]
)
def test_what_is_no_formula_takes_some_room_too(tex: str) -> None:
    """The browser says what is wrong with it; the build goes on until it is looked at."""
    assert measure(tex, MACROS).width >= 0


def test_every_formula_of_a_page_says_its_room_once() -> None:
    """Kills a formula of HTML that is passed by, the id of a numbered one that is lost, and a room
    that a formula has from its neighbour."""
    inline = '<span class="math notranslate nohighlight">{}x{}</span>'
    page = inline.format(r"\(", r"\)") + inline.format("&#92;(", "&#92;)")
    numbered = (
        '<div class="math notranslate nohighlight" id="equation-a">\n<span class="eqno">(1)</span>'
    )
    told = keep_room(page + numbered + r"\[x\]</div>", MACROS)
    assert told.count('style="--room:1.3ex"') == 2
    shown = '<div class="math notranslate nohighlight" id="equation-a" style="--room:'
    assert shown in told
    assert told.count("--room:") == 3
