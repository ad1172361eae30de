"""The run behind an executor: its calls, the thread that drives it, and how it ends."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import groupby
from typing import Any, Final

from bursar.execute.calls import Calls, Content
from bursar.execute.worker import call_all
from bursar.journal.runs import Home
from bursar.model.errors import BursarError, one_line
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.runs.executor_progress import ProgressThread
from bursar.runs.quiet_interrupt import without_traceback
from bursar.runs.request import Request
from bursar.runs.session import Session
from bursar.state import events as ev

LONGEST_LABEL: Final = 200
"""letters of a function's name that are journaled"""

MOST_INTERRUPTS: Final = 2
"""after so many nothing runs any more, and at one more nobody waits for the end"""


class RunOver(BursarError, RuntimeError):  # noqa: N818
    """The run has ended (by its budget, by its deadline, or by shutdown): nothing more runs."""


class CallRun:
    """Takes calls from any thread, and executes them in a thread of its own."""

    def __init__(self, request: Request, *, progress: bool = False) -> None:
        self._calls = Calls()
        self.session = Session.begin(Home.of(os.environ), request, self._calls)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._inbox: deque[tuple[str, Content, Future[Any]]] = deque()
        """calls that the engine has not heard of, with their labels, in order"""
        self._arrived = 0
        """calls that it has; touched by its thread alone"""
        self._closing = False
        self._interrupts = 0
        self._failure: BaseException | None = None
        self._over = threading.Event()
        """the thread is at its end (`join` takes a thread for ended when Ctrl-C interrupts it)"""
        self._thread = threading.Thread(target=self._drive, name="bursar", daemon=True)
        _open.add(self)
        self._thread.start()
        self._progress = ProgressThread(self.session.state, self._over) if progress else None

    @property
    def name(self) -> str:
        return self.session.state.run

    def submit(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Future[Any]:
        content, label = self._calls.take(function, args, kwargs), label_of(function)
        future: Future[Any] = Future()
        with self._lock:
            if self._closing or self._over.is_set() or self._is_elsewhere:
                problem = (
                    f"cannot schedule new futures: run {self.name} is over: {self._why_over()}"
                )
                raise RunOver(problem)
            if not self._inbox:
                self.session.post(self._arrive)
            self._inbox.append((label, content, future))  # by one step: Ctrl-C can come anywhere
        return future

    def close(self) -> None:
        """No more calls will come: the run ends when all are done."""
        if self._is_elsewhere:
            return
        with self._lock:
            if not self._closing:
                self.session.post(ev.ArrivalsEnded(0))
                self._closing = True

    def cancel_waiting(self, why: str) -> tuple[int, int]:
        """Calls that were not started never will be; those that were go on.

        Tells how many are cancelled, and how many go on.
        """
        if self._is_elsewhere:
            return 0, 0
        self.close()
        with self._lock:
            waiting = [future for _, _, future in self._inbox]
        cancelled, running = self._calls.cancel_waiting(waiting)
        if cancelled:
            self.session.stop(why)
        return cancelled, running

    def interrupt(self) -> None:
        """Ctrl-C was pressed: once, what waits is cancelled; twice, what runs is ended."""
        if self._is_elsewhere or self._over.is_set():
            return
        self._interrupts += 1
        if self._interrupts >= MOST_INTERRUPTS:
            self.session.stop("interrupted twice", now=True)
            return
        cancelled, running = self.cancel_waiting("interrupted")
        _tell(
            f"bursar: run {self.name} interrupted: {counted(cancelled, 'call')} cancelled,"
            f" {running:,} running; all machines are released when"
            f" {'it ends' if running == 1 else 'these end'} (Ctrl-C again: now)"
        )

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed while it ran, which then was answered in one line."""
        return self._interrupts > 0

    def finish(self, *, pressed: bool = False) -> None:
        """Wait until the run is over; `pressed`: Ctrl-C was, just before.

        If it is pressed meanwhile, that is passed on by KeyboardInterrupt, but only when all
        machines are released (or at the third time). Raises what went wrong in the thread.
        """
        if self._is_elsewhere or self._thread is threading.current_thread():
            return
        interrupted: KeyboardInterrupt | None = None
        while not self._over.is_set() and self._interrupts <= MOST_INTERRUPTS:
            try:
                if pressed:
                    pressed = False
                    self.interrupt()
                self._over.wait()
            except KeyboardInterrupt as error:
                interrupted, pressed = error, True
        if self._progress is not None and self._over.is_set():
            self._progress.join()
        if interrupted is not None:
            if self.is_interrupted:
                without_traceback(interrupted)
            raise interrupted.with_traceback(None) from None
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    @property
    def _is_elsewhere(self) -> bool:
        """Whether this process was forked from the one that has the run."""
        return os.getpid() != self._process

    def _arrive(self, now: Time) -> list[ev.AnyEvent]:
        """All calls that wait, as bags of one label each."""
        with self._lock:
            calls = list(self._inbox)
            for _, content, future in calls:
                self._arrived += 1
                self._calls.put(self._arrived, content, future)
            self._inbox.clear()
        labels = groupby(label for label, _, _ in calls)
        bags = [Bag(sum(1 for _ in some), label=one) for one, some in labels]
        return [ev.WorkArrived(now, Work(bag)) for bag in bags]

    def _drive(self) -> None:
        """The engine's thread."""
        try:
            with self.session:
                self.session.execute()
        except BursarError as error:
            self._failure = _for_calls(error)
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._closing = True
            self._arrive(0)
            self._calls.abandon(f"run {self.name} ended before this call: {self._why_over()}")
            _open.discard(self)
            self._over.set()

    def _why_over(self) -> str:
        if self._is_elsewhere:
            return f"it belongs to process {self._process}; make an executor in this one"
        ended = self.session.state.ended
        if self._failure is not None:
            return str(self._failure)
        if ended is None:
            return "it was shut down"
        return ended.why or ended.status


def _for_calls(error: BursarError) -> BursarError:
    """The error with advice that works: a run of calls cannot be resumed."""
    text = str(error).replace("continue with bursar resume", "run your program again")
    return error if text == str(error) else type(error)(text)


def label_of(function: Callable[..., Any]) -> str:
    """What a call is named in the journal."""
    while isinstance(function, partial):
        function = function.args[0] if function.func is call_all else function.func
    try:
        name = function.__qualname__
    except Exception:  # whatever stands for a function may do anything
        name = None
    if not isinstance(name, str):
        name = type(function).__name__
    return one_line(name.encode(errors="replace").decode())[:LONGEST_LABEL]


# --- the end of the program ----------------------------------------------------------------------

_open: set[CallRun] = set()
"""runs of this process whose threads live"""


def _finish_all() -> None:
    """Before the program ends, its calls end: all of them, or only those that run after Ctrl-C."""
    runs, pressed_now = list(_open), False
    pressed = getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1")
    for run in runs:
        run.close()
    for run in runs:
        try:
            run.finish(pressed=pressed)
        except KeyboardInterrupt:
            pressed = pressed_now = True
        except Exception as error:
            _tell(f"bursar: run {run.name} failed: {error}")
    if pressed_now:
        atexit.register(_end_as_interrupted)


def _end_as_interrupted() -> None:
    """Do what is left to do at the end, then end as a program does that got the signal."""
    atexit.unregister(_end_as_interrupted)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _after_fork() -> None:
    """A child process has none of the threads, and no right to the runs."""
    for run in _open:
        run._lock = threading.Lock()
    _open.clear()


def _tell(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


# As concurrent.futures does: before threads are joined, and while others may still be started.
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_after_fork)
