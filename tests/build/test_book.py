"""The build as a whole, in a toy repository: what runs again, what is kept, what is said."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dplit_book import site

from scripts import again, chapters
from scripts.layout import Layout

pytestmark = pytest.mark.build
SLOW_CELL = """
```{code-cell} ipython3
import pathlib
import time

pathlib.Path("../_build/slow").touch()
time.sleep(60)
```
"""
CALL = 'import socket\nsocket.create_connection(("192.0.2.1", 80), timeout=5)'


def leftovers(root: Path) -> list[Path]:
    """Return what a run that ended early may have left half-written."""
    made = [*(root / "_build").rglob("*"), *(root / "book").rglob("*"), root / "results"]
    return [p for p in made if ".part" in p.name or p.name in ("stage", "html.old")]


def test_first_build_makes_pages_records_and_site(built: Any) -> None:
    records = json.loads(built.path("_build/claims.json").read_text())
    assert [record["id"] for record in records] == ["alp-thm1", "bet-thm1"]
    assert records[0]["status"] == "passed"
    assert records[0]["tests"] == ["tests/test_alpha.py::test_double_is_a_sum"]
    page = built.path("_build/html/book/chapters/alpha.html").read_text()
    assert "../reference/papers.alpha.numbers.html#dplit.papers.alpha.numbers.double" in page
    assert "../tests/alpha.html#test-alp-thm1" in page
    told = built.path("_build/html/_static/built.js").read_text()
    assert "unknown</code>" in told  # the toy is not a git checkout
    assert leftovers(built.root) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("notebooks/beta.ipynb", "The claim", "A claim", []),
        ("notebooks/beta.ipynb", "double(2.0), 4.0", "double(3.0), 6.0", ["beta"]),
        ("notebooks/beta.ipynb", "seed: int = 0", "seed: int = 1", ["beta"]),
        ("src/dplit/papers/alpha/numbers.py", "2.0 * x", "x * 2.0", ["alpha"]),
        ("src/dplit/papers/alpha/__init__.py", "Toy", "A toy", ["alpha"]),
        ("src/dplit/papers/beta/claims.yml", "Twice is", "Two times is", ["beta"]),
        ("src/dplit/notebook/claims.schema.json", "One checked", "A checked", ["alpha", "beta"]),
        ("src/dplit/streams.py", '"""The only', '"""The one', ["alpha", "beta"]),
        ("src/dplit_studies/trials.py", '"""', '"""\n', []),
        ("requirements.txt", "#", "##", []),
        ("tests/test_alpha.py", "2.0 + 2.0", "1.0 + 3.0", []),
        ("book/intro.md", "Toy", "A toy", []),
        ("book/_ext/dplit_book/shown.py", '"""', '"""\n', []),
    ],
)
def test_a_change_makes_exactly_the_chapters_stale_that_depend_on_it(
    toy: Any, file: str, old: str, new: str, expected: list[str]
) -> None:
    toy.edit(file, old, new)
    layout = Layout(toy.root)
    assert [slug for slug in layout.names() if chapters.stale(layout, slug)] == expected


def test_results_and_outputs_make_chapters_stale_and_data_that_they_do_not_read_do_not(
    toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(toy.root)
    data = toy.path("no_cache/insurance.csv")
    data.parent.mkdir()
    monkeypatch.setenv("DPLIT_CACHE", str(data.parent))
    assert chapters.stale(layout, "alpha") == []
    data.write_text("a data file that appears\n")
    assert chapters.stale(layout, "alpha") == []
    toy.path("_build/papermill/alpha.ipynb").write_text("damaged")
    assert chapters.stale(layout, "alpha") == ["its output"]
    assert chapters.stale(layout, "beta") == []
    toy.path("results").mkdir()
    toy.path("results/beta.json").write_text("{}")
    assert chapters.stale(layout, "beta") == ["results/beta.json"]


def test_the_longest_chapters_run_first_by_their_last_run_or_their_text(tmp_path: Path) -> None:
    """Kills the order of names, which leaves one core idle while the longest runs last."""
    layout = Layout(tmp_path)
    layout.notebooks.mkdir()
    for slug, lines in {"a": 40, "b": 4000, "c": 400, "d": 40}.items():
        (layout.notebooks / f"{slug}.md").write_text("text\n" * lines)
    assert chapters.longest_first(layout, "abcd") == ["b", "c", "a", "d"]
    state = chapters.state_file(layout, "d")
    state.parent.mkdir(parents=True)
    state.write_text('{"cpu": 99.0}')
    assert chapters.longest_first(layout, "abcd") == ["b", "d", "c", "a"]


@pytest.mark.parametrize(
    ("address", "there"),
    [
        ("repository-code: https://github.com/a-b/dplit", "/a-b/dplit/12ab?urlpath=lab%2Ftree%2Fn"),
        ("title: dplit", ""),
        ('repository-code: "https://example.org/a/b"', ""),
        ('repository-code: "https://github.com/a/b/c"', ""),
    ],
)
def test_pages_link_to_binder_once_the_project_has_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, there: str
) -> None:
    """Kills a link without an address, to a host that Binder does not know, to another commit."""
    (tmp_path / "CITATION.cff").write_text(address)
    monkeypatch.setattr(site, "commit", lambda _: "12ab with changes")
    told = site.launch(Layout(tmp_path))
    assert f"https://mybinder.org/v2/gh{there}" in told if there else told == ""


def test_a_run_tells_its_peak_memory_and_its_slowest_cells(built: Any) -> None:
    """Kills a peak in another unit, or none: a kernel with NumPy takes tens of megabytes."""
    for slug in ("alpha", "beta"):
        state = chapters.load_state(Layout(built.root), slug)
        assert 30 < state["megabytes"] < 2000
        seconds = [taken for _, taken in state["slow"]]
        assert seconds
        assert seconds == sorted(seconds, reverse=True)
        assert all(0.0 <= taken <= state["seconds"] for taken in seconds)


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def ran(seconds: float) -> dict[str, Any]:
    """Return a cell that took some seconds."""
    meta = {"papermill": {"duration": seconds}}
    return {"cell_type": "code", "source": "1", "metadata": meta, "outputs": []}


def test_the_slowest_cells_are_named_by_their_sections() -> None:
    cells = [text("# A"), ran(1.0), ran(3.0), text("words"), ran(2.0), text("## B"), ran(2.5)]
    found = chapters.slow_cells({"cells": cells})
    assert found == [("A", 3.0), ("B", 2.5), ("A", 2.0)]


@pytest.mark.weekly
def test_prose_runs_nothing_and_arrives_with_the_outputs_of_the_run(toy: Any) -> None:
    """Kills outputs at another cell, a text that stays old, a page unlike that of a fresh run; a
    preview of the last build's text, and one that runs for a word.
    """
    toy.edit(
        "notebooks/alpha.md", "They are checked.", "They are checked.\n\n## A heading\n\nMore."
    )
    toy.edit("notebooks/alpha.md", "The parameters.", "Our parameters.")
    done = toy.run("preview", "alpha")
    assert (done.returncode, "running" in done.stdout) == (0, False), done.stderr
    carried = toy.path("book/chapters/alpha.ipynb").read_bytes()
    assert b"Our parameters." in carried
    assert "Our parameters." in toy.path("_build/html/book/chapters/alpha.html").read_text()
    assert toy.book() == []
    slow = chapters.load_state(Layout(toy.root), "alpha")["slow"]
    assert "A heading" in {heading for heading, _ in slow}
    toy.path("_build/papermill/alpha.ipynb").write_text("damaged")
    assert "alpha: running (its output changed)" in toy.run("preview", "alpha").stdout
    assert toy.book() == []
    assert toy.path("book/chapters/alpha.ipynb").read_bytes() == carried


@pytest.mark.weekly
def test_a_preview_tells_a_fault_until_it_is_mended_and_equals_a_site_from_nothing(
    toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a fault that is told once, since its page then counts as read; a title, a number or a
    reference that other pages show as it was; a docstring that stays; and a run that nobody named.
    """
    monkeypatch.delenv("CI", raising=False)
    glued = "{glue:text}`chapters/alpha.ipynb::alp_double:.1f`"
    toy.edit(
        "book/intro.md",
        "# Toy book",
        f"# Toy book\n\nTwice is {glued}: {{ref}}`nowhere`. Evanescent.",
    )
    for _ in range(2):
        done = toy.run("preview")
        assert done.returncode == 1
        assert "book/intro.md:3: WARNING: undefined label: 'nowhere'" in done.stderr
    toy.edit("book/intro.md", "nowhere", "there <alp-thm1>")
    assert toy.run("preview").returncode == 0
    toy.edit("book/intro.md", " Evanescent", "")
    toy.edit("notebooks/beta.md", "# Toy chapter", "# Renamed chapter")
    toy.edit("src/dplit/papers/alpha/numbers.py", '"""Return twice', '"""Now return twice')
    done = toy.run("preview")
    assert done.returncode == 0, done.stderr
    assert (
        "alpha: as it was last run, since src/dplit/papers/alpha/numbers.py changed" in done.stdout
    )
    toy.path("_build/html").rename(toy.path("_build/before"))
    shutil.rmtree(toy.path("_build/html.trees"))
    assert toy.run("preview").returncode == 0
    assert again.differences(toy.path("_build/before"), toy.path("_build/html")) == []
    page = toy.path("_build/html/book/reference/papers.alpha.numbers.html").read_text()
    assert "Now return twice" in page
    assert "Renamed chapter" in page


