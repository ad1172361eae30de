"""The ledger as entries see it: figures and questions, and no way to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from bursar.model.money import Money
from bursar.model.time import Time
from bursar.state.charges import Charge
from bursar.state.view import LedgerView, View


class _LedgerView(msgspec.Struct, frozen=True):
    _budget: Callable[[], Money | None]
    _committed: Callable[[], Money]
    _left: Callable[[], Money | None]
    _accounts: Callable[[], Sequence[str]]
    can_pay: Callable[[Money], bool]
    charges: Callable[[], Iterable[Charge]]
    left_of: Callable[[str, Time], Money | None]
    committed_in: Callable[[str, int], Money]
    next_refill: Callable[[str, Time], Time | None]

    @property
    def budget(self) -> Money | None:
        return self._budget()

    @property
    def committed(self) -> Money:
        return self._committed()

    @property
    def left(self) -> Money | None:
        return self._left()

    @property
    def accounts(self) -> Sequence[str]:
        return self._accounts()


def ledger_of(state: View) -> LedgerView:
    """Another ledger may take the place of the first: it is looked up at every question."""

    def can_pay(amount: Money) -> bool:
        return state.ledger.can_pay(amount)

    def left_of(account: str, now: Time) -> Money | None:
        return state.ledger.left_of(account, now)

    def committed_in(account: str, interval: int) -> Money:
        return state.ledger.committed_in(account, interval)

    def next_refill(account: str, now: Time) -> Time | None:
        return state.ledger.next_refill(account, now)

    return _LedgerView(
        _budget=lambda: state.ledger.budget,
        _committed=lambda: state.ledger.committed,
        _left=lambda: state.ledger.left,
        _accounts=lambda: tuple(state.ledger.accounts),
        can_pay=can_pay,
        charges=lambda: tuple(state.ledger.charges()),
        left_of=left_of,
        committed_in=committed_in,
        next_refill=next_refill,
    )
