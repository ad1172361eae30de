"""Ctrl-C in a Python program stops the spending: real programs, real signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from bursar.journal.replay import load_state
from bursar.journal.runs import Home

PROGRAM = """
import sys, time
from concurrent.futures import as_completed, wait
from pathlib import Path

from bursar import BudgetExecutor, parse_market

market = parse_market('''
[[offer]]
name = "small"
price = "0.01"
billing = "1s"
limit = 2
''')
here, length = Path(sys.argv[1]), float(sys.argv[2])

def work(number):
    (here / f"{number}.began").touch()
    time.sleep(length)
    (here / f"{number}.ended").touch()
    return number

"""
IN_WITH = "with BudgetExecutor(market, '100') as pool:\n"
SUBMIT = "    futures = [pool.submit(work, number) for number in range(40)]\n"
ALONE = "pool = BudgetExecutor(market, '100')\n" + SUBMIT.strip() + "\n"
WAYS = {
    "result": IN_WITH + SUBMIT + "    futures[-1].result()\n",
    "map": IN_WITH + "    list(pool.map(work, range(40)))\n",
    "as_completed": IN_WITH + SUBMIT + "    for one in as_completed(futures): one.result()\n",
    "wait": IN_WITH + SUBMIT + "    wait(futures)\n",
    "the block": IN_WITH + SUBMIT + "    time.sleep(60)\n",
    "the end of the block": IN_WITH + SUBMIT,
    "shutdown": ALONE + "pool.shutdown()\n",
    "result outside of a block": ALONE + "futures[-1].result()\n",
    "the end of the program": ALONE,
    "the end of the program after shutdown": ALONE + "pool.shutdown(wait=False)\n",
}


class Program:
    """A program that calls `work` 40 times on two machines, and waits in one of the ways."""

    def __init__(self, path, way: str, length: float) -> None:
        self.path = path
        self.home = Home(path / "home")
        environment = {**os.environ, "BURSAR_HOME": str(path / "home")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM + WAYS[way], str(path), str(length)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def press(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def await_two_calls(self) -> None:
        self._until(lambda: len(list(self.path.glob("*.began"))) >= 2)
        time.sleep(0.1)  # so that the program waits where it is meant to

    def await_words(self) -> str:
        line = self._process.stderr.readline()
        assert line.startswith("bursar: run ")
        return line

    def end(self) -> tuple[int, str]:
        try:
            _, reported = self._process.communicate(timeout=30)
        finally:
            self._process.kill()
        return self._process.returncode, reported

    def state(self):
        (run,) = self.home.list()
        assert run.owner() is None
        return load_state(run.journal)

    def _until(self, holds) -> None:
        end = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_cancels_what_waits_lets_end_what_runs_and_says_so_in_one_line(tmp_path, way):
    program = Program(tmp_path, way, 0.7)
    program.await_two_calls()
    program.press()
    code, reported = program.end()
    assert code == -signal.SIGINT, reported
    words = [line for line in reported.splitlines() if line.startswith("bursar: ")]
    assert len(words) == 1, reported
    said = r"interrupted: 38 calls cancelled, [12] running; all machines are released"
    assert re.search(said, words[0])
    if way == "result outside of a block":  # Python's word comes first; the pool hears of it later
        assert reported.count("Traceback") == 1, reported
    else:
        assert reported.splitlines() == words
    began, ended = (set(tmp_path.glob(f"*.{kind}")) for kind in ("began", "ended"))
    assert len(began) == len(ended) == 2
    state = program.state()
    assert (state.ended.status, state.done, state.machines) == ("interrupted", 2, {})


@pytest.mark.parametrize("way", ["result", "the end of the block", "the end of the program"])
def test_ctrl_c_twice_ends_at_once(tmp_path, way):
    program = Program(tmp_path, way, 60)
    program.await_two_calls()
    program.press()
    program.await_words()
    began = time.monotonic()
    program.press()
    code, reported = program.end()
    assert code == -signal.SIGINT, reported
    assert time.monotonic() - began < 10
    assert reported == ""
    assert not list(tmp_path.glob("*.ended"))
    state = program.state()
    assert (state.ended.status, state.done, state.machines) == ("interrupted", 0, {})


SHORT = """
with BudgetExecutor(market, '100') as pool:
    futures = [pool.submit(abs, -n) for n in range(60_000)]
    futures[1000].result()
    (here / "0.began").touch()
    (here / "1.began").touch()
    futures[-1].result()
"""


def test_ctrl_c_stops_a_stream_of_very_short_calls(tmp_path, monkeypatch):
    monkeypatch.setitem(WAYS, "short", SHORT)
    program = Program(tmp_path, "short", 0)
    program.await_two_calls()
    program.press()
    code, reported = program.end()
    assert code == -signal.SIGINT, reported
    assert len(reported.splitlines()) == 1, reported
    state = program.state()
    assert (state.ended.status, state.machines) == ("interrupted", {})
    assert state.done > 1000


OVER = """
with BudgetExecutor(market, '100') as pool:
    pool.shutdown()
    (here / "0.began").touch()
    (here / "1.began").touch()
    time.sleep(60)
"""
WITH_A_HOOK = """
sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__, file=sys.stderr)
"""


def test_a_program_that_is_interrupted_after_its_calls_prints_its_traceback(tmp_path, monkeypatch):
    monkeypatch.setitem(WAYS, "over", OVER)
    program = Program(tmp_path, "over", 0)
    program.await_two_calls()
    program.press()
    code, reported = program.end()
    assert code == -signal.SIGINT
    assert reported.count("Traceback") == 1


def test_a_hook_for_exceptions_of_the_program_itself_is_called(tmp_path, monkeypatch):
    monkeypatch.setitem(WAYS, "hook", WITH_A_HOOK + WAYS["result"])
    program = Program(tmp_path, "hook", 0.2)
    program.await_two_calls()
    program.press()
    code, reported = program.end()
    assert code == -signal.SIGINT
    assert reported.splitlines()[-1] == "hook: KeyboardInterrupt"


def test_a_program_that_handles_ctrl_c_goes_on_with_its_pool(tmp_path, monkeypatch):
    handled = (
        ALONE
        + "try:\n    futures[-1].result()\nexcept KeyboardInterrupt:\n    print('handled')\n"
        + "print(len(wait(futures[:4]).done))\npool.shutdown(cancel_futures=True)\n"
    )
    monkeypatch.setitem(WAYS, "handled", handled)
    program = Program(tmp_path, "handled", 0.2)
    program.await_two_calls()
    program.press()
    code, reported = program.end()
    assert (code, reported) == (0, "")
