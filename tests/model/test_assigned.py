from __future__ import annotations

from bursar.model.assigned import Assigned


def test_each_task_has_its_offer_and_later_ones_have_none():
    assigned = Assigned(("small", "large", "huge"), (1, 0, 1))
    assert [assigned.of(task) for task in (1, 2, 3, 4)] == ["large", "small", "large", None]
    assert assigned.counts() == {"small": 1, "large": 2}
