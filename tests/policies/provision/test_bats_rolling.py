"""The rolling plan of BaTS: what binds machines, how it begins, and what it keeps."""

from __future__ import annotations

from random import Random

from tests.policies.wishes import rented_offers

from bursar.beliefs.progress import Progress
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.provision.bats_bound import MachineBounds, free_money, relied_on
from bursar.policies.provision.bats_rolling import FOREVER, RollingBats
from bursar.policies.provision.bats_start import first_rents, offers_known
from bursar.state.actions import Extend, Release, Stop
from bursar.testing import Scene

SLOW = Offer("slow", Money.parse(1), HOUR, limit=10)
FAST = Offer("fast", Money.parse(3), HOUR, limit=10, speed=4.0)
FINE = Offer("fine", Money.parse("0.001"), SECOND, limit=10)


def progress(**minutes):
    """By offer, the run times that were seen there."""
    known = Progress()
    for offer, times in minutes.items():
        for time in times:
            known.of(offer).add(round(time * MINUTE))
    return known


def bounds_of(scene, *, least="0.5", **minutes):
    """Of tasks that take so long, and cost so much where they cost least."""
    known = progress(**minutes)
    times = {offer: known.of(offer).survival(()) for offer in minutes}
    return MachineBounds(scene.state, scene.at, times, float(Money.parse(least).nanos))


# --- what binds machines --------------------------------------------------------------------------


def test_a_machine_is_bound_until_its_task_ends_where_that_costs_less_than_to_repeat_it():
    """At 50 minutes a task of 20 begins; another hour costs 1."""
    scene = Scene(SLOW, tasks=5)
    machine = scene.machine()
    scene.pass_time(50 * MINUTE)
    scene.start(1, machine)
    bound = scene.state.machines[machine]
    assert bounds_of(scene, least="1", slow=[20]).bound(bound) == 2 * HOUR
    assert bounds_of(scene, least="0.9", slow=[20]).bound(bound) == HOUR


def test_a_unit_that_begins_now_has_been_entered():
    scene = Scene(SLOW, tasks=5)
    machine = scene.machine(stay=2 * HOUR)
    scene.pass_time(HOUR)
    assert bounds_of(scene, slow=[20]).bound(scene.state.machines[machine]) == 2 * HOUR
    scene.at -= 1
    assert bounds_of(scene, slow=[20]).bound(scene.state.machines[machine]) == HOUR


def test_what_money_cannot_end_is_given_up_the_dearest_first():
    scene = Scene(SLOW, FAST, tasks=5, budget="5")
    cheap, dear = scene.machine("slow"), scene.machine("fast")
    scene.pass_time(50 * MINUTE)
    for task, machine in enumerate((cheap, dear), 1):
        scene.start(task, machine)
    machines = [scene.state.machines[machine] for machine in (cheap, dear)]
    bounds, given_up = bounds_of(scene, least="9", slow=[20], fast=[20]).bounds(machines)
    assert (bounds, given_up) == ([2 * HOUR, HOUR], {dear})


def test_money_that_machines_give_back_is_free():
    """Of two hours that are paid for, one is bound."""
    scene = Scene(SLOW, tasks=5, budget="5")
    machine = scene.state.machines[scene.machine(stay=2 * HOUR)]
    assert free_money([machine], [HOUR], scene.state) == Money.parse(4).nanos
    assert free_money([machine], [2 * HOUR], scene.state) == Money.parse(3).nanos


def test_the_attempt_that_is_paid_for_longest_is_relied_on():
    scene = Scene(SLOW, tasks=1)
    short = scene.start(1, scene.machine())
    long = scene.start(1, scene.machine(stay=2 * HOUR))
    assert (relied_on(short, scene.state), relied_on(long, scene.state)) == (False, True)


def test_a_measurement_is_relied_on_whatever_else_runs():
    scene = Scene(SLOW, FAST, tasks=1)
    first = scene.start(1, scene.machine("slow"), measure=True)
    second = scene.start(1, scene.machine("fast", stay=2 * HOUR), measure=True)
    assert relied_on(first, scene.state)
    assert relied_on(second, scene.state)


# --- how it begins --------------------------------------------------------------------------------


def rented(scene):
    return rented_offers(first_rents(scene.state, scene.at))


def test_first_machines_cost_at_most_a_quarter_of_the_budget():
    assert sorted(rented(Scene(SLOW, FAST, tasks=500, budget="32"))) == ["fast"] * 2 + ["slow"] * 2


def test_for_a_deadline_one_machine_of_each_offer_is_enough_to_begin_with():
    scene = Scene(SLOW, FAST, tasks=500, budget="400", deadline=9 * HOUR)
    assert sorted(rented(scene)) == ["fast", "slow"]


