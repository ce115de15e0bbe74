"""Trials: the same numbers for every number of workers and backend; errors that name the trial."""

from __future__ import annotations

import io
import pickle
import sys

import joblib
import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, mean_and_se, quantile_band, run_trials


def two_draws(trial: Trial) -> tuple[float, float]:
    return trial.stream("data").standard_normal(), trial.stream("noise").standard_normal()


def fails_at_three(trial: Trial) -> int:
    if trial == 3:
        raise ZeroDivisionError("the denominator vanished")
    return int(trial)


def expected(n: int, seed: int = 5) -> list[tuple[float, float]]:
    return [
        (
            stream(seed, "t", "data", k).standard_normal(),
            stream(seed, "t", "noise", k).standard_normal(),
        )
        for k in range(n)
    ]


def test_trial_is_an_integer_with_the_streams_of_its_run() -> None:
    trial = Trial(4, seed=2, name="abc")
    assert trial == 4
    assert isinstance(trial, int)
    assert list(range(9))[trial] == 4
    ours = trial.stream("public").random(3)
    np.testing.assert_array_equal(ours, stream(2, "abc", "public", 4).random(3))
    np.testing.assert_array_equal(ours, stream(2, "abc", "public", trial).random(3))


def test_trial_survives_pickling_with_its_seed_and_name() -> None:
    copy = pickle.loads(pickle.dumps(Trial(4, seed=2, name="abc")))
    assert (int(copy), copy.seed, copy.name) == (4, 2, "abc")


@pytest.mark.parametrize(
    ("n_jobs", "backend"), [(1, None), (2, "threading"), (2, "loky"), (1, "threading")]
)
def test_results_do_not_depend_on_workers_or_backend(n_jobs: int, backend: str | None) -> None:
    ours = run_trials(two_draws, 5, seed=5, name="t", n_jobs=n_jobs, backend=backend)
    assert ours == expected(5)


def test_a_longer_run_starts_with_the_shorter_one() -> None:
    assert run_trials(two_draws, 6, seed=5, name="t")[:4] == run_trials(
        two_draws, 4, seed=5, name="t"
    )


def test_another_seed_or_name_gives_other_numbers() -> None:
    base = run_trials(two_draws, 2, seed=5, name="t")
    assert run_trials(two_draws, 2, seed=6, name="t") != base
    assert run_trials(two_draws, 2, seed=5, name="u") != base


def test_unchanged_on_a_dask_cluster_of_two_processes() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.ncores()) == 2
        named = run_trials(two_draws, 5, seed=5, name="t", n_jobs=2, backend="dask")
        with joblib.parallel_config("dask"):
            ambient = run_trials(two_draws, 5, seed=5, name="t", n_jobs=None)
    assert named == expected(5)
    assert ambient == expected(5)


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, None), (2, "threading"), (2, "loky")])
def test_an_error_names_the_trial_the_run_and_the_cause(n_jobs: int, backend: str | None) -> None:
    message = r"trial 3 of 'broken' \(seed 8\) failed: ZeroDivisionError: the denominator vanished"
    with pytest.raises(RuntimeError, match=message):
        run_trials(fails_at_three, 5, seed=8, name="broken", n_jobs=n_jobs, backend=backend)


def test_progress_is_silent_unless_asked_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    quiet, asked, terminal = io.StringIO(), io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", quiet)
    run_trials(two_draws, 3, seed=0, name="bar")
    monkeypatch.setattr(sys, "stderr", asked)
    run_trials(two_draws, 3, seed=0, name="bar", progress=True, n_jobs=2, backend="threading")
    monkeypatch.setattr(sys, "stderr", terminal)
    run_trials(two_draws, 3, seed=0, name="bar")
    run_trials(two_draws, 3, seed=0, name="silent", progress=False)
    assert quiet.getvalue() == ""
    assert asked.getvalue().endswith("bar: 3/3\n")
    assert terminal.getvalue().endswith("bar: 3/3\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_trials": 0}, "n_trials must be at least 1, got n_trials=0"),
        ({"seed": -1}, "seed must be at least 0, got seed=-1"),
        ({"name": ""}, "name must be a nonempty string, got name=''"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    call = {"n_trials": 2, "seed": 0, "name": "x"} | arguments
    with pytest.raises(ValueError, match=message):
        run_trials(two_draws, **call)  # type: ignore[arg-type]


def test_mean_and_se_against_the_formula_along_either_axis() -> None:
    values = stream(0, "test-trials", "data").normal(size=(7, 3))
    mean, se = mean_and_se(values)
    by_hand = np.sqrt(((values - values.mean(0)) ** 2).sum(0) / 6 / 7)  # 6: kills ddof=0
    np.testing.assert_allclose(mean, values.sum(0) / 7, rtol=1e-14)
    np.testing.assert_allclose(se, by_hand, rtol=1e-13)
    other = mean_and_se(values.T, axis=1)
    np.testing.assert_allclose(other.se, se, rtol=1e-14)
    np.testing.assert_allclose(other.mean, mean, rtol=1e-14)


def test_quantile_band_leaves_out_equal_tails() -> None:
    band = quantile_band(np.arange(101.0), coverage=0.9)
    np.testing.assert_allclose([band.low, band.median, band.high], [5.0, 50.0, 95.0], rtol=1e-12)
    assert quantile_band([3.0]).median == 3.0


def test_summaries_refuse_too_few_or_broken_values() -> None:
    with pytest.raises(ValueError, match="values must hold at least 2 trials"):
        mean_and_se([1.0])
    with pytest.raises(ValueError, match="values must be finite"):
        mean_and_se([1.0, np.nan])
    with pytest.raises(ValueError, match="axis must be one of 1 axes, got axis=1"):
        mean_and_se([1.0, 2.0], axis=1)
    with pytest.raises(ValueError, match="coverage must be in"):
        quantile_band([1.0, 2.0], coverage=1.0)


def test_runs_summarise_each_method_over_its_repetitions() -> None:
    """Kills a summary along another axis, and a standard error without the root of T."""
    values = np.arange(12.0).reshape(4, 3) ** 2
    runs = Runs({"a": values, "b": values[::-1] + 1.0})
    assert runs.repeats == 4
    np.testing.assert_allclose(runs.mean("a"), values.sum(axis=0) / 4)
    np.testing.assert_allclose(runs.se("a"), values.std(axis=0, ddof=1) / 2)
    np.testing.assert_allclose(runs.median("a"), (values[1] + values[2]) / 2)
    low, high = runs.band("a", coverage=0.5)[1:]
    np.testing.assert_allclose([low, high], np.quantile(values, [0.25, 0.75], axis=0))
    with pytest.raises(ValueError, match=r"method must be one of \['a', 'b'\], got method='c'"):
        runs.of("c")


def test_gap_is_paired() -> None:
    """Kills a standard error that adds the variances of two methods of the same trials."""
    shared = np.array([0.0, 10.0, 20.0])
    runs = Runs({"a": shared + np.array([1.0, 2.0, 3.0]), "b": shared})
    gap = runs.gap("a", "b")
    np.testing.assert_allclose([gap.mean, gap.se], [2.0, 1 / np.sqrt(3)])
