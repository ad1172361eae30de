"""Entries that break the contract of their role are found out, whatever they do wrong."""

from __future__ import annotations

import random
import time
from datetime import datetime

import pytest

from bursar.engine.roles import Placer, Policy
from bursar.model.market import Market
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.testing import (
    ContractBroken,
    check_placer,
    check_policy,
    check_provisioner,
    check_replicator,
)


def fleet(market: Market):
    return {offer.name: 2 if offer.limit is None else offer.limit for offer in market.offers}


# --- provisioners --------------------------------------------------------------------------------


class Honest(Fixed):
    def __init__(self, market):
        super().__init__(fleet(market))


class Insomniac(Honest):
    """Wakes for ever, and rents nothing."""

    def provision(self, view, now, rng):
        return [act.Wake(now + 1)] if view.ready else []


class Idler(Honest):
    def provision(self, view, now, rng):
        return []


class Meddler(Honest):
    def provision(self, view, now, rng):
        for machine in view.machines.values():
            machine.marked = True
        return super().provision(view, now, rng)


class Thief(Honest):
    """Makes room in the budget."""

    def provision(self, view, now, rng):
        view.ledger.committed -= view.ledger.committed
        return super().provision(view, now, rng)


class Clockwatcher(Honest):
    def provision(self, view, now, rng):
        self.asked = time.monotonic()
        return super().provision(view, now, rng)


class Calendar(Honest):
    def provision(self, view, now, rng):
        self.asked = datetime.now()
        return super().provision(view, now, rng)


class Talker(Honest):
    def provision(self, view, now, rng):
        print("how many machines, now?")
        return super().provision(view, now, rng)


class Reader(Honest):
    def provision(self, view, now, rng):
        with open("/dev/null"):  # noqa: PTH123
            return super().provision(view, now, rng)


class Gambler(Honest):
    """Throws dice that are not its own."""

    def provision(self, view, now, rng):
        random.random()
        return super().provision(view, now, rng)


class Moody(Honest):
    """Every other one of its kind wants nothing."""

    made = 0

    def __init__(self, market):
        super().__init__(market)
        Moody.made += 1
        self.wants = Moody.made % 2

    def provision(self, view, now, rng):
        return super().provision(view, now, rng) if self.wants else []


class Wasteful(Honest):
    """Draws more when it is asked again."""

    made = 0

    def __init__(self, market):
        super().__init__(market)
        Wasteful.made += 1
        self.draws = Wasteful.made % 2

    def provision(self, view, now, rng):
        for _ in range(self.draws):
            rng.random()
        return super().provision(view, now, rng)


class Overreaching(Honest):
    """Does the placer's work."""

    def provision(self, view, now, rng):
        yield from super().provision(view, now, rng)
        yield from (act.Start(task, machine) for task in view.ready for machine in view.idle)


class Silent(Honest):
    def provision(self, view, now, rng):
        return [act.Rent(name) for name in self.fleet]


class Elsewhere(Honest):
    def renew(self, machine, view, now):
        return act.Release(machine.id + 1, reason="not this one")


class Mute(Honest):
    def renew(self, machine, view, now):
        return act.Release(machine.id)


class Forgetful(Honest):
    """Does not know the run again that it finds after a crash."""

    def __init__(self, market):
        super().__init__(market)
        self.done = 0

    def provision(self, view, now, rng):
        if view.done > self.done + 5:
            return [act.Stop("somebody else works here")]
        self.done = view.done
        return super().provision(view, now, rng)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (Insomniac, "the run does not end"),
        (Idler, "it ended as failed: 8 tasks left, but the policy wants no machine"),
        (Meddler, "provision raises AttributeError: immutable type: 'Machine'"),
        (Thief, "provision raises AttributeError: immutable type: '_LedgerView'"),
        (Clockwatcher, r"Clockwatcher looks up the clock, or sleeps \(monotonic, .*test_entries"),
        (Calendar, r"looks up the clock \(now"),
        (Talker, "prints"),
        (Reader, "opens a file"),
        (Gambler, "draws from the generator of `random` instead of its own"),
        (Moody, "when asked the same again"),
        (Wasteful, "provision draws differently when asked the same again"),
        (Overreaching, "is none of Rent, Release, Scale, Wake, Stop"),
        (Silent, "gives no reason"),
        (Elsewhere, "asked about machine 1"),
        (Mute, "gives no reason"),
        (Forgetful, "it ended as budget: somebody else works here"),
    ],
)
def test_a_provisioner_that_breaks_the_contract_is_found_out(entry, complaint):
    with pytest.raises(ContractBroken, match=complaint):
        check_provisioner(entry)


