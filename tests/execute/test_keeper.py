"""Whichever of bursar, the warden and its keeper is killed, tasks end, whatever they do to hide."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from shutil import which

import pytest

from bursar.execute.processes import is_dead, sweep, ward_of
from bursar.execute.tags import run_tag
from bursar.execute.wire import python_program

DRIVER = Path(__file__).with_name("driver.py")
WATCHERS = ("bursar", "keeper", "warden")
ORDINARY = 61234
"""a user of whom nothing else runs here"""
HIDES = """
echo $$ > leader.new
env -i /bin/sh -c 'echo $$ > bare.new; mv bare.new bare; exec sleep 100' &
env -i setsid /bin/sh -c 'echo $$ > daemon.new; mv daemon.new daemon; exec sleep 100' &
trap '' TERM HUP INT
mv leader.new leader
while :; do sleep 1; done
"""
"""a task; a process of it without a mark; and one that left its group, too"""
NAMES = ("leader", "bare", "daemon")


def as_ordinary(*more: str, user: int = ORDINARY) -> list[str]:
    """A prefix that makes a command an ordinary user's, who may read the files of these tests."""
    if os.geteuid() != 0:
        return []
    if which("setpriv") is None:
        pytest.skip("setpriv (Debian and Ubuntu: package util-linux) is not here")
    reading = "-all,+dac_read_search"
    caps = [f"--{kind}={reading}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    return [*more, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *caps]


@contextmanager
def drive(place: Path, *commands: str, prefix: list[str]):
    place.chmod(0o777)
    argv = [*prefix, sys.executable, str(DRIVER), str(place / "out"), "driven", "60", *commands]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=place) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def wait_for(holds, what, timeout=20.0):
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def kill_at_once(pids) -> None:
    """None of them sees another one die; a `sleep` of the task may have ended meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


SOME = [some for count in (1, 2, 3) for some in combinations(WATCHERS, count)]
CASES = [pytest.param(some, True, id="-".join(some)) for some in SOME] + [
    pytest.param(some, False, id="-".join((*some, "by this user"))) for some in SOME[-2:]
]


@pytest.mark.parametrize(("victims", "ordinary"), CASES)
def test_nothing_survives_whoever_is_killed(tmp_path, census, victims, ordinary):
    with drive(tmp_path, HIDES, prefix=as_ordinary() if ordinary else []) as driver:
        wait_for(lambda: all((tmp_path / name).exists() for name in NAMES), "no task")
        pids = {name: int((tmp_path / name).read_text()) for name in NAMES}
        pids |= {"bursar": driver.pid, "keeper": census.keepers()[0]}
        pids |= {"warden": census.wardens()[0]}
        kill_at_once([pids[name] for name in victims])
        wait_for(lambda: all(is_dead(pids[name]) for name in NAMES), "a process survived", 5)
        wait_for(lambda: not census.all() and not census.sentinels(), "a watcher survived", 5)


def test_what_left_its_group_is_found_on_resume_if_the_sentinel_is_killed_too(tmp_path, census):
    with drive(tmp_path, HIDES, prefix=as_ordinary()) as driver:
        wait_for(lambda: all((tmp_path / name).exists() for name in NAMES), "no task")
        pids = {name: int((tmp_path / name).read_text()) for name in NAMES}
        mark = (ward_of(census.wardens()[0]) or "").rpartition("/")[0]
        kill_at_once([driver.pid, *census.all(), *census.sentinels()])
        # the kernel ends the groups at once
        wait_for(lambda: is_dead(pids["leader"]) and is_dead(pids["bare"]), "a task survived", 5)
        assert not is_dead(pids["daemon"])
        assert sweep(mark) >= 1  # the daemon, and what the kernel is still ending
        assert is_dead(pids["daemon"])


def test_the_sentinel_ends_with_its_run(tmp_path, census):
    with drive(tmp_path, "sleep 0.2", prefix=as_ordinary()) as driver:
        wait_for(census.sentinels, "no sentinel")
        driver.communicate()
    assert not census.sentinels()


def test_the_sentinel_is_not_found_by_the_names_of_the_others(tmp_path, census):
    with drive(tmp_path, "sleep 100", prefix=as_ordinary()):
        wait_for(census.sentinels, "no sentinel")
        (sentinel,) = census.sentinels()
        command = Path(f"/proc/{sentinel}/cmdline").read_bytes()
        assert command.strip(b"\0") == Path(f"/proc/{sentinel}/comm").read_bytes().strip()
        assert os.getsid(sentinel) == os.getpgid(sentinel) == sentinel


def test_a_keeper_whose_bursar_has_died_before_says_nothing(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program = python_program("bursar.execute.keeper", str(theirs.fileno()), str(gone.pid))
        arguments = ["mark", str(run_tag("mark")), str(tmp_path), "1000"]
        done = subprocess.run(
            [*program, *arguments],
            pass_fds=(theirs.fileno(),),
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.04, 0.08, 0.12])
def test_a_bursar_that_dies_while_its_warden_starts_leaves_nothing_and_no_traceback(
    tmp_path, census, delay
):
    code = (
        "import os, sys, time; from bursar.execute.link import WardenLink\n"
        f"WardenLink('r', 'r@1', {str(tmp_path)!r}, 1000); time.sleep({delay})\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    wait_for(lambda: not census.all(), "a process survived", 5)
    assert done.stderr == b""


def test_a_task_waits_while_the_system_refuses_processes(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("this takes a user of whom nothing else runs; to become one takes root")
    nobody_else = ORDINARY + os.getpid() % 10_000 + 1  # tests that run meanwhile are ORDINARY's
    filler = [*as_ordinary(user=nobody_else), "sleep", "2"]
    fillers = [subprocess.Popen(filler) for _ in range(3)]
    most = len(fillers) + 3  # bursar, keeper and warden, and no task
    prefix = as_ordinary("prlimit", f"--nproc={most}", user=nobody_else)
    with drive(tmp_path, "echo began > began", prefix=prefix) as driver:
        time.sleep(1.2)
        assert not (tmp_path / "began").exists()
        for process in fillers:
            process.wait()
        reported = driver.communicate()[0].splitlines()
    assert reported[-1] == "ended done "
    assert sum(line.startswith("AttemptStarted") for line in reported) == 1
