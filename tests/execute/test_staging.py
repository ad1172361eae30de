from __future__ import annotations

import os
import resource
import subprocess

import pytest

from bursar.execute.clock import read_clocks
from bursar.execute.outputs import Outputs
from bursar.execute.staging import check_files, publish_all, staging_of
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state import events as ev
from bursar.testing import Scene


@pytest.fixture
def flow():
    work = WorkflowBuilder("two")
    work.task(
        "make",
        run="cp seed sub/made; echo more > sub/more",
        reads=["seed"],
        writes=["sub/made", "sub/more"],
    )
    work.task("use", run="cat sub/made > used", reads=["sub/made"], writes=["used"])
    return Workflow.of(work.build())


@pytest.fixture
def place(tmp_path, flow):
    directory = tmp_path / "here"
    directory.mkdir()
    (directory / "seed").write_text("seed\n")
    outputs = Outputs(tmp_path / "outputs")
    outputs.prepare()
    scene = Scene(Offer("any", ZERO), arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(flow)))
    scene.machine()
    return directory, outputs, scene


def execute(command, directory):
    return subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)


def perform(place, staging, task):
    """One attempt from its start to the end that the world gives it."""
    directory, outputs, scene = place
    attempt = scene.start(task, 1)
    command = staging.prepare(task, attempt)
    outputs.of(attempt).mkdir(exist_ok=True)
    done = execute(command, directory)
    assert done.returncode == 0, done.stderr
    assert staging.lacking(task, attempt) == []
    scene.end(attempt)
    outputs.keep(task, attempt)
    return attempt


def test_shared_files_are_read_and_written_where_bursar_was_called(place):
    directory, outputs, scene = place
    staging = staging_of(scene.state, "shared", directory, outputs)
    perform(place, staging, 1)
    perform(place, staging, 2)
    assert (directory / "used").read_text() == "seed\n"


def test_files_that_were_there_before_the_first_attempt_stay(place):
    directory, outputs, scene = place
    (directory / "sub").mkdir()
    (directory / "sub" / "made").write_text("of yesterday")
    staging_of(scene.state, "shared", directory, outputs).prepare(1, 1)
    assert (directory / "sub" / "made").read_text() == "of yesterday"


def test_copied_files_never_touch_the_directory_of_the_workflow(place):
    directory, outputs, scene = place
    staging = staging_of(scene.state, "copied", directory, outputs)
    perform(place, staging, 1)
    staging.publish(1)
    perform(place, staging, 2)
    staging.publish(2)
    assert sorted(path.name for path in directory.iterdir()) == ["seed"]
    assert (outputs.root / "files" / "used").read_text() == "seed\n"
    assert not (outputs.root / "2" / "files" / "sub" / "made").exists()


def test_what_a_crash_kept_from_being_published_is_published_on_resume(place):
    directory, outputs, scene = place
    staging = staging_of(scene.state, "copied", directory, outputs)
    perform(place, staging, 1)
    for _ in range(2):
        publish_all(scene.state, staging)
        assert (outputs.root / "files" / "sub" / "made").read_text() == "seed\n"
    perform(place, staging, 2)


def test_what_was_done_before_the_run_was_taken_up_the_last_time_is_not_published_again(place):
    directory, outputs, scene = place
    staging = staging_of(scene.state, "copied", directory, outputs)
    perform(place, staging, 1)
    made = outputs.root / "files" / "sub" / "made"
    clocks = read_clocks()
    scene.tell(ev.RunResumed(scene.state.now + 1, clocks))
    made.unlink(missing_ok=True)
    publish_all(scene.state, staging)
    assert made.exists(), "the process before may have died while it was published"
    scene.tell(ev.RunResumed(scene.state.now + 1, clocks))
    made.unlink(missing_ok=True)
    publish_all(scene.state, staging)
    assert not made.exists()


