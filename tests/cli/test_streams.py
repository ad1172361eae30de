"""What is printed where nobody can read it: runs go on, data that is lost is told in one line."""

import subprocess
import sys

import pytest

FULL = "/dev/full"
RUN = "run --name r true ::: 1"


@pytest.fixture
def shell(place):
    """Runs bursar with redirections; gives the exit code, and what came out on stderr."""

    def run(words, redirections=""):
        line = f"{sys.executable} -m bursar {words} {redirections}"
        done = subprocess.run(
            ["/bin/bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
            cwd=place.path,
            env=place.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    return run


@pytest.mark.parametrize("where", [f"2> {FULL}", "2>&-", ">&-", "2>&- >&- <&-", "2>&1 | true"])
def test_a_run_goes_on_where_nobody_can_read_what_it_says(shell, place, where):
    assert shell(RUN, where)[0] == 0
    assert place.json("status", "r")["status"] == "done"


def test_how_a_run_ended_is_not_how_its_reader_did(shell):
    code, err = shell("run --json --name r false ::: 1", "| true")
    assert code == 3
    assert "r: failed" in err


@pytest.mark.parametrize(
    "words",
    ["status", "offers", "--help", "run --dry-run echo ::: 1", "why r", "export --events -"],
)
def test_data_that_cannot_be_written_is_told_in_one_line(shell, place, words):
    place.bursar(*RUN.split())
    code, err = shell(words, f"> {FULL}")
    assert (code, err) == (
        1,
        "bursar: cannot write to standard output: No space left on device\n",
    )


def test_a_result_that_cannot_be_written_does_not_pass_for_one(shell):
    code, err = shell("run --json -q --name r true ::: 1", f"> {FULL}")
    assert (code, err.count("\n")) == (1, 1)


@pytest.mark.parametrize("words", ["status", "why r", "export --events -"])
def test_a_reader_that_goes_early_is_no_mistake(shell, place, words):
    place.bursar(*RUN.split())
    assert shell(words, "| true") == (0, "")
