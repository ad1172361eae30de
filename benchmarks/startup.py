"""How long `bursar --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import Goal, Line, Result, best_of, seconds_of

MOST_SECONDS = 0.3
TURNS = 10
"""in a round: one is short"""


def measure(rounds: int) -> Result:
    commands = {
        "bursar --help": [str(Path(sys.executable).with_name("bursar")), "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    best = best_of(
        {name: lambda words=words: seconds_of(words, ".") for name, words in commands.items()},
        TURNS * rounds,
    )
    return Result(
        title="Start-up",
        lines=[Line(name, seconds, "s") for name, seconds in best.items()],
        goals=[Goal("bursar --help", best["bursar --help"], "<=", MOST_SECONDS, "s")],
    )