def test_no_more_first_machines_than_tasks_that_have_none():
    scene = Scene(SLOW, tasks=3, budget="400")
    scene.machine()
    assert rented(scene) == ["slow"] * 2


def test_with_fine_units_a_share_of_the_tasks_is_sampled():
    """One part in fifty, but at least three slots."""
    assert len(rented(Scene(FINE, tasks=250, budget="400"))) == 5
    assert len(rented(Scene(FINE, tasks=60, budget="400"))) == 3


def test_with_fine_units_half_of_those_begun_must_have_ended():
    scene = Scene(FINE, tasks=1000, budget="400")
    known = progress(fine=[1])
    for task in (1, 2):
        scene.start(task, scene.machine(stay=SECOND))
    assert offers_known(scene.state, known, scene.at) == frozenset()
    assert offers_known(scene.state, progress(fine=[1, 1]), scene.at) == {"fine"}


def test_for_a_deadline_five_results_are_waited_for_while_there_is_time():
    scene = Scene(SLOW, tasks=100, deadline=8 * HOUR)
    assert offers_known(scene.state, progress(slow=[9] * 4), HOUR - 1) == frozenset()
    assert offers_known(scene.state, progress(slow=[9] * 5), HOUR - 1) == {"slow"}
    assert offers_known(scene.state, progress(slow=[9] * 4), HOUR) == {"slow"}


# --- what it keeps --------------------------------------------------------------------------------


def rolling(scene, **minutes):
    bats = RollingBats(progress(**minutes))
    wishes = list(bats.provision(scene.state, scene.at, Random(0)))
    return bats, wishes


def renewed(scene, machine, **minutes):
    bats, _ = rolling(scene, **minutes)
    return type(bats.renew(scene.state.machines[machine], scene.state, scene.at))


def test_no_more_machines_are_rented_than_an_offer_has():
    scene = Scene(Offer("few", Money.parse(1), HOUR, limit=3), tasks=400)
    scene.machine()
    _, wishes = rolling(scene, few=[30, 30])
    assert len(rented_offers(wishes)) == 2


def test_nothing_is_rented_while_an_offer_without_results_may_be_the_better_value():
    """On fast, which costs three times as much, a task has run for less than a third."""
    scene = Scene(SLOW, FAST, tasks=100, budget="100")
    scene.start(1, scene.machine("fast"))
    scene.pass_time(6 * MINUTE)
    _, wishes = rolling(scene, slow=[20, 20])
    assert not rented_offers(wishes)
    scene.pass_time(MINUTE)
    _, wishes = rolling(scene, slow=[20, 20])
    assert rented_offers(wishes)


def test_a_machine_whose_offer_is_not_known_yet_ends_its_first_task():
    scene = Scene(SLOW, FAST, tasks=2, budget="100")
    machine = scene.machine("fast")
    scene.start(1, machine)
    scene.pass_time(59 * MINUTE)
    assert renewed(scene, machine, slow=[1, 1]) is Extend


def test_a_machine_that_nothing_is_left_for_leaves():
    scene = Scene(SLOW, tasks=1, budget="100")
    machine, other = scene.machine(), scene.machine(stay=2 * HOUR)
    scene.start(1, machine)
    scene.start(1, other)
    scene.pass_time(50 * MINUTE)
    assert renewed(scene, machine, slow=[90, 90]) is Release, "the other is paid for longer"


def test_where_units_are_short_a_machine_ends_its_tasks():
    scene = Scene(FINE, tasks=50, budget="100")
    machine = scene.state.machines[scene.machine(stay=MINUTE)]
    bats, _ = rolling(scene, fine=[10] * 30)
    assert bats.stays_until(machine) == FOREVER


def test_a_course_is_kept_only_by_the_deadline():
    """A machine does 20 tasks of half an hour in ten hours, not in nine."""
    for hours, keeps in ((12, True), (9, False)):
        scene = Scene(SLOW, tasks=20, budget="100", deadline=hours * HOUR)
        scene.machine()
        bats = RollingBats(progress(slow=[30] * 30))
        assert bats.keeps_course(scene.state, scene.at) is keeps


def test_tasks_that_come_back_are_planned_for_at_once():
    """A lost machine: without a look being due, its task is planned for."""
    scene = Scene(SLOW, tasks=12, budget="100")
    machines = [scene.machine() for _ in range(2)]
    for task, machine in enumerate(machines, 1):
        scene.start(task, machine)
    bats, _ = rolling(scene, slow=[30] * 30)
    scene.pass_time(MINUTE)
    assert not list(bats.provision(scene.state, scene.at, Random(0)))
    planned = bats.plan
    scene.down(machines[0], "lost")
    list(bats.provision(scene.state, scene.at, Random(0)))
    assert bats.plan is not planned


