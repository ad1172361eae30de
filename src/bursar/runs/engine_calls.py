"""Asking the thread of an engine: let something happen, and know when it is in the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from bursar.model.time import Time
from bursar.runs.executor_run import RunOver
from bursar.runs.session import Session
from bursar.state import events as ev
from bursar.state.state import RunState

Answer = TypeVar("Answer")
Events = list[ev.AnyEvent]


class EngineCalls:
    """From any thread; every future ends, if need be with `RunOver` when the run does."""

    def __init__(self, session: Session, why_over: Callable[[], str]) -> None:
        self._session, self._why_over = session, why_over
        self._lock = threading.Lock()
        self._pending: set[Future[None]] = set()
        """what somebody waits for, and the engine has not done yet"""
        self._uncommitted: list[Future[None]] = []
        """of those, what is in the journal after the next commit; only the engine's thread"""
        self._is_over = False

    def happen(
        self, make: Callable[[Time], Events], answer: Answer, event: ev.AnyEvent | None = None
    ) -> Future[Answer]:
        """Let events happen; the answer comes when they are in the journal.

        An `event` that nothing expects any more is dropped by the engine: then nothing may be
        written, and the answer comes at once.
        """
        written = self._promise()
        answered = _then(written, lambda: answer)

        def happens(now: Time) -> Events:
            made = make(now)
            is_written = bool(made) and (event is None or self._session.state.expects(event))
            if is_written or self._session.world.has_news:
                self._uncommitted.append(written)
            else:  # all that came before is in the journal
                written.set_result(None)
            return made

        if not written.done():
            self._session.post(happens)
        return answered

    def ask(self, question: Callable[[RunState], Answer]) -> Future[Answer]:
        """The answer of the engine's thread, of all that was committed before."""
        state, heard = self._session.state, self._promise()
        if heard.done():  # the run is over, and its state does not change any more
            heard = Future()
            heard.set_result(None)
            return _then(heard, lambda: question(state))

        def now_is(now: Time) -> Events:
            heard.set_result(None)
            return []

        answered = _then(heard, lambda: question(state), even_if_over=True)
        self._session.post(now_is)
        return answered

    def _promise(self) -> Future[None]:
        """Something that the engine will do; it fails if the run ends before."""
        future: Future[None] = Future()
        with self._lock:
            if not self._is_over:
                self._pending.add(future)
                future.add_done_callback(self._pending.discard)
                return future
        future.set_exception(RunOver(self._why_over()))
        return future

    # --- in the engine's thread ------------------------------------------------------------------

    def committed(self) -> None:
        """All that has happened is in the journal."""
        done, self._uncommitted = self._uncommitted, []
        for future in done:
            future.set_result(None)

    def over(self) -> None:
        """The run has ended: nobody answers any more."""
        with self._lock:
            self._is_over = True
            pending = tuple(self._pending)
        for future in pending:
            future.set_exception(RunOver(self._why_over()))


def _then(
    first: Future[None], make: Callable[[], Answer], *, even_if_over: bool = False
) -> Future[Answer]:
    """What is made of it when something is done; a failure of the first is one of this, too."""
    answered: Future[Answer] = Future()

    def done(first: Future[None]) -> None:
        error = first.exception()
        if error is not None and not even_if_over:
            answered.set_exception(error)
            return
        try:
            answered.set_result(make())
        except Exception as problem:
            answered.set_exception(problem)

    first.add_done_callback(done)
    return answered
