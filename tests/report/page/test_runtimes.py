"""Run times are shown against what was believed, and a belief is not judged by its own results."""

from __future__ import annotations

import msgspec
import pytest
from tests.report.page.test_snapshot import SMALL, shown

from bursar.model.dag import dag_of
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.options import RunOptions
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.workflow import Workflow
from bursar.report.page.runtimes import FIRST
from bursar.testing import Scene

FAST = Offer("fast", Money.parse("0.20"), MINUTE, speed=2.0)


def ran(scene, machine, times, first=1):
    """Tasks one after the other, of these run times."""
    for number, time in enumerate(times, first):
        attempt = scene.start(number, machine)
        scene.pass_time(time)
        scene.end(attempt)
    return scene


def knowing(scene, **options):
    """What the user knew before."""
    scene.state.created = msgspec.structs.replace(
        scene.state.created, options=RunOptions(**options)
    )
    return scene


def test_without_a_sample_the_first_results_are_believed_and_the_others_are_judged():
    scene = Scene(SMALL, tasks=60, budget="900")
    ran(scene, scene.machine(stay=HOUR), [MINUTE] * FIRST + [2 * MINUTE] * 2 * FIRST)
    (found,) = shown(scene).runtimes
    assert found.believed == (60.0, 60.0, 60.0)
    assert (found.count, found.p50) == (2 * FIRST, 120.0)
    assert found.text == (
        "believed 60.0\u00a0s after its first 10 results, seen 2.00\u00a0min in 20 since;"
        " 0\u00a0% inside the 80\u00a0% band"
    )


def test_few_results_are_shown_without_a_belief():
    scene = Scene(SMALL, tasks=60, budget="900")
    ran(scene, scene.machine(stay=HOUR), [MINUTE] * FIRST)
    (found,) = shown(scene).runtimes
    assert (found.believed, found.count) == (None, FIRST)
    assert found.text == "seen 60.0\u00a0s in 10"


def test_what_the_user_gave_is_believed_by_the_speed_of_each_offer():
    scene = knowing(Scene(SMALL, FAST, tasks=9, budget="900"), runtime=100 * SECOND)
    ran(scene, scene.machine("small", stay=HOUR), [100 * SECOND] * 4)
    ran(scene, scene.machine("fast", stay=HOUR), [80 * SECOND] * 4, first=5)
    slow, fast = shown(scene).runtimes
    assert slow.believed == pytest.approx((74.368, 100.0, 125.632))
    assert fast.believed == pytest.approx((37.184, 50.0, 62.816))
    assert slow.text.endswith(
        "as was given, seen 100\u00a0s in 4; >\u00a099\u00a0% inside the 80\u00a0% band"
    )
    assert fast.text.endswith("0\u00a0% inside the 80\u00a0% band")


def test_the_file_of_a_workflow_is_believed_of_the_tasks_that_ran_there():
    flow = Workflow.of(dag_of([[], [], [], [], []]))
    flow = msgspec.structs.replace(flow, runtimes=(10.0, 20.0, 30.0, 40.0, 50.0))
    scene = Scene(SMALL, tasks=flow, budget="900")
    ran(scene, scene.machine(stay=HOUR), [10 * SECOND, 20 * SECOND, 30 * SECOND])
    (found,) = shown(scene).runtimes
    assert found.believed == pytest.approx((12.0, 20.0, 28.0))
    assert found.text.startswith(
        "believed 20.0\u00a0s by the file of the workflow, seen 20.0\u00a0s"
    )
