"""bursar with its modules loaded does what it does when it begins from nothing."""

import os
import subprocess
import sys
import time

import pytest
from tests.loaded_bursar import LoadedBursar


@pytest.fixture(scope="module")
def loaded():
    made = LoadedBursar()
    yield made
    made.close()


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("run", "--budget", "much", "true", ":::", "1"),
        ("run", "-q", "cat", ":::", "none"),
    ],
    ids=["help", "mistake", "failure"],
)
def test_code_and_text_are_those_of_a_process_that_begins_from_nothing(loaded, words, tmp_path):
    environment = {**os.environ, "BURSAR_HOME": "home", "COLUMNS": "60"}
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bursar", *words],
        cwd=tmp_path / "one",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    called = loaded.call(words, tmp_path / "other", environment, timeout=60)
    assert called == (done.returncode, done.stdout, done.stderr)
    assert (tmp_path / "one" / "home").exists() == (tmp_path / "other" / "home").exists()


def test_a_process_that_does_not_end_is_killed(loaded, tmp_path):
    begin = time.monotonic()
    code, _, _ = loaded.call(("run", "sleep", ":::", "1"), tmp_path, dict(os.environ), timeout=0.05)
    assert code == -9
    assert time.monotonic() - begin < 60


def test_variables_that_python_reads_at_its_start_need_one_that_begins_from_nothing(loaded):
    assert loaded.can_call({**os.environ, "BURSAR_HOME": "x"})
    assert not loaded.can_call({**os.environ, "PYTHONPATH": "x"})
