"""BaTS as published: what it reckons while it watches a plan (thesis, sections 2.2 and 3.2)."""

from __future__ import annotations

from random import Random

import pytest
from tests.policies.wishes import rented_offers

from bursar.beliefs.progress import Progress
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.policies.provision.bats_published import Cushion, PublishedBats
from bursar.state.actions import Extend, Release, Stop, Wake
from bursar.testing import Scene

SLOW = Offer("slow", Money.parse(1), HOUR, limit=10)
SAMPLE = [10 * MINUTE, 20 * MINUTE, 30 * MINUTE]


class Watched(Scene):
    """A scene whose events BaTS has seen; of `slow` it knows a sample with a mean of 20 minutes."""

    def __init__(self, *offers, cushion=None, **options):
        self.progress = Progress(sample=3)
        self.bats = PublishedBats(self.progress, cushion)
        super().__init__(*(offers or (SLOW,)), **options)
        for offer in self.state.market.offers:
            self.progress.learn_sample(offer.name, SAMPLE)

    def tell(self, event):
        super().tell(event)
        self.progress.saw(event, self.state)

    def prospect(self, machine):
        return self.bats.prospect(self.state.machines[machine], self.state, self.at)

    @property
    def beyond_paid(self):
        return self.bats.tasks_beyond_paid(self.state, self.at)

    @property
    def planned(self):
        return self.bats.tasks_planned(self.state, self.at)

    def provision(self):
        return list(self.bats.provision(self.state, self.at, Random(0)))


# --- one machine ----------------------------------------------------------------------------------


def test_the_speed_of_a_machine_counts_the_task_under_way():
    """Speed is (nt + 1) / (rt + tau_e): one task in 5 minutes, and one of which 20 are expected."""
    scene = Watched(tasks=9)
    machine = scene.machine()
    attempt = scene.start(1, machine)
    scene.pass_time(5 * MINUTE)
    scene.end(attempt)
    scene.start(2, machine)
    assert scene.prospect(machine).speed == pytest.approx(2 / (25 * MINUTE))


def test_what_is_under_way_takes_as_long_as_what_took_longer_in_the_sample():
    """Tasks that ended since, however long, are not in the sample set (section 2.2.1)."""
    scene = Watched(tasks=9)
    scene.progress.of("slow").add(10 * HOUR)
    machine = scene.machine(stay=HOUR)
    scene.start(1, machine)
    scene.pass_time(15 * MINUTE)
    assert scene.progress.of("slow").expected_by_sample(15 * MINUTE) == 25 * MINUTE
    assert scene.prospect(machine).spare == 35 * MINUTE
    mean = scene.progress.mean("slow", [15 * MINUTE])
    assert mean == (60 * MINUTE + 10 * HOUR + 25 * MINUTE) // 5


def test_a_task_longer_than_all_of_the_sample_is_expected_to_end_now():
    scene = Watched(tasks=9)
    assert scene.progress.of("slow").expected_by_sample(30 * MINUTE) == 30 * MINUTE
    assert scene.progress.of("slow").expected_by_sample(30 * MINUTE - 1) == 30 * MINUTE


@pytest.mark.parametrize(
    ("begun", "crossed", "spare"),
    [
        (39, 0, 1),
        (40, 1, 60),  # ATU - up_e mod ATU is a whole unit where up_e ends one
        (45, 1, 55),
    ],
)
def test_a_task_may_take_its_machine_to_the_next_unit(begun, crossed, spare):
    """Delta = ATU - up_e mod ATU; a task of 20 minutes is expected."""
    scene = Watched(tasks=9)
    machine = scene.machine()
    scene.pass_time(begun * MINUTE)
    scene.start(1, machine)
    prospect = scene.prospect(machine)
    assert (prospect.crossed, prospect.spare) == (crossed, spare * MINUTE)
    assert prospect.tasks == spare // 20


def test_a_task_may_take_its_machine_over_several_units():
    offer = Offer("slow", Money.parse(1), 6 * MINUTE)
    scene = Watched(offer, tasks=9)
    machine = scene.machine(stay=6 * MINUTE)
    scene.start(1, machine)
    assert scene.prospect(machine).crossed == 3
    assert scene.prospect(machine).spare == 4 * MINUTE


def test_a_marked_machine_is_gone_at_the_end_of_its_unit():
    scene = Watched(tasks=9)
    machine = scene.machine()
    scene.pass_time(45 * MINUTE)
    scene.start(1, machine)
    scene.mark(machine)
    prospect = scene.prospect(machine)
    assert (prospect.crossed, prospect.spare, prospect.tasks) == (0, -5 * MINUTE, 0)


