"""Everything a policy may ask for, in the imperative, each with a reason.

An action is a request: the guard turns it into a decision (an event) or refuses it (an event too).
"""

from __future__ import annotations

import msgspec

from bursar.model.time import Time
from bursar.state.events import Status


class Action(msgspec.Struct, frozen=True, gc=False):
    pass


class Rent(Action, frozen=True):
    """Rent machines of this offer, one after the other, as long as the money lasts."""

    offer: str
    count: int = 1
    account: str = ""
    """who pays, and whose work it runs; a run of one user has one account, without a name"""
    reason: str = ""


class Extend(Action, frozen=True):
    """Let this machine enter another stretch of paid time."""

    machine: int
    reason: str = ""


class Release(Action, frozen=True):
    """Give this machine back: at the end of what is paid for, or at once.

    Attempts still running on it then are lost and their tasks go back to the bag.
    """

    machine: int
    at_once: bool = False
    reason: str = ""


class Start(Action, frozen=True):
    """Start an attempt of this task on this machine, beside any that run already.

    With `measure` it runs to its end even when the task is done, or was done before: its run time
    is what it is for. With `ahead` it may wait at a busy machine for a slot.
    """

    task: int
    machine: int
    reason: str = ""
    measure: bool = False
    ahead: bool = False


class Cancel(Action, frozen=True):
    """Stop this attempt: one of several of its task, or any with `give_up`."""

    attempt: int
    reason: str = ""
    give_up: bool = False


class Scale(Action, frozen=True):
    """Tell which fleet is wanted from now on and why: for the journal, nothing is rented by it."""

    fleet: dict[str, int]
    """machines of each offer"""
    demand: int
    supply: int
    account: str = ""
    inputs: dict[str, float] = {}
    """figures that it was decided by, by name"""
    reason: str = ""
    lines: dict[str, tuple[int, ...]] = {}
    """tasks planned for each machine, see `bursar.state.planned_lines`"""


class Wake(Action, frozen=True):
    """Ask again at this time, even if nothing happens before."""

    at: Time


class Stop(Action, frozen=True):
    """End the run gently: the goal cannot be met, or a plan is all that was asked for."""

    reason: str
    status: Status = "budget"


AnyAction = Rent | Extend | Release | Start | Cancel | Scale | Wake | Stop
