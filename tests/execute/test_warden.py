"""Nothing that a run starts survives it, whatever dies first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from bursar.execute.dispatch import DispatchError
from bursar.execute.lifeline import NUMBER
from bursar.execute.processes import is_dead, parent_of
from bursar.execute.warden import Warden
from bursar.state import events as ev

PYTHON = sys.executable
DAEMON = (
    f"{PYTHON} -S -c 'import os, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    'open(sys.argv[1], "w").close()\n'
    "time.sleep(100)' "
)
"""Shell text: a process that leaves its group, its session and its parents; it makes a file."""


def sh(script):
    return ("/bin/sh", "-c", script)


@pytest.fixture
def up(tmp_path):
    return tmp_path / "up"


def wait_for(holds, what, timeout=20.0):
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def test_what_a_task_leaves_behind_ends_with_it(lab, census, up):
    run = lab([sh(f"{DAEMON} {up}; sleep 100 & while [ ! -e {up} ]; do sleep 0.01; done")])
    run.start(1, run.rent())
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    assert census.others() == []


def test_a_daemon_lives_as_long_as_its_task(lab, census, up, tmp_path):
    ask = tmp_path / "ask"
    script = f"{DAEMON} {up}; while [ ! -e {ask} ]; do sleep 0.01; done"
    run = lab([sh(script), ("true",)], slots=2)
    machine = run.rent()
    run.start(1, machine)
    wait_for(up.exists, "no daemon")
    before = len(census.others())
    run.start(2, machine)
    assert run.await_one(ev.AttemptEnded).attempt == 2
    time.sleep(0.1)
    daemons = [pid for pid in census.others() if parent_of(pid) == census.wardens()[0]]
    assert len(daemons) == 2, before  # the task's shell, and the orphan
    ask.touch()
    assert run.await_one(ev.AttemptEnded).attempt == 1
    wait_for(lambda: not census.others(), "the daemon survived its task", 2)


def test_a_daemon_without_a_mark_ends_with_the_tasks_it_was_seen_with(lab, tmp_path):
    pid_file = tmp_path / "pid"
    daemon = (
        f"env -i {PYTHON} -S -c 'import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        f'open("{pid_file}", "w").write(str(os.getpid()))\n'
        "time.sleep(100)'"
    )
    run = lab([sh(f"{daemon}; while [ ! -s {pid_file} ]; do sleep 0.01; done")])
    run.start(1, run.rent())
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    pid = pid_file.read_text()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "it survived", 2)


BARE = "env -i setsid /bin/sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 100' & "
"""Shell text: a process without environment, group, session and parent; its number in a file."""


def test_a_daemon_without_a_mark_ends_with_its_own_task_and_not_with_another(lab, tmp_path):
    first, second, ask = (tmp_path / name for name in ("first", "second", "ask"))
    started = f"while [ ! -e {first} ] || [ ! -e {second} ]; do sleep 0.01; done;"
    waiting = f"{BARE.format(first)} {started} while [ ! -e {ask} ]; do sleep 0.01; done"
    run = lab([sh(waiting), sh(f"{BARE.format(second)} {started}")], slots=2)
    machine = run.rent()
    run.start(1, machine)
    run.start(2, machine)
    assert run.await_one(ev.AttemptEnded).attempt == 2
    assert is_dead(int(second.read_text()))
    assert not is_dead(int(first.read_text()))
    ask.touch()
    assert run.await_one(ev.AttemptEnded).attempt == 1
    assert is_dead(int(first.read_text()))


def test_a_forged_mark_ends_nothing_but_its_bearer(lab, census):
    forge = 'BURSAR_WARD="${BURSAR_WARD%/*}/abc" setsid sleep 100 & sleep 0.05'
    run = lab([sh(forge), sh(forge)])
    machine = run.rent()
    wardens = []
    for task in (1, 2):
        run.start(task, machine)
        assert run.await_one(ev.AttemptEnded).outcome == "success"
        assert census.others() == []
        wardens += census.wardens()
    assert len(set(wardens)) == 1


def test_no_task_finds_what_another_one_wrote(lab):
    """Each ends having written nothing, and leaves a process that writes as long as it lives."""
    late = "sleep 0.003; while :; do echo $BURSAR_TASK; echo $BURSAR_TASK > late; done"
    run = lab([sh(f'cd "$BURSAR_OUTPUT_DIR"; setsid sh -c "{late}" & :')] * 200)
    assert run.run(machines=4).status == "done"
    for task in range(1, 201):
        for file in (run.outputs / str(task)).glob("*"):
            assert set(file.read_text().split()) <= {str(task)}, file


def test_a_cancelled_attempt_leaves_no_daemon(lab, census, up):
    run = lab([sh(f"{DAEMON} {up}; sleep 100")])
    attempt = run.start(1, run.rent())
    wait_for(up.exists, "no daemon")
    run.cancel(attempt)
    assert run.await_one(ev.AttemptEnded).outcome == "cancelled"
    wait_for(lambda: not census.others(), "the daemon survived", 2)


def test_a_released_machine_leaves_no_daemon(lab, census, up):
    run = lab([sh(f"{DAEMON} {up}; sleep 100")])
    machine = run.rent()
    run.start(1, machine)
    wait_for(up.exists, "no daemon")
    run.release(machine)
    assert run.await_one(ev.MachineDown).cause == "released"
    wait_for(lambda: not census.others(), "the daemon survived", 2)


def test_closing_a_world_ends_everything(lab, census, up):
    run = lab([sh(f"{DAEMON} {up}; trap '' TERM; sleep 100")])
    run.start(1, run.rent())
    wait_for(up.exists, "no daemon")
    run.world.close()
    assert census.all() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_warden_is_killed_its_machines_are_lost_and_nothing_survives(
    lab, census, up, number
):
    run = lab([sh(f"{DAEMON} {up}; sleep 100")])
    run.start(1, run.rent())
    wait_for(up.exists, "no daemon")
    os.kill(census.wardens()[0], number)
    down = run.await_one(ev.MachineDown)
    assert down.cause == "lost"
    assert down.why == "the process that supervises it was killed"
    assert census.all() == []
    run.start(1, run.rent())  # on a new machine, with a new warden
    run.cancel(2)
    assert run.await_one(ev.AttemptEnded).outcome == "cancelled"


def test_a_run_outlives_its_warden(lab, census, tmp_path):
    once = f"{{ mkdir {tmp_path}/once 2>/dev/null && kill -9 $PPID; }}"
    run = lab([sh(f"echo; sleep 0.1; [ $BURSAR_TASK != 3 ] || {once}; sleep 0.1")] * 5)
    tries = 0

    class Witness:
        def saw(self, event, state):
            nonlocal tries
            if isinstance(event, ev.MachineDown) and event.cause == "lost":
                tries += 1

    from bursar.engine.loop import Engine
    from bursar.policies.registry import make_policy

    policy = make_policy(options={"provisioner": {"fleet": {"desk": 1}}})
    ended = Engine(run.state, policy, run.world, observers=[Witness()]).run()
    assert (ended.status, tries) == ("done", 1)
    assert sorted(entry.name for entry in run.outputs.iterdir()) == ["1", "2", "3", "4", "5"]


def test_a_warden_that_does_not_start_is_reported_at_once(lab, monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(DispatchError, match="did not start"):
        lab([("true",)]).run()


@contextmanager
def drive(tmp_path, lease, *commands):
    """The driver program, running."""
    program = [PYTHON, str(Path(__file__).with_name("driver.py"))]
    arguments = [str(tmp_path / "out"), "driven", str(lease), *commands]
    with subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def test_nothing_survives_a_killed_driver(tmp_path, census, up):
    with drive(tmp_path, 60, f"{DAEMON} {up}; trap '' TERM HUP INT; sleep 100") as driver:
        wait_for(up.exists, "no daemon")
        assert len(census.all()) >= 4
        driver.kill()
        wait_for(lambda: not census.all(), "something survived", 3)


def test_nothing_survives_a_killed_driver_that_had_forked(tmp_path, census, up, monkeypatch):
    monkeypatch.setenv("DRIVER_FORKS", "1")
    with drive(tmp_path, 60, f"{DAEMON} {up}; sleep 100") as driver:
        wait_for(up.exists, "no daemon")
        reported = ""
        while not reported.startswith("forked"):
            reported = driver.stdout.readline()
        child = int(reported.split()[1])
        driver.kill()
        driver.wait()
        try:
            wait_for(lambda: census.all() == [child], "something survived", 3)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_lease_ends_while_the_driver_is_stopped(tmp_path, census, up):
    with drive(tmp_path, 1.5, f"{DAEMON} {up}; sleep 100") as driver:
        wait_for(up.exists, "no daemon")
        driver.send_signal(signal.SIGSTOP)
        wait_for(lambda: not [pid for pid in census.others() if pid != driver.pid], "alive", 5)
        driver.send_signal(signal.SIGCONT)
        reported = ""
        while "MachineDown" not in reported:
            reported = driver.stdout.readline()
        assert reported == "MachineDown expired\n"


def test_a_run_within_a_task_ends_with_the_task(lab, census, tmp_path, up):
    program = f"{PYTHON} {Path(__file__).with_name('driver.py')} {tmp_path}/inner inside 60"
    script = tmp_path / "script"
    script.write_text(f"{DAEMON} {up}; sleep 100")
    run = lab([sh(f'{program} "$(cat {script})" & wait')])
    attempt = run.start(1, run.rent())
    wait_for(up.exists, "no daemon")
    assert len(census.wardens()) == 2
    run.cancel(attempt)
    assert run.await_one(ev.AttemptEnded).outcome == "cancelled"
    wait_for(lambda: len(census.all()) == 2, "the inner run survived", 3)


def group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:  # it has ended meanwhile
        return None


def test_the_terminal_s_signals_do_not_reach_tasks(tmp_path, census, up):
    ask = tmp_path / "ask"
    script = f"touch {up}; while [ ! -e {ask} ]; do sleep 0.01; done"
    with drive(tmp_path, 60, script) as driver:
        wait_for(up.exists, "no task")
        driver.send_signal(signal.SIGSTOP)  # so that the signal below does not end it
        os.killpg(driver.pid, signal.SIGWINCH)
        groups = {group_of(pid) for pid in census.all()} - {None}
        assert len(groups) == 4  # driver, keeper, warden, task
        driver.send_signal(signal.SIGCONT)
        ask.touch()
        assert driver.communicate()[0].splitlines()[-1] == "ended done "


def test_tasks_get_signals_as_a_shell_would_give_them(lab):
    """Python ignores some signals, and children inherit that unless told otherwise."""
    run = lab([sh("grep -E 'Sig(Ign|Blk)' /proc/self/status")])
    assert run.run().status == "done"
    masks = (run.outputs / "1/stdout").read_text().split()
    ordinary = 2**31 - 1  # the C library keeps two of the others for itself
    for one in (signal.SIGHUP, signal.SIGQUIT):  # as a shell starts what runs in the background
        if signal.getsignal(one) is signal.SIG_IGN:
            ordinary &= ~(1 << one - 1)
    assert [int(mask, 16) & ordinary for mask in masks[1::2]] == [0, 0]


def test_tasks_inherit_no_descriptor_but_the_lifeline(lab):
    run = lab([("ls", "/proc/self/fd")])
    assert run.run().status == "done"
    reported = (run.outputs / "1/stdout").read_text().split()
    assert reported == ["0", "1", "2", "3", str(NUMBER)]  # 3: to list them


def test_quick_tasks_leave_no_zombie_and_no_descriptor(lab, census):
    run = lab([("true",)] * 200, slots=4)
    machine = run.rent()
    counts = []
    for first in range(1, 201, 4):
        for task in range(first, first + 4):
            run.start(task, machine)
        while run.state.attempts:
            run.await_one(ev.AttemptEnded)
        counts.append(len(list(Path(f"/proc/{census.wardens()[0]}/fd").iterdir())))
    assert counts[0] == counts[-1]
    children = Path(f"/proc/{census.wardens()[0]}/task/{census.wardens()[0]}/children")
    assert children.read_text() == ""


def test_a_warden_that_cannot_remove_all_in_time_ends_without_a_complaint(monkeypatch):
    monkeypatch.setattr("bursar.execute.warden.LONGEST_TIDYING", 50_000)
    silent, other = os.pipe2(os.O_NONBLOCK)
    warden = Warden.__new__(Warden)
    warden._directories = SimpleNamespace(removers={1}, tidy_at_last=lambda: None)
    warden._bell = silent
    try:
        warden._tidy()
        assert warden._directories.removers == {1}, "one was still at work"
    finally:
        os.close(silent)
        os.close(other)
