import fcntl
import os
import shutil
import subprocess
import sys
from random import Random

import pytest
from tests.users import foreign

from bursar.journal.names import check_run_name
from bursar.journal.runs import Home
from bursar.journal.writer import JournalWriter
from bursar.model.errors import InputError, JournalError
from bursar.state import events as ev

ACQUIRE = """
import sys
from bursar.journal.runs import Home
from bursar.model.errors import InputError
try:
    Home(sys.argv[1]).find("amber-finch").acquire()
except InputError as error:
    print(error)
"""


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def make(home, *names):
    """Runs that have begun."""
    made = [home.create(name) for name in names]
    for run in made:
        with JournalWriter.create(run.journal, run.name) as journal:
            journal.append(ev.MachineUp(0, 1))
            journal.commit(safely=False)
    return made


def test_the_home_is_reported_by_the_environment_or_is_beside_the_work():
    assert Home.of({"BURSAR_HOME": "/somewhere"}).path.as_posix() == "/somewhere"
    assert Home.of({}).path.as_posix() == Home.of({"BURSAR_HOME": ""}).path.as_posix() == ".bursar"


def test_a_run_has_a_directory_of_its_own(home):
    run = home.create("amber-finch")
    assert run.path == home.path / "amber-finch"
    assert run.path.is_dir()
    assert run.journal == run.path / "journal.db"
    assert run.outputs == run.path / "outputs"
    assert home.find("amber-finch") == run


def test_runs_without_a_name_get_different_ones(home):
    names = [home.create(rng=Random(7)).name for _ in range(3)]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]
    assert check_run_name(home.create().name)


def test_a_name_is_given_once(home):
    make(home, "amber-finch")
    with pytest.raises(InputError, match="there is a run amber-finch already: choose another"):
        home.create("amber-finch")


@pytest.mark.parametrize("name", ["../escape", "", "last", "-x"])
def test_names_that_are_no_names_make_no_directory(home, name):
    with pytest.raises(InputError):
        home.create(name)
    assert not home.path.exists()


def test_runs_are_listed_with_the_most_recent_first(home):
    made = make(home, "one", "two", "three")
    assert home.list() == made[::-1]
    assert made[0].created < made[1].created < made[2].created


def test_what_is_no_run_is_not_listed(home):
    make(home, "one")
    (home.path / "notes").mkdir()
    (home.path / "readme.txt").touch()
    assert [run.name for run in home.list()] == ["one"]


def test_a_run_that_was_copied_without_its_lock_is_a_run(home):
    (run,) = make(home, "one")
    run.lock.unlink()
    assert [run.name for run in home.list()] == ["one"]
    assert run.owner() is None


def test_a_home_that_is_not_there_has_no_runs(home):
    assert home.list() == []
    with pytest.raises(InputError, match=r"no runs in .*: start one with bursar run"):
        home.find()


def test_a_run_is_found_by_its_name_or_the_beginning_of_it(home):
    make(home, "amber-finch", "amber-fox", "jade-otter", "jade")
    assert home.find("amber-fox").name == "amber-fox"
    assert home.find("amber-fi").name == "amber-finch"
    assert home.find("jade-").name == "jade-otter"
    assert home.find("jade").name == "jade", "an exact name wins"


def test_without_a_name_the_most_recent_run_is_meant(home):
    make(home, "zulu", "alpha")
    assert home.find().name == home.find("last").name == "alpha"


def test_a_beginning_of_several_names_is_not_guessed(home):
    make(home, "amber-finch", "amber-fox")
    with pytest.raises(InputError, match="'amber' matches amber-fox, amber-finch: write more"):
        home.find("amber")


def test_an_unknown_name_is_answered_with_the_nearest(home):
    make(home, "amber-finch", "jade-otter")
    with pytest.raises(InputError, match=r"no run 'amber-fnich' in .*did you mean amber-finch\?"):
        home.find("amber-fnich")
    with pytest.raises(InputError, match=r"no run 'xyz' in .*the latest are jade-otter, amber-fi"):
        home.find("xyz")
    make(home, *(f"run{n}" for n in range(5)))
    with pytest.raises(InputError, match="the latest are run4, run3, run2, run1, run0 and 2 more"):
        home.find("")


def test_a_home_that_is_a_file_is_reported(home):
    home.path.touch()
    with pytest.raises(InputError, match="home: file exists"):
        home.create("one")
    with pytest.raises(InputError, match="home: not a directory"):
        home.list()


def test_a_home_that_one_may_not_write_is_reported(public_directory, as_ordinary_user):
    public_directory.chmod(0o555)
    with as_ordinary_user():
        with pytest.raises(InputError, match="permission denied"):
            Home(public_directory).create("one")
        with pytest.raises(InputError, match="permission denied"):
            Home(public_directory / "deeper").create()


