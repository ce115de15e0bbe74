"""The claims of each paper are registered in the paper's order, in which the index shows them."""

from __future__ import annotations

import re

import pytest

from dplit.notebook.claims import load_registry

#: Algorithms stand where they are used; the rest is numbered as it comes.
NUMBERED = re.compile(r"(Definition|Lemma|Theorem|Proposition|Corollary|Figure|Table)s? ([\d.]+)")


@pytest.mark.parametrize("slug", ["erm", "margin", "projection", "random_features", "sketching"])
def test_claims_are_registered_as_the_paper_has_them(slug: str) -> None:
    """Kills an entry at the end of the file, and one of ours between the paper's."""
    entries = list(load_registry(slug).values())
    ours = ["-beyond-" in entry["id"] for entry in entries]
    assert ours == sorted(ours)
    last: dict[str, list[int]] = {}
    for entry in entries[: len(ours) - sum(ours)]:
        if found := NUMBERED.match(entry["place"]):
            number = [int(part) for part in found[2].strip(".").split(".")]
            assert last.get(found[1], [0]) < number, entry["id"]
            last[found[1]] = number
