"""A service whose machines are elsewhere: killed and started again, it goes on with them."""

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.web.service.test_resume import FLOW, Process

MARKET = """
[[offer]]
name = "lab"
price = "0.01"
billing = "40s"
slots = 2
limit = 1
"""


def test_a_service_on_dask_survives_a_kill(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))
    (tmp_path / "market.toml").write_text(MARKET)
    words = ["--on", "dask", "--market", "market.toml", "--port", "0", "--user=ann=1/min"]
    service = Process(tmp_path, *words)
    try:
        client = service.client("ann")
        client.submit_workflow(FLOW, filename="flow.yaml")
        assert client.wait(1, 120)["status"] == "done"
        client.submit_bag("sleep 0.5", repeat=4)
        service.kill()
        service.words = ["--resume", "service"]
        service.start()
        assert client.wait(2, 120)["status"] == "done"
        assert client.work(1)["done"] == 3
        files = service.home / "outputs" / "files"
        assert (files / "joined").read_text() == (files / "part").read_text() * 2
    finally:
        service.end()
