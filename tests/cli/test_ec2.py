"""`bursar run --on ec2`: whole runs on machines that moto keeps and processes here play."""

from __future__ import annotations

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")

from tests.dask_cluster import eventually
from tests.ec2_cloud import SECRET
from tests.leaks import files_that_show, outputs_that_show, processes_that_show, secrets_of
from tests.workplace import expected

ON_EC2 = ("--on", "ec2", "--listen", "127.0.0.1", "--market", "ec2.toml", "--budget", "5")
FLOW = """
defaults: {runtime: 1s}
tasks:
  split: {run: "seq 12 > all", files: {out: all}}
  odd: {run: "sh task.sh 2 1; grep '[13579]$' all > odd", files: {in: [all, input], out: odd}}
  even: {run: "sh task.sh 2 2; grep '[02468]$' all > even", files: {in: [all, input], out: even}}
  join: {run: "cat odd even > both", files: {in: [odd, even], out: both}}
"""


def test_a_killed_run_is_resumed_on_its_machines_and_nothing_leaks(cloud):
    words = ("sh task.sh 0.6 {}", ":::", *map(str, range(1, 31)))
    run = cloud.start("run", *ON_EC2, "--name", "bag", "--fleet", "small=2", *words)
    assert eventually(lambda: len(cloud.tasks()) >= 3, 60), "both machines are at work"
    run.kill()
    run.communicate()
    assert len(cloud.moto.living()) == 2
    keys = secrets_of(cloud.directory / ".bursar/bag")
    secrets = [SECRET, *keys, *cloud.batch_secrets()]
    assert not processes_that_show(secrets, cloud.processes_of_machines())
    assert not files_that_show([SECRET, *keys], cloud.directory, *cloud.machine_places())
    reported = cloud.call("resume", "bag")
    assert "30 of 30 tasks done" in reported
    assert cloud.outputs("bag") == expected(30)
    assert not cloud.moto.living()
    assert len(cloud.player.played) == 2, "machines were adopted"
    # Nobody can find what opens the account, or the machines, but in a file of the user alone.
    assert not files_that_show([SECRET], cloud.directory, *cloud.machine_places())
    assert not files_that_show(keys, cloud.directory, *cloud.machine_places())
    assert not files_that_show(secrets, cloud.directory)
    assert not any(secret in reported for secret in secrets)
    assert not outputs_that_show(secrets, cloud, "bag")


def test_machines_of_a_killed_run_end_by_their_leases_if_nobody_resumes(cloud):
    run = cloud.start("run", *ON_EC2, "--name", "dead", "sh task.sh 900 {}", ":::", "1", "2", "3")
    assert eventually(lambda: len(cloud.tasks()) >= 2, 60)
    run.kill()
    run.communicate()
    assert "instance i-" in cloud.call("clean", "--dry-run")
    assert cloud.moto.living()
    for machine in cloud.player.played:
        assert machine.orders, "its switch is set"
        assert all(1 <= int(order.removeprefix("+")) <= 10 for order in machine.orders)
    cloud.player.rate = 300.0
    assert eventually(lambda: not cloud.moto.living(), 60)
    assert eventually(lambda: not cloud.tasks(), 10)
    assert "no machine was left behind" in cloud.call("clean")


def test_the_files_of_a_workflow_travel_with_its_tasks_also_where_bursar_is_killed(cloud):
    (cloud.directory / "flow.yaml").write_text(FLOW)
    run = cloud.start("run", *ON_EC2, "--name", "flow", "flow.yaml")
    assert eventually(cloud.tasks, 60), "no task runs that needs what another made"
    run.kill()
    run.communicate()
    assert cloud.moto.living()
    reported = cloud.call("resume", "flow")
    assert "4 of 4 tasks done" in reported
    assert len(cloud.player.played) == len(cloud.costs()) <= 2
    both = (cloud.directory / ".bursar/flow/outputs/files/both").read_text().split()
    assert sorted(map(int, both)) == list(range(1, 13))
    assert not cloud.moto.living()
