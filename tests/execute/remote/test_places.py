"""The directories of agents: private, one agent each, and nothing left of dead ones."""

from __future__ import annotations

import os

import pytest

from bursar.execute.remote.places import AgentPlace, PlaceError, end_agent, found_agents, root


@pytest.fixture(autouse=True)
def machine_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))
    return tmp_path / "m"


def test_a_machine_has_one_agent():
    first = AgentPlace.take("run/1")
    assert first is not None
    assert AgentPlace.take("run/1") is None
    other = AgentPlace.take("run/2")
    assert {one.token for one in found_agents()} == {"run/1", "run/2"}
    first.close()
    again = AgentPlace.take("run/1")
    assert again is not None
    again.close()
    other.close()
    assert not list(root().iterdir())


def test_what_a_killed_agent_left_is_removed_by_the_next_look():
    place = AgentPlace.take("run/1")
    (place.path / "attempts" / "17").mkdir()
    os.close(place._lock)  # as the kernel does for a dead process
    assert list(found_agents()) == []
    assert not list(root().iterdir())


def test_to_end_an_agent_that_is_not_there_is_no_error():
    assert not end_agent("run/1")


def test_a_directory_that_others_may_write_to_is_refused(machine_dir):
    machine_dir.mkdir()
    machine_dir.chmod(0o777)
    with pytest.raises(PlaceError, match="of this user alone"):
        root()


def test_a_link_in_its_place_is_refused(machine_dir, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    machine_dir.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlaceError):
        root()
