"""Other people's programs that take any executor."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import as_completed

import pytest

from bursar import BudgetExecutor


@pytest.fixture
def pool(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))
    with BudgetExecutor(max_workers=2) as made:
        yield made


def square(x):
    return x * x


def test_asyncio_awaits_calls(pool):
    async def gather():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(pool, square, n) for n in range(20)))

    assert asyncio.run(gather()) == [n * n for n in range(20)]


def test_dask_computes_with_it(pool):
    dask = pytest.importorskip("dask", reason="dask is not installed")
    graph = dask.delayed(sum)([dask.delayed(square)(n) for n in range(30)])
    assert graph.compute(scheduler=pool) == sum(n * n for n in range(30))
    with dask.config.set(scheduler=pool):
        assert dask.compute(graph) == (sum(n * n for n in range(30)),)


def test_a_progress_bar_takes_futures_as_they_are_done(pool):
    futures = [pool.submit(square, n) for n in range(200)]
    seen = 0
    for done in as_completed(futures):
        seen += done.result()
    assert seen == sum(n * n for n in range(200))


def test_threads_map_at_the_same_time(pool):
    found = {}

    def work(k):
        found[k] = list(pool.map(square, range(k, k + 200)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: [n * n for n in range(k, k + 200)] for k in range(6)}


def test_arrays_travel_both_ways(pool):
    import numpy as np

    arrays = [np.full((300, 1000), n) for n in range(6)]
    sums = list(pool.map(lambda array: (array.sum(), array + 1), arrays))
    assert [int(total) for total, _ in sums] == [n * 300_000 for n in range(6)]
    assert all((more == array + 1).all() for (_, more), array in zip(sums, arrays, strict=True))
