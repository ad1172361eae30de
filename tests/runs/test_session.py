from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from bursar.engine.renter import FoundMachine, RentOrder, Survey
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.journal.writer import JournalWriter
from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, SECOND
from bursar.model.work import Bag, Work, make_bag
from bursar.policies.presets import FRONTIER
from bursar.policies.provision.mixed import Mixed
from bursar.policies.provision.planned import Planned
from bursar.rent.emulated import EmulatedRenter
from bursar.runs.policy import policy_of
from bursar.runs.request import Request
from bursar.runs.session import Session
from bursar.state import events as ev
from bursar.state.state import RunState, fold

MARKET = Market("USD", "undated", (Offer("small", Money.parse("0.01"), SECOND, limit=2),))


def bag_of(*scripts):
    return make_bag(["/bin/sh", "-c", "{}"], [[script] for script in scripts])


def request(*scripts, **changes):
    bag = bag_of(*scripts) if scripts else None
    return Request(**{"market": MARKET, "goal": Goal(Money.parse("1")), "bag": bag, **changes})


def events_of(run):
    with JournalReader(run.journal) as journal:
        return list(journal.events())


def kinds_of(run):
    return [type(event).__name__ for event in events_of(run)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home")


@pytest.fixture
def finish(home):
    """Begin a run and drive it to its end."""

    def run(asked):
        with Session.begin(home, asked) as session:
            session.execute()
            return session.run_dir

    return run


# --- what is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"goal": Goal()}, "this market costs money: set a limit with budget="),
        (
            {"goal": Goal(Money.parse("0.001"))},
            r"a budget of \$0\.00100 buys no machine: the cheapest, small, costs \$0\.01 at least",
        ),
        ({"fleet": {"small": 3}}, "3 small: the market's limit is 2"),
        ({"fleet": {"small": -1}}, "-1 small: write for example"),
        ({"fleet": {"small": 0}}, "the fleet has no machine"),
        ({"fleet": {"large": 1}}, "no offer 'large' in the market"),
        ({"policies": {"placer": "best"}}, "no placer 'best'"),
        ({"policies": {"plazer": "random"}}, "no role 'plazer'"),
        (
            {"market": Market("USD", "x", (Offer("none", ZERO, limit=0),)), "goal": Goal()},
            "every offer has the limit 0",
        ),
        ({"name": "no/name"}, "name"),
    ],
)
def test_what_could_not_even_begin_is_refused_and_leaves_nothing(home, changes, complaint):
    with pytest.raises(InputError, match=complaint):
        Session.begin(home, request("true", **changes))
    assert home.list() == []


def test_without_a_fleet_every_offer_is_used_to_its_limit():
    offers = (Offer("few", ZERO, limit=3), Offer("any", ZERO))
    asked = Request(market=Market("USD", "x", offers))
    assert asked.full_fleet() == {"few": 3, "any": os.cpu_count()}
    assert Request(market=Market("USD", "x", offers), fleet={"few": 1}).full_fleet() == {"few": 1}


# --- beginning -----------------------------------------------------------------------------------


def test_a_run_begins_in_its_journal_before_anything_is_rented(home, tmp_path):
    with Session.begin(home, request("true", "true", name="amber", seed=7)) as session:
        assert session.run_dir.name == "amber"
        created, work, end = events_of(session.run_dir)
    assert (created.run, created.seed, created.market) == ("amber", 7, MARKET)
    assert created.policies == FRONTIER
    assert created.options.fleet == {"small": 2}
    assert created.options.directory == str(tmp_path)
    assert created.options.outputs == str(tmp_path / "home/amber/outputs")
    assert created.settings == {}
    assert created.began == pytest.approx(time.time(), abs=60)
    assert work.work.count == 2
    assert isinstance(end, ev.ArrivalsEnded)


def test_work_may_come_later(home):
    with Session.begin(home, request()) as session:
        assert kinds_of(session.run_dir) == ["RunCreated"]
        session.post(lambda at: ev.WorkArrived(at, Work(bag_of("true"))))
        session.post(ev.ArrivalsEnded(0))
        assert session.execute().status == "done"
        assert session.state.done == 1


def test_runs_without_a_seed_differ(home):
    seeds = set()
    for _ in range(3):
        with Session.begin(home, request("true")) as session:
            seeds.add(session.state.created.seed)
    assert len(seeds) == 3


def test_a_run_that_cannot_begin_holds_nothing(home, monkeypatch):
    with (
        Session.begin(home, request("true", name="amber")),
        pytest.raises(InputError, match="there is a run amber already"),
    ):
        Session.begin(home, request("true", name="amber"))
    run = home.find("amber")
    with run.acquire():
        pass


# --- executing -----------------------------------------------------------------------------------


