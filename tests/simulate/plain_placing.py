"""Workloads placed as the specification says it, word by word: slow, and simple on purpose.

Nothing here is shared with bursar but the draw of a random number. Every rank is computed anew by
recursion, every choice looks at everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, zip_longest
from math import ceil

from bursar.model.picking import drawn


@dataclass
class PlainTask:
    runtime: int
    estimate: int
    parents: tuple[int, ...] = ()
    kind: int = 0
    transfer: int = 0
    """of its files, on any machine"""

    def takes(self, speed):
        return round(self.runtime / speed) + self.transfer


@dataclass
class PlainWork:
    arrived: int
    tasks: list[PlainTask]
    started: dict[int, tuple[int, int]] = field(default_factory=dict)
    """task: (time, machine)"""
    done: set[int] = field(default_factory=set)
    picks: int = 0
    factor: float = 1.0
    """corrects what is expected of it"""
    first_factor: float = 1.0
    took: dict[int, int] = field(default_factory=dict)
    """at speed 1, by task that is done"""
    order: list[int] = field(default_factory=list)
    """tasks as they were started"""
    half_expected: float = 0.0

    def total(self):
        return sum(task.estimate for task in self.tasks)

    def children(self, task):
        return [n for n, one in enumerate(self.tasks) if task in one.parents]

    def rank(self, task):
        """(3.1), at speed 1"""
        rank = self.plain_rank(task)
        return rank if self.factor == 1 else rank * self.factor

    def plain_rank(self, task):
        below = [self.plain_rank(child) for child in self.children(task)]
        return self.tasks[task].estimate + max(below, default=0)

    def critical_path(self):
        """(3.2)"""
        return max((self.rank(task) for task in range(len(self.tasks))), default=0)

    def path_left(self):
        """Of what is not yet running"""
        unstarted = [task for task in range(len(self.tasks)) if task not in self.started]
        return max((self.rank(task) for task in unstarted), default=0)

    def work_left(self):
        unstarted = [task for task in range(len(self.tasks)) if task not in self.started]
        return sum(self.tasks[task].estimate for task in unstarted)

    def cost_left(self):
        return self.work_left() * self.factor

    def waiting(self):
        """Eligible tasks that do not run"""
        return [
            number
            for number, task in enumerate(self.tasks)
            if number not in self.started and self.done.issuperset(task.parents)
        ]


def token_sets(work, tokens):
    """Steps of tokens over what is not done, until every task has had one."""
    left = set(range(len(work.tasks))) - work.done
    parents = {task: set(work.tasks[task].parents) & left for task in left}
    children = {task: {one for one in left if task in parents[one]} for task in left}
    now = {task for task in left if not parents[task]}
    had = set(now)
    sets = [set(now)]
    while had != left:
        reached = {one for one in left if parents[one] <= had}
        fresh = reached - had
        following = set(fresh)
        had |= fresh
        if tokens in ("stay", "echo"):
            following |= {task for task in now if not children[task] <= had}
        if tokens == "echo":
            following |= {child for task in now for child in children[task] if child in reached}
        now = following
        sets.append(set(now))
    return sets


class PlainSimulation:
    def __init__(self, works, speeds, policy, *, seed=0, remembered=1000, power=4, **reserving):
        self.depth = reserving.get("depth", 10**9)
        self.share = Fraction(str(reserving.get("f", 1)))
        self.tokens = reserving.get("tokens", "gen")
        self.is_lazy = reserving.get("life") == "lazy"
        self.plans_when = reserving.get("plan", "arrival")
        self.overdue = reserving.get("overdue", "never")
        self.learns = reserving.get("learns", False)
        self.history = int(reserving.get("history", 50))
        self.judged: list[tuple[int, float]] = []
        """second halves of works that ended: what they took, and were expected to take"""
        self.held: dict[int, int] = {}
        """work: idle machines that are reserved"""
        self.works, self.speeds, self.policy = works, speeds, policy
        self.seed, self.power, self.remembered = seed, power, remembered
        self.now = 0
        self.arrived: list[int] = []
        self.running: dict[int, tuple[int, int, int, int]] = {}
        """machine: (end, work, task, start)"""
        self.ended: list[tuple[int, int]] = []
        """(measured, expected) of every task that ended"""
        self.begun: dict[tuple[int, int], int] = {}
        """(work, task): what it was expected to take when it began"""
        self.finished: list[PlainWork] = []
        self.planned = 0
        """works in the last plan"""
        self.lines: dict[int, list[tuple[int, int]]] = {m: [] for m in range(len(speeds))}
        """machine: (work, task) in the order of planned starts"""
        self.starts: list[tuple[int, int, int, int]] = []
        """(time, work, task, machine)"""

    def run(self):
        waiting_to_arrive = list(range(len(self.works)))
        while waiting_to_arrive or self.running:
            moments = [end for end, *_ in self.running.values()]
            moments += [self.works[work].arrived for work in waiting_to_arrive]
            self.now = min(moments)
            ending = [m for m, (end, *_) in self.running.items() if end == self.now]
            for machine in sorted(ending, key=lambda m: self.running[m][1:3]):
                end, work, task, start = self.running.pop(machine)
                self.works[work].done.add(task)
                self.held[work] = self.held.get(work, 0) + 1
                self.ended.append((end - start, self.begun.pop((work, task))))
                self.learn(work, task, round((end - start) * self.speeds[machine]))
            for work in list(waiting_to_arrive):
                if self.works[work].arrived == self.now:
                    waiting_to_arrive.remove(work)
                    self.arrived.append(work)
                    if self.learns:
                        self.expect(work)
            self.place()
        return self.starts

    def expected(self, work, task, machine):
        one = self.works[work]
        return round(one.tasks[task].estimate * one.factor / self.speeds[machine])

    # --- what is learned -------------------------------------------------------------------------

    def done_tasks(self):
        """(kind, what it took) of all that ended"""
        return [(w.tasks[task].kind, took) for w in self.works for task, took in w.took.items()]

    def expect(self, work):
        one, seen = self.works[work], self.done_tasks()
        for task in one.tasks:
            alike = [took for kind, took in seen if kind == task.kind] or [t for _, t in seen]
            task.estimate = sum(alike) // len(alike) if alike else 1_000_000
        size = one.total().bit_length()
        like = [w for w in self.finished if w.total().bit_length() == size]
        took, expected = sum(sum(w.took.values()) for w in like), sum(w.total() for w in like)
        one.first_factor = one.factor = took / expected if took and expected else 1.0

    def learn(self, work, task, took):
        one = self.works[work]
        one.took[task] = took
        if self.learns:
            prior = 3 * (one.total() // len(one.tasks))
            expected = prior + sum(one.tasks[done].estimate for done in one.done)
            gained = prior * one.first_factor + sum(one.took.values())
            one.factor = gained / expected if expected else 1.0
        if self.is_done(work):
            self.finished.append(one)
            second = one.order[len(one.tasks) - (len(one.tasks) + 1) // 2 :]
            self.judged.append((sum(one.took[task] for task in second), one.half_expected))

    def trust(self):
        """Percent by which right verdicts outnumber wrong ones; 100 if there are too few"""
        verdicts = []
        for (took, expected), (took_before, expected_before) in pairwise(self.judged):
            product = (took - took_before) * (expected - expected_before)
            verdicts.append((product > 0) - (product < 0))
        last = verdicts[-self.history :]
        compared = sum(map(abs, last))
        if compared < max(1, self.history // 10):
            return 100
        return Fraction(100 * sum(last), compared)

    def idle(self):
        """The fastest first"""
        idle = [m for m in range(len(self.speeds)) if m not in self.running]
        return sorted(idle, key=lambda m: (-self.speeds[m], m))

    def place(self):
        if self.policy == "wheft":
            self.place_planned()
            return
        if self.policy in ("sr", "slop", "fes"):
            self.place_reserved()
            return
        postponed = set()
        while self.idle():
            works = [w for w in self.arrived if self.works[w].waiting() and w not in postponed]
            if not works:
                return
            work, task = getattr(self, self.policy)(works)
            if self.policy.startswith("owm") and self.is_better_later(work, task):
                postponed.add(work)
                continue
            self.start(work, task)

    def start(self, work, task):
        self.start_on(self.idle()[0], work, task)

    def start_on(self, machine, work, task):
        one = self.works[work]
        if len(one.tasks) - len(one.started) == (len(one.tasks) + 1) // 2:
            one.half_expected = one.work_left() * one.factor
        one.order.append(task)
        self.begun[work, task] = self.expected(work, task, machine)
        runtime = self.works[work].tasks[task].takes(self.speeds[machine])
        self.works[work].started[task] = (self.now, machine)
        self.running[machine] = (self.now + runtime, work, task, self.now)
        self.starts.append((self.now, work, task, machine))

    # --- reservations (chapter 2) ----------------------------------------------------------------

    def place_reserved(self):
        if not self.is_lazy:
            self.held = {}
        self.held = {w: n for w, n in self.held.items() if not self.is_done(w)}
        for work in self.arrived:
            if self.is_done(work):
                continue
            mine = self.held.pop(work, 0)
            free = len(self.idle()) - sum(self.held.values())
            assert free >= mine
            while self.works[work].waiting() and free > 0:
                self.start(work, self.any_of(work))
                free -= 1
            running = sum(one == work for _, one, *_ in self.running.values())
            missing = ceil(self.share * self.level_of_parallelism(work)) - running
            self.held[work] = max(0, min(free, missing))

    def is_done(self, work):
        return len(self.works[work].done) == len(self.works[work].tasks)

    def level_of_parallelism(self, work):
        """Largest set of tokens up to the depth"""
        sets = token_sets(self.works[work], self.tokens)
        return max(len(one) for one in sets[: self.depth + 1])

    # --- who is next -----------------------------------------------------------------------------

    def any_of(self, work):
        waiting = self.works[work].waiting()
        index = drawn(self.seed, work, self.works[work].picks, len(waiting))
        self.works[work].picks += 1
        return waiting[index]

    def highest_of(self, work):
        """A factor that all tasks of a work share, 0 too, does not change their order"""
        return min(self.works[work].waiting(), key=lambda t: (-self.works[work].plain_rank(t), t))

    def backfill(self, works):
        return works[0], self.any_of(works[0])

    def cpp(self, works):
        return works[0], self.highest_of(works[0])

    def joint(self, works):
        return [(work, self.highest_of(work)) for work in works]

    def owm(self, works):
        return min(self.joint(works), key=lambda one: self.works[one[0]].rank(one[1]))

    def owm_highest(self, works):
        return max(self.joint(works), key=lambda one: self.works[one[0]].rank(one[1]))

    def is_better_later(self, work, task):
        idle = self.idle()
        if len({self.speeds[machine] for machine in idle}) > 1 or not self.running:
            return False
        free = {
            machine: max(self.now, start + self.begun[other, one])
            for machine, (_, other, one, start) in self.running.items()
            if self.overdue == "now" or start + self.begun[other, one] > self.now
        }
        if not free:
            return False
        soonest = min(free, key=lambda machine: (free[machine], machine))
        there = free[soonest] + self.expected(work, task, soonest)
        return there < self.now + self.expected(work, task, idle[0])

    def fdws(self, works):
        def inverse(work):
            one = self.works[work]
            left = len(one.tasks) - len(one.done)
            return left * one.critical_path() / len(one.tasks)

        return min(self.joint(works), key=lambda one: inverse(one[0]))

    def hr(self, works):
        if len(works) == 1:
            return works[0], self.highest_of(works[0])
        everything = [(work, task) for work in works for task in self.works[work].waiting()]
        return min(everything, key=lambda one: self.works[one[0]].rank(one[1]))

    def scale(self):
        """Mean speed over the correction coefficient (3.6)"""
        last = self.ended[-self.remembered :]
        took, expected = sum(one for one, _ in last), sum(one for _, one in last)
        mean = sum(self.speeds) / len(self.speeds)
        return mean * (expected / took) if took > 0 and expected > 0 else mean

    def slowdown(self, work):
        """(3.5)"""
        one = self.works[work]
        if one.critical_path() == 0:
            return float("inf")
        age = self.now - one.arrived
        return (age * self.scale() + one.path_left()) / one.critical_path()

    def fwp(self, works):
        return max(self.joint(works), key=lambda one: self.slowdown(one[0]))

    def stretch(self, works):
        trust = self.trust()
        if trust < 30:
            return self.cpp(works)
        if trust < 90:
            return self.fdws(works)

        def urgency(work):
            one = self.works[work]
            cost = float(one.critical_path()) * one.cost_left()
            if cost == 0:
                return float("inf")
            result = 1.0
            for _ in range(self.power):
                result *= self.slowdown(work)
            return result / cost

        return max(self.joint(works), key=lambda one: urgency(one[0]))

    # --- plans (3.3.8) ---------------------------------------------------------------------------

    def place_planned(self):
        can_start = self.idle() and any(self.works[work].waiting() for work in self.arrived)
        if len(self.arrived) > self.planned and (self.plans_when == "arrival" or can_start):
            self.planned = len(self.arrived)
            self.plan()
        for machine in sorted(self.idle()):
            line = self.lines[machine]
            if line and line[0][1] in self.works[line[0][0]].waiting():
                work, task = line.pop(0)
                self.start_on(machine, work, task)

    def plan(self):
        """Hybrid levels, works in turn, and HEFT with insertion."""
        tasks = [
            (work, task)
            for work in self.arrived
            for task in range(len(self.works[work].tasks))
            if task not in self.works[work].started
        ]
        tasks.sort(key=lambda one: (-self.works[one[0]].rank(one[1]), one[0], self.depth_of(*one)))
        levels = [[]]
        for work, task in tasks:
            if {(work, parent) for parent in self.works[work].tasks[task].parents} & {*levels[-1]}:
                levels.append([])
            levels[-1].append((work, task))
        order = []
        for level in levels:
            groups = [[one for one in level if one[0] == work] for work in self.arrived]
            order += [one for turn in zip_longest(*groups) for one in turn if one is not None]
        busy = {machine: [(-1, self.now)] for machine in range(len(self.speeds))}
        ends = {}
        for machine, (_, work, task, start) in self.running.items():
            ends[work, task] = max(self.now, start + self.expected(work, task, machine))
            busy[machine] = [(-1, ends[work, task])]
        planned = []
        for number, (work, task) in enumerate(order):
            parents = self.works[work].tasks[task].parents
            ready = max([self.now, *(ends.get((work, parent), 0) for parent in parents)])
            end, machine = min(
                (self.first_gap(busy[m], ready, self.expected(work, task, m)), m)
                for m in range(len(self.speeds))
            )
            begin = end - self.expected(work, task, machine)
            ends[work, task] = end
            if end > begin:
                busy[machine] = sorted([*busy[machine], (begin, end)])
            planned.append((begin, number, machine, (work, task)))
        self.lines = {machine: [] for machine in range(len(self.speeds))}
        for _, _, machine, one in sorted(planned):
            self.lines[machine].append(one)

    def depth_of(self, work, task):
        above = [self.depth_of(work, parent) for parent in self.works[work].tasks[task].parents]
        return 1 + max(above, default=-1)

    @staticmethod
    def first_gap(busy, ready, time):
        """When a task would end that begins in the first gap that has room for it."""
        for (_, free), (taken, _) in pairwise([*busy, (10**30, None)]):
            if max(free, ready) < taken and max(free, ready) + time <= taken:
                return max(free, ready) + time
        raise AssertionError
