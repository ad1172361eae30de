"""Functions are made inside the tests, so that they travel by value."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Executor, as_completed, wait
from decimal import Decimal
from pathlib import Path

import pytest
from tests.runs.executor_gate import PAID, SINGLE, Gate

from bursar import BudgetExecutor, CallError, Money, RunOver
from bursar.execute.calls import RemoteTraceback
from bursar.formats.market import parse_market
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.errors import InputError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def gate(tmp_path):
    """Calls that tell that they have begun, and go on when the test lets them."""
    return Gate(tmp_path)


# --- results -------------------------------------------------------------------------------------


def test_map_gives_results_in_the_order_of_the_arguments():
    with BudgetExecutor(PAID, "1") as pool:
        assert isinstance(pool, Executor)
        assert list(pool.map(lambda x, y: x * y, range(30), range(30))) == [
            n * n for n in range(30)
        ]


def test_without_a_market_this_computer_works_for_nothing():
    with BudgetExecutor() as pool:
        assert pool.submit(divmod, 7, 2).result(30) == (3, 1)
    assert pool.summary().money.committed == "0.00"


@pytest.mark.parametrize("budget", ["0.5", 1, Decimal("0.5"), Money.parse("0.5")])
def test_a_budget_may_be_given_in_many_ways(budget):
    with BudgetExecutor(PAID, budget) as pool:
        assert pool.submit(abs, -1).result(30) == 1


@pytest.mark.parametrize("kind", [str, Path])
def test_a_market_may_be_given_by_its_file(tmp_path, kind):
    path = tmp_path / "market.toml"
    path.write_text('[[offer]]\nname = "small"\nprice = "0.01"\nbilling = "1s"\nlimit = 1\n')
    with BudgetExecutor(kind(path), "1") as pool:
        assert pool.submit(abs, -1).result(30) == 1


def test_calls_start_in_the_order_of_their_submission(gate, tmp_path):
    def note(number):
        with (tmp_path / "order").open("a") as file:
            file.write(f"{number}\n")

    with BudgetExecutor(SINGLE, "1") as pool:
        pool.submit(gate.call())
        gate.await_begun()
        futures = [pool.submit(note, number) for number in range(30)]
        gate.open()
        wait(futures, timeout=30)
    assert (tmp_path / "order").read_text().split() == [str(number) for number in range(30)]


def test_closures_and_keywords_travel():
    base = 5
    with BudgetExecutor() as pool:
        future = pool.submit(lambda x, *, times: (x + base) * times, 1, times=7)
        assert future.result(30) == 42


def test_an_exception_comes_back_with_the_traceback_of_where_it_was_raised():
    def fail(value):
        raise ValueError(f"{value} is bad")

    with BudgetExecutor() as pool:
        error = pool.submit(fail, 13).exception(30)
    assert isinstance(error, ValueError)
    assert str(error) == "13 is bad"
    assert isinstance(error.__cause__, RemoteTraceback)
    assert "in fail" in str(error.__cause__)
    assert pool.summary().status == "failed"


def test_a_call_that_kills_its_worker_fails_alone():
    with BudgetExecutor(PAID, "1") as pool:
        dead = pool.submit(os._exit, 9)
        fine = [pool.submit(abs, -n) for n in range(5)]
        assert isinstance(dead.exception(30), CallError)
        assert [future.result(30) for future in fine] == list(range(5))


def test_calls_are_tried_again(tmp_path):
    def flaky(path):
        from pathlib import Path

        tries = Path(path)
        with tries.open("a") as file:
            file.write("x")
        if tries.stat().st_size < 3:
            raise OSError("not yet")
        return tries.read_text()

    with BudgetExecutor(retries=2) as pool:
        assert pool.submit(flaky, str(tmp_path / "tries")).result(30) == "xxx"


def test_a_call_that_takes_too_long_fails():
    with BudgetExecutor(timeout="0.3s") as pool:
        error = pool.submit(time.sleep, 60).exception(30)
    assert isinstance(error, TimeoutError)
    assert str(error) == "timed out after 300 ms"


def test_calls_may_be_submitted_from_many_threads_and_from_callbacks():
    results = []
    with BudgetExecutor(PAID, "1") as pool:

        def follow_up(future):
            results.append(pool.submit(abs, -future.result()).result)

        def submit(number):
            pool.submit(abs, number).add_done_callback(follow_up)

        threads = [threading.Thread(target=submit, args=[n]) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        end = time.monotonic() + 30
        while len(results) < 8 and time.monotonic() < end:
            time.sleep(0.01)
    assert sorted(result() for result in results) == list(range(8))


def test_an_executor_works_in_any_thread():
    results = []

    def work():
        with BudgetExecutor(PAID, "1") as pool:
            results.extend(pool.map(abs, [-1, -2, -3]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert results == [1, 2, 3]


def test_two_executors_work_side_by_side(home):
    with BudgetExecutor(PAID, "1") as first, BudgetExecutor(PAID, "1") as second:
        futures = [pool.submit(abs, -n) for n in range(10) for pool in (first, second)]
        assert [future.result(30) for future in futures] == [n for n in range(10) for _ in "ab"]
    assert first.run != second.run
    assert {run.name for run in home.list()} == {first.run, second.run}


def test_calls_in_callbacks_of_another_executor_do_not_wait_for_each_other(gate):
    with BudgetExecutor() as first, BudgetExecutor() as second:
        slow = first.submit(gate.call())
        assert second.submit(abs, -1).result(30) == 1
        gate.open()
        assert slow.result(30) == "through"


# --- money and time ------------------------------------------------------------------------------


def test_when_the_money_is_gone_calls_that_did_not_run_say_so_and_nothing_hangs():
    with BudgetExecutor(SINGLE, "0.02") as pool:
        futures = [pool.submit(time.sleep, 0.3) for _ in range(20)]
        done, not_done = wait(futures, timeout=30)
        assert not not_done
        assert set(as_completed(futures, timeout=1)) == done
        errors = [error for error in (future.exception() for future in futures) if error]
        assert 0 < len(errors) < 20
        for error in errors:
            assert isinstance(error, CallError)
            assert f"run {pool.run} ended before this call" in str(error)
            assert "buys no machine" in str(error)
        with pytest.raises(RunOver, match=r"is over: \d+ tasks? left, and \$0\.00 buys no machine"):
            pool.submit(abs, -1)
    summary = pool.summary()
    assert (summary.status, summary.money.committed) == ("budget", "0.02")
    assert summary.tasks.done == 20 - len(errors)


def test_what_runs_when_the_money_ends_fails_too():
    with BudgetExecutor(SINGLE, "0.01") as pool:
        error = pool.submit(time.sleep, 60).exception(30)
    assert "1 task left" in str(error)


def test_a_callback_may_submit_even_when_the_run_is_over():
    refused = []
    with BudgetExecutor(SINGLE, "0.01") as pool:

        def again(future):
            try:
                pool.submit(abs, -1)
            except RunOver as error:
                refused.append(error)

        future = pool.submit(time.sleep, 60)
        future.add_done_callback(again)
        assert future.exception(30) is not None
    assert len(refused) == 1


def test_at_the_deadline_everything_ends():
    with BudgetExecutor(deadline="0.5s") as pool:
        error = pool.submit(time.sleep, 60).exception(30)
    assert "the deadline has passed" in str(error)
    assert pool.summary().status == "deadline"


def test_the_journal_of_an_executor_tells_what_it_did(home):
    def simulate(number):
        return number

    with BudgetExecutor(PAID, "1", name="amber", seed=3) as pool:
        list(pool.map(simulate, range(3)))
    assert pool.run == "amber"
    state = load_state(home.find("amber").journal)
    assert (state.done, state.ended.status, state.created.seed) == (3, "done", 3)
    assert "simulate" in state.describe(1)


def test_a_summary_can_be_asked_for_at_any_time(gate):
    with BudgetExecutor(PAID, "1") as pool:
        pool.submit(abs, -1).result(30)
        pool.submit(gate.call())
        gate.await_begun()
        summary = pool.summary()
        assert summary.status is None
        assert (summary.tasks.total, summary.tasks.done) == (2, 1)
        gate.open()
    assert pool.summary().status == "done"


@pytest.mark.parametrize(
    ("market", "options", "complaint"),
    [
        (PAID, {}, "this market costs money: set a limit with budget="),
        (PAID, {"budget": "a lot"}, "budget=: 'a lot' is not an amount of money"),
        (PAID, {"budget": "5/often"}, "budget=: 'often' is not a duration"),
        (PAID, {"budget": "0.001"}, "buys no machine: .* raise budget="),
        (PAID, {"budget": "0.001/h"}, r"a budget of \$0\.00100/h buys no machine"),
        ("nowhere.toml", {"budget": "1"}, "nowhere.toml"),
        (PAID, {"budget": "1", "policies": {"replicator": "perfect"}}, "only bursar simulate"),
        (PAID, {"budget": "1", "fleet": {"small": 9}}, "the market's limit is 2"),
        (PAID, {"budget": "1", "fleet": {"gold": 1}}, "no offer 'gold'"),
        (PAID, {"budget": "1", "policies": {"placer": "best"}}, "no placer 'best'"),
        (None, {"deadline": "soon"}, "is not a duration"),
        (None, {"timeout": "soon"}, "is not a duration"),
    ],
)
def test_what_cannot_be_is_refused_at_once_and_leaves_nothing(home, market, options, complaint):
    with pytest.raises(InputError, match=complaint) as reported:
        BudgetExecutor(market, **options)
    assert isinstance(reported.value, ValueError)
    assert home.list() == []


def test_a_fleet_bounds_how_many_calls_run_at_once(gate):
    with BudgetExecutor(PAID, "1", fleet={"small": 1}) as pool:
        first = pool.submit(gate.call())
        gate.await_begun()
        second = pool.submit(abs, -1)
        assert (first.running(), second.running()) == (True, False)
        gate.open()
        assert second.result(30) == 1


# --- what calls are worth ------------------------------------------------------------------------

SEVERAL = parse_market("""
[[offer]]
name = "small"
price = "0.08"
billing = "5s"
limit = 4
[[offer]]
name = "medium"
price = "0.16"
billing = "5s"
limit = 3
speed = 1.9
[[offer]]
name = "large"
price = "0.32"
billing = "5s"
limit = 2
speed = 3.5
""")
"""one unit of all machines is 1.44"""


def test_a_few_short_calls_do_not_rent_every_offer():
    with BudgetExecutor(SEVERAL, budget="5") as pool:
        assert len(list(pool.map(lambda _: time.sleep(0.05), range(40)))) == 40
    assert pool.summary().money.committed <= "0.48"


def test_calls_one_at_a_time_with_gaps_between_them_all_return():
    with BudgetExecutor(PAID, budget="5") as pool:
        for number in range(3):
            assert pool.submit(pow, number, 2).result(timeout=30) == number**2
            time.sleep(1.2)  # longer than a unit: the machine leaves, and another one comes
    assert pool.summary().tasks.done == 3


def test_thousands_of_calls_all_return():
    with BudgetExecutor(SEVERAL, budget="5") as pool:
        assert sum(pool.map(abs, range(3000))) == 3000 * 2999 // 2
