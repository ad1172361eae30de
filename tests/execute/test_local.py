from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from bursar.engine.roles import Policy, Replicator
from bursar.execute.clock import RunClock
from bursar.model.errors import InputError
from bursar.model.goal import Limits
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.events import Clocks


def sh(script):
    return ("/bin/sh", "-c", script)


def test_a_command_that_succeeds_leaves_what_it_wrote_in_its_task_s_directory(lab):
    run = lab([sh('echo hello; echo oops >&2; echo file > "$BURSAR_OUTPUT_DIR/made"')])
    assert run.run().status == "done"
    result = run.outputs / "1"
    assert (result / "stdout").read_text() == "hello\n"
    assert (result / "stderr").read_text() == "oops\n"
    assert (result / "made").read_text() == "file\n"
    assert [entry.name for entry in run.outputs.iterdir()] == ["1"]


def test_a_task_is_reported_what_it_is_and_where_it_runs(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lab([sh("env | grep BURSAR_; pwd; cat; tty")], name="amber-finch", slots=2)
    machine = run.rent()
    run.start(1, machine)
    assert run.await_one(ev.AttemptEnded).exit_code == 1  # tty: there is none
    lines = (run.outputs / ".attempts/1/stdout").read_text().splitlines()
    reported = dict(line.split("=", 1) for line in lines if "=" in line)
    wanted = {
        "BURSAR_RUN": "amber-finch",
        "BURSAR_TASK": "1",
        "BURSAR_ATTEMPT": "1",
        "BURSAR_MACHINE": "1",
        "BURSAR_OFFER": "desk",
        "BURSAR_SPEED": "1.5",
        "BURSAR_SLOT": "1",
        "BURSAR_OUTPUT_DIR": str(run.outputs / ".attempts-1/1"),
    }
    assert wanted.items() <= reported.items()
    assert lines[-2:] == [str(tmp_path), "not a tty"]


def test_attempts_on_one_machine_have_different_slots(lab):
    run = lab([sh("echo $BURSAR_SLOT; sleep 0.2")] * 3, slots=2)
    assert run.run().status == "done"
    assert {(run.outputs / str(task) / "stdout").read_text() for task in (1, 2, 3)} == {
        "1\n",
        "2\n",
    }


def test_the_job_slots_of_all_machines_differ_and_are_used_again(lab):
    run = lab(
        [sh(f"echo $BURSAR_JOB_SLOT; sleep {time}") for time in (0.3, 0.6, 0.9, 1.2)], slots=2
    )
    first, second = run.rent(), run.rent()
    run.release(first)
    run.await_one(ev.MachineDown)
    third = run.rent()
    assert (first, second, third) == (1, 2, 3)
    for task, machine in ((1, second), (2, second), (3, third), (4, third)):
        run.start(task, machine)
    reported = {run.await_one(ev.AttemptEnded).attempt for _ in range(4)}
    slots = [
        (run.outputs / f".attempts/{attempt}/stdout").read_text() for attempt in sorted(reported)
    ]
    assert [slot.strip() for slot in slots] == ["3", "4", "1", "2"]


def test_a_failure_is_reported_with_the_end_of_stderr_and_kept_apart(lab):
    run = lab([sh("seq 1000 1>&2; echo 'no such \\351l\\303\\251ment' >&2; exit 3")])
    assert run.run().status == "failed"
    failure = run.state.failed_tasks[1]
    assert failure.exit_code == 3
    assert failure.why.splitlines()[-2:] == ["1000", "no such \N{REPLACEMENT CHARACTER}lément"]
    assert len(failure.why.encode()) <= 2048
    assert (run.outputs / "failed/1/stderr").read_bytes().startswith(b"1\n2\n")
    assert sorted(entry.name for entry in run.outputs.iterdir()) == ["failed"]


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [
        (sh("exit 3"), 3, "exit code 3"),
        (sh("kill -SEGV $$"), -signal.SIGSEGV, "killed by SIGSEGV"),
        (sh("echo late >&2; kill -KILL $$"), -signal.SIGKILL, "killed by SIGKILL\nlate"),
        (("./nowhere",), 127, "cannot start './nowhere': No such file or directory"),
        (("/etc/passwd",), 126, "cannot start '/etc/passwd': Permission denied"),
        (("a\0b",), 126, "cannot start 'a\0b': embedded null byte"),
        ((), None, "the task has no command"),
    ],
)
def test_a_failure_says_why(lab, command, code, why):
    run = lab([command])
    assert run.run().status == "failed"
    assert run.state.failed_tasks[1].exit_code == code
    assert run.state.failed_tasks[1].why == why


