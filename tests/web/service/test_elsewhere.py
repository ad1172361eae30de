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
limit = 2
"""


def test_a_service_on_dask_survives_a_kill(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))
    (tmp_path / "market.toml").write_text(MARKET)
    words = ["--on", "dask", "--shared", "--market", "market.toml", "--port", "0"]
    service = Process(tmp_path, *words, "--user=ann=1/min", "--user=bob=1/min")
    try:
        ann, bob = service.client("ann"), service.client("bob")
        ann.submit_workflow(FLOW, filename="flow.yaml")
        ann.wait(1, 120)
        bob.submit_bag("sleep 0.5", repeat=4)
        service.kill()
        service.words = ["--resume", "service"]
        service.start()
        assert bob.wait(2, 120)["status"] == "done"
        assert ann.work(1)["done"] == 3
        assert (tmp_path / "joined").read_text() == (tmp_path / "part").read_text() * 2
    finally:
        service.end()
