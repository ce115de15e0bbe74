"""Worker processes on this machine, for the tests of what runs on many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def two_workers(allowed_failures: int) -> Iterator[Any]:
    """Yield a client of two worker processes of one thread, or skip without ``distributed``."""
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client
