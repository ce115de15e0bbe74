"""What the built pages say of data that the run did not have; asked of both kinds of build."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from scripts import digest
from scripts.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
SITE = LAYOUT.html
RECORDS: list[dict[str, Any]] = json.loads(LAYOUT.claims.read_text()) if SITE.is_dir() else []
UNASKED = [record for record in RECORDS if record["unasked"]]
LACKING = sorted({name for r in UNASKED for check in r["unasked"] for name in check["data"]})
CHAPTERS = LAYOUT.names()
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not RECORDS, reason="the book is not built; run: make book"),
]

#: Titles of the boxes that say that a chapter's data are missing.
OF_DATA = {"Data that are not here", "MNIST is not here", "Stand-in data"}
#: What must stand on no page, and why.
NEVER = {
    r"\bnan\b": "a number that is none",
    r"check failed": "a claim that failed",
    r"(?i)stand-in for (?:the )?(?:medical|red wine|wine|MNIST)": "a row or curve of stand-ins",
    r"Stand-in data, not the paper's": "a figure or table of stand-ins",
    r"Stand-in data drawn as": "a figure of stand-ins",
    r"\d\s+stand-in\b": "a number of stand-ins in a sentence",
    r"this run has stand-in data": "a reason that is not the data's",
}


def faults(page: str) -> list[str]:
    """Return what is untrue or unfinished in a page's visible text and alternative texts."""
    soup = BeautifulSoup(page, "html.parser")
    alts = [str(image.get("alt", "")) for image in soup.find_all("img")]
    for code in soup.find_all(["pre", "code", "script", "style"]):
        code.decompose()
    text = re.sub(r"\s+", " ", " ".join([soup.get_text(" "), *alts]))
    return [why for pattern, why in NEVER.items() if re.search(pattern, text)]


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_chapter_shows_nothing_of_stand_ins_or_unfinished(slug: str) -> None:
    assert faults((SITE / "book" / "chapters" / f"{slug}.html").read_text()) == []


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        ("<p>The error is nan on wine</p>", "a number that is none"),
        ("<td>stand-in for red wine</td>", "a row or curve of stand-ins"),
        ("<p>holds in 1 <sup>stand-in</sup> cases</p>", "a number of stand-ins in a sentence"),
        ("<img alt='Stand-in data drawn as fig-a: nothing'>", "a figure of stand-ins"),
    ],
)
def test_a_planted_sentence_is_seen(planted: str, why: str) -> None:
    assert faults(f"<html><body>{planted}</body></html>") == [why]
    assert faults("<html><body><p>An archived number, marked.</p></body></html>") == []


def test_what_was_not_asked_shows_what_the_archived_run_found() -> None:
    missing = []
    for record in UNASKED:  # none where the run had all data
        soup = BeautifulSoup((SITE / record["page"]).read_text(), "html.parser")
        badge = soup.find(attrs={"data-claim": record["id"]})
        assert badge is not None
        wanted = (
            "in the archived run, on the paper's data: checked",
            f"not asked, for want of the paper's {' and '.join(_data(record))} data",
        )
        missing += [(record["id"], text) for text in wanted if text not in badge.get_text()]
    assert missing == []


def _data(record: dict[str, Any]) -> list[str]:
    return sorted({name for check in record["unasked"] for name in check["data"]})


def test_the_front_page_says_what_this_run_lacks_and_how_to_get_it() -> None:
    text = re.sub(
        r"\s+",
        " ",
        BeautifulSoup((SITE / "book/intro.html").read_text(), "html.parser").get_text(" "),
    )
    said = re.search(r"Stand-ins\. .*? did not have the papers.? (.*?) data: (\d+) of (\d+)", text)
    assert bool(said) == bool(LACKING)
    if said is not None:
        whole = sum(record["status"] == "not_run" for record in UNASKED)
        assert said.groups() == (", ".join(LACKING), str(whole), str(len(RECORDS)))
        assert "make data" in text
        assert "DPLIT_DATA" in text


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_chapter_that_lacks_data_says_so(slug: str) -> None:
    soup = BeautifulSoup((SITE / "book" / "chapters" / f"{slug}.html").read_text(), "html.parser")
    lacking = set(digest.data_sets(LAYOUT, slug)) & set(LACKING)
    titles = {box.get_text() for box in soup.select(".dplit-notice > .admonition-title")}
    assert bool(titles & OF_DATA) == bool(lacking)


@pytest.mark.parametrize("slug", LAYOUT.recorded())
def test_a_chapter_says_when_and_at_which_commit_its_archive_was_made(slug: str) -> None:
    """Kills an archive without its day, and a page that keeps silent about it."""
    page = BeautifulSoup((SITE / "book" / "chapters" / f"{slug}.html").read_text(), "html.parser")
    text = re.sub(r"\s+", " ", page.get_text(" "))
    made = json.loads(LAYOUT.archive(slug).read_text())["made"]
    assert f"made on {made['date']} at commit {made['commit']}, seed {made['seed']}" in text
