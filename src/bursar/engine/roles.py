"""The three roles. A policy is one entry in each; any combination works.

An entry is pure: it gets a read-only view, the time and a random generator, and returns actions
with reasons. It never looks up the clock, sleeps, prints or opens a file, so the same object drives
the simulator and real machines. Returning nothing is always allowed. Whatever it asks for passes
the guard, which refuses what money or the state do not allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol

import msgspec

from bursar.model.time import Time
from bursar.state.actions import Cancel, Extend, Release, Rent, Start, Stop, Wake
from bursar.state.view import Machine, View


class Provisioner(Protocol):
    """How many machines of each offer, now?"""

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        """Called after every batch of events. Return early when nothing changed."""
        ...

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        """The paid time of `machine` is about to end: let it enter another unit, or release it.

        What runs on a released machine is lost, and its task goes back to the bag.
        """
        ...


class Placer(Protocol):
    """Which ready task goes to which idle machine?"""

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        """`view.ready` holds tasks with no live attempt, `view.idle` machines with a free slot.

        An entry that has a method `pick(view, rng)` for the next of the ready tasks may be asked
        for tasks ahead, which wait at busy machines while tasks are very short.
        """
        ...


class Replicator(Protocol):
    """Which running task deserves another attempt, where and when?"""

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        """Called when everything ready has been placed and machines are still idle.

        The first success of a task is its result; bursar cancels the others. An entry with an
        attribute `early` is also called before placing, while at most so many tasks are ready; one
        with a true attribute `keen` is called after every batch of events.
        """
        ...


class Policy(msgspec.Struct, frozen=True):
    """One entry in each role."""

    provisioner: Provisioner
    placer: Placer
    replicator: Replicator
