"""The fleets of the plans of several works, together."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.policies.planned_fleets import PlannedFleets
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.testing import Scene

OFFERS = (Offer("small", ZERO, slots=99), Offer("large", ZERO))
FLEETS = st.fixed_dictionaries({"small": st.integers(0, 3)}, optional={"large": st.integers(0, 3)})


class Watched(Scene):
    def __init__(self, counts):
        self.fleets = PlannedFleets()
        super().__init__(*OFFERS, tasks=0, arrivals_open=True)
        for count in counts:
            self.tell(ev.WorkArrived(0, Work(Bag(count))))

    def tell(self, event):
        super().tell(event)
        self.fleets.saw(event, self.state)


def chosen(fleet, work):
    return ev.PlanChosen(0, "plan", fleet, 0, 0, ZERO, ZERO, work=work)


def test_without_a_plan_there_is_no_fleet():
    assert Watched([2]).fleets.total is None


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.tuples(FLEETS, st.integers(1, 4)), max_size=9),
    st.randoms(use_true_random=False),
)
def test_it_is_the_sum_of_the_last_plans_of_all_works_that_are_not_done(counts, plans, rng):
    scene, last = Watched(counts), {}
    machine = scene.machine()
    for fleet, work in plans:
        if work <= len(counts) and scene.state.work.left(work - 1):
            scene.tell(chosen(fleet, work))
            last[work] = fleet
        if scene.state.ready:
            scene.end(scene.start(rng.choice(list(scene.state.ready)), machine))
        going_on = [last[one] for one in last if scene.state.work.left(one - 1)]
        total = scene.fleets.total
        assert (total is None) == (not going_on)
        assert Counter(total or {}) == sum(map(Counter, going_on), Counter())
        late = PlannedFleets()
        late.saw_before(view_of(scene.state))
        assert (late.total is None) == (total is None)
        assert Counter(late.total or {}) == Counter(total or {})
