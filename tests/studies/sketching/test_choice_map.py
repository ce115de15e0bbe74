"""The map of private clustering: its records, its measure, and that budgets reach the methods."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans

from benchmarks.maps import sketching, sketching_methods, sketching_off_grid, sketching_records
from benchmarks.maps.sketching_off_grid import draw
from dplit.advice._cluster_settings import CENTRES, ClusterFacts
from dplit.audit import ledger
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.streams import stream
from dplit_studies.trials import Trial

# so few records that methods warn of their noise
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_records_have_the_separation_that_they_are_told() -> None:
    """Deviations of centres and around them; 5 standard errors of 40,000 numbers (6e-7)."""
    facts = ClusterFacts(20_000, 2, 400, 8.0, 1.0)
    X, centres = sketching_records.law(facts, stream(0, "sketch-map-law", "data"))
    assert np.abs(X).max() <= 1.0
    assert centres.std() == pytest.approx(CENTRES, rel=5 / math.sqrt(5 * 800 / 4))
    apart = np.min(np.linalg.norm(X[:, None] - centres[None], axis=2), axis=1)
    assert np.mean(apart**2) < 2 * (CENTRES / 8.0) ** 2
    one = ClusterFacts(20_000, 2, 1, 8.0, 1.0)
    X, centres = sketching_records.law(one, stream(1, "sketch-map-law", "data"))
    assert (X - centres).std() == pytest.approx(CENTRES / 8.0, rel=5 / math.sqrt(2 * 40_000))


def test_the_reference_is_the_mean_and_k_means() -> None:
    X = np.repeat([[-0.5, 0.0], [0.5, 0.0], [0.0, 0.6]], 500, axis=0)
    one, best = sketching_records.reference(X, 3, stream(0, "sketch-map-reference", "data"))
    assert one == pytest.approx(X.var(axis=0).sum())
    assert best == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "case", sketching_off_grid.OFF_GRID, ids=lambda case: f"{case.data}-{case.d}"
)
def test_cases_are_in_the_box_and_as_separate_as_they_say(case: sketching_off_grid.Case) -> None:
    """Of tables, by k-means, to a tenth; of laws by their centres, within a factor of 1.6."""
    X = draw(case, stream(0, "sketch-map-case", "data"))
    assert X.shape == (case.n, case.d)
    assert np.abs(X).max() <= 1.0
    one, best = sketching_records.reference(X, case.k, stream(1, "sketch-map-case", "data"))
    found = math.sqrt((one - best) / best)
    tables = case.data in ("pixels", "breast cancer", "digits")
    assert found == pytest.approx(case.separation, rel=0.1 if tables else 0.6)


def test_a_cell_is_the_same_twice_and_its_methods_get_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each method's draws, composed by others, come to the cell's budget or less: kills a budget
    that stays behind when the cell changes. Sketches, Lloyd and rivals are told apart by purpose.
    """
    pytest.importorskip("dp_accounting")
    monkeypatch.setitem(sketching.TRIALS, 400, 2)
    facts, budgets = ClusterFacts(400, 2, 2, 6.0, 1.0), [(0.3, 0.0), (2.0, 0.0), (2.0, 1e-6)]
    found = sketching.cell(facts, budgets)
    assert found == sketching.cell(facts, budgets)
    assert [(row["epsilon"], row["delta"]) for row in found] == budgets
    assert all(error is not None for row in found for error in row["errors"])
    for epsilon, delta in budgets:
        told = facts._replace(epsilon=epsilon, delta=delta)
        with ledger() as book:
            X, _ = sketching_records.law(told, stream(0, "sketch-map-budget", "data"))
            sketching_methods._lloyds(X, told, 0)
        if not delta:
            assert book.epsilon() == pytest.approx(3 * epsilon, rel=1e-6)
        rngs = (stream(0, "sketch-map-released", role) for role in ("public", "noise"))
        release = sketching_methods._released(X, told, "sketch", *rngs)
        with ledger() as book:
            release(epsilon, delta)
        assert 0.98 * epsilon <= book.epsilon(delta=delta) <= epsilon * (1 + 1e-6)


