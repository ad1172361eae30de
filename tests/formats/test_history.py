import pytest

from bursar.beliefs.reliability import InstanceEnd
from bursar.formats.history import from_joblog, read_history
from bursar.formats.joblog import JoblogRow, format_joblog
from bursar.journal.runs import Home
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import SECOND

MARKET = Market(
    "USD", "undated", (Offer("spot", ZERO, pool="unreliable"), Offer("on-demand", ZERO))
)


def row(seq, start, runtime, exitval=0, signal=0, host="spot-1"):
    return JoblogRow(seq, host, 1.8e9 + start, float(runtime), exitval, signal, "work")


def fates(rows, market=None):
    reported = from_joblog(rows, "log", market)
    return [InstanceEnd(fate) for fate in reported.history.fates]


def test_a_job_log_is_reported_in_the_order_of_sending_and_from_its_first_moment_on():
    reported = from_joblog([row(2, 5, 3, exitval=1), row(1, 2, 60), row(3, 6, 4, signal=9)], "log")
    assert list(reported.history.sent) == [0, 3 * SECOND, 4 * SECOND]
    assert list(reported.history.fates) == [InstanceEnd.RESULT, InstanceEnd.LOST, InstanceEnd.LOST]
    assert list(reported.history.turnarounds()) == [60 * SECOND]
    assert reported.now == 60 * SECOND + 1


def test_an_attempt_cut_short_when_its_task_was_done_was_called_back():
    lost_before = row(1, 0, 5, exitval=-1)
    won, rival = row(1, 6, 10), row(1, 7, 9.001, exitval=-1)
    assert fates([lost_before, won, rival]) == [
        InstanceEnd.LOST,
        InstanceEnd.RESULT,
        InstanceEnd.WITHDRAWN,
    ]
    timed_out = row(1, 8, 9, exitval=-1, signal=15)
    assert fates([won, timed_out]) == [InstanceEnd.RESULT, InstanceEnd.LOST]


def test_with_a_market_reliable_machines_are_reported_apart_by_their_names():
    rows = [
        row(1, 0, 60),
        row(2, 0, 30, host="on-demand-3"),
        row(3, 0, 20, host="on-demand-4"),
        row(4, 0, 99, exitval=1, host="on-demand-4"),
        row(5, 0, 70, host="elsewhere"),
    ]
    reported = from_joblog(rows, "log", MARKET)
    assert list(reported.history.turnarounds()) == [60 * SECOND, 70 * SECOND]
    assert reported.reliable_time == 25 * SECOND
    assert len(from_joblog(rows, "log").history) == 5


def test_the_size_of_the_pool_is_that_before_the_tail():
    full = [row(10 * step + place, 60 * step, 60) for step in range(10) for place in range(10)]
    tail = [row(99, 600, 60, exitval=1), row(99, 3000, 60, exitval=1), row(99, 3060, 60)]
    reported = from_joblog([one for one in full if one.seq != 99] + tail, "log")
    assert reported.throughput_end == 600 * SECOND
    assert reported.characterise().machines == 10


def test_a_job_log_is_read_from_disk_and_its_mistakes_are_reported_with_its_name(tmp_path):
    path, home = tmp_path / "old.log", Home(tmp_path / "runs")
    path.write_text(format_joblog([row(1, 0, 60), row(2, 0, 5, exitval=1)]))
    assert len(read_history(str(path), home).history) == 2
    path.write_text(format_joblog([row(2, 0, 5, exitval=1)]))
    with pytest.raises(InputError, match=r"old\.log: none of 1 attempt on unreliable"):
        read_history(str(path), home).characterise()
    path.write_text("nonsense")
    with pytest.raises(InputError, match=r"old\.log, line 1: not a job log"):
        read_history(str(path), home)
    for nowhere in ("nowhere", "", "a\0b"):
        with pytest.raises(InputError, match="is not a job log, a journal or a run"):
            read_history(nowhere, home)


@pytest.mark.parametrize("wrong", [row(1, 1e300, 5), row(1, 0, 1e300), row(1, 1.7e9, 5)])
def test_times_far_apart_are_refused(wrong):
    with pytest.raises(InputError, match="more than 50 years apart"):
        from_joblog([row(2, 0, 5), wrong], "log")


def test_a_log_without_attempts_tells_nothing():
    with pytest.raises(InputError, match="log: nothing was sent"):
        from_joblog([], "log").characterise()
