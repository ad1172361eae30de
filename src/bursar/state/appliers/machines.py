"""Events of machines: they are rented, come up, are paid for longer, leave and are down."""

from __future__ import annotations

from types import MappingProxyType

from msgspec.structs import force_setattr as change_field

from bursar.state import events as ev
from bursar.state.appliers.attempts import end_attempt
from bursar.state.facts import RunFacts
from bursar.state.view import Machine, Refusal


def machine_rented(state: RunFacts, event: ev.MachineRented) -> None:
    offer = state.market[event.offer]
    state.machines_rented = event.machine
    state.offers_rented.append(state.market.offers.index(offer))
    begun = state.begun_on[event.machine] = {}
    state.machines[event.machine] = Machine(
        event.machine,
        offer,
        event.at,
        event.until,
        attempts=MappingProxyType(begun),
        account=event.account,
    )
    state.changes.machines.note(event.machine)
    state.boots.begin(event.machine, offer, event.at)
    state.fleet[offer.name] = state.fleet.get(offer.name, 0) + 1
    state.ledger.commit(event.machine, offer, event.at, event.until, event.account)


def lease_extended(state: RunFacts, event: ev.LeaseExtended) -> None:
    change_field(state.machines[event.machine], "until", event.until)
    state.changes.machines.note(event.machine)
    state.ledger.extend(event.machine, event.until)


def release_marked(state: RunFacts, event: ev.ReleaseMarked) -> None:
    change_field(state.machines[event.machine], "marked", True)
    state.changes.machines.note(event.machine)


def release_ordered(state: RunFacts, event: ev.ReleaseOrdered) -> None:
    machine = state.machines[event.machine]
    _begin_to_leave(state, machine)
    change_field(machine, "releasing", True)
    for attempt in (*machine.attempts, *machine.waiting):
        state.changes.attempts.note(attempt)


def loss_announced(state: RunFacts, event: ev.LossAnnounced) -> None:
    machine = state.machines[event.machine]
    _begin_to_leave(state, machine)
    change_field(machine, "doomed", event.gone)


def connection_changed(state: RunFacts, event: ev.ConnectionLost | ev.ConnectionRestored) -> None:
    """Told for those who ask why: what runs there goes on, and is reported later."""


def _begin_to_leave(state: RunFacts, machine: Machine) -> None:
    """Count a machine among those that leave, once: one may be announced, then released."""
    state.changes.machines.note(machine.id)
    if not machine.leaving:
        name = machine.offer.name
        state.fleet[name] -= 1
        state.leaving[name] = state.leaving.get(name, 0) + 1
        state.idle.discard(machine.id)


def machine_up(state: RunFacts, event: ev.MachineUp) -> None:
    machine = state.machines[event.machine]
    change_field(machine, "up", event.at)
    state.boots.end(machine.id, machine.offer, event.at)
    state.supply.change(machine.offer.slots, event.at, machine.account)
    state.changes.machines.note(event.machine)
    state.refusals.pop(machine.offer.name, None)
    if not machine.leaving:
        state.idle.add(machine.id)


def machine_adopted(state: RunFacts, event: ev.MachineAdopted) -> None:
    machine = state.machines[event.machine]
    if machine.up is not None:
        state.supply.change(-machine.offer.slots, event.at, machine.account)
    change_field(machine, "up", None)
    state.boots.forget(machine.id, machine.offer)
    state.changes.machines.note(event.machine)
    state.idle.discard(machine.id)


def machine_down(state: RunFacts, event: ev.MachineDown) -> None:
    machine = state.machines.pop(event.machine)
    change_field(machine, "down", True)
    state.boots.forget(machine.id, machine.offer)
    if machine.up is not None:
        state.supply.change(-machine.offer.slots, event.at, machine.account)
    state.changes.machines.note(event.machine)
    counts = state.leaving if machine.leaving else state.fleet
    counts[machine.offer.name] -= 1
    state.idle.discard(machine.id)
    for attempt in sorted((*machine.attempts, *machine.waiting)):
        live = state.attempts[attempt]
        end_attempt(state, live, event.at, event.at - live.started, _fate_of_attempts(event))
    del state.begun_on[machine.id]
    if event.cause == "refused":
        state.ledger.void(machine.id)
        since = state.refusals.get(machine.offer.name)
        state.refusals[machine.offer.name] = Refusal(
            event.at if since is None else since.since, event.at
        )
    else:
        end = event.at if event.ended is None else event.ended
        state.ledger.close(machine.id, end, was_lost=event.cause == "lost")


def _fate_of_attempts(event: ev.MachineDown) -> ev.Outcome:
    """What became of what ran on a machine: it was taken away, or we gave it back."""
    return "lost" if event.cause in ("lost", "refused") else "released"
