"""Real runs among files of the user: nothing of theirs is moved, removed or written over."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from bursar.journal.replay import load_state


def flow(place, run, out, more=""):
    files = f"files: {{out: {json.dumps(out)}}}"
    place.write("flow.yaml", f"tasks: {{make: {{run: {json.dumps(run)}, {files}}}{more}}}")


def one_line(err):
    assert err.count("\n") == 1, err
    return err


def wait_for(path, limit=30.0):
    end = time.monotonic() + limit
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.01)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


# --- outputs that a workflow must not have --------------------------------------------------------


@pytest.mark.parametrize(
    "out", [".", "./", "..", "../..", "a/..", "/", ".bursar", "./.bursar/x", "sub/.bursar"]
)
def test_outputs_that_hold_everything_are_refused_when_the_file_is_read(place, out):
    flow(place, "true", out)
    for verb in ("run", "show"):
        _, err = place.bursar(verb, "flow.yaml", code=2)
        assert f"task 'make': it would write '{out}'" in one_line(err)
    assert not (place.path / ".bursar").exists()


@pytest.mark.parametrize("out", ["{here}", "{here}/..", "link", "home", "home/x/y"])
def test_outputs_that_turn_out_to_hold_everything_are_refused(place, out):
    (place.path / "link").symlink_to(place.path)
    place.environment["BURSAR_HOME"] = str(place.path / "home")
    flow(place, "true", out.format(here=place.path))
    _, err = place.bursar("run", "flow.yaml", code=2)
    assert "holds the runs or the directory that it runs in" in one_line(err)
    assert not (place.path / "home").exists()


# --- files of the user at outputs -----------------------------------------------------------------


def test_a_directory_of_the_user_survives_failures_kills_resumes_and_retries(place):
    """The user's own file lies in the output of a task that fails, and is cut off."""
    data = place.path / "data"
    data.mkdir()
    (data / "mine.txt").write_text("mine")
    outside = place.path.parent / f"mine-{place.path.name}.txt"
    outside.write_text("mine, too")
    script = (
        "echo x >> data/half; test -e go && echo done > data/result || { touch begun; sleep 9; }"
    )
    flow(place, script, ["data", f"../{outside.name}"])
    process = place.popen("run", "flow.yaml", "-q", "--name", "r", "--retries", "1")
    wait_for(place.path / "begun")
    kill(process)
    (place.path / "begun").unlink()
    process = place.popen("resume", "r", "-q")
    wait_for(place.path / "begun")
    process.send_signal(signal.SIGQUIT)
    process.communicate(timeout=30)
    place.write("go", "")
    place.bursar("resume", "r", "-q")
    assert (data / "mine.txt").read_text() == "mine"
    assert (data / "result").read_text() == "done\n"
    assert (data / "half").read_text() == "x\n" * 3, "nothing in it is touched"
    assert outside.read_text() == "mine, too"
    outside.unlink()


def test_what_a_killed_attempt_left_is_put_aside_and_what_came_later_stays(place):
    script = "echo x >> data/half; touch begun; test -e go || sleep 9"
    flow(place, f"mkdir -p data; {script}", "data")
    process = place.popen("run", "flow.yaml", "-q", "--name", "r")
    wait_for(place.path / "begun")
    kill(process)
    wait_for(place.outputs("r") / ".attempts" / "over")
    time.sleep(0.02)
    (place.path / "data" / "mine.txt").write_text("mine")
    place.write("go", "")
    _, err = place.bursar("resume", "r")
    assert (place.path / "data" / "half").read_text() == "x\n"
    assert (place.path / "data" / "mine.txt").read_text() == "mine"
    assert (place.outputs("r") / "leftovers" / "2" / "data" / "half").read_text() == "x\n"
    assert f"to check or remove: {place.outputs('r')}/leftovers" in err


def test_what_the_user_put_there_after_a_failure_stays_where_it_is(place):
    flow(place, "echo x >> made; test -e made2", ["made", "made2"])
    place.bursar("run", "flow.yaml", "-q", "--name", "r", code=3)
    assert (place.path / "made").read_text() == "x\n"
    (place.path / "made2").write_text("mine")
    place.bursar("resume", "r", "-q", "--retry-failed")
    assert (place.path / "made2").read_text() == "mine"
    assert (place.path / "made").read_text() == "x\n", "what the failed attempt wrote went aside"


