"""The pages made from records: index, errata, tests, run times."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from dplit_book import shown as pages
from dplit_book import typeface

from dplit.notebook.claims import load_registry
from scripts.files import write_json
from scripts.layout import Layout, slug_of
from scripts.marks import MarkedTest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "dplit"


def record(identifier: str, verdict: str = "holds", **changes: Any) -> dict[str, Any]:
    whole = {
        "id": identifier,
        "slug": "erm",
        "kind": "theorem",
        "place": "Theorem 2",
        "title": "Costs $5 & <more>",
        "verdict": verdict,
        "severity": None,
        "corrected": None,
        "status": "passed",
        "reason": None,
        "note": "a note",
        "anchor": identifier,
        "functions": [],
        "checks": [],
        "tests": ["tests/test_a.py::test_one"],
    }
    whole |= changes
    return {"page": f"book/chapters/{whole['slug']}.html", **whole}


RECORDS = [
    record("erm-a"),
    record("erm-b", "erratum", severity="cosmetic", corrected="x < 2", note="the proof"),
    record("erm-c", "erratum", severity="privacy-breaking", corrected="y", kind="figure"),
    record("margin-a", slug="margin", status="not_run", note="", reason="no data"),
]


def test_figures_belong_to_the_anchors_above_them() -> None:
    """Kills a figure that is lost behind a second anchor or given to the next chapter heading."""

    def text(source: str) -> dict[str, Any]:
        return {"cell_type": "markdown", "source": source, "metadata": {}}

    def figure(name: str) -> dict[str, Any]:
        return {"cell_type": "code", "metadata": {"mystnb": {"figure": {"name": name}}}}

    plain = {"cell_type": "code", "metadata": {}}
    cells = [
        *(figure("fig-0"), text("(erm-a)=\n## A\n\nWords\n\n(erm-b)=\n(erm-c)=\nBox"), plain),
        *(figure("fig-1"), text("### Below"), figure("fig-2"), text("## Next"), figure("fig-3")),
    ]
    found = pages.figures_of({"cells": cells})
    assert found == {"erm-b": ["fig-1", "fig-2"], "erm-c": ["fig-1", "fig-2"]}
    one = record("erm-a", functions=["dplit.streams.stream"], figures=["fig-1"])
    soup = BeautifulSoup(pages.index([one], PACKAGE), "html.parser")
    links = soup.select("div.dplit-functions a")
    assert [link["href"] for link in links][1:] == ["chapters/erm.html#fig-1"]


def test_index_has_a_row_for_each_claim_with_what_the_filters_need() -> None:
    first = record("erm-a", functions=["dplit.streams.stream"])
    soup = BeautifulSoup(pages.index([first, *RECORDS[1:]], PACKAGE), "html.parser")
    rows = soup.select("tr.dplit-row")
    assert [row["id"] for row in rows] == ["row-erm-b", "row-erm-c", "row-erm-a", "row-margin-a"]
    folded = [row["id"] for row in soup.select("section details tr.dplit-row")]
    assert folded == ["row-erm-a", "row-margin-a"]  # what stands
    assert [head.text for head in soup.select("summary")] == ["What stands: 1 holds"] * 2
    assert rows[1]["data-severity"] == "privacy-breaking"
    assert rows[3]["data-status"] == "not run here"
    assert rows[3].find_all("td")[-1].text == "no data"
    link = rows[2].select_one("div.dplit-functions a")
    assert link["href"] == "reference/streams.html#dplit.streams.stream"
    menus = {str(menu["data-filter"]) for menu in soup.select("select")}
    assert menus == {"paper", "kind", "verdict", "severity", "status"}
    for name in menus:
        offered = {option["value"] for option in soup.select(f"select[data-filter={name}] option")}
        assert offered == {"", *(row[f"data-{name}"] for row in rows)}


def test_claims_stand_as_they_are_registered(layout: Layout) -> None:
    """Kills the order of letters, in which eq14 comes before eq2, ours among the papers', and
    claims as they happen to be collected."""
    registered = [(slug, name) for slug in ("erm", "margin") for name in load_registry(slug)]
    collected = sorted(registered, key=lambda x: x[1])
    write_json(layout.claims, [record(name, slug=slug, tests=[]) for slug, name in collected])
    shown = pages.SHOWN["index"](layout, "")
    rows = [row["id"] for row in BeautifulSoup(shown, "html.parser").select("tr.dplit-row")]
    registered.sort(key=lambda x: (x[0], "-beyond-" in x[1]))  # all of them hold here
    assert rows == [f"row-{name}" for _, name in registered]


def test_the_scoreboard_counts_every_claim_once() -> None:
    told = [*RECORDS, record("erm-beyond-x", "sharp"), record("margin-b", "gap", slug="margin")]
    told.append(record("face-beyond-y", "sharp", slug="face_off"))  # no claim of a paper
    minutes = {"erm": 25, "face_off": 15}
    soup = BeautifulSoup(pages.scoreboard(told, minutes), "html.parser")
    rows = [[cell.text for cell in row.find_all("td")] for row in soup.select("tbody tr")]
    assert rows == [
        ["1", "", "", "2", "", "25"],
        ["1", "", "1", "", "", ""],
        ["", "", "", "", "", "15"],
        ["2", "", "", "", "", ""],
    ]
    heads = [cell.text for cell in soup.select("thead th")]  # the corner is no head
    named = [cell["data-column"] for cell in soup.select("tbody tr:first-child td")]
    assert named == heads  # on a phone each number stands with its name


def test_what_is_folded_and_code_take_no_time_to_read(tmp_path: Path) -> None:
    """1,500 words that are open; kills a count of folded text or of formulas."""
    text = "\n".join(
        [
            "::::{admonition} Box",
            "word " * 500,
            ":::{dropdown} Proof",
            "word " * 9000,
            "::::{inner}",
            "word " * 900,
            "::::",
            ":::",
            "::::",
            "word $a b c$ " * 500,
        ]
    )
    cells = [("markdown", text), ("code", "word " * 900)]
    source = [{"cell_type": kind, "source": [part]} for kind, part in cells]
    notebook = tmp_path / "x.ipynb"
    notebook.write_text(json.dumps({"cells": source}), encoding="utf-8")
    assert pages.reading_minutes(notebook) == 10  # 1000 / 150 is 6.7


def test_index_counts_by_verdict_and_status() -> None:
    soup = BeautifulSoup(pages.verdicts(RECORDS), "html.parser")
    rows = soup.select("table.dplit-counts tbody tr")
    counted = {
        row.th.text: [cell.text for cell in row.find_all("td")[:2]] for row in rows if row.th
    }
    assert counted == {"holds": ["1", "1"], "erratum": ["2", "0"]}


def test_text_is_neither_markup_nor_a_formula() -> None:
    text = pages.index(RECORDS, PACKAGE)
    assert "Costs &#36;5 &amp; &lt;more&gt;" in text
    assert "$" not in text


def test_errata_come_gravest_first_with_what_was_printed_and_what_stands() -> None:
    soup = BeautifulSoup(pages.errata(RECORDS), "html.parser")
    found = [section["id"] for section in soup.select("section.dplit-erratum")]
    assert found == ["erratum-erm-c", "erratum-erm-b"]
    told = soup.select("#erratum-erm-b dd")
    assert [part.text for part in told[1:]] == ["cosmetic", "x < 2", "the proof"]


def test_errata_are_counted_by_severity_under_the_authors_names() -> None:
    other = record("margin-b", "erratum", slug="margin", severity="cosmetic", corrected="z")
    soup = BeautifulSoup(pages.errata([*RECORDS, other]), "html.parser")
    rows = [[c.text for c in row.find_all(["th", "td"])] for row in soup.select("table tr")]
    assert rows == [
        ["paper", "privacy-breaking", "cosmetic", "all"],
        ["Nie and Wang (2017)", "1", "1", "2"],
        ["Bassily, Mohri and Suresh (2022)", "0", "1", "1"],
    ]
    assert soup.select("#erratum-erm-b dd")[0].text.startswith("Nie and Wang (2017), Theorem 2;")


def test_formulas_are_typeset_in_every_column() -> None:
    texts = {key: f"{key} $x_1 < \\eps$" for key in ("title", "corrected", "note")}
    told = [record("erm-a", "erratum", severity="cosmetic", **texts)]
    index = BeautifulSoup(pages.index(told, PACKAGE), "html.parser")
    errata = BeautifulSoup(pages.errata(told), "html.parser")
    for soup, count in ((index, 2), (errata, 3)):
        assert [m.text for m in soup.select("span.math")] == [r"\(x_1 < \eps\)"] * count
    assert index.select_one("option[value=erm]").text == "Nie and Wang (2017)"


def test_errata_page_without_errata_says_so() -> None:
    assert "No erratum" in pages.errata(RECORDS[:1])


REFUTED = {"method": "refute", "how": "two records, $x$", "measured": 2.0, "expected": 0.53333}


def test_an_erratum_shows_its_counterexample_in_numbers() -> None:
    """Kills a line of another check, sides that change places, and a claim without numbers."""
    first = {"method": "equal", "how": "by hand", "measured": 1.0, "expected": 1.0}
    later = {**REFUTED, "how": "another"}
    shown = [
        record("erm-b", "erratum", severity="cosmetic", checks=[first, REFUTED, later]),
        record("erm-c", "erratum", severity="cosmetic", checks=[first]),
    ]
    soup = BeautifulSoup(pages.errata(shown), "html.parser")
    one, other = soup.select("section.dplit-erratum")
    (line,) = [dt.find_next("dd").text for dt in one.select("dt") if dt.text == "In numbers"]
    assert line.startswith("2, where the paper says 0.533: two records, ")
    assert "In numbers" not in other.text


def test_figures_stand_beside_their_targets(layout: Layout) -> None:
    """Kills sides that change places, a band of one error, this run's numbers where others are
    archived, and a figure that is left out for want of numbers."""
    read = {"paper": 0.25, "ours": 0.5, "paper_se": 0.03, "ours_se": 0.04, "reading_error": 0.1}
    rows = [
        {"setting": "at 1", **read, "miss": False, "within": True},
        {"setting": "at 2", **read, "miss": True, "within": True},
    ]
    printed = {"method": "reproduce", "how": "2 of 2", "rows": rows}
    bound = {
        "method": "at_most",
        "how": "a bound",
        "measured": 3.0,
        "expected": 4.0,
        "tolerance": 0.0,
    }
    exact = {**bound, "method": "equal", "how": "by hand", "tolerance": 2.0}
    said = {"method": "statement", "how": "medians", "expected": "it falls", "measured": True}
    archived = [{"id": "erm-f", "checks": [printed]}, {"id": "erm-g", "checks": []}]
    write_json(layout.results / "erm.json", {"claims": archived})
    shown = [
        record("erm-f", kind="figure", checks=[exact]),
        record("erm-g", kind="figure", checks=[bound, exact, said]),
        record("margin-t", kind="table", slug="margin", checks=[REFUTED]),
        record("margin-none", kind="figure", slug="margin"),
        record("margin-l", slug="margin", checks=[exact]),
    ]
    text = "".join(pages.differences(shown, layout, slug) for slug in ("erm", "margin"))
    soup = BeautifulSoup(text, "html.parser")
    cells = [[td.text for td in row.select("td")] for row in soup.select("tbody tr")]
    assert [row[1:] for row in cells if row] == [
        ["0.25", "0.5", "0.25", "0.3"],
        ["0.25", "0.5", "0.25", "0.3 (missed)"],
        ["4", "3", "-1", "below"],
        ["4", "3", "-1", "2"],
        ["it falls", "so it is", "", ""],
        ["0.5333", "2", "1.467", "must differ"],
    ]
    heads = [str(link["href"]) for link in soup.select("th a")]
    assert [head.rpartition("#")[2] for head in heads] == ["erm-f", "erm-g", "margin-t"]


def test_our_own_errors_are_those_of_the_changelog() -> None:
    """Kills a heading of the changelog that moved: the page includes what stands between them."""
    root = Path(__file__).parents[2]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = [line for line in changelog.splitlines() if line.startswith("###")]
    assert heads[-3:] == ["### Security", "### Tools and defaults", "### Verdicts"]
    assert len(heads) == len(set(heads))
    page = (root / "book" / "errata.md").read_text(encoding="utf-8")
    assert all(f'"{head}"' in page for head in heads[-3:])


def test_tests_page_shows_each_source_once_and_links_it_from_its_claims() -> None:
    shared = MarkedTest("tests/test_a.py", "test_one", ("erm-a", "erm-b"), "x = '```'", 1)
    other = MarkedTest("tests/test_b.py", "test_two", ("margin-a",), "assert 1", 1)
    both = [part("erm", RECORDS, [shared, other]) for part in (pages.tests_of, pages.sources)]
    text = "\n".join(both)
    assert text.count("x = '```'") == 1
    assert "````python" in text
    assert "assert 1" not in text
    soup = BeautifulSoup(text, "html.parser")
    anchors = {tag["id"] for tag in soup.find_all(id=True)}
    assert {"test-erm-a", "test-erm-b", "test-erm-c", "source-1"} == anchors
    for link in soup.select("li a"):
        assert str(link["href"])[1:] in anchors


RAN = {"seconds": 2.5, "cpu": 1.25, "megabytes": 321, "slow": [("A bound", 1.5), ("Proof", 0.5)]}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    for slug in ("erm", "margin"):
        (tmp_path / "notebooks").mkdir(exist_ok=True)
        (tmp_path / "notebooks" / f"{slug}.md").write_text("")
        (tmp_path / "notebooks" / f"{slug}.ipynb").write_text('{"cells": []}')
        write_json(tmp_path / "_build" / "state" / f"{slug}.json", RAN)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "import pytest\n@pytest.mark.claim('erm-a', 'erm-b', 'erm-c', 'margin-a')\n"
        "def test_one():\n    assert 1\n"
    )
    return Layout(tmp_path)


def test_every_part_of_the_records_is_shown_on_a_page_of_its_own() -> None:
    """Kills a part that no page shows, and a chapter whose tests have no page."""
    root = Path(__file__).parents[2]
    pages_of = [path.read_text(encoding="utf-8") for path in (root / "book").rglob("*.md")]
    asked = re.findall(r"^```\{dplit\} (\S+) ?(\w*)$", "\n".join(pages_of), re.MULTILINE)
    assert {name for name, _ in asked} == set(pages.SHOWN)
    recorded = {slug_of(name) for name in Layout(root).recorded()}
    for part in ("tests", "sources", "differences"):
        assert {slug for name, slug in asked if name == part} == recorded


def test_decisions_and_costs_are_those_of_the_archived_run(layout: Layout) -> None:
    """Kills budgets that are typed, and the cost of one kernel machine told of the other."""
    assert pages.decisions(layout) == "No run of the face-off is archived.\n"
    timed = [
        *(["wine", "noisy_gradient", 40, 3.0, 0.5], ["wine", "kernel_machine", 40, 4.0, 1.0]),
        *(["toy", "noisy_gradient", 2000, 1.0, 7.0], ["toy", "kernel_machine", 2000, 8.0, 2.0]),
        *(["digits", "margin", 30, 5.0, 0.25], ["digits", "kernel_machine", 30, 6.0, 0.125]),
    ]
    decided = [["wine, 40 by 3", "nothing", "noisy gradient 0.25", "0.75", "0.00"]]
    frontier = {"curves": {"wine: trivial": {"x": [0.5, 2.0]}}}
    curves = {"fig-face-frontier": frontier, "tab-face-costs": {"rows": timed}}
    curves["tab-face-decision"] = {"rows": decided}
    made = {"date": "2026-11-28", "commit": "45999fc8a28e"}
    write_json(layout.results / "face_off.json", {"curves": curves, "made": made})
    text = pages.decisions(layout)
    soup = BeautifulSoup(text, "html.parser")
    rows = [[c.text for c in row.find_all(["th", "td"])] for row in soup.select("tr")]
    assert rows == [
        ["task, records by columns", "ε = 0.5", "ε = 2", "not private", "trivial"],
        *decided,
        ["estimator", "records", "milliseconds", "MB at most"],
        ["NoisyGradientRegressor", "40 to 2,000", "1 to 3", "7"],
        ["PrivateKernelMachine", "40 to 2,000", "4 to 8", "2"],
        ["PrivateMarginClassifier", "30 to 30", "5 to 5", "0.25"],
        ["PrivateKernelClassifier", "30 to 30", "6 to 6", "0.12"],
    ]
    assert "archived on 2026-11-28 at commit 45999fc8a28e." in text


def test_run_times_have_a_row_a_chapter(layout: Layout) -> None:
    row = "| [](chapters/erm) | 2.5 | 1.2 | 321 | A bound 1.5; Proof 0.5 |"
    assert row in pages.run_times(layout)
    assert "No benchmark" in pages.benchmarks(layout)


def test_archived_benchmarks_are_shown_with_date_and_machine(layout: Layout) -> None:
    seconds = {"ours_seconds": 0.5, "peer_seconds": 4.0, "ratio": 8.0}
    rows = [{"name": "map", "ours": "a", "peer": "b", **seconds, "target": t} for t in (7.0, 9.5)]
    rows.append({"name": "map", "ours": "a", "peer": "b", **seconds})
    told = {"date": "2026-01-02", "machine": "two cores", "rows": rows}
    write_json(layout.results / "benchmarks.json", told)
    text = pages.benchmarks(layout)
    assert "archived on 2026-01-02 (two cores)" in text
    for aim in ("7", "9.5 (missed)", ""):
        assert f"| **map**: a against b | 0.5 | 4 | 8 | {aim} |" in text


def test_spelled_letters_and_signs_of_a_note_are_set_and_names_of_functions_stay() -> None:
    """Kills a letter within a word or a name, and a note that is no longer escaped."""
    told = pages.signs("lambda <= (1 + kappa/2)^2 < infinity; release_epsilon, beta-ball, betas")
    assert told == "λ ≤ (1 + κ/2)² &lt; ∞; release_epsilon, β-ball, betas"
    row = pages.index([record("erm-a", "gap", note="at least sqrt(epsilon)")], PACKAGE)
    assert "at least √(ε)" in row


def test_the_faces_that_the_style_names_are_those_that_are_written(tmp_path: Path) -> None:
    """Kills a face that is not there, a letter that notes need, and a clock in a file."""
    from fontTools.ttLib import TTFont

    typeface.write(tmp_path)
    style = (Path(__file__).parents[2] / "book" / "_assets" / "book.css").read_text("utf-8")
    assert sorted(re.findall(r'url\("([\w-]+\.woff)"\)', style)) == sorted(os.listdir(tmp_path))
    for file in tmp_path.iterdir():
        with TTFont(file) as font:
            assert {ord(letter) for letter in "aZé–ελσ≤√∞²"} <= set(font.getBestCmap())
    first = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for file in tmp_path.iterdir():
        file.unlink()
    typeface.write(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == first
