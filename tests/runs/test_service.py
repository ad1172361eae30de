"""A run that stays open: works are submitted, listed, cancelled and reordered while it goes on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bursar import RunOver, Service, WorkflowBuilder
from bursar.formats.market import parse_market
from bursar.journal.reader import JournalReader
from bursar.journal.runs import Home
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError
from bursar.model.goal import Account, Goal
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work, make_bag
from bursar.report.decisions import decisions
from bursar.runs.request import Request
from bursar.simulate.placing import RULES
from bursar.state import events as ev
from bursar.state.state import fold

ONE_SLOT_TEXT = (
    'currency = "USD"\ndate = "2026-01-01"\n[[offer]]\nname = "own"\nbilling = "free"\nlimit = 1\n'
)
ONE_SLOT = parse_market(ONE_SLOT_TEXT)
MOST_BYTES_OF_A_WORK = 10_000
"""in memory, while it waits: ten thousand of them take less than 100 MB"""
ONE_SLOT_PAID = parse_market(ONE_SLOT_TEXT.replace('"free"', '"1s"\nprice = "0.01"'))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    return tmp_path


def bag(*commands):
    return make_bag(["/bin/sh", "-c", "{}"], [(command,) for command in commands])


def appending(*words):
    """Commands that write a word each, in the order in which they run."""
    return bag(*(f"echo {word} >> log" for word in words))


def pair(out="joined"):
    flow = WorkflowBuilder("pair")
    flow.task("first", run="echo one > part", writes=["part"])
    flow.task("second", run=f"cat part > {out}", reads=["part"], writes=[out], needs="first")
    return flow


def gate():
    """Runs until the file `open` is there."""
    return bag("while [ ! -e open ]; do sleep 0.02; done")


def until(condition):
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def events_of(run):
    found = next(one for one in Home.of(os.environ).list() if one.name == run)
    with JournalReader(found.journal) as reader:
        return list(reader.events())


def test_bags_and_workflows_run_while_the_service_is_open(here):
    with Service(ONE_SLOT) as service:
        first = service.submit(appending("a", "b"), owner="ann")
        assert service.wait(first, timeout=60)
        second = service.submit(pair(), owner="bob", priority=3)
        assert service.wait(timeout=60)
        works = service.list()
        assert [(one.number, one.owner, one.status, one.done) for one in works] == [
            (first, "ann", "done", 2), (second, "bob", "done", 2),
        ]  # fmt: skip
        assert works[1].name == "pair"
    assert (here / "log").read_text().split() == ["a", "b"]
    assert (here / "joined").read_text() == "one\n"
    assert service.summary().status == "done"


@pytest.mark.parametrize("placer", ["fifo", "random", "priority", *RULES])
def test_any_placer_serves(here, placer):
    with Service(ONE_SLOT, placer=placer) as service:
        service.submit(pair())
        service.submit(appending("a"))
        assert service.wait(timeout=60)
        assert {one.status for one in service.list()} == {"done"}


def test_a_work_that_is_cancelled_is_stopped_and_others_go_on(here):
    with Service(ONE_SLOT) as service:
        endless = service.submit(bag("sleep 1000", "sleep 1000"))
        until(lambda: service.status(endless).running)
        other = service.submit(appending("other"))
        service.cancel(endless, "a mistake")
        assert service.wait(endless, timeout=60)
        assert service.wait(other, timeout=60)
        assert service.status(endless).status == "cancelled"
    summary = service.summary()
    assert (summary.status, summary.tasks.done, summary.tasks.cancelled) == ("done", 1, 2)
    reported = [(one.line.what, one.line.why) for one in decisions(events_of(service.run))]
    assert ("work 1 is cancelled", "a mistake") in reported
    assert any("cancel attempt 1 of task 1" in what for what, _ in reported)


def test_the_most_urgent_work_comes_first_also_if_that_is_said_later(here):
    with Service(ONE_SLOT) as service:
        service.submit(gate())
        until(lambda: service.status(1).running)
        plain = service.submit(appending("plain"))
        urgent = service.submit(appending("urgent"), priority=1)
        raised = service.submit(appending("raised"))
        service.set_priority(raised, 5)
        assert service.status(raised).priority == 5
        (here / "open").touch()
        assert service.wait(timeout=60)
        assert [service.status(one).status for one in (plain, urgent, raised)] == ["done"] * 3
    assert (here / "log").read_text().split() == ["raised", "urgent", "plain"]
    reported = [one.line.what for one in decisions(events_of(service.run))]
    assert f"work {raised} has priority 5" in reported


def test_the_journal_tells_the_same_state(here):
    with Service(ONE_SLOT) as service:
        service.submit(gate())
        waiting = service.submit(appending("never"))
        service.set_priority(waiting, 2)
        service.cancel(waiting)
        assert service.wait(waiting, timeout=60)
        (here / "open").touch()
    state = fold(events_of(service.run))
    state.check()
    assert state.cancelled_works == {waiting: "requested"}
    assert (state.done, state.cancelled) == (1, 1)
    assert not (here / "log").exists()


def test_a_program_that_fails_leaves_nothing_running(here):
    with pytest.raises(ZeroDivisionError), Service(ONE_SLOT) as service:
        service.submit(bag("sleep 1000"))
        until(lambda: service.status(1).running)
        raise ZeroDivisionError
    assert service.summary().status == "interrupted"


def test_mistakes_are_one_line(here):
    with Service(ONE_SLOT) as service:
        for call, reported in (
            (lambda: service.cancel(1), "there is no work 1; 0 were submitted"),
            (lambda: service.submit(Bag(3)), "this bag has no commands"),
            (lambda: service.submit("ls"), "'ls' is no work; submit a bag or a workflow"),
            (lambda: service.submit(gate(), priority="high"), "must be a whole number"),
        ):
            with pytest.raises(InputError, match=reported):
                call()
        service.submit(gate())
        service.submit(pair("same"))
        with pytest.raises(InputError, match="'part' is written by work 2, which has not ended"):
            service.submit(pair("other"))
        (here / "open").touch()
    with pytest.raises(RunOver, match="takes no more work"):
        service.submit(gate())


TWO_USERS = {"ann": None, "bob": None}


def test_users_own_what_is_submitted_for_them(here):
    with Service(ONE_SLOT, users=TWO_USERS) as service:
        service.submit(appending("a"), owner="ann")
        with pytest.raises(InputError, match="no user 'carl'; there are ann, bob"):
            service.submit(appending("b"), owner="carl")
        assert service.wait(timeout=60)
    rented = [one for one in events_of(service.run) if isinstance(one, ev.MachineRented)]
    assert [one.account for one in rented] == ["ann"]


def test_users_have_a_budget_for_each_interval(here):
    paid = ONE_SLOT_PAID
    for users, reported in (
        ({"ann": None}, "this market costs money: give 'ann' a budget"),
        ({"ann": "5"}, "needs an interval"),
        ({"ann": "0.001/h"}, "a budget of .* buys no machine"),
        ({"": "5/h"}, "cannot be the name of a user"),
    ):
        with pytest.raises(InputError, match=reported):
            Service(paid, users=users)
    with pytest.raises(InputError, match="drop one"):
        Service(paid, budget="5/h", users={"ann": "5/h"})


def test_a_service_goes_on_after_a_crash(here):
    program = """
