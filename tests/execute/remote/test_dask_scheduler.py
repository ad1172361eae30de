from __future__ import annotations

import socket
import threading

import pytest

from bursar.execute.remote import dask_scheduler
from bursar.execute.remote.dask_scheduler import SchedulerConfig, SchedulerError, SchedulerProcess
from bursar.execute.remote.security import make_credentials

pytest.importorskip("distributed")


@pytest.fixture
def held():
    """A port that somebody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_the_scheduler_of_a_resumed_run_waits_until_its_port_is_free(held):
    port = held.getsockname()[1]
    threading.Timer(1.5, held.close).start()
    scheduler = SchedulerProcess(SchedulerConfig("127.0.0.1", port, make_credentials()))
    scheduler.close()
    assert scheduler.address == f"tls://127.0.0.1:{port}"


def test_a_port_that_stays_taken_is_said_to_be_so(held, monkeypatch):
    monkeypatch.setattr(dask_scheduler, "HANDED_OVER_S", 0.0)
    config = SchedulerConfig("127.0.0.1", held.getsockname()[1], make_credentials())
    with pytest.raises(SchedulerError, match=r"does not start at 127.0.0.1:\d+ .*port free"):
        SchedulerProcess(config)
