"""Fits of additive models against those of DP-EBM, at equal public facts, in processor seconds.

DP-EBM asks for an older scikit-learn than this package and is given an environment of its own, as
``benchmarks.archive_rivals`` makes it (pip needs a registry); it fits in a process that waits for
its turn. Ten columns in [0, 1], epsilon 1 and delta 1e-6, defaults of both; the target is 1, as
many seconds, at every number of records. DP-EBM has no more than two classes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SIZES, N_COLUMNS, REPEATS = (1_000, 10_000, 100_000), 10, 3
TOLD: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "random_state": 1}
BOUNDS = (-1.0, 3.0)


def records(task: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records, and numbers or two classes: the same in both processes."""
    rng = np.random.default_rng(n)
    X = rng.uniform(0.0, 1.0, (n, N_COLUMNS))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, y.clip(*BOUNDS) if task == "regression" else (y > np.median(y)).astype(int)


def ours(task: str) -> Any:
    """Return the model of this package."""
    from dplit import PrivateAdditiveClassifier, PrivateAdditiveRegressor

    if task == "regression":
        return PrivateAdditiveRegressor(box=(0.0, 1.0), bounds=BOUNDS, **TOLD)
    return PrivateAdditiveClassifier(box=(0.0, 1.0), classes=(0, 1), **TOLD)


def theirs(task: str) -> Any:
    """Return DP-EBM, in its own environment."""
    from interpret import privacy

    public = {
        "feature_types": ["continuous"] * N_COLUMNS,
        "privacy_bounds": dict.fromkeys(range(N_COLUMNS), (0.0, 1.0)),
        "n_jobs": 1,
    }
    if task == "regression":
        ends = {"privacy_target_min": BOUNDS[0], "privacy_target_max": BOUNDS[1]}
        return privacy.DPExplainableBoostingRegressor(**ends, **public, **TOLD)
    return privacy.DPExplainableBoostingClassifier(**public, **TOLD)


def seconds(model: Any, task: str, n: int) -> float:
    """Return the processor's seconds of a fit."""
    X, y = records(task, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(X, y)
    return time.process_time() - start


def wait() -> None:
    """Fit DP-EBM for every line that is read, and print its seconds."""
    for line in sys.stdin:
        task, n = line.split()
        print(seconds(theirs(task), task, int(n)), flush=True)


def run() -> list[dict[str, Any]]:
    """Return a row for each task and size."""
    from benchmarks.archive_rivals import environment

    found = []
    with tempfile.TemporaryDirectory() as held:
        command = [environment(Path(held)), __file__, "wait"]
        told = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **told) as rival:  # type: ignore[call-overload]
            for task in ("regression", "classification"):
                for n in SIZES:
                    times = []
                    for _ in range(REPEATS + 1):
                        print(task, n, file=rival.stdin, flush=True)
                        peer = float(rival.stdout.readline())
                        times.append((seconds(ours(task), task, n), peer))
                    mine, other = np.array(times[1:]).T  # the first warms both
                    found.append(
                        {
                            "name": f"additive {task} (n={n:.0e}, d={N_COLUMNS})",
                            "ours": type(ours(task)).__name__,
                            "peer": "DP-EBM",
                            "ours_seconds": float(np.median(mine)),
                            "peer_seconds": float(np.median(other)),
                            "ratio": float(np.median(other) / np.median(mine)),
                            "ratio_min": float((other / mine).min()),
                            "ratio_max": float((other / mine).max()),
                            "target": 1.0,
                        }
                    )
            rival.stdin.close()
    return found


if __name__ == "__main__":
    wait()
