"""`bursar run --on ...`: whole runs on machines elsewhere, while parts of them are killed."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import slurm_cluster
from tests.dask_cluster import DaskCluster, eventually
from tests.leaks import files_that_show, outputs_that_show, processes_that_show, secrets_of
from tests.workplace import Lab, expected


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    for number in made.processes():
        os.kill(number, signal.SIGKILL)


TASKS = [str(number) for number in range(1, 31)]


def test_a_dask_cluster_of_its_own_and_nothing_is_left(lab):
    """Also where the names of directories are too long for those of sockets."""
    place = lab.directory / ("deep" * 25)
    lab.environment["BURSAR_MACHINE_DIR"] = str(place)
    lab.call("run", "--on", "dask", "-j", "1", "--name", "own", "./task.sh 0 {}", ":::", *TASKS)
    assert lab.outputs("own") == expected(30)
    assert lab.all_end(10), "a process survived"
    assert not list(place.iterdir())


def test_killed_and_resumed_on_a_cluster_its_machines_are_adopted(lab, tmp_path_factory):
    """Nothing is lost, nothing is rented again, and nothing is left."""
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"), workers=2)
    try:
        assert eventually(cluster.is_up, 60)
        where = ("--on", "dask", "--scheduler", cluster.address, "--fleet", "lab=2")
        market = lab.market(billing="10m")
        run = lab.start("run", *where, *market, "--name", "c", "./task.sh 0.5 {}", ":::", *TASKS)
        agents = cluster.directory / "m"
        assert lab.results_of("c", 3)
        run.kill()
        run.communicate()
        assert len(list(agents.iterdir())) == 2, "the machines ended with bursar"
        lab.call("resume", "c")
        assert eventually(lambda: not list(agents.iterdir()), 10)
    finally:
        cluster.close()
    assert lab.outputs("c") == expected(30)
    why = lab.call("why", "c")
    assert "adopt lab-1" in why
    assert "adopt lab-2" in why
    assert json.loads(lab.call("status", "c", "--json"))["money"]["committed"] == "0.02", (
        "paid once"
    )


def test_killed_and_not_resumed_every_process_ends_with_its_lease(lab):
    run = lab.start(
        "run",
        "--on",
        "dask",
        *lab.market(limit=1, billing="20s", budget="0.02"),
        "--name",
        "k",
        "sleep 200",
        ":::",
        "1",
        "2",
    )
    assert eventually(lambda: len(lab.processes("sleep 200")) == 2, 60)
    run.kill()
    run.communicate()
    assert len(lab.processes("sleep 200")) == 2, "they ended before their leases"
    assert lab.all_end(90), "a process outlives its lease"
    assert not list((lab.directory / "m").iterdir())


def test_killed_and_resumed_nothing_is_lost_and_nothing_left(lab):
    words = ("--name", "k", "./task.sh 0.5 {}", ":::", *TASKS)
    run = lab.start("run", "--on", "dask", *lab.market(limit=1, billing="1m"), *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 2, 60)
    run.kill()
    run.communicate()
    lab.call("resume", "k")
    assert lab.outputs("k") == expected(30)
    assert "adopt lab-1" in lab.call("why", "k")
    assert lab.all_end(15), "a process survived"


def test_the_scheduler_is_killed_and_no_attempt_is_lost(lab):
    words = ("--name", "s", "./task.sh 1 {}", ":::", *TASKS[:12])
    run = lab.start("run", "--on", "dask", *lab.market(limit=1, billing="2m"), *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 2, 60)
    (scheduler,) = lab.processes("dask_scheduler")
    os.kill(scheduler, signal.SIGKILL)
    reported, _ = run.communicate(timeout=120)
    assert run.returncode == 0, reported
    assert lab.outputs("s") == expected(12)
    attempts = lab.call("export", "s", "--joblog", "-").splitlines()[1:]
    assert len(attempts) == 12, "some were executed twice"
    why = lab.call("why", "s")
    assert "the Dask scheduler does not answer" in why
    assert "the Dask scheduler answers again" in why
    assert lab.all_end(15), "a process survived"


def test_a_frozen_carrier_is_replaced_and_no_attempt_is_lost(lab):
    words = ("--name", "f", "./task.sh 2 {}", ":::", *TASKS[:6])
    run = lab.start("run", "--on", "dask", *lab.market(limit=1, billing="3m"), *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 1, 60)
    (carrier,) = lab.processes("dask_worker")
    os.kill(carrier, signal.SIGSTOP)
    reported, _ = run.communicate(timeout=180)
    assert run.returncode == 0, reported
    assert lab.outputs("f") == expected(6)
    attempts = lab.call("export", "f", "--joblog", "-").splitlines()[1:]
    assert len(attempts) == 6
    why = lab.call("why", "f")
    assert "lab-1 does not answer" in why
    assert "lab-1 answers again" in why
    assert lab.all_end(15)


def test_an_agent_is_killed_and_its_tasks_run_elsewhere(lab):
    words = ("--name", "a", "./task.sh 1 {}", ":::", *TASKS[:12])
    both = ("--fleet", "lab=2")
    run = lab.start("run", "--on", "dask", *lab.market(limit=2, billing="2m"), *both, *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 3, 60)
    agents = [
        int((place / "lock").read_text()) for place in sorted((lab.directory / "m").iterdir())
    ]
    os.kill(agents[0], signal.SIGKILL)
    reported, _ = run.communicate(timeout=120)
    assert run.returncode == 0, reported
    assert lab.outputs("a") == expected(12)
    assert lab.all_end(15)


FLOW = """
name: parts
tasks:
  make:
    run: ./make.sh
    files: {{in: input, out: [all]}}
{middle}
  join:
    run: cat {parts} > joined
    files: {{in: [{commas}], out: joined}}
