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
from bursar.engine.loop import Engine
from bursar.engine.roles import Entry, learns
from bursar.engine.world import External, Observer
from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock, read_clocks
from bursar.execute.leftovers import find_files
from bursar.execute.marks import lives_elsewhere, mark_of, sweep
from bursar.execute.outputs import Outputs, repair
from bursar.execute.staging import SHARED, Staging, check_outputs, publish_all, staging_of
from bursar.execute.world import RealWorld
from bursar.journal.recorder import Recorder
from bursar.journal.replay import Follower, load_state
from bursar.journal.runs import Home, RunDir
from bursar.journal.store import JournalReader, JournalWriter
from bursar.model.errors import InputError
from bursar.model.goal import Budget, Goal
from bursar.model.money import ZERO, format_money
from bursar.model.time import Time
from bursar.policies.presets import SAMPLING
from bursar.rent.emulated import Losses, Saboteur
from bursar.runs.output_claim import Claim
from bursar.runs.policy import policy_of
from bursar.runs.request import Request, check_tasks
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.state.state import RunState

if TYPE_CHECKING:
    from bursar.policies.advise.tail import Advice
    from bursar.runs.choosing import Chooser, Chosen


class Session:
    """Holds a run's lock and journal while it is executed; to be used in a `with` statement."""

    def __init__(
        self,
        run: RunDir,
        state: RunState,
        journal: JournalWriter,
        resources: ExitStack,
        calls: Calls | None = None,
        book: SampleLog | None = None,
    ) -> None:
        self.book = book or SampleLog()
        """what is known of run times, from the whole journal"""
        self.run_dir = run
        self.state = state
        self.calls = calls
        self._journal = Recorder(journal, state)
        resources.callback(self._journal.close)
        self._resources = resources
        self._world: RealWorld | None = None
        self._stops = 0
        self.ask: Callable[[Advice], int] | None = None
        """lets somebody choose a strategy, if that is preferred"""
        self.chosen: Chosen | None = None
        """the plan that it was taken up with, if one was chosen"""

    # --- beginning -------------------------------------------------------------------------------

    @classmethod
    def begin(cls, home: Home, request: Request, calls: Calls | None = None) -> Self:
        """Make a new run; nothing is rented before `execute`."""
        request.check()
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
            for event in _opening(run, request, clocks):
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
        goal: Goal | None = None,
        *,
        retry_failed: bool = False,
        plan: ev.PlanChosen | None = None,
        chooser: Chooser | None = None,
    ) -> Self:
        """Go on with a run that was interrupted or crashed: what ran is gone, the rest holds.

        With a plan, or somebody who chooses one, it is begun to be executed now, and the deadline
        of its goal counts from now.

        What ran is ended first, and its tasks go back to the bag. Machines of before that live are
        kept where their renter can; the others are charged for the units they may have entered.
        """
        with ExitStack() as resources:
            resources.enter_context(run.acquire())
            run.shut_others_out()
            state, book = load_run(run, () if chooser is None else [chooser.pool])
            _check_resumable(run, state)
            chosen = None if chooser is None else chooser.choose(state, book)
            if chosen is not None:
                plan, goal = chosen.event, chosen.goal
            _check_planned(run, state, plan)
            journal = resources.enter_context(JournalWriter(run.journal))
            session = cls(run, state, journal, resources, book=book)
            session.chosen = chosen
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
            if chosen is not None and chosen.offered is not None:
                session._record(msgspec.structs.replace(chosen.offered, at=now))
            if plan is not None:
                session._look_for_files(now)
                session._record(msgspec.structs.replace(plan, at=now))
                goal = None if goal is None else goal.later(now)
            if goal is not None:
                session._change_goal(goal, now)
            if retry_failed and state.failed_tasks:
                session._record(ev.RetryRequested(now, tuple(sorted(state.failed_tasks))))
            session._journal.commit(safely=True)
            session._resources = resources.pop_all()
        return session

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
    def directory(self) -> Path:
        """Where the commands run."""
        assert self.state.created is not None  # noqa: S101
        return Path(self.state.created.made_with.directory)

    def execute(self, observers: Sequence[Observer] = ()) -> ev.RunEnded:
        """Drive the run to its end; Ctrl-C once stops gently, twice at once."""
        created = self.state.created
        assert created is not None  # noqa: S101
        rng = Random(f"{created.seed}/{len(self.state.log)}")
        policy = policy_of(self.state, self.book, self.ask)
        learners = [entry for entry in policy.entries if learns(entry)]
        has_past = len(self.state.log) or any(self.state.workflows())
        if learners and has_past:
            self._teach(learners)
        seen_by = (self.book, *observers)
        engine = Engine(self.state, policy, self.world, self._journal, rng, seen_by, beside)
        with _signals(self._interrupted):
            return engine.run()

    def _teach(self, learners: Sequence[Entry]) -> None:
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
    def world(self) -> RealWorld:
        assert self._world is not None, "the session was not begun"  # noqa: S101
        return self._world

    def _open_world(
        self, clock: RunClock | None = None, plan: ev.PlanChosen | None = None
    ) -> RealWorld:
        self._world = local_world(
            self.state,
            self.outputs,
            clock=clock or _clock_of(self.state),
            mark=mark_of(self.state, self.run_dir.place()),
            calls=self.calls,
            losses=_saboteur_of(self.state, plan or self.state.plan),
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
    told = options.outputs
    if options.home:
        was_inside = told == str(Path(options.home) / run.outputs.name)
    else:  # made by an earlier version
        was_inside = told.endswith(f"/{state.run}/{run.outputs.name}")
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
                "only workflows on machines that cost money have plans to choose: choose none"
            )
        return request
    request.check_money()
    request.check_tasks(request.flow)
    from bursar.runs.choosing import planned  # late: it brings numpy and more

    return planned(request, request.flow, choice)


