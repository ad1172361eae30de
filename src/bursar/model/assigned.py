"""Which offer each task of a workflow is meant for (Prob, section 3.1)."""

from __future__ import annotations

import msgspec


class Assigned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Task `n` of the work is meant for `offers[tasks[n - 1]]`."""

    offers: tuple[str, ...]
    tasks: tuple[int, ...]

    def of(self, task: int) -> str | None:
        """None: a task that came later, for whatever machine there is."""
        return self.offers[self.tasks[task - 1]] if task <= len(self.tasks) else None

    def counts(self) -> dict[str, int]:
        """How many tasks each offer has; those without any are left out."""
        found = dict.fromkeys(self.offers, 0)
        for offer in self.tasks:
            found[self.offers[offer]] += 1
        return {name: count for name, count in found.items() if count}
