from __future__ import annotations

import pytest

from bursar import BursarError, WorkflowBuilder, run_workflow
from bursar.formats.market import parse_market

MARKET = parse_market(
    """
    [[offer]]
    name = "small"
    price = "0.01"
    billing = "1s"
    limit = 2
    """
)


@pytest.fixture
def flow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = WorkflowBuilder("two")
    work.task("make", run="echo made > made", writes=["made"], runtime="10ms")
    work.task("use", run=["cp", "made", "used"], reads=["made"], writes=["used"], runtime="10ms")
    return work


def test_a_workflow_is_run_from_python(flow, tmp_path):
    summary = run_workflow(flow, name="free")
    assert (summary.status, summary.tasks.done) == ("done", 2)
    assert (tmp_path / "used").read_text() == "made\n"


def test_where_machines_cost_money_it_follows_a_plan_within_the_budget(flow):
    summary = run_workflow(flow, MARKET, budget="1", choose="cheapest")
    assert summary.status == "done"
    assert 0 < float(summary.money.committed) <= 1


def test_a_failure_is_reported_by_the_summary(flow):
    flow.task("bad", run="false", needs="use")
    summary = run_workflow(flow.build(), files="copied")
    assert (summary.status, summary.tasks.failed) == ("failed", 1)


def test_what_is_wrong_is_reported_before_anything_runs(flow, tmp_path):
    with pytest.raises(BursarError, match="budget="):
        run_workflow(flow, MARKET)
    with pytest.raises(BursarError, match="choose none"):
        run_workflow(flow, choose="knee")
    flow.task("empty", needs="use")
    with pytest.raises(BursarError, match="no command"):
        run_workflow(flow, MARKET, budget="1")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("wrong", [{"confidence": 5}, {"deviation": -1}])
def test_what_is_wanted_of_a_plan_is_checked_as_on_the_command_line(flow, wrong):
    (name,) = wrong
    with pytest.raises(BursarError, match=f"{name}: "):
        run_workflow(flow, MARKET, budget="1", **wrong)
