"""The contract of an entry: any provisioner, placer, replicator or advisor must pass these checks.

    from bursar.testing import check_placer

    def test_mine_is_a_placer():
        check_placer(MyPlacer)

An entry is made several times and drives runs in worlds of every kind, good and bad. It must be
pure (see `bursar.engine.roles`), ask only for what belongs to its role, say why, and let every
run end. The laws of money, machines and tasks hold whatever it does; they are verified too.

Entries that only make sense together are checked together, by `check_policy`.

One of the runs has two accounts. An entry of which `several_accounts` is said gets it done; another
may do what it can of it, or refuse it with an `InputError`.

An entry that is an observer gets every event; `beliefs` says which of its parts are instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from random import Random
from typing import Any, Final, TypeVar, get_args

import msgspec

from bursar.engine.learners import learning
from bursar.engine.roles import Advisor, Entry, Placer, Policy, Provisioner, Replicator, learns
from bursar.engine.world import Observer
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.run_times import UNKNOWN, Elsewhere, RunTimes
from bursar.state.state import RunState
from bursar.state.view import Machine, View
from bursar.testing.broken import ContractBroken, expect
from bursar.testing.cases import Case, calm_case, hard_cases, play, shared_case
from bursar.testing.purity import pure

WORLDS: Final = 60
Watched = TypeVar("Watched")
Provider = TypeVar("Provider", bound=Provisioner)
Placing = TypeVar("Placing", bound=Placer)
Replicating = TypeVar("Replicating", bound=Replicator)
Beliefs = Callable[[Watched], Iterable[Observer]]


def itself(entry: object) -> Iterable[Observer]:
    """An entry that observes the run gets its events, as in every session."""
    return (entry,) if isinstance(entry, Entry) and learns(entry) else ()


def check_provisioner(
    make: Callable[[Market], Provider],
    *,
    beliefs: Beliefs[Provider] = itself,
    worlds: int = WORLDS,
    seed: int = 0,
    several_accounts: bool = False,
) -> None:
    """Check a provisioner; `make` is given the market of each world."""
    for case, crashes in _trials(worlds, seed):
        twins = _Twins(partial(make, case.market), beliefs, crashes)
        policy = Policy(_WatchedProvisioner(twins), RandomPlacer(), NoReplicas())
        _judge(case, policy, several_accounts)


def check_placer(
    make: Callable[[], Placing],
    *,
    beliefs: Beliefs[Placing] = itself,
    worlds: int = WORLDS,
    seed: int = 0,
    several_accounts: bool = False,
) -> None:
    for case, crashes in _trials(worlds, seed):
        watched = _WatchedPlacer(_Twins(make, beliefs, crashes))
        _judge(case, Policy(_fill(case.market), watched, NoReplicas()), several_accounts)


def check_replicator(
    make: Callable[[], Replicating],
    *,
    beliefs: Beliefs[Replicating] = itself,
    worlds: int = WORLDS,
    seed: int = 0,
    several_accounts: bool = False,
) -> None:
    for case, crashes in _trials(worlds, seed):
        watched = _WatchedReplicator(_Twins(make, beliefs, crashes))
        _judge(case, Policy(_fill(case.market), RandomPlacer(), watched), several_accounts)


def check_policy(
    make: Callable[[Market], Policy],
    *,
    beliefs: Beliefs[Policy] = learning,
    worlds: int = WORLDS,
    seed: int = 0,
    several_accounts: bool = False,
) -> None:
    """Check a provisioner, a placer and a replicator that only make sense together.

    `make` is given the market of each world. All three are made again together, as after a crash.
    """
    for case, crashes in _trials(worlds, seed):
        twins = _Twins(partial(make, case.market), beliefs, crashes, crashes_at="provision")
        policy = Policy(
            _WatchedProvisioner(twins, lambda policy: policy.provisioner),
            _WatchedPlacer(twins, lambda policy: policy.placer, is_shown_events=False),
            _WatchedReplicator(twins, lambda policy: policy.replicator, is_shown_events=False),
        )
        _judge(case, policy, several_accounts)


def check_advisor(make: Callable[[], Advisor], drive: Callable[[Advisor], RunState]) -> int:
    """Check an advisor in a run that `drive` does with it, and tell how often it asked.

    Its questions are frozen values. Its answers depend on the question alone: one that was just
    made and has seen nothing answers the same. What it proposes passes the guard.
    """
    watched = _WatchedAdvisor(make)
    state = drive(watched)
    expect(state.ended is not None, "the run does not end")
    expect(not watched.refused, f"the guard refuses its proposals: {watched.refused}")
    return watched.questions


def _trials(worlds: int, seed: int) -> Iterator[tuple[Case, bool]]:
    """Cases, and whether the entry is made again now and then, as after a crash."""
    yield calm_case(), False
    yield calm_case(), True
    yield shared_case(), False
    for number, case in enumerate(hard_cases(worlds, seed)):
        yield case, number % 3 == 0


def _fill(market: Market) -> Fixed:
    return Fixed({offer.name: 3 if offer.limit is None else offer.limit for offer in market.offers})


def _judge(case: Case, policy: Policy, several_accounts: bool) -> None:
    is_shared = case == shared_case()
    try:
        state = play(case, policy)
    except ContractBroken as broken:
        if is_shared and not several_accounts and isinstance(broken.__cause__, InputError):
            return  # it says that it serves one account
        raise
    ended = state.ended
    if ended is None:
        raise ContractBroken(f"the run does not end: {case}")
    if case == calm_case() or (is_shared and several_accounts):
        how = f"{ended.status}: {ended.why}"
        expect(ended.status == "done", f"with plenty of money and no faults it ended as {how}")


class _Twins:
    """An entry, or a policy of several, and its twin: both must answer the same.

    So an entry may remember the events it got, but nothing else can play a part: no clock, no order
    of a set, no generator but the one it is given.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        beliefs: Beliefs[Any],
        crashes: bool,
        crashes_at: str | None = None,
    ) -> None:
        """`crashes_at`: the question before which it may be made again; None: any."""
        self._make = make
        self._beliefs = beliefs
        self._events: list[ev.AnyEvent] = []
        self._next_crash = 5 if crashes else 0
        """made again when this many questions were asked, and then twice as many; 0: never"""
        self._crashes_at = crashes_at
        self.asked = 0
        self.first, self.second = make(), make()

    def saw(self, event: ev.AnyEvent, state: Any) -> None:
        self._events.append(event)
        for made in (self.first, self.second):
            for belief in self._beliefs(made):
                belief.saw(event, state)

    def count(self, question: str) -> None:
        """Note that a question is about to be asked; now and then both are made again before it."""
        self.asked += 1
        is_due = 0 < self._next_crash <= self.asked
        if is_due and self._crashes_at in (None, question):
            self._next_crash *= 2
            self.first, self.second = self.remade(), self.remade()

    def remade(self) -> Any:
        """What knows of the run only what its journal tells."""
        made, state = self._make(), RunState()
        beliefs = list(self._beliefs(made))
        for event in self._events if beliefs else ():
            state.apply(event)
            for belief in beliefs:
                belief.saw(event, state)
        return made


