"""Policies side by side: what is best stands out, and names are shown as text."""

from __future__ import annotations

import re
from itertools import pairwise

from bursar.report.comparison import ComparedTable, comparison_html
from bursar.report.plot import Plot, Series, svg

TABLE = ComparedTable(
    "Autoscalers",
    ("autoscaler", "slowdown", "Jain", "cost", "same"),
    (("react", "2.50", "0.9", "$1,020.00", "1"), ("<b>plan", "1.75", "0.8", "-", "1")),
    less=("slowdown", "cost", "same"),
    more=("Jain",),
)


def test_the_best_figure_of_a_column_is_marked():
    assert TABLE.best() == {(1, 1), (0, 2)}, "one cost alone is no best, nor one of equals"


def test_the_page_has_tables_and_plots_and_runs_nothing():
    line = Series("react", ((0, 1), (1, 2)), "line")
    plot = Plot(title="Demand", across="time", upward="slots", series=(line,))
    text = comparison_html("2 runs & more", [TABLE], [plot])
    assert "<h1" in text and "2 runs &amp; more" in text
    assert "&lt;b&gt;plan" in text and "<b>plan" not in text
    assert text.count("font-weight:700") == 2
    assert "<svg" in text and "default-src 'none'" in text
    assert "<script" not in text


def test_figures_decide_where_texts_have_other_units():
    rows = (("a", "90.0 s"), ("b", "2.00 min"))
    table = ComparedTable("", ("", "time"), rows, less=("time",), figures={"time": (90.0, 120.0)})
    assert table.best() == {(0, 1)}


def test_a_column_of_bare_figures_names_its_unit():
    table = ComparedTable("", ("", "under"), (("a", "2.3"),), units={"under": "%"})
    assert ">under, %<" in comparison_html("", [table], [])


def test_labels_of_points_at_one_place_stand_above_each_other():
    line = Series("react", ((1, 1), (1, 1), (1, 1.001)), labels=("one", "two", "three"))
    drawn = svg(Plot(title="", across="time", upward="cost", series=(line,)))
    found = [re.search(rf'y="([0-9.]+)"[^>]*>{name}<', drawn)[1] for name in line.labels]
    assert all(abs(float(a) - float(b)) >= 13 for a, b in pairwise(found))
