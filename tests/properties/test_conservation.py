"""Laws that hold for every policy, market and misfortune: money, tasks and machine time."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar import actions as act
from bursar import events as ev
from bursar.engine import Engine
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import Policy
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.fortune import ModelledFortune
from bursar.state import DONE, FAILED, RunState
from bursar.testing.erratic import ErraticWorld


class Greedy:
    """Asks for everything, all the time, with nonsense between."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def provision(self, view, now, rng):
        wishes = [act.Rent(offer.name) for offer in view.market.offers for _ in range(3)]
        wishes.append(act.Rent("no such offer"))
        if view.machines and self.rng.random() < 0.3:
            some = self.rng.choice(list(view.machines))
            wishes.append(act.Release(some, at_once=self.rng.random() < 0.5))
            wishes.append(act.Extend(some))
        wishes.append(act.Extend(10**6))
        return wishes

    def renew(self, machine, view, now):
        return self.rng.choice([act.Extend(machine.id), act.Extend(machine.id + 1)])

    def place(self, view, now, rng):
        tasks = [*view.ready, 0, -5, 10**9]
        return [act.Start(self.rng.choice(tasks), m) for m in [*view.idle][:9] + [77]]

    def replicate(self, view, now, rng):
        wishes = [
            act.Start(a.task, m) for a in list(view.attempts.values())[:5] for m in [*view.idle][:5]
        ]
        wishes += [act.Cancel(a) for a in [*view.attempts, 99] if self.rng.random() < 0.2]
        return wishes


class Auditor:
    """Checks the laws after every single event, with sums of its own."""

    def __init__(self) -> None:
        self.events = []

    def saw(self, event, state):
        self.events.append(event)
        budget = state.ledger.budget
        assert state.ledger.committed <= budget
        assert len(state.ready) + state.done + state.failed + _running(state) == state.total
        assert event.at == state.now


def _running(state):
    return len({attempt.task for attempt in state.attempts.values()} - _settled(state))


def _settled(state):
    return {t for t in range(1, state.total + 1) if state.status[t] in (DONE, FAILED)}


offers = st.builds(
    Offer,
    name=st.just("?"),
    price=st.integers(10**8, 10**10).map(Money),
    billing=st.sampled_from([SECOND, 7 * SECOND, MINUTE, 17 * MINUTE, HOUR]),
    minimum=st.sampled_from([0, 0, MINUTE, 61 * SECOND]),
    limit=st.one_of(st.none(), st.integers(0, 5)),
    boot=st.sampled_from([0, 3 * SECOND, 5 * MINUTE]),
    slots=st.integers(1, 3),
    speed=st.sampled_from([0.5, 1.0, 3.0]),
)


