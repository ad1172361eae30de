"""Charges: what machines cost. Those of machines that are gone stand in columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import msgspec

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import Time


class Charge(msgspec.Struct, frozen=True):
    """What one machine costs: its offer's price, as it was made, times the units it entered."""

    machine: int
    offer: Offer
    begin: Time
    end: Time
    """paid until, while the machine is up; gone since, afterwards"""
    is_open: bool
    """more may follow, and what is not used is given back"""
    account: str = ""
    was_lost: bool = False
    """the machine was taken away"""

    @property
    def units(self) -> int:
        return self.offer.units(self.end - self.begin)

    @property
    def amount(self) -> Money:
        return self.offer.charge(self.end - self.begin)


class ClosedCharges:
    """In the order in which they were closed; some 30 bytes each, as a service rents for months."""

    def __init__(self, charges: Iterable[Charge] = ()) -> None:
        self._machine = array("q")
        self._begin = array("q")
        self._end = array("q")
        self._offer = array("H")
        """a place in `_offers`"""
        self._account = array("H")
        """a place in `_accounts`"""
        self._was_lost = bytearray()
        self._offers: dict[Offer, int] = {}
        self._accounts: dict[str, int] = {}
        for charge in charges:
            self.append(charge)

    def append(self, charge: Charge) -> None:
        self._machine.append(charge.machine)
        self._begin.append(charge.begin)
        self._end.append(charge.end)
        self._offer.append(self._offers.setdefault(charge.offer, len(self._offers)))
        self._account.append(self._accounts.setdefault(charge.account, len(self._accounts)))
        self._was_lost.append(charge.was_lost)

    def __len__(self) -> int:
        return len(self._machine)

    def __iter__(self) -> Iterator[Charge]:
        offers, accounts = tuple(self._offers), tuple(self._accounts)
        columns = (self._machine, self._begin, self._end, self._offer, self._account)
        for machine, begin, end, offer, account, was_lost in zip(
            *columns, self._was_lost, strict=True
        ):
            yield Charge(
                machine,
                offers[offer],
                begin,
                end,
                is_open=False,
                account=accounts[account],
                was_lost=bool(was_lost),
            )
