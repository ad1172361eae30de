"""Records of older journals, as the events that they are now."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bursar.model.codec import decoder
from bursar.model.flow import Flow
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.state import events as ev


class _BagArrived(msgspec.Struct, frozen=True, tag="WorkArrived", forbid_unknown_fields=True):
    """Until works had owners, each kind of work had its event."""

    at: Time
    bag: Bag


class _FlowArrived(msgspec.Struct, frozen=True, tag="WorkflowArrived", forbid_unknown_fields=True):
    at: Time
    flow: Flow


_OLD: Final[msgspec.json.Decoder[Any]] = decoder(_BagArrived | _FlowArrived)


def upgraded(record: bytes | str) -> ev.AnyEvent | None:
    """The event that an old record tells; None: it is no record of an older journal."""
    try:
        old = _OLD.decode(record)
    except msgspec.MsgspecError:
        return None
    tasks = old.bag if isinstance(old, _BagArrived) else old.flow
    return ev.WorkArrived(old.at, Work.of(tasks))
