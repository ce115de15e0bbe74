"""Try it at its corners: equal learners share a line, and warnings are told."""

from __future__ import annotations

import numpy as np
import pytest

from dplit_studies.margin.tried import RIVAL, tried_errors

PLAIN = {"delta": 1e-6, "n_components": 5000, "seed": 0, "sets": 2}


def test_learners_that_err_alike_are_one_line() -> None:
    """Sixty records in three dimensions at a budget that protects nothing: every learner finds the
    same signs. Kills a line per learner, and a projection to more dimensions than there are."""
    found = tried_errors((60.0, 100.0), n_samples=60, n_features=3, margin=0.9, **PLAIN)
    assert list(found.scores)[-1] == RIVAL
    assert len(found.scores) == 5
    distinct = {v.tobytes() for v in found.scores.values()}
    assert len(found.lines) == len(distinct) < 5
    shared = [name for name in found.lines if " = " in name or name.startswith("all")]
    assert shared
    together = dict.fromkeys(found.scores, np.zeros((2, 2)))
    assert list(type(found)(together, {}, ()).lines) == ["all 5 learners"]


def test_warnings_are_told_once_with_all_who_gave_them() -> None:
    """Kills silenced warnings, and one that is told of every fit."""
    found = tried_errors((0.05, 1.0), n_samples=40, n_features=20, margin=0.3, **PLAIN)
    assert any("full batch, margin given, " in text and "noise" in text for text in found.told)
    assert len(found.told) <= len(found.scores)
    assert all("at ε = 0.05" in text for text in found.told if "full batch" in text)
    rich = tried_errors((50.0,), n_samples=1000, n_features=5, margin=0.8, **PLAIN)
    assert rich.told == []
    assert "(50, 1e-06)-differential privacy" in rich.statements[0]


def test_few_components_are_a_projection() -> None:
    """Kills a projected learner that is the plain one."""
    of = dict(PLAIN, n_components=2)
    found = tried_errors((1.0,), n_samples=300, n_features=30, margin=0.5, **of)
    assert np.any(found.scores["projected"] != found.scores["full batch, margin given"])
    with pytest.raises(ValueError, match="sets must be at least 1"):
        tried_errors((1.0,), n_samples=30, n_features=3, margin=0.5, **{**PLAIN, "sets": 0})
