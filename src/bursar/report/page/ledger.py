"""Every machine with what it did and what was charged for it; the rows sum to what is committed."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from bursar.model.money import ZERO
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.report.page.machine_log import CAUSES, NEVER, MachineLog
from bursar.report.page.numbers import amount, duration, moment, price
from bursar.report.page.series import AttemptColumns
from bursar.state.charges import Charge
from bursar.state.state import RunState

MOST_ROWS: Final = 100
"""machines, the latest; those before are summed up"""
_WORDS: Final = {"released": "released", "lost": "lost", "expired": "its paid time ended"}


class LedgerRow(msgspec.Struct, frozen=True):
    """Texts, as they are shown."""

    machine: str
    account: str
    state: str
    rented: str
    booted: str
    stayed: str
    attempts: str
    useful: str
    units: str
    price: str
    amount: str


class LedgerTable(msgspec.Struct, frozen=True):
    rows: list[LedgerRow]
    """the latest machine first"""
    before: str
    """how many are not among the rows, and what they cost; empty: all are"""
    total: str


def ledger_table(
    state: RunState, columns: AttemptColumns, machines: MachineLog, now: Time
) -> LedgerTable:
    charges = sorted(state.ledger.charges(), key=lambda charge: -charge.machine)
    shown, others = charges[:MOST_ROWS], charges[MOST_ROWS:]
    size = len(machines) + 1
    attempts = np.bincount(columns.machine, minlength=size)
    useful = np.bincount(columns.machine[columns.is_winner], minlength=size)
    currency = state.market.currency
    earlier = state.ledger.committed - sum((charge.amount for charge in shown), ZERO)
    text = f"{counted(len(others), 'earlier machine')}: {amount(earlier, currency)}"
    return LedgerTable(
        rows=[
            _row(one, machines, int(attempts[one.machine]), int(useful[one.machine]), now, currency)
            for one in shown
        ],
        before=text if others else "",
        total=amount(state.ledger.committed, currency),
    )


def _row(
    charge: Charge, machines: MachineLog, attempts: int, useful: int, now: Time, currency: str
) -> LedgerRow:
    number, offer = charge.machine, charge.offer
    up, rented, gone = machines.up[number], machines.rented[number], machines.gone[number]
    cause = CAUSES[machines.cause[number]]
    word = ("booting" if up == NEVER else "up") if cause is None else _WORDS.get(cause, cause)
    return LedgerRow(
        machine=machines.name(number),
        account=charge.account,
        state=word,
        rented=moment(rented),
        booted="–" if up == NEVER else duration(up - rented),
        stayed=duration((now if gone == NEVER else gone) - rented),
        attempts=f"{attempts:,}",
        useful=f"{useful:,}",
        units=f"{charge.units:,} × {duration(offer.billing)}",
        price=price(offer, currency),
        amount=amount(charge.amount, currency),
    )
