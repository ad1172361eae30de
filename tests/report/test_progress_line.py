"""The live line has what matters most, and never more than the terminal has columns."""

import pytest
from rich.cells import cell_len

from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import MINUTE
from bursar.report.forecast import Forecast
from bursar.report.progress_line import line
from bursar.state import events as ev
from bursar.testing import Scene


def watched(*offers, tasks=100_000, budget="1250"):
    """A run with many figures: tasks done, failed and running on machines of every offer."""
    scene, forecast = Scene(*offers, tasks=tasks, budget=budget), Forecast()
    machines = [scene.machine(offer.name) for offer in offers]
    for task, machine in enumerate(machines, 1):
        attempt = scene.start(task, machine)
        scene.pass_time(MINUTE)
        scene.end(attempt)
        forecast.saw(scene.events[-1], scene.state)
    failing = scene.start(len(offers) + 1, machines[0])
    scene.end(failing, "failed")
    for task, machine in enumerate(machines, len(offers) + 2):
        scene.start(task, machine)
    return scene, forecast


CHEAP = Money.parse("0.000024778")
WIDE = [Offer(name, CHEAP) for name in ("m7i.2xlarge", "c7g.4xlarge", "大きい機械", "large")]


@pytest.mark.parametrize("width", [200, 100, 80, 79, 60, 40, 24, 10, 5, 1])
def test_the_line_fits_a_terminal_of_any_width(width):
    scene, forecast = watched(*WIDE)
    assert cell_len(line(scene.state, forecast, width)) <= width
    scene.tell(ev.StopRequested(scene.at, "interrupted", "Ctrl-C"))
    assert cell_len(line(scene.state, forecast, width)) <= width


def test_at_80_columns_nothing_that_matters_is_cut_off():
    scene, forecast = watched(*WIDE)
    text = line(scene.state, forecast, 80)
    assert text.startswith("5/100,000 ")
    for part in ("$0.0000991 committed of $1,250.00", "1 failed", "ends in "):
        assert part in text
    assert "..." not in text.replace("..........", "")


def test_where_there_is_room_the_machines_and_the_clock_are_shown():
    scene, forecast = watched(*WIDE)
    text = line(scene.state, forecast, 200)
    assert "1 m7i.2xlarge + 1 c7g.4xlarge + 1 大きい機械 + 1 large" in text
    assert "ends " in text
    assert "(in " in text


def test_while_a_run_stops_the_line_says_what_is_waited_for():
    scene, forecast = watched(Offer("small", Money.parse("0.10"), slots=3), tasks=9)
    scene.start(7, 1)
    scene.tell(ev.StopRequested(scene.at, "interrupted", "Ctrl-C"))
    assert "stopping, waiting for 2 tasks to finish" in line(scene.state, forecast, 79)
    scene.tell(ev.StopRequested(scene.at, "interrupted", "Ctrl-C", now=True))
    assert "stopping, releasing 1 machine" in line(scene.state, forecast, 79)
    assert "ends " not in line(scene.state, forecast, 200)


def test_where_nothing_costs_money_none_is_shown():
    scene, forecast = watched(Offer("free", ZERO), budget=None)
    assert "committed" not in line(scene.state, forecast, 100)
