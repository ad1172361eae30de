from __future__ import annotations

import pytest

from bursar.model.wording import counted


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1200, "1,200 tasks")]
)
def test_a_noun_agrees_with_its_number(number, told):
    assert counted(number, "task") == told
