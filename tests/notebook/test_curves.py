"""Curves at the paper's scale are archived, drawn below a quick run's points, and said to be."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplit.notebook import Curves, Run, figures
from dplit.notebook.cells import _CURVES_MIMETYPE as MIMETYPE

LOOK = figures.looks_of(ours="ours")["ours"]
ALT = "The curve falls from one to zero as the argument grows from zero to one."
X, Y, LOW, HIGH = [1, 2], [0.51, 0.25], [0.4, 0.2], [0.6, 0.35]


@pytest.fixture
def store(checkout: Path) -> Any:
    """Archives the record of a run, as `make paper` writes it."""

    def write(record: dict[str, Any]) -> None:
        text = json.dumps({"curves": {record["name"]: record}})
        (checkout / "results" / "toy.json").write_text(text)

    return write


def run(scale: str = "quick") -> Run:
    return Run("toy", {"scale": scale, "seed": 0})


def drawn(scale: str, displayed: Any, y: Any = Y, trials: int = 9, **settings: Any) -> Any:
    """Draw one curve; return its axes, the record and the caption."""
    kept = Curves(run(scale), "fig-toy", **settings)
    fig, (axes,) = figures.panels()
    kept.line(axes, "ours", X, y, LOOK, band=(LOW, HIGH), trials=trials, errors="range")
    axes.set(xlabel="x", ylabel="y")
    kept.show(fig, caption="A line.", alt=ALT)
    data, metadata = displayed.pop()
    assert data["image/svg+xml"].startswith("<?xml")
    figure = metadata["dplit"]["figure"]
    assert (figure["name"], figure["alt"]) == ("fig-toy", ALT)
    return axes, data[MIMETYPE], figure["caption"]


def heights(axes: Any) -> list[list[float]]:
    """Return the heights of every line, whether of a curve or of markers."""
    return [list(line.get_ydata()) for line in axes.lines if len(line.get_ydata()) == 2]


def test_the_papers_scale_draws_what_it_computed_and_records_it(displayed: Any, store: Any) -> None:
    store({**drawn("paper", displayed, [0.9, 0.8])[1]})
    axes, record, caption = drawn("paper", displayed)
    assert Y in heights(axes)
    assert [0.9, 0.8] not in heights(axes)
    assert record["curves"] == {
        "ours": {"x": X, "y": Y, "low": LOW, "high": HIGH, "trials": 9, "errors": "range"}
    }
    assert record["stand_ins"] == []
    assert caption == "A line. Drawn: this run (paper, 9 trials)."


def test_a_quick_run_draws_the_archive_with_its_own_points_on_top(
    displayed: Any, store: Any
) -> None:
    store(drawn("paper", displayed, trials=200)[1])
    axes, record, caption = drawn("quick", displayed, [0.5, 0.3], trials=1)
    curve, points = (
        next(v for v in axes.lines if list(v.get_ydata()) == y) for y in (Y, [0.5, 0.3])
    )
    assert curve.get_linestyle() == "-"
    assert curve.get_marker() == "None"
    assert points.get_linestyle() == "None"
    assert points.get_marker() == LOOK.marker
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (min(LOW), max(HIGH))
    assert record["curves"]["ours"]["y"] == [0.5, 0.3]
    assert caption == (
        "A line. Where a line has markers, line and band are the archived run at the paper's "
        "scale, 200 trials; the markers are this run (quick, one trial)."
    )


def test_an_archive_with_other_settings_is_not_drawn(displayed: Any, store: Any) -> None:
    store(drawn("paper", displayed, data="paper")[1])
    axes, _, caption = drawn("quick", displayed, [0.5, 0.3], data="bundled")
    assert Y not in heights(axes)
    assert "the archived run, with data = paper, is not comparable" in caption
    assert "line and band are the archived run" in drawn("quick", displayed, data="paper")[2]


def test_without_an_archive_the_caption_says_so(displayed: Any, store: Any) -> None:
    axes, _, caption = drawn("quick", displayed)
    assert Y in heights(axes)
    assert caption.endswith("this run (quick, 9 trials); none is archived at the paper's scale.")


def test_a_curve_that_the_archive_lacks_is_drawn_as_it_is(displayed: Any, store: Any) -> None:
    store(drawn("paper", displayed)[1])
    main, here = Curves(run(), "fig-toy").keep("new", ["a", "b"], np.array([1.0, math.nan]))
    assert here is None
    assert (main.x, main.y, main.band) == (["a", "b"], [1.0, None], None)


def test_a_record_is_json_of_six_digits() -> None:
    kept = Curves(run("paper"), "fig-toy", epsilon=np.float64(0.5))
    kept.keep("a", np.arange(2), np.array([1 / 3, np.inf]))
    text = json.dumps(kept._record(), allow_nan=False)
    assert json.loads(text)["curves"]["a"] == {
        "x": [0, 1],
        "y": [0.333333, None],
        "low": None,
        "high": None,
        "trials": None,
        "errors": None,
    }
    assert json.loads(text)["settings"] == {"epsilon": 0.5}


def test_curves_that_cannot_be_kept_are_refused() -> None:
    kept = Curves(run(), "fig-toy")
    kept.keep("a", X, Y)
    with pytest.raises(ValueError, match="two curves of one name, got name='a'"):
        kept.keep("a", X, Y)
    with pytest.raises(ValueError, match=r"errors must be one of .*got errors='3 se'"):
        kept.keep("c", X, Y, errors="3 se")
    with pytest.raises(ValueError, match="x and y of b must be equally long"):
        kept.keep("b", X, [1.0])


def test_the_archived_rows_of_a_table_stand_above_those_of_the_run(
    displayed: Any, store: Any
) -> None:
    Curves(run("paper"), "tab-toy").table(["n", "error"], [[10, 0.123456789]], caption="Errors.")
    data = displayed.pop()[0]
    assert "<caption>Errors. This run (paper).</caption>" in data["text/html"]
    assert data[MIMETYPE]["rows"] == [[10, 0.123457]]
    store(data[MIMETYPE])
    Curves(run(), "tab-toy").table(["n", "error"], [[10, 0.5]], caption="Errors.")
    data = displayed.pop()[0]
    first, _, second = data["text/html"].partition("<details><summary>This run (quick).</summary>")
    assert "Errors. The archived run at the paper&#x27;s scale." in first
    assert "<td>0.1235</td>" in first
    assert "<td>0.5</td>" in second
    assert "0.1235" not in second
    assert data[MIMETYPE]["rows"] == [[10, 0.5]]


@pytest.fixture
def lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the papers' files."""
    monkeypatch.setenv("DPLIT_DATA", str(tmp_path))
    monkeypatch.setenv("DPLIT_CACHE", str(tmp_path))


