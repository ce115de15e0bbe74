"""Second moments of a folder of Parquet files against pyarrow's own reading of the same columns.

Both read ten columns of numbers and one of labels, float64 as pyarrow writes them (Snappy), 2^20
records a file, as many as its groups of rows have; ours clips, rounds and adds them besides. The
first peer reads them into a table, the second in batches that it drops, the least that anybody who
reads can do. In seconds of the processor on one thread of BLAS, interleaved, medians of five; some
3 records in 100 are clipped.

``python -m benchmarks.bench_folder 50000000`` does it for as many records and prints the peak
memory of a process that summarises the folder, which is not a matter of the machine; then seconds
of the clock of one process, of two of dask's workers, and of these through dask.dataframe.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import row, table
from dplit import SufficientStatisticsRegressor
from dplit.streams import stream
from dplit.tables.summaries import summarise

N_SAMPLES, N_COLUMNS, FILE_ROWS = 1_000_000, 10, 1 << 20
REPEATS = 5
NAMES = [f"x{j}" for j in range(N_COLUMNS)]
MODEL = SufficientStatisticsRegressor(data_norm=4.5, bounds=(-10.0, 10.0))


def write(folder: Path, n_records: int) -> None:
    """Write a folder of Parquet files of normal records."""
    import pyarrow as pa
    from pyarrow import parquet

    for k, start in enumerate(range(0, n_records, FILE_ROWS)):
        rng = stream(0, "bench-folder", "data", k)
        columns = rng.standard_normal((N_COLUMNS + 1, min(FILE_ROWS, n_records - start)))
        columns[-1] += columns[:-1].sum(axis=0)
        file = dict(zip([*NAMES, "y"], columns, strict=True))
        parquet.write_table(pa.table(file), folder / f"part-{k:05}.parquet")


def ours(folder: Path) -> None:
    """Summarise the folder."""
    summarise(folder, MODEL, columns=NAMES, target="y")


def whole(folder: Path) -> None:
    """Read the columns of each file into a table."""
    from pyarrow import parquet

    for file in sorted(folder.glob("*.parquet")):
        parquet.read_table(file, columns=[*NAMES, "y"])


def streamed(folder: Path) -> None:
    """Read the columns in batches, from files that are mapped, and drop them."""
    from pyarrow import parquet

    for name in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(name, memory_map=True, pre_buffer=False) as file:
            for _ in file.iter_batches(columns=[*NAMES, "y"], use_threads=False):
                pass


def _seconds(call: Callable[[Path], None], folder: Path) -> float:
    start = time.process_time()
    call(folder)
    return time.process_time() - start


def _peak(folder: Path, told: Any, summarises: bool) -> None:
    if summarises:
        with threadpool_limits(1, user_api="blas"):
            ours(folder)
    status = Path("/proc/self/status").read_text(encoding="ascii")  # Linux's, since the start
    told.put(int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024)


def peak_memory(folder: Path, *, summarises: bool = True) -> int:
    """Bytes that a process of its own holds at most that summarises the folder, or only starts."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = context.Process(target=_peak, args=(folder, told, summarises))
    process.start()
    found = int(told.get())
    process.join()
    return found


def compare(folder: Path, n_records: int, repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Return the two rows of a folder."""
    times = []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(repeats + 1):
            times.append([_seconds(call, folder) for call in (ours, whole, streamed)])
    mine, *others = np.array(times[1:]).T  # the first warms the files
    peers = ("pyarrow: read_table", "pyarrow: iter_batches")
    return [
        {
            "name": f"moments of a folder (n={n_records:.0e}, d={N_COLUMNS})",
            "ours": "summarise(folder)",
            "peer": peer,
            "ours_seconds": float(np.median(mine)),
            "peer_seconds": float(np.median(theirs)),
            "ratio": float(np.median(theirs) / np.median(mine)),
            "ratio_min": float((theirs / mine).min()),
            "ratio_max": float((theirs / mine).max()),
            "target": target,
        }
        for peer, theirs, target in zip(peers, others, (0.5, None), strict=True)
    ]


def by_dask(folder: Path, repeats: int = 3) -> dict[str, float]:
    """Seconds of the clock at best: one process, and two workers of one thread each.

    The workers read the files themselves, or dask reads them into frames of pandas; or it reads
    only, which no use of it can undercut. Client and scheduler have the same processors.
    """
    import dask
    import dask.dataframe as frames
    from dask.distributed import Client, LocalCluster

    facts: dict[str, Any] = {"columns": NAMES, "target": "y"}
    table = frames.read_parquet(folder, columns=[*NAMES, "y"], split_row_groups=True)
    calls: dict[str, Callable[[], Any]] = {
        "one process": lambda: ours(folder),
        "two workers": lambda: summarise(folder, MODEL, **facts, distributed=True),
        "two workers, dask.dataframe": lambda: summarise(table, MODEL, **facts),
        "two workers, dask.dataframe, read only": lambda: dask.compute(
            *[dask.delayed(len)(part) for part in table.to_delayed()]
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster), threadpool_limits(1, user_api="blas"):
        for _ in range(repeats + 1):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                found[name].append(time.perf_counter() - start)
    return {name: min(times[1:]) for name, times in found.items()}  # the first starts workers


def run(n_records: int = N_SAMPLES) -> list[dict[str, Any]]:
    """Return two rows: against a table, and against batches that nobody looks at."""
    with tempfile.TemporaryDirectory() as held:
        write(Path(held), n_records)
        return compare(Path(held), n_records)


def main() -> None:
    """Measure speed and memory of a folder of a given number of records."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_folder")
    parser.add_argument("n_records", nargs="?", type=int, default=N_SAMPLES)
    n = parser.parse_args().n_records
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        write(folder, n)
        rows = compare(folder, n, REPEATS if n <= 5_000_000 else 1)
        print(table([row(result) for result in rows]))
        print(f"records a second: {n / rows[0]['ours_seconds']:.3g}")
        start, peak = peak_memory(folder, summarises=False), peak_memory(folder)
        print(f"peak memory of a process: {peak / 1e6:.0f} MB, {start / 1e6:.0f} MB at its start")
        told = by_dask(folder)
    for name, seconds in told.items():
        print(f"{name}: {seconds:.2f} s, {told['one process'] / seconds:.2f} times as fast as one")


if __name__ == "__main__":
    main()