def test_a_command_that_does_not_exist_fails_as_in_a_shell(place):
    directory, outputs, scene = place
    work = WorkflowBuilder("bad")
    work.task("bad", run=["no-such-program"])
    scene.tell(ev.WorkArrived(0, Work(Workflow.of(work.build()))))
    staging = staging_of(scene.state, "copied", directory, outputs)
    done = execute(staging.prepare(3, 1), directory)
    assert done.returncode == 127
    assert "no-such-program" in done.stderr


def test_an_input_that_vanished_is_reported(place):
    directory, outputs, scene = place
    (directory / "seed").unlink()
    staging = staging_of(scene.state, "copied", directory, outputs)
    done = execute(staging.prepare(1, 1), directory)
    assert done.returncode == 126
    assert "seed" in done.stderr


def test_a_file_that_nobody_writes_must_be_there(tmp_path, flow):
    with pytest.raises(InputError, match="'make' reads 'seed', which no task writes"):
        check_files(flow, "shared", tmp_path)
    (tmp_path / "seed").touch()
    check_files(flow, "shared", tmp_path)


URL = "https://data.example.org/large.fa"


@pytest.mark.parametrize("mode", ["shared", "copied"])
def test_what_has_a_url_is_fetched_by_the_task_and_is_no_file(tmp_path, mode):
    work = WorkflowBuilder("one")
    work.task("use", run=f"echo {URL} > used", reads=[URL], writes=["used"])
    flow = Workflow.of(work.build())
    check_files(flow, mode, tmp_path)
    outputs = Outputs(tmp_path / "outputs")
    outputs.prepare()
    scene = Scene(Offer("any", ZERO), arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(flow)))
    scene.machine()
    perform((tmp_path, outputs, scene), staging_of(scene.state, mode, tmp_path, outputs), 1)


def test_a_url_cannot_be_written(tmp_path):
    work = WorkflowBuilder("one")
    work.task("put", run="true", writes=[URL])
    with pytest.raises(InputError, match=r"task 'put' writes 'https://.*, which is not a file"):
        check_files(Workflow.of(work.build()), "shared", tmp_path)


@pytest.mark.parametrize("name", ["/etc/out", "../out", "a/../../out"])
def test_files_outside_of_the_directory_are_not_copied(tmp_path, name):
    work = WorkflowBuilder("out")
    work.task("out", run="true", writes=[name])
    flow = Workflow.of(work.build())
    check_files(flow, "shared", tmp_path)
    with pytest.raises(InputError, match="outside"):
        check_files(flow, "copied", tmp_path)


def test_there_are_two_ways_to_files(tmp_path, flow):
    with pytest.raises(InputError, match="shared or copied"):
        check_files(flow, "linked", tmp_path)


# --- directories, links, and what is in the way ---------------------------------------------------


def stage_for(tmp_path, mode, *tasks):
    """A place and its staging for tasks of (command, reads, writes)."""
    work = WorkflowBuilder("flow")
    for number, (run, reads, writes) in enumerate(tasks):
        work.task(f"t{number}", run=run, reads=reads, writes=writes)
    directory = tmp_path / "here"
    directory.mkdir(exist_ok=True)
    outputs = Outputs(tmp_path / "outputs")
    outputs.prepare()
    scene = Scene(Offer("any", ZERO), arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(Workflow.of(work.build()))))
    scene.machine()
    return (directory, outputs, scene), staging_of(scene.state, mode, directory, outputs)


def perform_all(place, staging, tasks):
    for task in range(1, tasks + 1):
        perform(place, staging, task)
        staging.publish(task)
    return place[1].root / "files"


def test_a_directory_is_copied_and_published_as_a_whole(tmp_path):
    make = "mkdir -p made/sub; echo 1 > made/a; echo 2 > made/sub/b"
    use = "cat made/a made/sub/b > all"
    place, staging = stage_for(tmp_path, "copied", (make, [], ["made"]), (use, ["made"], ["all"]))
    files = perform_all(place, staging, 2)
    assert (files / "all").read_text() == "1\n2\n"


def test_what_a_crash_left_of_a_directory_is_completed_on_resume(tmp_path):
    make = "mkdir made; echo 1 > made/a; echo 2 > made/b"
    place, staging = stage_for(tmp_path, "copied", (make, [], ["made"]))
    files = perform_all(place, staging, 1)
    (files / "made" / "b").unlink()
    publish_all(place[2].state, staging)
    assert sorted(path.name for path in (files / "made").iterdir()) == ["a", "b"]


