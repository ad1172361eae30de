"""A Dask worker that an agent started ends with it, whatever state it is in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.dask_cluster import eventually, free_port

# As an agent: it starts the worker of a scheduler that is not there, and lives on.
AGENT = """
import sys, time
from pathlib import Path
from bursar.execute.remote.carrier import Carrier
from bursar.execute.remote.messages import CarrierConfig
carrier = Carrier(CarrierConfig("tcp://127.0.0.1:{port}", "name", "handler"), Path(sys.argv[1]))
carrier.look(())
print(carrier._process.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("frozen", ["", "as it begins", "as it waits"])
def test_a_carrier_without_scheduler_ends_with_its_agent(tmp_path, frozen):
    code = AGENT.format(port=free_port())
    agent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    carrier = int(agent.stdout.readline())
    if frozen == "as it begins":
        os.kill(carrier, signal.SIGSTOP)
    else:
        log = tmp_path / "dask.log"
        assert eventually(lambda: "Waiting to connect" in log.read_text(), 60)
    if frozen == "as it waits":
        os.kill(carrier, signal.SIGSTOP)
    agent.kill()
    agent.communicate()
    try:
        assert eventually(lambda: not Path(f"/proc/{carrier}").exists(), 20), "it is left behind"
    finally:
        if Path(f"/proc/{carrier}").exists():
            os.kill(carrier, signal.SIGKILL)
