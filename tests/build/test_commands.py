"""Environment, single runs, archives, second build, benchmark table, strictness, doctests."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from dplit.notebook.provenance import lock_differences
from scripts import again, archives, environment, execute, render, runs, site_check
from scripts.execute import Job, Outcome
from scripts.files import BuildError, write_json
from scripts.layout import Layout
from scripts.lock import check as lock_of
from scripts.normalise import CLAIM, CURVES, PROVENANCE

ROOT = Path(__file__).parents[2]
MODULES = [f"scripts.{path.stem}" for path in sorted((ROOT / "scripts").glob("[a-z]*.py"))]
MODULES += [
    f"dplit_book.{p.stem}" for p in sorted((ROOT / "book/_ext/dplit_book").glob("[a-z]*.py"))
]


@pytest.mark.parametrize("name", [*MODULES, "benchmarks.__main__"])
def test_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


# --- environment -------------------------------------------------------------------------------


OLD = {"lock": "a", "project": "b", "python": "3.11.2", "root": "here"}


@pytest.mark.parametrize(
    ("new", "count"),
    [({}, 0), ({"project": "c"}, 1), ({"lock": "c"}, 3), ({"python": "3.12.0"}, 3)],
)
def test_environment_is_remade_only_as_far_as_needed(new: dict[str, str], count: int) -> None:
    todo = environment.commands(Path("v"), OLD, {**OLD, **new})
    assert len(todo) == count
    if count == 3:
        assert "--clear" in todo[0]
        assert "--require-hashes" in todo[1]
    if count:
        assert todo[-1][-4:] == ["--no-deps", "--no-build-isolation", "--editable", "."]


def test_an_interrupted_installation_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The marker goes first and comes last, so that whatever stands between is made again."""
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("")
    folder = tmp_path / "v"
    folder.mkdir()
    ends = iter([0, 1])
    made: list[list[str]] = []

    def fake(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert not (folder / environment.MARKER).exists()
        made.append(command)
        return subprocess.CompletedProcess(command, next(ends, 0))

    monkeypatch.setattr(subprocess, "run", fake)
    (folder / environment.MARKER).write_text("{}")
    assert environment.make(tmp_path, folder) == 1
    assert "the environment is not whole" in capsys.readouterr().err
    assert environment.made_from(folder) == {}
    assert environment.make(tmp_path, folder) == 0
    assert len(made) == 5
    assert environment.made_from(folder) == environment.parts(tmp_path)
    assert environment.make(tmp_path, folder) == 0
    assert len(made) == 5


LOCK = """\
# a comment about numpy==0.1
numpy=={numpy} \\
    --hash=sha256:00
    # via scipy
appnope==1.0 ; sys_platform == 'nowhere' \\
    --hash=sha256:00
no-such-package==1.0
scipy==0.1
matplotlib==0.2
"""


def test_what_is_installed_is_compared_with_the_lock_markers_included() -> None:
    found = lock_differences(LOCK.format(numpy=version("numpy")))
    assert found == [
        "no-such-package is missing (lock: ==1.0)",
        f"scipy is {version('scipy')} (lock: ==0.1)",
        f"matplotlib is {version('matplotlib')} (lock: ==0.2)",
    ]
    assert lock_differences(f"numpy=={version('numpy')}") == []


def make_environment(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``make VENV=... environment`` of the real Makefile in a folder."""
    makefile = Path(__file__).parents[2] / "Makefile"
    command = ["make", "-f", str(makefile), f"VENV={sys.prefix}", *arguments, "environment"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def test_a_given_environment_must_be_the_locks_or_be_chosen_on_purpose(tmp_path: Path) -> None:
    """Kills a ``make VENV=...`` that never looks: it passed with any lock."""
    root = Path(__file__).parents[2]
    shutil.copytree(root / "scripts", tmp_path / "scripts")
    (tmp_path / "src").symlink_to(root / "src")
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"numpy=={version('numpy')}\n")
    done = make_environment(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    lock.write_text("".join(f"absent-{i}==1\n" for i in range(7)) + "numpy==0.1\n")
    done = make_environment(tmp_path)
    assert done.returncode == 2
    assert (
        "dplit: this environment is not the one of requirements.txt: absent-0 is missing (lock"
        in (done.stderr)
    )
    assert "; 3 more. Install the lock" in done.stderr
    done = make_environment(tmp_path, "LOCK=off")
    assert done.returncode == 0
    assert "environment: not the lock's (absent-0 is missing" in done.stdout
    (tmp_path / "requirements.in").write_text("# core\nnumpy>=2\nsmall_thing[all]>=1\n")
    with pytest.raises(
        BuildError, match=r"requirements\.in:3: small_thing is not in .*first lines"
    ):
        lock_of(Layout(tmp_path), print)  # wanted, and forgotten where it counts
    lock.write_text(f"numpy=={version('numpy')}\nSmall-Thing==1\n")
    with pytest.raises(BuildError, match="Small-Thing is missing"):
        lock_of(Layout(tmp_path), print)


def test_kernels_see_this_copys_package_one_thread_and_the_inline_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("MPLBACKEND", "agg")
    made = execute.environment(Layout(tmp_path), DPLIT_BUILD="1")
    assert made["PYTHONPATH"].split(":") == [str(tmp_path / "src"), "elsewhere"]
    assert made["MPLBACKEND"] == "module://matplotlib_inline.backend_inline"
    assert made["OPENBLAS_NUM_THREADS"] == made["OMP_NUM_THREADS"] == made["DPLIT_BUILD"] == "1"


# --- tests -------------------------------------------------------------------------------------


def command_of_tests(*arguments: str) -> str:
    """Return what the real Makefile runs for ``make test``, without running it."""
    command = ["make", "-n", "VENV=v", *arguments, "test"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].removeprefix("v/bin/python -m ").strip()


def test_a_part_of_the_suite_or_branches_are_asked_for_by_arguments() -> None:
    """Kills arguments that are dropped, and a count of branches that nobody asked for."""
    assert command_of_tests() == "pytest -q -n 2 --dist worksteal"
    assert command_of_tests("ARGS=--cov") == "pytest -q -n 2 --dist worksteal --cov"
    assert command_of_tests("ARGS=tests/erm -x") == "pytest -q -n 2 --dist worksteal tests/erm -x"


def project(folder: Path, source: str, test: str) -> list[str]:
    """Return a command that measures a toy package with this project's own settings."""
    root = Path(__file__).parents[2]
    shutil.copy(root / "pyproject.toml", folder)
    for name, text in (("src/dplit/toy.py", source), ("tests/test_toy.py", test)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    (folder / "src/dplit/__init__.py").write_text("")
    words = command_of_tests("JOBS=1", "ARGS=--cov").split()
    return [sys.executable, "-m", *words, "-p", "no:cacheprovider"]


TOY = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def f(x):
    if x:
        x += 1
    return x
"""


def test_a_branch_that_no_test_takes_fails_the_suite_and_is_named(tmp_path: Path) -> None:
    """Every line runs in both; kills a count of lines, a lower limit, and a warning as an error."""
    command = project(tmp_path, TOY, "from dplit.toy import f\n\ndef test():\n    f(1)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    assert re.search(r"toy\.py +5 +0 +2 +1 +85\.7% +8->10", done.stdout), done.stdout
    assert "Required test coverage of 95.0% not reached" in done.stdout
    with (tmp_path / "tests/test_toy.py").open("a") as file:
        file.write("    f(0)\n")
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Required test coverage of 95.0% reached. Total coverage: 100.00%" in done.stdout
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"pyproject.toml", "src", "tests", "_build"}  # what is measured lies in _build


# --- chapters and runs -------------------------------------------------------------------------


def outcome(tmp_path: Path, code: int, messages: str = "") -> Outcome:
    job = Job("toy", tmp_path / "toy.ipynb", tmp_path / "out.ipynb")
    return Outcome(job, code, 1.0, 1.0, 1, messages)


def test_a_failure_is_explained_by_its_cell_its_messages_or_its_signal(tmp_path: Path) -> None:
    """A chapter's parameters have many lines; kills a cut after eight."""
    said = "Kernel is running over TCP without encryption\n\nOSError: full\n"
    assert execute.explain(outcome(tmp_path, 1, said)) == ["OSError: full"]
    assert execute.explain(outcome(tmp_path, -9)) == ["ended by signal SIGKILL"]
    assert execute.explain(outcome(tmp_path, 3)) == ["exit code 3"]
    lines = ["unknown parameter epsilno.", *(f"  name{i}: float" for i in range(12))]
    error = {"output_type": "error", "ename": "ParameterError", "evalue": "\n".join(lines)}
    cells = [{"source": "a"}, {"source": ["x = 1\n", "y"], "outputs": [error]}]
    (tmp_path / "out.ipynb").write_text(json.dumps({"cells": cells}))
    told = execute.explain(outcome(tmp_path, 1))
    assert told == ["cell 2 (x = 1)", f"ParameterError: {lines[0]}", *lines[1:]]
    source = "---\na: b\n---\n\na\n\n```{code-cell} ipython3\nx = 1\ny\n```\n"
    (tmp_path / "toy.md").write_text(source)
    error["traceback"] = ["ParameterError", "Cell \x1b[32mIn[2], line 2\x1b[0m\n   1 x = 1"]
    where = f"{tmp_path.name}/toy.md"
    for traceback, line in ((error["traceback"], 9), ([], 8)):
        error["traceback"] = traceback
        (tmp_path / "out.ipynb").write_text(json.dumps({"cells": cells}))
        assert execute.explain(outcome(tmp_path, 1))[0] == f"{where}:{line}: cell 2 (x = 1)"


PAGE = "book/chapters/toy.ipynb: cell 5, line 7: WARNING: "


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            f"{PAGE}undefined label: 'erm-thm22'",
            "notebooks/toy.md:3: .*'erm-thm22'; did you mean erm",
        ),
        (f'{PAGE}could not find bibtex key "Nobody2020"', "notebooks/toy.md:4: .*Nobody2020"),
        (f"{PAGE}duplicate label fig-b, other instance in a.ipynb", "notebooks/toy.md:5: .*other"),
        (f"{PAGE}unknown document: 'nowhere'", f"{re.escape(PAGE)}unknown"),
        (f"{PAGE}unknown document: 'book/chapters/basicz'", "notebooks/toy.md:6: .*basicz"),
        ("book/intro.md:3: WARNING: undefined label: 'erm-thm22'", "book/intro.md:3: WARNING: und"),
    ],
)
def test_a_fault_of_a_page_leads_to_the_line_that_its_author_wrote(
    fault: str, told: str, tmp_path: Path
) -> None:
    """Kills a cell's number in a file that the build makes, and half a name for a whole one."""
    (tmp_path / "notebooks").mkdir()
    text = "# A\nSee erm-thm2 and erm-thm22-b.\n{ref}`x <erm-thm22>`\n{cite:p}`nobody2020`\nfig-b\n"
    text += "{doc}`basicz`\n"
    (tmp_path / "notebooks" / "toy.md").write_text(text)
    assert re.match(told, render._in_source(Layout(tmp_path), fault))


