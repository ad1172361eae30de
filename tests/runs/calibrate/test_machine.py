"""Measurements on this very machine."""

import os
import tempfile
from pathlib import Path

import pytest

from bursar.model.errors import InputError
from bursar.runs.calibrate.machine import BLOCK, DiskMeasurement, measure_cpu, measure_disk


def test_a_processor_has_a_speed_near_that_of_the_reference():
    assert 0.01 < measure_cpu(2) < 100


def test_a_disk_is_written_and_read_and_nothing_stays(tmp_path):
    found = measure_disk(tmp_path, 4 * BLOCK)
    assert found.write > 0
    assert found.read > 0
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_no_name_while_it_is_measured(tmp_path, monkeypatch):
    """Whatever ends the process, nothing stays."""
    seen = []
    sync = os.fsync

    def look(descriptor):
        seen.append(list(tmp_path.iterdir()))
        assert os.fstat(descriptor).st_nlink == 0
        assert os.fstat(descriptor).st_size == 2 * BLOCK
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    measure_disk(tmp_path, 2 * BLOCK)
    assert seen == [[]]


def test_memory_is_not_taken_for_a_disk():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        found = measure_disk(memory, 2 * BLOCK)
    assert not found.is_cold
    assert found.both == found.write


def test_reads_from_memory_do_not_count():
    assert DiskMeasurement(write=100.0, read=300.0, is_cold=True).both == pytest.approx(150.0)
    assert DiskMeasurement(write=100.0, read=9e9, is_cold=False).both == 100.0


@pytest.mark.parametrize("directory", ["nowhere", "a\0b", "file"])
def test_a_directory_that_cannot_be_used_is_reported(tmp_path, monkeypatch, directory):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with pytest.raises(InputError, match="choose another --directory"):
        measure_disk(directory, BLOCK)


def test_a_file_that_does_not_fit_is_not_begun(tmp_path):
    with pytest.raises(InputError, match=r"MB free, too little for .* smaller --size"):
        measure_disk(tmp_path, 1 << 60)
