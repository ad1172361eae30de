"""Workload files: one work a line, or TOML that says what to draw or compose."""

import gzip

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.formats.recognise import is_workload, named_kind
from bursar.formats.workload import parse_workload_lines, read_workload, write_workload
from bursar.model.errors import InputError
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import WorkloadSpec

LINE = b'{"at": 12.5, "owner": "ann", "priority": 2, "deadline": 60, "workflow": %s}'
FLOW = b'{"kind": "pair", "name": ["a", "b"], "runtime": [1.5, 2], "parents": [[], [0]]}'


def written(tmp_path, text, name="workload.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def mistake(tmp_path, text):
    with pytest.raises(InputError) as reported:
        read_workload(written(tmp_path, text))
    line = str(reported.value).removeprefix(f"{tmp_path}/")
    assert "\n" not in line
    return line


def test_a_line_is_a_work_with_its_arrival():
    (arrival,) = parse_workload_lines(LINE % FLOW).arrivals
    work = arrival.work
    assert arrival.at == 12.5 * SECOND
    assert (work.owner, work.priority, work.deadline) == ("ann", 2, MINUTE)
    assert work.workflow.names == ("a_1", "b_2")
    assert work.workflow.parents == ((), (0,))


def test_works_are_sorted_by_their_arrival():
    lines = b'{"at": 3, "workflow": %s}\n\n{"at": 1, "workflow": %s}' % (FLOW, FLOW)
    assert [one.at for one in parse_workload_lines(lines).arrivals] == [SECOND, 3 * SECOND]


@pytest.mark.parametrize("name", ["w.jsonl", "w.jsonl.gz"])
def test_what_is_written_is_read_back(tmp_path, name):
    spec = WorkloadSpec(kinds=(("ligo", 1), ("cybershake", 1)), count=6, seed=3, name="w")
    workload = generate(spec)
    write_workload(workload, tmp_path / name)
    assert read_workload(tmp_path / name) == workload
    assert is_workload(str(tmp_path / name))


def test_the_same_workload_gives_the_same_file_and_overwrites_none(tmp_path):
    workload = generate(WorkloadSpec(kinds=(("sipht", 1),), count=2))
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_workload(workload, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    with pytest.raises(InputError, match="exists already; remove it, or use another name"):
        write_workload(workload, tmp_path / "a.jsonl.gz")
    with pytest.raises(InputError, match="cannot write the workload: No such file"):
        write_workload(workload, tmp_path / "none" / "a.jsonl")


def test_toml_says_what_to_draw(tmp_path):
    path = written(
        tmp_path,
        """
        name = "mine"
        kinds = {montage = 2, ligo = 1}
        count = 12
        seed = 5
        classes = "30-38:1"
        totals = "30m"
        [arrivals]
        utilization = 0.5
        machines = 10
        """,
    )
    workload = read_workload(path)
    assert is_workload(str(path))
    assert workload.name == "mine"
    arrays = workload.arrays
    assert arrays.runtimes.sum() / 12 == pytest.approx(30 * MINUTE, rel=1e-6)
    assert arrays.runtimes.sum() / arrays.arrived[-1] == pytest.approx(5, rel=1e-6)
    assert max(one.work.count for one in workload.arrivals) <= 38


def test_files_of_drawn_workflows_take_time_with_a_bandwidth(tmp_path):
    head = 'kinds = ["cybershake"]\ncount = 6\ntotals = "30m"\n'
    tail = "arrivals = {utilization = 0.5, machines = 10}\n"
    plain = read_workload(written(tmp_path, head + tail))
    slow = read_workload(written(tmp_path, head + 'bandwidth = "280 MB/s"\n' + tail))
    assert plain.arrays.runtimes.tolist() == slow.arrays.runtimes.tolist()
    assert not plain.arrays.transfers.any()
    assert slow.arrays.transfers.sum() > 100 * SECOND
    taken = slow.arrays.taken.sum()
    assert taken / slow.arrays.arrived[-1] == pytest.approx(5, rel=1e-6)


def test_sizes_of_files_are_in_the_lines_that_are_written(tmp_path):
    workload = generate(WorkloadSpec(kinds=(("montage", 1.0),), count=3))
    write_workload(workload, tmp_path / "w.jsonl")
    found = read_workload(tmp_path / "w.jsonl")
    moved = [msgspec.structs.replace(one, bandwidth=1e6).arrays for one in (workload, found)]
    assert moved[0].transfers.any()
    assert moved[0].transfers.tolist() == moved[1].transfers.tolist()


def test_arrivals_may_have_a_rate_or_come_from_a_column(tmp_path):
    (tmp_path / "log.csv").write_text("job,submitted\na,10\nb,13.5\n")
    head = 'kinds = ["sipht"]\ncount = 2\n'
    traced = read_workload(
        written(tmp_path, head + 'arrivals = {file = "log.csv", column = "submitted"}')
    )
    assert [one.at for one in traced.arrivals] == [0, 3.5 * SECOND]
    rated = read_workload(written(tmp_path, head + 'arrivals = {rate = "1/h"}'))
    assert MINUTE < rated.arrivals[-1].at < 20 * HOUR
    batch = read_workload(written(tmp_path, head + "arrivals = {batch = true}"))
    assert {one.at for one in batch.arrivals} == {0}


def test_toml_may_name_workflow_files(tmp_path):
    (tmp_path / "flow.yaml").write_text(
        "name: f\nowner: bob\ntasks:\n  a: {runtime: 2s}\n  b: {runtime: 1s, needs: a}\n"
    )
    path = written(
        tmp_path,
        """
        [[works]]
        file = "flow.yaml"
        at = "1m"
        priority = 3
        [[works]]
        file = "flow.yaml"
        owner = "ann"
        deadline = "1h"
        """,
    )
    first, second = read_workload(path).arrivals
    assert is_workload(str(path))
    assert named_kind(str(path)) != "workflow"
    assert (first.at, first.work.owner, first.work.deadline) == (0, "ann", HOUR)
    assert (second.at, second.work.owner, second.work.priority) == (MINUTE, "bob", 3)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("count = 3", "no works; add kinds and count, or [[works]] with file and at"),
        ('kinds = ["ligo"]', "no count; add the number of workflows, for example count = 3000"),
        ('kinds = ["lgo"]\ncount = 1', "kinds: no kind of workflows 'lgo'; did you mean 'ligo'?"),
        ('kinds = ["ligo"]\ncount = 0', "count: must be a whole number from 1 to 10,000,000"),
        ('kinds = ["ligo"]\ncount = 1\nclases = "1"',
         "unknown key 'clases'; did you mean 'classes'?"),
        ('kinds = ["ligo"]\ncount = 1\nclasses = "a"',
         "classes: 'a' is not a class of sizes; write for example 30-38:75"),
        ('kinds = ["ligo"]\ncount = 1\narrivals = {}',
         "arrivals: must have exactly one of utilization, rate, file and batch"),
        ('kinds = ["ligo"]\ncount = 1\narrivals = {rate = 3}',
         'arrivals: rate: must be arrivals for a time, for example "97/h"'),
        ('kinds = ["ligo"]\ncount = 1\ntotals = "x"',
         'totals: must be "hyper-gamma", "generated" or the mean of all workflows, such as "1h"'),
        ("[[works]]\nat = '1s'", 'work 1: has no file; add file = "flow.yaml"'),
        ("works = 3", "works must be tables: write [[works]] with file and at for each"),
        ('kinds = {ligo = -1}\ncount = 1', "kinds: '-1' is not a number above 0"),
        ('kinds = ["montage"]\ncount = 1\nclasses = "5:1"',
         "a montage workflow has at least 13 tasks; 5 are too few"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path, text, reported):
    assert mistake(tmp_path, text) == f"workload.toml: {reported}"


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (b'{"at": -1, "workflow": %s}' % FLOW, "w, line 1: at is -1; write seconds, 0 or more"),
        (b'{"at": 1}', "w, line 1: not a work of a workload: Object missing required field"),
        (b'{"at": 1, "workflow": {"kind": "k", "name": ["a"], "runtime": [], "parents": [[]]}}',
         "w, line 1: runtime has 0 entries, but there are 1 tasks"),
        (b"", "w: the workload has no works; give it at least one"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(line, reported):
    with pytest.raises(InputError) as error:
        parse_workload_lines(line, "w")
    assert str(error.value).startswith(reported)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_whatever_a_file_holds_is_read_or_refused_in_one_line(data):
    for text in (data, LINE % data):
        try:
            parse_workload_lines(text)
        except InputError as error:
            assert "\n" not in str(error)


def test_other_files_are_no_workloads(tmp_path):
    flow = tmp_path / "flow.json"
    flow.write_bytes(FLOW)
    job = written(tmp_path, 'command = "echo {}"\nrepeat = 2\n', "job.toml")
    packed = tmp_path / "flow.jsonl.gz"
    packed.write_bytes(gzip.compress(FLOW))
    for path in (flow, job, packed, tmp_path / "none.toml"):
        assert not is_workload(str(path))


def test_run_times_by_offer_are_read_and_written_back(tmp_path):
    line = b'{"at": 1, "workflow": %s, "times": {"small": [3, 4.5], "large": [1, 9]}}' % FLOW
    workload = parse_workload_lines(line, "w.jsonl")
    times = {"small": (3 * SECOND, 4_500_000), "large": (SECOND, 9 * SECOND)}
    assert workload.arrivals[0].times == times
    write_workload(workload, tmp_path / "w.jsonl")
    assert read_workload(tmp_path / "w.jsonl") == workload


@pytest.mark.parametrize(
    ("times", "why"),
    [
        (b'{"small": [3]}', "1 run times for 'small', and the work 2 tasks"),
        (b'{"small": [3, -1]}', "a run time of times is -1"),
        (b'{"small": 3}', "not a work of a workload"),
    ],
)
def test_run_times_by_offer_that_do_not_fit_are_refused_in_one_line(times, why):
    with pytest.raises(InputError, match=why) as refused:
        parse_workload_lines(b'{"at": 1, "workflow": %s, "times": %s}' % (FLOW, times))
    assert "line 1" in str(refused.value) and "\n" not in str(refused.value)
