"""A journal while another process writes it, and after that process was killed."""

import os
import signal
import subprocess
import sys
import time
from random import Random

import pytest

from bursar.journal.replay import Follower, load_state
from bursar.journal.writer import JournalWriter
from bursar.state import events as ev

WRITER = """
import os, struct, sys
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import Bag
from bursar.policies.registry import make_policy
from bursar.simulate.faults import ModelledBehaviour, drawn
from bursar.simulate.run import simulate

path, progress, tasks, pause = sys.argv[1:]

class Told(JournalWriter):
    has_paused = False

    def commit(self, *, safely):
        super().commit(safely=safely)
        os.pwrite(told, struct.pack("q", self.seq), 0)
        if self.seq >= int(pause) and not self.has_paused:
            self.has_paused = True
            sys.stdin.readline()

told = os.open(progress, os.O_RDWR | os.O_CREAT)
market = Market("USD", "d", (Offer("small", Money.parse("0.01"), 60 * SECOND),))
behaviour = ModelledBehaviour(
    drawn(lambda rng: rng.randrange(SECOND, 90 * SECOND), 1),
    failing=0.1, mean_life={"small": 600 * SECOND},
)
policy = make_policy(options={"provisioner": {"fleet": {"small": 20}}})
with Told.create(path, "r") as journal:
    simulate(market, Goal(Money.parse("5000")), Bag(int(tasks)), policy, behaviour, journal=journal)
"""


@pytest.fixture
def start_writer(tmp_path):
    """Start a process that journals a run; after `pause` events it waits for a line."""
    processes = []

    def start(tasks, pause):
        files = [tmp_path / "journal.db", tmp_path / "told"]
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *files, str(tasks), str(pause)], stdin=subprocess.PIPE
        )
        processes.append(process)
        while reported(tmp_path) == 0:
            assert process.poll() is None
            time.sleep(0.001)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def reported(tmp_path):
    """How many events the writer says it has committed."""
    path = tmp_path / "told"
    return int.from_bytes(path.read_bytes(), sys.byteorder) if path.exists() else 0


@pytest.mark.parametrize("seed", range(6))
def test_what_was_committed_is_there_after_the_writer_was_killed(start_writer, tmp_path, seed):
    process = start_writer(tasks=1_000_000, pause=10**9)
    time.sleep(Random(seed).uniform(0, 0.4))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    committed = reported(tmp_path)

    path = tmp_path / "journal.db"
    with Follower(path) as follower:
        follower.catch_up()
        assert committed <= follower.seen
        state = follower.state
    state.check()
    assert state.ended is None

    with JournalWriter(path) as writer:
        assert writer.seq == follower.seen
        writer.append(ev.RunResumed(state.now))
        writer.commit(safely=True)
    assert load_state(path).now == state.now
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("journal")] == ["journal.db"]


def test_a_run_is_followed_from_another_process_to_its_end(start_writer, tmp_path):
    process = start_writer(tasks=500, pause=300)
    with Follower(tmp_path / "journal.db") as follower:
        while follower.seen < 300:
            follower.catch_up()
        follower.state.check()
        assert follower.state.ended is None
        assert process.poll() is None

        process.stdin.write(b"go on\n")
        process.stdin.flush()
        while follower.state.ended is None:
            follower.catch_up()
        follower.state.check()
    assert process.wait() == 0
    assert follower.state.settled == 500
    assert follower.seen == reported(tmp_path)
