"""Cases: markets, goals, work and faults, and playing a policy through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import msgspec

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.engine.world import Observer
from bursar.model.errors import PolicyError
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag, Work
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.unreliable import Overlay, UnreliablePool
from bursar.simulate.world import Behaviour
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Machine
from bursar.testing.auditor import Auditor
from bursar.testing.broken import ContractBroken
from bursar.testing.erratic import ErraticWorld

CHECKED_STEPS: Final = 500
"""After so many steps, the state is checked only once in as many: a check takes ever longer."""
MOST_STEPS: Final = 5_000
"""More than a run of a hard case takes, if it gets on at all."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be: what is wanted, and what will befall it."""

    market: Market
    goal: Goal
    limits: Limits = Limits()
    runtimes: tuple[Time, ...]
    """of the tasks, on a machine of speed 1"""
    outside: tuple[ev.AnyEvent, ...]
    """what happens of itself, in order: work that arrives, somebody who stops the run"""
    failing: float = 0.0
    """share of attempts that fail"""
    mean_life: dict[str, Time] = {}
    """by offer, of machines that are lost"""
    notice: Time = 0
    """how long before its loss a machine is said to be lost"""
    scarcity: float = 0.0
    """share of machines that are not available when they are asked for"""
    silence: float = 0.0
    """share of attempts on unreliable machines that never end by themselves"""
    jumpiness: float = 0.0
    """how often everything is noticed late"""
    lead: Time = 0
    """how long before a lease ends the world must hear of it"""
    slow: dict[str, Time] = {}
    """the same for offers where it takes longer, or shorter"""
    seed: int = 0


def arriving(*counts: int, every: Time = 0) -> tuple[ev.AnyEvent, ...]:
    """Bags of so many tasks, one after the other, and no more."""
    bags = [ev.WorkArrived(number * every, Work(Bag(count))) for number, count in enumerate(counts)]
    return (*bags, ev.ArrivalsEnded(max(0, len(counts) - 1) * every))


def calm_case() -> Case:
    """Plenty of money and no faults: any policy that makes progress gets everything done."""
    offers = (
        Offer("small", Money.parse("0.10"), limit=2, boot=MINUTE, pool="unreliable"),
        Offer("large", Money.parse("0.30"), limit=1, slots=2, speed=2.0),
    )
    return Case(
        market=Market("USD", "undated", offers),
        goal=Goal(Money.parse("100")),
        runtimes=tuple((5 + number % 7) * MINUTE for number in range(12)),
        outside=arriving(8, 4, every=2 * HOUR),
    )


def shared_case() -> Case:
    """The same for two accounts, one with a budget for each interval; each has work."""
    calm = calm_case()
    hourly = Account("ann", Budget(Money.parse("1"), HOUR))
    works = (Work(Bag(5), "ann"), Work(Bag(4), "bob"), Work(Bag(3), "ann"))
    arrivals = [ev.WorkArrived(number * HOUR, work) for number, work in enumerate(works)]
    return msgspec.structs.replace(
        calm,
        goal=Goal(accounts=(hourly, Account("bob", Budget(Money.parse("100"))))),
        outside=(*arrivals, ev.ArrivalsEnded(2 * HOUR)),
    )


def hard_cases(count: int, seed: int = 0) -> Iterator[Case]:
    """So many cases of every kind; the same seed, the same cases."""
    rng = Random(seed)
    for number in range(count):
        yield _hard_case(rng, number)


