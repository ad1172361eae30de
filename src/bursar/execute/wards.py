"""What the warden keeps: machines, the processes on them, and what waits for a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Order: TypeAlias = tuple[int, tuple[str, ...], int | None]
    """task, command and longest run time"""
    Visit: TypeAlias = tuple[tuple[str, ...], int]
    """program, and the descriptor over which it talks to bursar"""
    Result: TypeAlias = tuple[int, int, int]
    """exit code or signal, processor time, memory"""


class KeptMachine:
    """A lease, and what runs on it."""

    __slots__ = (
        "commands",
        "environment",
        "first",
        "id",
        "leaving",
        "slots",
        "until",
        "visits",
        "waiting",
        "wards",
    )

    def __init__(
        self, id: int, until: int, slots: int, first: int, environment: dict[bytes, bytes]
    ) -> None:
        self.id = id
        self.first = first
        """of the job slots: the numbers of its slots among those of all machines, from 1"""
        self.until = until
        self.slots = slots
        self.environment = environment
        self.wards: dict[int, Ward] = {}
        """by slot, from 1"""
        self.commands = 0
        """wards that take a slot; workers take none, as bursar counts what they do"""
        self.waiting: dict[int, Order] = {}
        """commands to start as slots get free, by attempt"""
        self.visits: dict[int, Visit] = {}
        """programs that could not be started yet, by worker"""
        self.leaving = ""
        """why it goes down: `released`, `lost` or `expired`; empty while it stays"""

    def add(self, ward: Ward) -> None:
        self.wards[ward.slot] = ward
        self.commands += ward.key > 0

    def remove(self, ward: Ward) -> None:
        del self.wards[ward.slot]
        self.commands -= ward.key > 0

    def free_slot(self) -> int:
        slot = 1
        while slot in self.wards:
            slot += 1
        return slot


class Ward:
    """A process under watch, the leader of its own group, and all that comes of it."""

    __slots__ = ("cause", "end", "ended", "key", "machine", "pid", "result", "slot", "started")

    def __init__(
        self, key: int, pid: int, end: int, machine: KeptMachine, slot: int, started: int
    ) -> None:
        self.key = key
        self.pid = pid
        self.end = end
        """of the lifeline"""
        self.machine = machine
        self.slot = slot
        self.started = started
        self.cause = "exited"
        """why it ends: by itself, or `cancelled`, `timeout`, `lost`"""
        self.ended = 0
        """when the process itself did; 0: it has not. The ward lives as long as what it started."""
        self.result: Result = (0, 0, 0)


def first_free_slot(machines: Iterable[KeptMachine], slots: int) -> int:
    """The least number from which so many job slots are free."""
    first = 1
    for machine in sorted(machines, key=lambda machine: machine.first):
        if first + slots <= machine.first:
            break
        first = max(first, machine.first + machine.slots)
    return first
