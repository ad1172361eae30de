"""How long `bursar --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import Goal, Line, Result, least_of, run_timed

MOST_SECONDS = 0.15
"""of processor time"""
TURNS = 10
"""in a round: one is short"""


def measure(rounds: int) -> Result:
    commands = {
        "bursar --help": [str(Path(sys.executable).with_name("bursar")), "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    best = least_of(
        {name: partial(run_timed, words, ".") for name, words in commands.items()},
        TURNS * rounds,
    )
    return Result(
        title="Start-up",
        lines=[
            Line(name, taken.clock, "s", f"{taken.processor:.3f} s of processor time")
            for name, taken in best.items()
        ],
        goals=[Goal("bursar --help", best["bursar --help"].processor, "<=", MOST_SECONDS, "s")],
    )