KILLED = """\
import os, signal, subprocess
worker = subprocess.Popen(["sleep", "100"])
print("worker", worker.pid, flush=True, file=open("pid.txt", "w"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_kernel_is_noticed_though_its_workers_live(tmp_path: Path) -> None:
    """Kills waiting for the end of the pipe, which a worker of the kernel holds for 100 s."""
    layout = Layout(tmp_path)
    layout.notebooks.mkdir(parents=True)
    cell = {"cell_type": "code", "source": KILLED, "metadata": {}, "outputs": []}
    notebook = {"cells": [{**cell, "execution_count": None, "id": "a"}], "metadata": {}}
    source = tmp_path / "killed.ipynb"
    source.write_text(json.dumps({**notebook, "nbformat": 4, "nbformat_minor": 5}))
    ends: list[Outcome] = []
    execute.run([Job("killed", source, tmp_path / "out.ipynb")], layout, 1, print, ends.append)
    worker = int((layout.notebooks / "pid.txt").read_text().split()[1])
    os.kill(worker, signal.SIGKILL)  # which raises if it had ended: the pipe was still open
    assert not ends[0].ok
    assert any("DeadKernelError" in line for line in execute.explain(ends[0]))


# --- single runs and archives -------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [["-p", "epsilon"], ["epsilon", "1"], ["-p"], ["--kernel", "x"], ["-p", "a", "1", "2"]],
)
def test_arguments_that_are_not_parameters_are_refused(arguments: list[str]) -> None:
    with pytest.raises(BuildError, match=r"ARGS must be papermill parameters such as"):
        runs.check_arguments(arguments)


def test_parameters_pass_and_name_the_run() -> None:
    arguments = ["-p", "scale", "paper", "-y", "epsilon: 0.5"]
    assert runs.check_arguments(arguments) == arguments
    assert runs.run_name("margin", arguments).startswith("margin--scale-paper-epsilon-0.5-")
    two = [runs.run_name("margin", ["-p", "epsilon", value]) for value in ("1", "-1")]
    assert two == ["margin--epsilon-1", "margin--epsilon--1"]
    long = runs.run_name("margin", ["-y", "a: " + "1" * 100])
    assert len(long) < 80
    assert long != runs.run_name("margin", ["-y", "a: " + "1" * 101])


def glue(name: str, text: str) -> dict[str, Any]:
    data = {"application/papermill.record/text/plain": text}
    return {"data": data, "metadata": {"scrapbook": {"name": name}}}


def notebook(*statuses: str) -> dict[str, Any]:
    asked = {"parameters": {"scale": "paper", "seed": 7}}
    records = [{"id": f"toy-{i}", "status": s, **asked} for i, s in enumerate(statuses)]
    shown = [{"data": {CLAIM: record}} for record in reversed(records)]
    shown += [glue("mae", "0.25"), glue("rows", "3"), glue("name", "'x'"), glue("none", "nan")]
    shown.append({"data": {PROVENANCE: {"seed": "0"}}})
    return {"cells": [{"cell_type": "code", "outputs": shown}]}


MADE = {"date": "2026-11-28", "commit": "45999fc8a28e", "versions": {}, "seconds": 12.3}


def test_an_archive_holds_numbers_records_and_provenance() -> None:
    made = runs.archive("toy", notebook("passed", "not_run"), MADE)
    assert made["made"] == {**MADE, "seed": 7}
    assert made["numbers"].pop("none") != made["numbers"]
    assert made["numbers"] == {"mae": 0.25, "rows": 3, "name": "x"}
    assert [record["id"] for record in made["claims"]] == ["toy-0", "toy-1"]
    assert made["provenance"] == {"seed": "0"}


def test_an_archive_holds_the_curves_of_figures_by_their_names() -> None:
    curve = {"x": [1], "y": [2.0], "low": None, "high": None, "trials": 5}
    record = {"name": "fig-a", "stand_ins": [], "settings": {"data": "auto"}}
    record["curves"] = {"ours": curve}
    made = notebook("passed")
    made["cells"][0]["outputs"].append({"data": {CURVES: record}})
    expected = {"fig-a": {"settings": {"data": "auto"}, "curves": {"ours": curve}}}
    assert runs.archive("toy", made, MADE)["curves"] == expected
    made["cells"][0]["outputs"].append({"data": {CURVES: record}})
    with pytest.raises(BuildError, match="fig-a is used for two sets of curves"):
        runs.archive("toy", made, MADE)


@pytest.mark.parametrize(
    ("made", "message"),
    [(notebook("passed", "failed"), "claims failed: toy-1"), (notebook(), "recorded no claims")],
)
def test_a_run_that_failed_or_checked_nothing_is_not_archived(
    made: dict[str, Any], message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        runs.archive("toy", made, MADE)


DRAWN = """\
The curve.

