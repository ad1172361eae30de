"""The runner whose machines are workers of a real Dask cluster keeps the contract of runners."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.dask_cluster import DaskCluster

from bursar.execute.calls import Calls
from bursar.execute.remote.clusters import GivenCluster
from bursar.execute.remote.runner import DaskRunner
from bursar.model.time import SECOND
from bursar.testing import RunnerContract
from bursar.testing.worlds import FAILING, QUICK, SLOW


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = DaskCluster(tmp_path_factory.mktemp("dask"))
    yield made
    made.close()


class OnDask(RunnerContract):
    stay = 4 * SECOND  # an agent takes a second to begin on a busy computer

    @pytest.fixture(autouse=True)
    def place(self, tmp_path, cluster):
        self.outputs, self.cluster = tmp_path / "out", cluster

    def make_calls(self):
        return None

    def make_runner(self, mark, clock):
        given = GivenCluster(mark, self.cluster.address)
        return DaskRunner(
            "contract",
            self.outputs,
            clock,
            mark,
            given,
            calls=self.make_calls(),
            grace=SECOND // 2,
        )


class TestCommandsOnDask(OnDask):
    pass


class TestCallsOnDask(OnDask):
    commands = dict.fromkeys((*QUICK, *SLOW, FAILING), ())

    def make_calls(self):
        calls = Calls()
        for task in QUICK:
            calls.add(task, time.sleep, (0,))
        for task in SLOW:
            calls.add(task, time.sleep, (60,))
        calls.add(FAILING, int, ("no number",))
        return calls