def test_the_tests_of_one_claim_run_alone(toy: Any) -> None:
    """Kills a claim that brings another chapter's tests, and a failure that does not count."""
    done = toy.run("test-claim", "alp-thm1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "function dplit.papers.alpha.numbers.double" in done.stdout
    assert "cell     notebooks/alpha.md:37, under 'Toy chapter alpha'" in done.stdout
    assert "did you mean alp-thm1" in toy.run("test-claim", "alp-thm2").stderr
    toy.edit("tests/test_alpha.py", "2.0 + 2.0", "2.0 + 3.0")
    assert toy.run("test-claim", "alp-thm1").returncode == 1
    toy.edit("tests/test_alpha.py", '@pytest.mark.claim("alp-thm1")\n', "")
    assert "no test is marked with alp-thm1" in toy.run("test-claim", "alp-thm1").stderr


def test_pairs_that_differ_stop_the_build(toy: Any) -> None:
    """Where the source was edited, and where the notebook is damaged."""
    path = toy.path("notebooks/alpha.ipynb")
    toy.edit("notebooks/alpha.md", "The end", "The very end")
    for text in (path.read_text(), path.read_text()[:300]):
        path.write_text(text)
        done = toy.run("book")
        assert done.returncode == 1
        assert "notebooks/alpha.ipynb differs from its source alpha.md" in done.stderr
        assert "make sync" in done.stderr
    assert toy.run("sync").stdout == "wrote alpha\n"
    assert "The very end" in path.read_text()


def test_a_failing_cell_keeps_the_last_good_pages(toy: Any) -> None:
    """It asks the network. Kills a build whose kernels reach beyond this machine."""
    toy.rewrite("glue_numbers(", f"print(1)\n{CALL}\nglue(")
    kept = ("_build/html/book/chapters/alpha.html", "book/chapters/alpha.ipynb")
    before = {name: toy.path(name).read_bytes() for name in kept}
    done = toy.run("book")
    assert done.returncode == 1
    assert "alpha: FAILED" in done.stdout
    assert "OSError: a chapter runs without a network" in done.stdout
    assert "the failing notebook: _build/failed/alpha.ipynb" in done.stdout
    assert "alpha failed; the last good pages were kept" in done.stderr
    assert json.loads(toy.path("_build/failed/alpha.ipynb").read_text())["cells"]
    assert before == {name: toy.path(name).read_bytes() for name in kept}
    assert leftovers(toy.root) == []


@pytest.mark.weekly
def test_a_word_on_stderr_stops_the_build_once_the_chapter_has_run(toy: Any) -> None:
    toy.rewrite("glue_numbers(", "import sys; print(1, file=sys.stderr)\nglue_numbers(")
    done = toy.run("book")
    assert done.returncode == 1
    assert "alpha: cell 6 writes to stderr" in done.stdout + done.stderr
    assert leftovers(toy.root) == []


def test_a_fault_of_the_site_is_named_and_once_mended_a_second_build_writes_no_page(
    toy: Any,
) -> None:
    """A claim without a place, to which the page of its function leads."""
    toy.rewrite("(alp-thm1)=\nThe claim", "The claim")
    done = toy.run("book")
    assert done.returncode == 1
    assert "alpha" in done.stdout + done.stderr
    assert "undefined label: 'alp-thm1'" in done.stdout + done.stderr
    assert leftovers(toy.root) == []
    toy.rewrite("The claim", "(alp-thm1)=\nThe claim")
    assert toy.book() == []
    before = {p: p.stat().st_mtime_ns for p in toy.path("_build/html/book").rglob("*.html")}
    assert toy.book() == []
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert leftovers(toy.root) == []


def _wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def _runs(root: Path) -> list[int]:
    """Return the processes that work in a toy repository: papermill and its kernels."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "environ").read_bytes()
        except OSError:
            continue
        if f"PYTHONPATH={root}/src".encode() in line and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


@pytest.mark.weekly
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_build_killed_in_the_middle_of_a_chapter_starts_again(
    toy: Any, number: signal.Signals
) -> None:
    """A second build is refused meanwhile. The killed one leaves no process, no half-written page,
    and the next one goes on.
    """
    page = toy.path("book/chapters/alpha.ipynb")
    before = page.read_bytes()
    toy.rewrite("The end", SLOW_CELL + "\nThe end")
    process = toy.start("book")
    _wait_for(toy.path("_build/slow").exists)
    second = toy.run("book")
    assert second.returncode == 1
    assert "another build runs in" in second.stderr
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    _wait_for(lambda: _runs(toy.root) == [])
    assert page.read_bytes() == before
    if number == signal.SIGKILL:
        toy.rewrite("sleep(60)", "sleep(0)")
        assert toy.book() == ["alpha"]
        assert leftovers(toy.root) == []


def _small_files(limit: int) -> Callable[[], None]:
    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return set_limit


@pytest.mark.weekly
@pytest.mark.parametrize("limit", [1_000, 60_000])
def test_a_full_disk_leaves_what_was_good(toy: Any, limit: int) -> None:
    """Whether the executed notebook or the site is what cannot be written."""
    site, claims_page = toy.path("_build/html"), toy.path("book/claims.md")
    before, listed = claims_page.read_bytes(), set(site.rglob("*.html"))
    claims = json.loads(toy.path("_build/claims.json").read_text())
    toy.edit("src/dplit/papers/alpha/numbers.py", "2.0 * x", "x * 2.0")
    done = toy.run("book", preexec_fn=_small_files(limit))
    assert done.returncode == 1
    told = done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "File too large" in told, told
    assert claims_page.read_bytes() == before
    assert json.loads(toy.path("book/chapters/alpha.ipynb").read_text())["cells"]
    assert json.loads(toy.path("_build/claims.json").read_text()) == claims
    assert leftovers(toy.root) == []
    if limit > 10_000:
        # the chapter had run; only the site was cut, and the next build mends it
        assert toy.book() == []
        assert {p for p in site.rglob("*.html") if p.read_text().rstrip().endswith("</html>")} >= {
            p for p in listed if p.parent.name == "chapters"
        }


@pytest.mark.parametrize("name", ["Makefile", ".ci/run"])
def test_shell_parts_parse(root: Path, name: str) -> None:
    command = ["make", "-n", "help"] if name == "Makefile" else ["bash", "-n", name]
    assert subprocess.run(command, cwd=root, capture_output=True).returncode == 0
