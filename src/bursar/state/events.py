"""Everything that can happen, in the past tense. A run is the list of these.

Observations come from the world (a machine came up, an attempt ended); decisions are actions that
the guard let pass (a machine was rented, an attempt was started). Both are journaled, and the
state is their fold. Decisions are written before the world carries them out.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from bursar.model.assigned import Assigned
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.options import RunOptions
from bursar.model.plan import Assumed, Plan
from bursar.model.strategy import Strategy
from bursar.model.time import Time
from bursar.model.work import Work

Outcome = Literal["success", "failed", "timeout", "cancelled", "lost", "released"]
"""`failed` and `timeout` count against a task's retries; the others do not. `lost`: its machine
vanished; `released`: its machine was given back, or its paid time ended."""

Status = Literal["done", "failed", "budget", "deadline", "interrupted", "planned"]
"""`planned`: the sample was run, and the rest waits for a choice among the plans."""

DownCause = Literal["released", "lost", "expired", "refused"]
"""`expired`: the machine ended itself when its paid time ran out; `refused`: it was not available,
and costs nothing."""


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """`at` never decreases within a run."""

    at: Time


class Clocks(msgspec.Struct, frozen=True, gc=False):
    """What the clocks of the computer showed at one moment of a run."""

    wall: float
    """seconds since 1970, by a clock that may be set"""
    boot: str
    """which start of which computer, as the kernel calls it; empty: not available"""
    uptime: Time
    """since that start, by a clock that never jumps"""


# --- the run -------------------------------------------------------------------------------------


class RunCreated(Event, frozen=True, tag=True, omit_defaults=True):
    """Always the first event. `policies` are the names of the entries, by role."""

    run: str
    market: Market
    goal: Goal
    limits: Limits
    seed: int
    policies: dict[str, str]
    settings: dict[str, str]
    """options as texts, by earlier versions; empty since"""
    began: float
    """seconds since 1970 at time zero of the run"""
    clocks: Clocks | None = None
    """at time zero"""
    options: RunOptions | None = None
    """None: made by an earlier version, whose settings tell them"""

    @property
    def made_with(self) -> RunOptions:
        """The options, by whichever version it was made."""
        return self.options or RunOptions.recalled(self.settings, self.market)


class WorkArrived(Event, frozen=True, tag=True, omit_defaults=True):
    """The tasks get the next `work.count` numbers, counted from 1 within the run.

    Those of a workflow wait for what they need. Works are numbered as they arrive, from 1.
    """

    work: Work
    key: str = ""
    """by which who submitted it knows it again, with a digest of what was submitted"""


class WorkCancelled(Event, frozen=True, tag=True, omit_defaults=True):
    """The tasks of a work that are not done and have not failed are not wanted any more.

    Attempts of them that live are cancelled; what is done stays done. The work stays cancelled.
    """

    work: int
    """its number"""
    why: str = ""


class PriorityChanged(Event, frozen=True, tag=True, omit_defaults=True):
    """From here on a work has this priority; larger is more urgent."""

    work: int
    priority: int


class FilesFound(Event, frozen=True, tag=True, omit_defaults=True):
    """What stood where the tasks of a workflow will write, before any of them began.

    It is the user's, with all that is in it: nobody moves or removes it.
    """

    names: tuple[str, ...] = ()
    links: dict[str, str] = {}
    """directories of outputs that are reached through links, and where they really are"""


class ArrivalsEnded(Event, frozen=True, tag=True, omit_defaults=True):
    """No more work will come: the run ends when the tasks it has are settled."""


class GoalChanged(Event, frozen=True, tag=True, omit_defaults=True):
    goal: Goal


class PlansOffered(Event, frozen=True, tag=True, omit_defaults=True):
    """Plans were shown, numbered from 1, and what they assume; a choice is one of the last list."""

    plans: tuple[Plan, ...]
    assumed: Assumed
    work: int = 1
    """the number of the work that this is for, here and below"""


class PlanChosen(Event, frozen=True, tag=True, omit_defaults=True):
    """The user chose a plan: from here on its fleet does the rest, and these are its promises."""

    name: str
    fleet: dict[str, int]
    makespan_p50: Time
    """since the choice"""
    makespan_upper: Time
    cost_p50: Money
    """on top of what was committed before the choice"""
    cost_upper: Money
    strategy: Strategy | None = None
    """of a fleet with unreliable machines; no other is chosen when the tail begins"""
    assigned: Assigned | None = None
    """of a workflow: the offer of each task; the fleet is then the most machines of each offer"""
    sabotage: Time | None = None
    """mean life of unreliable machines from here on; None: as the run was made"""
    work: int = 1


class AssignmentChanged(Event, frozen=True, tag=True, omit_defaults=True):
    """What is left of a workflow goes to other offers than was planned, and why."""

    assigned: Assigned
    fleet: dict[str, int]
    why: str = ""
    work: int = 1


class StrategyChosen(Event, frozen=True, tag=True, omit_defaults=True):
    """How the tail of a bag is spread over unreliable and reliable machines; why, and what of."""

    strategy: Strategy
    why: str = ""
    makespan: Time = 0
    """expected from the choice on; 0: not estimated"""
    cost: float = 0.0
    """expected from the choice on, in the market's currency"""
    work: int = 1


