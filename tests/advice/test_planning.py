"""The planning rule of sketches: its formula, its decoders, and what the archive says of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from benchmarks.maps import write
from benchmarks.maps.sketching_planning import LEVELS, cases, greedy_decode
from benchmarks.maps.sketching_planning_kept import kept, name_of, promised, summary
from dplit.advice.clusters import recommend
from dplit.advice.planning import LEAST_LOUDNESS, LEAST_WAVES, planned
from dplit.streams import stream
from tests.archives import archived

ARCHIVE = archived("sketching_planning")

PARTS = ("seen", "held out")


def test_loudness_is_hill_over_noise() -> None:
    """A hill of one group at its middle, over the deviation of noise on a hill, for a box of one
    column: 4000 draws, within 5 standard errors, a false alarm of 6e-7. Kills sqrt(m) that is
    inverted, and noise of a complex for that of a real number.
    """
    rng, m, n, k, s = stream(0, "sketch-loudness", "noise"), 40, 900, 3, 7.0
    draws = s * (rng.standard_normal((4000, m)) + 1j * rng.standard_normal((4000, m)))
    turns = np.exp(1j * rng.uniform(0, 2 * np.pi, m))
    hills = (draws @ turns.conj()).real
    plan = planned(n=n, d=1, k=k, n_frequencies=m, deviation=s)
    error = 5.0 / math.sqrt(2 * 4000)
    assert n / k * m / hills.std() == pytest.approx(plan.loudness, rel=error)
    assert planned(n=n, d=4, k=k, n_frequencies=m, deviation=s).loudness == plan.loudness / 2
    assert plan.waves == m / k


def test_both_limits_must_be_kept() -> None:
    for loudness, waves in ((1.01, 1.01), (0.99, 1.01), (1.01, 0.99)):
        k, d = 3, 2
        m = round(LEAST_WAVES * k * d) + (1 if waves > 1 else -1)
        s = 1000 * math.sqrt(m / d) / (k * LEAST_LOUDNESS * loudness)
        plan = planned(n=1000, d=d, k=k, n_frequencies=m, deviation=s)
        assert plan.found == (min(loudness, waves) > 1)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"n": 0}, "n"), ({"d": 0}, "d"), ({"k": 1.5}, "k"), ({"deviation": 0.0}, "deviation")],
)
def test_bad_arguments_are_named(wrong: dict[str, Any], name: str) -> None:
    told = {"n": 100, "d": 2, "k": 3, "n_frequencies": 20, "deviation": 1.0}
    with pytest.raises((ValueError, TypeError), match=name):
        planned(**(told | wrong))


def test_the_lesson_s_own_setting_keeps_the_rule_and_a_tenth_of_it_does_not() -> None:
    """The page that advises must lie inside its advice: 10,000 records, three groups, 60 waves."""
    told = {"n": 10_000, "d": 2, "k": 3, "n_frequencies": 60}
    assert planned(**told, deviation=2 * 60 / 0.1).found
    assert not planned(**told, deviation=2 * 60 / 0.01).found


def test_advice_tells_the_loudness() -> None:
    """Ten thousand records in six columns at a budget that is enough, and at one that is not; kills
    a deviation of another noise, which would be told beside it.
    """
    loud = recommend(n=10_000, d=6, k=6, epsilon=1.0)
    m = loud.estimator.n_frequencies or 360
    level = math.sqrt((2 * m + 1) * (2 * m + 2)) / 2.0
    plan = planned(n=10_000, d=6, k=6, n_frequencies=m, deviation=level)
    told = f"a group has loudness {plan.loudness:.2g}, the sketch {plan.waves:.2g} k d waves"
    assert told in loud.reason
    assert ("not enough by the planning rule" in loud.reason) != plan.found
    quiet = recommend(n=10_000, d=6, k=6, epsilon=0.1)
    assert type(quiet.estimator).__name__ == "CompressiveKMeans"
    assert "not enough by the planning rule" in quiet.reason


def test_the_greedy_decoder_is_the_lesson_s(request: pytest.FixtureRequest) -> None:
    """On two noisy sketches: the page's own cells give the same centres, to a millionth."""
    page = nbformat.read(request.config.rootpath / "notebooks" / "sketching.ipynb", as_version=4)
    wanted = ("def waves(", "def lattice(", "def decode(")
    space: dict[str, Any] = {}
    exec("import numpy as np\nfrom scipy.optimize import least_squares, nnls", space)
    for cell in page.cells:
        if cell.cell_type == "code" and any(one in cell.source for one in wanted):
            source = cell.source.split("\npatients =")[0]
            exec(source, space)
    rng = stream(0, "sketch-greedy", "noise")
    omega = 3.5 * rng.standard_normal((2, 40))
    for _ in range(2):
        centres = rng.uniform(-0.8, 0.8, (3, 2))
        noisy = np.exp(1j * centres @ omega).mean(axis=0) + 0.05 * rng.standard_normal(40)
        ours = greedy_decode(noisy, omega, 3, space["lattice"](41))
        np.testing.assert_allclose(ours, space["decode"](noisy, omega, 3), atol=1e-6)


