"""How processes are started: tied to the lifeline, whatever was tied to the same end before."""

from __future__ import annotations

import subprocess
import sys

from bursar.execute.starter import MOST_ENDS

BEGIN = """
import os, signal, sys
from bursar.execute.lifeline import Lifeline
from bursar.execute.starter import MOST_ENDS, Starter
from bursar.execute.tags import run_tag
line = Lifeline()
starter = Starter("test", run_tag("test"), line)

def start(*argv):
    return starter.start(1, argv, {b"PATH": os.fsencode(os.environ["PATH"])}, ())

def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run(program: str) -> list[str]:
    """A process of its own, since the tag of a run is put on it."""
    words = [sys.executable, "-c", BEGIN + program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_end_of_the_lifeline_ties_the_next_process_when_all_of_the_last_have_ended():
    reported = run("""
first, end = start("true")
wait(first)
starter.ended(end, wholly=True)
second, same = start("sleep", "100")
os.close(line._writer)
print(same == end, wait(second))
""")
    assert reported == ["True", "-9"]


def test_what_still_runs_stays_tied_to_its_end():
    reported = run("""
first, end = start("sh", "-c", "sleep 100 & exit")
wait(first)
starter.ended(end, wholly=False)
second, other = start("sleep", "100")
os.close(line._writer)
wait(second)
import time
for _ in range(500):
    try:
        os.killpg(first, 0)
    except ProcessLookupError:
        print("ended")
        break
    time.sleep(0.01)
""")
    assert reported == ["ended"]


def test_many_processes_take_few_descriptors():
    reported = run("""
before = len(os.listdir("/proc/self/fd"))
started = [start("sleep", "100")[0] for _ in range(MOST_ENDS + 4)]
print(len(os.listdir("/proc/self/fd")) - before)
os.close(line._writer)
print(*{wait(pid) for pid in started})
""")
    assert reported == [str(MOST_ENDS), "-9"]


def test_a_program_that_has_moved_is_found_again(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    program = tmp_path / "one" / "tool"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/one:{tmp_path}/two:/bin:/usr/bin")
    reported = run(f"""
print(wait(start("tool")[0]))
os.rename({str(program)!r}, {str(tmp_path / "two" / "tool")!r})
print(wait(start("tool")[0]))
os.unlink({str(tmp_path / "two" / "tool")!r})
try:
    start("tool")
except FileNotFoundError:
    print("gone")
""")
    assert reported == ["7", "7", "gone"]