class BudgetRefilled(Event, frozen=True, tag=True, omit_defaults=True):
    """A new interval of an account's budget has begun while work waits."""

    account: str = ""


class StopRequested(Event, frozen=True, tag=True, omit_defaults=True):
    """Start nothing more and let attempts finish; with `now`, release everything at once.

    `status` is what the run ends with unless all its tasks are settled by then.
    """

    status: Status
    why: str
    now: bool = False


class RunResumed(Event, frozen=True, tag=True, omit_defaults=True):
    """No attempt of before runs any more; stop requests and the earlier end no longer hold."""

    clocks: Clocks | None = None
    outputs: str = ""
    """where results are from now on, if the run was moved or copied; empty: as before"""
    cut_off: float = 0.0
    """seconds since 1970 when what ran was seen to end; 0: nobody saw it"""


class RetryRequested(Event, frozen=True, tag=True, omit_defaults=True):
    """These tasks failed for good, and are to be tried again with all their retries."""

    tasks: tuple[int, ...]


class RunEnded(Event, frozen=True, tag=True, omit_defaults=True):
    status: Status
    why: str = ""


class ScaleDecided(Event, frozen=True, tag=True, omit_defaults=True):
    """What an autoscaler wants for its next interval, what it saw, and why.

    The machines that it rents and releases for it follow as decisions of their own.
    """

    fleet: dict[str, int]
    """machines of each offer that are wanted"""
    demand: int
    """slots that ready and running tasks could use"""
    supply: int
    """slots that are rented, also of machines that boot"""
    account: str = ""
    inputs: dict[str, float] = {}
    """figures that it was decided by, by name"""
    reason: str = ""
    lines: dict[str, tuple[int, ...]] = {}
    """tasks planned for each machine, see `bursar.state.planned_lines`"""


class ForecastMade(Event, frozen=True, tag=True, omit_defaults=True):
    """When the run will probably end, and what it will have cost: P10, P50 and P90 of each.

    By simulations of what was left, see `bursar.runs.forecasting`. Nothing is decided by it.
    """

    end: tuple[Time, Time, Time]
    cost: tuple[Money, Money, Money]
    chance: float | None = None
    """that all tasks are settled within budget and deadline; None: there is neither"""
    draws: int = 0
    """simulations that it rests on"""


# --- machines ------------------------------------------------------------------------------------


