"""Where the money went: every charge, split by what its time was used for.

Time is counted in microseconds of slots, as whole numbers by offer, and becomes money at the end:
the parts are fractions that sum to what is committed, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.money import NANOS
from bursar.model.time import Time
from bursar.report.page.machine_log import NEVER, MachineLog
from bursar.report.page.series import AttemptColumns, Ints
from bursar.state.attempts import CODES, OUTCOMES

Use = Literal[
    "useful", "running", "replica", "off", "failed", "lost", "booting", "idle", "rounded", "ahead"
]
USES: Final[tuple[Use, ...]] = (
    "useful", "running", "replica", "off", "failed", "lost", "booting", "idle", "rounded", "ahead",
)  # fmt: skip
"""`replica`: under way, while an older attempt of its task is, too; `off`: called off, by a replica
that was faster or a release; `rounded`: from the end of a machine to the end of the unit it had
entered; `ahead`: paid, and not used yet"""
PLACES: Final = {use: place for place, use in enumerate(USES)}
_OF_OUTCOME: Final[dict[str, Use]] = {
    "success": "off",
    "failed": "failed",
    "timeout": "failed",
    "cancelled": "off",
    "lost": "lost",
    "released": "off",
}
_GIVING_WAY: Final = ("off", "lost", "failed", "replica", "useful", "running")
"""attempts that only waited for a slot, in the order in which their time is not counted"""


class OfferMoney(msgspec.Struct, frozen=True):
    """By use, in the order of USES."""

    offer: str
    parts: tuple[Fraction, ...]

    @property
    def total(self) -> Fraction:
        return sum(self.parts, Fraction(0))


def uses_of_attempts(columns: AttemptColumns, machines: MachineLog) -> NDArray[np.int64]:
    """A place in USES for each attempt; `lost` is what vanished with its machine."""
    of_outcome = np.full(256, PLACES["running"], dtype=np.int64)
    for name, code in CODES.items():
        of_outcome[code] = PLACES[_OF_OUTCOME[name]]
    uses = of_outcome[columns.outcome]
    uses[columns.is_winner] = PLACES["useful"]
    live = np.flatnonzero(columns.is_live)
    _, oldest = np.unique(columns.task[live], return_index=True)
    uses[np.delete(live, oldest)] = PLACES["replica"]
    # What ran on a machine that ended itself is `released` in the log, and was lost all the same.
    causes = np.array(machines.cause, dtype=np.uint8)
    is_expired = causes[columns.machine] == 3
    uses[is_expired & (columns.outcome == OUTCOMES.index("released"))] = PLACES["lost"]
    return uses


def split_money(columns: AttemptColumns, machines: MachineLog, now: Time) -> list[OfferMoney]:
    """By offer, in the order of the market; offers of which none was rented have nothing."""
    times = _slot_times(columns, machines, now)
    found = []
    for place, offer in enumerate(machines.market.offers):
        mine = np.array(machines.offer) == place
        mine[0] = False
        sums = [int(one) for one in times[mine].sum(axis=0)]
        price = Fraction(offer.price.nanos, NANOS * offer.billing * offer.slots)
        found.append(OfferMoney(offer.name, tuple(price * one for one in sums)))
    return found


def _slot_times(columns: AttemptColumns, machines: MachineLog, now: Time) -> Ints:
    """For each machine and use, microseconds of slots; each row sums to all that was charged."""
    offers = machines.market.offers
    place = np.array(machines.offer)
    slots, billing, minimum = (
        np.array([getattr(offer, name) for offer in offers] or [0], dtype=np.int64)[place]
        for name in ("slots", "billing", "minimum")
    )
    rented, until = np.array(machines.rented), np.array(machines.until)
    gone, up = np.array(machines.gone), np.array(machines.up)
    is_gone = gone != NEVER
    stay = np.maximum(np.maximum(until - rented, minimum), 1)
    paid_until = rented - (-stay // np.maximum(billing, 1)) * billing
    end = np.where(is_gone, gone, np.clip(now, rented, paid_until))
    up = np.where(up == NEVER, end, np.minimum(up, end))
    times = np.zeros((len(place), len(USES)), dtype=np.int64)
    began = np.maximum(columns.started, up[columns.machine])
    ended = np.where(columns.is_live, now, columns.ended)
    spent = np.maximum(np.minimum(ended, end[columns.machine]) - began, 0)
    uses = uses_of_attempts(columns, machines)
    np.add.at(times, (columns.machine, uses), spent)
    room = slots * (end - up)
    _fit(times, room)
    times[:, PLACES["booting"]] = slots * (up - rented)
    times[:, PLACES["idle"]] = room - times[:, : PLACES["booting"]].sum(axis=1)
    rest = slots * (paid_until - end)
    times[:, PLACES["rounded"]] = np.where(is_gone, rest, 0)
    times[:, PLACES["ahead"]] = np.where(is_gone, 0, rest)
    times[np.array(machines.cause, dtype=np.uint8) == 4] = 0  # refused: nothing was charged
    times[0] = 0
    return times


def _fit(times: Ints, room: Ints) -> None:
    """Take away what attempts waited for a slot: no more is counted than the slots have."""
    excess = np.maximum(times[:, : PLACES["booting"]].sum(axis=1) - room, 0)
    for use in _GIVING_WAY:
        taken = np.minimum(times[:, PLACES[use]], excess)
        times[:, PLACES[use]] -= taken
        excess -= taken