def test_what_is_idle_for_good_leaves_only_where_that_saves_money():
    """By the hour nothing is given back; by the second the rest is."""
    for offer, leaves in ((SLOW, False), (FINE, True)):
        scene = Scene(offer, tasks=1, budget="100")
        scene.end(scene.start(1, scene.machine(stay=HOUR)))
        scene.pass_time(MINUTE)
        _, wishes = rolling(scene)
        assert bool([wish for wish in wishes if isinstance(wish, Release)]) is leaves


# --- how careful it is ----------------------------------------------------------------------------

VARIED = [20, 30, 40] * 4


def careful(budget, *, tasks=40, deadline=None):
    """Two slow machines and a fast one that are paid for an hour, for 5 of the budget."""
    scene = Scene(SLOW, FAST, tasks=tasks, budget=budget, deadline=deadline)
    for offer in ("slow", "slow", "fast"):
        scene.machine(offer)
    return rolling(scene, slow=VARIED, fast=[time / 4 for time in VARIED])


def stops(wishes):
    return [wish for wish in wishes if isinstance(wish, Stop)]


def test_a_run_is_given_up_only_if_even_short_tasks_could_not_be_paid_for():
    """By the mean 9.38 are needed, by three standard errors less 5.96."""
    assert stops(careful("8")[1]), "3 are left"
    assert not stops(careful("12")[1]), "7 are left"


def test_a_cushion_is_kept_of_what_is_left():
    """Of 13 a twentieth of the budget, which is 0.9: twelve units are planned for."""
    bats, _ = careful("18")
    assert bats.plan.cost == Money.parse(12).nanos


def test_for_a_deadline_more_is_rented_than_an_even_chance_takes():
    bats, _ = careful("20", deadline=3 * HOUR)
    assert bats.plan.cost == Money.parse(15).nanos


def test_a_plan_has_a_margin_where_that_does_not_put_off_the_end():
    """Without one it would cost 146."""
    bats, _ = careful("157", tasks=300)
    assert bats.plan.cost == Money.parse(148).nanos


# --- the end --------------------------------------------------------------------------------------


def test_the_time_to_boot_is_planned_for():
    ends = []
    for boot in (0, 30 * MINUTE):
        offer = Offer("slow", Money.parse(1), HOUR, limit=5, boot=boot)
        bats, _ = rolling(Scene(offer, tasks=40, budget="100"), slow=[30] * 30)
        ends.append(bats.plan.end)
    assert ends[1] - ends[0] > 25 * MINUTE


def test_a_machine_that_the_placer_passes_over_leaves_where_units_are_short():
    """Idle at one look and at the next, though a task is ready: others end it."""
    scene = Scene(FINE, tasks=40, budget="100")
    for _ in range(2):
        scene.machine(stay=HOUR)
    bats, first = rolling(scene, fine=[10] * 30)
    assert not [wish for wish in first if isinstance(wish, Release)]
    scene.pass_time(SECOND)
    again = bats.provision(scene.state, scene.at, Random(0))
    assert [wish.machine for wish in again if isinstance(wish, Release)] == [1, 2]


def too_late(done, *offers):
    """Ten tasks of an hour, of which so many are done, with half an hour to the deadline."""
    scene = Scene(*offers, tasks=10, deadline=2 * HOUR)
    machine = scene.machine("slow", stay=3 * HOUR)
    for task in range(1, done + 1):
        scene.end(scene.start(task, machine))
    scene.pass_time(90 * MINUTE)
    return stops(rolling(scene, slow=[60] * 30)[1])


def test_a_deadline_that_no_fleet_can_keep_ends_a_run_unless_most_is_done():
    few = Offer("slow", Money.parse(1), HOUR, limit=2)
    assert [stop.status for stop in too_late(1, few)] == ["deadline"]
    assert too_late(6, few) == []


def test_a_deadline_is_not_given_up_while_an_offer_is_not_known():
    few = Offer("slow", Money.parse(1), HOUR, limit=2)
    assert too_late(1, few, FAST) == []


def test_a_machine_is_asked_for_again_once_some_may_be_available_where_none_is_left():
    """Nobody would look again: with the last machine the last reason to wake has gone."""
    scene, rng = Scene(SLOW, tasks=5, budget="20"), Random(0)
    way = RollingBats(progress(slow=[20] * 30))
    scene.down(scene.rent(), "refused")
    assert not rented_offers(way.provision(scene.state, scene.at, rng))
    scene.pass_time(scene.state.refusals["slow"].over - scene.at)
    assert rented_offers(way.provision(scene.state, scene.at, rng))