def test_a_machine_without_a_task_yet_is_as_fast_as_its_offer_once_it_is_up():
    offer = Offer("slow", Money.parse(1), HOUR, boot=10 * MINUTE)
    scene = Watched(offer, tasks=9)
    machine = scene.rent()
    assert scene.prospect(machine).speed == pytest.approx(1 / (20 * MINUTE))
    assert scene.prospect(machine).spare == 50 * MINUTE


def test_slots_share_the_work_of_a_machine():
    """Two tasks of 20 minutes on four slots: ten minutes of the machine, at four times the pace."""
    scene = Watched(Offer("slow", Money.parse(1), HOUR, slots=4), tasks=9)
    machine = scene.machine()
    scene.start(1, machine)
    scene.start(2, machine)
    assert scene.prospect(machine).spare == 50 * MINUTE
    assert scene.prospect(machine).speed == pytest.approx(4 / (20 * MINUTE))


# --- the bag --------------------------------------------------------------------------------------


def test_what_paid_time_does_is_not_left_in_the_bag():
    """N_e: of an hour two tasks of 20 minutes fit behind the first, on each of two machines."""
    scene = Watched(tasks=9)
    for task in (1, 2):
        scene.start(task, scene.machine())
    assert scene.beyond_paid == 7 - 2 * 2


def test_what_a_marked_machine_cannot_end_comes_back_to_the_bag():
    scene = Watched(tasks=9)
    machine = scene.machine()
    scene.pass_time(45 * MINUTE)
    scene.start(1, machine)
    assert scene.beyond_paid == 8 - 2, "it goes on to the next unit, and does two more"
    scene.mark(machine)
    assert scene.beyond_paid == 8 + 1


def test_what_a_marked_machine_ends_before_it_leaves_does_not_come_back():
    scene = Watched(tasks=9)
    machine = scene.machine()
    scene.start(1, machine)
    scene.mark(machine)
    assert scene.beyond_paid == 8 - 2


def test_planned_units_and_what_is_left_over_of_the_paid_one_do_the_rest():
    """N_p: two further hours, and the 15 minutes in which no task fits: 135 minutes, six tasks.

    A further hour alone does three; with 15 minutes of it over, and 5 more, it does four.
    """
    scene = Watched(tasks=60, budget="3")
    machine = scene.machine()
    scene.pass_time(5 * MINUTE)
    scene.start(1, machine)
    assert scene.prospect(machine).tasks == 1
    scene.bats._plan_ends[machine] = 3 * HOUR
    assert scene.planned == 6
    scene.bats._plan_ends[machine] = 2 * HOUR + 5 * MINUTE
    assert scene.planned == (65 + 15) // 20


def test_a_unit_that_a_task_enters_is_no_longer_a_planned_one():
    """At 45 minutes: 55 minutes of the second unit do two tasks, and 15 are left for the third."""
    scene = Watched(tasks=60, budget="3")
    machine = scene.machine()
    scene.pass_time(45 * MINUTE)
    scene.start(1, machine)
    scene.bats._plan_ends[machine] = 3 * HOUR
    assert scene.planned == (60 + 15) // 20
    scene.bats._plan_ends[machine] = 2 * HOUR
    assert scene.planned == 0


# --- the money ------------------------------------------------------------------------------------


def configured(scene):
    """The fleet that is chosen now."""
    scene.bats.choice = None
    wishes = scene.provision()
    assert scene.bats.choice is not None or any(isinstance(wish, Stop) for wish in wishes)
    return None if scene.bats.choice is None else scene.bats.choice.fleet


def test_the_sample_leads_to_the_fastest_fleet_for_what_is_left():
    """Twelve tasks are left beyond the paid hour: an hour of four machines."""
    scene = Watched(tasks=15, budget="5")
    scene.start(1, scene.machine())
    assert scene.beyond_paid == 12
    assert configured(scene) == {"slow": 4}
    assert len(rented_offers(scene.provision())) == 3


def test_units_that_tasks_under_way_enter_are_not_spent_twice():
    """At 45 minutes: of three units left one is the machine's own next."""
    scene = Watched(tasks=9, budget="4")
    machine = scene.machine()
    scene.pass_time(45 * MINUTE)
    scene.start(1, machine)
    assert scene.beyond_paid == 6
    assert configured(scene) == {"slow": 2}
    scene.mark(machine)
    scene.bats._next_look = 0
    assert scene.beyond_paid == 9
    assert configured(scene) == {"slow": 3}, "a marked machine enters no further unit"


def test_a_plan_begins_after_the_units_that_tasks_under_way_enter():
    """The machine's second unit is due for its task; the one hour of the plan is its third."""
    scene = Watched(tasks=9, budget="4")
    machine = scene.machine()
    scene.pass_time(45 * MINUTE)
    scene.start(1, machine)
    configured(scene)
    assert scene.bats.choice.units == {"slow": 1}
    assert scene.bats.stays_until(scene.state.machines[machine]) == 3 * HOUR


