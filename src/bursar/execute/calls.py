"""Python calls as tasks: what to call, and where its result goes."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final, NamedTuple

from bursar.execute.functions import Functions
from bursar.execute.packing import PackedCall, TooLarge, pack_call
from bursar.model.errors import BursarError

LARGEST_AT_ONCE: Final = 1 << 16
"""bytes: a call with a larger pickle is pickled when it is sent, so that memory holds few"""


class CallError(BursarError):
    """A call that has no result and raised nothing that could be handed on."""

    exit_code = 3


class RemoteTraceback(Exception):  # noqa: N818
    """The traceback of an exception where it was raised, as the cause of that exception."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Call(NamedTuple):
    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class Unpackable(NamedTuple):
    """A call that cannot be pickled, and why."""

    error: Exception


Content = Call | PackedCall | Unpackable


class Calls:
    """The calls of a run by task, each with the future that gets its result.

    A call is what it was when it was added, whatever becomes of its function and arguments, unless
    it is large: then it is what it is when it is sent. A future is settled once: when the result
    of its task counts, or when the task failed for good.
    """

    def __init__(self) -> None:
        self._functions = Functions()
        self._calls: dict[int, tuple[Content, Future[Any]]] = {}
        self._cancelled: set[int] = set()
        """calls that are not settled, and whose waiters know that they are cancelled"""

    def take(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Content:
        """A call as it is now; from any thread."""
        try:
            return pack_call(self._functions, function, args, kwargs, LARGEST_AT_ONCE)
        except TooLarge:
            return Call(function, args, kwargs)
        except Exception as error:
            return Unpackable(error)

    def put(self, task: int, content: Content, future: Future[Any] | None = None) -> Future[Any]:
        """Let `task` be this call; to be done before the work arrives."""
        made: Future[Any] = Future() if future is None else future
        self._calls[task] = (content, made)
        return made

    def add(
        self,
        task: int,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        future: Future[Any] | None = None,
    ) -> Future[Any]:
        return self.put(task, self.take(function, args, kwargs or {}), future)

    def __contains__(self, task: int) -> bool:
        return task in self._calls

    def __len__(self) -> int:
        """Calls that are not settled."""
        return len(self._calls)

    def size(self, task: int) -> int | None:
        """Size of its pickle, without functions; None: it is large, and not pickled yet."""
        content, _ = self._calls.get(task, (None, None))
        if isinstance(content, PackedCall):
            return len(content.data)
        return None if isinstance(content, Call) else 0

    def start(self, task: int) -> PackedCall | None:
        """The call of a task that is sent to a worker; None: nobody waits for it any more.

        Raises whatever pickling raises. What nobody waits for is forgotten.
        """
        if task not in self._calls:
            return None
        content, future = self._calls[task]
        if not self._is_wanted(task, future):
            self._cancelled.discard(task)
            del self._calls[task]
            return None
        if isinstance(content, Unpackable):
            raise content.error
        if isinstance(content, Call):
            return pack_call(self._functions, *content)
        return content

    def settle(self, task: int, answer: Answer) -> None:
        _, future = self._calls.pop(task)
        self._cancelled.discard(task)
        if future.cancelled():
            return
        _finish(future, answer)

    def cancel_waiting(self, others: Sequence[Future[Any]] = ()) -> tuple[int, int]:
        """Nobody wants the calls that were not started, nor the others; those that were go on.

        Tells how many are cancelled, by this or before, and how many are not.
        """
        futures = {future for _, future in list(self._calls.values())}.union(others)
        cancelled = sum(future.cancel() for future in futures)
        return cancelled, len(futures) - cancelled

    def abandon(self, why: str) -> None:
        """No more results will come: all calls fail, and say why; cancelled ones stay so."""
        for task, (_, future) in list(self._calls.items()):
            if self._is_wanted(task, future):
                _finish(future, Answer(error=CallError(why)))
        self._calls.clear()

    def _is_wanted(self, task: int, future: Future[Any]) -> bool:
        """Whether somebody still wants the result; from now on it cannot be cancelled."""
        if task in self._cancelled:
            return False
        if future.running() or future.set_running_or_notify_cancel():
            return True
        self._cancelled.add(task)
        return False


class Answer(NamedTuple):
    """What became of a call: a value, or an error."""

    value: Any = None
    error: BaseException | None = None


def _finish(future: Future[Any], answer: Answer) -> None:
    """Settle a future; what its callbacks raise is their business, not the run's."""
    try:
        if answer.error is None:
            future.set_result(answer.value)
        else:
            future.set_exception(answer.error)
    except InvalidStateError:
        return  # somebody else has settled it
    except BaseException:
        logging.getLogger("concurrent.futures").exception("a callback of %r raised", future)


def described(error: BaseException) -> str:
    """An error's kind and message, even if it cannot say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def read_answer(kind: str, text: str, data: bytes | bytearray | memoryview) -> Answer:
    """Rebuild what a worker sent; whatever goes wrong there is the answer to this call alone."""
    if kind == "unpicklable":
        return Answer(error=CallError(text))
    try:
        value = pickle.loads(data)  # noqa: S301
    except BaseException as error:
        problem = f"the result cannot be unpickled: {described(error)}"
        return Answer(error=CallError(problem))
    if kind == "value":
        return Answer(value)
    if not isinstance(value, BaseException):
        problem = f"the exception became something else when it was unpickled; it was:\n{text}"
        return Answer(error=CallError(problem))
    with suppress(Exception):  # one that refuses a cause is handed on without it
        value.__cause__ = RemoteTraceback(text)
    return Answer(error=value)
