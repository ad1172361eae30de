"""What stands where a workflow's tasks write, when one of them is tried again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from bursar.execute.clock import read_clocks
from bursar.execute.leftovers import find_files
from bursar.execute.outputs import Outputs
from bursar.execute.staging import staging_of
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state import events as ev
from bursar.state.state import RunState


class Story:
    """A run in real time with a workflow of tasks that write these files, and one machine."""

    def __init__(self, tmp_path, *writes, looked=True):
        self.directory = tmp_path / "here"
        self.directory.mkdir(exist_ok=True)
        self.outputs = Outputs(tmp_path / "outputs")
        self.outputs.prepare()
        work = WorkflowBuilder("flow")
        for number, names in enumerate(writes):
            work.task(f"t{number}", run="true", writes=names)
        flow = Workflow.of(work.build())
        self.state = RunState()
        clocks = read_clocks()
        self._began = clocks.uptime
        market = Market("USD", "undated", (Offer("any", ZERO, slots=9),))
        created = ev.RunCreated(0, "r", market, Goal(), Limits(9), 0, {}, {}, clocks.wall, clocks)
        found = [find_files(flow, self.directory)] if looked else []
        for event in (
            created,
            ev.WorkArrived(0, Work(flow)),
            *found,
            ev.MachineRented(0, 1, "any", 9 * HOUR),
            ev.MachineUp(0, 1),
        ):
            self.state.apply(event)
        self.staging = staging_of(self.state, "shared", self.directory, self.outputs)

    @property
    def now(self):
        return read_clocks().uptime - self._began

    def start(self, task=1):
        attempt = len(self.state.log) + 1
        self.state.apply(ev.AttemptStarted(self.now, attempt, task, 1))
        self.staging.prepare(task, attempt)
        return attempt

    def end(self, attempt, outcome="failed"):
        self.state.apply(ev.AttemptEnded(self.now, attempt, outcome))
        time.sleep(0.02)  # the clock of a file system has steps of up to ten milliseconds

    def crash(self, cut_off=0.0):
        """Kill bursar, and take the run up again: what ran is gone."""
        time.sleep(0.02)
        self.state.apply(ev.RunResumed(self.now, read_clocks(), cut_off=cut_off))
        self.state.apply(ev.MachineDown(self.now, 1, "lost"))
        self.state.apply(ev.MachineRented(self.now, 2, "any", self.now + HOUR))
        self.state.apply(ev.MachineUp(self.now, 2))
        self.staging = staging_of(self.state, "shared", self.directory, self.outputs)

    def retry(self, task=1):
        attempt = len(self.state.log) + 1
        machine = max(self.state.machines)
        self.state.apply(ev.AttemptStarted(self.now, attempt, task, machine))
        self.staging.prepare(task, attempt)

    def write(self, name, text="half"):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def there(self):
        return texts(self.directory)

    def aside(self):
        found = texts(self.outputs.root / "leftovers")
        return {name.partition("/")[2]: text for name, text in found.items()}


def texts(directory):
    return {
        str(path.relative_to(directory)): path.read_text()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_what_a_failed_attempt_left_goes_aside_before_the_next(tmp_path):
    story = Story(tmp_path, ["sub/made", "sub/more"])
    attempt = story.start()
    story.write("sub/made")
    story.end(attempt)
    story.retry()
    assert story.there() == {}
    assert story.aside() == {"sub/made": "half"}


def test_what_a_cut_off_attempt_left_goes_aside_before_the_next(tmp_path):
    story = Story(tmp_path, ["made"])
    story.start()
    story.write("made/half")
    story.write("made/deep/er")
    story.crash()
    story.retry()
    assert story.there() == {}
    assert not (story.directory / "made").exists()
    assert story.aside() == {"made/half": "half", "made/deep/er": "half"}


def test_every_retry_puts_aside_what_the_one_before_it_left(tmp_path):
    story = Story(tmp_path, ["made"])
    for text in "123":
        attempt = story.start()
        assert story.there() == {}
        story.write("made", text)
        story.end(attempt)
    story.crash()
    story.retry()
    assert story.there() == {}
    found = (story.outputs.root / "leftovers").glob("*/made")
    assert sorted(path.read_text() for path in found) == ["1", "2", "3"]


@pytest.mark.parametrize("name", ["data", "data/", "./data", "x/../data"])
def test_what_stood_there_before_the_run_stays_with_all_that_is_in_it(tmp_path, name):
    directory = tmp_path / "here" / "data"
    directory.mkdir(parents=True)
    (directory / "mine").write_text("mine")
    (tmp_path / "here" / "x").mkdir()
    story = Story(tmp_path, [name])
    attempt = story.start()
    story.write("data/half")
    story.end(attempt)
    story.crash()
    story.retry()
    assert story.there() == {"data/mine": "mine", "data/half": "half"}


def test_a_file_outside_that_stood_there_stays_and_another_goes_aside(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    story = Story(tmp_path, ["../mine.txt", "../made.txt", f"{tmp_path}/abs.txt"])
    attempt = story.start()
    story.write("../mine.txt", "written over by the task itself")
    story.write("../made.txt")
    story.write("../abs.txt")
    story.end(attempt)
    story.retry()
    assert (tmp_path / "mine.txt").exists()
    assert not (tmp_path / "made.txt").exists()
    assert not (tmp_path / "abs.txt").exists()
    assert sorted(Path(name).name for name in story.aside()) == ["abs.txt", "made.txt"]


def test_what_somebody_put_there_after_an_attempt_has_ended_stays(tmp_path):
    story = Story(tmp_path, ["made", "data"])
    attempt = story.start()
    story.write("data/half")
    story.end(attempt)
    story.write("made", "mine")
    story.write("data/mine", "mine")
    story.retry()
    assert story.there() == {"made": "mine", "data/mine": "mine"}
    assert story.aside() == {"data/half": "half"}


def test_what_somebody_moved_there_after_an_attempt_has_ended_stays(tmp_path):
    story = Story(tmp_path, ["made"])
    (tmp_path / "old").write_text("mine")
    os.utime(tmp_path / "old", (1, 1))
    attempt = story.start()
    story.end(attempt)
    (tmp_path / "old").rename(story.directory / "made")
    story.retry()
    assert story.there() == {"made": "mine"}


def test_what_somebody_put_there_after_a_crash_was_seen_stays(tmp_path):
    story = Story(tmp_path, ["data"])
    story.start()
    story.write("data/half")
    time.sleep(0.02)
    seen = time.time()
    time.sleep(0.02)
    story.write("data/mine", "mine")
    story.crash(cut_off=seen)
    story.retry()
    assert story.there() == {"data/mine": "mine"}
    assert story.aside() == {"data/half": "half"}


def test_what_was_put_there_after_a_crash_that_nobody_saw_is_not_lost(tmp_path):
    story = Story(tmp_path, ["data"])
    story.start()
    story.write("data/mine", "mine")
    story.crash()
    story.retry()
    assert {**story.there(), **story.aside()} == {"data/mine": "mine"}


def test_what_other_tasks_write_stays_also_within_a_directory(tmp_path):
    story = Story(tmp_path, ["data"], ["data/other"])
    first, second = story.start(1), story.start(2)
    story.write("data/half")
    story.write("data/other", "result")
    story.end(second, "success")
    story.end(first)
    story.retry()
    assert story.there() == {"data/other": "result"}
    assert story.aside() == {"data/half": "half"}


def test_a_link_goes_aside_and_not_what_it_leads_to(tmp_path):
    story = Story(tmp_path, ["made"])
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "mine").write_text("mine")
    attempt = story.start()
    (story.directory / "made").symlink_to(tmp_path / "precious")
    story.end(attempt)
    story.retry()
    assert not (story.directory / "made").is_symlink()
    assert (tmp_path / "precious" / "mine").read_text() == "mine"


def test_nothing_is_reached_through_a_link_that_an_attempt_made(tmp_path):
    story = Story(tmp_path, ["sub/made"])
    attempt = story.start()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "made").write_text("mine")
    (story.directory / "sub").rmdir()
    (story.directory / "sub").symlink_to(tmp_path / "precious")
    story.end(attempt)
    story.retry()
    assert (tmp_path / "precious" / "made").read_text() == "mine"


def test_outputs_behind_a_link_of_the_user_are_found(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "data").symlink_to(tmp_path / "scratch")
    story = Story(tmp_path, ["data/made"])
    attempt = story.start()
    story.write("data/made")
    story.end(attempt)
    story.retry()
    assert not (tmp_path / "scratch" / "made").exists()
    assert story.aside() == {"data/made": "half"}


def test_of_a_run_that_nobody_looked_at_before_everything_stays(tmp_path):
    story = Story(tmp_path, ["made"], looked=False)
    attempt = story.start()
    story.write("made")
    story.end(attempt)
    story.retry()
    assert story.there() == {"made": "half"}


def test_on_another_file_system_it_goes_out_of_sight_beside_where_it_was(tmp_path, monkeypatch):
    story = Story(tmp_path, ["made"])
    attempt = story.start()
    story.write("made")
    story.end(attempt)
    rename = os.rename

    def refuse(source, target, *, src_dir_fd, dst_dir_fd):
        if src_dir_fd != dst_dir_fd:
            raise OSError(18, "Invalid cross-device link")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", refuse)
    story.retry()
    assert story.there() == {".made.r-2": "half"}


def test_a_clock_that_was_set_back_before_a_resume_does_not_matter(tmp_path):
    story = Story(tmp_path, ["made"])
    created = story.state.created
    late = ev.Clocks(created.began + 3600, "", 0)
    story.state.created = msgspec.structs.replace(created, began=late.wall, clocks=late)
    story.state.periods[0] = (0, story.state.created)
    story.crash()
    story.retry()
    story.write("made")
    story.end(1)
    story.retry()
    assert story.there() == {}
    assert story.aside() == {"made": "half"}


def test_what_a_task_of_a_later_work_wrote_stays(tmp_path):
    run = Story(tmp_path, ["d"])
    first = run.start()
    run.write("d/mine")
    run.end(first)
    later = WorkflowBuilder("later")
    later.task("other", run="true", writes=["d/theirs"])
    run.state.apply(ev.WorkArrived(run.now, Work(Workflow.of(later.build()))))
    other = run.start(2)
    run.write("d/theirs", "whole")
    run.end(other, "success")
    run.end(run.start())
    run.start()
    assert run.there() == {"d/theirs": "whole"}
    assert run.aside() == {"d/mine": "half"}
