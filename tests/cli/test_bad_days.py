"""Bad days: one clear line, the right exit code, nothing lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.users import as_nobody

import bursar.cli.status
import bursar.cli.stop  # noqa: F401
from bursar.cli.main import main
from bursar.journal.replay import load_state

two_users = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")


def one_line(err):
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1, err
    return lines[0]


def wait_for(path, limit=30.0):
    end = time.monotonic() + limit
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.01)


# --- damaged journals -----------------------------------------------------------------------------


def spoil(journal, kind):
    data = bytearray(journal.read_bytes())
    if kind == "record":
        place = data.index(b'"AttemptStarted"')
        data[place + 25] ^= 1
    else:
        place = data.index(b"CREATE TRIGGER event_stays")
        data[place + 17] ^= 0x80
    journal.write_bytes(data)


def test_a_damaged_journal_is_reported_and_the_other_runs_are_shown(place):
    for name in ("good", "bad"):
        place.bursar("run", "-q", "--name", name, "true", ":::", "1", "2")
    spoil(place.path / ".bursar" / "bad" / "journal.db", "schema")
    out, _ = place.bursar("status")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert "done" in rows["good"]
    assert "unreadable: " in rows["bad"]
    listed = {run["run"]: run for run in json.loads(place.bursar("status", "--json")[0])}
    assert listed["good"]["status"] == "done"
    assert listed["bad"]["status"] == "unreadable"
    for verb in ("status", "resume"):
        assert "restore" in one_line(place.bursar(verb, "bad", code=1)[1])


def test_a_damaged_event_is_reported_by_all_who_read_the_events(place):
    place.bursar("run", "-q", "--name", "bad", "true", ":::", "1", "2")
    spoil(place.path / ".bursar" / "bad" / "journal.db", "record")
    assert "2/2" in place.bursar("status")[0], "the digest is whole"
    for words in (["resume", "bad"], ["why", "bad"], ["export", "bad", "--joblog", "log"]):
        assert "restore" in one_line(place.bursar(*words, code=1)[1])


# --- cut off before the first commit --------------------------------------------------------------


@pytest.mark.parametrize("left", ["nothing", "lock", "empty", "no-events"])
def test_a_run_killed_before_its_first_commit_is_started_again_as_it_is_reported(place, left):
    run = place.path / ".bursar" / "r"
    run.mkdir(parents=True)
    if left != "nothing":
        (run / "lock").touch()
    if left == "empty":
        (run / "journal.db").touch()
    if left == "no-events":
        from bursar.journal.writer import JournalWriter

        JournalWriter.create(run / "journal.db", "r").close()
    place.bursar("status")
    if left != "nothing":
        _, err = place.bursar("resume", "r", code=1)
        assert "never began: start it again" in one_line(err)
    place.bursar("run", "-q", "--name", "r", "true", ":::", "1")
    assert load_state(run / "journal.db").done == 1
    _, err = place.bursar("run", "-q", "--name", "r", "true", ":::", "1", code=2)
    assert "there is a run r already" in one_line(err)


# --- deleted meanwhile ----------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["run", "outputs"])
def test_a_run_whose_directory_is_deleted_meanwhile_says_so_and_ends(place, what):
    script = "touch began-{}; sleep 1; echo {}"
    words = ("--name", "r", "-o", "out", "--shell", script, ":::", *map(str, range(8)))
    process = place.popen("run", "-q", *words)
    wait_for(place.path / "began-1")
    shutil.rmtree(place.path / (".bursar/r" if what == "run" else "out"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    reported = one_line(err)
    assert "while the run was executed" in reported or "cannot write in its dir" in reported
    assert not (place.path / ".bursar" / "r").exists() or what == "outputs"


# --- full disks -----------------------------------------------------------------------------------


def fill_inodes(directory):
    fillers = []
    while True:
        filler = directory / f"filler-{len(fillers)}"
        try:
            filler.touch()
        except OSError:
            return fillers
        fillers.append(filler)


def test_inodes_that_are_used_up_before_a_run_are_reported(place, small_disk):
    disk = small_disk(inodes=30)
    place.environment["BURSAR_HOME"] = str(disk / "home")
    (disk / "home").mkdir()
    fillers = fill_inodes(disk)
    for spare in range(4):
        _, err = place.bursar("run", "-q", "--name", "r", "--shell", "echo {}", ":::", "1", code=1)
        reported = one_line(err)
        assert "inodes" in reported or "No space left" in reported, spare
        fillers.pop().unlink()
    for filler in fillers:
        filler.unlink()
    if (disk / "home" / "r").exists():
        place.bursar("resume", "r", "-q")
    else:
        place.bursar("run", "-q", "--name", "r", "--shell", "echo {}", ":::", "1")
    assert (disk / "home" / "r" / "outputs" / "1" / "stdout").read_text() == "1\n"


def test_inodes_that_are_used_up_during_a_run_fail_no_task(place, small_disk):
    """Every result needs inodes, and there are not enough: the run stops, and goes on later."""
    disk = small_disk(inodes=60)
    place.environment["BURSAR_HOME"] = str(disk / "home")
    fillers = [disk / f"filler-{n}" for n in range(30)]
    for filler in fillers:
        filler.touch()
    words = ("run", "-q", "--name", "r", "--shell", "echo {}; test {} -lt 15", ":::")
    _, err = place.bursar(*words, *map(str, range(20)), code=1)
    assert "continue with bursar resume" in one_line(err)
    run = disk / "home" / "r"
    before = load_state(run / "journal.db")
    assert 0 < before.done < 15
    assert all(task > 15 for task in before.failed_tasks), "only those that fail by themselves"
    for filler in fillers:
        filler.unlink()
    subprocess.run(["mount", "-o", "remount,nr_inodes=1000", str(disk)], check=True)
    reported = json.loads(place.bursar("resume", "r", "--json", code=3)[0])
    assert reported["tasks"] == {"total": 20, "done": 15, "failed": 5}
    for task in range(1, 16):
        assert (run / "outputs" / str(task) / "stdout").read_text() == f"{task - 1}\n"


# --- clocks ---------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_before_a_resume_forgets_no_charge(place):
    """The run is killed seconds after its last event; the wall clock then shows an hour less."""
    words = ("-m", "market.toml", "-b", "5", "--fleet", "small=1", "--name", "r")
    process = place.popen("run", "-q", *words, "--shell", "touch began; sleep 30; : {}", ":::", "1")
    wait_for(place.path / "began")
    time.sleep(2.5)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    killed = time.time()
    state = load_state(place.path / ".bursar" / "r" / "journal.db")
    lived = killed - state.created.began
    place.write("back.py", BACK)
    process = subprocess.Popen([sys.executable, "back.py", "resume", "r", "-q"], cwd=place.path)
    journal = place.path / ".bursar" / "r" / "journal.db"
    end = time.monotonic() + 30
    while not any(not charge.is_open for charge in load_state(journal).ledger.charges()):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGQUIT)
    process.wait(30)
    charge = next(c for c in load_state(journal).ledger.charges() if not c.is_open)
    assert charge.end - charge.begin >= (lived - 1.0) * 1e6


BACK = """
import sys, time
real = time.time
time.time = lambda: real() - 3600
from bursar.cli.main import main
main(sys.argv[1:])
"""


# --- other users ----------------------------------------------------------------------------------


@pytest.fixture
def shared_place(public_directory, place):
    """Runs in a directory that everybody may enter."""
    place.environment["BURSAR_HOME"] = str(public_directory)
    return public_directory


def asked_by_nobody(home, *words):
    """Exit code and output of bursar as another user runs it."""

    def do():
        os.environ["BURSAR_HOME"] = str(home)
        os.environ["NO_COLOR"] = "1"
        os.chdir("/")
        main(list(words))
        return 0

    child, reader = as_nobody(do)
    with os.fdopen(reader) as pipe:
        reported = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), reported


@two_users
@pytest.mark.parametrize("open_to_all", [False, True])
def test_to_stop_the_run_of_another_user_is_refused_in_one_line(place, shared_place, open_to_all):
    words = ("-q", "--name", "r", "--shell", "touch began; sleep 60; : {}", ":::", "1")
    process = place.popen("run", *words)
    wait_for(place.path / "began")
    if open_to_all:  # as earlier versions left them
        for path in (shared_place / "r", *(shared_place / "r").iterdir()):
            path.chmod(0o755)
    try:
        code, reported = asked_by_nobody(shared_place, "stop", "r")
        assert (code, one_line(reported)) == (
            2,
            "bursar: run r belongs to root: ask them, or do it as that user",
        )
        assert process.poll() is None
        if not open_to_all:
            code, reported = asked_by_nobody(shared_place, "status", "--json")
            assert code == 0
            assert "permission denied" in reported
            code, reported = asked_by_nobody(shared_place, "status", "r")
            assert code == 2
            assert "permission denied" in one_line(reported)
    finally:
        place.bursar("stop", "--now", "r")
        process.communicate(timeout=30)


@two_users
def test_nothing_of_a_run_can_be_read_by_others(place, shared_place):
    place.bursar("run", "-q", "--name", "r", "--shell", "echo secret; : {}", ":::", "1")

    def look():
        found = [path for path in Path(shared_place).rglob("*") if path.is_file()]
        return len(found)

    child, reader = as_nobody(look)
    os.close(reader)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (shared_place / "r").stat().st_mode & 0o777 == 0o700
