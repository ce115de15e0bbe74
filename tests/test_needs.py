"""Who needs the code: a door, a page, a claim or an archive reaches every definition of `src`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from dplit.claims import load_registry
from scripts.digest import notebook_code
from scripts.layout import Layout
from scripts.reach import Reach, module_file
from tests.test_house import code_lines

LAYOUT = Layout(Path(__file__).resolve().parents[1])
ROOT = LAYOUT.root

#: What nothing of the above reaches, and why it is there all the same.
ALONE = {
    "dplit.__getattr__": "Python asks for it",
    "dplit.__dir__": "Python asks for it",
    "dplit.face_off.__getattr__": "Python asks for it",
    "dplit.face_off.__dir__": "Python asks for it",
    # a ledger's lines compute nothing, and digests pass by them with what only they name
    "dplit.mechanisms.draws.record_draw": "a ledger's line",
    "dplit.mechanisms.draws.record_step": "a ledger's line",
    "dplit.baselines.lloyd._moves": "told to a ledger",
    "dplit.baselines.objective._event": "told to a ledger",
    "dplit.margin.descent._moved": "told to a ledger",
    # contributors and users call them; no page has an example
    "dplit.audit.neighbours.search_neighbours": "tests of sensitivities search with it",
    "dplit.accounting.composition.composed_epsilon": "the inverse of composed_delta",
    "dplit.accounting.conversions.zcdp_delta": "the inverse of zcdp_epsilon",
    "dplit.mechanisms.secure.secure_gaussian": "SECURITY.md sends users to it",
    "dplit.mechanisms.secure.secure_laplace": "SECURITY.md sends users to it",
    "dplit.face_off.release.load_model": "reads the file of a release",
    "dplit.datasets.papers._main": "make data",
    "dplit.claims.load_schema": "make claims",
    "dplit.datasets.needs.are_declared": "make book: which claims need data",
    # the advice holds numbers; tests learn them again from the maps' archives
    "dplit_studies.margin.choice_map.price": "tests compare limits by it",
    "dplit_studies.projection.choice_map.learn": "tests learn the advice again",
    "dplit_studies.random_features.choice_map.learn": "tests learn the advice again",
    "dplit_studies.random_features.choice_map.regret": "tests judge the advice by it",
    "dplit_studies.sketching.choice_map.learn": "tests learn the advice again",
}


#: Pages of words that no command writes.
PAGES = ("api", "data", "how_to_read", "intro", "notation")
#: A name of the package that a text calls a reader's attention to.
NAMED = re.compile(r"`~?(dplit[\w.]+)`")
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _users() -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """Yield names of users, their code, and what they name besides."""
    stub = ast.parse((LAYOUT.package / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    yield "estimators", [], [f"{node.module}.{a.name}" for node in imports for a in node.names]
    for slug in LAYOUT.names():
        yield "pages", notebook_code(LAYOUT.notebooks / f"{slug}.ipynb"), []
    yield "claims", [], [f for claim in load_registry().values() for f in claim["functions"]]
    texts = [ROOT / "README.md", ROOT / "SECURITY.md", *LAYOUT.notebooks.glob("*.md")]
    for path in [*texts, *(LAYOUT.book / f"{page}.md" for page in PAGES)]:
        text = path.read_text(encoding="utf-8")
        # a module's name is no use of all that it holds
        yield "pages", [], [n for n in NAMED.findall(text) if not module_file(n, LAYOUT.package)]
        for example in EXAMPLE.findall(text):
            yield "pages", [example], []
    rooms = [path.parent.name for path in LAYOUT.package.glob("*/exercises.py")]
    yield "exercises", [], [f"dplit.{room}.exercises" for room in rooms]  # a cell names its id
    for path in (ROOT / "benchmarks").glob("archive_*.py"):  # they measure what figures draw
        yield "archives", [path.read_text(encoding="utf-8")], []
    yield "alone", [], ALONE


def _definitions() -> Iterator[tuple[str, int]]:
    """Yield dotted names of functions and classes, with their lines of code."""
    for path in [*LAYOUT.package.rglob("*.py"), *LAYOUT.studies.rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for node in ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                size = code_lines(ast.get_source_segment(source, node) or "")
                yield f"{module.removesuffix('.__init__')}.{node.name}", size


def test_every_definition_is_needed() -> None:
    """Kills a function that only its own tests call, and an exception that is none any more.

    It prints lines of code by who needs them first.
    """
    reach, found = Reach(LAYOUT.package), dict[str, str]()
    for user, sources, names in _users():
        for name in reach.digests(sources, names):
            found.setdefault(name, user)
    lines = Counter[str]()
    for name, size in _definitions():
        lines[found.get(name, name)] += size
    print(lines)
    kinds = {"estimators", "pages", "claims", "exercises", "archives", "alone"}
    assert {name: n for name, n in lines.items() if name not in kinds} == {}
    assert min(lines["estimators"], lines["pages"]) > 5_000  # something was counted
    assert [name for name in ALONE if found[name] != "alone"] == []
