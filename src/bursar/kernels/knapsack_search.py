"""Exhaustive search in a bounded knapsack, with bounds.

There are kinds of things; a kind has a value, a weight and a limit. The kinds stand in order of
falling value per weight, so that filling up from the left, the last kind in part, is the best
anyone could do if things were divisible: the bound that cuts the search short. The kind taken in
part, in the middle, is where whole things differ from that; so a search decides the kinds at the
two ends first, where a deviation costs most, and varies those in the middle before all others.

Every function runs as it stands, on lists of Python integers of any size, and compiled, on arrays
of 64 bits (`knapsack_compiled`). The caller must make sure that nothing overflows there:
`knapsack_form` does. A search stops when its allowance of nodes is used up and goes on from
`state` at the next call, so that it can be interrupted. All stand in one file, so that machine code
kept on disk is renewed whenever one of them changes.

What the arguments mean, where they recur:

- `value`, `weight`, `limit`: of each kind, all above zero
- `all_value`, `all_weight`: at i, of everything there is of the kinds before i (one entry more)
- `worth`: of each kind, value per weight as a float, for choosing an order only
- `plan`: room for three numbers a kind: at each level of the search the kinds not decided yet are
  those from `low` to before `high`, and the next to decide is `kind`, one of the two at the ends
- `weight_grain`, `value_grain`: at each level, the greatest common divisor of the weights, and of
  the values, not decided yet
- `seen`: a table of nodes met before, all zero at first; it may be exchanged for a larger one
  between two calls
- `count`: how many of each kind are taken where the search stands
"""

from __future__ import annotations

from math import gcd

Numbers = list[int]

# --- bounds ---------------------------------------------------------------------------------------


def gain_within(
    room: int,
    low: int,
    high: int,
    value: Numbers,
    weight: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
) -> int:
    """The most value that some neighbouring kinds can add within `room`, were they divisible."""
    until = room + all_weight[low]
    here = low
    while here < high and all_weight[here + 1] <= until:
        here += 1
    gain = all_value[here] - all_value[low]
    if here < high:
        rest = until - all_weight[here]
        part = rest % weight[here] * value[here] // weight[here]
        gain += rest // weight[here] * value[here] + part
    return gain


def tight_gain_within(
    room: int, low: int, high: int, value: Numbers, weight: Numbers, limit: Numbers, grain: int
) -> int:
    """The same, closer: what does not fit once is left out, and room below the grain is useless.

    Unlike `gain_within` it may rise while more room is bought with less value, so it speaks for
    one node alone.
    """
    room -= room % grain
    left = room
    gain = 0
    for here in range(low, high):
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
    low: int,
    high: int,
    value: Numbers,
    weight: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
) -> int:
    """The least weight with which some neighbouring kinds can add `missing`, were they divisible.

    -1 where they cannot.
    """
    until = missing + all_value[low]
    here = low
    while here < high and all_value[here + 1] <= until:
        here += 1
    rest = until - all_value[here]
    if rest > 0 and here == high:
        return -1
    least = all_weight[here] - all_weight[low]
    if rest > 0:
        part = rest % value[here] * weight[here]
        least += rest // value[here] * weight[here] + (part + value[here] - 1) // value[here]
    return least


def pieces_for(
    missing: int, low: int, high: int, value: Numbers, limit: Numbers, by_value: Numbers
) -> int:
    """The fewest pieces with which some neighbouring kinds can add `missing`.

    `by_value` lists all kinds in order of falling value.
    """
    pieces = 0
    for kind in by_value:
        if low <= kind < high and missing > 0:
            if value[kind] * limit[kind] >= missing:
                return pieces + (missing + value[kind] - 1) // value[kind]
            missing -= value[kind] * limit[kind]
            pieces += limit[kind]
    return pieces


# --- order, and nodes seen ------------------------------------------------------------------------


def middle_for(amount: int, all_amount: Numbers) -> int:
    """The kind that is taken in part when filling up to an amount (of weight, or of value)."""
    middle = 0
    while middle < len(all_amount) - 2 and all_amount[middle + 1] <= amount:
        middle += 1
    return middle


def arrange(
    middle: int,
    worth: list[float],
    value: Numbers,
    weight: Numbers,
    plan: Numbers,
    weight_grain: Numbers,
    value_grain: Numbers,
) -> None:
    """Write `plan` and both grains for a search around a kind in the middle."""
    low, high = 0, len(weight)
    for level in range(len(weight)):
        left = (worth[low] - worth[middle]) * weight[low]
        right = (worth[middle] - worth[high - 1]) * weight[high - 1]
        plan[3 * level], plan[3 * level + 1] = low, high
        if left >= right:
            plan[3 * level + 2] = low
            low += 1
        else:
            plan[3 * level + 2] = high - 1
            high -= 1
    plan[3 * len(weight)], plan[3 * len(weight) + 1] = low, high
    weights, values = 0, 0
    for level in range(len(weight) - 1, -1, -1):
        weights = gcd(weights, weight[plan[3 * level + 2]])
        values = gcd(values, value[plan[3 * level + 2]])
        weight_grain[level], value_grain[level] = weights, values


