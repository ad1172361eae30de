"""A session: one real run on this computer, made or taken up again, driven to its end.

This is where the parts meet: the run's directory and lock, its journal, the policy, the local world
and the engine.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from bursar import events as ev
from bursar.beliefs.book import SampleBook
from bursar.beliefs.sampling import sample_size
from bursar.engine import Engine, Observer
from bursar.execute.calls import Calls
from bursar.execute.local import External, Lives, LocalWorld, sweep
from bursar.execute.outputs import repair
from bursar.journal.replay import Follower, load_state
from bursar.journal.runs import Home, RunDir
from bursar.journal.store import JournalWriter
from bursar.model.errors import InputError
from bursar.model.fleet import Fleet, parse_fleet, write_fleet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import format_money
from bursar.model.strategy import Strategy, read_strategy
from bursar.model.time import Time
from bursar.model.work import Bag
from bursar.plan.frontier import check_preference
from bursar.policies.registry import Policy, check_policies, make_entry
from bursar.state import RunState

if TYPE_CHECKING:
    from bursar.simulate.advice import Advice, Advisor

ROUND_ROBIN: Final = {"provisioner": "fixed", "placer": "random", "replicator": "none"}
"""Where machines cost nothing, or the user said which."""
BATS: Final = {"provisioner": "bats", "placer": "fitting", "replicator": "insured"}
"""Where money is to be spent well."""
FAITHFUL: Final = {"provisioner": "bats", "placer": "random", "replicator": "none"}
"""BaTS as published."""
PLANNED: Final = {"provisioner": "planned", "placer": "fitting", "replicator": "insured"}
"""For a plan that was chosen."""
SAMPLING: Final = {"provisioner": "sample", "placer": "sample", "replicator": "none"}
EXPERT: Final = {"provisioner": "mixed", "placer": "pooled", "replicator": "ntdmr"}
"""Where machines may vanish."""
SUITED: Final = {"bats": BATS, "mixed": EXPERT, "planned": PLANNED, "sample": SAMPLING}
"""What goes with a provisioner, unless the user says otherwise; else round robin."""


ASK: Final = "ask"
"""The preference of those who choose a strategy by hand."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that makes a run; what a command line or a Python program asks for."""

    market: Market
    goal: Goal = Goal()
    limits: Limits = Limits()
    bag: Bag | None = None
    """None: the work arrives later"""
    fleet: Fleet | None = None
    policies: Mapping[str, str] = {}
    """entries that were asked for; the rest is chosen to suit"""
    sabotage: Time | None = None
    """mean life of unreliable machines, which are then taken away at random"""
    faithful: bool = False
    """the published algorithm in place of the better one"""
    prefer: str | None = None
    """how the strategy of the tail is chosen where machines may vanish; `ask`: by hand"""
    strategy: str | None = None
    """the strategy itself: `N=3,T=30m,D=1h,Mr=0.1`, or the name of a static one"""
    sample_workers: int = 1
    """machines of each offer in the sampling phase"""
    seed: int | None = None
    name: str | None = None
    output: str | None = None
    budget_as: str = "--budget"
    """how whoever asks writes the budget, for messages"""

    def check(self, *, simulated: bool = False) -> None:
        """Refuse what could not even begin."""
        self._check_strategy()
        if self.output and Path(self.output).is_dir() and any(Path(self.output).iterdir()):
            raise InputError(
                f"{self.output}: has files already; give results a directory of their own"
            )
        check_policies(self.all_policies(), simulated=simulated)
        self._check_faithful()
        if self.sabotage and all(offer.pool == "reliable" for offer in self.market.offers):
            raise InputError(
                'no machine of this market is taken away: write pool = "unreliable" for an offer,'
                " or leave --sabotage"
            )
        if self.fleet is not None:
            parse_fleet(write_fleet(self.fleet), self.market)
        if self.goal.budget is None and self.goal.deadline is None and not self.market.is_free:
            raise InputError(
                f"this market costs money: say how much may be spent with {self.budget_as}"
            )
        usable = [self.market[name] for name, count in self.full_fleet().items() if count]
        if not usable:
            raise InputError("every offer has the limit 0: no machine can be rented")
        cheapest = min(usable, key=lambda offer: offer.entry_charge)
        budget = self.goal.budget
        if budget is not None and budget < cheapest.entry_charge:
            least = format_money(cheapest.entry_charge, self.market.currency)
            raise InputError(
                f"a budget of {format_money(budget, self.market.currency)} buys no machine: "
                f"the cheapest, {cheapest.name}, costs {least} at least; "
                f"raise {self.budget_as}"
            )

    def _check_faithful(self) -> None:
        if self.faithful and self.all_policies()["provisioner"] not in ("bats", "mixed"):
            raise InputError(
                "the published algorithm chooses machines for a bag and a budget:"
                " --faithful goes without --fleet, and with a market that costs money"
            )

    def _check_strategy(self) -> None:
        """A strategy, or a preference among them, is for two pools and can be understood."""
        for name, value in (("--prefer", self.prefer), ("--strategy", self.strategy)):
            if value is not None and self.all_policies()["provisioner"] != "mixed":
                raise InputError(
                    f'{name} is for machines that may vanish: write pool = "unreliable" for an'
                    f" offer of the market, or leave {name}"
                )
        if self.strategy is not None:
            strategy = read_strategy(self.strategy)
            has_reliable = any(
                count and self.market[name].pool == "reliable"
                for name, count in self.full_fleet().items()
            )
            if strategy.needs_reliable and not has_reliable:
                raise InputError("this strategy ends on reliable machines, and the market has none")
        if self.prefer is not None and self.prefer != ASK:
            goal = self.goal
            has_budget, has_deadline = goal.budget is not None, goal.deadline is not None
            check_preference(self.prefer, has_budget=has_budget, has_deadline=has_deadline)

    def all_policies(self) -> dict[str, str]:
        """An entry for each role: what was asked for, else what suits.

        `mixed` is for a bag on machines that may vanish. `bats` spends money on a bag that is
        known; calls that arrive one by one, machines that cost nothing, and a fleet that the user
        chose are left to `fixed`.
        """
        suits = "fixed"
        if self.bag is not None and self.may_lose_machines:
            suits = "mixed"
        elif self.bag is not None and self.fleet is None and not self.market.is_free:
            suits = "bats"
        provisioner = self.policies.get("provisioner", suits)
        suited = FAITHFUL if self.faithful else SUITED.get(provisioner, ROUND_ROBIN)
        return {**suited, "provisioner": provisioner, **self.policies}

    @property
    def may_lose_machines(self) -> bool:
        """Whether some of the machines that may be rented are unreliable."""
        return any(
            self.market[name].pool == "unreliable"
            for name, count in self.full_fleet().items()
            if count
        )

    def full_fleet(self) -> Fleet:
        """The fleet asked for; else every offer up to its limit, or one machine a processor."""
        if self.fleet is not None:
            return self.fleet
        processors = os.cpu_count() or 1
        return {
            offer.name: processors if offer.limit is None else offer.limit
            for offer in self.market.offers
        }