def check_budget(state: RunState, goal: Goal) -> None:
    """Refuse a new goal whose budget does not even cover what is committed."""
    if goal.budget is None and state.goal.budget is not None and not state.market.is_free:
        raise InputError("this market costs money: set a limit with --budget")
    most = ZERO if goal.budget is None else state.ledger.most_by(Budget(goal.budget, goal.every))
    if goal.budget is not None and goal.budget < most:
        currency = state.market.currency
        committed = format_money(most, currency, up=True)
        raise InputError(
            f"{committed} is committed already: a budget of "
            f"{format_money(goal.budget, currency)} would be below it; give more"
        )


def load_run(run: RunDir, others: Sequence[Observer] = ()) -> tuple[RunState, SampleLog]:
    """State and sample book of a run, from its journal, of which every event is checked.

    The book of a run that takes no sample stays empty, so that a checkpoint may tell the rest.
    Where there is a sample, others see it unfold, too.
    """
    book = SampleLog()
    observers = [book, *others] if _takes_sample(run) else []
    return load_state(run.journal, observers, verified=True), book


def _takes_sample(run: RunDir) -> bool:
    with JournalReader(run.journal) as reader:
        created = reader.event(1) if reader.last else None
    return isinstance(created, ev.RunCreated) and SAMPLING["placer"] in created.policies.values()


def _check_planned(run: RunDir, state: RunState, plan: ev.PlanChosen | None) -> None:
    """A workflow that waits for a choice cannot go on without one, nor without its files."""
    created = state.created
    is_planned = created is not None and created.policies["provisioner"] == "prob"
    if is_planned and plan is None and state.plan is None:
        raise InputError(
            f"run {run.name} waits for a choice among its plans: bursar run {run.name} --choose"
            " knee"
        )
    if created is None or plan is None or len(state.log):
        return
    options = created.made_with
    for _, flow in state.workflows():
        check_tasks(flow, options.files or SHARED, Path(options.directory))


def _check_resumable(run: RunDir, state: RunState) -> None:
    created = state.created
    if created is not None and state.is_of_calls:
        raise InputError(
            f"run {run.name} consists of Python calls, which are not in the journal: run your"
            " program again"
        )
    if created is not None and not Path(created.made_with.directory).is_dir():
        raise InputError(f"run {run.name} ran in {created.made_with.directory}, which is gone")


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
