"""Running proofs stop at a false step, say where, and tell what each step gives away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dplit.notebook import ProofError, proofs, running_proof

ABOUT = {"name": "toy", "theorem": "A toy", "over": "three data sets"}
RISING = {"start": [1.0, 2.0, 0.0], "(a)": [1.0, 2.0, 0.0], "(b)": [2.0, 2.0, 4.0]}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would be displayed: name, caption, alternative text and record of each figure."""
    told: list[Any] = []

    def keep(fig: Any, name: str, caption: str, alt: str, stand_in: bool, more: Any) -> None:
        told.append((name, caption, alt, more[proofs._MIMETYPE]))

    monkeypatch.setattr(proofs, "_show_figure", keep)
    return told


def test_a_proof_tells_the_loss_of_every_step(shown: list[Any]) -> None:
    """Kills losses as differences instead of shares, and medians of the lines instead of steps."""
    running_proof(RISING, "= <=", gain={"(b)": "a better constant"}, **ABOUT)
    name, caption, alt, record = shown[0]
    assert name == "proof-toy"
    assert record["steps"] == [
        {"line": "(a)", "relation": "=", "median": 0.0, "least": 0.0, "greatest": 0.0, "gain": ""},
        {
            "line": "(b)",
            "relation": "<=",
            "median": 0.5,
            "least": 0.0,
            "greatest": 1.0,
            "gain": "a better constant",
        },
    ]
    assert caption.endswith(
        "The step to (b) loses most: 50 % at the median, nothing at best. "
        "What would win that back? a better constant"
    )
    assert 40 <= len(alt) <= 300


@pytest.mark.parametrize(
    ("last", "finding"),
    [
        ([1.0, 2.0, 0.0], "No step loses anything."),
        ([1.0, 2.0, 3.0], "the step to (b) can lose 100 %"),
        ([2.0, 4.0, 1.0], "(b) loses most: 50 % at the median, 50 % at best"),
    ],
)
def test_the_caption_is_true_of_the_numbers(
    shown: list[Any], last: list[float], finding: str
) -> None:
    running_proof({**RISING, "(b)": last}, "= <=", **ABOUT)
    assert finding in shown[0][1]


@pytest.mark.parametrize(
    ("lines", "relations", "said"),
    [
        ({"start": [1, 1], "(a)": [1, 0.5]}, "<=", r"fails for data set 2 of 2: 1 against 0.5"),
        ({"start": [1, 1], "(a)": [1, 1.5]}, ">=", r"'start' >= '\(a\)' fails for data set 2 of 2"),
        ({"start": [1, 1], "(a)": [1, 1 + 1e-6]}, "=", r"'start' = '\(a\)' fails for data set 2"),
        ({"start": [1, np.nan], "(a)": [1, 2]}, "<=", r"line 'start' is nan for data set 2 of 2"),
        ({"start": [1, 1], "(a)": [np.inf, 2]}, "<=", r"line '\(a\)' is inf for data set 1 of 2"),
    ],
)
def test_a_false_step_stops_the_notebook_and_says_where(
    shown: list[Any], lines: Any, relations: str, said: str
) -> None:
    with pytest.raises(ProofError, match=rf"^toy: .*{said}"):
        running_proof(lines, relations, **ABOUT)
    assert shown == []


def test_rounding_is_forgiven_and_no_more(shown: list[Any]) -> None:
    running_proof({"start": [1.0], "(a)": [1.0 - 0.9e-9]}, "<=", **ABOUT)
    with pytest.raises(ProofError):
        running_proof({"start": [1.0], "(a)": [1.0 - 1.1e-9]}, "<=", **ABOUT)


@pytest.mark.parametrize(
    ("relations", "said"),
    [
        ("<=", "3 lines need 2 relations"),
        ("<= <", "relations must be of <=, =, >=, got '<'"),
        ("<= >=", "rises or falls"),
    ],
)
def test_relations_that_do_not_fit_are_refused(relations: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        running_proof(RISING, relations, **ABOUT)


def test_the_caption_names_no_cure_where_nothing_is_lost(shown: list[Any]) -> None:
    """Kills a caption that wins back nothing, and one that takes another step's sentence."""
    running_proof({"start": [1], "(a)": [1]}, "=", gain={"(a)": "a cure"}, **ABOUT)
    running_proof({"start": [1], "(a)": [1], "(b)": [2]}, "= <=", gain={"(a)": "a cure"}, **ABOUT)
    assert not any("What would win that back" in caption for _, caption, _, _ in shown)


def test_a_gain_of_no_line_and_an_empty_line_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gain must name lines after the first, got \(c\)"):
        running_proof(RISING, "= <=", gain={"(c)": "?"}, **ABOUT)
    with pytest.raises(ValueError, match="must not be empty"):
        running_proof({"start": [], "(a)": []}, "<=", **ABOUT)


def test_falling_and_negative_chains_have_shares_of_the_largest(shown: list[Any]) -> None:
    running_proof({"start": [4.0], "(a)": [1.0]}, ">=", **ABOUT)
    running_proof({"start": [-4.0], "(a)": [-1.0]}, "<=", **ABOUT)
    assert [told[3]["steps"][0]["median"] for told in shown] == [0.75, 0.75]


def test_the_page_of_losses_is_sorted_by_what_could_be_won(shown: list[Any]) -> None:
    """Kills a page that shows equalities, or the least loss first."""
    from dplit_book import shown as pages

    running_proof(RISING, "= <=", **ABOUT)
    running_proof({**RISING, "(b)": [10.0, 20.0, 1.0]}, "= <=", **{**ABOUT, "name": "worse"})
    text = pages.proofs_page({"basics": [told[3] for told in shown]})
    assert text.index("#proof-worse") < text.index("#proof-toy")
    assert text.count("to (b)") == 2
    assert "to (a)" not in text
    assert "<td>90 %</td><td>90 %</td>" in text
    assert "<td>50 %</td><td>nothing</td>" in text
    assert "2 proofs, 2 steps." in text
    assert "No proof runs yet." in pages.proofs_page({"basics": []})
