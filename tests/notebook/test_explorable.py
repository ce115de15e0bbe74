"""Explorable figures: a bounded specification, a picture, descriptions, equal bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dplit.notebook import explorable
from dplit.notebook.explorable import _LARGEST, _MIMETYPE

alt = pytest.importorskip("altair")
pytest.importorskip("vl_convert")

WORDS = {
    "name": "fig-a",
    "caption": "A bell.",
    "alt": "A bell that grows narrower as the slider's scale falls from four to one.",
}


def chart() -> Any:
    scale = alt.param(
        name="scale", value=1.0, bind=alt.binding_range(min=0.5, max=4, step=0.1, name="scale")
    )
    line = alt.Chart(alt.sequence(-4, 4, 0.1, as_="x"))
    line = line.transform_calculate(y="exp(-pow(datum.x / scale, 2) / 2)").mark_line()
    return line.encode(x="x:Q", y="y:Q").add_params(scale)


def test_a_chart_has_its_specification_a_picture_and_descriptions(displayed: Any) -> None:
    explorable(chart(), **WORDS)
    (data, metadata) = displayed[0]
    assert metadata["dplit"]["figure"] == WORDS
    assert data["text/plain"] == WORDS["alt"]
    spec = data[_MIMETYPE]
    assert spec["description"] == WORDS["alt"]
    assert (spec["width"], spec["height"]) == (560, 320)
    assert spec["params"][0]["bind"]["input"] == "range"
    assert data["image/svg+xml"].startswith("<svg")
    assert 'fill="white"' not in data["image/svg+xml"]  # the page's own ground shows


def test_two_calls_give_the_same_bytes(displayed: Any) -> None:
    for _ in range(2):
        explorable(chart(), **WORDS)
    assert displayed[0] == displayed[1]


def test_a_chart_keeps_its_own_size_and_style(displayed: Any) -> None:
    own = chart().properties(width=200).configure_axis(labelFontSize=20)
    explorable(own, **WORDS)
    spec = displayed[0][0][_MIMETYPE]
    assert (spec["width"], spec["height"]) == (200, 320)
    assert spec["config"]["axis"]["labelFontSize"] == 20
    assert spec["config"]["axis"]["titleFontSize"] == 13
    assert own.to_dict()["config"]["axis"] == {"labelFontSize": 20}


def test_too_much_data_is_refused(displayed: Any) -> None:
    rows = [{"x": k, "y": k} for k in range(_LARGEST // 10)]
    large = {"mark": "point", "data": {"values": rows}}  # Altair would look at every row
    with pytest.raises(ValueError, match=f"fig-a must have at most {_LARGEST} bytes, got"):
        explorable(large, **WORDS)
    assert displayed == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("name", "Fig 1", "name must be"), ("alt", "short", "40 to 300"), ("caption", " ", "empty")],
)
def test_a_chart_without_proper_description_is_refused(
    displayed: Any, field: str, value: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        explorable(chart(), **{**WORDS, field: value})
    assert displayed == []


def test_the_specification_is_json_without_nan(displayed: Any) -> None:
    spec = {"mark": "point", "data": {"values": [{"x": float("nan")}]}}
    with pytest.raises(ValueError, match="not JSON compliant"):
        explorable(spec, **WORDS)
    explorable({"mark": "point", "data": {"values": [{"x": 1}]}}, **WORDS)
    assert json.dumps(displayed[0][0][_MIMETYPE])