@pytest.mark.parametrize("seed", range(2))
def test_a_run_killed_at_any_moment_leaves_the_users_files_alone(place, seed):
    """Files before, beside and in the outputs of 12 tasks; kills from the first moment on."""
    rng = Random(seed)
    tasks = {}
    for n in range(12):
        script = f"echo x >> d{n}/a; sleep 0.05; echo x >> d{n}/a; echo y >> f{n}"
        tasks[f"t{n}"] = {"run": f"mkdir -p d{n}; {script}", "files": {"out": [f"d{n}", f"f{n}"]}}
    place.write("flow.json", json.dumps({"tasks": tasks}))
    mine = {}
    for n in range(0, 12, 3):
        (place.path / f"d{n}").mkdir()
        mine[f"d{n}/mine"] = f"mine {n}"
        mine[f"f{n}"] = f"mine {n}\n"
    for name, text in mine.items():
        (place.path / name).write_text(text)
    words = ["run", "flow.json", "-q", "--name", "r"]
    for _ in range(8):
        process = place.popen(*words)
        time.sleep(0.15 + 0.7 * rng.random())
        kill(process)
        begun = (place.path / ".bursar/r/journal.db").exists() and has_begun(place)
        words = ["resume", "r", "-q"] if begun else words
    if words[0] == "run":
        place.bursar(*words)
    place.bursar("resume", "r", "-q")
    for name, text in mine.items():
        assert (place.path / name).read_text().startswith(text), name
    for n in range(12):
        if n % 3:
            assert (place.path / f"d{n}/a").read_text() == "x\nx\n", n
            assert (place.path / f"f{n}").read_text() == "y\n", n


def has_begun(place):
    out, _ = place.bursar("status", "--json")
    return any(run["status"] != "unreadable" for run in json.loads(out))


# --- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_task_that_replaces_its_directory_by_a_link_gets_nothing_removed(place, exit_code):
    precious = place.path / "precious"
    precious.mkdir()
    for name in ("stdout", "stderr", "other"):
        (precious / name).write_text("mine")
    place.script(
        "swap.sh",
        f'rm -r "$BURSAR_OUTPUT_DIR"; ln -s "$PWD/precious" "$BURSAR_OUTPUT_DIR"; exit {exit_code}',
    )
    code = 3 if exit_code else 0
    place.bursar("run", "-q", "--retries", "2", "./swap.sh", ":::", "1", "2", code=code)
    assert {path.name: path.read_text() for path in precious.iterdir()} == dict.fromkeys(
        ("stdout", "stderr", "other"), "mine"
    )


# --- one directory for results, one run -----------------------------------------------------------


def test_of_two_runs_with_one_output_the_second_is_refused_before_it_is_made(place):
    script = 'echo $BURSAR_RUN > "$BURSAR_OUTPUT_DIR/who"; sleep 1; : {}'
    words = ["--output", "out", "--shell", script, ":::", "1", "2", "3"]
    pair = [place.popen("run", "-q", "--name", name, *words) for name in ("one", "two")]
    reported = {p.args[6]: (p.communicate(timeout=60)[1], p.returncode) for p in pair}
    codes = sorted(code for _, code in reported.values())
    assert codes == [0, 2], reported
    (loser,) = [name for name, (_, code) in reported.items() if code == 2]
    (winner,) = {"one", "two"} - {loser}
    assert "choose another directory" in one_line(reported[loser][0])
    assert not (place.path / ".bursar" / loser).exists()
    who = {(place.path / "out" / str(task) / "who").read_text() for task in (1, 2, 3)}
    assert who == {f"{winner}\n"}


