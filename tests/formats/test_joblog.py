"""Job logs are those of GNU parallel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.joblog import (
    HEADER,
    JoblogRow,
    format_joblog,
    format_row,
    parse_joblog,
    read_joblog,
)
from bursar.model.errors import InputError

# Written by GNU parallel 20221122, with: parallel --joblog LOG (several runs put together).
REAL = (
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    "1\t:\t1794788431.693\t     0.008\t0\t0\t0\t0\tsleep 0.0; exit 0\n"
    "2\t:\t1794788431.700\t     0.305\t0\t0\t3\t0\tsleep 0.3; exit 3\n"
    "1\t:\t1794788432.139\t     0.000\t0\t0\t0\t9\tkill -9 $$; #1\n"
    "3\t:\t1794788432.273\t     0.006\t0\t6\t0\t0\techo 'tab\tx'\n"
    "1\t:\t1794788711.220\t     0.000\t0\t8\t0\t0\techo 'one\0two'\n"
    "1\t:\t1794788711.689\t     1.335\t0\t0\t-1\t15\tsleep 5; #1\n"
    "1\t:\t1794788432.390\t    10.503\t0\t4\t0\t0\tsleep 10.5; echo 1 2\n"
)


def test_a_log_of_gnu_parallel_is_read():
    rows = parse_joblog(REAL)
    assert len(rows) == 7
    assert rows[1] == JoblogRow(2, ":", 1794788431.7, 0.305, 3, 0, "sleep 0.3; exit 3")
    assert rows[2].signal == 9
    assert rows[3].command == "echo 'tab\tx'"
    assert rows[4].command == "echo 'one\ntwo'"
    assert rows[5].exitval == -1
    assert rows[6].runtime == 10.503


def test_only_a_success_has_a_result():
    assert [row.has_result for row in parse_joblog(REAL)] == [
        True, False, False, True, True, False, True,
    ]  # fmt: skip
    assert parse_joblog(REAL)[1].end == pytest.approx(1794788432.005)


def test_a_log_is_written_as_gnu_parallel_writes_it():
    nothing_sent = REAL.replace("\t0\t6\t", "\t0\t0\t").replace("\t0\t8\t", "\t0\t0\t")
    assert format_joblog(parse_joblog(REAL)) == nothing_sent.replace("\t0\t4\t", "\t0\t0\t")
    assert format_joblog([]) == HEADER


millis = st.integers(0, 10**13).map(lambda value: value / 1000)
rows = st.builds(
    JoblogRow,
    seq=st.integers(1, 10**9),
    host=st.text(st.characters(categories=["L", "Nd", "P"]), min_size=1),
    start=millis,
    runtime=millis,
    exitval=st.integers(-1, 255),
    signal=st.integers(0, 64),
    command=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)


@given(st.lists(rows))
def test_a_written_log_is_read_back(rows):
    assert parse_joblog(format_joblog(rows)) == rows


def test_a_strange_host_cannot_break_a_line():
    line = format_row(JoblogRow(1, "a\tb\nc", 0, 0, 0, 0, "x"))
    assert parse_joblog(HEADER + line)[0].host == "a b c"
    assert format_row(JoblogRow(1, "", 0, 0, 0, 0, "x")).startswith("1\t:\t0.000\t     0.000\t")


def test_a_log_is_read_from_disk_whatever_bytes_its_commands_hold(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(HEADER.encode() + b"1\t:\t1.5\t 0.1\t0\t0\t0\t0\tcat f\xfcnf\n")
    assert read_joblog(path)[0].command == "cat f\\xfcnf"


LINE = "1\t:\t1.0\t1.0\t0\t0\t0\t0\tx"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log, line 1: not a job log; its header must be Seq Host Starttime JobRuntime"),
        (LINE, "log, line 1: not a job log"),
        (HEADER + LINE + "\n1\t2\n", "log, line 3: 2 fields, but a job log has 9"),
        (HEADER + "x" + LINE, "log, line 2, Seq: 'x1' is not a whole number"),
        (HEADER + "9" * 5000 + LINE, "log, line 2, Seq: '999"),
        (HEADER + LINE.replace("1.0", "nan", 1), "Starttime: 'nan' is not a number of seconds"),
        (
            HEADER + LINE.replace("\t1.0\t0", "\t-1\t0"),
            "JobRuntime: '-1' is not a number of seconds",
        ),
        (HEADER + LINE.replace("\t1.0\t0", "\tinf\t0"), "JobRuntime: 'inf' is not a number"),
        (HEADER + LINE.replace("\t0\tx", "\tTERM\tx"), "Signal: 'TERM' is not a whole number"),
        (HEADER + LINE.replace("\t0\t0\tx", "\t\t0\tx"), "Exitval: '' is not a whole number"),
    ],
    ids=lambda value: value[-30:],
)
def test_a_mistake_is_reported_with_its_line(text, message):
    with pytest.raises(InputError) as refusal:
        parse_joblog(text, "log")
    assert message in str(refusal.value)
    assert str(refusal.value).isprintable()
