"""`bats`: the fastest finish that the budget pays for, learned while the bag runs.

With `faithful` the algorithm is the published one (`bats_published`), else the rolling plan
(`bats_rolling`). Either reads a `Progress`, which observes the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.beliefs.progress import Progress
from bursar.engine.roles import Provisioner
from bursar.model.time import Time
from bursar.plan.bag.knapsack import FleetChoice
from bursar.policies.provision.bats_published import Cushion, PublishedBats
from bursar.policies.provision.bats_rolling import RollingBats
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.events import AnyEvent, AttemptStarted
from bursar.state.view import Machine, View


class Bats(Provisioner):
    """`cushion` and `selected`, a schedule of the list of choices, are for the published way."""

    def __init__(
        self,
        progress: Progress | None = None,
        *,
        faithful: bool = False,
        cushion: Cushion | None = None,
        selected: FleetChoice | None = None,
    ) -> None:
        self.progress = progress or Progress()
        self.way: PublishedBats | RollingBats = (
            PublishedBats(self.progress, cushion, selected)
            if faithful
            else RollingBats(self.progress)
        )

    def saw(self, event: AnyEvent, state: View) -> None:
        self.progress.saw(event, state)
        if isinstance(event, AttemptStarted) and isinstance(self.way, RollingBats):
            self.way.began(event.machine)

    def saw_before(self, view: View) -> None:
        self.progress.saw_before(view)

    def look_again(self) -> None:
        """What the last plan counted on is not there: plan as soon as possible."""
        if isinstance(self.way, RollingBats):
            self.way.look_again()

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        return self.way.provision(view, now, rng)

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        return self.way.renew(machine, view, now)

    @property
    def plans(self) -> int:
        return self.way.plans

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine, for the placer `fitting`."""
        return self.way.stays_until(machine)

    @property
    def runtimes(self) -> Progress:
        return self.progress