"""
MIDDLE = """  part-{n}:
    run: ./task.sh {pause} {n} > part-{n}; sed -n {n}p all/numbers >> part-{n}
    files: {{in: [all, input], out: part-{n}}}
"""


def write_flow(lab, numbers, pause=0.3):
    parts = [f"part-{n}" for n in numbers]
    middle = "".join(MIDDLE.format(n=n, pause=pause) for n in numbers)
    text = FLOW.format(middle=middle, parts=" ".join(parts), commas=", ".join(parts))
    (lab.directory / "flow.yaml").write_text(text)
    (lab.directory / "make.sh").write_text("#!/bin/sh\nmkdir -p all; seq 100 > all/numbers\n")
    (lab.directory / "make.sh").chmod(0o755)


def joined_lines(lab, run):
    return (lab.directory / ".bursar" / run / "outputs/files/joined").read_text().splitlines()


def expected_lines(numbers):
    return [line for n in numbers for line in ("sent along", f"task {n}", str(n))]


def test_a_workflow_with_files_is_killed_and_resumed_and_nothing_is_lost(lab):
    """What tasks made before is sent to those that follow."""
    numbers = range(1, 7)
    write_flow(lab, numbers, pause=1)
    one = (*lab.market(limit=1, billing="1m"), "--fleet", "lab=1", "--name", "w")
    run = lab.start("run", "--on", "dask", *one, "flow.yaml")
    assert eventually(lambda: lab.processes("task.sh"), 60)
    run.kill()
    run.communicate()
    lab.call("resume", "w")
    assert joined_lines(lab, "w") == expected_lines(numbers)
    assert "adopt lab-1" in lab.call("why", "w")
    assert lab.all_end(15), "a process survived"


def test_a_workflow_whose_files_travel_and_a_machine_that_dies(lab):
    """Scripts come with the working directory, files with the tasks, and a directory is a file."""
    numbers = range(1, 13)
    write_flow(lab, numbers)
    both = (*lab.market(limit=2, billing="2m"), "--fleet", "lab=2", "--name", "w")
    before = {path.name for path in lab.directory.iterdir()}
    run = lab.start("run", "--on", "dask", *both, "flow.yaml")
    assert eventually(lambda: len(lab.processes("task.sh")) >= 2, 60)
    agents = [
        int((place / "lock").read_text()) for place in sorted((lab.directory / "m").iterdir())
    ]
    os.kill(agents[0], signal.SIGKILL)
    printed, _ = run.communicate(timeout=120)
    assert run.returncode == 0, printed
    files = lab.directory / ".bursar/w/outputs/files"
    assert joined_lines(lab, "w") == expected_lines(numbers)
    assert (files / "all/numbers").read_text().splitlines()[-1] == "100"
    after = {path.name for path in lab.directory.iterdir()}
    assert after - before <= {".bursar", "m"}, "files of the user were touched"
    assert lab.all_end(15)


@pytest.fixture
def slurm(tmp_path_factory):
    if slurm_cluster.WHY_NOT:
        pytest.skip(slurm_cluster.WHY_NOT)
    made = slurm_cluster.SlurmCluster(tmp_path_factory.mktemp("slurm"))
    yield made
    made.close()


ON_SLURM = ("--on", "slurm", "--listen", "127.0.0.1", "--shared")


def test_jobs_of_slurm_outlive_bursar_and_are_adopted(slurm, tmp_path):
    lab = Lab(tmp_path, **slurm.environment)
    market = lab.market('partition = "main"', billing="2m", limit=1)
    words = ("--name", "j", "./task.sh 0.5 {}", ":::", *TASKS)
    run = lab.start("run", *ON_SLURM, *market, *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 2, 60)
    run.kill()
    run.communicate()
    jobs = slurm.jobs()
    assert jobs
    lab.call("resume", "j")
    assert lab.outputs("j") == expected(30)
    assert "adopt lab-1" in lab.call("why", "j")
    assert not slurm.jobs()
    assert lab.all_end(15)


@pytest.fixture
def web(tmp_path_factory):
    """Serves a file, and counts how often it was asked for."""
    place = tmp_path_factory.mktemp("web")
    (place / "large").write_text("from afar\n")

    class Handler(SimpleHTTPRequestHandler):
        asked: ClassVar = []

        def log_message(self, *words):
            self.asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=place))
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/large", Handler.asked
    server.shutdown()
    server.server_close()
    thread.join()


FETCHING = """
defaults: {{runtime: 1s}}
tasks:
  fetch:
    run: python3 fetch.py {url} > fetched; pwd >> fetched; sleep 2
    files: {{in: ["{url}", input], out: fetched}}
  join:
    run: cat fetched input > joined
    files: {{in: [fetched, input], out: joined}}