class MachineRented(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. The offer's price from now to `until` is committed from this moment."""

    machine: int
    offer: str
    until: Time
    reason: str = ""
    account: str = ""
    """who pays, and whose work it runs"""


class LeaseExtended(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. The machine may now stay until `until`, and that is committed."""

    machine: int
    until: Time
    reason: str = ""


class ReleaseOrdered(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. Nothing more is started on the machine; the world takes it down now."""

    machine: int
    reason: str = ""


class ReleaseMarked(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. The machine works on to the end of its paid time and is not kept beyond it."""

    machine: int
    reason: str = ""


class MachineUp(Event, frozen=True, tag=True, omit_defaults=True):
    machine: int


class MachineAdopted(Event, frozen=True, tag=True, omit_defaults=True):
    """A resumed run found the machine alive and keeps it, with its lease and its charge.

    What ran on it has ended before, and it is not up: `MachineUp` tells when it can be used again.
    """

    machine: int


class LossAnnounced(Event, frozen=True, tag=True, omit_defaults=True):
    """The machine will be taken away at `gone`; nothing more is started on it.

    What runs there goes on until then. It is a forecast: `MachineDown` tells when it is so.
    """

    machine: int
    gone: Time


class ConnectionLost(Event, frozen=True, tag=True, omit_defaults=True):
    """A machine does not answer, or the Dask scheduler: what runs goes on to the lease's end."""

    machine: int = 0
    """0: the scheduler"""
    why: str = ""


class ConnectionRestored(Event, frozen=True, tag=True, omit_defaults=True):
    """It answers again."""

    machine: int = 0
    """0: the scheduler"""


class MachineDown(Event, frozen=True, tag=True, omit_defaults=True):
    """The machine is gone; its attempts end with it and their tasks go back to the bag.

    `ended` is when it stopped costing money, never after its lease; None: at `at`.
    """

    machine: int
    cause: DownCause
    ended: Time | None = None
    why: str = ""


# --- attempts ------------------------------------------------------------------------------------


class AttemptStarted(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. With `measure` the attempt runs to its end even when its task is done: its run
    time is what it is for. On a machine without a free slot it waits there for the next one.
    """

    attempt: int
    task: int
    machine: int
    reason: str = ""
    measure: bool = False


class CancelOrdered(Event, frozen=True, tag=True, omit_defaults=True):
    """Decision. The attempt keeps its slot until the world says that it ended.

    With `give_up` it may be the only one of its task, which goes back to the bag then.
    """

    attempt: int
    reason: str = ""
    give_up: bool = False


class AttemptEnded(Event, frozen=True, tag=True, omit_defaults=True):
    """`runtime` is measured where the attempt ran."""

    attempt: int
    outcome: Outcome
    runtime: Time = 0
    exit_code: int | None = None
    cpu: Time = 0
    memory: int = 0
    """largest resident set, bytes"""
    why: str = ""
    """for a failure: what went wrong, or the end of stderr"""
    unwanted: bool = False
    """nobody wants the result of its task any more, which is cancelled unless it is settled"""


# --- what was not done ---------------------------------------------------------------------------


class ActionRefused(Event, frozen=True, tag=True, omit_defaults=True):
    """The guard did not let an action pass. `about` names the offer, machine, task or attempt."""

    action: str
    about: str
    why: str


AnyEvent = (
    RunCreated
    | WorkArrived
    | WorkCancelled
    | PriorityChanged
    | FilesFound
    | ArrivalsEnded
    | GoalChanged
    | PlansOffered
    | PlanChosen
    | StrategyChosen
    | AssignmentChanged
    | BudgetRefilled
    | StopRequested
    | RunResumed
    | RetryRequested
    | RunEnded
    | ScaleDecided
    | ForecastMade
    | MachineRented
    | LeaseExtended
    | ReleaseOrdered
    | ReleaseMarked
    | MachineUp
    | MachineAdopted
    | LossAnnounced
    | ConnectionLost
    | ConnectionRestored
    | MachineDown
    | AttemptStarted
    | CancelOrdered
    | AttemptEnded
    | ActionRefused
)

KINDS: Final = get_args(AnyEvent)
"""All classes of events."""

Decision = (
    MachineRented | LeaseExtended | ReleaseOrdered | ReleaseMarked | AttemptStarted | CancelOrdered
)
"""What a world is asked to carry out."""

PlanEvent = PlansOffered | PlanChosen | StrategyChosen | AssignmentChanged
"""What is about the plan of one work."""

Proposal = StrategyChosen | AssignmentChanged
"""What an advisor may answer."""

MONEY_EVENTS = (RunCreated, GoalChanged, MachineRented, LeaseExtended, MachineDown, RunEnded)
"""Events that must be safely on disk before anything else happens."""
