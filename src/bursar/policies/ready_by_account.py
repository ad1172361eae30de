"""The ready tasks by the account that pays for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bursar.state.actions import Start
from bursar.state.ready_queue import ReadyQueue
from bursar.state.view import Machine, View


def _number(task: int) -> int:
    return task


class ReadyByAccount(ReadyQueue[str]):
    """A run of one user has one account, without a name; its tasks are not asked for theirs."""

    def __init__(self, key: Callable[[int], Any] = _number) -> None:
        super().__init__(key, self._account)
        self._account_of: Callable[[int], str] | None = None
        """None: the run has one account"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        has_accounts = bool(view.goal.accounts)
        if has_accounts != (self._account_of is not None):
            self.forget()
        self._account_of = view.account_of if has_accounts else None
        super().look(view)

    def starts(self, machine: Machine) -> Iterator[Start]:
        """The next tasks of a machine's account, one for each of its free slots."""
        for _ in range(machine.offer.slots - len(machine.attempts)):
            task = self.take(machine.account)
            if task is None:
                return
            yield Start(task, machine.id)

    def _account(self, task: int) -> str:
        return "" if self._account_of is None else self._account_of(task)
