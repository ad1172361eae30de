from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from bursar.execute.marks import lives_elsewhere, mark_of, sweep
from bursar.execute.processes import WARD, children, children_by_scan, parent_of, ward_of
from bursar.execute.processes import sweep as sweep_mark
from bursar.execute.tags import run_tag, tag_of, ward_tag
from bursar.state.state import RunState


@pytest.fixture
def started():
    """Starts processes, and ends them."""
    running: list[subprocess.Popen[bytes]] = []

    def start(program=("sleep", "60"), **variables):
        process = subprocess.Popen(program, env={**os.environ, **variables})
        running.append(process)
        while WARD in variables and ward_of(process.pid) is None:
            time.sleep(0.001)  # the environment can be seen a moment later
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def test_a_sweep_kills_what_carries_the_mark_and_nothing_else(started):
    mine = [started(**{WARD: f"r@1.0/{key}"}) for key in (1, -2, "warden")]
    others = [
        started(**{WARD: "r@2.0/1"}),
        started(**{WARD: "rr@1.0/1"}),
        started(**{WARD: "r@1.0"}),
        started(OTHER=f"{WARD}=r@1.0/1"),
        started(),
    ]
    assert sweep_mark("r@1.0") == 3
    assert all(process.poll() is not None for process in mine)
    assert [process.poll() for process in others] == [None] * 5
    assert sweep_mark("r@1.0") == 0


def test_a_sweep_spares_those_who_ask_for_it(started):
    """A run that is resumed from within one of its own tasks must not end itself."""
    code = (
        "import subprocess, sys; from bursar.execute.processes import sweep;"
        "victim = subprocess.Popen(['sleep', '60']);"
        "print(sweep('r@1.0')); print(victim.poll() is not None)"
    )
    shell = ("/bin/sh", "-c", '"$0" -c "$1"; echo here', sys.executable, code)
    done = subprocess.run(
        shell, env={**os.environ, WARD: "r@1.0/5"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "True", "here"]


def test_runs_of_one_name_have_different_marks():
    from bursar.model.goal import Goal, Limits
    from bursar.model.market import Market
    from bursar.state import events as ev

    marks = set()
    for began in (1700000000.25, 1700000000.5):
        state = RunState()
        state.apply(
            ev.RunCreated(0, "r", Market("USD", "", ()), Goal(), Limits(), 0, {}, {}, began)
        )
        marks.add(mark_of(state))
        assert sweep(state) == 0
    assert marks == {"r@1700000000.25", "r@1700000000.5"}


def test_a_copy_of_a_run_is_seen_where_it_lives_and_machines_of_its_own_are_none(started):
    from bursar.model.goal import Goal, Limits
    from bursar.model.market import Market
    from bursar.model.options import RunOptions
    from bursar.state import events as ev

    state, options = RunState(), RunOptions(id=f"id-{os.getpid()}")
    created = ev.RunCreated(0, "r", Market("USD", "", ()), Goal(), Limits(), 0, {}, {}, 1.0)
    state.apply(msgspec.structs.replace(created, options=options))
    mark = mark_of(state, "1-2")
    started(**{WARD: f"{mark}/warden"})
    started(**{WARD: f"{mark}/7/warden"})  # a machine elsewhere that is on this computer
    assert not lives_elsewhere(state, "1-2")
    assert lives_elsewhere(state, "1-23")


def test_all_children_are_found_however_many(started):
    code = (
        "import os, signal, time; from bursar.execute.processes import children\n"
        "pids = []\n"
        "for _ in range(1500):\n"
        "    pid = os.fork()\n"
        "    if not pid: signal.pause()\n"
        "    pids.append(pid)\n"
        "print(children() == pids)\n"
        "for pid in pids: os.kill(pid, 9); os.waitpid(pid, 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


def test_a_sweep_finds_what_hides_its_mark_and_spares_what_only_looks_like_it():
    """By the tag, which `env -i` does not remove; not by one of another run, nor a small number."""
    tags = {"r@1.0": run_tag("r@1.0"), "r@2.0": run_tag("r@2.0"), "": 1 << 20}
    code = (
        "import os, sys, resource; resource.setrlimit(10, (int(sys.argv[1]), -1));"
        "os.execvpe('setsid', ['setsid', 'sleep', '60'], {'PATH': os.environ['PATH']})"
    )
    hidden = [
        subprocess.Popen([sys.executable, "-S", "-c", code, str(ward_tag(tag, 7))])
        for tag in tags.values()
    ]
    try:
        for process in hidden:
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(b"sleep"):
                time.sleep(0.001)
        assert [tag_of(process.pid) for process in hidden[:2]] == [
            ward_tag(tags[mark], 7) for mark in ("r@1.0", "r@2.0")
        ]
        assert sweep_mark("r@1.0") == 1
        assert [process.poll() is None for process in hidden] == [False, True, True]
    finally:
        for process in hidden:
            process.kill()
            process.wait()


def test_both_ways_of_finding_children_agree(started):
    processes = {started().pid for _ in range(3)}
    assert processes <= set(children())
    assert set(children_by_scan()) == set(children())
    assert {parent_of(pid) for pid in processes} == {os.getpid()}


def test_a_process_that_is_gone_has_no_parent_and_no_ward(started):
    process = started(**{WARD: "r/7"})
    assert ward_of(process.pid) == "r/7"
    process.kill()
    process.wait()
    assert parent_of(process.pid) is None
    assert ward_of(process.pid) is None