"""
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode(), end='')\n"


def fetches(lab, url):
    (lab.directory / "flow.yaml").write_text(FETCHING.format(url=url))
    (lab.directory / "fetch.py").write_text(FETCH)


def test_a_workflow_on_slurm_works_in_the_shared_directory_and_nobody_sees_its_key(
    slurm, web, tmp_path
):
    url, asked = web
    lab = Lab(tmp_path, **slurm.environment)
    fetches(lab, url)
    market = lab.market('partition = "main"', billing="2m", limit=1)
    run = lab.start("run", *ON_SLURM, *market, "--name", "w", "flow.yaml")
    assert eventually(lambda: asked, 60), "no task runs"
    keys = secrets_of(lab.directory / ".bursar/w")
    assert not processes_that_show(keys, [int(one.name) for one in Path("/proc").glob("[0-9]*")])
    scripts = [one for one in slurm.directory.rglob("*script*") if one.is_file()]
    assert scripts, "Slurm keeps what it runs in a file"
    assert not files_that_show(keys, lab.directory, slurm.directory)
    printed, _ = run.communicate(timeout=120)
    assert run.returncode == 0, printed
    joined = (lab.directory / "joined").read_text().splitlines()
    assert joined == ["from afar", str(lab.directory), "sent along"]
    assert len(asked) == 1
    assert not files_that_show(keys, lab.directory, slurm.directory)
    assert not outputs_that_show(keys, lab, "w")
    assert not slurm.jobs()
    assert lab.all_end(15)


def test_a_task_fetches_itself_what_has_a_url(lab, web):
    url, asked = web
    fetches(lab, url)
    lab.call("run", "--on", "dask", "-j", "1", "--name", "u", "flow.yaml")
    joined = (lab.directory / ".bursar/u/outputs/files/joined").read_text().splitlines()
    assert (joined[0], joined[2]) == ("from afar", "sent along")
    assert joined[1].startswith(str(lab.directory / "m")), "it ran on the machine"
    assert len(asked) == 1


def test_clean_cancels_the_jobs_of_a_killed_run(slurm, tmp_path):
    lab = Lab(tmp_path, **slurm.environment)
    market = lab.market('partition = "main"', billing="1h", limit=1)
    run = lab.start("run", *ON_SLURM, *market, "--name", "j", "sleep 100", ":::", "1")
    assert eventually(lambda: lab.processes("sleep 100"), 60)
    run.kill()
    run.communicate()
    (job,) = slurm.jobs()
    assert f"job {job}" in lab.call("clean", "--dry-run")
    assert slurm.jobs() == [job], "it only had to list them"
    assert "1 machine released" in lab.call("clean")
    assert eventually(lambda: not slurm.jobs(), 15)
    assert lab.all_end(15)
    assert "no machine was left behind" in lab.call("clean")


def test_jobs_of_slurm_end_with_their_leases_if_nobody_resumes(slurm, tmp_path):
    lab = Lab(tmp_path, **slurm.environment)
    market = lab.market('partition = "main"', billing="20s", limit=1, budget="0.02")
    run = lab.start("run", *ON_SLURM, *market, "--name", "j", "sleep 100", ":::", "1", "2")
    assert eventually(lambda: len(lab.processes("sleep 100")) == 2, 60)
    run.kill()
    run.communicate()
    assert slurm.jobs()
    assert eventually(lambda: not slurm.jobs(), 90)
    assert lab.all_end(10)


def test_a_node_whose_daemons_were_killed_leaves_nothing_behind(slurm, tmp_path):
    """Without slurmd and slurmstepd, Slurm cannot end the job's processes: bursar does."""
    lab = Lab(tmp_path, **slurm.environment)
    market = lab.market('partition = "main"\nfeature = "small"', billing="5m", limit=2)
    words = ("--fleet", "lab=2", "--name", "n", "./task.sh 1 {}", ":::", *TASKS)
    run = lab.start("run", *ON_SLURM, *market, *words)
    assert eventually(lambda: len(lab.processes("task.sh")) >= 4, 60)
    slurm.kill_node("small-1")
    reported, _ = run.communicate(timeout=200)
    assert run.returncode == 0, reported
    assert lab.outputs("n") == expected(30)
    assert lab.all_end(15)


def test_clean_releases_what_a_killed_run_left_and_nothing_of_a_live_one(lab):
    hours = ("--on", "dask", *lab.market(limit=1, billing="1h"))
    dead = lab.start("run", *hours, "--name", "dead", "sleep 100", ":::", "1")
    live = lab.start("run", *hours, "--name", "live", "sleep 101", ":::", "1")
    assert eventually(lambda: lab.processes("sleep 100") and lab.processes("sleep 101"), 60)
    dead.kill()
    dead.communicate()
    reported = lab.call("clean", "--dry-run")
    assert "dead" in reported
    assert "1 machine found" in reported
    assert lab.processes("sleep 100"), "it only had to list them"
    assert "1 machine released" in lab.call("clean")
    assert not lab.processes("sleep 100")
    assert lab.processes("sleep 101")
    assert "no machine was left behind" in lab.call("clean")
    live.send_signal(signal.SIGINT)
    time.sleep(0.5)  # two signals at once are one
    live.send_signal(signal.SIGINT)
    live.communicate(timeout=60)
    assert lab.all_end(15)
