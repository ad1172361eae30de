"""ExPERT's estimator (section 4.4) in plain Python: lists, sets and a look at all tasks each time.

Written from the description alone, to be compared with the kernel instance by instance.
"""

from bursar.model.strategy import Kind
from bursar.plan.pools.strategies import default_deadline

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def uniform(seed, repetition, task, instance):
    state = mixed((seed + GOLDEN * (repetition + 1)) & WORD)
    state = mixed((state + GOLDEN * (task + 1)) & WORD)
    return (mixed((state + GOLDEN * (instance + 1)) & WORD) >> 11) * 2.0**-53


class Execution:
    """One strategy, one repetition."""

    def __init__(self, conditions, strategy, seed, repetition):
        self.conditions, self.strategy = conditions, strategy
        self.luck = (seed, repetition)
        self.limit = default_deadline(conditions.mean)
        self.now, self.tail_began = 0, None
        self.remaining = set(range(conditions.tasks))
        self.running = []
        """(end, task, pool, whether it succeeds, what is paid)"""
        self.queues = {"unreliable": [], "reliable": []}
        self.queues["reliable" if strategy.kind == Kind.ALL_RELIABLE else "unreliable"] = list(
            range(conditions.tasks)
        )
        self.machines = {
            "unreliable": conditions.unreliable,
            "reliable": strategy.reliable_machines(conditions.unreliable),
        }
        self.periods = {"unreliable": 0, "reliable": 0}
        self.sent = {}
        self.instances = dict.fromkeys(range(conditions.tasks), 0)
        self.copies = dict.fromkeys(range(conditions.tasks), 0)
        self.settled = set()
        """tasks that were queued for or taken by the reliable pool"""
        self.spent, self.has_paid = 0, False

    def run(self):
        while True:
            self.spend_budget()
            while True:
                self.fill_queues()
                if not self.fill_machines():
                    break
            if self.tail_began is None and self.is_tail():
                self.tail_began = self.now
                if self.remaining:
                    self.begin_tail()
                    continue
            if not self.remaining:
                tail = self.now - self.tail_began
                return self.now, tail, self.periods["unreliable"], self.periods["reliable"]
            self.step()

    def is_tail(self):
        reported = self.conditions.tail_tasks
        if reported is None:
            return len(self.remaining) < self.conditions.unreliable
        return len(self.remaining) <= reported

    def begin_tail(self):
        if self.strategy.kind == Kind.COMBINED_THEN_BOTH:
            for task in sorted(self.remaining - self.settled):
                self.queues["unreliable"].append(task)
                self.queues["reliable"].append(task)
                self.settled.add(task)

    def spend_budget(self):
        if self.strategy.kind != Kind.BUDGET or self.has_paid:
            return
        price = self.conditions.reliable_price
        each = -(-self.conditions.reliable_time // price.period) * price.amount.nanos
        if len(self.remaining) * each <= self.strategy.budget.nanos - self.spent:
            self.has_paid = True
            self.queues["reliable"] += sorted(self.remaining)

    def fill_queues(self):
        if self.has_paid or self.strategy.kind == Kind.ALL_RELIABLE:
            return
        wait = self.limit if self.tail_began is None else self.strategy.timeout
        queued = {task for queue in self.queues.values() for task in queue}
        for task in sorted(self.remaining - queued - self.settled):
            if self.now < self.sent[task] + wait:
                continue
            if self.tail_began is None:
                self.queues["unreliable"].append(task)
            elif self.strategy.copies is None or self.copies[task] < self.strategy.copies:
                self.copies[task] += 1
                self.queues["unreliable"].append(task)
            else:
                self.settled.add(task)
                self.queues["reliable"].append(task)

    def fill_machines(self):
        kind = self.strategy.kind
        helps = kind == Kind.COMBINED or (
            kind == Kind.COMBINED_THEN_BOTH and self.tail_began is None
        )
        takes = [("unreliable", "unreliable"), ("reliable", "reliable")]
        takes += [("unreliable", "reliable")] if helps else []
        has_sent = False
        for queue, pool in takes:
            tasks = self.queues[queue]
            while tasks and self.busy(pool) < self.machines[pool]:
                task = tasks.pop(0)
                if task in self.remaining:
                    has_sent = True
                    self.send(task, pool)
        return has_sent

    def busy(self, pool):
        return sum(one[2] == pool for one in self.running)

    def send(self, task, pool):
        conditions = self.conditions
        if pool == "reliable":
            self.settled.add(task)
            price, takes, succeeds = conditions.reliable_price, conditions.reliable_time, True
        else:
            price = conditions.unreliable_price
            deadline = self.limit if self.tail_began is None else self.strategy.deadline
            chance = uniform(*self.luck, task, self.instances[task])
            self.instances[task] += 1
            self.sent[task] = self.now
            takes, succeeds = deadline, False
            if chance < conditions.reliability:
                known = conditions.turnarounds
                place = int(chance / conditions.reliability * len(known))
                turnaround = int(known[min(place, len(known) - 1)])
                if turnaround < deadline:
                    takes, succeeds = turnaround, True
        paid = -(-takes // price.period) if succeeds else 0
        self.periods[pool] += paid
        self.running.append((self.now + takes, task, pool, succeeds, paid * price.amount.nanos))

    def step(self):
        moments = [end for end, *_ in self.running]
        if self.tail_began is not None and not self.has_paid:
            queued = {task for queue in self.queues.values() for task in queue}
            waiting = self.remaining - queued - self.settled
            moments += [self.sent[t] + self.strategy.timeout for t in waiting if t in self.sent]
        self.now = min(moments)
        for end, task, _, succeeds, paid in self.running:
            if end == self.now and succeeds and task in self.remaining:
                self.remaining.remove(task)
                self.spent += paid
        self.running = [one for one in self.running if one[0] > self.now]
