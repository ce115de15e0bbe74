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
    "Move the budget. Above, one count is published with Laplace noise. The attacker knows "
    "everybody else and guesses whether you were counted: the more the two curves overlap, the "
    "nearer a guess is to a coin. Below, a share is published at the same budget. The noise hides "
    "one person, so that with enough of them it is hardly seen."
)


def chart() -> Any:
    """Return the two panels, of formulas alone."""
    import altair as alt

    def slider(name: str, start: float, low: float, high: float, step: float, label: str) -> Any:
        bound = alt.binding_range(min=low, max=high, step=step, name=label)
        return alt.param(name=name, value=start, bind=bound)

    budget = slider("budget", 0.5, 0.1, 5.0, 0.1, "budget ε ")
    power = slider("power", 2.0, 1.0, 5.0, 0.25, "people, in powers of ten ")
    blue, orange = "#0072B2", "#D55E00"
    guess = "'right in ' + format(100 - 50 * exp(-budget / 2), '.0f')"
    curves = alt.Chart(alt.sequence(-10, 11.05, 0.05, as_="t")).transform_calculate(
        you="'with you'",
        others="'without you'",
        without="budget / 2 * exp(-budget * abs(datum.t))",
        with_you="budget / 2 * exp(-budget * abs(datum.t - 1))",
        both="min(datum.without, datum.with_you)",
        label=guess + " + ' of 100 guesses'",
    )
    x = alt.X("t:Q", title="the published count, less that of all others").scale(domain=[-10, 11])
    first = curves.mark_line(color=blue).encode(x, alt.Y("without:Q", axis=None))
    second = curves.mark_line(color=orange, strokeDash=[6, 4]).encode(x, alt.Y("with_you:Q"))
    shade = curves.mark_area(color=blue, opacity=0.2).encode(x, alt.Y("both:Q", axis=None))

    def words(panel: Any, text: str, place: float, colour: str = "black", y: int = 12) -> Any:
        mark = panel.mark_text(align="left", fontSize=14, color=colour, y=y)
        return mark.encode(x=alt.value({"expr": f"{place} * width"}), text=text)

    first_row = curves.transform_filter("datum.t < -9.99")
    names = words(first_row, "others:N", 0.29, blue, 40) + words(
        first_row, "you:N", 0.6, orange, 40
    )
    attacker = shade + first + second + names + words(first_row, "label:N", 0.01)
    scale = "(100 / budget / pow(10, power))"
    shares = alt.Chart(alt.sequence(0, 100.1, 0.1, as_="t")).transform_calculate(
        density=f"exp(-abs(datum.t - 30) / {scale})",
        label=f"'off by ' + format({scale}, '.2g') + ' points on average, among ' + "
        "format(pow(10, power), ',.0f') + ' people'",
    )
    x = alt.X("t:Q", title="the published share, in percent; the truth is 30").scale(
        domain=[0, 100]
    )
    peak = shares.mark_area(color=blue, opacity=0.5).encode(x, alt.Y("density:Q", axis=None))
    analyst = peak + words(shares.transform_filter("datum.t < 0.05"), "label:N", 0.4)
    panels = [
        panel.properties(width=560, height=height, title=alt.Title(title, anchor="start"))
        for panel, height, title in (
            (attacker, 120, "What an attacker sees"),
            (analyst, 90, "What an analyst sees"),
        )
    ]
    return alt.vconcat(*panels).add_params(budget, power)


def figure() -> dict[str, str]:
    """Return the picture and the page that holds it, which the front page includes, by name."""
    import vl_convert

    from dplit.notebook.explorable import _dressed

    spec = _dressed(chart().to_dict(), ALT)
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    page = f"```{{figure}} front.svg\n:name: fig-front\n:alt: {ALT}\n\n{CAPTION}\n```\n"
    script = f'<script type="application/json" data-explore="fig-front">{text}</script>\n'
    return {"front.svg": vl_convert.vegalite_to_svg(text), "front.md": f"{page}\n{script}"}
