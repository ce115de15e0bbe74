"""Which trees are read for numbers, and which headings have one."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from dplit_book import numbers

LESSON, RECORD, PACKAGE = "book/chapters/erm", "book/chapters/erm_supplement", "book/reference/erm"


class Environment:
    """What Sphinx knows of three pages after it has numbered them."""

    def __init__(self) -> None:
        self.titles = {name: nodes.title("", name, secnumber=(1,)) for name in (LESSON, RECORD)}
        entry = nodes.reference("", "", anchorname="", secnumber=(1,))
        self.tocs = {name: nodes.bullet_list("", entry.deepcopy()) for name in (LESSON, RECORD)}
        self.toc_secnumbers = {name: {"": (1,)} for name in (LESSON, RECORD)}

    def get_doctree(self, name: str) -> list[str]:
        return [name]


def test_no_tree_of_the_package_is_read_and_all_are_shown_again() -> None:
    """Kills a chapter whose figures lose their numbers, and trees that stay empty afterwards."""
    env: Any = Environment()
    plain = set(vars(env))
    assert numbers.before(None, env) == []
    assert [list(env.get_doctree(name)) for name in (RECORD, PACKAGE)] == [[RECORD], []]
    assert numbers.after(None, env) == []
    assert env.get_doctree(PACKAGE) == [PACKAGE]
    assert set(vars(env)) == plain | {"dplit_unshown"}  # the environment is pickled


def test_headings_of_lessons_alone_have_numbers_and_no_page_is_written_again_for_it() -> None:
    """Kills a lesson without numbers, a supplement with them, and an old state that is forgotten:
    Sphinx writes a page again if its numbers differ from those of the last build."""
    env: Any = Environment()
    known = {name: dict(told) for name, told in env.toc_secnumbers.items()}
    for _ in range(2):
        numbers.before(None, env)
        assert env.toc_secnumbers == known
        numbers.after(None, env)
        assert env.toc_secnumbers == {LESSON: known[LESSON]}
    assert [env.titles[name].get("secnumber") for name in (LESSON, RECORD)] == [(1,), None]
    assert [env.tocs[name][0].get("secnumber") for name in (LESSON, RECORD)] == [(1,), None]
