"""Whatever an entry does, the money holds, nothing hangs, and the journal can be read again."""

from __future__ import annotations

from enum import IntEnum
from itertools import count

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.stage import Fates, Stage

from bursar.engine import loop as engine_module
from bursar.engine.guard import Guard
from bursar.engine.roles import Placer, Replicator
from bursar.journal.replay import load_state
from bursar.journal.writer import JournalWriter
from bursar.model.errors import PolicyError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.provision.fixed import Fixed
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.testing import Scene

OFFERS = (
    Offer("small", Money.parse("0.10"), limit=3),
    Offer("fine", Money.parse("0.01"), SECOND, slots=2, limit=2),
)
MOST_STEPS = 60


class Rank(IntEnum):
    ONE = 1


class Unprintable:
    def __repr__(self):
        raise ValueError("no")

    __str__ = __repr__


numbers = st.one_of(
    st.integers(-2, 8),
    st.sampled_from(
        [
            True,
            None,
            1.0,
            float("nan"),
            float("inf"),
            "1",
            b"1",
            [1],
            {1: 1},
            2**63,
            -(2**80),
            10**5000,
            Rank.ONE,
            np.int64(1),
            np.uint8(2),
            np.float64(1),
            np.bool_(True),
            Unprintable(),
            ...,
            Money(1),
        ]
    ),
)
texts = st.one_of(
    st.sampled_from(
        [
            "small",
            "fine",
            "gold",
            "",
            "\ud800",
            "\x1b[31m",
            "a\nb",
            "x" * 10_000,
            np.str_("small"),
            5,
            None,
            b"small",
            ["small"],
            Unprintable(),
            {},
        ]
    ),
    st.text(max_size=5),
)
flags = st.sampled_from([True, False, 1, None, "yes", np.bool_(True)])
statuses = st.one_of(st.sampled_from(["budget", "planned", "done", "weird", "failed"]), texts)
actions = st.one_of(
    st.builds(act.Rent, texts, texts),
    st.builds(act.Extend, numbers, texts),
    st.builds(act.Release, numbers, flags, texts),
    st.builds(act.Start, numbers, numbers, texts, flags, flags),
    st.builds(act.Cancel, numbers, texts, flags),
    st.builds(act.Wake, numbers),
    st.builds(act.Wake, st.integers(0, 3 * HOUR)),
    st.builds(act.Stop, texts, statuses),
    st.builds(act.Action),
    st.sampled_from([None, 5, "Rent", Unprintable(), act.Rent, {}, object()]),
)


def raises(view):
    raise ZeroDivisionError("a bug")


def robs(view):
    view.ledger.budget = Money(10**18)


def meddles(view):
    for machine in view.machines.values():
        machine.attempts.clear()


misdeeds = st.sampled_from([None, None, None, None, raises, robs, meddles])
answers = st.tuples(misdeeds, st.lists(actions, max_size=6))


class Erratic(Fixed, Placer, Replicator):
    """An entry for all roles: does as it is told, one answer a question."""

    def __init__(self, script):
        super().__init__({"small": 1})
        self.script = iter(script)

    def answer(self, view):
        misdeed, wanted = next(self.script, (None, []))
        if misdeed is not None:
            misdeed(view)
        return wanted

    def provision(self, view, now, rng):
        return [*self.answer(view), *super().provision(view, now, rng)]

    def renew(self, machine, view, now):
        wanted = self.answer(view)
        return wanted[0] if wanted else super().renew(machine, view, now)

    def place(self, view, now, rng):
        machines = [*view.idle]
        wanted = self.answer(view)
        return [*wanted, *map(act.Start, view.ready, machines)]

    def replicate(self, view, now, rng):
        return self.answer(view)


@settings(max_examples=120, deadline=None)
@given(script=st.lists(answers, max_size=30), seed=st.integers(0, 3))
def test_the_cap_holds_and_the_journal_is_readable_whatever_an_entry_asks_for(
    script, seed, tmp_path_factory
):
    entry = Erratic(script)
    stage = Stage(
        *OFFERS, tasks=6, budget="0.50", provisioner=entry, placer=entry, replicator=entry
    )
    state, engine = stage.state, stage.engine
    engine.step(())
    for _ in range(MOST_STEPS):
        if state.ended is not None:
            break
        engine.step(stage.world.wait(engine.next_look()))
    state.check()  # with the auditor, which watched every event: committed is within the budget
    path = tmp_path_factory.mktemp("runs") / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        for event in stage.events():
            writer.append(event)
        writer.commit(safely=False)
    again = load_state(path)
    assert again.ledger.committed == state.ledger.committed <= Money.parse("0.50")
    assert (again.done, len(again.log)) == (state.done, len(state.log))


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (act.Rent("small", reason=5), "its reason must be a text, not int"),
        (act.Rent(["small"]), "its offer must be a text, not list"),
        (act.Start(True, 1), "its task must be a whole number, not True"),
        (act.Start(1.0, 1), "its task must be a whole number, not float"),
        (act.Start(1, "1"), "its machine must be a whole number, not str"),
        (act.Start(1, 1, measure=1), "its measure must be true or false, not int"),
        (act.Stop("enough", status="weird"), "no run ends as 'weird'"),
        (act.Stop("enough", status="done"), "no run ends as 'done'"),
        (act.Wake(float("nan")), "its at must be a whole number, not float"),
        (act.Wake(10**30), "that time is too far away"),
    ],
)
def test_an_action_of_wrong_types_or_values_is_refused_with_the_reason(action, why):
    stage = Stage(*OFFERS, tasks=1)
    verdict = stage.engine.guard.review(action, 0)
    assert isinstance(verdict, ev.ActionRefused)
    assert why in verdict.why


