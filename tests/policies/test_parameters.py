from __future__ import annotations

import pytest

from bursar.model.errors import InputError
from bursar.policies.registry import check_policies, find, make_policy


def test_a_parameter_is_written_behind_the_name():
    found = find("placer", "owm:order=highest")
    assert found.keywords == {"order": "highest"}
    found = find("placer", "fwp:history=10:tasks=20")
    assert found.keywords == {"history": 10, "tasks": 20}
    make_policy(placer="owm:order=highest", options={"provisioner": {"fleet": {}}})
    check_policies({"provisioner": "fixed", "placer": "fwp:tasks=5", "replicator": "none"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("owm:oder=highest", "no parameter 'oder': it has order"),
        ("owm:highest", "no parameter 'highest': it has order, overdue; write order=VALUE"),
        ("owm:order=fastest", "order of the placer 'owm' is lowest or highest, not 'fastest'"),
        ("fwp:history=many", "history of the placer 'fwp' is a whole number, not 'many'"),
        ("fwp:tasks=1:tasks=2", "gets tasks twice"),
        ("fifo:seed=1", "no parameter 'seed': it has none"),
        ("best:seed=1", "no placer 'best'"),
    ],
)
def test_what_is_no_parameter_is_refused_in_one_line(text, complaint):
    with pytest.raises(InputError) as reported:
        check_policies({"placer": text})
    assert complaint in str(reported.value)
    assert "\n" not in str(reported.value)
