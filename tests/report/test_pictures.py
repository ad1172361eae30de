"""Plans, workflows and runs as pictures: what is written in them is text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bursar import WorkflowBuilder
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.plan import Assumed, MakespanSpan, Plan
from bursar.model.workflow import Workflow
from bursar.report.page.graph import MOST_NODES, graph_of, levels_of
from bursar.report.pictures import axis_marks, document, plans_html, workflow_svg
from bursar.report.plans import plan_list
from bursar.report.summary import Spending, Summary, Tasks
from bursar.state.events import PlansOffered

HOSTILE = "<script>alert(1)</script>"


def a_plan(name, time, cost):
    money = Money.parse(cost)
    return Plan(
        name=name, names=(name,), fleet={"small": 3}, cost=money,
        makespan_s=MakespanSpan(time, time, time * 1.2, time * 1.3),
        cost_p50=money, cost_p90=money, cost_upper=money,
    )  # fmt: skip


def listed(*plans):
    market = Market("USD", "2026-01-01", (Offer("small", Money.parse("0.10")),))
    assumed = Assumed(tasks=9, date="2026-01-01", cautions=(HOSTILE,))
    return plan_list(PlansOffered(0, plans, assumed), market)


def test_a_list_of_plans_is_drawn_and_reported():
    text = plans_html(listed(a_plan("cheapest", 60.0, "1"), a_plan(HOSTILE, 20.0, "3.50")))
    assert text.count("<circle") == 2
    assert "cheapest" in text
    assert "$3.50" in text
    assert "<script>" not in text
    assert listed(a_plan("cheapest", 60.0, "1"))._repr_html_() in document(
        "x", listed(a_plan("cheapest", 60.0, "1"))._repr_html_()
    )


def flow_of(tasks):
    work = WorkflowBuilder("flow")
    work.task("first", run="true", writes=["a"])
    for number in range(tasks):
        work.task(f"middle-{number}", run="true", reads=["a"], writes=[f"b{number}"])
    work.task(HOSTILE, run="true", reads=[f"b{number}" for number in range(tasks)])
    return work


def test_a_workflow_is_drawn_in_levels():
    flow = Workflow.of(flow_of(4).build())
    assert sorted(levels_of(flow)) == [0, 1, 1, 1, 1, 2]
    drawing = ElementTree.fromstring(workflow_svg(flow))  # noqa: S314 -- our own
    assert len(drawing.findall("{*}circle")) == 6
    assert len(drawing.findall("{*}path")) == 8
    assert "<script>" not in workflow_svg(flow)


def test_many_tasks_of_a_level_and_a_kind_are_one_node():
    flow = Workflow.of(flow_of(MOST_NODES + 1).build())
    graph = graph_of(flow, ["done"] * flow.count)
    assert len(graph.nodes) < 10
    assert sum(node.count for node in graph.nodes) == flow.count


@pytest.mark.parametrize("shown", [flow_of(2), flow_of(2).build()])
def test_workflows_show_themselves_in_notebooks(shown):
    assert shown._repr_html_() == shown.svg()
    assert len(drawn(shown).findall("{*}circle")) == 4


def drawn(shown):
    """What `svg` of a result gives, as XML."""
    return ElementTree.fromstring(shown.svg())  # noqa: S314 -- our own


def test_plans_are_drawn_by_their_own_method():
    plans = listed(a_plan("cheapest", 60.0, "1"), a_plan(HOSTILE, 20.0, "3.50"))
    assert len(drawn(plans).findall("{*}circle")) == 2
    assert plans.svg() in plans._repr_html_()


def test_a_summary_is_drawn_with_bars_of_tasks_and_money():
    summary = Summary(
        "x", "failed", "", Tasks(20, 10, 5), Spending("4.00", "1.00", "USD"), makespan_s=90.0
    )
    picture = drawn(summary)
    widths = [float(bar.get("width")) for bar in picture.findall("{*}rect")[1:]]
    whole = sum(widths[:3])
    assert [width / whole for width in widths] == pytest.approx(
        [0.5, 0.25, 0.25, 0.25, 0.75], abs=0.01
    )
    assert picture.find("{*}title").text == (
        "x: 10 done, 5 failed, 5 not done, $1.00 of $4.00, 90.0\u00a0s"
    )


def test_money_of_many_intervals_is_not_drawn_as_a_part_of_that_of_one():
    money = Spending("0.30", "1.00", "USD", 3600.0)
    picture = drawn(Summary("x", "done", "", Tasks(1, 1, 0), money, makespan_s=90.0))
    assert "$1.00 within $0.30/h" in picture.find("{*}title").text


@pytest.mark.parametrize(
    ("values", "unit", "marks"),
    [
        ([60, 33.4 * 3600], 3600, [0, 10, 20, 30, 40]),
        ([2.98, 5.56], 1, [2, 3, 4, 5, 6]),
        ([44.0, 45.2], 1, [43, 44, 45, 46, 47, 48]),
        ([3.0, 3.0], 1, [0, 1, 2, 3, 4]),
        ([0.0], 1, [0, 0.5, 1, 1.5]),
    ],
)
def test_axes_have_round_marks_around_all_values(values, unit, marks):
    found = [mark / unit for mark in axis_marks(values, unit)]
    assert found == pytest.approx(marks)
    assert found[0] <= min(values) / unit and max(values) / unit <= found[-1]
