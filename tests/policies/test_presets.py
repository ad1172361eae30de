"""Presets are combinations that work; what would do nothing of use is refused."""

from __future__ import annotations

import pytest

from bursar.model.errors import InputError
from bursar.policies.presets import BATS, EXPERT, GOES_WITH, PRESETS, PROB, SAMPLING, SUITED
from bursar.policies.registry import BUILT_IN, check_policies


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_made_of_entries_that_go_together(name):
    check_policies(PRESETS[name])


def test_every_provisioner_with_partners_of_its_own_has_a_preset():
    alone = {name for role, name in GOES_WITH if role == "provisioner"}
    assert alone <= set(SUITED)
    assert all(preset["provisioner"] == name for name, preset in SUITED.items())
    assert all(name in BUILT_IN[role] for role, name in GOES_WITH)


@pytest.mark.parametrize(
    ("preset", "other", "reported"),
    [
        # Nothing would ever be started: `pooled` leaves that to `ntdmr`.
        (EXPERT, {"replicator": "none"}, "'mixed' goes with the replicator 'ntdmr' only"),
        (EXPERT, {"replicator": "stochastic"}, "'mixed' goes with the replicator 'ntdmr' only"),
        # Tasks would be started twice, by the placer and by the process on two pools.
        (EXPERT, {"placer": "random"}, "'mixed' goes with the placer 'pooled' only"),
        (BATS, {"placer": "pooled"}, "'pooled' goes with the provisioner 'mixed' only"),
        (BATS, {"replicator": "ntdmr"}, "'ntdmr' goes with the provisioner 'mixed' only"),
        # The plan would be paid for, and not followed.
        (PROB, {"placer": "fifo"}, "'prob' goes with the placer 'assigned' only"),
        # No offer would be compared with another.
        (SAMPLING, {"placer": "random"}, "'sample' goes with the placer 'sample' only"),
        (BATS, {"placer": "sample"}, "'sample' goes with the provisioner 'sample' only"),
        # Nothing would be known of run times.
        (BATS, {"provisioner": "fixed"}, "'fitting' goes with the provisioner 'bats' only"),
        (BATS, {"advisor": "tail"}, "'tail' goes with the provisioner 'mixed' only"),
        (EXPERT, {"advisor": "replan"}, "'replan' goes with the provisioner 'prob' only"),
    ],
)
def test_a_combination_that_does_nothing_of_use_is_refused_in_one_line(preset, other, reported):
    with pytest.raises(InputError) as refused:
        check_policies({**preset, **other})
    assert str(refused.value).endswith(f"{reported}; choose another")