```{code-cell} ipython3
from dplit.notebook import Curves, figures
kept, look = Curves(run, "fig-alp"), figures.looks_of(a="ours")["a"]
fig, (axes,) = figures.panels()
kept.line(axes, "line", [1, 2], [1.5, run.repeats(2, 3)], look, trials=run.repeats(4, 9))
axes.set(xlabel="x", ylabel="y")
kept.show(fig, caption="A line.", alt="A line that rises from one to two, on a white ground.")
```

"""


def test_what_was_archived_at_this_commit_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a `make paper` that begins anew where it was interrupted, and one that takes a changed
    file for the commit."""
    layout, told = Layout(tmp_path), list[str]()
    monkeypatch.setattr(runs, "_run_one", lambda *_: told.append("running"))
    cases = {"45999fc8a28e": True, "45999fc8a28e with changes": False, "unknown": False}
    for now, skipped in cases.items():
        monkeypatch.setattr(archives, "commit", lambda _, now=now: now)
        told.clear()
        write_json(layout.archive("toy"), {"made": {"commit": now}})
        with contextlib.suppress(FileNotFoundError):  # nothing ran, so nothing can be archived
            runs._paper_chapter(layout, "toy", 1, told.append)
        assert ("running" not in told) is skipped
        assert ("at this commit" in told[0]) is skipped