def test_what_is_written_into_a_directory_that_is_read_is_kept(tmp_path):
    place, staging = stage_for(
        tmp_path,
        "copied",
        ("cat d/in > d/out", ["d"], ["d/out"]),
        ("cat d/in > again", ["d"], ["again"]),
    )
    (place[0] / "d").mkdir()
    (place[0] / "d" / "in").write_text("in\n")
    files = perform_all(place, staging, 2)
    assert (files / "d" / "out").read_text() == "in\n"
    assert (files / "again").read_text() == "in\n", "nobody writes d: it is that of the user"


def test_what_a_link_leads_to_is_published_and_not_the_link(tmp_path):
    make = "ln -s seed link; mkdir d; ln -s ../seed d/link; ln -s nowhere d/astray"
    place, staging = stage_for(
        tmp_path,
        "copied",
        (make, ["seed"], ["link", "d"]),
        ("cat link d/link > all", ["link", "d"], ["all"]),
    )
    (place[0] / "seed").write_text("seed\n")
    files = perform_all(place, staging, 2)
    assert (files / "all").read_text() == "seed\nseed\n"
    assert not (files / "link").is_symlink()


@pytest.mark.parametrize("leads", [".", "..", "../..", "../../../..", "/"])
def test_a_link_to_a_directory_that_holds_it_is_not_followed(tmp_path, leads):
    """As `latest -> .`: publishing it would have no end, nor would reading it."""
    make = f"mkdir -p made/sub; echo 1 > made/sub/a; ln -s {leads} made/sub/back"
    use = "ls made/sub > all; cat made/sub/a >> all"
    place, staging = stage_for(tmp_path, "copied", (make, [], ["made"]), (use, ["made"], ["all"]))
    files = perform_all(place, staging, 2)
    assert (files / "all").read_text() == "a\n1\n"


def test_links_across_are_followed_once(tmp_path):
    make = "mkdir -p made/x made/y; echo 1 > made/x/a; ln -s ../y made/x/y; ln -s ../x made/y/x"
    use = "cat made/y/x/a > all; test ! -e made/y/x/y"
    place, staging = stage_for(tmp_path, "copied", (make, [], ["made"]), (use, ["made"], ["all"]))
    assert (perform_all(place, staging, 2) / "all").read_text() == "1\n"


def test_a_link_to_a_directory_elsewhere_stays_one_and_readers_get_copies(tmp_path):
    """The run does not copy what may be terabytes."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "large").write_text("large\n")
    make = f"mkdir made; ln -s {tmp_path}/data made/data; ln -s {tmp_path}/data whole"
    use = "cat made/data/large whole/large > all; echo mine > made/data/large"
    place, staging = stage_for(
        tmp_path, "copied", (make, [], ["made", "whole"]), (use, ["made", "whole"], ["all"])
    )
    files = perform_all(place, staging, 2)
    assert (files / "all").read_text() == "large\nlarge\n"
    assert (files / "made" / "data").is_symlink()
    assert (tmp_path / "data" / "large").read_text() == "large\n"


def test_devices_and_pipes_are_not_copied(tmp_path):
    """They have no end."""
    make = (
        "mkdir made; mkfifo made/pipe; ln -s /dev/zero made/zero; ln -s /dev/zero zero; echo 1 > a"
    )
    place, staging = stage_for(
        tmp_path,
        "copied",
        (f"{make}; echo 1 > a", [], ["made", "zero", "a"]),
        ("ls made | wc -l > all; cat a >> all", ["made", "a"], ["all"]),
        ("true", ["zero"], ["none"]),
    )
    files = perform_all(place, staging, 2)
    assert (files / "all").read_text() == "0\n1\n"
    attempt = place[2].start(3, 1)
    done = execute(staging.prepare(3, attempt), place[0])
    assert (done.returncode, "cannot copy the files of the task" in done.stderr) == (126, True)


def test_tasks_that_are_in_the_way_of_each_other_do_not_end_the_run(tmp_path):
    """One writes a file, the other a directory of that name."""
    deep = "/".join(["d" * 200] * 15)
    place, staging = stage_for(
        tmp_path,
        "copied",
        ("echo 1 > p", [], ["p"]),
        ("mkdir p; echo 2 > p/q", [], ["p/q"]),
        (f"mkdir -p o/{deep} && cd o && chmod 0 . && echo 3 > ../a", [], ["o", "a"]),
    )
    files = perform_all(place, staging, 3)
    assert (files / "p").read_text() == "1\n"
    assert (files / "a").read_text() == "3\n"


def test_what_a_link_in_the_place_of_a_copy_leads_to_is_left_alone(tmp_path):
    """A task puts a link to the user's directory where the copies of what it reads were."""
    swap = f"rm -r d; ln -s {tmp_path}/precious d; echo 1 > made"
    place, staging = stage_for(tmp_path, "copied", (swap, ["d/in"], ["made"]))
    for directory in (place[0] / "d", tmp_path / "precious"):
        directory.mkdir()
        (directory / "in").write_text("mine")
    perform_all(place, staging, 1)
    assert (tmp_path / "precious" / "in").read_text() == "mine"
    assert (place[0] / "d" / "in").read_text() == "mine"


