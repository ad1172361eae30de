"""What a machine does with orders: files that tasks read, and leases that come twice."""

import stat
import time

import pytest

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.machine_work import WORKING, MachineWork
from bursar.model.time import MINUTE, SECOND

FILE = stat.S_IFREG | 0o755


@pytest.fixture
def work(tmp_path, monkeypatch):
    for name in WORKING:
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    config = m.AgentConfig(
        token="work/1",
        run="work",
        machine=1,
        offer="lab",
        slots=1,
        speed=1.0,
        stay=MINUTE,
        expires=time.time() + 60,
    )
    made = MachineWork(config, tmp_path, boottime() + MINUTE)
    made.obey(m.SetLease(boottime(), 5 * MINUTE))
    yield made
    made.close()


def ended(work):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for report in work.poll(boottime() + SECOND // 10):
            return report
    raise AssertionError("nothing ended")


def test_a_lease_that_was_late_shortens_no_newer_one(work):
    before, now = work.until, boottime()
    work.obey(m.SetLease(now, MINUTE))
    assert work.until == before
    work.obey(m.SetLease(now, 9 * MINUTE))
    assert work.until == now + 9 * MINUTE


def test_a_task_finds_its_files_and_those_of_the_working_directory_and_only_results_return(
    work, tmp_path
):
    from io import BytesIO

    from bursar.execute.remote.packs import unpack

    (tmp_path / "work/tool.sh").write_text("#!/bin/sh\ncat deep/in > out/result; cat other\n")
    (tmp_path / "work/tool.sh").chmod(0o755)
    (tmp_path / "work/out").mkdir()
    (tmp_path / "work/out/kept").write_text("of the directory")
    (tmp_path / "work/other").write_text("undeclared\n")
    for offset, part in ((0, b"decl"), (4, b"ared")):
        work.obey(m.TakeInput("2/deep/in", offset, part, FILE, is_last=offset > 0))
    work.obey(m.StartStaged(7, 3, ("./tool.sh",), 2, ("deep/in",), ("out/result",)))
    report = ended(work)
    assert (report.outcome, report.exit_code) == ("success", 0), report
    unpack(BytesIO(report.packed), tmp_path / "back")
    files = {
        path.relative_to(tmp_path / "back").as_posix()
        for path in (tmp_path / "back").rglob("*")
        if not path.is_dir()
    }
    assert files == {"stdout", "stderr", "files/out/result"}
    assert (tmp_path / "back/files/out/result").read_text() == "declared"
    assert (tmp_path / "back/stdout").read_text() == "undeclared\n"
    assert (tmp_path / "work/out/kept").read_text() == "of the directory"


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped"])
def test_a_file_is_put_nowhere_but_among_the_inputs(work, tmp_path, name):
    work.obey(m.TakeInput(name, 0, b"x", FILE, is_last=True))
    assert isinstance(ended(work), m.FilesFailed)
    assert not (tmp_path / "escaped").exists()


def test_a_task_whose_file_never_came_fails_and_says_so(work):
    work.obey(m.StartStaged(8, 4, ("true",), 1, ("gone",), ()))
    report = ended(work)
    assert (report.outcome, report.exit_code) == ("failed", 126)
