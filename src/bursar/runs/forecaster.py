"""Forecasts of a run that goes on: made by a process beside it, and journaled as events.

The process reads the journal as any reader does, simulates what is left (`runs.forecasting`), and
writes a line for each forecast that is news. The run reads the lines in a thread, and posts them as
events. So the loop does nothing but record them. The process has a low priority, takes a small
share of a processor, and ends with the run: if that is killed, by the end of its input.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final, Self

from bursar.journal.reader import work_reader
from bursar.journal.replay import Follower
from bursar.model.codec import ENCODER, decoder
from bursar.model.errors import BursarError, one_line
from bursar.model.time import MINUTE
from bursar.runs.session import Session
from bursar.state.events import ForecastMade

FIRST_S: Final = 3.0
"""a run that is over sooner needs no forecast"""
PACE_S: Final = 1.0
SHARE: Final = 50
"""of the time of a processor, forecasts take one part in so many"""
MOVED: Final = 0.02
"""what differs by so much from the last forecast is news ..."""
CHANCE_MOVED: Final = 0.1
OLD: Final = MINUTE
"""... and so is any after this time"""
AT_MOST_S: Final = 3.0
"""of processor time for one forecast, as far as draws can be saved"""
FEWEST, MOST = 12, 32
"""simulations of one forecast"""
LOW_PRIORITY: Final = 10
FAULT: Final = b"!"
"""begins a line that tells why there are no forecasts"""
_DECODER: Final = decoder(ForecastMade)


def is_news(made: ForecastMade, last: ForecastMade | None) -> bool:
    """Whether a forecast is worth an event."""
    if last is None or made.at - last.at >= OLD:
        return True
    if abs((made.chance or 0.0) - (last.chance or 0.0)) >= CHANCE_MOVED:
        return True
    ends = abs(made.end[1] - last.end[1]) > MOVED * last.end[1]
    costs = abs(made.cost[1].nanos - last.cost[1].nanos) > MOVED * last.cost[1].nanos
    return ends or costs


class ForecastsBeside:
    """Forecasts for a session while it is executed; to be used in a `with` statement."""

    def __init__(self, session: Session, after: float = FIRST_S) -> None:
        self._session = session
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_over = False
        self.fault = ""
        """why there are none, if something went wrong"""
        self._timer = threading.Timer(after, self._listen)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """What is being simulated is of no use any more."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
        if self._process is not None:
            self._process.kill()
        self._timer.join()

    def _listen(self) -> None:
        """In a thread: start the process, and post what it says."""
        words = [sys.executable, "-P", "-m", __name__, str(self._session.run_dir.journal)]
        with self._lock:
            if self._is_over:
                return
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the run
            )
        with self._process as process:
            assert process.stdout is not None  # noqa: S101
            for line in process.stdout:
                if line.startswith(FAULT):
                    self.fault = line[len(FAULT) :].decode(errors="replace").strip()
                elif not self._is_over:
                    self._session.post(_DECODER.decode(line))
        code = process.returncode
        if code and not self._is_over and not self.fault:
            self.fault = f"their process ended with {code}"


def _beside(journal: Path) -> None:
    """The process."""
    from bursar.report.page.watch import time_of
    from bursar.runs.forecasting import forecast

    os.nice(LOW_PRIORITY)
    last: ForecastMade | None = None
    draws, recall = FEWEST, work_reader(journal)
    with Follower(journal) as follower:
        while True:
            began = time.process_time()
            follower.catch_up()
            state = follower.state
            made = forecast(state, time_of(state, time.time()), recall, draws=draws)
            if made is not None and is_news(made, last):
                last = made
                sys.stdout.buffer.write(ENCODER.encode(made) + b"\n")
                sys.stdout.buffer.flush()
            took = time.process_time() - began
            if made is not None:
                draws = max(FEWEST, min(MOST, int(draws * AT_MOST_S / max(took, 1e-3))))
            time.sleep(max(PACE_S, SHARE * took))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        _beside(Path(sys.argv[1]))
    except (BursarError, ArithmeticError, LookupError, ValueError, TypeError) as error:
        why = one_line(f"{type(error).__name__}: {error}")[:500]
        sys.stdout.buffer.write(FAULT + why.encode() + b"\n")
        sys.stdout.buffer.flush()
