"""A session: one real run on this computer, made or taken up again, driven to its end.

This is where the parts meet: the run's directory and lock, its journal, the policy, the local world
and the engine.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import msgspec

from bursar.beliefs.samples import SampleLog
from bursar.engine.learners import Learners
from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.engine.world import External, Observer
from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock, read_clocks
from bursar.execute.leftovers import find_files
from bursar.execute.marks import lives_elsewhere, mark_of, sweep
from bursar.execute.outputs import Outputs, repair
from bursar.execute.staging import SHARED, Staging, check_outputs, publish_all, staging_of
from bursar.execute.world import RealWorld
from bursar.journal.problems import check_encodable
from bursar.journal.recorder import Listener, Recorder
from bursar.journal.runs import Home, RunDir
from bursar.journal.writer import JournalWriter
from bursar.model.budget_text import format_budget
from bursar.model.closable import Closable
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal
from bursar.model.money import format_money
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.site import RunSite
from bursar.model.time import Time
from bursar.rent.emulated import Losses, Saboteur
from bursar.runs.output_claim import Claim
from bursar.runs.policy import ByHand, policy_of, takes_sample
from bursar.runs.recall import Recalled, recall
from bursar.runs.request import WHOLE_RUN, Request
from bursar.runs.worlds import local_world, remote_world
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

if TYPE_CHECKING:
    from bursar.runs.choosing import Chooser, Chosen

GoalOf = Callable[[RunState], Goal | None]
"""The goal that is asked for, by how the run stands; None: as before."""


class Session(Closable):
    """Holds a run's lock and journal while it is executed; to be used in a `with` statement."""

    def __init__(
        self,
        run: RunDir,
        state: RunState,
        journal: JournalWriter,
        resources: ExitStack,
        calls: Calls | None = None,
    ) -> None:
        self.sample_log = SampleLog()
        """what its sample has shown, while it takes one"""
        self.run_dir = run
        self.state = state
        self.calls = calls
        self._journal = Recorder(journal, state)
        resources.callback(self._journal.close)
        self._resources = resources
        self._world: RealWorld | None = None
        self._stops = 0
        self.by_hand = ByHand()
        self.chosen: Chosen | None = None
        """the plan that it was taken up with, if one was chosen"""
        self._policy: Policy | None = None
        """which has learned all that was recorded; None: it is made of the opening"""
        self._observers: Sequence[Observer] = ()
        """who sees what is recorded before an engine drives the policy"""
        self._opening: Sequence[ev.AnyEvent] = ()
        """what a new run began with"""

    # --- beginning -------------------------------------------------------------------------------

    @classmethod
    def begin(cls, home: Home, request: Request, calls: Calls | None = None) -> Self:
        """Make a new run; nothing is rented before `execute`."""
        request.check()
        for place in (Path.cwd(), home.path, Path(request.output or ".")):
            check_encodable(place)
        if request.flow is not None:
            check_outputs(request.flow, Path.cwd(), home.path)
        with ExitStack() as resources:
            claim = None if request.output is None else Claim(Path(request.output))
            if claim is not None:
                resources.enter_context(claim)
                unclaimed = resources.enter_context(ExitStack())
                unclaimed.callback(claim.abandon)
                claim.check_new()
            run = home.create(request.name)
            resources.enter_context(run.acquire())
            unmade = resources.enter_context(ExitStack())
            unmade.callback(run.discard)
            clocks = read_clocks()
            journal = JournalWriter.create(run.journal, run.name, clocks.wall)
            resources.enter_context(journal)
            session = cls(run, RunState(), journal, resources, calls)
            session._opening = tuple(_opening(run, request, clocks))
            for event in session._opening:
                session._record(event)
            session._journal.commit(safely=True)
            unmade.pop_all()
            if claim is not None:
                unclaimed.pop_all()
                claim.take(session.id)
            session._open_world()
            session._resources = resources.pop_all()
        return session

    @classmethod
    def take_up(
        cls,
        run: RunDir,
        goal: Goal | GoalOf | None = None,
        *,
        retry_failed: bool = False,
        plan: ev.PlanChosen | None = None,
        chooser: Chooser | None = None,
    ) -> Self:
        """Go on with a run that was interrupted or crashed: what ran is gone, the rest holds.

        With a plan, or somebody who chooses one, it is begun to be executed now, and the deadline
        of its goal counts from now. A new goal may depend on how the run stands.

        What ran is ended first, and its tasks go back to the bag. Machines of before that live are
        kept where their renter can; the others are charged for the units they may have entered.
        """
        with ExitStack() as resources:
            resources.enter_context(run.acquire())
            run.shut_others_out()
            recalled = recall(run, by_hand := ByHand(), plan, chooser)
            state, plan, chosen = recalled.state, recalled.plan, recalled.chosen
            if chosen is not None:
                goal = chosen.goal
            new_goal = goal(state) if callable(goal) else goal
            journal = resources.enter_context(JournalWriter(run.journal))
            session = cls(run, state, journal, resources)
            session._goes_on(recalled, by_hand)
            if session._shares_files and lives_elsewhere(state, run.place()):
                raise InputError(
                    f"run {run.name} is a copy of a run that is running and would write the"
                    " same files: wait for it, or stop it"
                )
            moved_to = _outputs_now(run, state)
            sweep(state, run.place())
            if moved_to is None:
                resources.enter_context(Claim(session.outputs)).take(session.id)
            clock = _clock_of(state)
            session._record(
                ev.RunResumed(
                    clock.now(),
                    read_clocks(),
                    moved_to or "",
                    repair(Path(moved_to) if moved_to else session.outputs, state),
                )
            )
            if (staging := session._staging()) is not None:
                publish_all(state, staging)
            world = session._open_world(clock, plan)
            for event in world.take_over():
                session._record(event)
            now = world.now()
            if plan is not None:
                session._look_for_files(now)
                session._record(msgspec.structs.replace(plan, at=now))
                new_goal = None if new_goal is None else new_goal.later(now)
            if new_goal is not None:
                session._change_goal(new_goal, now)
            wanted = state.work_of  # what failed of a work that was cancelled stays as it is
            failed = [one for one in state.failed_tasks if wanted(one) not in state.cancelled_works]
            if retry_failed and failed:
                session._record(ev.RetryRequested(now, tuple(sorted(failed))))
            session._journal.commit(safely=True)
            session._resources = resources.pop_all()
        return session

    def _goes_on(self, recalled: Recalled, by_hand: ByHand) -> None:
        """With the policy that has learned what happened before this process."""
        self.by_hand, self.chosen, self.sample_log = by_hand, recalled.chosen, recalled.sample_log
        self._policy, self._observers = recalled.policy, recalled.observers

    def _look_for_files(self, now: Time) -> None:
        """See what stands at the outputs of a workflow that waited for its plan."""
        if not self._shares_files or self.state.files_found is not None:
            return
        for _, flow in self.state.workflows():
            self._record(msgspec.structs.replace(find_files(flow, self.directory), at=now))

    def _change_goal(self, goal: Goal, now: Time) -> None:
        check_budget(self.state, goal)
        self._record(ev.GoalChanged(now, goal))

    # --- executing -------------------------------------------------------------------------------

    @property
    def outputs(self) -> Path:
        assert self.state.created is not None  # noqa: S101
        return Path(self.state.created.made_with.outputs)

    @property
    def id(self) -> str:
        """What tells this run from all others, wherever they are; copies have the same."""
        assert self.state.created is not None  # noqa: S101
        return self.state.created.made_with.id or self.state.run

    @property
    def site(self) -> RunSite | None:
        """Where its machines are; None: on this computer."""
        return None if self.state.created is None else self.state.created.made_with.site

    @property
    def directory(self) -> Path:
        """Where the commands run."""
        assert self.state.created is not None  # noqa: S101
        return Path(self.state.created.made_with.directory)

    def execute(self, observers: Sequence[Observer] = ()) -> ev.RunEnded:
        """Drive the run to its end; Ctrl-C once stops gently, twice at once."""
        created = self.state.created
        assert created is not None  # noqa: S101
        rng = Random(f"{created.seed}/{len(self.state.log)}")
        policy = self._policy or self._new_policy()
        seen_by = (self.sample_log, *observers) if takes_sample(self.state) else observers
        engine = Engine(self.state, policy, self.world, self._journal, rng, seen_by, beside)
        with _signals(self._interrupted):
            return engine.run()

    def _new_policy(self) -> Policy:
        """The policy of a new run; its entries learn what it began with."""
        policy = policy_of(self.state, self.sample_log, self.by_hand)
        learners, state = Learners(policy), RunState()
        for event in self._opening if learners.entries else ():
            state.apply(event)
            learners.saw(event, state)
        return policy

    def tell(self, listener: Listener) -> None:
        """Let somebody hear of all that is written to the journal from here on."""
        self._journal.tell(listener)

    def post(self, event: External) -> None:
        """Let something happen from outside, from any thread."""
        self.world.post(event)

    def stop(self, why: str, *, now: bool = False) -> None:
        """Stop as Ctrl-C does; from any thread or signal handler."""
        self.post(ev.StopRequested(0, "interrupted", why, now=now))

    def close(self) -> None:
        """Release machines that are still there, then the journal, then the lock."""
        self._resources.close()

    def _interrupted(self, number: int, _: Any) -> None:
        self._stops += 1
        now = self._stops > 1 or number in (signal.SIGQUIT, signal.SIGHUP)
        self.stop(f"stopped by {signal.Signals(number).name}", now=now)

    @property
    def world(self) -> RealWorld:
        assert self._world is not None, "the session was not begun"  # noqa: S101
        return self._world

    def _open_world(
        self, clock: RunClock | None = None, plan: ev.PlanChosen | None = None
    ) -> RealWorld:
        clock = clock or _clock_of(self.state)
        mark = mark_of(self.state, self.run_dir.place())
        losses = _saboteur_of(self.state, plan or self.state.plans_of(FIRST_WORK).chosen)
        if (site := self.site) is None:
            self._world = local_world(
                self.state,
                self.outputs,
                clock=clock,
                mark=mark,
                calls=self.calls,
                losses=losses,
                staging=self._staging(),
            )
        else:
            self._world = remote_world(
                self.state,
                site,
                self.outputs,
                self.run_dir.path,
                self.directory,
                clock=clock,
                mark=mark,
                calls=self.calls,
                losses=losses,
                staging=self._staging(),
            )
        self._resources.callback(self._world.close)
        return self._world

    @property
    def _shares_files(self) -> bool:
        """Whether its tasks write where other runs may write, too."""
        created = self.state.created
        return created is not None and created.made_with.files == SHARED

    def _staging(self) -> Staging | None:
        """How tasks get at their files, if they have some."""
        files = None if self.state.created is None else self.state.created.made_with.files
        if files is None:
            return None
        return staging_of(self.state, files, self.directory, Outputs(self.outputs))

    def _record(self, event: ev.AnyEvent) -> None:
        self._journal.append(event)
        self.state.apply(event)
        for observer in self._observers:
            observer.saw(event, self.state)