class _Watched(Entry):
    """One role of an entry that has a twin; both are asked the same."""

    def __init__(
        self,
        twins: _Twins,
        part: Callable[[Any], Any] = lambda made: made,
        *,
        is_shown_events: bool = True,
    ) -> None:
        """`part` finds the entry of this role; the twins must be shown each event once."""
        self._twins = twins
        self._part = part
        self._is_shown_events = is_shown_events

    def learns_from(self) -> Collection[type] | None:
        return None if self._is_shown_events else ()

    def saw(self, event: ev.AnyEvent, state: Any) -> None:
        self._twins.saw(event, state)

    @property
    def _entry(self) -> Any:
        return self._part(self._twins.first)

    @property
    def _twin(self) -> Any:
        return self._part(self._twins.second)

    @property
    def learned(self) -> RunTimes | None:
        """What the entry has learned of run times."""
        found: RunTimes | None = self._entry.runtimes
        return found

    def _ask(self, question: str, view: View, rng: Random | None, *about: Any) -> tuple[Any, ...]:
        self._twins.count(question)
        twin_rng = None if rng is None else _copy(rng)
        try:
            with pure(self._entry):
                answer = _call(self._entry, question, view, rng, about)
        except ContractBroken:
            raise
        except Exception as error:  # as when it changes the view, which it may only read
            fault = f"{question} raises {type(error).__name__}: {error}"
            raise ContractBroken(fault) from error
        twin = _call(self._twin, question, view, twin_rng, about)
        expect(answer == twin, f"{question} answers {answer}, but {twin} when asked the same again")
        if rng is not None and twin_rng is not None:
            alike = rng.getstate() == twin_rng.getstate()
            expect(alike, f"{question} draws differently when asked the same again")
        return answer


