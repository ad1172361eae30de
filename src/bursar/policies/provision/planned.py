"""`planned`: the fleet of a plan that was chosen, for as long as it will do.

The user chose a fleet with its bounds, so it is rented and kept as it is. Every monitoring interval
it is checked, by what is known of run times by then, that its machines can do the tasks left within
the money and the deadline (section 2.2.3 of the BaTS thesis asks N_e <= N_p + Delta-N). Where they
cannot, `bats` takes over and decides again what the money is spent on.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from bursar.beliefs.progress import Progress
from bursar.engine.guard import FAR_HORIZON
from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.time import FOREVER, Time
from bursar.policies.planned_fleets import PlannedFleets
from bursar.policies.provision.bats_rolling import RollingBats, monitoring_interval
from bursar.policies.provision.fixed import Fixed
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.events import AnyEvent
from bursar.state.view import Machine, View

SHORT_UNITS_ALLOWANCE: Final = 1.3
"""A plan on units below 10 minutes is left where it would take this times the money."""


class Planned(Provisioner):
    """Follows the plans of all works together; `fleet` is for tasks of works that have none."""

    def __init__(self, fleet: Fleet) -> None:
        self._given = fleet
        self._fleets = PlannedFleets()
        self.progress = Progress()
        self._fixed = Fixed(fleet)
        self._bats = RollingBats(self.progress)
        self._next_look: Time = 0
        self.is_followed = True
        """False: the plan did not do, and `bats` has taken over"""

    def saw(self, event: AnyEvent, state: View) -> None:
        self.progress.saw(event, state)
        if self._fleets.saw(event, state):
            self._fixed.fleet = self._fleets.total or self._given

    def saw_before(self, view: View) -> None:
        self.progress.saw_before(view)
        self._fleets.saw_before(view)
        self._fixed.fleet = self._fleets.total or self._given

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not self.is_followed:
            return self._bats.provision(view, now, rng)
        actions = list(self._fixed.provision(view, now, rng))
        if not view.ready or now < self._next_look or any(isinstance(w, Rent) for w in actions):
            return actions
        self._next_look = now + monitoring_interval(view)
        if self._bats.keeps_course(view, now, self._allowance(view)):
            return [*actions, Wake(self._next_look)] if view.machines else actions
        self.is_followed = False
        return self._bats.provision(view, now, rng)

    def _allowance(self, view: View) -> float:
        """By how much the money may seem too little before the plan is left.

        The bound of a plan allows for what is not known yet. With long units a unit too many is
        money lost, with short ones a first guess by a few results is no reason to leave it.
        """
        units = [view.market[name].billing for name, count in self.fleet.items() if count]
        return SHORT_UNITS_ALLOWANCE if max(units, default=0) < FAR_HORIZON else 1.0

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        way = self._fixed if self.is_followed else self._bats
        return way.renew(machine, view, now)

    @property
    def fleet(self) -> Fleet:
        """What is rented and kept while the plans are followed."""
        return self._fixed.fleet

    @property
    def plans(self) -> int:
        """The first is that which was chosen."""
        return 0 if self.is_followed else 1 + self._bats.plans

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine, for the placer `fitting`."""
        return FOREVER if self.is_followed else self._bats.stays_until(machine)

    @property
    def runtimes(self) -> Progress:
        return self.progress
