"""The notebooks in JupyterLab, asked of the server of `make lab`: what it serves, what it saves.

Everything happens in a copy of the notebooks with a git repository of its own. Nothing is random.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from scripts import pairs, site_check
from scripts.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Layout(ROOT)
SLUGS = LAYOUT.names()
#: Two notebooks in each run, and all once a week: jupytext reads and writes all of them alike.
OFTEN = ("projection", "projection_supplement")
ASKED = [
    slug if slug in OFTEN else pytest.param(slug, marks=pytest.mark.weekly)
    for slug in LAYOUT.names()
]
OUTPUT = "printed by a run in JupyterLab"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": "3.11.1",
}


@dataclass(frozen=True)
class Lab:
    """A server on a copy of the notebooks, and the copy."""

    layout: Layout
    url: str
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the code and the answer, read as JSON where it is one."""
        request = urllib.request.Request(
            f"{self.url}api/contents/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def open(self, name: str) -> Any:
        """Return a notebook as JupyterLab opens it."""
        code, model = self.ask("GET", f"{name}?type=notebook&content=1&hash=1")
        assert code == 200, model["message"]
        return model

    def save(self, name: str, notebook: Any) -> Any:
        """Save a notebook as JupyterLab does."""
        body = {"type": "notebook", "format": "json", "content": notebook}
        code, model = self.ask("PUT", name, body)
        assert code in (200, 201), model["message"]
        return model

    def git(self, *words: str) -> str:
        """Run git in the copy."""
        who = ("-c", "user.name=reader", "-c", "user.email=reader@example.org")
        env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        done = subprocess.run(
            ["git", *who, *words], cwd=self.layout.root, env=env, check=True, capture_output=True
        )
        return done.stdout.decode()


def copy_of_the_repository(folder: Path) -> Layout:
    for name in ("Makefile", "pyproject.toml", "requirements.txt", ".gitignore"):
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    (folder / "notebooks").mkdir()
    kept = [path for path in LAYOUT.notebooks.iterdir() if path.is_file()]
    for path in kept:  # no outputs of a reader's, no checkpoints
        shutil.copyfile(path, folder / "notebooks" / path.name)
    for name in ("src", "results"):
        (folder / name).symlink_to(ROOT / name)
    return Layout(folder)


def started(layout: Layout, home: Path, log: Any) -> tuple[subprocess.Popen[bytes], Path]:
    """Start `make lab` with a home of its own, and say where it writes its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    foreign = ("JUPYTER", "MAKE", "MFLAGS")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    where = f"--no-browser --allow-root --ip=127.0.0.1 --port={port} --expose-app-in-browser"
    process = subprocess.Popen(
        ["make", f"VENV={sys.prefix}", "LOCK=off", "lab", f"ARGS={where}"],
        cwd=layout.root,
        env={**inherited, **folders, "HOME": str(home)},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return process, home / "RUNTIME"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    layout = copy_of_the_repository(tmp_path_factory.mktemp("repository"))
    home = tmp_path_factory.mktemp("home")
    with (home / "log").open("wb") as log:
        process, runtime = started(layout, home, log)
        try:
            end = time.monotonic() + 120
            while not (found := list(runtime.glob("jpserver-*.json"))):
                assert process.poll() is None, (home / "log").read_text()
                assert time.monotonic() < end, (home / "log").read_text()
                time.sleep(0.1)
            told = json.loads(found[0].read_text())
            lab = Lab(layout, told["url"], told["token"])
            lab.git("init", "--quiet")
            lab.git("add", "--all")
            lab.git("commit", "--quiet", "--message", "as it is")
            while True:
                try:
                    lab.ask("GET", "")
                    break
                except OSError:
                    assert time.monotonic() < end, (home / "log").read_text()
                    time.sleep(0.1)
            yield lab
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)


@pytest.fixture
def lab(server: Lab) -> Iterator[Lab]:
    """The server on notebooks as they are committed; whatever a test does to them is undone."""
    yield server
    server.git("checkout", "--quiet", "--force", ".")
    server.git("clean", "--quiet", "--force")
    assert not server.git("status", "--porcelain")


def folds(tags: list[str]) -> dict[str, bool]:
    """What JupyterLab must hide of a cell that the page folds."""
    hidden = {}
    if {"hide-input", "hide-cell"} & set(tags):
        hidden["source_hidden"] = True
    if {"hide-output", "hide-cell"} & set(tags):
        hidden["outputs_hidden"] = True
    return hidden


def assert_folded(slug: str, notebook: Any) -> None:
    """Every cell of the source is served, hidden if the page folds it, and only then."""
    source = jupytext.read(LAYOUT.notebooks / f"{slug}.md", fmt="md:myst")
    wanted = [(cell.source, folds(cell.metadata.get("tags", []))) for cell in source.cells]
    served = [(c["source"], c["metadata"].get("jupyter", {})) for c in notebook["cells"]]
    assert served == wanted
    assert any(hidden for _, hidden in wanted)


def as_lab_saves(notebook: Any) -> Any:
    """A notebook after *Run all* and a reader who unfolded and scrolled, as JupyterLab sends it."""
    run = copy.deepcopy(notebook)
    run["metadata"] |= {"kernelspec": KERNEL, "language_info": LANGUAGE}
    for count, cell in enumerate(run["cells"], start=1):
        cell["metadata"] |= {"editable": True, "slideshow": {"slide_type": ""}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = count
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": OUTPUT}]
            cell["metadata"] |= {"scrolled": True, "jupyter": {"source_hidden": False}}
            cell["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    return run


@pytest.mark.parametrize("slug", ASKED)
def test_jupyterlab_folds_what_the_page_folds_whichever_file_is_newer(slug: str, lab: Lab) -> None:
    """Kills the header without its filter: nothing is folded, and the newer .ipynb is refused."""
    source, pair = (lab.layout.notebooks / f"{slug}{end}" for end in (".md", ".ipynb"))
    for seconds in (-60, 60):
        moment = source.stat().st_mtime + seconds
        os.utime(pair, (moment, moment))
        assert_folded(slug, lab.open(pair.name)["content"])
    assert_folded(slug, lab.open(source.name)["content"])


def test_a_source_that_was_edited_and_synced_later_opens(lab: Lab) -> None:
    """As many seconds later as you like: the server compares what the two files say."""
    sources = [lab.layout.notebooks / f"{slug}.md" for slug in SLUGS]
    for source in sources:
        text = source.read_text(encoding="utf-8")
        source.write_text(f"{text}\nAn afterthought.\n", encoding="utf-8")
    assert pairs.sync(lab.layout) == SLUGS
    for source in sources:
        pair = source.with_suffix(".ipynb")
        later = source.stat().st_mtime + 5
        os.utime(pair, (later, later))
        assert lab.open(pair.name)["content"]["cells"][-1]["source"].endswith("An afterthought.")


def test_a_newer_pair_that_says_something_else_is_refused(lab: Lab) -> None:
    """The control: edits made by another program in the .ipynb alone are not lost in silence."""
    source, pair = (lab.layout.notebooks / f"{SLUGS[0]}{end}" for end in (".md", ".ipynb"))
    notebook = nbformat.read(pair, as_version=4)
    notebook.cells[0].source += " Written elsewhere."
    nbformat.write(notebook, pair)
    later = source.stat().st_mtime + 5
    os.utime(pair, (later, later))
    code, answer = lab.ask("GET", f"{pair.name}?type=notebook&content=1")
    assert code == 400
    assert "is more recent than" in answer["message"]


@pytest.mark.parametrize("end", [".ipynb", ".md"])
@pytest.mark.parametrize("slug", ASKED)
def test_run_all_and_save_changes_no_file(slug: str, end: str, lab: Lab) -> None:
    """Kills a save that writes outputs, the kernel's name, jupytext's version or another spelling.

    The answer must be what the server says of the file afterwards, or JupyterLab asks its reader
    about a file that changed on disk.
    """
    name = f"{slug}{end}"
    before = lab.open(name)
    answer = lab.save(name, as_lab_saves(before["content"]))
    assert lab.git("status", "--porcelain") == ""
    after = lab.ask("GET", f"{name}?type=notebook&content=0&hash=1")[1]
    assert after["hash"] == before["hash"]
    assert after["last_modified"] == answer["last_modified"]


def changed_lines(diff: str) -> tuple[list[str], list[str]]:
    """The lines that a diff adds and removes, without blank ones and fences."""
    lines = [x for x in diff.split("\n") if x[:1] in ("+", "-") and x[:3] not in ("+++", "---")]
    said = [x for x in lines if x[1:].strip() and not x[1:].startswith("```")]
    return [x[1:] for x in said if x[0] == "+"], [x[1:] for x in said if x[0] == "-"]


@pytest.mark.parametrize("slug", ASKED)
def test_an_edit_arrives_in_both_files_and_nothing_else_does(slug: str, lab: Lab) -> None:
    """Lines are typed into two cells, one cell is new, the last one goes; no other line moves."""
    source, pair = (lab.layout.notebooks / f"{slug}{end}" for end in (".md", ".ipynb"))
    notebook = as_lab_saves(lab.open(pair.name)["content"])
    places = [i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"]
    notebook["cells"][places[0] - 1]["source"] += "\n\nTyped in JupyterLab."
    notebook["cells"][places[len(places) // 2]]["source"] += "\nx_typed = 1"
    lost = notebook["cells"].pop()
    notebook["cells"].append(nbformat.v4.new_code_cell("y_typed = 2"))
    lab.save(pair.name, notebook)

    added, removed = changed_lines(lab.git("diff", "-U0", "--", f"notebooks/{slug}.md"))
    assert added == ["Typed in JupyterLab.", "x_typed = 1", "y_typed = 2"]
    gone = [line for line in lost["source"].split("\n") if line.strip()]
    assert [x for x in removed if not x.startswith(":tags:")] == gone
    assert pair.read_text(encoding="utf-8") == pairs.paired_text(source)
    assert OUTPUT not in pair.read_text(encoding="utf-8")
    served = lab.open(pair.name)["content"]["cells"]
    assert [c["source"].rstrip() for c in served] == [
        c["source"].rstrip() for c in notebook["cells"]
    ]
    tags = [cell["metadata"].get("tags", []) for cell in served]
    assert [c["metadata"].get("jupyter", {}) for c in served] == [folds(told) for told in tags]


def test_the_build_takes_what_jupyterlab_saved(lab: Lab) -> None:
    """Kills a saved pair at which `make book` stops, or that `make sync` would write otherwise."""
    slug = min(SLUGS, key=lambda one: (LAYOUT.notebooks / f"{one}.md").stat().st_size)
    notebook = as_lab_saves(lab.open(f"{slug}.md")["content"])
    notebook["cells"][0]["source"] += "\n\nTyped in JupyterLab."
    lab.save(f"{slug}.md", notebook)
    assert len(lab.git("diff", "--name-only").split()) == 2
    pairs.check(lab.layout)
    assert pairs.sync(lab.layout) == []


def test_a_source_saved_as_text_stays_as_it_was_typed(lab: Lab) -> None:
    """After a save as notebook too: JupyterLab's editor may change the header and the spelling."""
    name = f"{SLUGS[0]}.md"
    lab.save(name, lab.open(name)["content"])
    typed = (lab.layout.notebooks / name).read_text(encoding="utf-8").replace("0.13", "0.12") + "\n"
    code, _ = lab.ask("PUT", name, {"type": "file", "format": "text", "content": typed})
    assert code == 200
    assert (lab.layout.notebooks / name).read_text(encoding="utf-8") == typed


def test_a_notebook_of_the_readers_own_keeps_its_outputs(lab: Lab) -> None:
    """Only pairs are stripped, and a notebook without a source gets none."""
    own = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    lab.save("own.ipynb", as_lab_saves(own))
    kept = nbformat.read(lab.layout.notebooks / "own.ipynb", as_version=4)
    assert kept.cells[0].outputs[0].text == OUTPUT
    assert not (lab.layout.notebooks / "own.md").exists()


@pytest.mark.parametrize("slug", LAYOUT.lessons())
def test_a_lesson_reads_in_jupyterlab_as_on_its_page(slug: str, lab: Lab) -> None:
    """Its title and a sentence come first, open cells are open, no cell serves the build alone."""
    cells = lab.open(f"{slug}.ipynb")["content"]["cells"]
    assert cells[0]["cell_type"] == "markdown"
    title, _, prose = cells[0]["source"].partition("\n")
    assert title.startswith("# ")
    assert prose.strip()[:1].isalpha()
    opened = [c for c in cells if not folds(c["metadata"].get("tags", []))]
    assert next(c for c in cells if c["cell_type"] == "code") in opened
    for cell in opened:
        assert not {"jupyter", "collapsed"} & set(cell["metadata"])
        assert set(cell["metadata"].get("tags", [])) <= {"parameters"}


#: What the open notebook shows and holds; cells out of sight are not drawn, but they are held.
SEEN = """() => jupyterapp.shell.currentWidget.content.widgets.map((cell) => ({
  kind: cell.model.type, hidden: cell.inputHidden, output: cell.outputHidden ?? false,
  count: cell.model.executionCount, source: cell.model.sharedModel.getSource(),
  outputs: cell.model.type == "code" ? cell.model.outputs.toJSON() : [],
}))"""
READY = """() => globalThis.jupyterapp?.shell.currentWidget?.context?.isReady
  && jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status == "idle" """
#: Run all cells, or write an answer into the cell that holds some words and run that cell.
RUN_ALL = "() => jupyterapp.commands.execute('notebook:run-all-cells')"
ANSWER = """async ([words, before, after]) => {
  const notebook = jupyterapp.shell.currentWidget.content;
  const at = notebook.widgets.findIndex((c) => c.model.sharedModel.getSource().includes(words));
  const source = notebook.widgets[at].model.sharedModel;
  source.setSource(source.getSource().replace(before, after));
  notebook.activeCellIndex = at;
  await jupyterapp.commands.execute('notebook:run-cell');
  return notebook.widgets[at].model.outputs.toJSON();
}"""


@pytest.mark.site
@pytest.mark.skipif(site_check.chromium() is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    "slug",
    [
        slug if slug == "basics" else pytest.param(slug, marks=pytest.mark.weekly)
        for slug in LAYOUT.lessons()
    ],
)
def test_a_reader_opens_a_lesson_and_runs_all_of_it_in_a_browser(slug: str, lab: Lab) -> None:
    """Kills a cell that fails in JupyterLab alone, an open fold, a save that leaves a trace.

    Nothing is random: the seeds are the lesson's own.
    """
    cells = nbformat.read(lab.layout.notebooks / f"{slug}.ipynb", as_version=4).cells
    folded = [folds(cell.metadata.get("tags", [])) for cell in cells]
    with site_check.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.goto(f"{lab.url}lab/tree/{slug}.ipynb?reset&token={lab.token}", timeout=120_000)
        page.wait_for_function(READY, timeout=120_000)
        seen = page.evaluate(SEEN)
        assert [cell["hidden"] for cell in seen] == ["source_hidden" in one for one in folded]
        assert [cell["output"] for cell in seen] == ["outputs_hidden" in one for one in folded]
        page.evaluate(RUN_ALL)
        ran = [cell for cell in page.evaluate(SEEN) if cell["kind"] == "code"]
        for cell in ran:
            assert cell["count"] is not None, cell["source"]
            for output in cell["outputs"]:
                assert output["output_type"] != "error", (cell["source"], output["evalue"])
                assert output.get("name") != "stderr", (cell["source"], output["text"])
        (answered,) = page.evaluate(ANSWER, ["grade(", "= ...", "= lambda *given: -1.0"])
        assert "data-grade='wrong'" in answered["data"]["text/html"]
        assert len(answered["data"]["text/plain"].split()) >= 5
        page.evaluate(ANSWER, ["grade(", "= lambda *given: -1.0", "= ..."])
        page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    assert not lab.git("status", "--porcelain")
