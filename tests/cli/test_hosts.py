"""`bursar run --on ssh`: whole runs on the user's own hosts, through a real sshd."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import ssh_server
from tests.dask_cluster import eventually
from tests.leaks import files_that_show, outputs_that_show, processes_that_show, secrets_of
from tests.workplace import Lab, expected

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.state import events as ev

ON_SSH = ("--on", "ssh", "--listen", "127.0.0.1")
TASKS = [str(number) for number in range(1, 31)]


@pytest.fixture
def server(tmp_path_factory):
    if ssh_server.WHY_NOT:
        pytest.skip(ssh_server.WHY_NOT)
    made = ssh_server.SshServer(tmp_path_factory.mktemp("ssh"))
    yield made
    made.stop()


@pytest.fixture
def lab(tmp_path, server):
    return Lab(tmp_path, BURSAR_SSH=server.command)


def machines_on(server):
    return [one for host in server.hosts for one in server.machine_dir(host).glob("*")]


def test_hosts_by_ssh(lab, server):
    hosts = lab.market('hosts = ["ada", "grace", "edsger"]', billing="1m")
    run = lab.start("run", *ON_SSH, *hosts, "--name", "h", "./task.sh 0.5 {}", ":::", *TASKS)
    assert lab.results_of("h", 1)
    keys = secrets_of(lab.directory / ".bursar/h")
    everything = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    assert not processes_that_show(keys, everything)
    assert not files_that_show(keys, lab.directory, server.directory)
    printed, _ = run.communicate(timeout=200)
    assert run.returncode == 0, printed
    assert lab.outputs("h") == expected(30)
    assert not machines_on(server)
    assert not outputs_that_show(keys, lab, "h")
    assert not files_that_show(keys, lab.directory, server.directory)


def test_hosts_that_ssh_cannot_reach_any_more_go_on_and_end_with_their_leases(lab, server):
    hosts = lab.market('hosts = ["ada"]', billing="25s", limit=1)
    words = ("--name", "h", "./task.sh 0.5 {}", ":::", *TASKS[:8])
    run = lab.start("run", *ON_SSH, *hosts, *words)
    assert lab.results_of("h", 1)
    server.stop()
    reported, _ = run.communicate(timeout=120)
    assert run.returncode == 0, reported
    assert lab.outputs("h") == expected(8)
    assert not machines_on(server)


def recorded(journal, kind):
    with JournalReader(journal) as reader:
        return reader.events_of([kind])


def test_a_host_that_a_resumed_run_cannot_reach_is_paid_to_the_end_of_its_lease(lab, server):
    """Its machine may live on. When it can be reached again, that ends before another begins."""
    journal = lab.directory / ".bursar/h/journal.db"
    hosts = lab.market('hosts = ["ada"]', billing="1s", limit=1)
    words = ("--name", "h", "./task.sh 0.5 {}", ":::", *TASKS[:8])
    run = lab.start("run", *ON_SSH, *hosts, *words)
    assert lab.results_of("h", 1)
    run.kill()
    run.communicate()
    server.stop()
    leases = [*recorded(journal, ev.MachineRented), *recorded(journal, ev.LeaseExtended)]
    clean = lab.start("clean")
    printed, _ = clean.communicate(timeout=60)
    assert clean.returncode == 1
    assert "run h: ada: ssh:" in printed
    assert "no machine was left behind where one could ask" in printed
    run = lab.start("resume", "h")
    assert eventually(lambda: recorded(journal, ev.MachineDown), 60)
    assert machines_on(server), "its machine was over before it could be reached again"
    server.start()
    printed, _ = run.communicate(timeout=120)
    assert run.returncode == 0, printed
    assert lab.outputs("h") == expected(8)
    assert not machines_on(server)
    lost = recorded(journal, ev.MachineDown)[0]
    assert lost.why == "it may run on: ada could not be reached when the run was resumed"
    assert lost.at < lost.ended == leases[-1].until, "the lease still paid for some time"
    load_state(journal).check()


def test_hosts_are_cleaned_of_a_killed_run_and_end_by_their_leases_without(lab, server):
    (lab.directory / "hold.sh").write_text('#!/bin/sh\ntouch "$1"; sleep 100\n')
    (lab.directory / "hold.sh").chmod(0o755)
    for name, host, billing in (("short", "grace", "20s"), ("hour", "ada", "1h")):
        hosts = lab.market(f'hosts = ["{host}"]', billing=billing, limit=1, budget="0.01")
        words = ("--fleet", "lab=1", "--name", name, "./hold.sh", ":::", f"{lab.directory}/{name}")
        run = lab.start("run", *ON_SSH, *hosts, *words)
        has_begun = eventually((lab.directory / name).exists, 60)
        run.kill()
        printed, _ = run.communicate()
        assert has_begun, printed
    grace, ada = map(server.machine_dir, ("grace", "ada"))
    assert eventually(lambda: not list(grace.iterdir()), 30), "it outlives its lease"
    assert "1 machine found" in lab.call("clean", "--dry-run")
    assert list(ada.iterdir()), "it only had to list them"
    assert "1 machine released" in lab.call("clean")
    assert not list(ada.iterdir())
    assert "no machine was left behind" in lab.call("clean")
