"""RunFacts: all that is known of a run, and the questions that follow from it.

Tasks live in columns, so that a million of them fit; live attempts and machines are objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from bursar.model.collection import IndexedSet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.strategy import Strategy
from bursar.model.text import cut
from bursar.model.time import Time, format_duration
from bursar.model.work import Bag
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES, AttemptLog, Failure
from bursar.state.boot_times import BootTimes
from bursar.state.ledger import Ledger
from bursar.state.precedence import Precedence
from bursar.state.recent import Changes
from bursar.state.run_times import UNKNOWN, RunTimes
from bursar.state.structure import Structure
from bursar.state.task_status import FAILED, TaskStatus
from bursar.state.time_series import AccountSeries
from bursar.state.view import Attempt, Machine, Refusal
from bursar.state.work_plans import FIRST_WORK, NO_PLANS, FollowedPlan, WorkPlans
from bursar.state.works import Works


class RunFacts(Struct, eq=False):
    """Each field says what must hold of it; `RunState.check()` verifies it."""

    run: str = ""
    now: Time = 0
    """time of the last event; never decreases"""
    events: int = 0
    """applied so far: the last one's number in the journal"""
    created: ev.RunCreated | None = None
    market: Market = Market("USD", "undated", ())
    goal: Goal = Goal()
    limits: Limits = Limits()
    ledger: Ledger = field(default_factory=lambda: Ledger(Goal().budgets()))

    runtimes: RunTimes = UNKNOWN
    """what tasks are expected to take: a plug-in of this process, which no event tells"""
    ranked: Structure | None = None
    """ranks and what is left of works, by these run times; None: nobody has asked yet"""
    demand: AccountSeries = field(default_factory=AccountSeries)
    """slots that tasks could use: those that are READY or RUNNING, by owner"""
    supply: AccountSeries = field(default_factory=AccountSeries)
    """slots of the machines that are up, by their account"""

    work: Works = field(default_factory=Works)
    has_calls: bool = False
    """whether a bag of Python calls is among it"""
    precedence: Precedence = field(default_factory=Precedence)
    """exactly the tasks that are WAITING or BLOCKED wait for others"""
    status: bytearray = field(default_factory=lambda: bytearray([FAILED]))
    """a TaskStatus per task; index 0 is unused, tasks count from 1"""
    failures: array[int] = field(default_factory=lambda: array("l", [0]))
    """attempts per task that failed or timed out, since it was last asked to be tried again"""
    ready: IndexedSet = field(default_factory=IndexedSet)
    """exactly the tasks whose status is READY"""
    done: int = 0
    failed: int = 0
    waiting: int = 0
    """tasks whose status is WAITING"""
    blocked: int = 0
    """tasks whose status is BLOCKED"""
    cancelled: int = 0
    """tasks whose status is CANCELLED"""
    cancelled_works: dict[int, str] = {}
    """by number, works that were cancelled, and why; their tasks are settled"""
    priorities: dict[int, int] = {}
    """by the number of a work, its priority, where it is not the one that it arrived with"""
    failed_tasks: dict[int, Failure] = {}
    """exactly the tasks whose status is FAILED"""
    winners: array[int] = field(default_factory=lambda: array("q", [0]))
    """per task, the attempt whose result counts; 0 while there is none"""
    last_settled: Time = 0
    """when a task was last done or failed for good"""

    machines: dict[int, Machine] = {}
    """those not down"""
    machines_rented: int = 0
    """machines count from 1; this is the last one's number"""
    offers_rented: array[int] = field(default_factory=lambda: array("l", [0]))
    """per machine, also of those that are down, the place of its offer in the market"""
    fleet: dict[str, int] = {}
    """by offer, machines that boot or are up; those that leave do not count"""
    leaving: dict[str, int] = {}
    """by offer, machines being released, and those whose loss is announced"""
    refusals: dict[str, Refusal] = {}
    """offers whose machines were not available; not those of which one came up since"""
    boots: BootTimes = field(default_factory=BootTimes)
    """what machines take to come up"""
    idle: IndexedSet = field(default_factory=IndexedSet)
    """exactly the machines that are up, do not leave, and have a free slot"""
    attempts: dict[int, Attempt] = {}
    """those that live"""
    log: AttemptLog = field(default_factory=AttemptLog)
    changes: Changes = field(default_factory=Changes)
    """what changed lately"""
    begun_on: dict[int, dict[int, None]] = {}
    """by machine, what its `attempts` shows: those that have a slot there"""
    live_of: dict[int, list[int]] = {}
    """live attempts per task; a task is RUNNING exactly while it has some and is not DONE"""

    plans: dict[int, WorkPlans] = {}
    """by the number of a work, what was offered, chosen and changed for it"""
    forecasts: list[ev.ForecastMade] = []
    """when it will end and what it will cost, as it was seen on the way; some of them, ascending"""
    arrivals_open: bool = True
    files_found: set[str] | None = None
    """what stood at the outputs of workflows before the run began; None: nobody looked"""
    file_links: dict[str, str] = {}
    """directories of outputs that are reached through links, and where they really are"""
    periods: list[tuple[Time, ev.RunCreated | ev.RunResumed]] = []
    """when the run was begun and taken up, ascending"""
    pauses: list[tuple[Time, Time]] = []
    """from and to: nobody executed the run, as far as its events tell"""
    stopping: ev.StopRequested | None = None
    ended: ev.RunEnded | None = None

    @property
    def total(self) -> int:
        return len(self.status) - 1

    @property
    def structure(self) -> Structure:
        """Ranks, critical paths, what is left, and generations of works that are not settled."""
        if self.ranked is None:
            self.ranked = Structure(self)
        return self.ranked

    @property
    def begun(self) -> Time:
        """When it was begun to be executed: with the choice of its first plan, if it has one."""
        chosen = self.plans_of(FIRST_WORK).chosen
        return 0 if chosen is None else chosen.at

    @property
    def settled(self) -> int:
        """Tasks that are done, failed for good, need one that did, or were cancelled."""
        return self.done + self.failed + self.blocked + self.cancelled

    @property
    def is_of_calls(self) -> bool:
        """Whether its tasks are Python calls, which no journal holds: it cannot be resumed.

        A run that takes workflows, too, is no such run, also while it has no work.
        """
        takes_files = self.created is not None and self.created.made_with.files is not None
        return self.has_calls or not (self.work or takes_files)

    def attempts_of(self, task: int) -> Sequence[int]:
        """Live attempts of a task, oldest first."""
        return self.live_of.get(task, ())

    def may_replicate(self, task: int) -> bool:
        """Whether another attempt may begin beside those of the task that live.

        One that has failed gets no more than its retries, and those that live may be such.
        """
        failures = self.failures[task]
        return not failures or failures + len(self.attempts_of(task)) <= self.limits.retries

    def locate(self, task: int) -> tuple[Bag | Workflow, int]:
        """The bag or workflow a task belongs to, and its index there."""
        if not 1 <= task <= self.total:
            raise KeyError(task)
        before, work = self.work[self.work.place_of(task)]
        return work.tasks, task - before - 1

    def work_of(self, task: int) -> int:
        """The number of the work that a task belongs to."""
        return self.work.place_of(task) + 1

    def plans_of(self, work: int) -> WorkPlans:
        """What was offered, chosen and changed for the work of this number."""
        return self.plans.get(work, NO_PLANS)

    def plan_of(self, work: int) -> FollowedPlan | None:
        """The plan that the work of this number follows now; None: it follows none."""
        return self.plans_of(work).followed

    def strategy_of(self, work: int) -> Strategy | None:
        """The last strategy that was chosen for the work of this number; None: there is none."""
        return self.plans_of(work).last_strategy

    def workflows(self) -> Iterator[tuple[int, Workflow]]:
        """Those that arrived, each with its number among the works."""
        for number, (_, work) in enumerate(self.work, 1):
            if isinstance(work.tasks, Workflow):
                yield number, work.tasks

    def account_of(self, task: int) -> str:
        """Who pays for a task: its owner, where the run has several accounts."""
        return self.work[self.work.place_of(task)][1].owner if self.goal.accounts else ""

    def offer_of(self, machine: int) -> str:
        """The offer of a machine, also of one that is down."""
        return self.market.offers[self.offers_rented[machine]].name

    def boot_time(self, offer: Offer, now: Time) -> Time:
        """What a machine that is ordered now is expected to take until it is up."""
        return self.boots.expected(offer, now)

    def boot_left(self, machine: Machine, now: Time) -> Time:
        """In how long a machine is expected to be up; 0: it is."""
        if machine.up is not None:
            return 0
        return self.boots.left(machine.id, machine.offer, machine.rented, now)

    def command(self, task: int) -> tuple[str, ...]:
        work, index = self.locate(task)
        return work.command(index)

    def describe(self, task: int) -> str:
        work, index = self.locate(task)
        return work.describe(index)

    def story(self, task: int) -> list[str]:
        """What happened to a task, a line an attempt."""
        status = TaskStatus(self.status[task]).name.lower()
        lines = [f"task {task} ({cut(self.describe(task))}): {status}"]
        for attempt in self.log.attempts_of(task):
            code = self.log.outcome[attempt]
            live = code == AttemptLog.LIVE
            ended = format_duration(self.log.ended[attempt])
            end = "runs" if live else f"{OUTCOMES[code]} at {ended}"
            machine = self.log.machine[attempt]
            lines.append(
                f"  attempt {attempt} on {self.offer_of(machine)}-{machine}"
                f" from {format_duration(self.log.started[attempt])}: {end}"
            )
        return lines
