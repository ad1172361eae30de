"""Journals that were written before a work had an owner are read as if they were new."""

import sqlite3
from zlib import crc32

import pytest

from bursar.journal.replay import load_state
from bursar.journal.store import JournalReader, JournalWriter, decode
from bursar.journal.upgrade import upgraded
from bursar.model.errors import JournalError
from bursar.model.flow import Flow
from bursar.model.time import HOUR
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


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "journal.db"
    JournalWriter.create(path, "scene").close()
    connection = sqlite3.connect(path)
    rows = [(seq, record, crc32(record.encode(), seq)) for seq, record in enumerate(OLD, 1)]
    connection.executemany("INSERT INTO event (seq, record, crc) VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_an_old_journal_gives_its_state(old):
    state = load_state(old)
    state.check()
    assert (state.total, state.done, state.waiting) == (4, 1, 1)
    assert [work.owner for _, work in state.work] == ["", "ann"]
    assert (state.work[1][1].priority, state.work[1][1].deadline) == (3, 2 * HOUR)
    assert isinstance(state.work[1][1].tasks, Flow)
    assert state.command(2) == ("echo", "b")
    assert state.describe(4) == "second: cat f"


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
        decode('{"type":"WorkArrived","at":0}', "event 7")