import os, time
from bursar import Service
from bursar.formats.market import parse_market
from bursar.model.work import make_bag
market = parse_market(os.environ["MARKET"])
service = Service(market, users={"ann": None, "bob": None}, name="crash")
bag = make_bag(["/bin/sh", "-c", "{}"], [("echo one >> log",), ("sleep 1000",)])
service.submit(bag, owner="ann")
service.submit(bag, owner="bob", priority=3)
while service.status(1).done + service.status(2).done < 1:
    time.sleep(0.01)
os._exit(9)
"""
    environment = {**os.environ, "MARKET": ONE_SLOT_TEXT}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=False, timeout=60
    )
    assert ended.returncode == 9
    with Service.resume("crash") as service:
        works = service.list()
        assert [(one.owner, one.priority, one.tasks) for one in works] == [
            ("ann", 0, 2), ("bob", 3, 2),
        ]  # fmt: skip
        assert not service.wait(timeout=0)
        service.cancel(1)
        service.cancel(2)
        third = service.submit(appending("third"), owner="ann")
        assert third == 3
        assert service.wait(timeout=60)
        assert service.status(third).status == "done"
    state = fold(events_of("crash"))
    state.check()
    assert len(state.work) == 3
    with pytest.raises(InputError, match="takes no more work"):
        Service.resume("crash")
    with Home.of(os.environ).find("crash").acquire():
        pass  # nobody holds it


def test_a_budget_is_not_lowered_below_what_was_committed(here):
    service = Service(ONE_SLOT_PAID, users={"ann": "0.05/h"}, name="paid")
    service.wait(service.submit(bag("sleep 1.1"), owner="ann"), timeout=60)
    service.stop(now=True)
    service.join()
    for cents, reported in ((1, "is committed already in one interval for 'ann'"), (9, "")):
        goal = Goal(accounts=(Account("ann", budget_in("USD", f"0.0{cents}/h")),))
        if reported:
            with pytest.raises(InputError, match=reported):
                Service.resume("paid", goal=goal)
        else:
            with Service.resume("paid", goal=goal) as resumed:
                assert resumed.state.goal == goal


def test_what_unreliable_machines_lose_comes_back_within_the_budgets_of_users():
    text = (
        'currency = "USD"\ndate = "2026-01-01"\n'
        '[[offer]]\nname = "sure"\nprice = "0.05"\nbilling = "1s"\nlimit = 2\n'
        '[[offer]]\nname = "spot"\nprice = "0.01"\nbilling = "1s"\nlimit = 4\npool = "unreliable"\n'
    )
    market = parse_market(text)
    each = budget_in("USD", "0.3/2s")
    request = Request(
        market=market,
        goal=Goal(accounts=(Account("ann", each), Account("bob", each))),
        policies={
            "provisioner": f"react:interval={SECOND}",
            "placer": "priority",
            "replicator": "none",
        },
        sabotage=SECOND // 2,
        takes_workflows=True,
        name="spot",
        seed=1,
    )
    with Service.begin(request) as service:
        for owner in ("ann", "bob"):
            service.submit(bag(*["sleep 0.2"] * 12), owner=owner)
        service.wait()
        assert [work.status for work in service.list()] == ["done", "done"]
    with JournalReader(Home.of(os.environ).find("spot").journal) as reader:
        events = list(reader.events())
    state = fold(events)
    lost = [one for one in events if isinstance(one, ev.MachineDown) and one.cause == "lost"]
    assert lost, "machines of a mean life of half a second vanish"
    for name in ("ann", "bob"):
        for number in range(state.now // (2 * SECOND) + 1):
            assert state.ledger.committed_in(name, number) <= each.amount


def test_ten_thousand_works_in_a_burst_are_all_taken_in_little_memory(here):
    """None can begin, since the only slot is taken: all of them wait in memory and journal."""
    with Service(ONE_SLOT) as service:
        service.submit(gate())
        before = resident_bytes()
        waiting = [service.submit_soon(Work(Bag(1))) for _ in range(10_000)]
        numbers = [one.result(60).number for one in waiting]
        grown = resident_bytes() - before
        assert numbers == list(range(2, 10_002))
        assert service.state.total == 10_001
        assert grown < 10_000 * MOST_BYTES_OF_A_WORK
        service.stop("enough", now=True)


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
