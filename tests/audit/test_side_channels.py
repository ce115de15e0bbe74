"""The tool for side channels: silent on a clean release, loud on each planted fault.

Every seed is fixed; with a fresh one a null control would raise a false alarm with probability at
most 1e-4, and a planted fault would be missed with less, unless its test says otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dplit import audit
from dplit._checks import as_numbers
from dplit.streams import stream

PAIRS = {
    relation: audit.nasty_pairs(2, relation=relation, labels=1.0, sizes=(129,))
    for relation in ("replace_one", "add_remove", "replace_entry")
}


#: Enough for what is planted below.
FEW = ("an ordinary record among", "1e308 in all", "129 records: an", "label 1e", "equal labels")


def look(
    release: Any, *, relation: str = "replace_one", every: bool = False, **options: Any
) -> audit.SideChannelReport:
    """Run the tool on every pair, or on few of them."""
    pairs = [pair for pair in PAIRS[relation] if every or pair.name.startswith(FEW)]
    options = {"noised": ("mean",), "epsilon": 1.0, "pilot": 2, "runs": 60} | options
    return audit.side_channels(release, pairs, rng=stream(0, "side-channels", "noise"), **options)


def channels(report: audit.SideChannelReport) -> set[str]:
    return {finding.channel for finding in report.findings if finding.violated}


class Mean(NamedTuple):
    """A private mean with what else is released."""

    mean: Any
    extra: Any = None


def clean(data: Any, rng: np.random.Generator) -> Mean:
    """Clipped mean with noise for a public number of records."""
    labels = np.clip(data[1], -1.0, 1.0)
    return Mean(np.atleast_1d(labels.mean() + rng.laplace(scale=2.0 / len(labels))))


def planted(fault: Callable[[Any, np.random.Generator], Any]) -> Callable[..., Mean]:
    """The clean release with one more attribute (or an effect) computed by ``fault``."""

    def release(data: Any, rng: np.random.Generator) -> Mean:
        return Mean(clean(data, rng).mean, fault(data, rng))

    return release


# --- pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", PAIRS)
@pytest.mark.parametrize("labels", [None, 2.0, (0, 1), ("a", "b")])
def test_pairs_are_neighbours_finite_and_always_the_same(relation: str, labels: Any) -> None:
    """Each pair checks itself; here again by counting, and that all kinds are there."""
    first, second = (
        audit.nasty_pairs(3, relation=relation, labels=labels, norm=2.0) for _ in range(2)
    )
    assert len({pair.name for pair in first}) == len(first) >= 33
    for pair, again in zip(first, second, strict=True):
        for one, two in zip(
            (*pair.data, *pair.neighbour), (*again.data, *again.neighbour), strict=True
        ):
            np.testing.assert_array_equal(one, two)
        assert all(np.isfinite(part).all() for part in pair.data if part.dtype.kind == "f")
        n, m = len(pair.data[0]), len(pair.neighbour[0])
        assert n - m == (relation == "add_remove")
        assert m >= 1
        if relation == "replace_entry":
            assert np.count_nonzero(pair.data[0] != pair.neighbour[0]) == 1
            assert all(map(np.array_equal, pair.data[1:], pair.neighbour[1:]))
    plain = [pair.data[0] for pair in first if pair.data[0].dtype == np.float64]
    kinds = [pair.data[0].dtype for pair in first if pair.data[0].dtype != np.float64]
    assert kinds == [np.dtype(object), np.dtype(np.longdouble)]
    rows = np.concatenate(plain)
    lengths = np.linalg.norm(np.clip(rows, -9.0, 9.0), axis=1)
    assert {1e308, -1e308, 5e-324, 0.0} <= set(rows.ravel())
    assert 2.0 in (rows if relation == "replace_entry" else lengths)
    assert {2, 129, 2049} <= {len(pair.data[0]) for pair in first}
    assert (relation == "add_remove") != (1 in {len(pair.data[0]) for pair in first})


@pytest.mark.parametrize(
    ("relation", "data", "other"),
    [
        ("add_remove", [[1.0], [2.0], [3.0]], [[1.0], [4.0]]),  # one lacks and one is other
        ("add_remove", [[1.0], [2.0]], [[1.0], [2.0]]),
        ("add_remove", [[1.0]], np.zeros((0, 1))),
        ("replace_one", [[1.0], [2.0]], [[3.0], [4.0]]),
        ("replace_one", [[1.0], [2.0]], [[1.0], [2.0]]),
        ("replace_one", [[1.0], [2.0]], [[1.0]]),
        ("replace_entry", [[1.0, 2.0]], [[3.0, 4.0]]),
    ],
)
def test_a_pair_that_is_none_is_refused(relation: Any, data: Any, other: Any) -> None:
    with pytest.raises(ValueError, match=f"'made up' must be neighbours under {relation}"):
        audit.NeighbourPair("made up", relation, (np.array(data),), (np.array(other),))


def test_labels_are_public_where_entries_are_protected() -> None:
    X, y, z = np.ones((2, 1)), np.zeros(2), np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="must be neighbours"):
        audit.NeighbourPair("labels", "replace_entry", (X, y), (X, z))
    assert audit.NeighbourPair("labels", "replace_one", (X, y), (X, z)).name == "labels"


# --- null controls ---------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["replace_one", "replace_entry"])
def test_a_clean_release_is_silent(relation: str) -> None:
    report = look(clean, relation=relation, every=True)
    assert not report.findings
    assert not report.violated
    assert not report.n_raised
    assert "nothing tells them apart" in str(report)


class MeanEstimator(BaseEstimator):
    """A clean estimator, and one that keeps what it was told to keep."""

    def __init__(self, keep: str = "nothing", random_state: Any = None) -> None:
        self.keep = keep
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MeanEstimator:
        X = as_numbers("X", X)  # some pairs hold numbers beyond the floats
        rng = np.random.default_rng(self.random_state)
        self.directions_ = rng.standard_normal(3)  # public randomness: equal seeds, equal numbers
        self.mean_ = clean((X, y), rng).mean
        with np.errstate(all="ignore"):
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            kept = {
                "nothing": None,
                "n_iter_": int((y > 0).sum()),
                "rows": X[1:].copy(),
                "single": X.astype(np.float32),
                "unit": [{"deep": unit}],
                "centred": y - y.mean(),
                "view": np.concatenate([self.mean_, X.ravel()])[:1],
                "one number": float(y[-1]),
            }
        self.state_ = kept[self.keep]
        return self


def test_a_clean_estimator_is_silent_and_its_public_randomness_is_no_leak() -> None:
    report = look(MeanEstimator(), noised=("mean_",), every=True)
    assert not report.findings, str(report)


def test_an_event_that_noise_covers_is_counted_and_allowed() -> None:
    """A warning of probability .73 against .5 has epsilon 0.61; the counts must not refute 1.

    They are seen to differ: counts of 40 runs a side are equal with probability .1 at one pair.
    """

    def release(data: Any, rng: np.random.Generator) -> Mean:
        total = np.sign(np.clip(data[0][:, 0], -1.0, 1.0)).sum()
        if total + rng.laplace(scale=2.0) > 0.0:
            warnings.warn("the sum is positive", stacklevel=2)
        return Mean(np.zeros(1))

    report = look(release, pilot=40, runs=200)
    assert {finding.channel for finding in report.findings} >= {"warnings"}
    assert not report.violated, str(report)
    assert look(release, pilot=40, runs=400, epsilon=0.0, confidence=0.5).violated


# --- planted faults --------------------------------------------------------------------------


def complain(data: Any, _: Any) -> None:
    if np.abs(data[0]).max() > 1e100:
        raise FloatingPointError("the largest record is too large")


def tell_distance(data: Any, _: Any) -> None:
    raise RuntimeError(f"certified distance {np.abs(np.clip(data[0], -1.0, 1.0)).sum():.3g}")


def warn(data: Any, _: Any) -> None:
    if len(np.unique(data[1])) == 1:
        warnings.warn("one label only", RuntimeWarning, stacklevel=2)


def give_up(data: Any, rng: np.random.Generator) -> None:
    if rng.random() < (0.9 if np.abs(data[0]).max() > 1e100 else 0.1):
        raise RuntimeError("no proposal was accepted")


def overflow(data: Any, _: Any) -> None:
    np.sum(data[0] ** 2)  # NumPy warns where a record is huge


def later_line(data: Any, _: Any) -> None:
    if data[1][0] > 0.0:
        raise ValueError("refused")
    raise ValueError("refused")


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "an exception": (complain, "raises"),
    "a give-up": (give_up, "raises"),
    "a warning": (warn, "warnings"),
    "a text": (lambda data, _: warnings.warn(f"{data[1][0] > 0}", stacklevel=2), "warning texts"),
    "an overflow": (overflow, "warnings"),
    "a print": (lambda data, _: print(data[1].max() > 1.0), "printed"),
    "standard error": (lambda data, _: print(data[1].max() > 1.0, file=sys.stderr), "printed"),
    "a count": (lambda data, _: int((data[1] > 0.0).sum()), "attribute extra"),
    "a bound from data": (lambda data, _: np.abs(data[0]).max(), "attribute extra"),
    "a bound with other noise": (
        lambda data, rng: np.abs(data[0]).max() * rng.random(),
        "attribute extra",
    ),
    "a dtype": (
        lambda data, _: np.zeros(2, np.float64 if np.abs(data[0]).max() > 1e30 else np.float32),
        "attribute extra",
    ),
    "a shape": (lambda data, _: np.zeros(len(np.unique(data[0]))), "attribute extra"),
    "a memory order": (
        lambda data, _: np.zeros((2, 2), order="F" if data[1][0] > 0 else "C"),
        "attribute extra",
    ),
    "a type": (lambda data, _: [] if data[1][0] > 0 else (), "attribute extra"),
    "a key": (lambda data, _: {str(data[1][0] > 0): 1}, "attributes"),
    "a generator's state": (
        lambda data, rng: rng.random(int(data[1][0] > 0)) is None or rng,
        "attribute extra.state",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_where_it_is(name: str) -> None:
    fault, channel = FAULTS[name]
    more = {"pilot": 12, "runs": 200} if name == "a give-up" else {}
    found = channels(look(planted(fault), **more))
    assert any(one.startswith(channel) for one in found), found


def test_a_number_in_a_text_is_found_even_if_it_never_comes_back() -> None:
    """Pairs that always raise are told apart by the text."""

    def release(data: Any, rng: np.random.Generator) -> Mean:
        return clean(data, rng) if len(data[0]) == 129 else tell_distance(data, rng)  # type: ignore[return-value]

    report = look(release)
    assert channels(report) == {"exception", "traceback"}
    assert report.n_raised == report.n_pairs - 1
    assert not look(release, noised=("mean", "exception")).violated


def test_the_line_of_an_exception_is_seen() -> None:
    def release(data: Any, rng: np.random.Generator) -> Mean:
        return clean(data, rng) if len(data[0]) == 129 else later_line(data, rng)  # type: ignore[return-value]

    assert channels(look(release)) == {"traceback"}


def test_a_release_that_always_raises_tests_nothing() -> None:
    with pytest.raises(ValueError, match="release must return on one of"):
        look(planted(tell_distance))


def test_noise_on_an_exact_count_is_what_makes_it_private() -> None:
    """Under add_remove the number of records is private: a length in a text gives it away."""
    report = look(
        lambda data, rng: Mean(np.zeros(1), f"{len(data[0])} records"), relation="add_remove"
    )
    assert channels(report) >= {"attribute extra"}


def test_an_infinite_value_of_a_noised_array_is_an_event() -> None:
    def release(data: Any, rng: np.random.Generator) -> Mean:
        with np.errstate(over="ignore"):
            return Mean(np.square(data[0]).sum(axis=0) + rng.laplace(scale=2.0, size=2))

    assert channels(look(release)) == {"attribute mean"}


@pytest.mark.parametrize("keep", ["rows", "single", "unit", "centred", "view", "one number"])
def test_training_values_are_found_wherever_they_are_kept(keep: str) -> None:
    """Even under a name that claims noise: nothing but the bits gives them away then."""
    report = look(MeanEstimator(keep), noised=("mean_", "state_"))
    assert "traces" in channels(report), str(report)


class Slotted:
    """Keeps records in a slot."""

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows


HIDDEN: dict[str, Callable[..., Any]] = {
    "a closure": lambda data, _: lambda: data[0],
    "a generator": lambda data, _: (row for row in data[0]),
    "a method": lambda data, _: data[0].sum,
    "a slot": lambda data, _: Slotted(data[0]),
    "an iterator": lambda data, _: iter(data[1]),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_training_values_are_found_in_what_cannot_be_pickled(name: str) -> None:
    report = look(planted(HIDDEN[name]), noised=("mean", "extra"))
    assert "traces" in channels(report)


def test_a_leaked_iteration_count_is_found() -> None:
    found = channels(look(MeanEstimator("n_iter_"), noised=("mean_",)))
    assert "attribute state_" in found


# --- routes and sums -------------------------------------------------------------------------


def waves(angles: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(angles) + 1j * np.sin(angles)])


def routed(data: Any) -> np.ndarray:
    """Sums of features of modulus 1, in single precision where the largest record lets them."""
    angles = np.clip(data[0], -1000.0, 1000.0)
    short = np.abs(angles).max() < 100.0
    return waves(angles.astype(np.float32 if short else np.float64)).sum(axis=0, dtype=complex)


def gridded(data: Any) -> np.ndarray:
    """The same on one route, on a grid where sums are exact."""
    return np.rint(waves(np.clip(data[0], -1000.0, 1000.0)) * 2.0**40).sum(axis=0) / 2.0**40


@pytest.mark.parametrize(("total", "found"), [(routed, {"distance"}), (gridded, set())])
def test_a_route_chosen_by_the_largest_record_is_found_below_the_noise(
    total: Callable[..., Any], found: set[str]
) -> None:
    """Equal seeds cancel the noise; the rounding of the other records moves the sum by 1e-8."""

    def release(data: Any, rng: np.random.Generator) -> Mean:
        return Mean(total(data) + rng.laplace(scale=2.0, size=2))

    def distance(one: Mean, other: Mean) -> float:
        return float(np.abs(one.mean - other.mean).max())

    report = look(release, relation="add_remove", distance=distance, bound=1.0 + 1e-9, every=True)
    assert channels(report) == found


def test_float_sensitivity_finds_what_blocks_in_single_precision_lose() -> None:
    """Where the first record goes all blocks shift, and round otherwise: by .001 in 100 blocks."""
    X = np.resize(2.0 * np.modf(np.arange(1, 129) * np.sqrt(2.0))[0] - 1.0, (12_801, 1))
    pairs = [audit.NeighbourPair("a pattern", "add_remove", (X,), (X[1:],))]

    def blocks(X: np.ndarray) -> Any:
        parts = np.array_split(np.cos(X).astype(np.float32), range(128, len(X), 128))
        return sum(part.sum(axis=0, dtype=np.float32) for part in parts)

    def grid(X: np.ndarray) -> Any:
        return np.rint(np.cos(X) * 2.0**20).sum(axis=0) / 2.0**20

    true = abs(np.cos(pairs[0].data[0][0, 0]))
    assert abs(audit.float_sensitivity(grid, pairs) - true) < 2.0**-21
    assert abs(audit.float_sensitivity(blocks, pairs) - true) > 5e-4


def test_float_sensitivity_knows_its_norms_and_passes_nan_on() -> None:
    pair = audit.NeighbourPair("one", "replace_one", (np.array([[3.0, 4.0]]),), (np.zeros((1, 2)),))
    values = [audit.float_sensitivity(lambda X: X, [pair], norm=norm) for norm in (1, 2, np.inf)]
    assert values == [7.0, 5.0, 4.0]
    assert np.isnan(audit.float_sensitivity(lambda X: np.where(X > 3.0, np.nan, X), [pair]))


# --- the report ------------------------------------------------------------------------------


def test_the_table_has_a_line_for_each_finding() -> None:
    report = look(planted(complain))
    lines = str(report).splitlines()
    assert len(lines) == 1 + len(report.findings)
    assert "VIOLATED" in lines[1]
    assert "FloatingPointError" in str(report)
    assert report.violated
    assert all(f.epsilon_lower > 1.0 and f.runs == 60 for f in report.findings)


def test_the_bounds_are_those_of_the_counts_shared_among_pairs_and_events() -> None:
    report = look(planted(complain), runs=100)
    first = report.findings[0]
    share = (1.0 - 0.9999) / report.n_pairs
    assert (first.hits_in, first.hits_out) in {(100, 0), (0, 100)}
    assert first.epsilon_lower == pytest.approx(
        audit.epsilon_lower_bound(100, 0, 100, confidence=1.0 - share), rel=1e-9
    )


def test_data_are_copied_and_seeds_are_equal_on_both_sides() -> None:
    def release(data: Any, rng: np.random.Generator) -> Mean:
        data[0][:] = 0.0
        return Mean(np.zeros(1), rng.random())

    assert not look(release).findings
    assert any(pair.data[0].any() for pair in PAIRS["replace_one"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"pilot": 1},
        {"runs": 0},
        {"epsilon": -1.0},
        {"delta": 1.0},
        {"confidence": 1.0},
        {"distance": 1.0},
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(wrong))} must"):
        look(clean, **wrong)