class _KnownNow(RunTimes):
    """What a watched entry has learned, also after it was made again."""

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched

    @classmethod
    def of(cls, watched: _Watched) -> RunTimes | None:
        return None if watched.learned is None else cls(watched)

    def _now(self) -> RunTimes:
        return self._watched.learned or UNKNOWN

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        return self._now().expected(offer, elapsed, task)

    def at_speed_one(self, task: int) -> Time | None:
        return self._now().at_speed_one(task)

    def correction(self, work: int) -> float:
        return self._now().correction(work)

    def expected_each(self, offer: str, elapsed: Any, tasks: Any) -> Any:
        return self._now().expected_each(offer, elapsed, tasks)

    def moved(self, source: str, elapsed: Time, offer: str, task: int = 0) -> Time | None:
        return self._now().moved(source, elapsed, offer, task)

    def may_end_sooner(self, sources: Iterable[str], offer: str) -> bool:
        return self._now().may_end_sooner(sources, offer)

    def elsewhere(self, offers: Any, sources: Any, elapsed: Any, tasks: Any) -> Elsewhere:
        return self._now().elsewhere(offers, sources, elapsed, tasks)

    def pace(self, offer: str) -> Time | None:
        return self._now().pace(offer)


class _WatchedProvisioner(_Watched, Provisioner):
    @property
    def runtimes(self) -> RunTimes | None:
        return _KnownNow.of(self)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[act.Rent | act.Release | act.Scale | act.Wake | act.Stop]:
        answer = self._ask("provision", view, rng, now)
        _check_role(answer, (act.Rent, act.Release, act.Scale, act.Wake, act.Stop))
        _check_reasons(answer)
        for machine in view.machines.values():
            self._check_known(machine)
        return answer

    def _check_known(self, machine: Machine) -> None:
        stays = self._entry.stays_until(machine)
        expect(type(stays) is int, f"stays_until answers {stays!r}, which is no time")
        expect(stays == self._twin.stays_until(machine), "stays_until answers differently")

    def renew(self, machine: Machine, view: View, now: Time) -> act.Extend | act.Release:
        (answer,) = self._ask("renew", view, None, machine, now)
        _check_role((answer,), (act.Extend, act.Release))
        expect(answer.machine == machine.id, f"asked about machine {machine.id}: {answer}")
        if isinstance(answer, act.Release):
            _check_reasons((answer,))
        checked: act.Extend | act.Release = answer
        return checked


class _WatchedPlacer(_Watched, Placer):
    def __init__(
        self,
        twins: _Twins,
        part: Callable[[Any], Any] = lambda made: made,
        *,
        is_shown_events: bool = True,
    ) -> None:
        super().__init__(twins, part, is_shown_events=is_shown_events)
        self.on_arrival, self.on_idle = self._entry.on_arrival, self._entry.on_idle
        for name, flag in (("on_arrival", self.on_arrival), ("on_idle", self.on_idle)):
            expect(type(flag) is bool, f"{name} is {flag!r}, neither true nor false")

    def place(self, view: View, now: Time, rng: Random) -> Iterable[act.Start]:
        asked = self._twins.asked
        if view.ready and asked & (asked - 1) == 0:  # now and then: it takes its time
            task = self._part(self._twins.remade()).next_task(view, _copy(rng))
            is_ready = task is None or task in view.ready
            expect(is_ready, f"next_task answers {task!r}, which is no ready task")
        answer = self._ask("place", view, rng, now)
        _check_role(answer, (act.Start,))
        return answer


