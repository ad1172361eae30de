"""Machines over time: a row each with its attempts, or, beyond a screen of them, a raster of seats.

A seat is taken by the next machine of the same offer when its machine is gone, so that a fleet of
500 has 500 rows however many were replaced. A cell of the raster shows what took most of its time,
but a loss always shows.
"""

from __future__ import annotations

from base64 import b64encode
from heapq import heappop, heappush
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND, Time
from bursar.report.page.machine_log import NEVER, MachineLog
from bursar.report.page.money_split import PLACES, USES, uses_of_attempts
from bursar.report.page.series import AttemptColumns, Ints

MOST_ROWS: Final = 60
MOST_SEGMENTS: Final = 6_000
BINS: Final = 420
_MOST_RUN: Final = 16
_LOSSES: Final = ("lost", "expired")
Floats = NDArray[np.float64]


class MachineRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One machine; times in seconds since the run began."""

    name: str
    offer: str
    rented: float
    up: float | None
    gone: float | None
    until: float
    """to the end of what is charged"""
    slots: int = 1
    lost: bool = False
    segments: list[tuple[float, float, int, int, int]] = []
    """from, to, a place in USES, the task, and which slot"""


class Raster(msgspec.Struct, frozen=True):
    """Seats by time."""

    offers: list[tuple[str, int]]
    """name and seats, from top to bottom"""
    bins: int
    end: float
    cells: str
    """seat by seat, bin by bin: 0, or a place in USES plus 1; as `packed` has them"""
    sums: dict[str, list[float]]
    """by use, machines at each bin"""


class MachineTimeline(msgspec.Struct, frozen=True):
    rented: int
    lost: int
    rows: list[MachineRow] | None = None
    raster: Raster | None = None


def timeline(columns: AttemptColumns, machines: MachineLog, now: Time) -> MachineTimeline:
    lost = sum(cause in (2, 3) for cause in machines.cause)
    if len(machines) <= MOST_ROWS and len(columns.task) <= MOST_SEGMENTS:
        return MachineTimeline(len(machines), lost, rows=_rows(columns, machines, now))
    return MachineTimeline(len(machines), lost, raster=_raster(columns, machines, now))


def _rows(columns: AttemptColumns, machines: MachineLog, now: Time) -> list[MachineRow]:
    uses = uses_of_attempts(columns, machines)
    of_machine: dict[int, list[int]] = {}
    for place in np.argsort(columns.started, kind="stable").tolist():
        of_machine.setdefault(int(columns.machine[place]), []).append(place)
    order = sorted(range(1, len(machines) + 1), key=lambda one: (machines.offer[one], one))
    rows = []
    for machine in order:
        offer, gone, up = (
            machines.offer_of(machine), machines.gone[machine], machines.up[machine],
        )  # fmt: skip
        if machines.cause_of(machine) == "refused":
            continue
        rented = machines.rented[machine]
        paid = rented + offer.paid_for(machines.until[machine] - rented)
        end = now if gone == NEVER else gone
        rows.append(
            MachineRow(
                name=machines.name(machine),
                offer=offer.name,
                rented=rented / SECOND,
                up=None if up == NEVER else up / SECOND,
                gone=None if gone == NEVER else gone / SECOND,
                until=paid / SECOND,
                slots=offer.slots,
                lost=machines.cause_of(machine) in _LOSSES,
                segments=_segments(columns, uses, of_machine.get(machine, []), end, offer.slots),
            )
        )
    return rows


def _segments(
    columns: AttemptColumns, uses: Ints, places: list[int], end: Time, slots: int
) -> list[tuple[float, float, int, int, int]]:
    free = [0] * slots
    found = []
    for place in places:
        begin = int(columns.started[place])
        stop = min(end, int(columns.ended[place])) if columns.ended[place] != NEVER else end
        if stop <= begin:
            continue
        lane = min(range(slots), key=free.__getitem__)
        begin = max(begin, free[lane])
        if stop <= begin:  # it only waited for a slot
            continue
        free[lane] = stop
        found.append(
            (begin / SECOND, stop / SECOND, int(uses[place]), int(columns.task[place]), lane)
        )
    return found


def _raster(columns: AttemptColumns, machines: MachineLog, now: Time) -> Raster:
    seats, offers = _seats(machines)
    total = sum(count for _, count in offers)
    width = max(now, 1) / BINS
    covered = np.zeros(total * len(USES) * (BINS + 2))

    def add(rows: Ints, uses: Ints | int, begin: Ints, end: Ints, weight: Floats) -> None:
        """Cover time of these seats: a diff of integrals, summed up below."""
        base = (rows * len(USES) + uses) * (BINS + 2)
        for moments, sign in ((begin, 1.0), (np.maximum(end, begin), -1.0)):
            x = np.clip(moments / width, 0, BINS)
            whole = x.astype(np.int64)
            part = x - whole
            np.add.at(covered, base + whole, sign * (1 - part) * weight)
            np.add.at(covered, base + whole + 1, sign * part * weight)

    rented, gone, up = (np.array(c)[1:] for c in (machines.rented, machines.gone, machines.up))
    end = np.where(gone == NEVER, now, gone)
    slots = np.array([1, *(machines.offer_of(m).slots for m in range(1, len(machines) + 1))])
    ones = np.ones(len(rented))
    add(seats[1:], PLACES["booting"], rented, np.where(up == NEVER, end, up), ones)
    add(seats[1:], PLACES["ahead"], rented, end, ones)  # all its time, from which idle follows
    stop = np.where(columns.is_live, now, columns.ended)
    stop = np.minimum(stop, end[columns.machine - 1])
    uses = uses_of_attempts(columns, machines)
    part = 1.0 / slots[columns.machine]
    add(seats[columns.machine], uses, columns.started, stop, part)
    shares = np.cumsum(covered.reshape(total, len(USES), BINS + 2), axis=2)[:, :, :BINS]
    there = shares[:, PLACES["ahead"], :].copy()
    shares[:, PLACES["ahead"], :] = 0
    shares[:, PLACES["idle"], :] = np.maximum(there - shares.sum(axis=1), 0)
    cells = _dominant(shares)
    return Raster(
        offers=offers,
        bins=BINS,
        end=now / SECOND,
        cells=packed(cells.ravel()),
        sums={
            use: [round(one, 3) for one in shares[:, place, :].sum(axis=0).tolist()]
            for use, place in PLACES.items()
            if use not in ("rounded", "ahead")
        },
    )


def _dominant(shares: Floats) -> NDArray[np.uint8]:
    most = shares.argmax(axis=1)
    found = np.where(shares.max(axis=1) > 0.02, most + 1, 0).astype(np.uint8)
    for use in ("failed", "lost"):
        found[shares[:, PLACES[use], :] > 1e-9] = PLACES[use] + 1
    return found


def packed(cells: NDArray[np.uint8]) -> str:
    """Runs of equal cells in base64: a byte has the value above, the length less one below.

    Never longer than a byte for each cell, and far shorter where machines do the same for long.
    """
    begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    lengths = np.diff(np.append(begins, len(cells)))
    pieces = -(-lengths // _MOST_RUN)
    packed = np.repeat(cells[begins] << 4, pieces) | (_MOST_RUN - 1)
    packed[np.cumsum(pieces) - 1] -= (pieces * _MOST_RUN - lengths).astype(np.uint8)
    return b64encode(packed.tobytes()).decode()


def _seats(machines: MachineLog) -> tuple[Ints, list[tuple[str, int]]]:
    """The row of each machine, by offer from top to bottom, and how many rows each offer has."""
    seats = np.zeros(len(machines) + 1, dtype=np.int64)
    offers: list[tuple[str, int]] = []
    above = 0
    for place, offer in enumerate(machines.market.offers):
        free: list[int] = []
        taken: list[tuple[Time, int]] = []
        count = 0
        for machine in range(1, len(machines) + 1):
            if machines.offer[machine] != place:
                continue
            while taken and taken[0][0] <= machines.rented[machine]:
                heappush(free, heappop(taken)[1])
            seat = heappop(free) if free else count
            count = max(count, seat + 1)
            seats[machine] = above + seat
            if machines.gone[machine] != NEVER:
                heappush(taken, (machines.gone[machine], seat))
        if count:
            offers.append((offer.name, count))
            above += count
    return seats, offers
