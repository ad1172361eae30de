"""Whether what an advisor proposes can be followed: its types, and that its work still goes on."""

from __future__ import annotations

from typing import get_args

import msgspec

from bursar.engine.checking import LONGEST_REASON
from bursar.model.codec import ENCODER, decoder
from bursar.model.errors import BursarError, one_line
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState


def checked(proposal: object, state: RunState, now: Time) -> ev.Proposal | str:
    """The proposal as an event of now, made of what can be journaled; or why it is refused."""
    if not isinstance(proposal, get_args(ev.Proposal)):
        return "this is no proposal"
    try:
        text = ENCODER.encode(msgspec.structs.replace(proposal, at=now))
        event: ev.Proposal = decoder(type(proposal)).decode(text)
    except (BursarError, msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        return one_line(f"it is not made of what it must be made of: {error}")[:LONGEST_REASON]
    if state.stopping is not None:
        return "the run is stopping"
    if not state.arrivals_open and state.settled == state.total:
        return "the work is over"
    why = _wrong_work(event.work, state) or _wrong(event, state)
    if why is not None:
        return why
    return msgspec.structs.replace(event, why=one_line(event.why[:LONGEST_REASON]))


def _wrong_work(work: int, state: RunState) -> str | None:
    if not 1 <= work <= len(state.work):
        return "it is about a work that is not there"
    return None if state.work.left(work - 1) else "the work is over"


def _wrong(event: ev.Proposal, state: RunState) -> str | None:
    if isinstance(event, ev.AssignmentChanged):
        return _wrong_assignment(event, state)
    pools = {offer.pool for offer in state.market.offers if offer.limit != 0}
    if event.strategy.needs_reliable and "reliable" not in pools:
        return "the strategy ends on reliable machines, and the market has none"
    return None


def _wrong_assignment(event: ev.AssignmentChanged, state: RunState) -> str | None:
    assigned, market = event.assigned, state.market
    place = event.work - 1
    last = state.work.before(event.work) if event.work < len(state.work) else state.total
    if len(assigned.tasks) > last - state.work.before(place):
        return "it is about tasks that are not there"
    if not all(0 <= offer < len(assigned.offers) for offer in assigned.tasks):
        return "it assigns tasks to offers that it does not name"
    unknown = [name for name in (*assigned.offers, *event.fleet) if name not in market]
    if unknown:
        return one_line(f"the market has no offer {unknown[0][:LONGEST_REASON]}")
    return (
        "its fleet has less than no machine" if any(n < 0 for n in event.fleet.values()) else None
    )