class _WatchedReplicator(_Watched, Replicator):
    def __init__(
        self,
        twins: _Twins,
        part: Callable[[Any], Any] = lambda made: made,
        *,
        is_shown_events: bool = True,
    ) -> None:
        super().__init__(twins, part, is_shown_events=is_shown_events)
        self.before_placing, self.always = self._entry.before_placing, self._entry.always
        is_count = type(self.before_placing) is int and self.before_placing >= 0
        expect(is_count, f"before_placing is {self.before_placing!r}, which is no whole number")
        expect(type(self.always) is bool, f"always is {self.always!r}, neither true nor false")

    @property
    def runtimes(self) -> RunTimes | None:
        return _KnownNow.of(self)

    def replicate(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[act.Start | act.Cancel | act.Wake]:
        answer = self._ask("replicate", view, rng, now)
        _check_role(answer, (act.Start, act.Cancel, act.Wake))
        _check_reasons(one for one in answer if not _is_first_start(one, view))
        return answer


class _WatchedAdvisor(Advisor):
    """An advisor beside a twin that sees the same, and one that has seen nothing."""

    def __init__(self, make: Callable[[], Advisor]) -> None:
        self._make = make
        self._entry, self._twin = make(), make()
        self.questions = 0
        self.refused: list[str] = []

    def saw(self, event: ev.AnyEvent, state: Any) -> None:
        self._entry.saw(event, state)
        self._twin.saw(event, state)
        proposals = [kind.__name__ for kind in get_args(ev.Proposal)]
        if isinstance(event, ev.ActionRefused) and event.action in proposals:
            self.refused.append(event.why)

    def question(self, view: View, now: Time) -> object | None:
        with pure(self._entry):
            question = self._entry.question(view, now)
        twin = self._twin.question(view, now)
        expect((question is None) == (twin is None), "question asks when its twin does not")
        if question is not None:
            self.questions += 1
            is_frozen = isinstance(question, msgspec.Struct) and question.__struct_config__.frozen
            expect(is_frozen, f"the question {type(question).__name__} is no frozen struct")
        return question

    def answer(self, question: Any) -> ev.Proposal | None:
        answer = self._entry.answer(question)
        others = (self._twin.answer(question), self._make().answer(question))
        expect(others == (answer, answer), f"answers {answer}, and {others} to the same question")
        kinds = get_args(ev.Proposal)
        expect(answer is None or isinstance(answer, kinds), f"{answer} is no proposal")
        if answer is not None:
            expect(bool(answer.why), f"{answer} gives no reason")
        return answer


def _call(
    entry: Any, question: str, view: View, rng: Random | None, about: tuple[Any, ...]
) -> tuple[Any, ...]:
    if rng is None:
        machine, now = about
        return (getattr(entry, question)(machine, view, now),)
    return tuple(getattr(entry, question)(view, *about, rng))


def _copy(rng: Random) -> Random:
    copy = Random()
    copy.setstate(rng.getstate())
    return copy


def _check_role(answer: Iterable[Any], kinds: tuple[type, ...]) -> None:
    for action in answer:
        names = ", ".join(kind.__name__ for kind in kinds)
        expect(isinstance(action, kinds), f"{action} is none of {names}")


def _is_first_start(action: Any, view: View) -> bool:
    """Whether a task is started that has no live attempt, which needs no reason."""
    return isinstance(action, act.Start) and action.task in view.ready


def _check_reasons(answer: Iterable[Any]) -> None:
    for action in answer:
        if not isinstance(action, act.Wake):
            expect(bool(action.reason), f"{action} gives no reason")