def is_new(seen: Numbers, level: int, key: int, first: int, second: int, margin: int) -> bool:
    """Whether no node met before, with the same key, was as low in both numbers.

    Such a node led to all that this one can lead to; it must be lower by a margin in the first. The
    table keeps the last comer of each place.
    """
    at = 4 * ((key * 31 + level * 7919) % (len(seen) // 4))
    if seen[at] == level and seen[at + 1] == key:
        if seen[at + 2] <= first - margin and seen[at + 3] <= second:
            return False
        if margin > 0 and seen[at + 2] <= first:
            return True
    seen[at], seen[at + 1], seen[at + 2], seen[at + 3] = level, key, first, second
    return True


def keep(found: Numbers, number: int, floor: int, value: int, count: Numbers) -> int:
    """Drop those found whose value is below the floor, add one more; how many there are then.

    -1 where there is no place left.
    """
    width = len(count) + 1
    kept = 0
    for row in range(number):
        if found[row * width] >= floor:
            for column in range(width):
                found[kept * width + column] = found[row * width + column]
            kept += 1
    if (kept + 1) * width > len(found):
        return -1
    found[kept * width] = value
    for kind in range(len(count)):
        found[kept * width + kind + 1] = count[kind]
    return kept + 1


# --- searches -------------------------------------------------------------------------------------


def most_value(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    plan: Numbers,
    weight_grain: Numbers,
    value_grain: Numbers,
    seen: Numbers,
    count: Numbers,
    found: Numbers,
    state: Numbers,
) -> bool:
    """Find the most value within a weight; True when the search is complete.

    `state` is (nodes allowed, level, value gained, room left, floor, margin, number found, name).
    It begins as (nodes, 0, 0, the weight allowed, the least value of interest, margin, 0, a number
    under which `seen` was not used before). With a margin of zero one best choice is found. With a
    margin, all that come as near to the best are: `found` holds a value and the counts of each;
    the search gives up, as if nodes were used up, when there are more than it holds.
    """
    nodes, level, gained, room, floor = state[0], state[1], state[2], state[3], state[4]
    margin, number = state[5], state[6]
    kinds = len(value)
    by_room, by_gain = 2 * kinds * state[7], 2 * kinds * state[7] + kinds
    finished = False
    while nodes > 0 and not finished:
        nodes -= 1
        low, high, kind = plan[3 * level], plan[3 * level + 1], plan[3 * level + 2]
        more = gain_within(room, low, high, value, weight, all_value, all_weight)
        hopeful, hopeless = False, gained + more < floor
        if level == kinds and not hopeless:
            floor = max(floor, gained - margin + (margin == 0))
            number = keep(found, number, floor, gained, count)
            if number < 0:
                break
        elif not hopeless:
            more = tight_gain_within(room, low, high, value, weight, limit, weight_grain[level])
            hopeful = gained + more - more % value_grain[level] >= floor
            hopeful = hopeful and is_new(seen, level + by_room, room, -gained, 0, margin)
            if hopeful and margin == 0:
                hopeful = is_new(seen, level + by_gain, gained, -room, 0, 0)
        if hopeful:
            # The best of the kinds left: as many as fit. The worst: what the others leave room for.
            free = room if kind == low else room - all_weight[high - 1] + all_weight[low]
            count[kind] = min(limit[kind], max(0, free // weight[kind]))
            gained += count[kind] * value[kind]
            room -= count[kind] * weight[kind]
            level += 1
            continue
        # Go back to the last kind that can still deviate further. From a hopeless node, further
        # deviation of the kind decided last leads to worse ones only, unless room was left over.
        if hopeless and level > 0 and plan[3 * level - 1] != plan[3 * level - 3]:
            hopeless = room < all_weight[high] - all_weight[low]
        while level > 0:
            low, kind = plan[3 * level - 3], plan[3 * level - 1]
            if not hopeless and kind == low and count[kind] > 0:
                count[kind] -= 1
                gained -= value[kind]
                room += weight[kind]
                break
            if not hopeless and kind != low and count[kind] < limit[kind] and weight[kind] <= room:
                count[kind] += 1
                gained += value[kind]
                room -= weight[kind]
                break
            hopeless = False
            gained -= count[kind] * value[kind]
            room += count[kind] * weight[kind]
            count[kind] = 0
            level -= 1
        finished = level == 0
    state[0], state[1], state[2], state[3], state[4] = nodes, level, gained, room, floor
    state[6] = number
    return finished


def first_step(
    value: Numbers,
    weight: Numbers,
    limit: Numbers,
    all_value: Numbers,
    all_weight: Numbers,
    worth: list[float],
    plan: Numbers,
    weight_grain: Numbers,
    value_grain: Numbers,
    seen: Numbers,
    count: Numbers,
    found: Numbers,
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
    none, and too small only where `nodes` for one step, or a hundred times that for all, did not
    suffice to tell. `state` is that of `most_value`, all zero.
    """
    kinds = len(value)
    everything = all_weight[kinds]
    arranged, glance, left = -1, 0, 100 * nodes
    while step <= last and left > 0:
        room = min(money // step, everything)
        needed = (work + step - 1) // step - given
        reached = gain_within(room, 0, kinds, value, weight, all_value, all_weight)
        if reached >= needed:
            if room == everything or needed <= 0:
                return step
            middle = middle_for(room, all_weight)
            if middle != arranged:
                arrange(middle, worth, value, weight, plan, weight_grain, value_grain)
                arranged = middle
            # What is reached below what is needed tells how far to go on. To find it may take more
            # time than single steps, so no more effort goes into it than went into those.
            enough = step + (step >> 8)
            wanted = max(1, (work + enough - 1) // enough - given)
            for attempt in range(2):
                allowed = min(nodes, 4 * kinds + max(0, glance)) if attempt == 0 else nodes
                state[0] = allowed
                state[1], state[2], state[3], state[6] = 0, 0, room, 0
                state[4] = wanted if attempt == 0 else needed
                state[7] += 1
                for kind in range(kinds):
                    count[kind] = 0
                finished = most_value(
                    value, weight, limit, all_value, all_weight, plan, weight_grain, value_grain,
                    seen, count, found, state,
                )  # fmt: skip
                glance += state[0] - allowed if attempt == 0 else allowed - state[0]
                left -= allowed - state[0]
                if finished:
                    break
            reached = state[4] - 1
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
    all_value: Numbers,
    all_weight: Numbers,
    by_value: Numbers,
    size: int,
    favourite: int,
    plan: Numbers,
    weight_grain: Numbers,
    value_grain: Numbers,
    seen: Numbers,
    count: Numbers,
    best: Numbers,
    state: Numbers,
) -> bool:
    """Find the least weight that has a value, and then the least size; True when complete.

    Every piece is of one size, zero perhaps; those of the favourite kind (-1: none) are smaller by
    one. `state` is (nodes allowed, level, value missing, weight spent, size, least weight, least
    size); it begins as (nodes, 0, the value wanted, 0, 0, a weight and a size, as a pair to be
    undercut). `best` are the counts found. `by_value` is that of `pieces_for`.
    """
    nodes, level, missing, spent, large = state[0], state[1], state[2], state[3], state[4]
    least, smallest = state[5], state[6]
    kinds = len(value)
    finished = False
    while nodes > 0 and not finished:
        nodes -= 1
        low, high, kind = plan[3 * level], plan[3 * level + 1], plan[3 * level + 2]
        hopeful, hopeless = False, False
        if missing <= 0:
            if spent < least or (spent == least and large < smallest):
                least, smallest = spent, large
                best[:] = count
        else:
            more = weight_for(missing, low, high, value, weight, all_value, all_weight)
            hopeless = more < 0 or spent + more > least
            if not hopeless:
                full = missing + (-missing) % value_grain[level]
                more = weight_for(full, low, high, value, weight, all_value, all_weight)
                hopeful = more >= 0
                more += (-more) % weight_grain[level]
                hopeful = hopeful and spent + more <= least
                if hopeful and spent + more == least:
                    extra = size * pieces_for(missing, low, high, value, limit, by_value)
                    if low <= favourite < high:
                        extra -= min(limit[favourite], missing // value[favourite] + 1)
                    hopeful = large + extra < smallest
                hopeful = hopeful and is_new(seen, level, missing, spent, large, 0)
                hopeful = hopeful and is_new(seen, level + kinds, spent, missing, large, 0)
        if hopeful:
            # The best of the kinds left: as many as needed. The worst: what the others leave.
            lack = missing if kind == low else missing - all_value[high - 1] + all_value[low]
            count[kind] = min(limit[kind], max(0, (lack + value[kind] - 1) // value[kind]))
            missing -= count[kind] * value[kind]
            spent += count[kind] * weight[kind]
            large += count[kind] * (size - (kind == favourite))
            level += 1
            continue
        while level > 0:
            low, kind = plan[3 * level - 3], plan[3 * level - 1]
            if not hopeless and kind == low and count[kind] > 0:
                count[kind] -= 1
                missing += value[kind]
                spent -= weight[kind]
                large -= size - (kind == favourite)
                break
            if not hopeless and kind != low and count[kind] < limit[kind] and missing > 0:
                count[kind] += 1
                missing -= value[kind]
                spent += weight[kind]
                large += size - (kind == favourite)
                break
            hopeless = False
            missing += count[kind] * value[kind]
            spent -= count[kind] * weight[kind]
            large -= count[kind] * (size - (kind == favourite))
            count[kind] = 0
            level -= 1
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
    than it holds, or more than `nodes` would have to be looked at. `most_ahead` is, at i, the
    largest value of a kind from i on.
    """
    level, gained, number, kinds = 0, 0, 0, len(value)
    finished = False
    while not finished:
        if nodes == 0:
            return -1
        nodes -= 1
        missing = wanted - gained
        if gain_within(room, level, kinds, value, weight, all_value, all_weight) < missing:
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