def _hard_case(rng: Random, number: int) -> Case:
    offers = tuple(_draw_offer(rng, index) for index in range(rng.randint(1, 3)))
    dearest = max(offer.entry_charge.nanos for offer in offers)
    tasks = rng.randint(0, 12)
    first = rng.randint(0, tasks)
    outside = arriving(first, tasks - first, every=rng.choice([0, MINUTE, HOUR]))
    if rng.random() < 0.2:
        stop = ev.StopRequested(outside[-1].at + MINUTE, "interrupted", "enough")
        outside = (*outside, msgspec.structs.replace(stop, now=rng.random() < 0.5))
    return Case(
        market=Market("USD", "undated", offers),
        goal=Goal(Money(rng.randint(0, 30 * dearest)), rng.choice([None, None, 2 * HOUR])),
        limits=Limits(rng.randint(0, 2), rng.choice([None, None, 10 * MINUTE])),
        runtimes=tuple(rng.randint(1, rng.choice([MINUTE, 40 * MINUTE])) for _ in range(tasks)),
        outside=outside,
        failing=rng.choice([0.0, 0.2]),
        mean_life={offers[0].name: rng.choice([10 * SECOND, HOUR])} if rng.random() < 0.5 else {},
        jumpiness=rng.choice([0.0, 0.1, 0.5]),
        lead=rng.choice([0, SECOND // 4, 90 * SECOND]),
        notice=rng.choice([0, 5 * SECOND, 2 * MINUTE]),
        scarcity=rng.choice([0.0, 0.0, 0.3]),
        silence=rng.choice([0.0, 0.0, 0.3]),
        seed=number,
    )


def _draw_offer(rng: Random, index: int) -> Offer:
    """An offer; of the first there are some, since a market of nothing at all is refused."""
    return Offer(
        f"offer{index}",
        Money(rng.randint(10**8, 10**10)),
        rng.choice([SECOND, 7 * SECOND, MINUTE, 17 * MINUTE, HOUR]),
        minimum=rng.choice([0, 0, MINUTE, 61 * SECOND]),
        limit=rng.choice([None, 1, 2, 5, 0] if index else [None, 1, 2, 5]),
        boot=rng.choice([0, 3 * SECOND, 5 * MINUTE]),
        slots=rng.randint(1, 3),
        speed=rng.choice([0.5, 1.0, 3.0]),
        pool=rng.choice(["reliable", "unreliable"]),
    )


class _Scarce(Overlay):
    """Machines are not always available."""

    def __init__(self, below: Behaviour, scarcity: float, seed: int) -> None:
        super().__init__(below)
        self._scarcity = scarcity
        self._rng = Random(seed)

    def boot(self, machine: Machine) -> Time | None:
        return None if self._rng.random() < self._scarcity else super().boot(machine)


def _behaviour(case: Case) -> Behaviour:
    calm = ModelledBehaviour(
        given(case.runtimes),
        failing=case.failing,
        mean_life=case.mean_life,
        notice=case.notice,
        seed=case.seed,
    )
    pool = UnreliablePool(calm, reliability=1 - case.silence, seed=case.seed)
    return _Scarce(pool, case.scarcity, case.seed)


def play(
    case: Case,
    policy: Policy,
    *,
    most_steps: int = MOST_STEPS,
    observers: Sequence[Observer] = (),
) -> RunState:
    """Play a case to its end, or for so many steps; an auditor looks on.

    Raises `ContractBroken` where a law is broken. Whether the run has ended is for the caller to
    look at: some policies never end by themselves.
    """
    state, rng = RunState(), Random(case.seed)
    behaviour = _behaviour(case)
    world = ErraticWorld(
        state, behaviour, rng, jumpiness=case.jumpiness, lead=case.lead, slow=case.slow
    )
    engine = Engine(state, policy, world, rng=rng, observers=[Auditor(), *observers])
    engine.record(
        ev.RunCreated(0, "case", case.market, case.goal, case.limits, case.seed, {}, {}, 0.0)
    )
    for event in case.outside:
        world.schedule(event)
    engine.step(())
    for step in range(most_steps):
        if state.ended is not None:
            break
        engine.step(world.wait(engine.next_look()))
        if step < CHECKED_STEPS or step % CHECKED_STEPS == 0:
            state.check()
    state.check()
    try:
        engine.tell_fault()
    except PolicyError as error:
        broken = error.__cause__
        if isinstance(broken, ContractBroken):
            raise broken from broken.__cause__
        raise ContractBroken(str(error)) from error
    return state
