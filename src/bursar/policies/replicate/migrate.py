"""`migrate`: tasks move to faster machines while few are ready, and are replicated once none is.

BaTS thesis, section 5.1: from the moment when at most n_t tasks are ready, an idle machine first
looks for a running task that it is expected to end sooner. That task is started again on it and
then cancelled where it ran; the emptied machine takes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.time import Time
from bursar.policies.live_attempts import is_live
from bursar.policies.replicate.stochastic import Stochastic
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import View

SAMPLE: Final = 30
"""n_t: as many tasks as a sample has (section 5.2.2)."""


class Migrate(Stochastic):
    def __init__(
        self, knowledge: UnifiedRuntimes | None = None, before_placing: int = SAMPLE
    ) -> None:
        super().__init__(knowledge)
        self.before_placing = before_placing

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        starts = super().replicate(view, now, rng)
        return list(_moved(starts, view)) if view.ready else starts


def _moved(starts: Iterable[Start | Cancel | Wake], view: View) -> Iterator[Start | Cancel | Wake]:
    """The new attempt is started before the old one is cancelled: a task always has one."""
    for start in starts:
        if not isinstance(start, Start):
            continue
        old = [number for number in view.attempts_of(start.task) if is_live(view.attempts[number])]
        yield start
        for number in old:
            yield Cancel(number, reason=f"moved to machine {start.machine}")
