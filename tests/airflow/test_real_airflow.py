"""A real Airflow, whose scheduler is killed, and a real service: DAGs run within budgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import airflow_site
from tests.airflow_site import SLOW, AirflowSite
from tests.dask_cluster import eventually

HEAD = """
import os, time
from pathlib import Path
from airflow.sdk import dag, task

def begin(name):
    with Path(os.environ["NOTES"], name).open("a") as notes:
        print(os.getpid(), file=notes, flush=True)
"""
DAGS = {
    "hello": """
@dag(schedule=None, default_args={"owner": "ann"})
def hello():
    @task.sensor(poke_interval=1, timeout=600, mode="reschedule")
    def ready():
        begin("ready")
        return len(Path(os.environ["NOTES"], "ready").read_text().split()) > 1
    @task
    def first():
        return 20
    @task
    def second(number):
        Path(os.environ["NOTES"], "sum").write_text(str(number + 1))
    one = first()
    ready() >> one
    second(one)
hello()
""",
    "pair": """
@dag(schedule=None, default_args={"owner": "bob"})
def pair():
    @task(retries=3, retry_delay=1)
    def half(seconds):
        time.sleep(seconds)
    half.expand(seconds=[15, 15])
pair()
""",
    "long": """
@dag(schedule=None, default_args={"owner": "someone"})
def long():
    for name in ("marked", "cleared", "steady"):
        @task(task_id=name, executor_config={"bursar": {"account": "ann"}})
        def wait(name=name):
            begin(name)
            while not Path(os.environ["NOTES"], f"{name}.go").exists():
                time.sleep(0.2)
        wait()
long()
""",
    "stranger": """
@dag(schedule=None, default_args={"owner": "carol"})
def stranger():
    @task
    def never():
        begin("never")
    never()
stranger()
""",
}
LONG = ("marked", "cleared", "steady")


@pytest.fixture
def site(tmp_path, monkeypatch):
    if airflow_site.WHY_NOT:
        pytest.skip(airflow_site.WHY_NOT)
    monkeypatch.setenv("NOTES", str(tmp_path))
    dags = {name: HEAD + text for name, text in DAGS.items()}
    made = AirflowSite(tmp_path, dags, ["ann=1/min", "bob=0.10/min"])
    yield made
    made.close()


@pytest.mark.timeout(1800)
def test_dags_run_within_the_budgets_of_their_owners_also_if_the_scheduler_is_killed(site):
    runs = {dag: site.trigger(dag) for dag in DAGS}

    # All of a long DAG runs. Bob has money for one machine: half of his DAG waits and says so. On a
    # busy computer his machine may have to go before its task has ended, which is then retried.
    assert eventually(lambda: all(begun(site, name) for name in LONG), SLOW), site.last()
    assert eventually(lambda: any("waits for money" in one for one in site.reported("pair")), SLOW)
    assert {one["owner"] for one in site.client.works()} == {"ann", "bob"}

    site.kill("scheduler")
    site.start("scheduler")
    assert eventually(lambda: adopted(site) >= set(LONG), SLOW), site.last()

    # A task that is marked as failed ends; so does one that is cleared, and it begins again.
    site.mark("long", runs["long"], "marked", "failed")
    site.clear("long", runs["long"], "cleared")
    assert eventually(lambda: not is_alive(begun(site, "marked")[0]), SLOW)
    assert eventually(lambda: len(begun(site, "cleared")) == 2, SLOW), site.last()
    assert not is_alive(begun(site, "cleared")[0])
    for name in ("cleared", "steady"):
        (site.place / f"{name}.go").touch()

    ended = {"hello": "success", "pair": "success", "long": "failed", "stranger": "failed"}
    for dag, state in ended.items():
        is_over = eventually(lambda dag=dag: site.run_state(dag, runs[dag]) != "running", SLOW)
        assert is_over, (dag, site.last())
        assert site.run_state(dag, runs[dag]) == state, (dag, site.last())
    assert (site.place / "sum").read_text() == "21"
    assert len(begun(site, "ready")) == 2  # queued twice in one try, as sensors are
    tasks = site.tasks("long", runs["long"])
    assert {name: one["state"] for name, one in tasks.items()} == {
        "marked": "failed",
        "cleared": "success",
        "steady": "success",
    }
    assert [tasks[name]["try_number"] for name in LONG] == [1, 2, 1]
    assert [len(begun(site, name)) for name in LONG] == [1, 2, 1]  # nothing ran twice
    (line,) = site.reported("stranger")
    assert line == "bursar refuses it: no user 'carol'; there are ann, bob"
    assert eventually(lambda: not list((site.place / "airflow" / "bursar").iterdir()), SLOW)

    # Somebody else's token is told in one line.
    (site.place / "wrong").write_text("wrong\n")
    token = str(site.place / "wrong")
    text = site.scheduler_with(AIRFLOW__BURSAR__TOKEN_FILE=token)
    assert "Traceback" not in text
    assert f"bursar: {site.service_url}: the token is missing or wrong" in text


def begun(site, name):
    """Processes that a task had, one a try."""
    file = site.place / name
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def is_alive(pid):
    return Path(f"/proc/{pid}").exists()


def adopted(site):
    """Tasks that the second scheduler took up."""
    lines = [one for one in site.log("scheduler").splitlines() if "bursar: adopted" in one]
    return {name for name in LONG if any(f"adopted long.{name} " in one for one in lines)}
