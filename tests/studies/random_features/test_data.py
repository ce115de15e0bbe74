"""Data preparation on the papers' files and on the stand-in; duplicates counted two ways."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dplit.notebook.datasets.papers import Dataset, find_file, load_medical, load_wine
from dplit.papers.random_features.duplicates import duplicate_counts
from dplit_studies.random_features.preparation import (
    _fairness_data,
    _min_max,
    _one_hot,
    _split,
    prepare,
    sensitive_groups,
)

needs_data = pytest.mark.skipif(
    not all(map(find_file, ("insurance.csv", "winequality-red.csv", "winequality-white.csv"))),
    reason="the papers' data files are not here",
)


@pytest.fixture
def toy() -> Dataset:
    return Dataset(
        name="medical",
        source="paper",
        numeric=np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 7.0], [10.0, 9.0]]),
        numeric_names=("age", "bmi"),
        categorical={
            "sex": np.array(["male", "female", "male", "female"]),
            "smoker": np.array(["no", "no", "yes", "no"]),
        },
        target=np.array([1.0, 2.0, 5.0, 4.0]),
        target_name="charges",
        provenance="toy",
    )


@pytest.mark.claim("dprf-fig4")
def test_prepare_scales_and_encodes(toy: Dataset) -> None:
    data = prepare(toy)
    assert data.names == ("age", "bmi", "sex=female", "sex=male", "smoker=no", "smoker=yes")
    np.testing.assert_allclose(data.X[:, 0], [0, 2 / 9, 1 / 9, 1])
    np.testing.assert_allclose(data.X[:, 1], [0, 0, 0.5, 1])
    np.testing.assert_array_equal(
        data.X[:, 2:], [[0, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    )
    np.testing.assert_allclose(data.y, [0, 0.25, 1, 0.75])


@pytest.mark.claim("dprf-beyond-frontier")
def test_public_bounds_read_nothing_from_the_values(toy: Dataset) -> None:
    """Changing one record leaves the others' rows as they are; values are clipped to the bounds."""
    bounds = {"age": (0, 5), "bmi": (5, 15), "target": (0, 4)}
    data = prepare(toy, bounds=bounds)
    np.testing.assert_allclose(data.X[:, 0], [0.2, 0.6, 0.4, 1.0])
    np.testing.assert_allclose(data.X[:, 1], [0, 0, 0.2, 0.4])
    np.testing.assert_allclose(data.y, [0.25, 0.5, 1, 1])
    toy.numeric[3], toy.target[3] = (100.0, -100.0), 1e6
    other = prepare(toy, bounds=bounds)
    np.testing.assert_array_equal(other.X[:3], data.X[:3])
    np.testing.assert_array_equal(other.y[:3], data.y[:3])


@pytest.mark.claim("dprf-fig7")
def test_fairness_preparations_of_text_and_code(toy: Dataset) -> None:
    code = _fairness_data(toy, "sex")
    np.testing.assert_array_equal(code.groups, [0, 1, 0, 1])
    assert code.group_names == ("male", "female")
    np.testing.assert_allclose(code.y, [0, 0, 1, 1])
    # each group encoded on its own: the sensitive column is a constant
    np.testing.assert_array_equal(code.raw[:, 2], np.ones(4))
    np.testing.assert_array_equal(code.raw[:, :2], toy.numeric)
    np.testing.assert_allclose(code.scaled[:, 0], [0, 0, 1, 1])
    np.testing.assert_array_equal(code.scaled[:, -1], np.ones(4))
    text = _fairness_data(toy, "sex", labels="norm", scaling="joint", encoding="full")
    assert np.linalg.norm(text.y) == pytest.approx(1.0)
    np.testing.assert_allclose(text.scaled[:, 0], [0, 2 / 9, 1 / 9, 1])
    np.testing.assert_array_equal(text.raw[:, 2], [0, 1, 0, 1])
    joint = _fairness_data(toy, "smoker", labels="joint")
    np.testing.assert_allclose(joint.y, [0, 0.25, 1, 0.75])
    assert joint.group_names == ("smoker", "non-smoker")


