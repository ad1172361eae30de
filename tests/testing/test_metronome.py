"""What load adds is known, and is not held against who is tested."""

from __future__ import annotations

from tests.dask_cluster import eventually

from bursar.model.time import SECOND
from bursar.testing.metronome import Metronome


def test_a_beat_that_is_overdue_is_late_before_it_comes_and_after():
    clock = [0]
    metronome = Metronome(lambda: clock[0])
    try:
        clock[0] = SECOND
        overdue = metronome.lateness(0)
        assert overdue >= SECOND // 2
        assert eventually(lambda: metronome._beats)
        assert metronome.lateness(0) >= overdue
        assert metronome.lateness(2 * SECOND) == 0
    finally:
        metronome.close()
