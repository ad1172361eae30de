"""Records of older journals, as the events that they are now."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bursar.model.codec import decoder
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.state import events as ev


class _OwnedWorkflow(Workflow, frozen=True, kw_only=True, tag="Workflow"):
    """Until works had them, a workflow had these itself; then both did for a while."""

    owner: str = ""
    priority: int = 0
    deadline: Time | None = None

    def plain(self) -> Workflow:
        return Workflow(**{name: getattr(self, name) for name in Workflow.__struct_fields__})


class _BagArrived(msgspec.Struct, frozen=True, tag="WorkArrived", forbid_unknown_fields=True):
    """Until works had owners, each kind of work had its event."""

    at: Time
    bag: Bag

    def now(self) -> ev.WorkArrived:
        return ev.WorkArrived(self.at, Work(self.bag))


class _FlowArrived(msgspec.Struct, frozen=True, tag="WorkflowArrived", forbid_unknown_fields=True):
    at: Time
    flow: _OwnedWorkflow

    def now(self) -> ev.WorkArrived:
        flow = self.flow
        work = Work(flow.plain(), flow.owner, flow.priority, flow.deadline)
        return ev.WorkArrived(self.at, work)


class _WorkOfOwned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tasks: _OwnedWorkflow
    owner: str = ""
    priority: int = 0
    deadline: Time | None = None


class _OwnedArrived(msgspec.Struct, frozen=True, tag="WorkArrived", forbid_unknown_fields=True):
    at: Time
    work: _WorkOfOwned

    def now(self) -> ev.WorkArrived:
        old = self.work
        work = Work(old.tasks.plain(), old.owner, old.priority, old.deadline)
        return ev.WorkArrived(self.at, work)


OLD_NAMES: Final = {"WorkArrived": ("WorkflowArrived",)}
"""Names that records of a kind of event had, besides the one that it has now."""
_OLD: Final[tuple[msgspec.json.Decoder[Any], ...]] = (
    decoder(_BagArrived | _FlowArrived),
    decoder(_OwnedArrived),
)


def upgraded(record: bytes | str) -> ev.AnyEvent | None:
    """The event that an old record tells; None: it is no record of an older journal."""
    for old in _OLD:
        try:
            found: _BagArrived | _FlowArrived | _OwnedArrived = old.decode(record)
        except msgspec.MsgspecError:
            continue
        return found.now()
    return None