@st.composite
def cases(draw):
    kinds = draw(st.lists(offers, min_size=1, max_size=3))
    named = [
        Offer(**{**{f: getattr(o, f) for f in Offer.__struct_fields__}, "name": f"offer{i}"})
        for i, o in enumerate(kinds)
    ]
    market = Market("USD", "2026-01-01", tuple(named))
    dearest = max(offer.entry_charge.nanos for offer in named)
    budget = Money(draw(st.integers(0, 30 * dearest)))
    return {
        "market": market,
        "goal": Goal(budget, draw(st.one_of(st.none(), st.integers(SECOND, 3 * HOUR)))),
        "limits": Limits(retries=draw(st.integers(0, 2))),
        "runtimes": draw(st.lists(st.integers(1, 40 * MINUTE), min_size=1, max_size=25)),
        "failing": draw(st.sampled_from([0.0, 0.2])),
        "mean_life": {o.name: draw(st.sampled_from([10 * SECOND, HOUR])) for o in named[:1]}
        if draw(st.booleans())
        else {},
        "jumpiness": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "lead": draw(st.sampled_from([0, SECOND // 4, 90 * SECOND])),
        "hostile": draw(st.booleans()),
        "seed": draw(st.integers(0, 10**6)),
    }


def execute(case, steps=300):
    """Run a case to its end, or for so many steps: some policies never end by themselves."""
    state, auditor = RunState(), Auditor()
    runtimes = case["runtimes"]
    fortune = ModelledFortune(
        lambda task, machine: max(1, round(runtimes[task - 1] / machine.offer.speed)),
        failing=case["failing"],
        mean_life=case["mean_life"],
        seed=case["seed"],
    )
    greedy = Greedy(case["seed"])
    fleet = {offer.name: offer.limit or 3 for offer in case["market"].offers}
    policy = (
        Policy(greedy, greedy, greedy)
        if case["hostile"]
        else Policy(Fixed(fleet), RandomPlacer(), NoReplicas())
    )
    rng = Random(case["seed"])
    world = ErraticWorld(state, fortune, rng, jumpiness=case["jumpiness"], lead=case["lead"])
    engine = Engine(state, policy, world, rng=rng, observers=[auditor])
    engine.record(
        ev.RunCreated(0, "r", case["market"], case["goal"], case["limits"], 1, {}, {}, 0.0)
    )
    engine.record(ev.WorkArrived(0, Bag(count=len(runtimes))))
    engine.record(ev.ArrivalsEnded(0))
    engine.step(())
    while state.ended is None and steps:
        steps -= 1
        engine.step(world.wait(engine.next_look()))
        state.check()
    return state, auditor.events


@settings(max_examples=2000, deadline=None)
@given(cases())
def test_no_policy_market_or_misfortune_breaks_the_laws(case):
    state, events = execute(case)
    check_charges(case["market"], state, events)
    check_tasks(state, events)
    if not case["hostile"]:
        assert state.ended is not None
        assert not state.machines


def check_charges(market, state, events):
    """Every charge is the offer's price times the units entered, by an account kept apart."""
    total = ZERO
    for rented in (e for e in events if isinstance(e, ev.MachineRented)):
        until = [rented.until] + [
            e.until
            for e in events
            if isinstance(e, ev.LeaseExtended) and e.machine == rented.machine
        ]
        assert until == sorted(until), "a lease never gets shorter"
        down = [e for e in events if isinstance(e, ev.MachineDown) and e.machine == rented.machine]
        assert len(down) <= 1
        end = until[-1]
        if down:
            ended = down[0].at if down[0].ended is None else down[0].ended
            assert ended <= until[-1], "no machine outlives its lease"
            end = ended
        offer = market[rented.offer]
        stay = max(end - rented.at, offer.minimum)
        units = max(1, stay // offer.billing + (stay % offer.billing > 0))
        total += Money(offer.price.nanos * units)
    assert total == state.ledger.committed


def check_tasks(state, events):
    """Each attempt starts and ends once; each task is won at most once."""
    started = [e.attempt for e in events if isinstance(e, ev.AttemptStarted)]
    assert started == list(range(1, len(started) + 1))
    ended = [e.attempt for e in events if isinstance(e, ev.AttemptEnded)]
    assert len(ended) == len(set(ended))
    assert set(ended) <= set(started)
    wins = [w for w in state.winners if w]
    assert len(wins) == len(set(wins)) == state.done


def test_a_run_that_can_be_paid_is_done():
    case = {
        "market": Market("USD", "x", (Offer("a", Money.parse("0.10"), HOUR, limit=2),)),
        "goal": Goal(Money.parse("0.20")),
        "limits": Limits(),
        "runtimes": [10 * MINUTE] * 12,
        "failing": 0.0,
        "mean_life": {},
        "jumpiness": 0.0,
        "lead": 0,
        "hostile": False,
        "seed": 1,
    }
    state, _ = execute(case)
    assert state.ended.status == "done"
    assert state.ledger.committed == Money.parse("0.20")
    assert state.last_settled == HOUR


@pytest.mark.parametrize("budget", ["0.19", "0.10"])
def test_a_run_that_cannot_be_paid_stops_by_budget_and_keeps_what_is_done(budget):
    case = {
        "market": Market("USD", "x", (Offer("a", Money.parse("0.10"), HOUR, limit=2),)),
        "goal": Goal(Money.parse(budget)),
        "limits": Limits(),
        "runtimes": [10 * MINUTE] * 12,
        "failing": 0.0,
        "mean_life": {},
        "jumpiness": 0.0,
        "lead": 0,
        "hostile": False,
        "seed": 1,
    }
    state, _ = execute(case)
    assert state.ended.status == "budget"
    assert state.done == 6
    assert "6 tasks left" in state.ended.why
