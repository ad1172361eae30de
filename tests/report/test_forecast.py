from __future__ import annotations

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import MINUTE
from bursar.report.forecast import Forecast
from bursar.state import events as ev
from bursar.testing import Scene


def watched(tasks):
    scene, forecast = Scene(Offer("free", ZERO), tasks=tasks), Forecast()
    tell = scene.tell

    def tell_both(event):
        tell(event)
        forecast.saw(event, scene.state)

    scene.tell = tell_both
    return scene, forecast


def test_before_a_task_is_done_it_is_too_early_to_tell():
    scene, forecast = watched(2)
    scene.start(1, scene.machine())
    assert forecast.remaining(scene.state) is None


def test_what_is_left_takes_the_mean_of_what_was_done():
    scene, forecast = watched(12)
    first, second = scene.machine(), scene.machine()
    quick, slow = scene.start(1, first), scene.start(2, second)
    scene.pass_time(2 * MINUTE)
    scene.end(quick)
    scene.pass_time(2 * MINUTE)
    scene.end(slow)
    scene.start(3, first)
    scene.start(4, second)
    # Eight wait and two are half done, at three minutes each, on two machines.
    assert forecast.remaining(scene.state) == 9 * 3 * MINUTE // 2


def test_failures_teach_nothing_about_run_times():
    scene, forecast = watched(4)
    machine = scene.machine()
    attempt = scene.start(1, machine)
    scene.pass_time(MINUTE)
    scene.end(attempt, "failed")
    scene.start(2, machine)
    assert forecast.remaining(scene.state) is None


def test_while_nothing_runs_there_is_no_telling():
    scene, forecast = watched(4)
    machine = scene.machine()
    attempt = scene.start(1, machine)
    scene.pass_time(MINUTE)
    scene.end(attempt)
    assert forecast.remaining(scene.state) is None
    scene.tell(ev.RunEnded(scene.at, "interrupted"))
    assert forecast.remaining(scene.state) is None
