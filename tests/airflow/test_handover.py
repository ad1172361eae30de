"""Task instances at a service, without Airflow: a script stands for what Airflow would execute."""

import sys

import pytest
from tests.dask_cluster import eventually
from tests.web.service.conftest import Served

from bursar.airflow.handover import OVERDUE, PATIENT, Handover
from bursar.airflow.submission import Fate, task_file
from bursar.airflow.task_files import HandedFiles
from bursar.client import Client, ServiceError

PYTHON = """#!/bin/sh
# -m bursar.airflow.execute FILE: does what the file says, and notes that it began
echo "$3" >> {notes}
exec sh -c "$({real} -c 'import json,sys; print(json.load(open(sys.argv[1]))["workload"])' "$3")"
"""


class Site:
    """A service, the directory of the files, and a clock that is set by hand."""

    def __init__(self, path, served):
        self.path, self.served, self.now = path, served, 1000.0
        self.notes = path / "notes"
        self.python = path / "python"
        self.python.write_text(PYTHON.format(notes=self.notes, real=sys.executable))
        self.python.chmod(0o755)
        self.files = HandedFiles(path / "tasks")

    def handover(self, user="admin"):
        """As a scheduler has it after it was started."""
        client = self.served.client(user, patience=0)
        return Handover(client, self.files, str(self.python), lambda: self.now)

    def begun(self):
        return len(self.notes.read_text().split()) if self.notes.exists() else 0

    def works(self):
        return list(self.served.client("admin").works())

    def ended(self, handover, states):
        """What became of those that are settled, when there are as many as asked for."""
        found = {}

        def all_settled():
            for news in handover.sync(states):
                if news.fate is not Fate.GOES_ON:
                    found[news.ident] = news.fate
            return not len(handover)

        assert eventually(all_settled)
        return found


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    served = Served(tmp_path)
    yield Site(tmp_path, served)
    served.close()


def telling(command, account="ann"):
    return task_file(account, 0, f'"{command}"'.encode())


def test_what_is_handed_over_runs_for_its_account_and_its_end_is_reported(site):
    handover = site.handover()
    handover.hand("good", telling("true", "ann"))
    handover.hand("bad", telling("exit 3", "bob"))
    assert site.ended(handover, {"good": "running", "bad": "running"}) == {
        "good": Fate.ENDED,
        "bad": Fate.BROKEN,
    }
    assert [one["owner"] for one in site.works()] == ["ann", "bob"]
    assert list(site.files.idents()) == []


def test_a_scheduler_that_was_killed_finds_its_tasks_and_nothing_runs_twice(site):
    first = site.handover()
    first.hand("sent", telling("sleep 1"))
    list(first.sync({"sent": "queued"}))
    first.hand("unsent", telling("true"))
    second = site.handover()
    assert sorted(second.left_behind()) == ["sent", "unsent"]
    assert second.adopt("sent")
    assert second.adopt("unsent")
    assert not second.adopt("unknown")
    assert second.left_behind() == []
    fates = site.ended(second, {"sent": "running", "unsent": "running"})
    assert fates == {"sent": Fate.ENDED, "unsent": Fate.ENDED}
    assert site.begun() == 2
    assert len(site.works()) == 2


def test_what_is_not_wanted_any_more_never_begins(site):
    handover = site.handover()
    for name in ("a", "b"):  # which keep both machines busy
        handover.hand(name, telling("sleep 30"))
    handover.hand("waits", telling("true"))
    states = {"a": "running", "b": "running", "waits": "queued"}
    assert eventually(lambda: not list(handover.sync(states)) and site.begun() == 2)
    (news,) = handover.sync({**states, "waits": "failed"})
    assert (news.ident, news.fate) == ("waits", Fate.UNWANTED)
    assert [one["status"] for one in site.works()] == ["running", "running", "cancelled"]
    assert site.begun() == 2


def test_a_process_that_does_not_end_itself_is_ended(site):
    handover = site.handover()
    handover.hand("one", telling("sleep 30"))
    assert eventually(lambda: not list(handover.sync({"one": "running"})) and site.begun() == 1)
    assert list(handover.sync({"one": "failed"})) == []
    site.now += OVERDUE + 1
    (news,) = handover.sync({"one": "failed"})
    assert news.fate is Fate.UNWANTED
    assert [one["status"] for one in site.works()] == ["cancelled"]


def test_that_a_task_waits_is_said_once(site):
    handover = site.handover()
    for name in ("a", "b", "c"):
        handover.hand(name, telling("sleep 30"))
    states = dict.fromkeys("abc", "queued")
    assert eventually(lambda: not list(handover.sync(states)) and site.begun() == 2)
    site.now += PATIENT + 1
    (news,) = handover.sync(states)
    assert news.fate is Fate.GOES_ON
    assert "waits for a machine" in news.line
    assert list(handover.sync(states)) == []


def test_an_unknown_account_is_refused_and_the_others_go_on(site):
    handover = site.handover()
    handover.hand("strange", telling("true", "carol"))
    handover.hand("good", telling("true"))
    news = list(handover.sync({"strange": "queued", "good": "queued"}))
    assert news[0].fate is Fate.BROKEN
    assert news[0].line == "bursar refuses it: no user 'carol'; there are ann, bob"
    assert site.ended(handover, {"good": "running"}) == {"good": Fate.ENDED}


def test_the_token_of_a_user_submits_for_that_user_only(site):
    handover = site.handover("ann")
    handover.hand("hers", telling("true", "ann"))
    handover.hand("his", telling("true", "bob"))
    news = [one for one in handover.sync({}) if one.ident == "his"]
    assert news[0].fate is Fate.BROKEN
    assert "for ann only" in news[0].line


def test_without_an_answer_everything_stays_as_it_is(site):
    client = Client("127.0.0.1:9", "token", patience=0)
    handover = Handover(client, site.files, str(site.python), lambda: site.now)
    handover.hand("one", telling("true"))
    with pytest.raises(ServiceError, match="does not answer"):
        list(handover.sync({"one": "queued"}))
    wrong = Client(site.served.url, "wrong", patience=0)
    handover._client = wrong
    with pytest.raises(ServiceError, match="token is missing or wrong"):
        list(handover.sync({"one": "queued"}))
    wrong.close()
    assert len(handover) == 1
    assert list(site.files.idents()) == ["one"]
    handover._client = site.served.client("admin", patience=0)
    assert site.ended(handover, {"one": "running"}) == {"one": Fate.ENDED}


def test_a_file_that_was_removed_is_reported(site):
    handover = site.handover()
    handover.hand("one", telling("true"))
    site.files.remove("one")
    (news,) = handover.sync({"one": "queued"})
    assert news.fate is Fate.BROKEN
    assert "cannot be read" in news.line


def test_what_ended_while_no_scheduler_ran_leaves_no_file(site):
    first = site.handover()
    first.hand("one", telling("true"))
    list(first.sync({"one": "queued"}))
    assert eventually(lambda: [one["status"] for one in site.works()] == ["done"])
    second = site.handover()
    for ident in second.left_behind():  # Airflow has it as a success, so nobody adopts it
        second.adopt(ident)
    site.ended(second, {})
    assert list(site.files.idents()) == []
    assert site.begun() == 1