def test_a_result_named_like_a_part_of_another_is_kept(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    make = "echo part > made.part; echo whole > made"
    place, staging = stage_for(tmp_path, "copied", (make, [], ["made.part", "made"]))
    monkeypatch.setattr(os, "link", refuse)
    files = perform_all(place, staging, 1)
    assert (files / "made.part").read_text() == "part\n"
    assert (files / "made").read_text() == "whole\n"


def test_files_are_copied_where_there_are_no_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    place, staging = stage_for(tmp_path, "copied", ("echo 1 > made", [], ["made"]))
    monkeypatch.setattr(os, "link", refuse)
    files = perform_all(place, staging, 1)
    assert (files / "made").read_text() == "1\n"
    assert [path.name for path in files.iterdir()] == ["made"]


def test_a_copy_that_was_cut_off_is_not_taken_for_the_file(tmp_path, monkeypatch):
    """Files appear as a whole: what the disk has no room for today is copied on resume."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    long = 100_000
    place, staging = stage_for(
        tmp_path, "copied", (f"head -c {long} /dev/zero > made", [], ["made"])
    )
    monkeypatch.setattr(os, "link", refuse)
    perform(place, staging, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (long // 2, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot keep what task 1 wrote"):
            staging.publish(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    target = place[1].root / "files" / "made"
    assert not target.exists()
    publish_all(place[2].state, staging)
    assert target.stat().st_size == long
    assert [path.name for path in target.parent.iterdir()] == ["made"]


def test_what_cannot_be_published_is_reported_in_one_line(tmp_path):
    place, staging = stage_for(tmp_path, "copied", ("echo 1 > made", [], ["made"]))
    (place[1].root / "files").write_text("in the way")
    perform(place, staging, 1)
    with pytest.raises(InputError, match=r"cannot keep what task 1 wrote: .* bursar resume"):
        staging.publish(1)


def test_results_that_somebody_tidied_up_are_no_obstacle_to_a_resume(tmp_path):
    place, staging = stage_for(tmp_path, "copied", ("echo 1 > made", [], ["made"]))
    perform(place, staging, 1)
    (place[1].root / "1" / "files" / "made").unlink()
    publish_all(place[2].state, staging)
    assert not (place[1].root / "files" / "made").exists()


def test_a_name_that_no_file_can_have_is_one_that_lacks(tmp_path):
    long = "x" * 300
    work = WorkflowBuilder("long")
    work.task("long", run="true", reads=[long])
    with pytest.raises(InputError, match="which no task writes"):
        check_files(Workflow.of(work.build()), "shared", tmp_path)
    _, staging = stage_for(tmp_path, "copied", ("true", [], [long]))
    assert staging.lacking(1, 1) == [long]
