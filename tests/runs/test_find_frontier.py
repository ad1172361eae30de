"""The frontier in Python is that of the command, and draws itself."""

import json

import pytest

from bursar import find_frontier
from bursar.cli.main import main
from bursar.model.errors import InputError


def test_the_frontier_in_python_is_that_of_the_command(capsys):
    found = find_frontier(
        60, unreliable=20, reliability=0.8, turnaround="35m~10m", unreliable_price="0.10/h/s",
        reliable_price="0.34/h/s", prefer="cheapest", grid="paper", repetitions=5,
    )  # fmt: skip
    words = (
        "frontier --tasks 60 --unreliable 20 --reliability 0.8 --turnaround 35m~10m --json"
        " --unreliable-price 0.10/h/s --reliable-price 0.34/h/s --prefer cheapest --grid paper"
        " --repetitions 5"
    )
    with pytest.raises(SystemExit, match="0"):
        main(words.split())
    reported = json.loads(capsys.readouterr().out)
    assert [one.cost for one in found.frontier] == [one["cost"] for one in reported["frontier"]]
    assert found.preferred == reported["preferred"] == 1
    text = found._repr_html_()
    assert text.count("<circle") == len(found.shown()) <= len(found.frontier)
    assert "60 tasks, 20 unreliable machines" in text


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="turnaround"):
        find_frontier(60, unreliable=20, reliability=0.8)
