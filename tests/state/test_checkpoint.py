"""No field of the state is forgotten by a checkpoint."""

import msgspec
import pytest

from bursar.model.collection import IndexedSet
from bursar.state import checkpoint
from bursar.state.attempts import AttemptLog, Failure
from bursar.state.charges import Charge
from bursar.state.ledger import Ledger
from bursar.state.precedence import Precedence
from bursar.state.state import RunState
from bursar.state.time_series import AccountSeries, TimeSeries
from bursar.state.view import Attempt, Machine
from bursar.state.works import Works

WHY = "say in bursar.state.checkpoint what becomes of this field, and count VERSION up"
KNOWN = {
    AttemptLog: set(checkpoint.LOG_COLUMNS),
    Ledger: {"now", "committed", "spent", "_open", "_units", "_closed", "_accounts"},
    Precedence: {"_missing", "_children", "_firsts", "_rows"},
    Works: {
        "events",
        "recall",
        "_arrived",
        "_before",
        "_left",
        "_kept",
        "_latest",
        "have_owners",
        "_priorities",
    },
}
STRUCTS = {
    Machine: {"id", "offer", "rented", "until", "up", "marked", "releasing", "doomed", "down"}
    | {"attempts", "waiting", "account"},
    Attempt: {"id", "task", "machine", "started", "measure", "cancelling"},
    Charge: {"machine", "offer", "begin", "end", "is_open", "account", "was_lost"},
}


def test_every_field_of_the_state_is_stored_or_rebuilt():
    stored = checkpoint.Plain.__struct_fields__ + checkpoint.COLUMNS + checkpoint.SETS
    reported = stored + checkpoint.SERIES + checkpoint.REBUILT
    assert len(reported) == len(set(reported))
    assert set(reported) == set(RunState.__struct_fields__), WHY


@pytest.mark.parametrize("kind", KNOWN)
def test_every_field_of_its_parts_is_known(kind):
    part = kind({}) if kind is Ledger else kind()
    assert set(vars(part)) == KNOWN[kind], WHY


@pytest.mark.parametrize("kind", STRUCTS)
def test_every_field_of_machines_attempts_and_charges_is_known(kind):
    assert set(kind.__struct_fields__) == STRUCTS[kind], WHY


def test_every_field_of_what_has_slots_is_known():
    assert set(Failure.__slots__) == {"attempt", "exit_code", "why"}, WHY
    assert set(IndexedSet.__slots__) == {"_where"}, WHY
    columns = {"times", "notes", "sums"}
    assert set(TimeSeries.__slots__) == {"value", "moment", "due"} | columns, WHY
    assert set(AccountSeries.__slots__) == {"series", "whole"}, WHY


def test_what_is_no_checkpoint_is_refused():
    for data in (b"", b"\x80", checkpoint.to_bytes(RunState())[:-1]):
        with pytest.raises(msgspec.MsgspecError):
            checkpoint.from_bytes(data, lambda number: pytest.fail("nothing arrived"))
