"""The hand-written pages: commands, files, citations and modules that they name exist."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import dplit
from scripts.layout import Layout
from scripts.reference import documented_modules, page_name, public_names

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "book/intro.md",
    "book/how_to_read.md",
    "book/notation.md",
    "book/data.md",
    "book/api.md",
]
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the commands that a page tells its reader to type, without comments."""
    blocks = [body for language, body in FENCE.findall(text) if language == "console"]
    typed = [line[2:] for block in blocks for line in block.split("\n") if line.startswith("$ ")]
    quoted = re.findall(r"`((?:make|papermill|python -m|pip) [^`]+)`", FENCE.sub("", text))
    return [re.sub(r"\s+#.*", "", line).strip() for line in [*typed, *quoted]]


def make_targets(root: Path) -> set[str]:
    rules = (root / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", rules, re.MULTILINE))


def declared_parameters(notebook: Path) -> dict[str, str]:
    """Return the names and types in a notebook's parameters cell."""
    import nbformat

    book = nbformat.read(notebook, as_version=4)
    cell = next(c for c in book.cells if "parameters" in c.metadata.get("tags", []))
    return dict(re.findall(r"^(\w+): (\w+) =", cell.source, re.MULTILINE))


def bibliography(root: Path) -> dict[str, str]:
    text = (root / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^@\w+\{", text, flags=re.MULTILINE)[1:]
    return {entry.split(",", 1)[0]: entry for entry in entries}


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_a_page_names_is_a_rule(root: Path, page: str) -> None:
    text = (root / page).read_text(encoding="utf-8")
    named = {line.split()[1] for line in commands(text) if line.startswith("make ")}
    assert named <= make_targets(root)


def test_the_readme_names_every_rule_that_a_reader_needs(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    named = {line.split()[1] for line in commands(text) if line.startswith("make ")}
    parts = {"again", "corners", "seeds", "branches"}  # of make weekly
    assert make_targets(root) - {"help", "environment", "sync", *parts} <= named


@pytest.mark.parametrize("page", ["README.md", "book/how_to_read.md"])
def test_papermill_commands_name_notebooks_and_parameters_that_exist(root: Path, page: str) -> None:
    text = (root / page).read_text(encoding="utf-8")
    lines = [line for line in commands(text) if line.startswith("papermill ")]
    assert lines
    for line in lines:
        words = line.split()
        parameters = declared_parameters(root / words[1])
        for flag, name, value in zip(words, words[1:], words[2:], strict=False):
            if flag == "-p":
                assert parameters[name] == "float"
                float(value)


@pytest.mark.parametrize("page", PAGES)
def test_every_chapter_command_names_a_notebook(root: Path, page: str) -> None:
    text, layout = (root / page).read_text(encoding="utf-8"), Layout(root)
    for command, name in re.findall(r"make (\w+) NAME=(\w+)", text):
        if (command, name) != ("mutate", "arithmetic"):
            assert layout.record(name) in layout.names()


def test_files_that_the_readme_shows_or_names_exist(root: Path) -> None:
    text = FENCE.sub("", (root / "README.md").read_text(encoding="utf-8"))
    shown = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    named = re.findall(r"`((?:[\w/]+/)?[\w-]+\.(?:md|yml|cff|toml))`|`(LICENSE[\w-]*)`", text)
    wanted = [*shown, *(a or b for a, b in named)]
    assert len(wanted) >= 6
    missing = [name for name in wanted if not (root / name).is_file()]
    assert missing == []


def test_every_citation_has_an_entry(root: Path) -> None:
    known = bibliography(root)
    sources = [*(root / "book").glob("*.md"), *(root / "notebooks").glob("*.md")]
    for path in sources:
        text = path.read_text(encoding="utf-8")
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text):
            assert {key.strip() for key in keys.split(",")} <= known.keys(), path.name


def test_digital_object_identifiers_are_well_formed_and_used_once(root: Path) -> None:
    text = (root / "book" / "references.bib").read_text(encoding="utf-8")
    found = re.findall(r"doi\s*=\s*\{(.*?)\}", text)
    assert len(found) == len(set(found)) >= 20
    assert [doi for doi in found if not re.fullmatch(r"10\.\d{4,5}/\S+", doi)] == []


#: They register no identifiers: JMLR, NeurIPS, and what PMLR prints.
UNREGISTERED = (
    *("Journal of Machine Learning Research", "Advances in Neural Information Processing Systems"),
    *("Machine Learning", "Learning Theory", "Artificial Intelligence and Statistics"),
    "Algorithmic Learning Theory",
)
#: A book, a paper of 1884, a page of a company; of AAAI's paper no identifier could be checked.
NEITHER = {"lantz2013", "kronecker1884", "chang2021", "alda2017"}


def test_a_work_without_an_identifier_is_of_those_who_register_none(root: Path) -> None:
    """Kills a work from a journal with identifiers that is entered without its own."""
    without = {key: text for key, text in bibliography(root).items() if "doi" not in text}
    told = {
        key
        for key, text in without.items()
        for place in re.findall(r"(?:journal|booktitle)\s*=\s*\{(.*)\}", text)
        if place.endswith(UNREGISTERED)
    }
    assert without.keys() - told == NEITHER


def test_citation_file_refers_to_the_five_papers(root: Path) -> None:
    cff: dict[str, Any] = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert cff["version"] == dplit.__version__
    known = bibliography(root)
    five = ["nie2017", "showkatbakhsh2018", "chatalic2022", "bassily2022", "liao2025"]
    assert len(cff["references"]) == len(five)
    for reference, key in zip(cff["references"], five, strict=True):
        assert f"{{{reference['doi']}}}" in known[key]
        for author in reference["authors"]:
            assert author["family-names"] in known[key]


def test_every_room_of_the_package_is_in_the_table_of_contents(root: Path) -> None:
    toc = (root / "_toc.yml").read_text(encoding="utf-8")
    modules = documented_modules(root / "src" / "dplit")
    rooms = {name for name in modules if name.count(".") == 1 and name.startswith("dplit.")}
    rooms |= {"dplit_studies"}  # one line for all of them; each room stands below it
    assert set(re.findall(r"file: book/reference/(\w+)", toc)) == {page_name(r) for r in rooms}
    inside = {page_name(name).partition(".")[0] for name in modules} - {
        page_name(r) for r in rooms if not any(m.startswith(r + ".") for m in modules)
    }
    assert set(re.findall(r"glob: book/reference/(\w+)\.", toc)) == inside


def test_every_public_name_has_a_page() -> None:
    """Kills a module whose names neither its own page nor its room's face tells."""
    package = Path(dplit.__file__).parent
    documented = set(documented_modules(package))
    for found in pkgutil.walk_packages(dplit.__path__, "dplit."):
        if found.name in documented or "._" in found.name:
            continue
        module, face = (
            importlib.import_module(n) for n in (found.name, found.name.rpartition(".")[0])
        )
        own = public_names(Path(str(module.__file__))) or set()
        assert own <= set(getattr(face, "__all__", ())), found.name


def snippets(root: Path) -> list[str]:
    text = (root / "book" / "api.md").read_text(encoding="utf-8")
    return [body for language, body in FENCE.findall(text) if language == "python"]


def test_the_lines_shown_for_each_estimator_run(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kills an estimator without lines, and lines that raise or warn."""
    rng = np.random.default_rng(0)
    X = np.repeat([[-0.5, 0.5], [0.5, 0.0]], 10_000, axis=0) + 0.1 * rng.uniform(-1, 1, (20_000, 2))
    names = {"X": X, "y": X[:, 0], "labels": np.where(X[:, 0] > 0, "yes", "no")}
    for body in snippets(root):
        exec(body, dict(names))
    shown = {re.search(r"import (\w+)", body)[1] for body in snippets(root)}  # type: ignore[index]
    assert shown == {n for n in dir(dplit) if hasattr(getattr(dplit, n), "fit")}
    told = capsys.readouterr().out
    assert told.count("exact to the last bit") == len(shown) - 1  # all but random projections
    assert told.count("floating-point noise, for research") == 1


def test_checksums_on_the_data_page_are_those_of_the_loaders(root: Path) -> None:
    from dplit.notebook.datasets.papers import FILES

    text = (root / "book" / "data.md").read_text(encoding="utf-8")
    for file in FILES.values():
        row = re.search(rf"\* - `{re.escape(file.name)}`\n  - `(\w+)`", text)
        assert row is not None
        assert row[1] == file.checksum[1]


def test_verdicts_on_the_reading_page_are_those_of_the_schema(root: Path) -> None:
    from dplit.notebook.claims import load_schema

    text = (root / "book" / "how_to_read.md").read_text(encoding="utf-8")
    table = text.split("## The verdicts")[1].split("## The checks")[0]
    explained = re.findall(r"^\| ([a-z-]+) \|", table, re.MULTILINE)[1:]
    schema = load_schema()
    fields = schema["items"]["properties"] if "items" in schema else schema["properties"]
    assert sorted(explained) == sorted(fields["verdict"]["enum"])
    severities = [name for name in fields["severity"]["enum"] if name]
    assert all(f"*{name.capitalize()}*" in table for name in severities)
