"""Callables that hold much are sent, and not kept: memory stays bounded."""

from __future__ import annotations

import json
import subprocess
import sys

CALLABLES = 60
MEGABYTES = 4
"""that each of them holds; together, more than ten times what may be kept"""

SCRIPT = f"""
import json, resource
from functools import partial
from bursar import BudgetExecutor

def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def first_and_memory(held):
    return held[0], largest()

def data(number):
    return bytes([number]) * ({MEGABYTES} << 20)

if __name__ == "__main__":
    with BudgetExecutor(name="memory", max_workers=1) as pool:
        found = []
        for number in range({CALLABLES}):
            first, there = pool.submit(partial(first_and_memory, data(number))).result()
            assert first == number
            found.append((largest(), there))
    print(json.dumps([found[4], found[-1]]))
"""


def test_many_callables_that_hold_much_take_no_more_memory_than_a_few(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, "script.py"]
    printed = subprocess.check_output(words, cwd=tmp_path, timeout=120)
    (here, there), (here_last, there_last) = json.loads(printed)
    allowed = CALLABLES * MEGABYTES / 4
    assert here_last - here < allowed
    assert there_last - there < allowed
