"""What the replicators pick in arrays is what the thesis picks one by one."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, format_duration
from bursar.policies import running_attempts
from bursar.policies.live_attempts import is_live
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.at_risk import LONGER, AtRisk
from bursar.policies.replicate.random import RandomReplicas
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.replicate.stochastic_random import StochasticRandom
from bursar.policies.replicate.tail import AT_RANDOM
from bursar.testing import Scene

OFFERS = (
    Offer("slow", Money.parse(1), HOUR, slots=2),
    Offer("fast", Money.parse(4), HOUR, speed=3.0),
    Offer("new", Money.parse(2), HOUR),
)
SLOPES = {"slow": 1_000_000, "fast": 3_000_000}


class Stays(Fixed):
    """Each machine stays for a time of its own."""

    def __init__(self):
        super().__init__({})

    def stays_until(self, machine):
        return machine.until - (machine.id * 7 % 50) * MINUTE


# --- the plain way --------------------------------------------------------------------------------


def running(view):
    """Tasks that may get a replica, with their live attempts by machine number."""
    live = sorted(filter(is_live, view.attempts.values()), key=lambda one: (one.machine.id, one.id))
    tasks = {}
    for attempt in live:
        tasks.setdefault(attempt.task, []).append(attempt)
    return [(task, some) for task, some in tasks.items() if view.may_replicate(task)]


def longest(view, known, now, machine, picked):
    found = []
    for task, attempts in running(view):
        judged = []
        for attempt in attempts:
            total = known.expected_total(attempt.machine.offer.name, now - attempt.started)
            if total is not None:
                judged.append((total - (now - attempt.started), attempt))
        if judged:
            found.append((task, *min(judged, key=lambda one: one[0])))
    for task, left, attempt in sorted(found, key=lambda one: -one[1]):
        source, elapsed = attempt.machine.offer.name, now - attempt.started
        needed = known.expected_total(source, elapsed, on=machine.offer.name)
        if task not in picked and left > 0 and needed is not None and left > needed:
            here, there = format_duration(needed), format_duration(left)
            return task, f"expected to take {here} here, {there} more where it runs"
    return None


def at_random(view, known, machine, picked, rng):
    pace = known.pace(machine.offer.name)
    slower = [
        task
        for task, attempts in running(view)
        if task not in picked
        and pace is not None
        and any((known.pace(one.machine.offer.name) or -1) > pace for one in attempts)
    ]
    return (slower[int(rng.random() * len(slower))], AT_RANDOM) if slower else None


def by_plain_means(kind, view, known, now, rng):
    def order(machine):
        pace = known.pace(machine.offer.name)
        return pace is None, pace or 0, machine.id

    picked, found = set(), []
    for machine in sorted((view.machines[number] for number in view.idle), key=order):
        for _ in range(machine.offer.slots - len(machine.attempts)):
            pick = None
            if kind is not RandomReplicas:
                pick = longest(view, known, now, machine, picked)
            if pick is None and kind is not Stochastic:
                pick = at_random(view, known, machine, picked, rng)
            if pick is not None:
                picked.add(pick[0])
                found.append((pick[0], machine.id, pick[1]))
    return found


def at_risk_by_plain_means(view, known, now, guide):
    def time(attempt, machine):
        source, elapsed = attempt.machine.offer.name, now - attempt.started
        return known.expected_total(source, elapsed, on=machine.offer.name) or 0

    tasks = {}
    for attempt in filter(is_live, view.attempts.values()):
        late = attempt.started + time(attempt, attempt.machine) * (1 + LONGER)
        safe = late <= guide.stays_until(attempt.machine)
        tasks[attempt.task] = tasks.get(attempt.task, False) or safe
    free = sorted(
        (view.machines[number] for number in view.idle),
        key=lambda one: (-guide.stays_until(one), one.id),
    )
    slots = [one for one in free for _ in range(one.offer.slots - len(one.attempts))]
    found = []
    for task in (one for one, safe in tasks.items() if not safe and view.may_replicate(one)):
        attempt = view.attempts[view.attempts_of(task)[0]]
        for machine in slots:
            if now + time(attempt, machine) <= guide.stays_until(machine):
                slots.remove(machine)
                found.append((task, machine.id))
                break
    return found


# --- any scene ------------------------------------------------------------------------------------


def happen(scene, rng):
    state = scene.state
    scene.pass_time(rng.randrange(0, 5 * MINUTE))
    for number in [n for n, one in state.machines.items() if one.until <= scene.at]:
        scene.down(number, "expired")
    what, attempts = rng.random(), list(state.attempts)
    if what < 0.3 or not state.machines:
        scene.machine(rng.choice(("slow", "fast", "new")), stay=2 * HOUR)
    elif what < 0.7 and state.idle:
        tasks = [*state.ready, *(one.task for one in state.attempts.values())]
        task = rng.choice(tasks)
        if task in state.ready or state.may_replicate(task):
            scene.start(task, rng.choice(list(state.idle)), measure=rng.random() < 0.1)
    elif what < 0.75 and attempts:
        number = rng.choice(attempts)
        if not state.attempts[number].cancelling:
            scene.cancel(number)
    elif what < 0.8:
        number = rng.choice(list(state.machines))
        if not state.machines[number].leaving:
            scene.release(number)
    elif attempts:
        scene.end(rng.choice(attempts), rng.choice(("success", "success", "failed")))


def asked(replicator, scene, seed):
    starts = replicator.replicate(scene.state, scene.at, Random(seed))
    return [(start.task, start.machine, start.reason) for start in starts]


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), few=st.sampled_from((0, 1_000)))
def test_arrays_pick_what_plain_loops_pick(seed, few):
    """Where attempts are many, those that need no closer look get none."""
    with patch.object(running_attempts, "FEW", few):
        _compare_ways(seed)


def _compare_ways(seed):
    rng = Random(seed)
    known, guide = UnifiedRuntimes(SLOPES), Stays()
    kinds = (Stochastic, RandomReplicas, StochasticRandom)
    replicators = [kind(known) for kind in kinds]
    entry = AtRisk(guide, known)
    scene = Scene(*OFFERS, tasks=60, retries=2, arrivals_open=True)
    scene.state.runtimes = known
    for step in range(60):
        happen(scene, rng)
        if rng.random() < 0.3:
            known.learn(rng.choice(("slow", "fast")), rng.randrange(1, 40 * MINUTE))
        if rng.random() < 0.5:
            continue
        view, now = scene.state, scene.at
        for kind, replicator in zip(kinds, replicators, strict=True):
            plain = by_plain_means(kind, view, known, now, Random(step))
            assert asked(replicator, scene, step) == plain
        wanted = at_risk_by_plain_means(view, known, now, guide)
        found = [one[:2] for one in asked(entry, scene, step)]
        if wanted:
            assert found == wanted
        else:
            plain = by_plain_means(StochasticRandom, view, known, now, Random(step))
            assert found == [one[:2] for one in plain]
