"""Tasks that are done, by when they were, without looking at all of them."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence

from bursar.model.time import Time
from bursar.state.view import View


class Completions:
    """The attempts whose results count, by when they ended; `look` first.

    `view.log` tells the task, machine and run time of each, `view.offer_of` the offer of a machine,
    `view.work` and `view.account_of` whose task it was.
    """

    def __init__(self) -> None:
        self._attempts = array("q")
        """by end, then by number"""
        self._seen: int | None = None
        """the place in what changed from which on it is not known yet; None: nothing is"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        recent = view.changes.attempts
        before, self._seen = self._seen, recent.end
        changed = None if before is None else recent.since(before)
        ended = view.log.ended
        if changed is None:
            winners = map(view.winners.__getitem__, range(1, view.total + 1))
            found = (attempt for attempt in winners if attempt)
            self._attempts = array("q", sorted(found, key=lambda one: (ended[one], one)))
            return
        known = self._attempts
        for attempt in changed:
            if view.winners[view.log.task[attempt]] == attempt and not self._has(attempt, view):
                insort(known, attempt, key=lambda one: (ended[one], one))

    def _has(self, attempt: int, view: View) -> bool:
        ended, known = view.log.ended, self._attempts
        if not known or ended[known[-1]] < ended[attempt]:
            return False
        place = bisect_left(known, (ended[attempt], attempt), key=lambda one: (ended[one], one))
        return place < len(known) and known[place] == attempt

    def since(self, moment: Time, view: View) -> Sequence[int]:
        """Attempts that ended at a moment or later, the first first."""
        ended = view.log.ended
        return self._attempts[bisect_left(self._attempts, moment, key=ended.__getitem__) :]
