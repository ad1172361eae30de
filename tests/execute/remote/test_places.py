"""The directories of agents: private, one agent each, and nothing left of dead ones."""

from __future__ import annotations

import os
import socket

import pytest

from bursar.execute.remote.places import (
    AgentPlace,
    PlaceError,
    end_agent,
    found_agents,
    root,
    socket_name,
)


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


def test_what_a_killed_agent_left_is_removed_by_the_next_agent():
    place = AgentPlace.take("run/1")
    os.close(place._lock)
    other = AgentPlace.take("run/2")
    assert [one.name for one in root().iterdir()] == [other.path.name]
    other.close()


def test_a_socket_has_a_name_however_deep_it_lies(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as end:
        with socket_name(deep / "socket") as name:
            listener.bind(name)
        listener.listen()
        with socket_name(deep / "socket") as name:
            end.connect(name)
    assert (deep / "socket").is_socket()


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