def test_methods_are_told_apart_and_get_the_budget_of_their_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Arguments of every call: kills a budget of the group for the cell's, settings under another's
    name, and one setting for all.
    """
    facts = ClusterFacts(400, 2, 3, 6.0, 0.3, 1e-6)
    X, _ = sketching_records.law(facts, stream(0, "sketch-map-told", "data"))
    asked: dict[str, list[Any]] = {}

    def hears(kind: str) -> Any:
        def heard(X: Any, k: int, **told: Any) -> Any:
            assert (len(X), k, told["budget"]) == (400, 3, (0.3, 1e-6))
            assert told.get("n", 400) == 400
            own = {k: v for k, v in told.items() if k in ("finer", "threshold", "depth", "steps")}
            asked.setdefault(kind, []).append(own)
            return kind, own

        return heard

    kinds = ("grid", "hybrid", "tree", "moment", "em")
    for kind in kinds:
        monkeypatch.setattr(sketching_methods, f"{kind}_centres", hears(kind))
    rng = stream(0, "sketch-map-told", "noise")
    found = sketching_methods._rivals(X, facts, rng, rng)
    assert found == {
        "grid": ("grid", {}),
        "grid, fine": ("grid", {"finer": 2.0}),
        "EUGkM": ("grid", {"threshold": False}),
        "hybrid": ("hybrid", {}),
        **{f"tree, {depth}": ("tree", {"depth": depth}) for depth in (6, 10, 20)},
        "moments": ("moment", {}),
        "EM": ("em", {"steps": 4}),
    }
    assert sketching_methods._rivals(X, facts._replace(n=400), rng, rng) == found
    heard: list[Any] = []

    def release(epsilon: float, delta: float) -> Any:
        heard.append((epsilon, delta))
        raise LookupError

    with pytest.raises(LookupError):
        sketching_methods._sketched(facts, {"sketch": release}, 0)
    assert heard == [(0.3, 1e-6)]
    with ledger() as book:
        sketching_methods._lloyds(X, facts, 0)
    shapes = [draw.shape for draw in book if draw.purpose == "sums of the clusters"]
    assert shapes == [(9, 2)] * 4 + [(24, 2)] * 3


def test_em_has_more_steps_where_records_and_budget_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[int] = []
    for kind in ("grid", "hybrid", "tree", "moment"):
        monkeypatch.setattr(sketching_methods, f"{kind}_centres", lambda *args, **told: None)
    monkeypatch.setattr(
        sketching_methods, "em_centres", lambda *args, **told: steps.append(told["steps"])
    )
    rng = stream(0, "sketch-map-steps", "noise")
    for n, epsilon in ((10_000, 1.0), (10_001, 1.0), (1000, 100.0)):
        sketching_methods._rivals(np.zeros((4, 2)), ClusterFacts(n, 2, 2, 6.0, epsilon), rng, rng)
    assert steps == [4, 8, 8]


def test_the_error_is_0_at_k_means_and_1_at_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills an error over another gain, and a risk for an error."""
    facts = ClusterFacts(900, 2, 3, 6.0, 1.0)
    X, centres = sketching_records.law(facts, stream(0, "sketch-map-error", "data"))
    best = KMeans(3, init=centres, n_init=1).fit(X).cluster_centers_
    monkeypatch.setattr(sketching_methods, "_released", lambda *args: None)
    monkeypatch.setattr(
        sketching_methods, "_sketched", lambda *args: {"sketch": np.tile(X.mean(0), (3, 1))}
    )
    monkeypatch.setattr(sketching_methods, "_lloyds", lambda *args: {"lloyd, wide": best})
    monkeypatch.setattr(sketching_methods, "_rivals", lambda *args: {})
    trial = Trial(0, seed=0, name="sketch-map-error")
    errors = partial(sketching_methods._errors_on, X, facts, [(1.0, 0.0)], trial, centres)
    found = errors()
    assert found[0, sketching.METHODS.index("sketch")] == pytest.approx(1.0)
    assert found[0, sketching.METHODS.index("lloyd, wide")] == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(found[0]).sum() == len(sketching.METHODS) - 2
    monkeypatch.setattr(sketching_methods, "_rivals", lambda *args: {"grid": best})
    for rivals in (True, False):
        found = errors(rivals=rivals)
        assert np.isnan(found[0, sketching.METHODS.index("grid")]) == (not rivals)


def test_means_and_standard_errors_by_hand() -> None:
    runs = np.array([[0.0, 1.0, np.nan], [1.0, 1.0, np.nan], [5.0, 1.0, np.nan]])
    assert sketching._told(runs) == {
        "errors": [2.0, 1.0, None],
        "se": [float(f"{math.sqrt(7 / 3):.3g}"), 0.0, None],
    }


