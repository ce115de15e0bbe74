"""The room that is kept for a formula, against what MathJax needed for it in a browser."""

from __future__ import annotations

import pytest

from scripts.finish import keep_room, room

#: Widths in em as MathJax 3.2.2 set them; each kills a rule that is lost, and a quarter is no jump.
WIDE = {
    r"A_{jk}=e^{i\langle\omega_k,x_j\rangle}": 5.79,
    r"\operatorname{tr}M=N": 4.22,
    r"-2,-1,0,1,2": 5.83,
    r"2\le G\le2+A": 6.42,
    r"\sum_iy_i\phi_i": 3.29,
}
#: The same of heights, of formulas in places of their own, which stand one em below and above.
TALL = {
    r"\mathbb ER_1\le\frac{2\kappa^2C_L^2}{\lambda\gamma m}.": 2.49,
    r"X=\begin{pmatrix}x&0\\1&1\\1&1\end{pmatrix}.": 3.8,
}


@pytest.mark.parametrize("tex", WIDE)
def test_a_formula_within_a_line_takes_about_the_room_that_is_kept(tex: str) -> None:
    assert room(tex, False) == pytest.approx(WIDE[tex], rel=0.25)


@pytest.mark.parametrize("tex", TALL)
def test_a_formula_in_a_place_of_its_own_is_about_as_tall_as_told(tex: str) -> None:
    """Kills rows and fractions that are lost."""
    assert room(tex, True) - 2 == pytest.approx(TALL[tex], rel=0.2)


@pytest.mark.parametrize("tex", ["", "{", "}", "^", r"\frac", r"\begin{aligned}a", "&", "_'"])
def test_what_is_no_formula_takes_some_room_too(tex: str) -> None:
    """The browser says what is wrong with it; the build goes on until it is looked at."""
    assert room(tex, False) >= 0


def test_every_formula_of_a_page_says_its_room_once() -> None:
    """Kills a formula of HTML that is passed by, the id of a numbered one that is lost, and a room
    that a formula has from its neighbour."""
    inline = '<span class="math notranslate nohighlight">{}x{}</span>'
    page = inline.format(r"\(", r"\)") + inline.format("&#92;(", "&#92;)")
    numbered = (
        '<div class="math notranslate nohighlight" id="equation-a">\n<span class="eqno">(1)</span>'
    )
    told = keep_room(page + numbered + r"\[x\]</div>")
    assert told.count('style="--room:1.1ex"') == 2
    shown = '<div class="math notranslate nohighlight" id="equation-a" style="--room:'
    assert shown in told
    assert told.count("--room:") == 3
