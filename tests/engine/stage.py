"""A run of the engine in a world and with a journal that remember what they are told."""

from __future__ import annotations

from bursar.engine.loop import Engine, at_once
from bursar.engine.roles import Placer, Policy, Provisioner, Replicator
from bursar.model.codec import decoder, encode
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.world import SimulatedWorld
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Auditor

READER = decoder(ev.AnyEvent)
SMALL = Offer("small", Money.parse("0.10"), limit=2)


class RecordingWorld(SimulatedWorld):
    """The simulated world, with a list of what it is told."""

    def __init__(self, state, behaviour, reported):
        super().__init__(state, behaviour)
        self.reported = reported

    def perform(self, decisions):
        self.reported.extend(("perform", decision) for decision in decisions)
        super().perform(decisions)

    def settle(self, task, attempt, fate):
        self.reported.append(("settle", (task, attempt, fate)))

    def close(self):
        self.reported.append(("close", None))


class RecordingJournal:
    """A journal in memory, with a list of what it is told."""

    def __init__(self, reported):
        self.reported = reported

    def append(self, event):
        assert READER.decode(encode(event)) == event, "what is written can be read"
        self.reported.append(("append", event))

    def commit(self, *, safely):
        self.reported.append(("commit", safely))


class Fates:
    """What befalls attempts by number: a run time and an outcome; others take a minute."""

    def __init__(self, attempts=(), lives=()):
        self.attempts = dict(attempts)
        self.lives = dict(lives)

    def attempt(self, task, attempt, machine, now):
        return self.attempts.get(attempt, (MINUTE, "success"))

    def boot(self, machine):
        return machine.offer.boot

    def life(self, machine):
        return self.lives.get(machine.id)

    def notice(self, machine):
        return 0


class Idle(Provisioner, Placer, Replicator):
    """Asks for nothing in any role, unless a test gives it something to do."""

    def provision(self, view, now, rng):
        return ()

    def renew(self, machine, view, now):
        return act.Extend(machine.id)

    def place(self, view, now, rng):
        return ()

    def replicate(self, view, now, rng):
        return ()


class Two(Fixed):
    """Two machines, whether there is work for them or not."""

    def __init__(self):
        super().__init__({"small": 2})

    def provision(self, view, now, rng):
        return [act.Rent("small", reason="two are two")] * (2 - len(view.machines))


class Twice(Idle):
    """A second attempt for whatever runs."""

    def replicate(self, view, now, rng):
        lonely = [a.task for a in view.attempts.values() if len(view.attempts_of(a.task)) == 1]
        pairs = zip(lonely, view.idle, strict=False)
        return [act.Start(task, machine, "to be sure") for task, machine in pairs]


class Stage:
    """A run in a recording world, ready to go."""

    def __init__(
        self,
        *offers,
        tasks=1,
        budget="10",
        deadline=None,
        retries=0,
        provisioner=None,
        placer=None,
        replicator=None,
        fates=None,
        outside=(),
        arrivals_end=True,
        observers=(),
        lead=0,
        ahead=0,
        advisors=(),
        think=at_once,
    ):
        offers = offers or (SMALL,)
        self.reported = []
        self.state = RunState()
        self.world = RecordingWorld(self.state, fates or Fates(), self.reported)
        self.policy = Policy(
            provisioner or Fixed({offer.name: offer.limit or 1 for offer in offers}),
            placer or RandomPlacer(),
            replicator or NoReplicas(),
            advisors,
        )
        self.world.lead = lead if callable(lead) else lambda offer: lead
        self.world.ahead = ahead
        self.journal = RecordingJournal(self.reported)
        if not ahead:  # the auditor knows nothing of attempts that wait at a machine
            observers = [Auditor(), *observers]
        self.engine = Engine(
            self.state, self.policy, self.world, self.journal, observers=observers, think=think
        )
        goal = Goal(Money.parse(budget), deadline)
        market = Market("USD", "undated", offers)
        self.engine.record(ev.RunCreated(0, "r", market, goal, Limits(retries), 1, {}, {}, 0.0))
        if tasks:
            self.engine.record(ev.WorkArrived(0, Work(Bag(tasks))))
        if arrivals_end:
            self.engine.record(ev.ArrivalsEnded(0))
        for event in outside:
            self.world.schedule(event)

    def run(self):
        ended = self.engine.run()
        self.state.check()
        assert not self.state.machines
        return ended

    def events(self, kind=ev.Event):
        return [e for reported, e in self.reported if reported == "append" and isinstance(e, kind)]

    def performed(self, kind):
        return [d for reported, d in self.reported if reported == "perform" and isinstance(d, kind)]

    def fates(self):
        return [fate for reported, fate in self.reported if reported == "settle"]