@pytest.mark.parametrize("kind", ["file", "below-a-file", "full", "in-a-run"])
def test_an_output_that_cannot_be_used_is_reported_before_the_run_is_made(place, kind):
    place.write("file", "")
    place.bursar("run", "-q", "--name", "before", "true", ":::", "1")
    output = {
        "file": "file",
        "below-a-file": "file/below",
        "full": ".",
        "in-a-run": ".bursar/before/outputs/x",
    }[kind]
    _, err = place.bursar("run", "-q", "--name", "r", "-o", output, "true", ":::", "1", code=2)
    one_line(err)
    assert [path.name for path in (place.path / ".bursar").iterdir()] == ["before"]
    assert not (place.path / ".bursar-run").exists()


def test_an_output_of_a_run_that_never_began_can_be_used_again(place):
    (place.path / "out").mkdir()
    (place.path / "out" / ".bursar-run").touch()
    place.bursar("run", "-q", "-o", "out", "--shell", "echo {}", ":::", "1")
    assert (place.path / "out" / "1" / "stdout").read_text() == "1\n"
    _, err = place.bursar("run", "-q", "-o", "out", "true", ":::", "1", code=2)
    assert "has files already" in err


# --- copies ---------------------------------------------------------------------------------------


def test_a_copy_of_a_live_run_does_no_harm_to_the_original(place):
    script = 'touch began; sleep 2; echo {} > "$BURSAR_OUTPUT_DIR/n"'
    process = place.popen("run", "-q", "--name", "orig", "--shell", script, ":::", "1", "2")
    wait_for(place.path / "began")
    home = place.path / ".bursar"
    shutil.copytree(home / "orig", home / "copy")
    place.bursar("resume", "copy", "-q")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    state = load_state(home / "orig" / "journal.db")
    assert (len(state.log), state.done) == (2, 2), "no attempt of the original was lost"
    for run in ("orig", "copy"):
        assert (home / run / "outputs" / "1" / "n").read_text() == "1\n"
    out, _ = place.bursar("status", "copy")
    assert f"results: {home}/copy/outputs" in out


def test_a_copy_of_a_live_run_that_shares_files_waits_for_the_original(place):
    flow(place, "echo x >> made; touch began; sleep 2; echo x >> made", "made")
    process = place.popen("run", "flow.yaml", "-q", "--name", "orig")
    wait_for(place.path / "began")
    home = place.path / ".bursar"
    shutil.copytree(home / "orig", home / "copy")
    _, err = place.bursar("resume", "copy", "-q", code=2)
    assert "is a copy of a run that is running" in one_line(err)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert (place.path / "made").read_text() == "x\nx\n"


def test_a_run_that_was_moved_finds_its_results(place):
    words = ("run", "-q", "--name", "r", "--shell", "echo {}; test {} = 1 -o -e go")
    place.bursar(*words, ":::", "1", "2", code=3)
    (place.path / ".bursar").rename(place.path / "elsewhere")
    place.environment["BURSAR_HOME"] = "elsewhere"
    place.write("go", "")
    place.bursar("resume", "r", "-q", "--retry-failed")
    outputs = place.path / "elsewhere" / "r" / "outputs"
    assert [(outputs / task / "stdout").read_text() for task in ("1", "2")] == ["1\n", "2\n"]
    assert not (place.path / ".bursar").exists()


def test_a_relative_home_is_found_from_another_directory(place):
    """Resumed elsewhere, a run goes to its own directory, and its home is still found."""
    (place.path / "work").mkdir()
    script = "test -e go && pwd"
    place.environment["BURSAR_HOME"] = "../home"
    start = [sys.executable, "-m", "bursar"]
    options = {"env": place.environment, "capture_output": True, "text": True}
    words = [*start, "run", "-q", "--name", "r", "--shell", script, ":::", "1"]
    done = subprocess.run(words, cwd=place.path / "work", check=False, **options)
    assert done.returncode == 3
    (place.path / "work" / "go").touch()
    place.environment["BURSAR_HOME"] = "home"
    words = [*start, "resume", "r", "--retry-failed"]
    done = subprocess.run(words, cwd=place.path, check=False, **options)
    assert done.returncode == 0, done.stderr
    reported = Path(place.path / "home" / "r" / "outputs" / "1" / "stdout").read_text()
    assert reported == f"{place.path / 'work'}\n"
    assert [path.name for path in (place.path / "work").iterdir()] == ["go"]