@pytest.mark.parametrize("one", [np.int64(1), np.uint8(1), Rank.ONE])
def test_whole_numbers_of_other_libraries_become_our_own(one):
    scene = Scene(*OFFERS, tasks=1, budget="1")
    scene.machine()
    started = Guard(scene.state).review(act.Start(one, one), 0)
    assert started == ev.AttemptStarted(0, 1, 1, 1)
    assert type(started.task) is type(started.machine) is int


def test_a_reason_becomes_one_line_that_is_not_too_long():
    stage = Stage(*OFFERS, tasks=1)
    rented = stage.engine.guard.review(
        act.Rent("small", reason="a\nb\ud800\x1b[2J" + "x" * 10**6), 0
    )
    assert rented.reason.isprintable()
    assert rented.reason.startswith(r"a\nb\ud800\x1b[2J")
    assert len(rented.reason) < 1_100


def test_an_answer_without_end_is_a_fault(monkeypatch):
    monkeypatch.setattr(engine_module, "MOST_ACTIONS", 100)

    class Endless(Fixed):
        def provision(self, view, now, rng):
            return (act.Wake(now + number) for number in count(1))

    stage = Stage(*OFFERS, tasks=1, provisioner=Endless({"small": 1}))
    with pytest.raises(PolicyError, match="asks for more than 100 actions at once"):
        stage.run()
    assert stage.state.ended.status == "failed"


def test_a_provisioner_that_raises_the_budget_spends_no_more_than_was_written():
    class Thief(Fixed):
        def provision(self, view, now, rng):
            if view.machines:
                view.ledger.budget = Money.parse("1000000")
            return [act.Rent("small", reason="more")] * 50

    stage = Stage(*OFFERS, tasks=9, budget="0.20", provisioner=Thief({"small": 1}))
    with pytest.raises(PolicyError, match="the provisioner Thief is faulty: AttributeError"):
        stage.run()
    assert stage.state.ledger.committed <= Money.parse("0.20")


def test_what_runs_may_end_within_its_paid_time_after_an_entry_has_failed():
    class Breaks(Fixed):
        def provision(self, view, now, rng):
            if now:
                raise ZeroDivisionError
            return super().provision(view, now, rng)

    machine = Offer("small", Money.parse("0.10"), limit=2, slots=2)
    fates = {1: (MINUTE, "success"), 2: (HOUR // 2, "success"), 3: (3 * HOUR, "success")}
    stage = Stage(machine, tasks=4, provisioner=Breaks({"small": 2}), fates=Fates(fates))
    with pytest.raises(PolicyError):
        stage.run()
    assert stage.state.done == 3, "the fourth ends by itself within the hour, the third does not"
    assert stage.state.ended.at == HOUR


def test_an_entry_that_fails_while_it_learns_ends_the_run_in_order():
    class Learns(Fixed):
        def saw(self, event, view):
            if isinstance(event, ev.AttemptEnded):
                view.status[1] = 7

    stage = Stage(*OFFERS, tasks=5, provisioner=Learns({"small": 1}))
    with pytest.raises(PolicyError, match="provisioner Learns is faulty: TypeError"):
        stage.run()
    assert stage.state.ended.status == "failed"
    assert stage.state.done == 1


def test_what_an_entry_changes_in_an_event_is_its_own_copy():
    class Scribbles(Fixed):
        def saw(self, event, view):
            if isinstance(event, ev.RunCreated):
                event.settings["outputs"] = "/"
            if isinstance(event, ev.PlanChosen | ev.ScaleDecided):
                event.fleet["small"] = 99
            if isinstance(event, ev.ScaleDecided):
                event.inputs["load"] = 99.0
                event.lines["1"] = (99,)
            if isinstance(event, ev.FilesFound):
                event.links["here"] = "/"

    stage = Stage(*OFFERS, tasks=0, arrivals_end=False, provisioner=Scribbles({"small": 1}))
    stage.engine.record(ev.PlanChosen(0, "knee", {"small": 1}, 1, 1, Money(1), Money(1)))
    scaled = ev.ScaleDecided(0, {"small": 1}, 1, 1, inputs={"load": 1.0}, lines={"1": (1,)})
    found = ev.FilesFound(0, links={"here": "there"})
    for event in (scaled, found):
        stage.engine.record(event)
    assert (scaled.fleet, scaled.inputs) == ({"small": 1}, {"load": 1.0})
    assert (scaled.lines, found.links) == ({"1": (1,)}, {"here": "there"})
    assert stage.state.created.settings == {}
    assert stage.state.plans_of(1).chosen.fleet == {"small": 1}
    assert msgspec.json.encode(stage.state.plans_of(1).chosen.fleet) == b'{"small":1}'
