"""Search for a fleet without walking step by step, for fine billing units: whole seconds, say.

A fleet of speed s is charged for `k = work / s` units, rounded up, and so costs price x k. Were k
not rounded, money would do if price x work <= money x speed: a condition that is linear in the
numbers of machines, whatever k is. So there is one bound for all steps, and one search instead of
one for each step. Bounds are in floats, with an allowance far above any error of rounding: a branch
is cut only where there can be nothing. What is found is judged in integers.

The functions run as they stand, and compiled, as those of `knapsack_search`; the arguments are the
same, with speed as value and price as weight.
"""

from __future__ import annotations

Numbers = list[int]
Floats = list[float]

ALLOWANCE = 1e-12
"""Far above the rounding of a float, relative."""


def set_burdens(value: Numbers, weight: Numbers, money: int, work: int, burden: Floats) -> None:
    """What a machine of each kind adds to price x work - money x speed: at least that much."""
    for kind in range(len(value)):
        price, speed = float(weight[kind]) * work, float(value[kind]) * money
        burden[kind] = price - speed - ALLOWANCE * (price + speed)


def speed_within(
    slack: float, low: int, high: int, value: Numbers, limit: Numbers, burden: Floats
) -> tuple[float, int]:
    """The most speed that some neighbouring kinds can add, were they divisible, and what limits it.

    That is 0: their number, 1: money, 2: there is not even money for what was decided before.
    """
    gain = 0.0
    for kind in range(low, high):
        whole = burden[kind] * limit[kind]
        if whole > max(0.0, slack):
            if slack < 0.0:
                return 0.0, 2
            return gain + slack / burden[kind] * value[kind], 1
        slack -= whole
        gain += float(value[kind]) * limit[kind]
    return gain, 2 if slack < 0.0 else 0


def search_direct(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    plan: Numbers,
    burden: Floats,
    falling: Numbers,
    count: Numbers,
    best: Numbers,
    given: int,
    work: int,
    money: int,
    step: int,
    slowest: int,
    nodes: int,
    is_cheapest: bool,
) -> tuple[int, int]:
    """The fleet of fewest units, or of least cost, that so much money pays for.

    It must be as fast as `slowest`; even if it is faster, it is charged for `step` units. The
    answer is the units, or the cost, of the fleet in `best`; -1 if there is none; -2 if nodes ran
    out; and the nodes left. `falling` is room for a number for each kind: whether it is tried from
    its limit downward, or from zero upward.
    """
    kinds = len(value)
    price, speed, level, answer = 0, given, 0, -1
    set_burdens(value, weight, money, work, burden)
    for at in range(kinds):
        low, kind = plan[3 * at], plan[3 * at + 2]
        falling[kind] = kind == low or burden[kind] <= 0.0
    finished = False
    while not finished:
        if nodes == 0:
            return -2, 0
        nodes -= 1
        low, high, kind = plan[3 * level], plan[3 * level + 1], plan[3 * level + 2]
        paid, charged = float(speed) * money, float(price) * work
        slack = paid - charged + ALLOWANCE * (paid + charged)
        gain, limited_by = speed_within(slack, low, high, value, limit, burden)
        if price > money // step:
            limited_by = 2
        most = (speed + gain) * (1.0 + 1e-9) + 1.0
        hopeless = limited_by == 2 or most < slowest
        if level == kinds and not hopeless and speed >= slowest:
            units = max(step, (work + speed - 1) // speed)
            if price <= money // units:
                answer = units
                best[:] = count
                if is_cheapest:
                    answer = price * units
                    money = answer - 1
                    set_burdens(value, weight, money, work, burden)
                else:
                    finished = units == step
                    slowest = work if finished else (work + units - 2) // (units - 1)
        elif level < kinds and not hopeless:
            if falling[kind]:
                count[kind] = min(limit[kind], (money // step - price) // weight[kind])
            price += count[kind] * weight[kind]
            speed += count[kind] * value[kind]
            level += 1
            continue
        while level > 0 and not finished:
            low, kind = plan[3 * level - 3], plan[3 * level - 1]
            # Whether all further numbers of this kind must be hopeless, too.
            if not falling[kind]:
                leave = hopeless and limited_by != 0
            elif kind == low or burden[kind] <= 0.0:
                leave = hopeless and limited_by != 2
            else:
                leave = hopeless and limited_by == 0
            hopeless = False
            if not leave and falling[kind] and count[kind] > 0:
                count[kind] -= 1
                price -= weight[kind]
                speed -= value[kind]
                break
            if not leave and not falling[kind] and count[kind] < limit[kind]:
                count[kind] += 1
                price += weight[kind]
                speed += value[kind]
                break
            price -= count[kind] * weight[kind]
            speed -= count[kind] * value[kind]
            count[kind] = 0
            level -= 1
        finished = finished or level == 0
    return answer, nodes