def test_the_reference_is_the_better_of_its_starts() -> None:
    """Thirty clusters, among which k-means from a few records gets lost: the true centres help."""
    facts = ClusterFacts(3000, 2, 30, 40.0, 1.0)
    X, centres = sketching_records.law(facts, stream(0, "sketch-map-starts", "data"))
    told = [
        sketching_records.reference(X, 30, stream(0, "sketch-map-starts", "noise"), start)[1]
        for start in (None, centres)
    ]
    true = float(sse(X, KMeans(30, init=centres, n_init=1).fit(X).cluster_centers_))
    assert told[1] == pytest.approx(min(told[0], true))
    assert told[1] < told[0]


def test_shapes_off_the_grid() -> None:
    """Kills a corner that is the box, clusters of one size, and round ones for long ones."""
    by_name = {case.data: case for case in sketching_off_grid.OFF_GRID}
    X = draw(by_name["corner"], stream(0, "sketch-map-shape", "data"))
    assert np.all(np.abs(X.mean(axis=0) + 0.5) < 0.25)
    assert X.std(axis=0).max() < 0.25
    case = by_name["unequal"]._replace(separation=100.0)
    X = draw(case, stream(0, "sketch-map-shape", "data"))
    groups_found = KMeans(case.k, n_init=10, random_state=0).fit_predict(X)
    shares = np.sort(np.bincount(groups_found) / case.n)
    assert shares[-1] > 4 * shares[0]
    case = by_name["long"]._replace(k=2, separation=50.0)
    X = draw(case, stream(0, "sketch-map-shape", "data"))
    label = KMeans(2, n_init=5, random_state=0).fit_predict(X)
    sizes = X[label == 0].std(axis=0)
    assert sizes[0] > 5 * sizes[1:].max()


def test_groups_share_records_and_cover_budgets() -> None:
    found = list(sketching.groups())
    names = [tuple(facts[:4]) for facts, _ in found]
    assert len(names) == len(set(names))
    pure = [budgets for facts, budgets in found if facts.n == 10_000 and facts[1:4] == (6, 6, 6.0)]
    assert [(e, d) for e, d in pure[0]][:3] == [(e, 0.0) for e in sketching.EPSILONS]
    assert len(pure[0]) == 6


def row(**errors: float) -> dict[str, Any]:
    """A row whose other methods lose 0.5."""
    by_name = {name.replace(" ", "_").replace(",", ""): name for name in sketching.METHODS}
    values = {by_name[name]: error for name, error in errors.items()}
    listed = [values.get(name, 0.5) for name in sketching.METHODS]
    return {**ClusterFacts(10_000, 6, 6, 6.0, 1.0)._asdict(), "errors": listed}


def test_losses_by_hand() -> None:
    """To the best that ships and to the best of all; nothing is better than one centre's 1."""
    found = row(sketch=0.3, sketch_short=0.2, grid=0.1)
    assert sketching.best_of(found) == {
        "sketch": 0.2,
        "lloyd": 0.5,
        "grid": 0.1,
        "tree": 0.5,
        "moments": 0.5,
        "EM": 0.5,
    }
    chosen, ours, all_of_them = sketching.losses(ClusterFacts(10_000, 6, 6, 6.0, 1.0), found)[
        "known"
    ]
    reached = found["errors"][sketching.METHODS.index(chosen)]
    assert (ours, all_of_them) == (round(reached - 0.2, 4), round(reached - 0.1, 4))
    hopeless = row(**dict.fromkeys(("sketch", "sketch_short", "lloyd_wide"), 3.0))
    facts = ClusterFacts(100, 60, 20, 6.0, 0.01)
    assert sketching.losses(facts, hopeless)["known"][:2] == ["none", 0.5]
    told = sketching.summary([found])["known"]
    assert told == [pytest.approx(ours)] * 2 + [pytest.approx(all_of_them)]


def test_archives_read_back() -> None:
    found = json.loads(sketching.archive([row()], [row(), row()], [row()] * 3, seed=3))
    assert found["seed"] == 3
    assert [len(found[key]) for key in ("cells", "cases", "again")] == [1, 2, 3]
    assert found["cells"][0]["best"]["sketch"] == 0.5
    assert set(found["summary"]) == {"cells", "cases"}
