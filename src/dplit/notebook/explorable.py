"""Figures with sliders, which a page answers without a kernel and without a network."""

from __future__ import annotations

import copy
import json
from typing import Any

from dplit.notebook.cells import _described, _display_figure
from dplit.notebook.figures import COLOURS

_MIMETYPE = "application/vnd.dplit.explore+json"

#: Bytes that the specification of one figure may have, data included.
_LARGEST = 300_000

_STYLE: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 400},
    "range": {"category": list(COLOURS)},
    "view": {"stroke": None},
}


def explorable(chart: Any, *, name: str, caption: str, alt: str) -> None:
    """Display an Altair chart whose sliders work on the page, with a picture where no script runs.

    Formulas belong into the chart (``alt.sequence``, ``transform_calculate``), so that a slider
    needs no table of results; data only where there is no formula. At most 300 kB in all.

    Parameters
    ----------
    chart : altair.Chart
        With its parameters (``alt.param(bind=alt.binding_range(...))``), whose starting values the
        picture shows. A width and height that it does not set become 560 and 320.
    name, caption, alt : str
        As :func:`dplit.notebook.show` takes them.
    """
    caption, alt = _described(name, caption, alt, False)
    spec = _dressed(chart.to_dict() if hasattr(chart, "to_dict") else dict(chart), alt)
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if len(text.encode()) > _LARGEST:
        raise ValueError(
            f"{name} must have at most {_LARGEST} bytes, got {len(text.encode())}: put formulas "
            "into the chart, or thin its data out"
        )
    try:
        import vl_convert
    except ImportError as error:
        message = "explorable figures need vl-convert-python: pip install 'dplit[book]'"
        raise ImportError(message) from error
    picture = vl_convert.vegalite_to_svg(text)
    _display_figure({"image/svg+xml": picture, _MIMETYPE: spec}, name, caption, alt)


def _dressed(spec: dict[str, Any], alt: str) -> dict[str, Any]:
    """Return a chart's specification with the book's style, where it has none of its own."""
    spec = copy.deepcopy(spec)
    config = spec.setdefault("config", {})
    config.get("view", {}).pop("continuousWidth", None)  # what Altair always says
    config.get("view", {}).pop("continuousHeight", None)
    for key, value in _STYLE.items():
        own = config.get(key, {} if isinstance(value, dict) else value)
        config[key] = {**value, **own} if isinstance(value, dict) else own
    if "mark" in spec or "layer" in spec:
        spec = {"width": 560, "height": 320, **spec}
    return {**spec, "description": alt}
