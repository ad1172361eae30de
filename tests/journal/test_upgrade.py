"""Journals that were written before a work had an owner are read as if they were new."""

import sqlite3
from zlib import crc32

import pytest

from bursar.journal.reader import JournalReader
from bursar.journal.records import decode_event
from bursar.journal.replay import load_state
from bursar.journal.upgrade import upgraded
from bursar.journal.writer import JournalWriter
from bursar.model.errors import JournalError
from bursar.model.time import HOUR
from bursar.model.workflow import Workflow
from bursar.state import events as ev

OLD = (
    '{"type":"RunCreated","at":0,"run":"scene","market":{"currency":"USD","date":"undated",'
    '"offers":[{"name":"small","price":"0.10","billing":3600000000,"minimum":0,"limit":null'
    ',"boot":0,"slots":1,"speed":1.0,"pool":"reliable"}]},"goal":{"budget":"2.00"},"limits"'
    ':{},"seed":0,"policies":{},"settings":{},"began":0.0}',
    '{"type":"WorkArrived","at":0,"bag":{"count":2,"template":["echo","{}"],"columns":["1"]'
    ',"rows":[["a"],["b"]]}}',
    '{"type":"WorkflowArrived","at":5,"flow":{"name":"two steps","owner":"ann","priority":3'
    ',"deadline":7200000000,"names":["first","second"],"parents":[[],[0]],"kind_names":["fi'
    'rst","second"],"kinds":[0,1],"commands":[["/bin/sh","-c","echo 1"],["cat","f"]],"runti'
    'mes":[null,null],"files":{"names":["f"],"sizes":[-1],"read":[[],[]],"written":[[0],[]]'
    "}}}",
    '{"type":"ArrivalsEnded","at":6}',
    '{"type":"MachineRented","at":6,"machine":1,"offer":"small","until":3600000006}',
    '{"type":"MachineUp","at":6,"machine":1}',
    '{"type":"AttemptStarted","at":6,"attempt":1,"task":1,"machine":1}',
    '{"type":"AttemptEnded","at":1800000000,"attempt":1,"outcome":"success","runtime":1799999994}',
    '{"type":"AttemptStarted","at":1800000000,"attempt":2,"task":3,"machine":1,"reason":"next"}',
)
"""A run of a bag and a workflow, as it was journaled when each had an event of its own."""


WITH_OWNERS = (
    OLD[0],
    '{"type":"WorkArrived","at":0,"work":{"tasks":{"type":"Workflow","name":"two steps","owner"'
    ':"ann","priority":3,"deadline":7200000000,"names":["first","second"],"parents":[[],[0]],'
    '"kind_names":["first","second"],"kinds":[0,1],"runtimes":[null,null]},"owner":"ann",'
    '"priority":3,"deadline":7200000000}}',
    '{"type":"WorkArrived","at":0,"work":{"tasks":{"type":"Bag","count":2},"owner":"bob"}}',
    '{"type":"PlanChosen","at":1,"name":"knee","fleet":{"small":2},"makespan_p50":1,'
    '"makespan_upper":2,"cost_p50":"0.10","cost_upper":"0.20","assigned":{"offers":["small"],'
    '"tasks":[0,0]}}',
    '{"type":"StrategyChosen","at":2,"strategy":{"copies":1,"timeout":60,"deadline":120,'
    '"ratio":0.1}}',
    '{"type":"AssignmentChanged","at":3,"assigned":{"offers":["small"],"tasks":[0,0]},'
    '"fleet":{"small":1},"why":"slow"}',
)
"""Works with owners, which their workflows told once more; plans of the run as a whole."""


def stored(path, records):
    JournalWriter.create(path, "scene").close()
    connection = sqlite3.connect(path)
    rows = [(seq, record, crc32(record.encode(), seq)) for seq, record in enumerate(records, 1)]
    connection.executemany("INSERT INTO event (seq, record, crc) VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def old(tmp_path):
    return stored(tmp_path / "journal.db", OLD)


def test_an_old_journal_gives_its_state(old):
    state = load_state(old)
    state.check()
    assert (state.total, state.done, state.waiting) == (4, 1, 1)
    assert [work.owner for _, work in state.work] == ["", "ann"]
    assert (state.work[1][1].priority, state.work[1][1].deadline) == (3, 2 * HOUR)
    assert isinstance(state.work[1][1].tasks, Workflow)
    assert state.command(2) == ("echo", "b")
    assert state.describe(4) == "second: cat f"


def test_what_a_workflow_reported_of_its_owner_is_reported_by_its_work(tmp_path):
    state = load_state(stored(tmp_path / "journal.db", WITH_OWNERS))
    state.check()
    (_, first), (_, second) = state.work
    assert (first.owner, first.priority, first.deadline) == ("ann", 3, 2 * HOUR)
    assert type(first.tasks) is Workflow
    assert first.tasks.names == ("first", "second")
    assert (second.owner, second.count) == ("bob", 2)


def test_plans_of_a_whole_run_are_those_of_its_first_work(tmp_path):
    state = load_state(stored(tmp_path / "journal.db", WITH_OWNERS))
    plans = state.plans_of(1)
    assert plans.chosen.name == "knee"
    assert plans.chosen.assigned.of(2) == "small"
    assert plans.strategy.strategy.copies == 1
    assert plans.assignment.fleet == {"small": 1}
    assert list(state.plans) == [1]


def test_an_old_journal_is_continued_in_the_present_form(old):
    before = [*JournalReader(old).events()]
    with JournalWriter(old) as writer:
        writer.append(ev.StopRequested(HOUR, "interrupted", "enough"))
        writer.commit(safely=True)
    with JournalReader(old) as reader:
        assert [*reader.events()][:-1] == before
        assert [type(event) for event in before].count(ev.WorkArrived) == 2


def test_what_no_version_wrote_is_not_read():
    assert upgraded('{"type":"WorkArrived","at":0,"bag":{"count":1},"more":2}') is None
    with pytest.raises(JournalError, match="event 7 cannot be read"):
        decode_event('{"type":"WorkArrived","at":0}', "old", 7)
