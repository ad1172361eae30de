"""A run is taken up by one replay, during which the policy that goes on with it learns."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.journal.test_replay import plain

from bursar.cli.run import command
from bursar.journal import checkpoints, recorder
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.errors import PolicyError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import make_bag
from bursar.policies.presets import BATS, FRONTIER, PLANNED, ROUND_ROBIN
from bursar.policies.provision.bats import Bats
from bursar.runs.choosing import Chooser
from bursar.runs.planning import PlannedRun
from bursar.runs.recall import outline_of, recall
from bursar.runs.request import Request
from bursar.runs.session import Session
from bursar.state import events as ev

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.01"), SECOND, limit=2),
        Offer("large", Money.parse("0.02"), SECOND, limit=2, speed=2.0),
    ),
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home")


def request(policies, tasks=12):
    bag = make_bag(["true", "{}"], [[str(number)] for number in range(tasks)])
    return Request(market=MARKET, goal=Goal(Money.parse("2")), bag=bag, policies=policies, seed=1)


class AfterSome:
    """Stops a run once so many tasks are done."""

    def __init__(self, session, done=5):
        self.session, self.left = session, done

    def saw(self, event, state):
        self.left -= isinstance(event, ev.AttemptEnded)
        if not self.left:
            self.session.stop("enough", now=True)


@pytest.fixture
def stopped(home):
    """A run that was stopped half-way, and its policy as it was then."""

    def run(policies):
        with Session.begin(home, request(policies, tasks=60)) as session:
            session._policy = session._new_policy()
            session.execute([AfterSome(session)])
            assert 0 < session.state.done < session.state.total
            return session.run_dir, session._policy

    return run


@pytest.fixture
def sampled(home):
    """A run with a sample and a list of plans."""
    policies = {"provisioner": "sample", "placer": "sample"}
    asked = request(policies, tasks=40)
    with Session.begin(home, asked) as session:
        assert session.execute().status == "planned"
    PlannedRun(session.run_dir).offer()
    return session.run_dir


@pytest.fixture
def passes(monkeypatch):
    """Where each reading of many records began, and how many were decoded."""
    begun, real = [], JournalReader.records
    decoded, real_events = [], JournalReader.events

    def records(self, after=0):
        begun.append(after)
        return real(self, after)

    def events(self, after=0):
        for event in real_events(self, after):
            decoded.append(event)
            yield event

    monkeypatch.setattr(JournalReader, "records", records)
    monkeypatch.setattr(JournalReader, "events", events)
    return begun, decoded


def learned(seen):
    """What was learned of an offer, without what is only made of it when somebody asks.

    Attempts that ended in one moment may be learned in another order.
    """
    known = {name: value for name, value in vars(seen).items() if name not in ("_sums", "_arrays")}
    return {**known, "_kept": sorted(seen._kept)}


def all_events(run):
    with JournalReader(run.journal) as reader:
        return [reader.event(number) for number in range(1, reader.last + 1)]


def test_a_run_with_entries_that_learn_is_resumed_by_one_replay(stopped, passes):
    run, _ = stopped(BATS)
    begun, decoded = passes
    past = all_events(run)
    with Session.take_up(run) as session:
        assert session.execute().status == "done"
    assert begun == [0]
    assert decoded == past


def test_a_planned_run_is_begun_by_one_replay(sampled, passes):
    begun, decoded = passes
    past = all_events(sampled)
    with Session.take_up(sampled, chooser=Chooser("cheapest")) as session:
        assert session.chosen.plan.name == "cheapest"
        assert session.execute().status == "done"
    assert begun == [0]
    assert decoded == past


def test_the_command_that_runs_a_plan_replays_its_journal_once(sampled, passes, monkeypatch):
    begun, decoded = passes
    past = all_events(sampled)
    monkeypatch.setenv("BURSAR_HOME", str(sampled.path.parent))
    done = CliRunner().invoke(command, [sampled.name, "--choose", "cheapest", "--json"])
    assert done.exit_code == 0, done.output
    assert begun == [0]
    assert decoded == past


@pytest.mark.parametrize("policies", [ROUND_ROBIN, BATS, FRONTIER, PLANNED])
def test_where_nobody_must_see_every_event_a_run_begins_with_a_checkpoint(
    stopped, passes, monkeypatch, policies
):
    monkeypatch.setattr(recorder, "APART", 10)
    run, _ = stopped(policies)
    begun, decoded = passes
    with JournalReader(run.journal) as reader:
        kept = checkpoints.newest_checkpoint(reader).events
    past = all_events(run)
    with Session.take_up(run) as session:
        assert session.execute().status == "done"
    assert begun == [0, kept], "all are checked, and the last are applied"
    assert decoded == past[kept:]


def test_without_a_list_for_what_is_left_one_is_made_and_kept_first(home):
    with Session.begin(home, request({"provisioner": "sample", "placer": "sample"}, 40)) as begun:
        assert begun.execute().status == "planned"
    with Session.take_up(begun.run_dir, chooser=Chooser("cheapest")) as session:
        assert session.execute().status == "done"
    kinds = [type(event) for event in all_events(begun.run_dir)]
    wanted = [ev.PlansOffered, ev.RunResumed, ev.PlanChosen]
    assert [kind for kind in kinds if kind in wanted] == wanted


@pytest.mark.parametrize("apart", [10, 10_000])
def test_entries_know_after_a_resumption_what_they_knew_before(stopped, monkeypatch, apart):
    monkeypatch.setattr(recorder, "APART", apart)
    run, before = stopped(BATS)
    found = recall(run, lambda advice: None)
    assert isinstance(found.policy.provisioner, Bats)
    knew, knows = before.provisioner.progress, found.policy.provisioner.progress
    assert knew.seen["small"].count + knew.seen["large"].count > 0
    assert {name: learned(seen) for name, seen in knows.seen.items()} == {
        name: learned(seen) for name, seen in knew.seen.items()
    }


def test_a_policy_is_made_of_a_few_events_as_of_all(sampled):
    with Session.take_up(sampled, chooser=Chooser("cheapest")) as session:
        session.execute()
    outline, state = outline_of(sampled), load_state(sampled.journal)
    for name in ("created", "market", "goal", "total"):
        assert getattr(outline, name) == getattr(state, name), name
    for name in ("offered", "chosen", "strategy"):
        assert getattr(outline.plans[1], name) == getattr(state.plans[1], name), name
    assert plain(list(outline.work)) == plain(list(state.work))


def test_an_entry_that_cannot_learn_is_named_before_anything_is_rented(stopped, monkeypatch):
    run, _ = stopped(BATS)
    events = len(all_events(run))

    def forget(self, event, state):
        raise ZeroDivisionError("no mean of nothing")

    monkeypatch.setattr(Bats, "saw", forget)
    with pytest.raises(PolicyError, match=r"the provisioner Bats is faulty: ZeroDivisionError"):
        Session.take_up(run)
    assert len(all_events(run)) == events
    assert run.owner() is None
