"""What entries see cannot be written, however they try."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE
from bursar.state.read_only import view_of
from bursar.state.view import View
from bursar.testing import Scene

SPOT = Offer("spot", Money.parse("0.10"), slots=2, pool="unreliable")
MOST = 4_000
"""objects that are looked at"""
PLAIN = (int, float, str, bytes, bool, type(None), Money)
MUTATORS = (
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse",
    "setdefault", "sort", "update", "apply", "commit", "close", "void", "begin", "end",
)  # fmt: skip


@pytest.fixture
def scene():
    scene = Scene(SPOT, Offer("sure", Money.parse("0.40")), tasks=6, budget="4.00", retries=1)
    first, second = scene.machine(), scene.machine("sure")
    scene.end(scene.start(1, first))
    scene.start(2, first)
    scene.start(3, second)
    scene.start(2, first)
    scene.start(4, first)  # which waits there
    scene.announce_loss(second, MINUTE)
    scene.down(scene.rent(), "refused")
    return scene


def digest(scene):
    """Every value that the state is made of."""
    state = scene.state
    state.check()
    machines = [(one.id, one.until, one.up, one.marked, one.releasing, one.doomed, one.down,
                 tuple(one.attempts), one.waiting) for one in state.machines.values()]  # fmt: skip
    attempts = [
        (a.id, a.task, a.machine.id, a.started, a.cancelling) for a in state.attempts.values()
    ]
    log = state.log
    columns = (log.task, log.machine, log.started, log.ended, log.runtime, log.outcome)
    return (
        machines, attempts, [list(column) for column in columns], list(state.ready),
        list(state.idle), bytes(state.status), list(state.winners), dict(state.fleet),
        dict(state.leaving), {name: (r.since, r.last) for name, r in state.refusals.items()},
        state.ledger.budget, state.ledger.committed, state.goal, state.market, state.total,
        list(state.work), list(state.pauses), state.stopping, state.arrivals_open,
    )  # fmt: skip


def reachable(view):
    """Whatever attributes, private ones too, items and functions lead to."""
    seen, waiting = {}, [view]
    while waiting and len(seen) < MOST:
        one = waiting.pop()
        if isinstance(one, PLAIN) or id(one) in seen:
            continue
        seen[id(one)] = one
        names = [name for name in dir(one) if not name.startswith("__")]
        waiting += [found for name in names if (found := attribute(one, name)) is not None]
        waiting += items(one)
        if callable(one) and not isinstance(one, type):
            waiting += [found for found in answers(one) if found is not None]
    return list(seen.values())


def attribute(one, name):
    try:
        return getattr(one, name)
    except Exception:
        return None


def items(one):
    try:
        return [*one][:50] + ([*one.values()][:50] if hasattr(one, "values") else [])
    except Exception:
        return []


def answers(one):
    if getattr(one, "__name__", "") in MUTATORS:
        return []
    found = []
    for arguments in ((), (2,), ("small",)):
        with suppress(Exception):
            found.append(one(*arguments))
    return found


def vandalise(one):
    """Assign, delete and mutate whatever there is; whatever that raises."""
    for name in [name for name in dir(one) if not name.startswith("__")]:
        for value in (10**9, None, [], Money(10**18)):
            try_to(lambda name=name, value=value: setattr(one, name, value))
        try_to(lambda name=name: delattr(one, name))
        if name in MUTATORS:
            for arguments in ((), (2,), (2, 3), ({2: 3},), ([7],), (1, SPOT, 0, MINUTE)):
                try_to(lambda name=name, given=arguments: getattr(one, name)(*given))
    for key in (0, 1, 2, "spot"):
        try_to(lambda key=key: one.__setitem__(key, 7))
        try_to(lambda key=key: one.__delitem__(key))
    try_to(lambda: one.__ior__({2: 3}))
    try_to(lambda: one.__iadd__([7]))


def try_to(act):
    with suppress(Exception):
        act()


def test_nothing_that_the_view_leads_to_changes_the_state(scene):
    before = digest(scene)
    view = view_of(scene.state)
    found = reachable(view)
    assert len(found) > 50, "it does lead somewhere"
    assert scene.state not in found
    assert scene.state.ledger not in found
    for one in found:
        if isinstance(one, type) or getattr(type(one), "__module__", "") == "_frozen_importlib":
            continue
        vandalise(one)
    assert digest(scene) == before
    for event in scene.events[-3:]:  # and it can still be told of
        assert msgspec.structs.asdict(event)


@pytest.mark.parametrize(
    "assign",
    [
        lambda view: setattr(view.ledger, "budget", None),
        lambda view: setattr(view, "done", 5),
        lambda view: setattr(view.machines[1], "until", 10**15),
        lambda view: setattr(view.attempts[2], "cancelling", True),
        lambda view: view.ready.discard(5),
        lambda view: view.machines.clear(),
        lambda view: view.machines[1].attempts.clear(),
        lambda view: view.attempts_of(2).append(3),
        lambda view: view.refusals["spot"].__setattr__("last", 0),
        lambda view: view.log.task.__setitem__(1, 5),
        lambda view: view.status.__setitem__(1, 5),
        lambda view: view.fleet.update(spot=9),
    ],
)
def test_who_writes_into_the_view_is_reported(scene, assign):
    before = digest(scene)
    with pytest.raises((AttributeError, TypeError)):
        assign(view_of(scene.state))
    assert digest(scene) == before


def test_the_view_is_live_and_tells_what_the_state_tells(scene):
    state, view = scene.state, view_of(scene.state)
    names = [name for name in vars(View) if not name.startswith("_")]
    assert len(names) > 20
    scene.pass_time(MINUTE)
    scene.end(3, "failed")
    for name in names:
        shown, own = getattr(view, name), getattr(state, name)
        if name in ("work", "pauses"):
            assert list(shown) == list(own)
        elif isinstance(own, int | str) or name in ("market", "goal", "limits", "stopping"):
            assert shown == own
    assert list(view.ready) == list(state.ready)
    assert (len(view.ready), view.ready[0] in view.ready) == (len(state.ready), True)
    assert dict(view.machines) == state.machines
    assert view.attempts_of(2) == tuple(state.attempts_of(2))
    assert (view.ledger.budget, view.ledger.left) == (state.ledger.budget, state.ledger.left)
    assert view.ledger.committed == state.ledger.committed
    assert view.ledger.can_pay(Money.parse("1")) == state.ledger.can_pay(Money.parse("1"))
    assert len(view.log) == len(state.log)
    assert [view.log.task[n] for n in range(len(view.log) + 1)] == list(state.log.task)
    assert (view.precedence.children(1), view.precedence.parents(1)) == ((), ())
    assert view.work[0] == state.work[0]
    assert (view.work[:], len(view.work)) == (state.work[:], 1)
    assert [view.work.before(0), view.work.left(0), view.work.arrived(0)] == [0, 5, 0]
    assert (view.work.place_of(3), view.work.arrived_since(0)) == (0, range(1))
    assert view.may_replicate(2)