def test_a_run_is_executed_by_one_process(home):
    (run,) = make(home, "amber-finch")
    assert run.owner() is None
    with run.acquire():
        assert run.owner() == os.getpid()
        message = (
            f"run amber-finch is being run by process {os.getpid()}:"
            " wait for it, or bursar stop amber-finch"
        )
        with pytest.raises(InputError, match=message):
            run.acquire()
        other = subprocess.run(
            [sys.executable, "-c", ACQUIRE, home.path], capture_output=True, text=True, check=True
        )
        assert other.stdout.strip() == message
    assert run.owner() is None


def test_a_run_keeps_its_age_when_it_is_executed_again(home):
    first, last = make(home, "first", "last-one")
    with first.acquire():
        pass
    assert home.find() == last
    assert home.list()[1] == first


# --- cut off while it was made --------------------------------------------------------------------


def without_events(run):
    JournalWriter.create(run.journal, run.name).close()


@pytest.mark.parametrize(
    "left",
    [
        lambda run: None,
        lambda run: run.lock.unlink(),
        lambda run: run.journal.touch(),
        without_events,
    ],
    ids=["lock", "directory", "empty-journal", "no-events"],
)
def test_a_run_that_was_killed_before_its_first_commit_can_be_started_again(home, left):
    left(home.create("amber"))
    again = home.create("amber")
    assert again.path.is_dir()
    assert not again.journal.exists()
    make_of = JournalWriter.create(again.journal, "amber")
    make_of.append(ev.MachineUp(0, 1))
    make_of.commit(safely=True)
    make_of.close()
    with pytest.raises(InputError, match="there is a run amber already"):
        home.create("amber")


def test_a_run_that_is_just_being_made_is_left_to_who_makes_it(home):
    run = home.create("amber")
    with run.acquire(), pytest.raises(InputError, match="there is a run amber already"):
        home.create("amber")


def test_a_journal_that_cannot_be_read_is_no_run_that_never_began(home):
    (run,) = make(home, "amber")
    run.journal.write_bytes(b"x" * 5_000)
    with pytest.raises(InputError, match="there is a run amber already"):
        home.create("amber")
    assert run.journal.read_bytes() == b"x" * 5_000


def test_a_run_that_finds_no_space_leaves_nothing(small_disk):
    place = small_disk(inodes=5)
    home = Home(place / "home")
    home.path.mkdir()
    (place / "filler").touch()
    with pytest.raises(JournalError, match=r"the disk is full: free some space \(or inodes"):
        for _ in range(9):
            home.create()
    runs = home.list()
    (place / "filler").unlink()
    assert all(run.lock.exists() for run in runs)
    assert len(list(home.path.iterdir())) == len(runs)


# --- other users ----------------------------------------------------------------------------------

two_users = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")


def test_a_run_may_be_read_by_its_owner_only(home):
    umask = os.umask(0)
    try:
        run = home.create("amber")
        with run.acquire():
            modes = [path.stat().st_mode & 0o777 for path in (run.path, run.lock)]
    finally:
        os.umask(umask)
    assert modes == [0o700, 0o600]


def test_a_run_of_before_is_shut_to_others_when_it_is_taken_up(home):
    (run,) = make(home, "amber")
    for path in (run.path, run.journal, run.lock):
        path.chmod(0o755)
    run.shut_others_out()
    modes = [path.stat().st_mode & 0o777 for path in (run.path, run.journal, run.lock)]
    assert modes == [0o700, 0o600, 0o600]


@two_users
def test_whoever_may_only_read_the_lock_of_a_run_does_not_hold_it(public_directory):
    (run,) = make(Home(public_directory), "amber")
    run.path.chmod(0o755)
    run.lock.chmod(0o644)
    age = run.lock.stat().st_mtime

    def hold():
        descriptor = os.open(run.lock, os.O_RDONLY)
        fcntl.lockf(descriptor, fcntl.LOCK_SH)
        return descriptor

    with foreign(hold):
        assert run.owner() is None
        with run.acquire():
            assert run.owner() == os.getpid()
            with pytest.raises(InputError, match="is being run by process"):
                run.acquire()
    assert run.lock.stat().st_mtime == age


@two_users
def test_the_runs_of_others_are_listed_and_said_to_be_theirs(public_directory, as_ordinary_user):
    make(Home(public_directory), "amber")
    with as_ordinary_user():
        assert [found.name for found in Home(public_directory).list()] == ["amber"]
        with pytest.raises(InputError, match="run amber belongs to root: ask them"):
            Home(public_directory).find("amber").owner()


# --- where it is ----------------------------------------------------------------------------------


def test_runs_are_found_wherever_one_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (made,) = make(Home("home"), "amber")
    found = Home("home").find("amber")
    monkeypatch.chdir("/")
    assert made.journal.exists()
    assert found.journal.exists()


def test_a_copy_of_a_run_lives_in_another_place(home):
    (run,) = make(home, "amber")
    shutil.copytree(run.path, home.path / "copy")
    assert home.find("copy").place() != run.place()
    run.path.rename(home.path / "moved")
    assert home.find("moved").place() != home.find("copy").place()
