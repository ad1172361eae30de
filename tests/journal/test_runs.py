import os
import subprocess
import sys
from random import Random

import pytest

from bursar.journal.names import check_run_name
from bursar.journal.runs import Home
from bursar.model.errors import InputError

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
    return [home.create(name) for name in names]


def test_the_home_is_told_by_the_environment_or_is_beside_the_work():
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
    run.journal.touch()
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
    with pytest.raises(InputError, match="'amber' may be amber-fox, amber-finch: write more"):
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


def test_a_home_that_is_a_file_is_told(home):
    home.path.touch()
    with pytest.raises(InputError, match="home: file exists"):
        home.create("one")
    with pytest.raises(InputError, match="home: not a directory"):
        home.list()


def test_a_home_that_one_may_not_write_is_told(public_directory, as_ordinary_user):
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
            f"run amber-finch is being executed by process {os.getpid()}:"
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