def test_a_machine_that_is_rented_for_the_plan_has_all_its_units():
    scene = Watched(tasks=15, budget="5")
    scene.start(1, scene.machine())
    configured(scene)
    scene.pass_time(MINUTE)
    late = scene.machine()
    assert scene.bats.stays_until(scene.state.machines[late]) == HOUR + MINUTE


def test_machines_beyond_the_configuration_leave_when_their_paid_time_ends_first():
    """Money for one more unit: of two machines the one that is paid for longer stays."""
    scene = Watched(tasks=6, budget="3")
    early = scene.machine()
    scene.pass_time(30 * MINUTE)
    late = scene.machine()
    scene.start(1, early)
    scene.start(2, late)
    scene.bats.choice = None
    released = [wish.machine for wish in scene.provision() if isinstance(wish, Release)]
    assert scene.bats.choice.fleet == {"slow": 1}
    assert released == [early]


def test_a_machine_stays_while_it_works_or_there_is_work():
    scene = Watched(tasks=1)
    machine = scene.machine()
    state = scene.state
    assert isinstance(scene.bats.renew(state.machines[machine], state, scene.at), Extend)
    attempt = scene.start(1, machine)
    assert isinstance(scene.bats.renew(state.machines[machine], state, scene.at), Extend)
    scene.end(attempt)
    assert isinstance(scene.bats.renew(state.machines[machine], state, scene.at), Release)


@pytest.mark.parametrize(("unit", "looks_every"), [(HOUR, 5), (6 * HOUR, 30)])
def test_it_looks_every_five_minutes_or_more_seldom_where_units_are_long(unit, looks_every):
    scene = Watched(Offer("slow", Money.parse(1), unit), tasks=60)
    scene.machine(stay=unit)
    wakes = [wish.at for wish in scene.provision() if isinstance(wish, Wake)]
    scene.pass_time(looks_every * MINUTE)
    wakes += [wish.at for wish in scene.provision() if isinstance(wish, Wake)]
    assert wakes[-1] == 2 * looks_every * MINUTE


def test_idle_machines_are_kept_while_more_work_may_come_or_they_are_paid_for():
    for arrivals_open in (True, False):
        for stay in (1, 2):
            scene = Watched(tasks=1, arrivals_open=arrivals_open)
            scene.end(scene.start(1, scene.machine(stay=stay * HOUR)))
            assert bool(scene.provision()) is (not arrivals_open and stay == 2)


def test_no_configuration_is_bought_with_the_cushion():
    """Section 3.2.1: the knapsack gets the money that is left without it."""
    plenty = Watched(tasks=15, budget="5")
    plenty.start(1, plenty.machine())
    assert configured(plenty) == {"slow": 4}
    aside = Watched(tasks=15, budget="5", cushion=Cushion(1, Money.parse(1)))
    aside.start(1, aside.machine())
    assert configured(aside) is None, "three units do nine of twelve tasks"


def test_the_cushion_allows_for_so_many_tasks():
    scene = Watched(tasks=12, budget="9", cushion=Cushion(3, Money.parse(1)))
    scene.start(1, scene.machine())
    assert (scene.beyond_paid, scene.planned) == (9, 0)
    assert scene.bats.is_violated(scene.state, scene.at)
    scene.bats.cushion = Cushion(9)
    assert not scene.bats.is_violated(scene.state, scene.at)
    scene.bats.cushion = Cushion(8)
    assert scene.bats.is_violated(scene.state, scene.at)


# --- the sample -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("tasks", "size"), [(1000, 30), (5000, 31), (100, 24)])
def test_the_sample_is_as_large_as_equation_2_1_says(tasks, size):
    """One more task of it on the offer, and it has ended."""
    scene = Scene(SLOW, tasks=tasks)
    progress = Progress()
    assert progress.sample_of(tasks) == size
    progress.learn_sample("slow", [MINUTE] * (size - 1))
    assert not progress.is_sampled("slow", tasks)
    progress.learn_sample("slow", [MINUTE])
    assert progress.is_sampled("slow", tasks)
    bats = PublishedBats(Progress())
    rents = rented_offers(bats.provision(scene.state, scene.at, Random(0)))
    assert len(rents) == min(10, size)


def test_only_the_first_tasks_of_an_offer_are_its_sample():
    scene = Watched(tasks=9)
    scene.progress.seen.clear()
    machine = scene.machine()
    for number in range(1, 6):
        attempt = scene.start(number, machine)
        scene.pass_time(number * MINUTE)
        scene.end(attempt)
    assert scene.progress.of("slow").sampled == [MINUTE, 2 * MINUTE, 3 * MINUTE]
    assert scene.progress.of("slow").count == 5
