"""Python calls as tasks: what to call, and where its result goes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from bursar.execute.pickling import pack
from bursar.model.errors import BursarError


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


class Calls:
    """The calls of a run by task, each with the future that gets its result.

    A future is settled once: when the result of its task counts, or when the task failed for good.
    """

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Call, Future[Any]]] = {}
        self._cancelled: set[int] = set()
        """calls that are not settled, and whose waiters were told that they are cancelled"""

    def add(
        self,
        task: int,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        future: Future[Any] | None = None,
    ) -> Future[Any]:
        """Let `task` be this call; to be done before the work arrives."""
        made: Future[Any] = Future() if future is None else future
        self._calls[task] = (Call(function, args, kwargs or {}), made)
        return made

    def __contains__(self, task: int) -> bool:
        return task in self._calls

    def __len__(self) -> int:
        """Calls that are not settled."""
        return len(self._calls)

    def start(self, task: int) -> Call | None:
        """The call of a task that an attempt is started of; None: its future was cancelled."""
        call, future = self._calls[task]
        return call if self._is_wanted(task, future) else None

    def settle(self, task: int, answer: Answer) -> None:
        _, future = self._calls.pop(task)
        self._cancelled.discard(task)
        if future.cancelled():
            return
        if answer.error is None:
            future.set_result(answer.value)
        else:
            future.set_exception(answer.error)

    def cancel_waiting(self) -> None:
        """Nobody wants the calls that were not started; those that were go on."""
        for _, future in list(self._calls.values()):
            future.cancel()

    def abandon(self, why: str) -> None:
        """No more results will come: all calls fail, and say why; cancelled ones stay so."""
        for task, (_, future) in self._calls.items():
            if self._is_wanted(task, future):
                future.set_exception(CallError(why))
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


def read_answer(kind: str, text: str, data: bytes) -> Answer:
    """Rebuild what a worker sent."""
    if kind == "unpicklable":
        return Answer(error=CallError(text))
    try:
        value = pickle.loads(data)  # noqa: S301
    except Exception as error:
        problem = CallError(f"the result cannot be unpickled: {type(error).__name__}: {error}")
        return Answer(error=problem)
    if kind == "value":
        return Answer(value)
    value.__cause__ = RemoteTraceback(text)
    return Answer(error=value)


class FunctionCache:
    """Pickled functions by identity, so that a function called often is pickled once.

    A function is as it was when it was first sent: later changes of its closure do not count.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, tuple[int, bytes, Callable[..., Any]]] = {}
        """by `id`; the function is kept, so that no other can get its `id`"""
        self._count = 0

    def get(self, function: Callable[..., Any]) -> tuple[int, bytes]:
        """A number for this function, and its pickle."""
        found = self._known.get(id(function))
        if found is None:
            self._count += 1
            found = (self._count, pack(function), function)
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[id(function)] = found
        return found[0], found[1]
