import os
import signal
import subprocess
import sys

import pytest

from bursar.journal import lock

HOLDER = """
import sys
from pathlib import Path
from bursar.journal import lock
held = lock.acquire(Path(sys.argv[1]))
print(held is not None, flush=True)
sys.stdin.readline()
held.release()
print("released", flush=True)
sys.stdin.readline()
"""
ASKER = """
import sys
from pathlib import Path
from bursar.journal import lock
print(lock.owner(Path(sys.argv[1])))
"""
FORKER = """
import os, sys
from pathlib import Path
from bursar.journal import lock
path = Path(sys.argv[1])
held = lock.acquire(path)
if os.fork() == 0:
    print(lock.owner(path) == os.getppid(), lock.acquire(path) is None, flush=True)
    held.release()
    os._exit(0)
os.wait()
print(lock.owner(path) == os.getpid(), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def start(path):
    processes = []

    def run(script, file=path):
        process = subprocess.Popen(
            [sys.executable, "-c", script, file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def owner_seen_elsewhere(path):
    done = subprocess.run(
        [sys.executable, "-c", ASKER, path], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_nobody_owns_a_lock_that_was_never_taken(path):
    assert lock.owner(path) is None
    path.touch()
    assert lock.owner(path) is None


def test_the_owner_is_reported_by_its_process_number(path, start):
    holder = start(HOLDER)
    assert holder.stdout.readline() == "True\n"
    assert lock.owner(path) == holder.pid
    assert lock.acquire(path) is None


def test_a_released_lock_is_free_though_its_process_lives(path, start):
    holder = start(HOLDER)
    holder.stdout.readline()
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "released\n"
    assert lock.owner(path) is None
    with lock.acquire(path):
        assert lock.owner(path) == os.getpid()


def test_a_lock_dies_with_its_process(path, start):
    holder = start(HOLDER)
    holder.stdout.readline()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert lock.owner(path) is None
    with lock.acquire(path):
        pass


def test_asking_for_ones_own_lock_does_not_lose_it(path):
    with lock.acquire(path):
        assert lock.owner(path) == os.getpid()
        assert lock.acquire(path) is None
        assert lock.owner(path.parent / "." / "lock") == os.getpid()
        assert owner_seen_elsewhere(path) == str(os.getpid())
    assert owner_seen_elsewhere(path) == "None"
    assert lock.owner(path) is None


def test_releasing_twice_does_no_harm(path):
    first = lock.acquire(path)
    first.release()
    with lock.acquire(path):
        first.release()
        assert owner_seen_elsewhere(path) == str(os.getpid())


def test_a_forked_child_does_not_own_its_parents_lock(path, start):
    forker = start(FORKER)
    assert forker.stdout.readline() == "True True\n"
    assert forker.stdout.readline() == "True\n"
    assert lock.owner(path) == forker.pid


def test_who_may_only_read_the_lock_can_still_ask(public_directory, as_ordinary_user, start):
    path = public_directory / "lock"
    holder = start(HOLDER, path)
    holder.stdout.readline()
    path.chmod(0o444)
    with as_ordinary_user():
        assert lock.owner(path) == holder.pid