def test_a_run_is_driven_to_its_end_and_its_journal_tells_it_all(home, tmp_path):
    asked = request("echo one", "echo two >&2; exit 3", output="results")
    with Session.begin(home, asked) as session:
        assert session.execute().status == "failed"
        run, state = session.run_dir, session.state
    assert (tmp_path / "results/1/stdout").read_text() == "one\n"
    assert (tmp_path / "results/failed/2/stderr").read_text() == "two\n"
    reported = fold(events_of(run))
    reported.check()
    assert (reported.done, reported.failed, reported.ended) == (1, 1, state.ended)
    assert reported.ledger.committed == reported.ledger.spent == state.ledger.committed


def test_signals_are_as_before_after_a_run(home):
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
    before = [signal.getsignal(number) for number in asked]
    with Session.begin(home, request("true")) as session:
        session.execute()
    assert [signal.getsignal(number) for number in asked] == before


def test_a_run_may_be_driven_by_any_thread(home):
    ended = []

    def drive():
        with Session.begin(home, request("true")) as session:
            ended.append(session.execute().status)

    thread = threading.Thread(target=drive)
    thread.start()
    thread.join(60)
    assert ended == ["done"]


@pytest.mark.parametrize(("now", "done"), [(False, 1), (True, 0)])
def test_a_run_can_be_stopped_from_another_thread(home, tmp_path, now, done):
    script = "touch began; sleep 1"
    with Session.begin(home, request(script, script, fleet={"small": 1})) as session:

        def stop():
            while not (tmp_path / "began").exists():
                time.sleep(0.01)
            session.stop("enough", now=now)

        thread = threading.Thread(target=stop)
        thread.start()
        ended = session.execute()
        thread.join()
        assert (ended.status, ended.why) == ("interrupted", "enough")
        assert session.state.done == done


# --- the lock ------------------------------------------------------------------------------------


def test_a_run_is_executed_by_one_session_at_a_time(home):
    with Session.begin(home, request("true")) as session:
        run = session.run_dir
        assert run.owner() == os.getpid()
        with pytest.raises(InputError, match=f"is being run by process {os.getpid()}"):
            Session.take_up(run)
    assert run.owner() is None
    with Session.take_up(run) as again:
        assert again.execute().status == "done"


# --- taking up again -----------------------------------------------------------------------------


def test_a_run_that_was_interrupted_goes_on_where_it_was(home):
    with Session.begin(home, request("echo 1", "echo 2", fleet={"small": 1})) as session:
        session.stop("not now")
        assert session.execute().status == "interrupted"
        run, committed = session.run_dir, session.state.ledger.committed
    with Session.take_up(run) as session:
        assert session.state.ended is None
        assert session.execute().status == "done"
    state = load_state(run.journal)
    assert state.done == 2
    assert state.ledger.committed >= committed
    assert kinds_of(run).count("RunResumed") == 1


def crashed(home, until=HOUR):
    """A run whose process was killed while a task ran on a machine."""
    with Session.begin(home, request("echo 1", "echo 2")) as session:
        run = session.run_dir
    with JournalWriter(run.journal) as journal:
        for event in (
            ev.MachineRented(0, 1, "small", until),
            ev.MachineUp(0, 1),
            ev.AttemptStarted(0, 1, 2, 1),
        ):
            journal.append(event)
        journal.commit(safely=True)
    return run


def test_after_a_crash_machines_are_gone_and_their_tasks_are_back_in_the_bag(home):
    run = crashed(home, until=20 * SECOND)
    with Session.take_up(run) as session:
        assert session.state.machines == {}
        assert sorted(session.state.ready) == [1, 2]
        down = next(e for e in events_of(run) if isinstance(e, ev.MachineDown))
        assert (down.cause, down.ended) == ("lost", min(down.at, 20 * SECOND))
        assert session.execute().status == "done"
    load_state(run.journal).check()


def test_after_a_crash_a_machine_that_the_renter_finds_is_kept_with_its_lease(home, monkeypatch):
    class Outliving(EmulatedRenter):
        def survey(self):
            self.rent([RentOrder(1, MARKET["small"], HOUR, "r/1")])
            return Survey([FoundMachine(1, True)])

    monkeypatch.setattr("bursar.runs.worlds.EmulatedRenter", Outliving)
    run = crashed(home)
    with Session.take_up(run) as session:
        assert list(session.state.machines) == [1]
        assert sorted(session.state.ready) == [1, 2]
        assert session.execute().status == "done"
    kinds = kinds_of(run)
    assert kinds.index("RunResumed") < kinds.index("MachineAdopted")
    assert load_state(run.journal).log.machine[2] == 1, "the next attempt runs where the first did"


def test_a_machine_of_before_is_charged_to_the_end_of_its_lease_and_no_further(home, monkeypatch):
    run = crashed(home, until=2 * SECOND)
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    with Session.take_up(run) as session:
        assert session.state.now >= 3599 * SECOND
        assert session.state.ledger.spent == Money.parse("0.02")


