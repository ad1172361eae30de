"""Plots are SVG that any browser reads."""

from xml.etree import ElementTree

import pytest

from bursar.report.plot import Plot, Series, svg
from bursar.reproduce.page import entry_page, plot_file
from bursar.reproduce.result import Reproduction

NAME = "{http://www.w3.org/2000/svg}"


def drawn(*series, **more):
    plot = Plot(title="A < B & C", across="time, s", upward="cost", series=series, **more)
    return ElementTree.fromstring(svg(plot))  # noqa: S314  (our own text)


def texts(picture):
    return [one.text for one in picture.iter(f"{NAME}text")]


def test_text_is_escaped_and_read_back_as_it_was():
    found = texts(drawn(Series('<b>"x"&', ((1.0, 2.0),))))
    assert {"A < B & C", '<b>"x"&', "time, s", "cost"} <= set(found)


def test_every_point_is_within_the_axes():
    picture = drawn(Series("a", ((10.0, 0.5), (27.0, 4.2))), Series("b", ((13.0, 1.0),), "line"))
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in picture.iter(f"{NAME}circle")]
    assert len(places) == 3
    assert all(84 <= x <= 720 and 44 <= y <= 400 for x, y in places)
    assert places[0][0] < places[2][0] < places[1][0]
    assert places[1][1] < places[2][1] < places[0][1]


def test_a_step_goes_across_and_then_up():
    picture = drawn(Series("a", ((0.0, 0.0), (6.0, 6.0)), "step"))
    path = next(p.get("d") for p in picture.iter(f"{NAME}path") if p.get("stroke-width"))
    assert path == "M84.0 400.0H720.0V44.0"


def test_bars_that_are_cut_off_tell_their_height():
    bars = Series("a", ((0.0, 5.0), (1.0, 1234.0)), "bars")
    found = texts(drawn(bars, categories=("one", "two"), top=5.0))
    assert {"one", "two", "1,234"} <= set(found)


@pytest.mark.parametrize("points", [(), ((3.0, 0.0),), ((-1.0, -2.0), (5.0, 1e6))])
def test_any_points_can_be_drawn(points):
    assert "nan" not in ElementTree.tostring(drawn(Series("a", points))).decode()


def test_the_page_shows_every_plot():
    plot = Plot(title="T", across="x", upward="y", series=())
    found = Reproduction(name="fig", title="F", source="S", rows=(), plots=(plot, plot))
    assert [plot_file(found, number) for number in range(2)] == ["fig.svg", "fig-2.svg"]
    assert "![T](../plots/fig.svg)" in entry_page(found)
    assert "![T](../plots/fig-2.svg)" in entry_page(found)