def test_an_honest_provisioner_passes():
    check_provisioner(Honest)


class Learner(Honest):
    """Knows every machine by what it was told, even when it is made anew."""

    def __init__(self, market):
        super().__init__(market)
        self.rented = 0

    def saw(self, event, state):
        self.rented += isinstance(event, ev.MachineRented)

    def provision(self, view, now, rng):
        assert self.rented >= max(view.machines, default=0), "nobody told it"
        return super().provision(view, now, rng)


class Pupil(Honest):
    def __init__(self, market):
        super().__init__(market)
        self.teacher = Learner(market)

    def provision(self, view, now, rng):
        return self.teacher.provision(view, now, rng)


def test_an_entry_that_learns_is_reported_what_happens():
    check_provisioner(Learner)
    check_provisioner(Pupil, beliefs=lambda pupil: [pupil.teacher])


# --- placers and replicators ---------------------------------------------------------------------


class Lazy(Placer):
    def place(self, view, now, rng):
        return []


class Robber(RandomPlacer):
    def place(self, view, now, rng):
        return [act.Rent(view.market.offers[0].name, "I want one, too")]


class Consumer(RandomPlacer):
    def place(self, view, now, rng):
        starts = super().place(view, now, rng)
        for start in starts:
            view.ready.discard(start.task)
        return starts


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (Lazy, "with plenty of money and no faults it ended as budget"),
        (Robber, "is none of Start"),
        (Consumer, "place raises AttributeError"),
    ],
)
def test_a_placer_that_breaks_the_contract_is_found_out(entry, complaint):
    with pytest.raises(ContractBroken, match=complaint):
        check_placer(entry)


class Unexplained(NoReplicas):
    def replicate(self, view, now, rng):
        return [act.Start(a.task, view.idle[0]) for a in view.attempts.values()]


class Killer(NoReplicas):
    def replicate(self, view, now, rng):
        return [act.Release(machine, at_once=True) for machine in view.idle]


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [(Unexplained, "gives no reason"), (Killer, "is none of Start, Cancel, Wake")],
)
def test_a_replicator_that_breaks_the_contract_is_found_out(entry, complaint):
    with pytest.raises(ContractBroken, match=complaint):
        check_replicator(entry)


# --- entries that only make sense together --------------------------------------------------------


class Pooled(Placer):
    """Starts what its provisioner says, which knows it by what was shown to it."""

    def __init__(self, teacher):
        self.teacher = teacher

    def place(self, view, now, rng):
        assert self.teacher.rented >= max(view.machines, default=0), "made again alone"
        return RandomPlacer().place(view, now, rng)


def test_entries_that_need_each_other_are_made_and_shown_events_together():
    def make(market):
        learner = Learner(market)
        return Policy(learner, Pooled(learner), NoReplicas())

    check_policy(make, several_accounts=True)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ((Idler, RandomPlacer, NoReplicas), "it ended as failed: 8 tasks left"),
        ((Gambler, RandomPlacer, NoReplicas), "draws from the generator of `random`"),
        ((Honest, Robber, NoReplicas), "is none of Start"),
        ((Honest, RandomPlacer, Unexplained), "gives no reason"),
    ],
)
def test_one_of_several_that_breaks_the_contract_is_found_out(parts, complaint):
    provisioner, placer, replicator = parts
    with pytest.raises(ContractBroken, match=complaint):
        check_policy(lambda market: Policy(provisioner(market), placer(), replicator()))