def beside(work: Callable[[], None]) -> None:
    """Think in a thread, which may be cut off when the run ends: nobody needs its answer then."""
    threading.Thread(target=work, daemon=True).start()


def _saboteur_of(state: RunState, plan: ev.PlanChosen | None) -> Losses | None:
    """What takes unreliable machines of the run away, if that was asked for."""
    created = state.created
    if created is None:
        return None
    life = (plan and plan.sabotage) or created.made_with.sabotage
    if life is None:
        return None
    return Saboteur(life, seed=created.seed)


def _outputs_now(run: RunDir, state: RunState) -> str | None:
    """Where the results of a run are that has them in its own directory, wherever that is now.

    A copy of a run has its own; None: they are where the user wanted them.
    """
    assert state.created is not None  # noqa: S101
    options = state.created.made_with
    outputs = options.outputs
    if options.home:
        was_inside = outputs == str(Path(options.home) / run.outputs.name)
    else:  # made by an earlier version
        was_inside = outputs.endswith(f"/{state.run}/{run.outputs.name}")
    return str(run.outputs) if was_inside else None


def _clock_of(state: RunState) -> RunClock:
    """The clock of a run, by what clocks showed when it was begun or last taken up."""
    for at, event in reversed(state.periods):
        if event.clocks is not None:
            return RunClock(state.now, (at, event.clocks))
    began = 0.0 if state.created is None else state.created.began
    return RunClock(state.now, (0, ev.Clocks(began, "", 0)))