class Session:
    """Holds a run's lock and journal while it is executed; to be used in a `with` statement."""

    def __init__(
        self,
        run: RunDir,
        state: RunState,
        journal: JournalWriter,
        resources: ExitStack,
        calls: Calls | None = None,
        book: SampleBook | None = None,
    ) -> None:
        self.book = book or SampleBook()
        """what is known of run times, from the whole journal"""
        self.run_dir = run
        self.state = state
        self.calls = calls
        self._journal = journal
        self._resources = resources
        self._world: LocalWorld | None = None
        self._stops = 0
        self.ask: Callable[[Advice], int] | None = None
        """lets somebody choose a strategy, if that is preferred"""

    # --- beginning -------------------------------------------------------------------------------

    @classmethod
    def begin(cls, home: Home, request: Request, calls: Calls | None = None) -> Self:
        """Make a new run; nothing is rented before `execute`."""
        request.check()
        run = home.create(request.name)
        with ExitStack() as resources:
            resources.enter_context(run.acquire())
            began = time.time()
            journal = resources.enter_context(JournalWriter.create(run.journal, run.name, began))
            session = cls(run, RunState(), journal, resources, calls)
            for event in _opening(run, request, began):
                session._record(event)
            journal.commit(safely=True)
            session._open_world()
            session._resources = resources.pop_all()
        return session

    @classmethod
    def take_up(
        cls,
        run: RunDir,
        goal: Goal | None = None,
        *,
        retry_failed: bool = False,
        plan: ev.PlanChosen | None = None,
    ) -> Self:
        """Go on with a run that was interrupted or crashed: what ran is gone, the rest holds.

        Machines of before are no more (their processes are ended first); each is charged for the
        units it may have entered. Tasks that ran on them go back to the bag.
        """
        with ExitStack() as resources:
            resources.enter_context(run.acquire())
            state, book = load_run(run)
            _check_resumable(run, state)
            journal = resources.enter_context(JournalWriter(run.journal))
            session = cls(run, state, journal, resources, book=book)
            sweep(state)
            repair(session.outputs, state)
            now = session._open_world().now()
            session._record(ev.RunResumed(now))
            session._count_machines_lost(now)
            if goal is not None:
                session._change_goal(goal, now)
            if plan is not None:
                session._record(msgspec.structs.replace(plan, at=now))
            if retry_failed and state.failed_tasks:
                session._record(ev.RetryRequested(now, tuple(sorted(state.failed_tasks))))
            journal.commit(safely=True)
            session._resources = resources.pop_all()
        return session

    def _count_machines_lost(self, now: Time) -> None:
        for machine in list(self.state.machines.values()):
            ended, why = min(now, machine.until), "gone before the run was resumed"
            self._record(ev.MachineDown(now, machine.id, "lost", ended, why))

    def _change_goal(self, goal: Goal, now: Time) -> None:
        check_budget(self.state, goal)
        self._record(ev.GoalChanged(now, goal))

    # --- executing -------------------------------------------------------------------------------

    @property
    def outputs(self) -> Path:
        assert self.state.created is not None  # noqa: S101
        return Path(self.state.created.settings["outputs"])

    @property
    def directory(self) -> Path:
        """Where the commands run."""
        assert self.state.created is not None  # noqa: S101
        return Path(self.state.created.settings["directory"])

    def execute(self, observers: Sequence[Observer] = ()) -> ev.RunEnded:
        """Drive the run to its end; Ctrl-C once stops gently, twice at once."""
        created = self.state.created
        assert created is not None  # noqa: S101
        rng = Random(f"{created.seed}/{len(self.state.log)}")
        policy, learners = policy_of(self.state, self.book)
        learners += self._advisors(policy)
        if len(self.state.log):
            self._teach(learners)
        seen_by = (self.book, *learners, *observers)
        engine = Engine(self.state, policy, self.world, self._journal, rng, seen_by)
        with _signals(self._interrupted):
            return engine.run()

    def _advisors(self, policy: Policy) -> list[Observer]:
        """Decisions take their time, which the run does not wait for."""
        advisors = advisors_of(self.state, policy, self.ask)
        for advisor in advisors:
            advisor.tell = self.world.post
            advisor.start = self._begin_beside
        return list(advisors)

    def _begin_beside(self, work: Callable[[], None]) -> None:
        """Do this in a thread, which may be cut off when the run ends: nobody needs it then."""

        def do() -> None:
            try:
                work()
            except Exception:
                if self.state.ended is None:
                    raise

        threading.Thread(target=do, daemon=True).start()

    def _teach(self, learners: Sequence[Observer]) -> None:
        """Let the policy learn what happened before this process."""
        with Follower(self.run_dir.journal, learners) as follower:
            follower.catch_up()

    def post(self, event: External) -> None:
        """Let something happen from outside, from any thread."""
        self.world.post(event)

    def stop(self, why: str, *, now: bool = False) -> None:
        """Stop as Ctrl-C does; from any thread or signal handler."""
        self.post(ev.StopRequested(0, "interrupted", why, now=now))

    def close(self) -> None:
        """Release machines that are still there, then the journal, then the lock."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _interrupted(self, number: int, _: Any) -> None:
        self._stops += 1
        now = self._stops > 1 or number in (signal.SIGQUIT, signal.SIGHUP)
        self.stop(f"stopped by {signal.Signals(number).name}", now=now)

    @property
    def world(self) -> LocalWorld:
        assert self._world is not None, "the session was not begun"  # noqa: S101
        return self._world

    def _open_world(self) -> LocalWorld:
        created = self.state.created
        began = 0.0 if created is None else created.began
        self._world = LocalWorld(
            self.state, self.outputs, began=began, calls=self.calls, lives=_saboteur_of(self.state)
        )
        self._resources.callback(self._world.close)
        return self._world

    def _record(self, event: ev.AnyEvent) -> None:
        self._journal.append(event)
        self.state.apply(event)


def _saboteur_of(state: RunState) -> Lives | None:
    """Who takes unreliable machines of the run away, if that was asked for."""
    created = state.created
    if created is None or "sabotage" not in created.settings:
        return None
    from bursar.testing.saboteur import Saboteur

    return Saboteur(int(created.settings["sabotage"]), seed=created.seed)


def _opening(run: RunDir, request: Request, began: float) -> Iterator[ev.AnyEvent]:
    fleet = write_fleet({name: count for name, count in request.full_fleet().items() if count})
    output = Path(request.output) if request.output else run.outputs
    yield ev.RunCreated(
        at=0,
        run=run.name,
        market=request.market,
        goal=request.goal,
        limits=request.limits,
        seed=Random().getrandbits(31) if request.seed is None else request.seed,
        policies=request.all_policies(),
        settings={
            "fleet": fleet,
            "workers": str(request.sample_workers),
            "faithful": "yes" if request.faithful else "no",
            **({"prefer": request.prefer} if request.prefer else {}),
            **({"strategy": request.strategy} if request.strategy else {}),
            **({"sabotage": str(request.sabotage)} if request.sabotage else {}),
            "outputs": str(output.absolute()),
            "directory": str(Path.cwd()),
        },
        began=began,
    )
    if request.bag is not None:
        yield ev.WorkArrived(0, request.bag)
        yield ev.ArrivalsEnded(0)


def policy_of(state: RunState, book: SampleBook) -> tuple[Policy, list[Observer]]:
    """The policy a run was made with, or that of the plan chosen since, and what it learns by."""
    created, plan = state.created, state.plan
    assert created is not None  # noqa: S101
    policies = created.policies
    if plan is not None:
        policies = {**policies, **(PLANNED if plan.strategy is None else EXPERT)}
    sampling: dict[str, Any] = {"book": book}
    if policies["provisioner"] == "sample":
        sampling["size"] = sample_size(state.total)
    offered = {
        **sampling,
        "fleet": parse_fleet(created.settings["fleet"], created.market),
        "workers": int(created.settings["workers"]),
        "faithful": created.settings.get("faithful") == "yes",
        "market": created.market,
        "strategy": strategy_of(state),
    }
    if plan is not None:
        offered["fleet"] = plan.fleet
    provisioner = make_entry("provisioner", policies["provisioner"], offered)
    known = {**sampling, "guide": provisioner}
    policy = Policy(
        provisioner,
        make_entry("placer", policies["placer"], known),
        make_entry("replicator", policies["replicator"], known),
    )
    entries = (policy.provisioner, policy.placer, policy.replicator)
    return policy, [entry for entry in entries if isinstance(entry, Observer)]


def strategy_of(state: RunState) -> Strategy | None:
    """The strategy that a run on two pools was told to follow, as far as it is known yet."""
    created = state.created
    if state.plan is not None and state.plan.strategy is not None:
        return state.plan.strategy
    if state.strategy is not None:
        return state.strategy.strategy
    if created is None or "strategy" not in created.settings:
        return None
    return read_strategy(created.settings["strategy"])


def advisors_of(
    state: RunState, policy: Policy, ask: Callable[[Advice], int] | None = None
) -> list[Advisor]:
    """Who decides when the tail begins, if the run is one of two pools and it is undecided."""
    created = state.created
    assert created is not None  # noqa: S101
    pools = getattr(policy.provisioner, "pools", None)
    if pools is None or (pools.strategy is not None and pools.strategy.is_timed):
        return []
    from bursar.simulate.advice import Advisor  # late: it brings numpy

    wish = created.settings.get("prefer")
    return [Advisor(pools, None if wish == ASK else wish, ask if wish == ASK else None)]


def check_budget(state: RunState, goal: Goal) -> None:
    """Refuse a new goal whose budget does not even cover what is committed."""
    if goal.budget is None and state.goal.budget is not None and not state.market.is_free:
        raise InputError("this market costs money: say how much may be spent with --budget")
    if goal.budget is not None and goal.budget < state.ledger.committed:
        currency = state.market.currency
        raise InputError(
            f"{format_money(state.ledger.committed, currency)} is committed already: a budget of "
            f"{format_money(goal.budget, currency)} would be below it; give more"
        )


def load_run(run: RunDir) -> tuple[RunState, SampleBook]:
    """State and sample book of a run, from its journal."""
    book = SampleBook()
    return load_state(run.journal, [book]), book


def _check_resumable(run: RunDir, state: RunState) -> None:
    created = state.created
    if created is not None and any(not bag.template for _, bag in state.bags):
        raise InputError(
            f"run {run.name} is of Python calls, which are not in the journal: run your program "
            "again"
        )
    if created is not None and not Path(created.settings["directory"]).is_dir():
        raise InputError(f"run {run.name} ran in {created.settings['directory']}, which is gone")


@contextmanager
def _signals(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Let the handler get the signals that ask to stop, if this thread may receive any."""
    if threading.current_thread() is not threading.main_thread():
        yield  # whoever owns the main thread decides
        return
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in asked}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