@pytest.mark.weekly
@pytest.mark.build
def test_paper_says_what_differs_and_keeps_an_archive_that_checked_more(toy: Any) -> None:
    """Also kills an archive without day or seed."""
    toy.rewrite("The end", DRAWN + "The end")
    done = toy.run("paper", "alpha")
    assert done.returncode == 0, done.stdout + done.stderr
    path = toy.path("results/alpha.json")
    archived = json.loads(path.read_text())
    assert archived["numbers"] == {"alp_double": 4.0}
    assert archived["claims"][0]["parameters"]["scale"] == "paper"
    curve = {"x": [1, 2], "y": [1.5, 3.0], "low": None, "high": None, "trials": 9}
    curve["errors"] = None
    assert archived["curves"]["fig-alp"] == {"settings": {}, "curves": {"line": curve}}
    assert archived["made"].keys() == {"commit", "date", "seconds", "seed", "versions"}
    assert archived["made"]["seed"] == 0
    toy.edit("src/dplit/papers/alpha/numbers.py", "2.0 * x", "2.5 * x")
    toy.rewrite("double(2.0), 4.0", "double(2.0), 5.0")
    told = toy.run("paper", "alpha").stdout.split("\n")
    assert next(line.split() for line in told if "alp_double" in line) == ["alp_double", "4", "5"]
    before = path.read_bytes()
    toy.rewrite("equal(numbers.double(2.0), 5.0, how", "not_run(reason")
    done = toy.run("paper", "alpha")
    assert done.returncode == 1
    assert "results/alpha.json was kept: it checked alp-thm1" in done.stdout
    assert path.read_bytes() == before


