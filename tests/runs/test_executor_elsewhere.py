"""Python calls on machines elsewhere, through the same executor."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from bursar import BudgetExecutor
from bursar.runs.executor import ArgumentError


def test_calls_run_on_machines_that_dask_carries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))
    factor = 3
    with BudgetExecutor(max_workers=2, on="dask") as pool:
        assert list(pool.map(lambda number: number * factor, range(200))) == [
            number * 3 for number in range(200)
        ]
        where = pool.submit(os.getcwd).result()
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
    assert where.startswith(str(tmp_path / "m"))
    assert not list((tmp_path / "m").iterdir())


def test_a_place_that_is_not_known_is_refused():
    with pytest.raises(ArgumentError, match="did you mean 'slurm'"):
        BudgetExecutor(on="slrum")


def test_a_scheduler_needs_a_place():
    with pytest.raises(ArgumentError, match='add on="dask"'):
        BudgetExecutor(scheduler="tcp://x:1")
