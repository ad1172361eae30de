"""How a task stands."""

from __future__ import annotations

from enum import IntEnum


class TaskStatus(IntEnum):
    READY = 0
    RUNNING = 1
    DONE = 2
    FAILED = 3
    WAITING = 4
    """for other tasks, which are not done"""
    BLOCKED = 5
    """it needs a task that failed, perhaps through others"""
    CANCELLED = 6
    """it, or its work, was cancelled before it was done or had failed"""


READY, RUNNING, DONE, FAILED, WAITING, BLOCKED, CANCELLED = map(
    int, TaskStatus
)  # plain, for the hot path