def _opening(run: RunDir, request: Request, clocks: ev.Clocks) -> Iterator[ev.AnyEvent]:
    output = Path(request.output) if request.output else run.outputs
    yield ev.RunCreated(
        at=0,
        run=run.name,
        market=request.market,
        goal=request.goal,
        limits=request.limits,
        seed=Random().getrandbits(31) if request.seed is None else request.seed,
        policies=request.all_policies(),
        settings={},
        began=clocks.wall,
        clocks=clocks,
        options=msgspec.structs.replace(
            request.options(),
            outputs=str(output.absolute()),
            home=str(run.path),
            directory=str(Path.cwd()),
            id=token_hex(8),
        ),
    )
    arrivals = request.arrivals()
    if arrivals:
        yield from arrivals
        if request.flow is not None and request.files == SHARED and not request.is_waiting:
            yield find_files(request.flow, Path.cwd())
        yield ev.ArrivalsEnded(0)
    if request.is_waiting:
        yield ev.RunEnded(0, "planned", "waits for a choice among its plans")


def with_plan(request: Request, choice: str | None = None) -> Request:
    """A workflow gets a plan, where machines cost money and nobody said which to rent."""
    if not request.is_to_be_planned or request.flow is None:
        if choice is not None:
            raise InputError(
                "only workflows on machines that cost money, with a budget for the whole run,"
                " have plans to choose: choose none"
            )
        return request
    request.check_wishes()
    request.check_money()
    request.check_tasks(request.flow)
    from bursar.runs.choosing import planned  # late: it brings numpy and more

    return planned(request, request.flow, choice)


def check_budget(state: RunState, goal: Goal, asked: OptionWords = PYTHON) -> None:
    """Refuse a new goal whose budget does not even cover what is committed."""
    if goal.budget is None and state.goal.budget is not None and not state.market.is_free:
        raise InputError(f"this market costs money: set a limit with {asked.option('budget')}")
    plan = state.plans_of(FIRST_WORK).chosen
    if goal.every is not None and plan is not None and plan.assigned is not None:
        raise InputError(WHOLE_RUN)
    for name, budget in goal.budgets().items():
        if budget is None:
            continue
        most, currency = state.ledger.most_by(budget, name or None), state.market.currency
        if budget.amount < most:
            committed = format_money(most, currency, up=True)
            where = "" if budget.every is None else " in one interval"
            whose = f" for {shown(name)}" if name else ""
            raise InputError(
                f"{committed} is committed already{where}{whose}: a budget of "
                f"{format_budget(budget, currency)} would be below it; give more"
            )


@contextmanager
def _signals(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Let the handler get the signals that ask to stop, if this thread may receive any."""
    if threading.current_thread() is not threading.main_thread():
        yield  # the owner of the main thread decides
        return
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in asked}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
