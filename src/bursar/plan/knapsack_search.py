"""Exhaustive search in a bounded knapsack, with bounds: the three questions a planner asks.

There are kinds of things; a kind has a value, a weight and a limit. The kinds stand in order of
falling value per weight, so that filling up from the left, the last kind in part, is the best
anyone could do if things were divisible: the bound that cuts the search short.

Every function runs as it stands, on lists of Python integers of any size, and compiled, on arrays
of 64 bits (`knapsack_compiled`). Whoever calls must see to it that nothing overflows there:
`knapsack_bounded` does. A search stops when its allowance of nodes is used up and goes on from
`state` at the next call, so that it can be interrupted.

What the arguments mean, where they recur:

- `value`, `weight`, `limit`: of each kind, all above zero
- `all_value`, `all_weight`: at i, of everything there is of the kinds before i (one entry more)
- `grain`: at i, the greatest common divisor of the weights (`least_weight`: the values) from i on
- `most_ahead`: at i, the largest value of a kind from i on
- `seen`: a table of nodes met before, all zero at first; it may be exchanged for a larger one
  between two calls
- `count`: how many of each kind are taken where the search stands; `best`: in the answer
"""

from __future__ import annotations

Numbers = list[int]

# --- bounds ---------------------------------------------------------------------------------------


def gain_within(
    room: int, level: int, value: Numbers, weight: Numbers, all_value: Numbers, all_weight: Numbers
) -> int:
    """The most value the kinds from `level` on can add within `room`, were they divisible."""
    until = room + all_weight[level]
    here = level
    while here < len(value) and all_weight[here + 1] <= until:
        here += 1
    gain = all_value[here] - all_value[level]
    if here < len(value):
        rest = until - all_weight[here]
        gain += (
            rest // weight[here] * value[here] + rest % weight[here] * value[here] // weight[here]
        )
    return gain


def tight_gain_within(
    room: int, level: int, value: Numbers, weight: Numbers, limit: Numbers, grain: Numbers
) -> int:
    """The same, closer: what does not fit once is left out, and room below the grain is useless.

    Unlike `gain_within` it may rise while more room is bought with less value, so it speaks for
    one node alone.
    """
    room -= room % grain[level]
    left = room
    gain = 0
    for here in range(level, len(value)):
        if weight[here] > room:
            continue
        if weight[here] * limit[here] > left:
            each, part = left // weight[here], left % weight[here]
            return gain + each * value[here] + part * value[here] // weight[here]
        left -= weight[here] * limit[here]
        gain += value[here] * limit[here]
    return gain


def weight_for(
    missing: int,
    level: int,
    value: Numbers,
    weight: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
) -> int:
    """The least weight with which the kinds from `level` on can add `missing`, were they divisible.

    -1 where they cannot.
    """
    until = missing + all_value[level]
    here = level
    while here < len(value) and all_value[here + 1] <= until:
        here += 1
    rest = until - all_value[here]
    if rest > 0 and here == len(value):
        return -1
    least = all_weight[here] - all_weight[level]
    if rest > 0:
        part = rest % value[here] * weight[here]
        least += rest // value[here] * weight[here] + (part + value[here] - 1) // value[here]
    return least


def size_for(
    missing: int, level: int, value: Numbers, limit: Numbers, size: Numbers, by_size: Numbers
) -> int:
    """The least size with which the kinds from `level` on can add `missing`, were they divisible.

    `by_size` lists the kinds in order of falling value per size; an empty list: size is no matter.
    """
    least = 0
    for kind in by_size:
        if kind >= level and missing > 0:
            if value[kind] * limit[kind] >= missing:
                part = missing % value[kind] * size[kind]
                least += missing // value[kind] * size[kind]
                return least + (part + value[kind] - 1) // value[kind]
            missing -= value[kind] * limit[kind]
            least += size[kind] * limit[kind]
    return least


# --- nodes seen -----------------------------------------------------------------------------------


