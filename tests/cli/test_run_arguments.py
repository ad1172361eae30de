"""Where arguments come from, and how many tasks run at once: what users of GNU parallel type."""

import json
import os
import subprocess

import pytest

from bursar.cli import run
from bursar.cli.gnu_options import HINTS


def fed(place, data, *words, code=0):
    """Run with this on standard input."""
    process = place.popen(*words, stdin=subprocess.PIPE)
    out, err = process.communicate(data, timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return out, err


def printed(place, run):
    """What the tasks printed, in their order."""
    paths = sorted(place.outputs(run).glob("[0-9]*/stdout"), key=lambda path: int(path.parent.name))
    return [path.read_text() for path in paths]


def test_arguments_come_from_standard_input_where_there_are_none(place):
    fed(place, "a\nb c\n", "run", "--name", "r", "-q", "echo", "<{}>")
    assert printed(place, "r") == ["<a>\n", "<b c>\n"]
    fed(place, "x\0y\nz\0", "run", "--name", "nul", "-q", "-0", "echo")
    assert printed(place, "nul") == ["x\n", "y\nz\n"]
    (place.path / "list").write_text("1\n2\n")
    with (place.path / "list").open() as file:
        place.popen("run", "--name", "file", "-q", "echo", stdin=file).communicate(timeout=60)
    assert printed(place, "file") == ["1\n", "2\n"]


def test_standard_input_is_left_alone_where_arguments_are_given(place):
    fed(place, "never\n", "run", "--name", "r", "-q", "echo", ":::", "a")
    fed(place, "never\n", "run", "--name", "n", "-q", "--repeat", "2", "echo", "x")
    place.write("grid.csv", "n\n5\n")
    fed(place, "never\n", "run", "--name", "p", "-q", "--params", "grid.csv", "echo")
    assert [printed(place, run) for run in ("r", "n", "p")] == [["a\n"], ["x\n"] * 2, ["5\n"]]


def test_a_terminal_or_nothing_at_all_is_no_list(place):
    for stdin in (subprocess.DEVNULL, os.openpty()[1]):
        process = place.popen("run", "true", stdin=stdin)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "the command has no arguments: give them after ':::'" in err
    process = place.popen("run", "true", preexec_fn=lambda: os.close(0))
    assert "the command has no arguments" in process.communicate(timeout=60)[1]


def test_an_empty_list_is_done_at_once(place):
    for words in (("run", "true", ":::"), ("run", "true"), ("plan", "true", ":::")):
        _, err = fed(place, "", *words)
        assert err.endswith("the list of arguments is empty: nothing to do\n")
        assert err.count("\n") == 1
    assert fed(place, "", "run", "-q", "true") == ("", "")
    out, _ = fed(place, "", "run", "--json", "true")
    assert json.loads(out)["tasks"] == {"total": 0, "done": 0, "failed": 0}
    assert not (place.path / ".bursar").exists()


def test_so_many_tasks_run_at_once(place):
    count = "echo $(ls -d run-* 2>/dev/null | wc -l) {%}"
    script = f"mkdir run-{{#}}; sleep 0.4; {count}; sleep 0.4; rmdir run-{{#}}"
    place.bursar("run", "-j", "3", "--name", "r", "-q", "--shell", script, ":::", *"abcdef")
    reported = [line.split() for line in printed(place, "r")]
    assert max(int(at_once) for at_once, _ in reported) == 3
    assert {slot for _, slot in reported} == {"1", "2", "3"}


@pytest.mark.parametrize("jobs", ["x", "-x", "1.5", "1e3", "1001", "٣", "", "9999999%"])
def test_a_number_of_jobs_that_cannot_be_is_refused(place, jobs):
    _, err = place.bursar("run", "-j", jobs, "true", ":::", "1", code=2)
    assert err.startswith("bursar: --jobs: ")
    assert err.count("\n") == 1


def test_a_market_has_its_own_number_of_machines(place):
    words = ("run", "-m", "market.toml", "-b", "1", "-j", "2", "true", ":::", "1")
    _, err = place.bursar(*words, code=2)
    assert "-j is for this computer; with a market or a cluster, use --fleet" in err


def test_options_behind_the_arguments_are_reported_of(place):
    _, err = place.bursar("run", "--name", "r", "echo", ":::", "a", "--retries", "5", "-j", "--x")
    assert "note: --retries, -j after ':::' is an argument of tasks; options of bursar come" in err
    assert printed(place, "r") == ["a\n", "--retries\n", "5\n", "-j\n", "--x\n"]


def test_a_dry_run_prints_the_commands_and_makes_no_run(place):
    place.write("flow.yaml", "tasks: {a: {run: [echo, x y]}, b: {run: 'echo > z', needs: a}, c: }")
    out, err = place.bursar("run", "--dry-run", "flow.yaml")
    assert (out, err) == ("echo 'x y'\necho > z\n# c: no command\n", "")
    out, _ = place.bursar("run", "-m", "market.toml", "--dry-run", "./none {}", ":::", "a b", "c")
    assert out == "./none 'a b'\n./none c\n"
    assert not (place.path / ".bursar").exists()


def test_columns_must_be_as_many_in_every_line(place):
    _, err = place.bursar("run", "-C", ",", "echo", ":::", "a,b", "c", code=2)
    assert "argument 2 has 1 column, the first 2; all need the same number" in err
    _, err = place.bursar("run", "-C", "(", "echo", ":::", "a", code=2)
    assert "--colsep: '(' is not a regular expression" in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-k", "echo", ":::", "1"], "no option -k: the output of each task has a directory"),
        (["--joblog", "log", "echo", ":::", "1"], "no option --joblog: bursar export RUN --joblog"),
        (["-N2", "echo", ":::", "1"], "no option -N: each argument is one task"),
        (["--halt", "now,fail=1", "x"], "no option --halt: the other tasks go on"),
        ([":::", "echo a", "echo b"], "'sh -c {}' if the arguments are commands"),
    ],
)
def test_habits_of_gnu_parallel_that_differ_are_explained(place, words, hint):
    _, err = place.bursar("run", *words, code=2)
    assert hint in err
    assert err.count("\n") == 1


def test_every_hint_is_for_an_option_that_there_is_not():
    own = {name for param in run.command.params for name in param.opts}
    assert not own & set(HINTS)