def test_min_max_in_groups_and_constant_columns() -> None:
    scaled = _min_max([[1.0, 4.0], [3.0, 4.0], [5.0, 6.0]], groups=[0, 0, 1])
    np.testing.assert_allclose(scaled, [[0, 0], [1, 0], [0, 0]])


@needs_data
def test_the_papers_data_have_the_papers_shapes() -> None:
    medical, wine = load_medical("paper"), load_wine("paper")
    assert prepare(medical).X.shape == (1338, 11)
    assert prepare(wine, colour="red").X.shape == (1599, 11)
    assert prepare(wine, colour="white").X.shape == (4898, 11)
    assert prepare(wine).X.shape == (6497, 11)
    for feature, counts in (("sex", [676, 662]), ("smoker", [274, 1064])):
        assert np.bincount(sensitive_groups(medical, feature)[0]).tolist() == counts
    assert _fairness_data(medical, "sex").raw.shape == (1338, 10)
    assert _fairness_data(medical, "sex", encoding="full").raw.shape == (1338, 11)
    assert _fairness_data(wine, "colour").scaled.shape == (6497, 12)
    assert sensitive_groups(wine, "colour")[1] == ("red", "white")


@needs_data
def test_duplicates_of_the_papers_data() -> None:
    """Counts by numpy against counts of Python tuples; the medical data have conflicting labels."""
    medical, wine = load_medical("paper"), load_wine("paper")
    red = wine.categorical["colour"] == "red"
    X = np.column_stack([medical.numeric, _one_hot(medical)[0]])
    counts = duplicate_counts(X, medical.target)
    assert (counts.exact_duplicates, counts.duplicate_inputs) == (1, 3)
    assert counts.conflicting_inputs == 2
    for rows, exact, distinct in ((red, 240, 1359), (~red, 937, 3961), (red | ~red, 1179, 5318)):
        counts = duplicate_counts(wine.numeric[rows], wine.target[rows])
        assert counts.exact_duplicates == counts.duplicate_inputs == exact
        assert counts.distinct_inputs == distinct
        assert counts.conflicting_inputs == 0
        tally = Counter(map(tuple, wine.numeric[rows].tolist()))
        assert sum(c - 1 for c in tally.values()) == exact


def test_injected_duplicates_are_found_in_the_stand_in() -> None:
    data = load_medical("bundled")
    X, y = data.numeric.copy(), data.target.copy()
    clean = duplicate_counts(X, y)
    X[10:20] = X[0:10]
    y[10:14] = y[0:4]
    y[14:20] = y[4:10] + 1.0
    counts = duplicate_counts(X, y)
    assert clean.duplicate_inputs == 0
    assert (counts.exact_duplicates, counts.duplicate_inputs) == (4, 10)
    assert (counts.conflicting_inputs, counts.distinct_inputs) == (6, 432)


@pytest.mark.parametrize("feature", ["sex", "smoker", "colour"])
def test_stand_in_has_two_large_groups(feature: str) -> None:
    data = load_wine("bundled") if feature == "colour" else load_medical("bundled")
    groups, names = sensitive_groups(data, feature)
    assert min(np.bincount(groups)) > 150
    assert len(set(names)) == 2
    assert _fairness_data(data, feature).raw.shape[0] == 442


def test_split_is_a_partition_in_every_group() -> None:
    groups = np.repeat([0, 1], [30, 50])
    train, test = _split((3, 10), groups=groups, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(80))
    assert np.bincount(groups[test]).tolist() == [3, 10]
    assert np.all(np.diff(groups[train]) >= 0)
    again, _ = _split((3, 10), groups=groups, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(train, again)


def test_feature_of_another_data_set_is_refused(toy: Dataset) -> None:
    with pytest.raises(ValueError, match="feature must be a column of medical"):
        sensitive_groups(toy, "colour")
