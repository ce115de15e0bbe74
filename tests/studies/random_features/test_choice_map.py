"""The map of private regressions: its laws, its exact errors against draws, its sensitivities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.maps import random_features, random_features_off_grid, random_features_solutions
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._certified_ridge import balanced_penalty
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.linear.objective import objective_noise
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from tests.archives import archived
from tests.studies.agreement import parted

ARCHIVE = archived("random_features_choice")


@pytest.mark.parametrize("shape", random_features.SHAPES)
def test_targets_fill_a_good_part_of_their_bounds(shape: str) -> None:
    """10^5 draws: the deviation is within 0.05 of 0.4, which one draw in 10^9 would miss by chance;
    kills a forgotten factor. Nothing leaves the bounds but rare sums of bends.
    """
    rng = stream(0, f"dprf-choice-target-{shape}", "data")
    for d in (2, 5, 20):
        values = random_features.target(shape, rng.uniform(-1, 1, (100_000, d)), rng)
        assert float(values.std()) == pytest.approx(0.4, abs=0.05)
        assert float(np.mean(np.abs(values) > 1.0)) < 0.02


def _example(
    n: int = 400, d: int = 2, count: int = 8
) -> tuple[random_features_solutions._Waves, np.ndarray]:
    rng = stream(0, "dprf-choice-example", "data")
    X, y, test, truth = random_features.draw(random_features.Law(n, d, "smooth"), rng, 50)
    omega = random_frequencies(d, count, gamma=0.5, rng=rng)
    rows, tests = cos_sin_features(X, omega), cos_sin_features(test, omega)
    public = cos_sin_features(rng.uniform(-1, 1, (3000, d)), omega)
    return random_features_solutions._Waves(rows.T @ rows, rows.T @ y, tests, truth, public), rows


def test_exact_errors_are_those_of_draws() -> None:
    """4,000 draws of noise: relative standard error of a mean square of 16 coordinates at most
    sqrt(2 / 4000); 6 of them, one alarm in 10^8. Kills a square too few.
    """
    waves, _ = _example()
    alpha = 5.0
    bias, spread = waves.penalised(np.array([alpha]))
    matrix = waves.gram + alpha * np.eye(len(waves.gram))
    fit = np.linalg.solve(matrix, waves.moment)
    assert bias[0] == pytest.approx(float(np.mean((waves.test @ fit - waves.truth) ** 2)))
    z = stream(0, "dprf-choice-draws", "noise").standard_normal((4000, len(fit)))
    drawn = float(np.mean((waves.test @ np.linalg.solve(matrix, z.T)) ** 2))
    assert drawn == pytest.approx(float(spread[0]), rel=6 * math.sqrt(2 / 4000))


def test_a_shaped_penalty_is_the_identity_in_its_own_waves() -> None:
    """Kills a root on one side, and a norm that is not the largest."""
    waves, _ = _example()
    changed, longest = waves.shaped(0.9)
    p = len(waves.gram)
    expected = waves.public.T @ waves.public / len(waves.public)
    penalty = 0.1 * np.eye(p) + 0.9 * p * expected
    fit = np.linalg.solve(waves.gram + 3.0 * penalty, waves.moment)
    alike = np.linalg.solve(changed.gram + 3.0 * np.eye(p), changed.moment)
    np.testing.assert_allclose(changed.test @ alike, waves.test @ fit, atol=1e-9)
    norms = np.einsum("ij,ji->i", waves.public, np.linalg.solve(penalty, waves.public.T))
    assert longest == pytest.approx(float(norms.max()))


def test_ridge_of_the_map_is_that_of_the_estimator() -> None:
    waves, _ = _example()
    unit = float(gaussian_sigma(epsilon=1.0, delta=random_features.DELTA))
    alpha = balanced_penalty(400, len(waves.gram), unit, "record")
    bias, _ = waves.penalised(np.array([alpha]))
    moved = record_sensitivity(alpha=alpha, label_bound=1.0, n_records=400)
    found = random_features_solutions.solutions(waves, 400, 1.0)
    assert found["ridge"] == pytest.approx(float(bias[0]) + (unit * moved) ** 2)
    assert found["clipped*"] < found["ridge*"] <= found["ridge"]


def _huber_fit(rows: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    def loss(c: np.ndarray) -> float:
        r = np.abs(rows @ c - y)
        huber = np.where(r <= 1.0, r * r / 2.0, r - 0.5)
        return float(np.sum(huber) + alpha * (c @ c) / 2.0)

    return np.asarray(minimize(loss, np.zeros(3), tol=1e-12).x)


def test_clipped_residuals_move_by_two_over_the_penalty_at_most() -> None:
    """Fits of Huber's loss to neighbours, a record replaced by its opposite: the bound holds and
    is half reached; kills a forgotten factor 2 in either direction.
    """
    rng = stream(0, "dprf-choice-huber", "data")
    alpha, largest = 4.0, 0.0
    for _ in range(20):
        rows = rng.standard_normal((6, 3))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        y = rng.choice([-5.0, 5.0], 6)
        first, second = (_huber_fit(rows, np.append(s, y[1:]), alpha) for s in (5.0, -5.0))
        largest = max(largest, float(np.linalg.norm(first - second)))
    assert 0.9 * 2.0 / alpha < largest <= 2.0 / alpha * (1 + 1e-4)


def test_errors_of_clipped_and_shaped_fits_and_of_perturbed_objectives() -> None:
    """By hand at each penalty, the best of them: kills half of a sensitivity, a deviation for a
    variance, a row's length forgotten, and a Jacobian that costs nothing.
    """
    waves, _ = _example()
    unit = float(gaussian_sigma(epsilon=1.0, delta=random_features.DELTA))
    p = len(waves.gram)
    alphas = [*random_features_solutions._ALPHAS, balanced_penalty(400, p, unit, "record")]
    clipped, objective, shaped = [], [], []
    for alpha in map(float, alphas):
        inverse = np.linalg.inv(waves.gram + alpha * np.eye(p))
        bias = float(np.mean((waves.test @ inverse @ waves.moment - waves.truth) ** 2))
        clipped.append(bias + 4.0 * unit**2 / alpha**2)
        cost = math.log(1.0 + 1.0 / alpha)
        if cost < 0.9:
            level = objective_noise(
                epsilon=1.0, delta=random_features.DELTA, data_norm=1.0, jacobian=cost
            )
            moved = float(np.mean(np.sum((waves.test @ inverse) ** 2, 1)))
            objective.append(bias + level**2 * moved)
        for share in (0.5, 0.9, 0.99):
            changed, longest = waves.shaped(share)
            fit = np.linalg.solve(changed.gram + alpha * np.eye(p), changed.moment)
            bias = float(np.mean((changed.test @ fit - changed.truth) ** 2))
            lengths = np.linalg.norm(changed.test, axis=1) ** 2
            shaped.append(bias + 4.0 * unit**2 / alpha**2 * longest * float(lengths.mean()))
    found = random_features_solutions.solutions(waves, 400, 1.0)
    told = [found[f"{name}*"] for name in ("clipped", "shaped", "objective")]
    assert told == [pytest.approx(min(x), rel=1e-8) for x in (clipped, shaped, objective)]


@pytest.mark.weekly
def test_the_archive_is_what_the_map_computes() -> None:
    """One law of it and one table again: kills another budget, width, norm, noise or unit.

    The noise is another draw than when they were archived. False alarm 1e-4.
    """
    law = random_features.Law(300, 2, "bends", 0.1)
    rows = random_features_solutions.cells(law, random_features.TRIALS[300], seed=ARCHIVE["seed"])
    for row in rows:
        facts = {"n": 300, "d": 2, "shape": "bends", "fill": 0.1, "epsilon": row["epsilon"]}
        (told,) = (one for one in ARCHIVE["cells"] if facts.items() <= one.items())
        errors, trials = (row["se"], told["se"]), random_features.TRIALS[300]
        assert not len(parted(row["errors"], told["errors"], errors, trials=trials))
    for case in (
        random_features_off_grid.OFF_GRID[0],
        random_features_off_grid.OFF_GRID[5],
    ):  # correlated columns, and a table that comes along
        again = random_features_off_grid.off_grid(
            case, 3.0, random_features_off_grid.OFF_TRIALS, seed=ARCHIVE["seed"]
        )
        facts = {**case._asdict(), "epsilon": 3.0}
        (told,) = (one for one in ARCHIVE["cases"] if facts.items() <= one.items())
        errors = tuple(np.ravel(row["se"]) for row in (again, told))
        means = tuple(np.ravel(row["mean"]) for row in (again, told))
        assert not len(parted(*means, errors, trials=told["trials"]))


def test_records_off_the_grid_are_scaled_and_new() -> None:
    """Kills tests on records that were learnt from, and noise that fills other bounds."""
    for case in random_features_off_grid.OFF_GRID:
        if case.data in ("medical", "wine"):
            continue
        X, y, test, truth = random_features_off_grid.records_of(
            case, stream(0, "dprf-choice-off", "data")
        )
        assert X.shape == (case.n, case.d)
        assert len(test) == len(truth) > 100
        assert np.abs(X).max() <= 1.0 + 1e-12
        assert np.abs(y).max() <= 1.0
        assert not {tuple(row) for row in X} & {tuple(row) for row in test} or case.data == "steps"
        if case.data != "diabetes":
            spread = float(np.std(truth))
            assert spread == pytest.approx(0.4 * case.fill, rel=0.1)
            # label noise is half the signal's deviation, up to clips: 5 deviations at 1000 records
            assert float(np.std(y)) == pytest.approx(1.118 * spread, rel=0.15)
        else:
            assert X.min() < -0.5 < 0.5 < X.max()


def test_a_cell_is_reproduced_and_complete() -> None:
    law = random_features.Law(300, 2, "bends", 0.1)
    assert law in set(random_features_solutions.laws())
    assert {one.n for one in random_features_solutions.laws()} == random_features.TRIALS.keys()
    first, second = (
        random_features_solutions.cells(random_features.Law(60, 2, "bends"), 2, seed=3)
        for _ in range(2)
    )
    assert first == second
    assert all(
        len(row["errors"]) == len(random_features.METHODS) and None not in row["errors"]
        for row in first
    )