def test_a_run_with_stand_ins_draws_the_archived_curve_alone(
    displayed: Any, store: Any, lacking: None
) -> None:
    """Kills a stand-in's points on the paper's curve, and a caption that does not say whose."""
    store({**drawn("paper", displayed, [0.9, 0.8])[1]})
    kept = Curves(run(), "fig-toy")
    fig, (axes,) = figures.panels()
    kept.on("medical").line(axes, "ours", X, Y, LOOK, trials=3)
    kept.on("medical").points(axes, X, Y, LOOK)
    axes.set(xlabel="x", ylabel="y")
    kept.show(fig, caption="A line.", alt=ALT)
    _, metadata = displayed.pop()
    assert heights(axes) == [[0.9, 0.8]]
    figure = metadata["dplit"]["figure"]
    assert figure["caption"] == (
        "A line. Drawn: the archived run at the paper's scale, 9 trials, whose data this run does "
        "not have in part or whole."
    )
    assert figure["alt"] == ALT


def test_stand_ins_that_must_be_drawn_are_called_so(
    displayed: Any, store: Any, lacking: None
) -> None:
    kept = Curves(run(), "fig-toy").on("medical")
    fig, (axes,) = figures.panels()
    kept.line(axes, "ours", X, Y, LOOK)
    axes.set(xlabel="x", ylabel="y")
    kept.show(fig, caption="A line.", alt=ALT)
    figure = displayed.pop()[1]["dplit"]["figure"]
    assert figure["caption"].endswith("Stand-in data, not the paper's.")
    assert figure["alt"].startswith("Stand-in data drawn as fig-toy")


def test_rows_of_stand_ins_are_not_shown(displayed: Any, store: Any, lacking: None) -> None:
    Curves(run("paper"), "tab-toy").table(["x"], [[1.0]], caption="Rows.")
    store(displayed.pop()[0][MIMETYPE])
    Curves(run(), "tab-toy").on("medical").table(["x"], [[2.0]], caption="Rows.")
    page = displayed.pop()[0]["text/html"]
    assert "<td>1</td>" in page
    assert "<td>2</td>" not in page
    assert "The archived run at the paper&#x27;s scale; this run does not have its data." in page


def test_an_empty_table_of_a_quick_run_is_not_shown(displayed: Any, store: Any) -> None:
    Curves(run("paper"), "tab-toy").table(["x"], [[1.0]], caption="Rows.")
    store(displayed.pop()[0][MIMETYPE])
    Curves(run(), "tab-toy").table(["x"], [], caption="Rows.")
    page = displayed.pop()[0]["text/html"]
    assert "<details>" not in page
    assert "<td>1</td>" in page


def test_a_setting_of_none_accepts_any_archive(displayed: Any, store: Any) -> None:
    store({**drawn("paper", displayed, [0.9, 0.8], source="test")[1]})
    assert [0.9, 0.8] in heights(drawn("quick", displayed, source=None)[0])
    assert [0.9, 0.8] not in heights(drawn("quick", displayed, source="other")[0])
    assert [0.9, 0.8] not in heights(drawn("quick", displayed)[0])


def test_numbers_about_missing_data_are_the_archived_ones_and_marked(
    displayed: Any, store: Any, lacking: None, tmp_path: Path
) -> None:
    """Kills a stand-in's number in a sentence about the paper's data."""
    from scripts import normalise

    (tmp_path / "results" / "toy.json").write_text(json.dumps({"numbers": {"norm": 25.6}}))
    run().glue_on(("medical",), norm=0.43, other=7)
    outputs = [{"data": data, "metadata": metadata} for data, metadata in displayed]
    prefix = "application/papermill.record/text/plain"
    assert [output["data"][prefix] for output in outputs] == ["25.6", "7"]
    text = "It is {glue:text}`norm:.1f`, not {glue:text}`other`, nor {glue:text}`free:.2f`."
    page = {"cells": [{"cell_type": "markdown", "source": text}, {"cell_type": "code"}]}
    page["cells"][1]["outputs"] = outputs
    normalise.mark_numbers(page)
    marked = page["cells"][0]["source"]
    assert '{glue:text}`norm:.1f` <sup class="dplit-whose"' in marked
    assert ">archived</sup>, not" in marked
    assert ">stand-in</sup>, nor" in marked
    assert marked.endswith("{glue:text}`free:.2f`.")
    assert all("dplit" not in output["metadata"] for output in outputs)


def test_numbers_of_a_run_that_has_the_data_are_its_own(displayed: Any, store: Any) -> None:
    run().glue_on((), norm=0.43)
    assert displayed.pop()[0]["application/papermill.record/text/plain"] == "0.43"
