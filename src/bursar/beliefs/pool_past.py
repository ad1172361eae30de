"""What was sent to unreliable machines before anybody watched, from the log of attempts."""

from __future__ import annotations

import msgspec

from bursar.beliefs.past import SUCCESS, past_attempts
from bursar.beliefs.reliability import InstanceEnd, LastEnding, tail_start
from bursar.model.time import Time
from bursar.state.attempts import OUTCOMES
from bursar.state.view import View


class PastInstances(msgspec.Struct):
    """A row for each attempt on an unreliable machine, in the order in which they were sent."""

    sent: list[Time] = []
    ended: list[Time] = []
    """of those that live, when they were sent"""
    fates: list[int] = []
    standings: list[int] = []
    rows: dict[int, int] = {}
    """by live attempt, its row"""
    last: dict[int, LastEnding] = {}
    """by machine, how its last instance ended that was not withdrawn"""
    reliable_runs: int = 0
    reliable_total: Time = 0
    """successes on reliable machines, and their run times"""


def past_instances(view: View) -> PastInstances:
    found = PastInstances()
    unreliable = [offer.pool == "unreliable" for offer in view.market.offers]
    past = past_attempts(view)
    ends: dict[int, list[tuple[Time, int, InstanceEnd]]] = {}
    fates: dict[int, tuple[Time, InstanceEnd]] = {}
    columns = (past.attempts, past.tasks, past.machines, past.started, past.ended, past.outcomes)
    rows = zip(*(column.tolist() for column in (*columns, past.runtimes, past.offers)), strict=True)
    for attempt, task, machine, started, ended, outcome, runtime, offer in rows:
        if unreliable[offer]:
            end, fate = _fate(view, task, started, ended, outcome)
            fates[attempt] = end, fate
            ends.setdefault(machine, []).append((end, attempt, fate))
        elif outcome == SUCCESS:
            found.reliable_runs += 1
            found.reliable_total += runtime
    _list_sent(found, view, fates, ends)
    return found


def _fate(
    view: View, task: int, started: Time, ended: Time, outcome: int
) -> tuple[Time, InstanceEnd]:
    """When an attempt ended, and how it counts."""
    for begin, end in view.pauses:
        if started <= begin and end <= ended:  # it went with the run, not with the pool
            return begin, InstanceEnd.WITHDRAWN
    if outcome == SUCCESS:
        return ended, InstanceEnd.RESULT
    name, winner = OUTCOMES[outcome], view.winners[task]
    was_done = winner > 0 and view.log.ended[winner] <= ended
    if name == "released" or (name == "cancelled" and was_done):
        return ended, InstanceEnd.WITHDRAWN
    return ended, InstanceEnd.LOST


def _list_sent(
    found: PastInstances,
    view: View,
    fates: dict[int, tuple[Time, InstanceEnd]],
    ends: dict[int, list[tuple[Time, int, InstanceEnd]]],
) -> None:
    """Rows in the order of sending; how a machine stood then, its earlier ends tell."""
    followed = dict.fromkeys(ends, 0)
    for attempt in range(1, len(view.log) + 1):
        machine = view.log.machine[attempt]
        live = view.attempts.get(attempt)
        if attempt not in fates and (live is None or live.machine.offer.pool != "unreliable"):
            continue
        sent = view.log.started[attempt]
        _stand(found, machine, ends, followed, sent)
        end, fate = fates.get(attempt, (sent, InstanceEnd.SILENT))
        if live is not None:
            found.rows[attempt] = len(found.sent)
        found.sent.append(sent)
        found.ended.append(end)
        found.fates.append(fate)
        found.standings.append(found.last.get(machine, LastEnding.UNTRIED))
    for machine in ends:
        _stand(found, machine, ends, followed, view.now)


def _stand(
    found: PastInstances,
    machine: int,
    ends: dict[int, list[tuple[Time, int, InstanceEnd]]],
    followed: dict[int, int],
    moment: Time,
) -> None:
    """Follow what ended on a machine up to a moment."""
    some, place = ends.get(machine, ()), followed.get(machine, 0)
    while place < len(some) and some[place][0] <= moment:
        fate = some[place][2]
        if fate != InstanceEnd.WITHDRAWN:
            is_result = fate == InstanceEnd.RESULT
            found.last[machine] = LastEnding.RETURNED if is_result else LastEnding.FAILED
        place += 1
    followed[machine] = place


def past_tail(view: View, slots: int) -> Time | None:
    """When fewer tasks than so many slots remained, for the first time; None: more do."""
    log, winners = view.log, view.winners
    ends = [log.ended[winners[task]] for task in range(1, view.total + 1) if winners[task]]
    return tail_start(ends, view.total - (view.settled - view.done), slots)
