"""Workers and schedulers of a real Dask cluster die and freeze; attempts go on, and are heard."""

from __future__ import annotations

import signal
import time
from hashlib import sha256

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.dask_cluster import DaskCluster, eventually

from bursar.engine.runner import Ended, Gone, Joined, LineChanged
from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock
from bursar.execute.remote import hub
from bursar.execute.remote.clusters import GivenCluster
from bursar.execute.remote.runner import DaskRunner
from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import MINUTE, SECOND

OFFER = Offer("machine", ZERO, slots=2)


class Drill:
    """One machine of a cluster of its own."""

    def __init__(self, directory, calls=None):
        self.cluster = DaskCluster(directory, workers=1)
        assert eventually(self.cluster.is_up, 60)
        self.clock = RunClock(0, None)
        self.outputs = directory / "out"
        mark = f"lines@{directory.name}"
        given = GivenCluster(mark, self.cluster.address)
        self.runner = DaskRunner("lines", self.outputs, self.clock, mark, given, calls=calls)
        self.news = []
        self.lines = []
        """news of lines that were cut or are there again"""

    def join(self, stay=5 * MINUTE):
        self.runner.join(1, OFFER, self.clock.now() + stay)
        assert self.hear(Joined)

    def start(self, attempt, *command):
        self.runner.start(attempt, attempt, 1, command)
        self.runner.flush()

    def hear(self, kind, seconds=60.0):
        """The next news of this kind."""

        def heard():
            self.look(SECOND // 20)
            return next((one for one in self.news if isinstance(one, kind)), None)

        found = eventually(heard, seconds)
        assert found, f"no {kind.__name__} among {self.news}"
        self.news.remove(found)
        return found

    def look(self, patience):
        for one in self.runner.poll(self.clock.now() + patience):
            (self.lines if isinstance(one, LineChanged) else self.news).append(one)

    def hears_line(self, machine, *, is_cut):
        """Whether it is said, before long, that this line was cut or is there again."""

        def heard():
            self.look(SECOND // 20)
            return (machine, is_cut) in [one[:2] for one in self.lines]

        return eventually(heard)

    def agents(self):
        return (self.cluster.directory / "m").iterdir()

    def close(self):
        self.runner.close()
        self.cluster.close()


@pytest.fixture
def drill(tmp_path):
    made = Drill(tmp_path)
    yield made
    made.close()


def kill_worker(drill):
    drill.cluster.workers["w-1"].kill()
    drill.cluster.workers["w-1"].wait()


def test_an_attempt_outlives_its_dask_worker_and_is_heard_through_the_next(drill, tmp_path):
    drill.join()
    drill.start(1, "sh", "-c", f"sleep 3; echo once >> {tmp_path}/ran; echo done")
    time.sleep(1)
    kill_worker(drill)
    assert eventually((tmp_path / "ran").exists), "it ended with the worker"
    drill.cluster.workers["w-1"] = drill.cluster.start_worker("w-1")
    assert drill.hear(Ended).outcome == "success"
    assert not drill.news, "something else happened"
    assert drill.hears_line(1, is_cut=True)
    assert drill.hears_line(1, is_cut=False)
    drill.runner.settle(1, 1, "keep")
    assert (drill.outputs / "1" / "stdout").read_text() == "done\n"
    assert (tmp_path / "ran").read_text() == "once\n"


def test_a_frozen_worker_costs_time_and_no_work(drill):
    """Longer than an answer is waited for: the line counts as cut, and is opened again."""
    drill.join()
    drill.start(1, "sh", "-c", "sleep 1; echo done")
    drill.cluster.workers["w-1"].send_signal(signal.SIGSTOP)
    end = time.monotonic() + 12
    while time.monotonic() < end:
        drill.look(SECOND // 4)
    assert not drill.news
    assert drill.hears_line(1, is_cut=True)
    drill.cluster.workers["w-1"].send_signal(signal.SIGCONT)
    assert drill.hear(Ended).outcome == "success"
    drill.start(2, "true")
    assert drill.hear(Ended).outcome == "success"
    assert not drill.news
    assert drill.hears_line(1, is_cut=False)


def test_the_scheduler_dies_with_all_workers_and_comes_back(drill):
    drill.join()
    drill.start(1, "sh", "-c", "sleep 2; echo done")
    time.sleep(0.5)
    drill.cluster.scheduler.kill()
    drill.cluster.scheduler.wait()
    drill.cluster.workers["w-1"].wait(60)
    drill.cluster.scheduler = drill.cluster.start_scheduler()
    drill.cluster.workers["w-1"] = drill.cluster.start_worker("w-1")
    assert drill.hear(Ended).outcome == "success"
    drill.start(2, "true")
    assert drill.hear(Ended).outcome == "success"
    assert not drill.news
    assert drill.hears_line(0, is_cut=True)
    assert drill.hears_line(0, is_cut=False)


def test_a_machine_that_does_not_answer_for_long_is_lost(drill, monkeypatch):
    monkeypatch.setattr(hub, "LOST_AFTER", 3 * SECOND)
    drill.join(stay=15 * SECOND)
    drill.start(1, "sleep", "60")
    kill_worker(drill)
    gone = drill.hear(Gone)
    assert gone.cause == "lost"
    assert "has not answered" in gone.why
    assert list(drill.agents()), "it ended before its lease"
    assert eventually(lambda: not list(drill.agents())), "it outlives its lease"


def test_a_machine_that_does_not_answer_is_over_with_its_lease(drill):
    drill.join(stay=10 * SECOND)
    until = drill.clock.now() + 10 * SECOND
    kill_worker(drill)
    gone = drill.hear(Gone)
    assert gone.cause == "expired"
    assert gone.at <= until
    assert eventually(lambda: not list(drill.agents()))


def test_large_outputs_come_back_in_parts(drill):
    drill.join()
    drill.start(
        1,
        "sh",
        "-c",
        "head -c 5000000 /dev/urandom > $BURSAR_OUTPUT_DIR/x; sha256sum < $BURSAR_OUTPUT_DIR/x",
    )
    assert drill.hear(Ended).outcome == "success"
    drill.runner.settle(1, 1, "keep")
    there = sha256((drill.outputs / "1" / "x").read_bytes()).hexdigest()
    assert (drill.outputs / "1" / "stdout").read_text().split()[0] == there


def test_links_out_of_an_output_directory_are_refused(drill):
    drill.join()
    drill.start(1, "sh", "-c", "ln -s /etc/passwd $BURSAR_OUTPUT_DIR/x")
    ended = drill.hear(Ended)
    assert ended.outcome == "failed"
    assert "cannot be unpacked" in ended.why


def test_python_calls_come_back_with_values_and_errors(tmp_path):
    calls = Calls()
    factor = 7
    good = calls.add(1, lambda number: number * factor, (6,))
    bad = calls.add(2, int, ("no number",))
    large = calls.add(3, lambda: b"x" * 3_000_000)
    drill = Drill(tmp_path, calls)
    try:
        drill.join()
        for task in (1, 2, 3):
            drill.start(task)
            ended = drill.hear(Ended)
            drill.runner.settle(ended.attempt, ended.attempt, "keep")
        assert good.result(0) == 42
        assert len(large.result(0)) == 3_000_000
        assert isinstance(bad.exception(0), ValueError)
    finally:
        drill.close()
