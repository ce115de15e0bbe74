"""The figure of the front page: one budget, moved; what an attacker and an analyst then see."""

from __future__ import annotations

import json
from typing import Any

ALT = (
    "Two panels. Above, the curve of a published count with you and the one without you overlap "
    "nearly everywhere at a small budget; below, a published share among a hundred people stands "
    "as a peak at thirty percent."
)
CAPTION = (
    "Move the budget. Above, a count is published with Laplace noise; the attacker knows everybody "
    "else, and guesses whether you were counted. The more the curves overlap, the nearer a guess "
    "is to a coin. Below, a share at the same budget: noise that hides one is hardly seen among "
    "many."
)
_BLUE, _ORANGE = "#0072B2", "#D55E00"


def chart() -> Any:
    """Return the two panels, of formulas alone; their titles say what the sliders do."""
    import altair as alt

    def slider(name: str, start: float, low: float, high: float, step: float, label: str) -> Any:
        bound = alt.binding_range(min=low, max=high, step=step, name=label)
        return alt.param(name=name, value=start, bind=bound)

    budget = slider("budget", 0.5, 0.1, 5.0, 0.1, "budget ε ")
    power = slider("power", 2.0, 1.0, 5.0, 0.25, "people, in powers of ten ")
    return alt.vconcat(_attacker(), _analyst()).add_params(budget, power)


def _titled(panel: Any, height: int, words: str) -> Any:
    import altair as alt

    title = alt.Title({"expr": words}, anchor="start")
    return panel.properties(width=560, height=height, title=title)


def _attacker() -> Any:
    """Return the two laws of a count, one with the reader, and how often an attacker is right."""
    import altair as alt

    curves = alt.Chart(alt.sequence(-10, 11.05, 0.05, as_="t")).transform_calculate(
        without="exp(-budget * abs(datum.t))",
        beside="exp(-budget * abs(datum.t - 1))",
        both="min(datum.without, datum.beside)",
        outside="'without you'",
        inside="'with you'",
    )
    x = alt.X("t:Q", title="the published count, less that of all others").scale(domain=[-10, 11])
    solid = curves.mark_line(color=_BLUE).encode(x, alt.Y("without:Q", axis=None))
    dashed = curves.mark_line(color=_ORANGE, strokeDash=[6, 4])
    dashed = dashed.encode(x, alt.Y("beside:Q", axis=None))
    shade = curves.mark_area(color=_BLUE, opacity=0.2).encode(x, alt.Y("both:Q", axis=None))
    once = curves.transform_filter("datum.t < -9.99")
    names = [
        once.mark_text(align=side, fontSize=13, color=colour, y=12).encode(
            x=alt.value({"expr": place}), text=text
        )
        for side, place, colour, text in (
            ("left", "4", _BLUE, "outside:N"),
            ("right", "width - 4", _ORANGE, "inside:N"),
        )
    ]
    right = "format(100 - 50 * exp(-budget / 2), '.0f')"
    return _titled(
        alt.layer(shade, solid, dashed, *names), 110,
        f"'An attacker guesses right in ' + {right} + ' of 100 cases'",
    )  # fmt: skip


def _analyst() -> Any:
    """Return the law of a published share, and how far off an analyst is on average."""
    import altair as alt

    scale, people = "(100 / budget / pow(10, power))", "format(pow(10, power), ',.0f')"
    shares = alt.Chart(alt.sequence(0, 100.1, 0.1, as_="t")).transform_calculate(
        density=f"exp(-abs(datum.t - 30) / {scale})"
    )
    x = alt.X("t:Q", title="the published share, in percent; the truth is 30").scale(
        domain=[0, 100]
    )
    peak = shares.mark_area(color=_BLUE, opacity=0.5).encode(x, alt.Y("density:Q", axis=None))
    off = f"format({scale}, '.2g')"
    return _titled(
        peak,
        80,
        f"'An analyst is off by ' + {off} + ' points on average, among ' + {people} + ' people'",
    )


def figure() -> dict[str, str]:
    """Return the picture and the page that holds it, which the front page includes, by name."""
    import vl_convert

    from dplit.notebook.explorable import _dressed

    spec = _dressed(chart().to_dict(), ALT)
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    page = f"```{{figure}} front.svg\n:name: fig-front\n:alt: {ALT}\n\n{CAPTION}\n```\n"
    script = f'<script type="application/json" data-explore="fig-front">{text}</script>\n'
    return {"front.svg": vl_convert.vegalite_to_svg(text), "front.md": f"{page}\n{script}"}
