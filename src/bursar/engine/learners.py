"""The entries of a policy that learn: what the engine shows them, and what a replay shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from traceback import extract_tb
from typing import Any, Final

import msgspec

from bursar.engine.roles import Entry, Policy, kinds_learned, learns, learns_at_once
from bursar.model.errors import PolicyError, one_line
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.run_times import RunTimes
from bursar.state.state import RunState
from bursar.state.view import View

Learner = Entry | RunTimes
"""Sees the events of a run."""
ROLES: Final = ("provisioner", "placer", "replicator", "advisor")
LONGEST_FAULT: Final = 500
"""characters of what a faulty entry says"""


class Learners:
    """An observer that lets them learn what happened before an engine drives them.

    Each learns an event once, also one that has several roles.
    """

    def __init__(self, policy: Policy) -> None:
        self.entries: tuple[Learner, ...] = learning(policy)
        self._by_kind = LearnersByKind(self.entries)
        self._roles = {id(entry): role_of(policy, entry) for entry in self.entries}
        self._shown: tuple[RunState, View] | None = None
        """a state, and the view of it"""

    @property
    def may_begin_late(self) -> bool:
        """Whether all can learn from a state what happened before."""
        return all(map(learns_at_once, self.entries))

    def saw_before(self, state: RunState) -> None:
        """Raises `PolicyError` for an entry that cannot learn from it."""
        view = self._view(state)
        for entry in self.entries:
            try:
                entry.saw_before(view)
            except Exception as error:
                raise self._faulty(entry, error) from error

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        """Raises `PolicyError` for an entry that cannot learn it."""
        view, shown = self._view(state), own_copy(event)
        for entry in self._by_kind[type(event)]:
            try:
                entry.saw(shown, view)
            except Exception as error:
                raise self._faulty(entry, error) from error

    def _view(self, state: RunState) -> View:
        if self._shown is None or self._shown[0] is not state:
            self._shown = state, view_of(state)
        return self._shown[1]

    def _faulty(self, entry: Learner, error: Exception) -> PolicyError:
        fault, where = fault_of(self._roles[id(entry)], entry, error)
        return PolicyError(f"{fault} ({where}); correct it or choose another")


class LearnersByKind(dict[type, tuple[Learner, ...]]):
    """Who wants to see events of a kind; most learn from few of them."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        super().__init__()
        self._kinds = [(learner, kinds_learned(learner)) for learner in learners]

    def __missing__(self, kind: type) -> tuple[Learner, ...]:
        found = tuple(one for one, kinds in self._kinds if kinds is None or kind in kinds)
        self[kind] = found
        return found


def learning(policy: Policy) -> tuple[Learner, ...]:
    """The plug-in of run times and entries of a policy, each once, if they learn."""
    plugged = () if policy.runtimes is None or not learns(policy.runtimes) else (policy.runtimes,)
    entries = {id(entry): entry for entry in policy.entries if learns(entry)}
    return (*plugged, *entries.values())


def role_of(policy: Policy, learner: Learner) -> str:
    """The first role that an entry has in a policy."""
    for place, entry in enumerate(policy.entries):
        if entry is learner:
            return ROLES[min(place, len(ROLES) - 1)]
    return "plug-in of run times"


def fault_of(role: str, entry: object, error: Exception) -> tuple[str, str]:
    """What an entry did, in one line, and where."""
    where = extract_tb(error.__traceback__)[-1]
    text = one_line(f"{type(error).__name__}: {error}"[:LONGEST_FAULT])
    fault = f"the {role} {type(entry).__name__} is faulty: {text}"
    return fault, f"{where.filename}:{where.lineno}"


def own_copy(event: ev.AnyEvent) -> ev.AnyEvent:
    """The event itself, or a copy of one that holds what can be changed."""
    copied = _COPIED.get(type(event))
    return event if copied is None else copied(event)


def _created(event: ev.RunCreated) -> ev.RunCreated:
    policies, settings = dict(event.policies), dict(event.settings)
    options = event.options
    if options is not None:
        options = msgspec.structs.replace(options, fleet=dict(options.fleet))
    return msgspec.structs.replace(event, policies=policies, settings=settings, options=options)


def _with_fleet(event: ev.PlanChosen | ev.AssignmentChanged) -> ev.AnyEvent:
    return msgspec.structs.replace(event, fleet=dict(event.fleet))


def _scaled(event: ev.ScaleDecided) -> ev.ScaleDecided:
    return msgspec.structs.replace(
        event, fleet=dict(event.fleet), inputs=dict(event.inputs), lines=dict(event.lines)
    )


def _found(event: ev.FilesFound) -> ev.FilesFound:
    return msgspec.structs.replace(event, links=dict(event.links))


_COPIED: Final[dict[type, Callable[[Any], ev.AnyEvent]]] = {
    ev.RunCreated: _created,
    ev.PlanChosen: _with_fleet,
    ev.AssignmentChanged: _with_fleet,
    ev.ScaleDecided: _scaled,
    ev.FilesFound: _found,
}
