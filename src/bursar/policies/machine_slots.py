"""Machines and their free slots in arrays, kept up to date by what changed."""

from __future__ import annotations

import numpy as np

from bursar.engine.roles import Provisioner
from bursar.model.time import FOREVER
from bursar.policies.columns import Columns, Integers, Truths
from bursar.state.fleet_counts import ChangedMachines
from bursar.state.view import Machine, View


class MachineSlots:
    """Machines that do not leave, a row each; `look` first."""

    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        self._columns = Columns(5)
        self._changed = ChangedMachines()
        self._plans = 0
        """that had been made at the last look"""
        self._changed_rows: set[int] = set()
        """machines whose rows are not as at the last look yet"""
        self._view: View | None = None
        self._offers: dict[str, int] = {}
        self._stays = np.zeros(16, dtype=np.int64)
        self._is_leaving = np.zeros(16, dtype=np.bool_)
        """both by machine number, also of machines that leave"""
        self._passing: set[int] = set()
        """machines that do not stay until their tasks have ended"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        changed = self._changed.take(view)
        before, self._plans = self._plans, self._provisioner.plans
        if changed is None or before != self._plans:
            self._offers = {offer.name: place for place, offer in enumerate(view.market.offers)}
            self._columns.clear()
            self._passing.clear()
            changed = view.machines
        self._changed_rows.update(changed)
        for number in changed:
            machine = view.machines.get(number)
            if machine is not None:
                self._note(machine)
            else:
                self._passing.discard(number)
        self._view = view

    def _note(self, machine: Machine) -> None:
        """What is known by number."""
        number = machine.id
        if number >= len(self._stays):
            self._stays = np.resize(self._stays, 2 * number)
            self._is_leaving = np.resize(self._is_leaving, 2 * number)
        stays = self._stays[number] = self._provisioner.stays_until(machine)
        self._is_leaving[number] = machine.leaving
        if stays < FOREVER:
            self._passing.add(number)
        else:
            self._passing.discard(number)

    @property
    def _rows(self) -> Columns:
        """The rows, as of the last look; those that changed are made when somebody reads them."""
        changed, self._changed_rows = self._changed_rows, set()
        for number in changed:
            self._update(number)
        return self._columns

    def _update(self, number: int) -> None:
        machine = None if self._view is None else self._view.machines.get(number)
        if machine is None or machine.leaving:
            self._columns.drop(number)
            return
        offer = machine.offer
        free = offer.slots - len(machine.attempts)
        begin = 0 if machine.up is not None else machine.rented + offer.boot
        stays = int(self._stays[number])
        self._columns.put((number, self._offers[offer.name], free, begin, stays))

    # --- reading ---------------------------------------------------------------------------------

    @property
    def all_stay(self) -> bool:
        """Whether all machines stay until their tasks have ended, however long that takes."""
        return not self._passing

    @property
    def machines(self) -> Integers:
        return self._rows[0]

    @property
    def offers(self) -> Integers:
        """Places in the market."""
        return self._rows[1]

    @property
    def free(self) -> Integers:
        """Slots."""
        return self._rows[2]

    @property
    def begin(self) -> Integers:
        """When they are up; 0: they are."""
        return self._rows[3]

    @property
    def stays(self) -> Integers:
        return self._rows[4]

    def stays_of(self, machines: Integers) -> Integers:
        """Until when each of these machines stays, those that leave among them."""
        found: Integers = self._stays[machines]
        return found

    def is_leaving(self, machines: Integers) -> Truths:
        found: Truths = self._is_leaving[machines]
        return found