CAUGHT = """\
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(error)
"""


@pytest.mark.weekly
@pytest.mark.build
def test_chapter_runs_beside_the_book_and_refuses_bad_parameters(toy: Any) -> None:
    """Also kills a run whose kernel reaches beyond this machine, and one that says all passed of a
    claim whose function is misspelt in the registry.
    """
    toy.rewrite("glue_numbers(", f"{CAUGHT}glue_numbers(")
    before = {p: p.read_bytes() for p in toy.path("book/chapters").iterdir()}
    done = toy.run("chapter", "alpha", "-p", "epsilon", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 claims passed" in done.stdout
    assert "the registry" not in done.stdout
    run = json.loads(toy.path("_build/runs/alpha--epsilon-2.ipynb").read_text())
    assert run["metadata"]["papermill"]["parameters"] == {"epsilon": 2}
    page = toy.path("_build/runs/alpha--epsilon-2.html")
    text = re.sub(r"<[^>]+>", "", page.read_text())
    assert "A run beside the book" in text
    assert "made with epsilon = 2." in text
    assert "a chapter runs without a network" in text
    assert "dplit-passed" in page.read_text()
    assert "Works cited" in text
    assert site_check.broken_links(page, toy.path("_build")) == []
    assert sorted(p.name for p in page.parent.iterdir() if p.name.startswith(".")) == []
    toy.edit("src/dplit/papers/alpha/claims.yml", "alpha.numbers.", "alpha.numbers.no_")
    done = toy.run("chapter", "alpha", "-p", "epsilom", "2")
    assert done.returncode == 1
    fault = r"registry: \S+/claims\.yml:1: alp-thm1: dplit\.\S+\.no_\w+ does not exist.*: running"
    assert re.search(fault, done.stdout, re.DOTALL)
    assert "unknown parameter epsilom" in done.stdout
    assert "epsilon: float = 1.0" in done.stdout
    assert before == {p: p.read_bytes() for p in toy.path("book/chapters").iterdir()}


def test_a_claim_that_fails_at_another_seed_fails_the_weekly_run() -> None:
    """Kills a gate that is always green: a run that only says which claims failed."""
    told = [{"id": "a-1", "status": "passed"}, {"id": "a-2", "status": "failed"}]
    runs.refuse_failed("alpha", told[:1])
    with pytest.raises(BuildError, match="claims of alpha failed in this run: a-2"):
        runs.refuse_failed("alpha", told)


# --- second build -------------------------------------------------------------------------------


def test_differences_sees_every_byte_but_the_run_times(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "book").mkdir(parents=True)
        (tmp_path / name / "same.html").write_text("<p>1</p>\n")
        (tmp_path / name / "picture.png").write_bytes(b"\x00\xff")
        (tmp_path / name / "book" / "run_times.html").write_text(name)
    first, second = tmp_path / "a", tmp_path / "b"
    assert again.differences(first, second) == []
    (first / "book" / "more.html").write_text("")
    (second / "same.html").write_text("<p>2</p>" + 999 * "x" + "\n")
    (second / "picture.png").write_bytes(b"\x00\xfe")
    told = "\n".join(again.differences(first, second))
    for wanted in ("more.html", "picture.png", "< <p>1</p>", "> <p>2</p>xx"):
        assert wanted in told
    assert "x" * 300 not in told
    with pytest.raises(BuildError, match="cannot compare two builds"):
        again.differences(first, tmp_path / "missing")


def test_the_copy_for_the_second_build_holds_nothing_built(tmp_path: Path) -> None:
    root = tmp_path / "first"
    for name in ("_build/html/a", ".venv/b", "book/chapters/c", "book/reference/d", "tests/e", "f"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    copy = again.copy_tree(Layout(root), tmp_path / "again")
    names = sorted(str(p.relative_to(copy.root)) for p in copy.root.rglob("*") if p.is_file())
    assert names == ["f", "tests/e"]


def test_a_clone_is_brought_up_to_date_and_compared_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last gate of CI goes red: kills a comparison with a copy of what was built here."""
    layouts = [Layout(tmp_path / name) for name in ("here", "clone")]
    for layout, text in zip(layouts, ("<p>1</p>", "<p>2</p>"), strict=True):
        layout.html.mkdir(parents=True)
        layout.chapters.mkdir(parents=True)
        layout.notebooks.mkdir()
        (layout.root / "Makefile").write_text("")
        (layout.html / "index.html").write_text(text)
    places: list[Path] = []
    real = subprocess.run

    def run(command: list[str], **given: Any) -> subprocess.CompletedProcess[str]:
        if command[0] == "diff":
            return real(command, **given)
        places.append(given["cwd"])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(again.subprocess, "run", run)
    with pytest.raises(again.BuildError, match=r"(?s)< <p>1</p>.*> <p>2</p>"):
        again.compare(layouts[0], layouts[1].root, print)
    assert places == [layouts[1].root]
    (layouts[1].html / "index.html").write_text("<p>1</p>")
    again.compare(layouts[0], layouts[1].root, print)


# --- benchmarks and strictness ------------------------------------------------------------------


def test_the_benchmark_table_says_what_misses_its_target() -> None:
    result = {
        "name": "map",
        "ours": "dplit",
        "peer": "sklearn",
        "ours_seconds": 1.0,
        "peer_seconds": 6.5,
        "ratio": 6.5,
        "ratio_min": 6.0,
        "ratio_max": 7.5,
        "target": 7.0,
    }
    rows = [bench.row(result), bench.row({**result, "target": None})]
    assert rows[0][-1] == "MISSED"
    assert rows[1][-1] == ""
    lines = bench.table(rows).split("\n")
    assert lines[1].split()[:3] == ["map", "dplit", "sklearn"]
    assert lines[0].index("ratio") == lines[1].index("6.50")


def test_benchmark_modules_are_found_and_filtered() -> None:
    assert all(name.startswith("bench_") for name in bench.modules([]))
    assert bench.modules(["no such benchmark"]) == []


SKIPPING = """
import pytest

def test_skips():
    pytest.skip("nothing here")

@pytest.mark.skipif(True, reason="no browser")
def test_skipped_by_mark():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_expected():
    assert False
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("strict", "ends"), [("1", "1 failed, 1 xfailed, 1 error"), ("", "2 skipped, 1 xfailed")]
)
def test_a_skip_is_a_failure_only_where_it_counts(
    root: Path, tmp_path: Path, strict: str, ends: str, workers: str
) -> None:
    (tmp_path / "conftest.py").write_text((root / "tests" / "conftest.py").read_text())
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--rootdir=."]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "test_skipping.py"],
        cwd=tmp_path,
        env={**execute.environment(Layout(root)), "DPLIT_STRICT": strict},
        capture_output=True,
        text=True,
    )
    assert ends in done.stdout
    assert ("allows no skips: Skipped: nothing here" in done.stdout) == bool(strict)
