"""The rows of the table that a simulated workload is kept in: `table[row.RANK, task]`.

One table instead of many arrays: what a compiled part gets of an array are seven numbers, and the
more arrays are handed on, the longer compiling takes. All rows are as long as the longest.
"""

from __future__ import annotations

from typing import Final

# With a column for each task, given ...
WORK: Final = 0
RUNTIME: Final = 1
ESTIMATE: Final = 2
"""in microseconds at speed 1"""
PARENTS_START: Final = 3
"""where its parents begin; those of the next task follow"""
CHILDREN_START: Final = 4
KIND: Final = 5
"""if run times are learned by the kind of task"""

# ... and found; heaps of tasks have room for all.
START: Final = 6
"""-1: not yet"""
END: Final = 7
MACHINE: Final = 8
RANK: Final = 9
"""the upward rank (3.1)"""
FALL: Final = 10
"""the negative of it, so that the highest comes first"""
MISSING: Final = 11
"""parents that are not done; -1: it is done itself"""
STATUS: Final = 12
POOL: Final = 13
"""by work: tasks that wait for a machine, as a heap of falling ranks or a tree of counts"""
LOW: Final = 14
"""by work: the same as a heap of rising ranks; what has been started is dropped when met"""
AHEAD: Final = 15
"""by work: tasks that have not been started, as a heap of falling ranks; dropped when met"""
IS_SECOND: Final = 16
"""whether it was started in the second half of its work"""
RUNNING: Final = 17
"""tasks that run, as a heap by their ends"""
DUE: Final = 18
"""tasks that run, as a heap by their expected ends"""
OVERDUE: Final = 19
"""those that should have ended, as a heap by their machines"""
DUE_KEY: Final = 20
"""its expected end, and its machine; for `fwp` what it is expected to take there"""
FRESH: Final = 21
"""tasks that have become eligible in this instant"""

# With a column for each work.
ARRIVED: Final = 22
FIRST: Final = 23
"""its first task; those of the next work follow"""
WAITING: Final = 24
"""how many tasks wait for a machine"""
POOL_SIZE: Final = 25
LOW_SIZE: Final = 26
AHEAD_SIZE: Final = 27
LEFT: Final = 28
"""tasks that are not done"""
PATH: Final = 29
"""the critical path (3.2)"""
WORK_LEFT: Final = 30
"""the estimates of the tasks that have not been started"""
DRAWS: Final = 31
"""how many tasks were picked at random"""
TOTAL: Final = 32
"""the estimates of all tasks ..."""
EXPECTED: Final = 33
"""... of those that are done ..."""
TOOK: Final = 34
"""... and what these took, at speed 1"""
HALF_TOOK: Final = 35
"""what those of the second half of its tasks took that are done"""
ACTIVE: Final = 36
"""tasks that run"""
TARGET: Final = 37
"""machines to be reserved; -1: to be found out"""
HELD: Final = 38
"""idle machines that are reserved"""
QUEUE: Final = 39
"""works with tasks that wait, as a heap; in no order where keys change with time; where machines
are reserved all works that are not done, in the order of arrival"""
SPOT: Final = 40
"""its place in the queue; -1: it is not there"""
ASIDE: Final = 41
"""works whose task was postponed"""

# With a column for each machine.
ORDER: Final = 42
"""the number of higher speeds: the fastest comes first, of equals the smallest number"""
GROUP: Final = 43
"""which of the different speeds it has"""
IDLE: Final = 44
"""machines that are idle, as a heap by their order"""
IDLE_OF: Final = 45
"""by group: how many are idle"""

# With a column for each size class of works, for each kind of tasks, for each of the last.
CLASS_TOOK: Final = 46
"""what works that ended took ..."""
CLASS_EXPECTED: Final = 47
"""... and were expected to take when they arrived"""
KIND_COUNT: Final = 48
"""tasks that ended ..."""
KIND_TOOK: Final = 49
"""... and what they took, at speed 1"""
VERDICT: Final = 50
"""on the works that ended last; see `verdict`"""
LAST_TAKEN: Final = 51
"""what the tasks that ended last took ..."""
LAST_EXPECTED: Final = 52
"""... and were expected to take"""
TRANSFER: Final = 53
"""by task: what its files take on any machine"""
PATH_LEFT: Final = 54
"""by work: critical path of the tasks that have not been started, where keys change with time"""
LOG: Final = 55
"""starts (the task) and ends (its complement) in order, each second one of them ..."""
LOG_REST: Final = 56
"""... and the others"""
ROWS: Final = 57

# Of `ratio`, with a column for each work, and one more, or for each machine.
KEY: Final = 0
FACTOR: Final = 1
"""what corrects its estimates"""
FIRST_FACTOR: Final = 2
"""the same when it arrived"""
HALF_LEFT: Final = 3
"""what the second half of its tasks was expected to take when the first of them was started; in the
last column: of the work that ended last"""
SPEED: Final = 4
MEAN: Final = 5
"""in the first column: of the speeds of machines that are there"""
RATIO_ROWS: Final = 6