def test_a_budget_below_what_is_committed_is_refused_and_the_run_left_alone(home):
    run = crashed(home, until=50 * SECOND)
    before = events_of(run)
    with pytest.raises(InputError, match=r"\$0\.0\d is committed already: a budget of \$0\.00"):
        Session.take_up(run, Goal(Money.parse("0.001")))
    assert events_of(run) == before
    assert run.owner() is None
    with Session.take_up(run, Goal(Money.parse("2"))) as session:
        assert session.state.ledger.budget == Money.parse("2")
        assert session.execute().status == "done"


def test_a_budget_cannot_be_lifted_where_things_cost_money(home, finish):
    run = finish(request("true"))
    with pytest.raises(InputError, match="this market costs money"):
        Session.take_up(run, Goal(deadline=HOUR))
    assert run.owner() is None


def test_a_run_stopped_by_its_budget_goes_on_with_more(home):
    slow = request(*["sleep 0.4"] * 6, goal=Goal(Money.parse("0.01")), fleet={"small": 1})
    with Session.begin(home, slow) as session:
        assert session.execute().status == "budget"
        run, done = session.run_dir, session.state.done
    assert 0 < done < 6
    with Session.take_up(run, Goal(Money.parse("1"))) as session:
        assert session.execute().status == "done"
        assert session.state.done == 6


@pytest.mark.parametrize("retry", [True, False])
def test_failed_tasks_are_tried_again_only_if_asked(home, finish, tmp_path, retry):
    run = finish(request("test -e there", "true", limits=Limits(retries=1)))
    assert load_state(run.journal).failed == 1
    (tmp_path / "there").touch()
    with Session.take_up(run, retry_failed=retry) as session:
        assert session.execute().status == ("done" if retry else "failed")
        assert session.state.done == (2 if retry else 1)


def test_a_run_of_python_calls_cannot_be_taken_up(home):
    with Session.begin(home, request(bag=Bag(3, label="simulate"))) as session:
        run = session.run_dir
    with pytest.raises(InputError, match="consists of Python calls, which are not in the journal"):
        Session.take_up(run)
    assert run.owner() is None


def test_a_run_whose_directory_is_gone_cannot_be_taken_up(home, tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    with Session.begin(home, request("true")) as session:
        run = session.run_dir
    monkeypatch.chdir(tmp_path)
    work.rmdir()
    with pytest.raises(InputError, match=r"ran in .*work, which is gone"):
        Session.take_up(run)
    assert run.owner() is None


def test_a_chosen_plan_is_followed_from_the_journal_on(home):
    plan = ev.PlanChosen(0, "knee", {"small": 1}, SECOND, SECOND, ZERO, ZERO)
    run = crashed(home)
    with Session.take_up(run, plan=plan) as session:
        policy = policy_of(session.state, session.sample_log)
        assert isinstance(policy.provisioner, Planned)
        assert policy.provisioner.fleet == {"small": 1}
        assert session.state.plans_of(1).chosen.at == session.state.now
        assert session.execute().status == "done"
    policy = policy_of(load_state(run.journal), session.sample_log)
    assert policy.provisioner.fleet == {"small": 1}


def test_a_chosen_plan_with_a_strategy_is_followed_without_another_decision(home):
    strategy = Strategy(None, SECOND, 9 * SECOND, 0.0)
    plan = ev.PlanChosen(0, "mixed", {"spot": 2}, SECOND, SECOND, ZERO, ZERO, strategy)
    spot = Offer("spot", Money.parse("0.01"), SECOND, limit=3, pool="unreliable")
    scripts = ["true"] * 6
    with Session.begin(home, request(*scripts, market=Market("USD", "undated", (spot,)))) as begun:
        run = begun.run_dir
    with Session.take_up(run, plan=plan) as session:
        policy = policy_of(session.state, session.sample_log)
        assert isinstance(policy.provisioner, Mixed)
        assert policy.provisioner.pools.strategies.of_work(1) == strategy
        assert policy.provisioner.pools.unreliable == 2
        assert policy.advisors == ()
        assert session.execute().status == "done"
    assert load_state(run.journal).plans_of(1).chosen.strategy == strategy
    assert "StrategyChosen" not in kinds_of(run)


def test_a_plan_chosen_after_a_strategy_stands_for_it(home):
    spot = Offer("spot", Money.parse("0.01"), SECOND, limit=3, pool="unreliable")
    old, new = Strategy(None, 1, 2, 0.0), Strategy(None, SECOND, 9 * SECOND, 0.0)
    guide = Mixed(Market("USD", "undated", (spot,)), {"spot": 2})
    for event in (
        ev.StrategyChosen(0, old),
        ev.PlanChosen(0, "mixed", {"spot": 2}, SECOND, SECOND, ZERO, ZERO, new),
        ev.PlanChosen(0, "cheapest", {"spot": 2}, SECOND, SECOND, ZERO, ZERO),
    ):
        guide.saw(event, RunState())
    assert guide.pools.strategies.of_work(1) == new


def test_a_session_that_is_closed_twice_is_closed(home):
    session = Session.begin(home, request("true"))
    session.close()
    session.close()
    assert session.run_dir.owner() is None
