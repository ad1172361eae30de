"""Plans in Python: the list of the command line, and a run of a choice."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import bursar
from bursar import WorkflowBuilder, plan_work
from bursar.cli import plan
from bursar.formats.workflow import read_workflow
from bursar.model.codec import encode
from bursar.model.errors import InputError

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "1s"
limit = 3
[[offer]]
name = "large"
price = "0.05"
billing = "1s"
speed = 3.0
limit = 3
"""
FLOW = """
name: words
tasks:
  split: {run: "true", runtime: 10s, files: {out: [a, b]}}
  left: {run: "true", runtime: 30s, files: {in: a, out: c}}
  right: {run: "true", runtime: 20s, files: {in: b, out: d}}
  total: {run: "true", runtime: 5s, files: {in: [c, d]}}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    (tmp_path / "market.toml").write_text(MARKET)
    return tmp_path


def test_a_bag_is_sampled_planned_and_run(place):
    plans = plan_work(["sleep", "{}"], [0.02] * 60, "market.toml", budget="3", name="naps")
    assert len(plans) >= 1
    assert plans.name == "naps"
    assert plans[0].cost_p50 <= plans[-1].cost_p50
    assert plans.svg().startswith("<svg")
    assert plans.svg() in plans._repr_html_()
    assert json.loads(encode(list(plans))) == listed(["naps"]), "the command line has this list"
    summary = plans.run("fastest")
    assert (summary.status, summary.tasks.done) == ("done", 60)
    assert "<b>naps</b>: done. 60 of 60 tasks" in summary._repr_html_()


def listed(words):
    """What `bursar plan` prints for programs."""
    found = CliRunner().invoke(plan.command, [*words, "--json"], catch_exceptions=False)
    return json.loads(found.stdout)["plans"]


def test_the_list_of_a_workflow_is_that_of_the_command_line(place):
    (place / "flow.yaml").write_text(FLOW)
    words = ["flow.yaml", "--market", "market.toml", "--budget", "3", "--seed", "7"]
    work = read_workflow("flow.yaml")
    plans = plan_work(work, market="market.toml", budget="3", seed=7)
    assert len(plans) > 1
    assert json.loads(encode(list(plans))) == listed(words)


def test_a_workflow_is_planned_and_run(place):
    work = WorkflowBuilder("flow")
    work.task("make", run="echo 1 > a", writes=["a"], runtime=1)
    work.task("use", run="cat a > b", reads=["a"], writes=["b"], runtime=1)
    plans = plan_work(work, market="market.toml", budget="3")
    assert plans.run("1").status == "done"
    assert (place / "b").read_text() == "1\n"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ((["echo"], [1]), "plans need a market"),
        (("echo {}", [1], "market.toml"), "a list of words"),
        ((["echo"], None, "market.toml"), "needs arguments"),
    ],
)
def test_mistakes_get_one_line(place, given, reported):
    with pytest.raises(InputError, match=reported):
        plan_work(*given)


def test_an_executor_shows_how_its_run_stands(place):
    with bursar.BudgetExecutor("market.toml", budget="1") as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]
        shown = pool._repr_html_()
    assert "Tasks done" in shown


def test_the_package_of_the_planners_can_be_called(place):
    (place / "flow.yaml").write_text(FLOW)
    flow, options = read_workflow("flow.yaml"), {"market": "market.toml", "budget": "3"}
    one, other = bursar.plan(flow, name="one", **options), plan_work(flow, name="other", **options)
    assert list(one) == list(other)
    from bursar.plan import bag

    assert bag.__name__ == "bursar.plan.bag"
