"""The kernel experiment: its data, its reproducibility, its numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from dplit.notebook.datasets import papers
from dplit.notebook.datasets.classification import CANCER_RANGES, PROBLEMS, kernel_problem
from dplit.streams import stream
from dplit_studies.margin.kernel_experiment import _BUDGETS, LIMIT, METHODS, kernel_accuracies

pytestmark = pytest.mark.claim("margin-exp-kernel")

needs_digits = pytest.mark.skipif(
    papers.find_file("mnist_t10k_4v9.npz") is None, reason="the papers' data files are not here"
)


def _problem(name, **options):
    return kernel_problem(name, rng=stream(0, "kernel-data", "data"), **options)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("moons", (3000, 2)),
        ("breast cancer", (569, 30)),
        ("digits 4/9", (361, 64)),
        ("digits 3/8", (357, 64)),
        ("digits even/odd", (1797, 64)),
    ],
)
def test_problems_have_their_sizes_and_settings(name, shape):
    problem = _problem(name)
    assert problem.X.shape == shape
    assert set(problem.y) == {-1.0, 1.0}
    assert (problem.gamma, problem.margin, problem.weight_norm) == PROBLEMS[name]
    assert np.isfinite(problem.X).all()


def test_scaling_is_row_by_row_with_public_constants():
    cancer, raw = _problem("breast cancer").X, load_breast_cancer().data
    low, high = CANCER_RANGES
    assert np.all(low < high)
    np.testing.assert_allclose(cancer[7], np.clip((2 * raw[7] - low - high) / (high - low), -1, 1))
    assert np.mean(np.abs(cancer) == 1) < 0.1
    digits, data = _problem("digits 3/8"), load_digits()
    chosen = np.isin(data.target, (3, 8))
    rows = data.data[chosen]
    np.testing.assert_allclose(digits.X, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    np.testing.assert_array_equal(digits.y, np.where(data.target[chosen] == 3, 1, -1))
    even = _problem("digits even/odd")
    np.testing.assert_array_equal(even.y, np.where(data.target % 2 == 0, 1, -1))


def test_the_stand_in_for_mnist_is_said():
    bundled = _problem("MNIST 4/9", source="bundled")
    assert bundled.source == "bundled"
    assert bundled.X.shape == (361, 64)
    np.testing.assert_allclose(np.linalg.norm(bundled.X, axis=1), 1.0)


@needs_digits
def test_the_test_digits_of_mnist():
    """1991 images of 784 pixels, each of length 1 and nonnegative, fours against nines."""
    problem = _problem("MNIST 4/9", source="auto")
    if problem.source == "paper":
        pytest.skip("the training images are here")
    assert problem.source == "test"
    assert problem.X.shape == (1991, 784)
    np.testing.assert_allclose(np.linalg.norm(problem.X, axis=1), 1.0)
    assert problem.X.min() == 0.0
    assert (problem.y == 1).sum() == 982
    assert (problem.gamma, problem.margin, problem.weight_norm) == PROBLEMS["MNIST 4/9"]


def test_accuracies_on_digits():
    """Windows of more than five standard errors over the splits."""
    methods = METHODS[1:2] + METHODS[3:]
    result = kernel_accuracies("digits 4/9", splits=5, seed=0, methods=methods)
    assert {result.of(name).shape for name in methods} == {(5, len(_BUDGETS))}
    assert result.n_train == 252
    mean = {name: result.mean(name) for name in methods}
    assert mean["D = 100"][4] == pytest.approx(0.993, abs=0.015)
    assert mean["compressed, doubled"][4] == pytest.approx(0.99, abs=0.015)
    assert mean["D = 100"][0] - mean["compressed, doubled"][0] > 0.04
    kept = result.of("compressed, kept") - result.of("compressed, doubled")
    assert kept[:, 0].mean() > 0.04  # a quarter of the noise; kills a factor that is not kept
    assert all(np.all(result.se(name) < 0.08) for name in methods)


def test_the_limit_law_gives_the_accuracies_of_many_frequencies():
    """Paired over five splits, every budget within 6 standard errors plus two records of 109.

    Kills a wrong kernel, a lost factor 2 of the clipping, and noise of another scale.
    """
    methods = (METHODS[3], LIMIT)
    result = kernel_accuracies("digits 4/9", splits=5, seed=0, methods=methods)
    gap = result.of(methods[0]) - result.of(methods[1])
    se = gap.std(axis=0, ddof=1) / math.sqrt(5)
    assert np.all(np.abs(gap.mean(axis=0)) <= 6 * se + 2 / 109)


def test_a_method_does_not_depend_on_the_others():
    both = kernel_accuracies("digits 4/9", splits=2, seed=1, methods=METHODS[:2])
    one = kernel_accuracies("digits 4/9", splits=2, seed=1, methods=METHODS[1:2])
    np.testing.assert_array_equal(both.of(METHODS[1]), one.of(METHODS[1]))
