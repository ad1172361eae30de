"""Workflows as real processes with real files."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time

import pytest

from bursar.journal.replay import load_state

WIDTH = 49


def hundred_tasks():
    """Split a text in 49, digest each part twice, and put it together: 100 tasks with files."""
    lines = ["name: digest", "tasks:"]

    def add(name, run, reads, writes):
        task = (
            f"run: {json.dumps(run)}, files: {{in: {json.dumps(reads)}, out: {json.dumps(writes)}}}"
        )
        lines.append(f"  {name}: {{{task}}}")

    parts = [f"part-{n:02}" for n in range(WIDTH)]
    add("split", f"split -n r/{WIDTH} -d -a 2 text part-", ["text"], parts)
    for part in parts:
        # Written slowly and by appending: what a killed attempt leaves would show.
        slow = f"for n in 1 2 3; do sleep 0.02; sha256sum {part} >> {part}.sum; done"
        add(f"sum-{part}", slow, [part], [f"{part}.sum"])
        add(f"rev-{part}", f"rev {part}.sum > {part}.rev", [f"{part}.sum"], [f"{part}.rev"])
    add("join", "cat part-*.rev > all", [f"{part}.rev" for part in parts], ["all"])
    return "\n".join(lines)


@pytest.fixture
def flow(place):
    place.write("flow.yaml", hundred_tasks())
    place.write("text", "".join(f"line {n}\n" for n in range(5_000)))
    return place


def written(directory):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.iterdir()
        if path.name.startswith(("part-", "all"))
    }


def test_a_workflow_of_a_hundred_tasks_survives_kills_with_the_same_files(flow):
    flow.bursar("run", "flow.yaml", "-q", "--name", "whole")
    whole = written(flow.path)
    assert len(whole) == 3 * WIDTH + 1
    for name in whole:
        (flow.path / name).unlink()
    process = flow.popen("run", "flow.yaml", "-q", "--name", "cut")
    journal = flow.path / ".bursar" / "cut" / "journal.db"
    kills = 0
    while kills < 4:
        time.sleep(0.5)
        if not journal.exists() or not any(flow.path.glob("part-*.sum")):
            continue
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        kills += 1
        state = load_state(journal)
        assert state.settled < state.total, "it was over before it could be killed"
        process = flow.popen("resume", "cut", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["tasks"] == {"total": 100, "done": 100, "failed": 0}
    assert written(flow.path) == whole
    state = load_state(journal)
    state.check()
    assert len(state.log) > state.total, "nothing was under way when it was killed"


def test_copied_files_come_to_the_same(flow):
    flow.bursar("run", "flow.yaml", "-q", "--name", "shared")
    flow.bursar("run", "flow.yaml", "-q", "--name", "copied", "--files", "copied")
    assert written(flow.outputs("copied") / "files") == written(flow.path)


def test_a_failure_stops_only_what_needs_it_and_can_be_mended(place):
    place.write(
        "flow.yaml",
        "tasks: {bad: {run: test -e mended}, after: {run: 'true', needs: bad},"
        " later: {run: 'true', needs: after}, good: {run: 'true'}}",
    )
    reported = place.json("run", "flow.yaml", "--name", "half", code=3)
    assert reported["tasks"] == {"total": 4, "done": 1, "failed": 1, "blocked": 2}
    _, err = place.bursar("resume", "half", code=3)
    assert "not started: 2 tasks that need a failed one" in err
    place.write("mended", "")
    reported = place.json("resume", "half", "--retry-failed")
    assert reported["tasks"] == {"total": 4, "done": 4, "failed": 0}


def test_a_task_that_does_not_write_its_file_has_failed(place):
    place.write("flow.yaml", "tasks: {lazy: {run: 'true', files: {out: promised}}}")
    _, err = place.bursar("run", "flow.yaml", code=3)
    assert "it exited with code 0, but did not write 'promised'" in err


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("tasks: {a: {run: 'true', needs: b}, b: {run: 'true', needs: a}}", "wait for each other"),
        ("tasks: {a: {run: cat x, files: {in: x}}}", "'a' reads 'x', which no task writes"),
        ("tasks: {a: {run: 'true'}, b: {runtime: 3s}}", "task 'b' has no command"),
        ("tasks: {}", "no tasks"),
        ("tasks: {a: {run: [no-such-program]}}", "'no-such-program' does not exist"),
    ],
)
def test_a_workflow_that_cannot_work_is_refused_in_one_line(place, text, reported):
    place.write("flow.yaml", text)
    _, err = place.bursar("run", "flow.yaml", code=2)
    assert reported in err
    assert err.count("\n") == 1
    assert not (place.path / ".bursar").exists()


def test_a_workflow_takes_no_arguments_and_no_policies_for_bags(place):
    place.write("flow.yaml", "tasks: {a: {run: 'true'}}")
    assert "leave out" in place.bursar("run", "flow.yaml", ":::", "1", code=2)[1]
    err = place.bursar("run", "flow.yaml", "--provisioner", "sample", code=2)[1]
    assert "for bags, not for workflows" in err


def test_one_task_disconnected_tasks_and_a_toml_file_will_do(place):
    place.write("one.yaml", "tasks: {only: {run: echo one}}")
    assert place.json("run", "one.yaml")["tasks"]["done"] == 1
    place.write("two.toml", '[tasks.a]\nrun = "true"\n[tasks.b]\nrun = "true"\n')
    assert place.json("run", "two.toml")["tasks"]["done"] == 2
    place.write("job.toml", 'workflow = "one.yaml"\nname = "named"\n')
    assert place.json("run", "job.toml")["run"] == "named"


def test_the_deadline_of_a_workflow_is_that_of_its_run(place):
    place.write("slow.yaml", "deadline: 1s\ntasks: {slow: {run: sleep 20}}")
    began = time.monotonic()
    place.bursar("run", "slow.yaml", code=5)
    assert time.monotonic() - began < 10


def test_attempts_of_one_task_must_not_write_the_same_files(place):
    place.write("flow.yaml", "tasks: {a: {run: touch x, files: {out: x}}}")
    words = ("run", "flow.yaml", "--replicator", "random")
    assert "--files copied" in place.bursar(*words, code=2)[1]
    assert place.json(*words, "--files", "copied")["tasks"]["done"] == 1


def test_the_tasks_of_a_workflow_know_where_they_are(place):
    place.write("flow.yaml", "tasks: {a: {run: echo $BURSAR_TASK > $BURSAR_OUTPUT_DIR/n}}")
    place.bursar("run", "flow.yaml", "--name", "env")
    assert (place.outputs("env") / "1" / "n").read_text() == f"1{os.linesep}"


@pytest.mark.parametrize("files", ["shared", "copied"])
def test_files_may_be_directories_also_when_a_task_is_tried_again(place, files):
    make = "mkdir made && echo 1 > made/one && test $BURSAR_ATTEMPT -gt 1"
    use = "cat made/one > used"
    place.write(
        "flow.yaml",
        f"tasks: {{make: {{run: '{make}', files: {{out: made}}}},"
        f" use: {{run: '{use}', files: {{in: made, out: used}}}}}}",
    )
    words = ("run", "flow.yaml", "--retries", "1", "--name", "dirs", "--files", files)
    assert place.json(*words)["tasks"]["done"] == 2
    found = place.path if files == "shared" else place.outputs("dirs") / "files"
    assert (found / "used").read_text() == "1\n"


def test_a_task_whose_files_cannot_be_prepared_fails_and_the_others_go_on(place):
    place.write(
        "flow.yaml",
        "tasks: {bad: {run: 'true', files: {out: file/below}}, good: {run: 'true'}}",
    )
    place.write("file", "")
    _, err = place.bursar("run", "flow.yaml", code=3)
    assert "1 of 2 tasks done" in err
    assert "cannot prepare the files of the task" in err


def test_a_program_may_be_made_by_another_task(place):
    build = "(echo '#!/bin/sh'; echo 'echo made > out') > prog; chmod +x prog"
    place.write(
        "flow.yaml",
        f'tasks: {{build: {{run: "{build}", files: {{out: prog}}}},'
        " use: {run: [./prog], files: {in: prog, out: out}}}",
    )
    place.bursar("run", "flow.yaml")
    assert (place.path / "out").read_text() == "made\n"


def test_a_deadline_alone_does_not_make_machines_free_of_charge(place):
    place.write("flow.yaml", "tasks: {a: {run: 'true', runtime: 1s}}")
    _, err = place.bursar("run", "flow.yaml", "-m", "market.toml", "--deadline", "1m")
    assert "1 task, no budget (storage and transfer are not included)" in err
    assert "committed without a budget\n" in err
    assert "free" not in err


def test_a_joblog_has_the_commands_of_a_workflow_as_they_would_be_typed(place):
    place.write("flow.yaml", "tasks: {a: {run: echo $HOME | wc}, b: {run: [echo, two words]}}")
    place.bursar("run", "flow.yaml", "--name", "logged")
    log = place.bursar("export", "logged", "--joblog", "-")[0].splitlines()
    commands = sorted(line.split("\t")[-1] for line in log[1:])
    assert commands == ["echo $HOME | wc", "echo 'two words'"]


ODD = """<adag name="odd">
<job id="a" name="find" runtime="12.5"><argument>-x</argument><uses file="e" link="output" size="-3"/></job>
<job id="b" name="find" runtime="11"><argument>-x</argument><uses file="e" link="output"/></job>
<job id="c" name="find" runtime="3"><argument>-x</argument><uses file="e" link="input"/></job>
<child ref="c"><parent ref="a"/><parent ref="b"/></child></adag>
"""  # noqa: E501


def test_formats_are_found_by_content_and_what_is_odd_is_a_caution(place):
    place.write("odd.xml", ODD)
    place.write(
        "trace.txt", "task_id\thash\tname\tstatus\trealtime\n1\ta/b\tA (1)\tCOMPLETED\t3s\n"
    )
    out, err = place.bursar("plan", "odd.xml", "--market", "market.toml")
    assert out.startswith("odd: 3 tasks.")
    assert "Caution: 1 file with several writers ('e' is written by 'a' and by 'b')" in err
    assert "Caution: 1 size below 0" in err
    _, err = place.bursar("simulate", "odd.xml", "--market", "market.toml", "--budget", "9")
    assert "Caution: 1 file with several writers" in err
    assert place.json("show", "odd.xml")["cautions"]
    assert place.bursar("plan", "trace.txt", "-m", "market.toml")[0].startswith("trace: 1 task.")


def test_a_file_with_several_writers_is_never_run(place):
    place.write("odd.xml", ODD)
    _, err = place.bursar("run", "odd.xml", code=2)
    assert err.count("\n") == 1
    assert "the file 'e' is written by 'a' and by 'b'" in err
    assert "planned and simulated, but not run" in err
    _, err = place.bursar("run", "--market", "market.toml", "--budget", "3", "odd.xml", code=2)
    assert "planned and simulated, but not run" in err
    assert not (place.path / ".bursar").exists()


def test_a_file_that_has_the_name_of_a_run_is_asked_for_by_its_path(place):
    place.bursar("run", "--name", "night", "-q", "true", ":::", "1")
    place.write("night", "tasks: {a: {run: 'true', runtime: 1s}}")
    for verb in (("plan", "-m", "market.toml", "night"), ("run", "night", "--choose", "knee")):
        _, err = place.bursar(*verb, code=2)
        assert "'night' is a workflow file here and the name of a run, too; write ./night" in err
    place.bursar("run", "-q", "./night")


NESTED = """
tasks:
  make: {run: "mkdir -p d; sleep 0.3; echo new > d/x", files: {out: d}}
  use: {run: cat d/x > used, files: {in: ./d/x, out: used}}
  one: {run: "sleep 0.3; echo 1 > parts/one", files: {out: parts/one}}
  two: {run: "sleep 0.3; echo 2 > parts/two", files: {out: ./parts//two}}
  all: {run: cat parts/* > all, files: {in: parts/, out: all}}
"""


@pytest.mark.parametrize("files", ["shared", "copied"])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_task_waits_for_what_lies_within_and_around_the_files_that_it_reads(place, files, is_old):
    place.write("nested.yaml", NESTED)
    if is_old:
        for name in ("d/x", "parts/one", "parts/mine"):
            (place.path / name).parent.mkdir(exist_ok=True)
            place.write(name, "old\n")
    place.bursar("run", "-q", "-j", "4", "--files", files, "--name", "r", "nested.yaml")
    results = place.path if files == "shared" else place.outputs("r") / "files"
    assert (results / "used").read_text() == "new\n"
    assert (results / "all").read_text() == ("old\n" if is_old else "") + "1\n2\n"
