"""Offers and markets: what can be rented, at which price, billed how."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from bursar.model.errors import InputError, shown
from bursar.model.money import Money
from bursar.model.time import HOUR, Time

Pool = Literal["reliable", "unreliable"]


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where machines of an offer are, for those who rent real ones."""

    hosts: tuple[str, ...] = ()
    """as `ssh` knows them; each is one machine"""
    python: str = ""
    """there, with bursar installed; empty: under the same path as here"""
    partition: str = ""
    """of Slurm; empty: its default"""
    feature: str = ""
    """that a node of Slurm must have; empty: any node"""
    instance_type: str = ""
    """of EC2; empty: the name of the offer"""
    image: str = ""
    """of EC2, with bursar installed, or with what `setup` needs to install it"""
    region: str = ""
    """of EC2; empty: that of the user's configuration"""
    zone: str = ""
    """of the region; empty: any"""
    subnet: str = ""
    """of EC2; empty: the default one"""
    security_group: str = ""
    """of EC2; empty: the default one"""
    setup: str = ""
    """a shell command that a machine of EC2 runs before bursar's program starts"""


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of machine one can rent.

    A machine is charged for a billing unit when it enters it: the whole unit, and at least the
    minimum. All arithmetic is on whole microseconds and exact money.
    """

    name: str
    price: Money
    """for one billing unit"""
    billing: Time = HOUR
    """length of the billing unit, above zero"""
    minimum: Time = 0
    """the least time charged, however short the stay"""
    limit: int | None = None
    """the most machines one may have at once; None: as many as one likes"""
    boot: Time = 0
    """from renting to ready; it is charged"""
    slots: int = 1
    """attempts a machine runs at once"""
    speed: float = 1.0
    """for emulation: tasks see it as BURSAR_SPEED"""
    pool: Pool = "reliable"
    place: Place | None = None
    """where its machines are; None: an emulated one, or wherever the run is"""

    def units(self, stay: Time) -> int:
        """Billing units entered by a machine that stayed this long: at least one."""
        time = stay if stay > self.minimum else self.minimum
        return -(-time // self.billing) or 1

    def charge(self, stay: Time) -> Money:
        return self.price * self.units(stay)

    def paid_for(self, stay: Time) -> Time:
        """How long a machine may stay for what a stay of this length costs."""
        return self.units(stay) * self.billing

    @property
    def entry_charge(self) -> Money:
        """The least a machine of this offer can cost."""
        return self.charge(0)

    @property
    def price_of_work(self) -> float:
        """What a microsecond of work at speed 1 costs, in billionths, where every slot is used."""
        return self.price.nanos / (self.billing * self.slots * self.speed)

    @property
    def machine_type(self) -> str:
        """As its provider knows it."""
        return (self.place.instance_type if self.place else "") or self.name

    @property
    def zone(self) -> str:
        """Where its machines are; empty: anywhere."""
        return self.place.zone if self.place else ""


def have_in_common(one: Offer, other: Offer) -> int:
    """How much decides when machines of both are taken away: a type, and a zone if both tell it.

    Machines of one type in one zone vanish together, as it is there that they get scarce.
    """
    return (one.machine_type == other.machine_type) + (one.zone == other.zone != "")


class Market(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The offers, with a currency and the date of the prices. Names are unique."""

    currency: str
    date: str
    offers: tuple[Offer, ...]

    def __getitem__(self, name: str) -> Offer:
        for offer in self.offers:
            if offer.name == name:
                return offer
        known = ", ".join(offer.name for offer in self.offers)
        raise InputError(f"no offer {shown(name)} in the market; it has {known}")

    def __contains__(self, name: str) -> bool:
        return any(offer.name == name for offer in self.offers)

    @property
    def is_free(self) -> bool:
        return not any(offer.price for offer in self.offers)

    @property
    def cheapest_entry(self) -> Money:
        """The least money with which any machine can be rented."""
        return min(offer.entry_charge for offer in self.offers)


_NAME_EXTRAS: Final = set("._-+/:")


def check_offer_name(name: str) -> None:
    if not all(letter.isalnum() or letter in _NAME_EXTRAS for letter in name):
        raise InputError(f"name {shown(name)} may contain only letters, digits and . _ - + / :")