def test_resources_are_measured(lab):
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.2"
    run = lab([sh(work)])
    run.start(1, run.rent())
    ended = run.await_one(ev.AttemptEnded)
    assert ended.outcome == "success"
    assert ended.runtime >= 0.2 * SECOND
    assert 0 < ended.cpu < ended.runtime
    assert 100_000 < ended.memory < 100_000_000


def test_a_task_may_run_as_long_as_its_timeout(lab):
    run = lab([sh("echo begun >&2; sleep 60")], limits=Limits(timeout=SECOND * 3 // 10))
    run.start(1, run.rent())
    ended = run.await_one(ev.AttemptEnded)
    assert (ended.outcome, ended.exit_code) == ("timeout", None)
    assert ended.why == "timed out after 300 ms\nbegun"
    assert 0.3 * SECOND <= ended.runtime < 2 * SECOND


def test_a_task_that_ignores_its_timeout_is_killed_after_the_grace(lab):
    limits = Limits(timeout=SECOND // 5)
    run = lab([sh("trap '' TERM; while :; do sleep 1; done")], limits=limits, grace=SECOND // 5)
    run.start(1, run.rent())
    ended = run.await_one(ev.AttemptEnded)
    assert ended.outcome == "timeout"
    assert 0.4 * SECOND <= ended.runtime < 2 * SECOND


def test_a_cancelled_attempt_may_tidy_up(lab):
    tidy = 'trap "touch $BURSAR_OUTPUT_DIR/tidied; exit 0" TERM; touch $BURSAR_OUTPUT_DIR/up'
    run = lab([sh(f"{tidy}; while :; do sleep 0.01; done")])
    attempt = run.start(1, run.rent())
    directory = run.outputs / ".attempts/1"
    while not (directory / "up").exists():
        run.world.wait(run.world.now() + 1000)
    run.cancel(attempt)
    assert run.await_one(ev.AttemptEnded).outcome == "cancelled"
    assert (directory / "tidied").exists()
    run.world.settle(1, attempt, "drop")
    run.world.close()
    assert list(run.outputs.iterdir()) == []


class Twice(Replicator):
    """A second attempt of everything that runs."""

    def replicate(self, view, now, rng):
        alone = [task for task in (1,) if len(view.attempts_of(task)) == 1]
        return [Start(task, machine) for task, machine in zip(alone, view.idle, strict=False)]


def test_the_first_success_of_a_task_is_its_result(lab):
    script = "[ $BURSAR_ATTEMPT = 1 ] && sleep 60; echo $BURSAR_ATTEMPT; env > /dev/null"
    run = lab([sh(script), sh("sleep 0.1; echo 2")])
    run.run(policy=Policy(Fixed({"desk": 2}), FirstPlacer(), Twice()))
    assert run.state.done == 2
    assert (run.outputs / "1/stdout").read_text() == "3\n"
    assert sorted(entry.name for entry in run.outputs.iterdir()) == ["1", "2"]


class FirstPlacer(RandomPlacer):
    """Tasks in order."""

    def place(self, view, now, rng):
        return [Start(t, m) for t, m in zip(sorted(view.ready), view.idle, strict=False)]


def test_a_failed_attempt_that_is_tried_again_leaves_nothing(lab):
    script = 'mkdir "$BURSAR_OUTPUT_DIR/$BURSAR_ATTEMPT"; [ $BURSAR_ATTEMPT = 3 ]'
    run = lab([sh(script)], limits=Limits(retries=2))
    assert run.run().status == "done"
    assert sorted(entry.name for entry in (run.outputs / "1").iterdir()) == [
        "3",
        "stderr",
        "stdout",
    ]
    assert [entry.name for entry in run.outputs.iterdir()] == ["1"]


def test_a_machine_is_up_after_its_boot_time(lab):
    run = lab([("true",)], boot=SECOND // 4)
    began = run.world.now()
    number = run.rent()
    assert SECOND // 4 <= run.state.machines[number].up - began < SECOND


def test_a_machine_released_while_it_boots_never_comes_up(lab):
    run = lab([("true",)], boot=SECOND // 5)
    now = run.world.now()
    run.do(ev.MachineRented(now, 1, "desk", now + SECOND))
    run.release(1)
    assert run.await_one(ev.MachineDown).cause == "released"
    assert run.world.wait(run.world.now() + SECOND // 4) == []


def test_what_runs_on_a_released_machine_is_killed_and_its_output_deleted(lab):
    run = lab([sh("trap '' TERM; touch $BURSAR_OUTPUT_DIR/big; while :; do sleep 1; done")])
    machine = run.rent()
    run.start(1, machine)
    while not (run.outputs / ".attempts/1/big").exists():
        run.world.wait(run.world.now() + 1000)
    run.release(machine)
    down = run.await_one(ev.MachineDown)
    assert down.cause == "released"
    assert down.ended <= down.at
    assert list(run.state.ready) == [1]
    run.world.close()
    assert list(run.outputs.iterdir()) == []


def test_a_machine_ends_with_its_lease_even_if_nobody_looks(lab):
    run = lab([sh("while :; do date +%s%N >> $BURSAR_OUTPUT_DIR/../ticks; sleep 0.02; done")])
    machine = run.rent(stay=SECOND)
    until = run.state.machines[machine].until
    run.start(1, machine)
    time.sleep(1.2)
    ticks = (run.outputs / ".attempts/ticks").read_text().splitlines()
    time.sleep(0.1)
    assert (run.outputs / ".attempts/ticks").read_text().splitlines() == ticks
    down = run.await_one(ev.MachineDown)
    assert (down.cause, down.ended) == ("expired", until)


def test_a_lease_that_is_extended_in_time_goes_on(lab):
    run = lab([sh("sleep 0.8")])
    machine = run.rent(stay=SECOND * 6 // 10)
    run.start(1, machine)
    run.do(ev.LeaseExtended(run.world.now(), machine, run.world.now() + 5 * SECOND))
    assert run.await_one(ev.AttemptEnded).outcome == "success"


def test_a_lease_extended_too_late_stays_ended(lab):
    run = lab([("sleep", "60")])
    machine = run.rent(stay=SECOND // 10)
    until = run.state.machines[machine].until
    run.start(1, machine)
    time.sleep(0.3)
    run.do(ev.LeaseExtended(run.world.now(), machine, run.world.now() + SECOND))
    down = run.await_one(ev.MachineDown)
    assert (down.cause, down.ended) == ("expired", until)


def test_an_event_from_another_thread_wakes_the_world(lab):
    run = lab(0, arrivals_end=False)
    post = threading.Timer(0.1, run.world.post, [ev.ArrivalsEnded(0)])
    post.start()
    (event,) = run.world.wait(None)
    assert isinstance(event, ev.ArrivalsEnded)
    assert event.at >= 0.1 * SECOND - 20_000
    post.join()


def test_an_event_from_outside_may_be_made_when_its_time_is_known(lab):
    run = lab(0, arrivals_end=False)
    run.world.post(lambda at: ev.WorkArrived(at, Work(Bag(1, ("true",)))))
    run.world.post(ev.StopRequested(0, "interrupted", "Ctrl-C"))
    work, stop = run.world.wait(None)
    assert isinstance(work, ev.WorkArrived)
    assert isinstance(stop, ev.StopRequested)
    assert work.at <= stop.at <= run.world.now()


def test_a_signal_handler_may_stop_a_run(lab):
    run = lab([("sleep", "60")])

    def handle(number, frame):
        run.world.post(lambda at: ev.StopRequested(at, "interrupted", "Ctrl-C", now=True))

    before = signal.signal(signal.SIGINT, handle)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        assert run.run().status == "interrupted"
    finally:
        signal.signal(signal.SIGINT, before)
        timer.join()


def test_time_never_runs_back_when_the_wall_clock_does(lab, tmp_path):
    run = lab([("true",)])
    run.state.now = 40 * SECOND
    in_an_hour = RunClock(run.state.now, (0, Clocks(time.time() + 3600, "", 0)))
    world = local_world(run.state, tmp_path / "o", clock=in_an_hour)
    assert 40 * SECOND <= world.now() < 41 * SECOND
    world.close()
    an_hour_ago = RunClock(run.state.now, (0, Clocks(time.time() - 3600, "", 0)))
    world = local_world(run.state, tmp_path / "o", clock=an_hour_ago)
    assert 3600 * SECOND <= world.now() < 3601 * SECOND
    world.close()


def test_nothing_comes_from_a_world_where_nothing_is_under_way(lab):
    assert lab(0).world.wait(None) == []


def test_an_output_directory_that_cannot_be_made_is_reported_in_one_line(lab, tmp_path):
    run = lab([("true",)])
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match=r"out: cannot write outputs there: .*directory"):
        run.run()


def test_a_task_may_delete_its_own_output_directory(lab):
    run = lab([sh('rm -r "$BURSAR_OUTPUT_DIR"')])
    assert run.run().status == "done"


def test_a_hundred_tasks_on_three_machines_leave_a_hundred_results(lab):
    run = lab([sh(f"echo {number}") for number in range(100)], slots=2)
    assert run.run(machines=3).status == "done"
    results = {(run.outputs / str(task) / "stdout").read_text() for task in range(1, 101)}
    assert results == {f"{number}\n" for number in range(100)}


def test_the_process_is_as_it_was_after_a_run(lab):
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    run = lab([("true",)])
    assert run.run().status == "done"
    del run
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 1