# The archive.


def test_the_archive_says_what_it_lacks() -> None:
    done = {name_of(part, row) for part in PARTS for row in ARCHIVE[part]}
    wanted = [name_of(part, case._asdict()) for part, case, _ in cases()]
    assert ARCHIVE["not run yet"] == [name for name in wanted if name not in done]
    assert tuple(ARCHIVE["levels"]) == LEVELS
    assert ARCHIVE["rule"] == {"loudness": LEAST_LOUDNESS, "waves": LEAST_WAVES}
    assert ARCHIVE["summary"] == summary({part: ARCHIVE[part] for part in PARTS})


def test_levels_go_from_where_nothing_is_found_to_where_hardly_anything_is_missed() -> None:
    rows = [row for row in ARCHIVE["seen"] if promised(row)]
    found = np.sum([row["kmeans"]["found"] for row in rows], axis=0)
    share = found / sum(row["kmeans"]["trials"] for row in rows)
    assert share[0] < 0.1
    assert share[-1] > 0.9


def test_the_rule_is_kept_more_often_than_its_neighbours() -> None:
    """Half of the loudness misses more, twice promises fewer runs: kills limits at random."""
    rows = ARCHIVE["seen"]
    ours = kept(rows, "kmeans")
    half = kept(rows, "kmeans", loudness=LEAST_LOUDNESS / 2.0)
    twice = kept(rows, "kmeans", loudness=LEAST_LOUDNESS * 2.0)
    assert ours["missed"] < half["missed"]
    assert twice["promised"] < ours["promised"]
    assert kept(rows, "kmeans", waves=0.0)["missed"] > ours["missed"]


def test_where_the_rule_fails_is_what_the_docstring_says() -> None:
    """Overlapping groups, a table of them, and those in a corner of the box; it holds where groups
    stand apart and fill it, on other laws too.
    """
    told = ARCHIVE["summary"]
    assert 0.2 < told["by separation"]["2"]["missed"] < 1 / 3
    assert told["by law"]["corner"]["missed"] > 0.5
    assert max(told["by separation"][apart]["missed"] for apart in ("6", "20")) < 0.1
    assert told["by law"]["breast cancer"]["missed"] > 0.5
    rest = {law: one["missed"] for law, one in told["by law"].items() if one["promised"]}
    assert max(rest[law] for law in rest.keys() - {"corner", "breast cancer"}) < 0.12


def test_a_map_says_when_it_was_measured(tmp_path: Path) -> None:
    """Kills an archive without a day or a commit, and an entry that is lost beside them."""
    write(tmp_path / "map.json", '{\n"seed": 0,\n"rows": []\n}\n')
    told = json.loads((tmp_path / "map.json").read_text("utf-8"))
    assert {"date", "commit", "versions", "seconds"} <= told.pop("measured").keys()
    assert told == {"seed": 0, "rows": []}