def is_new(seen: Numbers, level: int, key: int, first: int, second: int) -> bool:
    """Whether no node met before, with the same key, was as low in both numbers.

    Such a node led to all that this one can lead to. The table keeps the last comer of each place.
    """
    at = 4 * ((key * 31 + level * 7919) % (len(seen) // 4))
    is_same = seen[at] == level and seen[at + 1] == key
    if is_same and seen[at + 2] <= first and seen[at + 3] <= second:
        return False
    seen[at], seen[at + 1], seen[at + 2], seen[at + 3] = level, key, first, second
    return True


# --- searches -------------------------------------------------------------------------------------


def most_value(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    grain: Numbers,
    seen: Numbers,
    count: Numbers,
    best: Numbers,
    state: Numbers,
) -> bool:
    """Find the most value within a weight; True when the search is complete.

    `state` is (nodes allowed, level, value gained, room left, most value, name); it begins as
    (nodes, 0, 0, the weight allowed, a value that must be exceeded, a number under which `seen`
    was not used before).
    """
    nodes, level, gained, room, most = state[0], state[1], state[2], state[3], state[4]
    kinds = len(value)
    by_room, by_gain = 2 * kinds * state[5], 2 * kinds * state[5] + kinds
    finished = False
    while nodes > 0 and not finished:
        nodes -= 1
        hopeful = False
        if gained + gain_within(room, level, value, weight, all_value, all_weight) <= most:
            # Fewer of the kind before, the best of those left, could only be worse: leave it.
            if level > 0:
                level -= 1
                gained -= count[level] * value[level]
                room += count[level] * weight[level]
                count[level] = 0
        elif level == kinds:
            most = gained
            best[:] = count
        elif gained + tight_gain_within(room, level, value, weight, limit, grain) > most:
            hopeful = is_new(seen, level + by_room, room, -gained, 0)
            hopeful = hopeful and is_new(seen, level + by_gain, gained, -room, 0)
        if hopeful:
            count[level] = min(limit[level], room // weight[level])
            gained += count[level] * value[level]
            room -= count[level] * weight[level]
            level += 1
            continue
        while level > 0 and count[level - 1] == 0:
            level -= 1
        if level > 0:
            count[level - 1] -= 1
            gained -= value[level - 1]
            room += weight[level - 1]
        finished = level == 0
    state[0], state[1], state[2], state[3], state[4] = nodes, level, gained, room, most
    return finished


def first_step(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    grain: Numbers,
    seen: Numbers,
    count: Numbers,
    best: Numbers,
    state: Numbers,
    money: int,
    work: int,
    given: int,
    step: int,
    last: int,
    nodes: int,
) -> int:
    """The first step at which weight `money // step` may yield value `work / step - given`.

    It is looked for from `step` to `last`, both above zero; the answer is beyond `last` if there is
    none, and too small only where `nodes` did not suffice to tell. `state` is that of `most_value`.
    """
    everything = all_weight[len(value)]
    while step <= last:
        room = min(money // step, everything)
        needed = (work + step - 1) // step - given
        reached = gain_within(room, 0, value, weight, all_value, all_weight)
        if reached >= needed:
            if room == everything or needed <= 0:
                return step
            # What is reached below that tells how far to go on.
            enough = step + (step >> 8)
            wanted = max(1, (work + enough - 1) // enough - given)
            state[0], state[1], state[2], state[3], state[4] = nodes, 0, 0, room, wanted - 1
            state[5] += 1
            for kind in range(len(value)):
                count[kind] = 0
            finished = most_value(
                value, weight, limit, all_value, all_weight, grain, seen, count, best, state
            )
            reached = state[4]
            if not finished or reached >= needed:
                return step
        speed = reached + given
        if speed <= 0:
            return last + 1
        step = max(step + 1, (work + speed - 1) // speed)
    return step


def least_weight(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    size: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    grain: Numbers,
    by_size: Numbers,
    seen: Numbers,
    count: Numbers,
    best: Numbers,
    state: Numbers,
) -> bool:
    """Find the least weight that has a value, and then the least size; True when complete.

    `size` is a third number of each kind, not below zero. `state` is (nodes allowed, level, value
    missing, weight spent, size, least weight, least size); it begins as (nodes, 0, the value
    wanted, 0, 0, a weight and a size, as a pair to be undercut).
    """
    nodes, level, missing, spent, large = state[0], state[1], state[2], state[3], state[4]
    least, smallest = state[5], state[6]
    kinds = len(value)
    finished = False
    while nodes > 0 and not finished:
        nodes -= 1
        hopeful = False
        if missing <= 0:
            if spent < least or (spent == least and large < smallest):
                least, smallest = spent, large
                best[:] = count
        else:
            more = weight_for(missing, level, value, weight, all_value, all_weight)
            if more < 0 or spent + more > least:
                # Fewer of the kind before, the best of those left, could only be dearer.
                if level > 0:
                    level -= 1
                    missing += count[level] * value[level]
                    spent -= count[level] * weight[level]
                    large -= count[level] * size[level]
                    count[level] = 0
            else:
                full = missing + (-missing) % grain[level]
                more = weight_for(full, level, value, weight, all_value, all_weight)
                hopeful = more >= 0 and spent + more <= least
                if hopeful and spent + more == least:
                    extra = size_for(missing, level, value, limit, size, by_size)
                    hopeful = large + extra < smallest
                hopeful = hopeful and is_new(seen, level, missing, spent, large)
                hopeful = hopeful and is_new(seen, level + kinds, spent, missing, large)
        if hopeful:
            count[level] = min(limit[level], (missing + value[level] - 1) // value[level])
            missing -= count[level] * value[level]
            spent += count[level] * weight[level]
            large += count[level] * size[level]
            level += 1
            continue
        while level > 0 and count[level - 1] == 0:
            level -= 1
        if level > 0:
            count[level - 1] -= 1
            missing += value[level - 1]
            spent -= weight[level - 1]
            large -= size[level - 1]
        finished = level == 0
    state[0], state[1], state[2], state[3], state[4] = nodes, level, missing, spent, large
    state[5], state[6] = least, smallest
    return finished


def all_choices(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    most_ahead: Numbers,
    count: Numbers,
    found: Numbers,
    wanted: int,
    room: int,
    pieces: int,
    nodes: int,
) -> int:
    """Write down every choice that has the value wanted, within the room and so many pieces.

    They go to `found`, one after the other; the answer is their number, or -1 if there are more
    than it holds, or more than `nodes` would have to be looked at.
    """
    level, gained, number, kinds = 0, 0, 0, len(value)
    finished = False
    while not finished:
        if nodes == 0:
            return -1
        nodes -= 1
        missing = wanted - gained
        if gain_within(room, level, value, weight, all_value, all_weight) < missing:
            if level > 0:
                level -= 1
                gained -= count[level] * value[level]
                room += count[level] * weight[level]
                pieces += count[level]
                count[level] = 0
        elif level == kinds:
            if pieces >= 0:
                if (number + 1) * kinds > len(found):
                    return -1
                for kind in range(kinds):
                    found[number * kinds + kind] = count[kind]
                number += 1
        elif pieces * most_ahead[level] >= missing:
            count[level] = min(limit[level], room // weight[level])
            gained += count[level] * value[level]
            room -= count[level] * weight[level]
            pieces -= count[level]
            level += 1
            continue
        while level > 0 and count[level - 1] == 0:
            level -= 1
        if level > 0:
            count[level - 1] -= 1
            gained -= value[level - 1]
            room += weight[level - 1]
            pieces += 1
        finished = level == 0
    return number
