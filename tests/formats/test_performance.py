"""The performance file: what is added is found again, and mistakes are told in a line."""

import json
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.formats.performance import LATEST, MOST_KEPT, add_measurements, read_performance
from bursar.model.errors import InputError
from bursar.model.time import SECOND

ROWS = st.lists(st.tuples(st.floats(0, LATEST), st.floats(1e-3, 1e12)), max_size=20)


@settings(max_examples=30, deadline=None)
@given(ROWS, ROWS)
def test_what_is_added_is_found_again_in_the_order_of_time(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("home") / "performance.json"
    for rows in (first, second):
        add_measurements(path, "small", {"disk": rows})
    found = read_performance(path)["small"]
    rows = sorted([*first, *second], key=lambda row: row[0])
    assert found.disk.times.tolist() == [round(time * SECOND) for time, _ in rows]
    assert found.disk.bandwidths.tolist() == [value for _, value in rows]
    assert len(found.cpu.times) == len(found.network.times) == 0


def test_offers_and_resources_are_kept_apart(tmp_path):
    path = tmp_path / "deep" / "down" / "performance.json"
    add_measurements(path, "small", {"cpu": [(10.0, 1.5)], "network": [(11.0, 2e8)]})
    add_measurements(path, "large", {"cpu": [(12.0, 3.0)]})
    found = read_performance(path)
    assert list(found) == ["small", "large"]
    assert found["small"].cpu.bandwidths.tolist() == [1.5]
    assert found["small"].network.times.tolist() == [11 * SECOND]
    assert found["large"].performance(13 * SECOND).speed == 3.0


def test_the_latest_are_kept(tmp_path):
    path = tmp_path / "performance.json"
    add_measurements(path, "small", {"disk": [(float(n), 1.0) for n in range(MOST_KEPT)]})
    add_measurements(path, "small", {"disk": [(0.5, 7.0), (1e6, 9.0)]})
    found = read_performance(path)["small"].disk
    assert len(found.times) == MOST_KEPT
    assert found.times[0] == SECOND
    assert found.bandwidths[-1] == 9.0
    assert np.all(found.bandwidths[:-1] == 1.0)


def test_those_who_add_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "performance.json"

    def add(who):
        for number in range(10):
            add_measurements(path, who, {"cpu": [(float(number), 1.0)]})

    threads = [threading.Thread(target=add, args=(f"offer-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(found.cpu.times) for found in read_performance(path).values()] == [10] * 4


LIMITED = """
import resource, sys
from bursar.formats.performance import add_measurements
from bursar.model.errors import InputError
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    add_measurements(sys.argv[1], "small", {"disk": [(2.0, 1.0), (3.0, 1.0), (4.0, 1.0)]})
except InputError as error:
    sys.exit(str(error))
"""


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path):
    """As on a full disk; in a process of its own, since pytest may print to a file, too."""
    path = tmp_path / "performance.json"
    add_measurements(path, "small", {"cpu": [(1.0, 1.0)]})
    before = path.read_bytes()
    command = [sys.executable, "-c", LIMITED, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"performance\.json: cannot write .*: File too large", done.stderr)
    assert path.read_bytes() == before


def file_of(rows, version=1):
    return json.dumps({"version": version, "offers": {"small": {"disk": rows}}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a performance file: "),
        ("[1, 2]", "not a performance file: Expected `object`"),
        ('{"version": 1, "offers": {"small": {"dsik": []}}}', r"unknown field `dsik`"),
        (file_of([[1.0]]), r"Expected `array` of length 2"),
        (file_of([[1.0, "fast"]]), "Expected `float`"),
        ("[" * 100_000, "not a performance file"),
        (file_of([], version=2), "version '2'; only 1 is read"),
        (file_of([[1.0, 0.0]]), "small, disk, measurement 1: 0 is not a usable value"),
        (file_of([[1.0, 5.0], [-1.0, 5.0]]), "measurement 2: an impossible time"),
        (file_of([[1e300, 5.0]]), "an impossible time"),
        ('{"version": 1, "offers": {"a\\nb": {"cpu": [[1, -2]]}}}', r"a\\nb, cpu"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(tmp_path, text, message):
    path = tmp_path / "performance.json"
    path.write_text(text)
    for use in (read_performance, lambda one: add_measurements(one, "small", {})):
        with pytest.raises(InputError, match=message) as reported:
            use(path)
        assert str(reported.value).startswith(str(path))
        assert "\n" not in str(reported.value)
    assert path.read_text() == text


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(InputError, match="cannot read the performance file: No such file"):
        read_performance(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("offer", "row"), [("", (1.0, 1.0)), ("small", (1.0, float("nan"))), ("small", (-1.0, 1.0))]
)
def test_measurements_that_cannot_be_are_not_added(tmp_path, offer, row):
    path = tmp_path / "performance.json"
    with pytest.raises(InputError, match="offer '"):
        add_measurements(path, offer, {"cpu": [row]})
    assert not path.exists()


def test_a_directory_that_cannot_be_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the performance file"):
        add_measurements(tmp_path / "file" / "performance.json", "small", {})
