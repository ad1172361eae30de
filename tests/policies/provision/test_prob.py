"""`prob`: machines for tasks that are each meant for one offer."""

from __future__ import annotations

import time
from random import Random

import msgspec
import pytest
from tests.policies.wishes import rented_offers

from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.goal import Account, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.random import RandomReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.state import RunState
from bursar.testing import Scene, check_provisioner
from bursar.testing.cases import hard_cases, play

HOURS = Offer("hours", Money.parse("0.10"), boot=MINUTE)
PAIRS = Offer("pairs", Money.parse("0.30"), slots=2)
SECONDS = Offer("seconds", Money.parse("0.001"), SECOND, boot=MINUTE)
IDLE = "idle, and nothing is ready for it"


def flow_of(count, parents=None):
    return Workflow(
        name="flow",
        names=tuple(f"t{task}" for task in range(count)),
        parents=parents or ((),) * count,
        kind_names=("any",),
        kinds=(0,) * count,
        runtimes=(1.0,) * count,
    )


def plan(fleet, *offers, work=1):
    names = tuple(dict.fromkeys(offers))
    assigned = Assigned(names, tuple(map(names.index, offers)))
    return ev.PlanChosen(0, "plan", fleet, 0, 0, ZERO, ZERO, assigned=assigned, work=work)


class Watched(Scene):
    """A scene that `prob` and its placer observe; a task for each of the offers named."""

    def __init__(self, *meant, fleet, parents=None, **conditions):
        self.prob = Prob()
        super().__init__(HOURS, PAIRS, SECONDS, arrivals_open=True, **conditions)
        self.tell(ev.WorkArrived(0, Work(flow_of(len(meant), parents))))
        self.tell(plan(fleet, *meant))

    def tell(self, event):
        super().tell(event)
        self.prob.saw(event, self.state)

    def wishes(self):
        return list(self.prob.provision(self.state, self.at, Random(0)))

    def rents(self):
        found = self.wishes()
        assert all(isinstance(wish, Rent | Wake) for wish in found)
        return rented_offers(found)

    def place(self):
        starts = AssignedPlacer(self.prob).place(self.state, self.at, Random(0))
        return [self.start(start.task, start.machine) for start in starts]

    def renew(self, machine):
        return self.prob.renew(self.state.machines[machine], self.state, self.at)


def planned(market):
    """With a plan for more tasks than the cases have."""
    prob = Prob()
    names = [offer.name for offer in market.offers]
    fleet = {offer.name: 2 if offer.limit is None else offer.limit for offer in market.offers}
    prob.saw(plan(fleet, *(names[task % len(names)] for task in range(20))), RunState())
    return prob


def test_each_work_has_the_machines_of_its_own_plan():
    scene = Watched(*["hours"] * 3, fleet={"hours": 1})
    assert scene.rents() == ["hours"]
    scene.tell(ev.WorkArrived(0, Work(flow_of(3))))
    scene.tell(plan({"hours": 2, "pairs": 1}, "hours", "hours", "pairs", work=2))
    assert sorted(scene.rents()) == ["hours"] * 3 + ["pairs"]


def test_a_work_that_is_done_leaves_its_machines_to_no_other():
    scene = Watched("hours", fleet={"hours": 2})
    scene.tell(ev.WorkArrived(0, Work(flow_of(4))))
    scene.tell(plan({"hours": 1}, *["hours"] * 4, work=2))
    assert scene.rents() == ["hours"] * 3
    scene.end(scene.start(1, scene.machine("hours")))
    assert scene.rents() == []


@pytest.mark.parametrize("gap", [0, 5 * MINUTE])
def test_two_workflows_with_opposite_plans_run_each_as_it_was_planned(gap):
    flow, prob = flow_of(6, ((), (0,), (0,), (1,), (2,), (3, 4))), Prob()
    offers = ("hours", "hours", "pairs", "hours", "pairs", "pairs")
    others = tuple("hours" if offer == "pairs" else "pairs" for offer in offers)
    arrivals = [ev.WorkArrived(0, Work(flow)), plan({"hours": 1, "pairs": 2}, *offers)]
    second = plan({"hours": 2, "pairs": 1}, *others, work=2)
    arrivals += [ev.WorkArrived(gap, Work(flow)), msgspec.structs.replace(second, at=gap)]
    state = simulate(
        Market("USD", "undated", (HOURS, PAIRS)),
        Goal(),
        arrivals,
        Policy(prob, AssignedPlacer(prob), NoReplicas()),
        ModelledBehaviour(given([MINUTE * (1 + task % 5) for task in range(12)])),
    )
    assert state.done == 12
    names = {charge.machine: charge.offer.name for charge in state.ledger.charges()}
    ran = [names[state.log.machine[state.winners[task]]] for task in range(1, 13)]
    assert tuple(ran[:6]) == offers
    assert tuple(ran[6:]) == others


def test_it_keeps_the_contract_of_a_provisioner():
    check_provisioner(planned)


# --- renting --------------------------------------------------------------------------------------


def test_a_machine_is_rented_for_each_ready_task_of_an_offer_up_to_the_fleet():
    scene = Watched(*["hours"] * 5, "seconds", fleet={"hours": 3, "seconds": 4})
    assert sorted(scene.rents()) == ["hours"] * 3 + ["seconds"]


def test_slots_that_are_free_or_will_be_count():
    scene = Watched(*["pairs"] * 7, fleet={"pairs": 9})
    assert scene.rents() == ["pairs"] * 4
    scene.rent("pairs")
    assert scene.rents() == ["pairs"] * 3
    scene.machine("pairs")
    assert scene.rents() == ["pairs"] * 2
    scene.place()
    assert scene.rents() == ["pairs"] * 2


def test_a_machine_that_leaves_is_replaced():
    scene = Watched("hours", fleet={"hours": 1})
    machine = scene.machine("hours")
    assert scene.rents() == []
    scene.announce_loss(machine, MINUTE)
    assert scene.rents() == ["hours"]


def test_nothing_is_rented_for_tasks_that_wait():
    scene = Watched("hours", "seconds", fleet={"hours": 1, "seconds": 1}, parents=((), (0,)))
    assert scene.rents() == ["hours"]


def test_another_assignment_brings_its_own_fleet():
    scene = Watched("hours", fleet={"hours": 1})
    scene.tell(ev.AssignmentChanged(0, Assigned(("seconds",), (0,)), {"seconds": 1}))
    assert scene.rents() == ["seconds"]


def test_a_task_of_an_offer_that_the_plan_has_given_up_gets_a_machine():
    """It had failed when the plan was changed, and is tried again."""
    scene = Watched("hours", "seconds", fleet={"seconds": 3})
    assert sorted(scene.rents()) == ["hours", "seconds"]
    scene.rent("hours")
    assert scene.rents() == ["seconds"]


# --- what is not available ----------------------------------------------------------------------


def test_tasks_go_to_machines_that_stand_where_their_offer_is_not_available():
    scene = Watched("hours", "seconds", fleet={"hours": 1, "seconds": 1})
    standing = scene.machine("seconds")
    scene.down(scene.rent("hours"), "refused")
    assert scene.rents() == []
    scene.place()
    assert scene.prob.work.ready.count("seconds") == 1
    assert scene.state.machines[standing].is_full


def test_the_cheapest_other_machine_is_rented_where_none_stands():
    scene = Watched("pairs", fleet={"pairs": 1})
    scene.down(scene.rent("pairs"), "refused")
    (wish,) = scene.wishes()
    assert wish == Rent("hours", reason="no pairs is available")
    scene.machine("hours")
    assert len(scene.place()) == 1


def test_the_one_account_of_a_run_pays_for_machines_that_no_plan_has():
    ann = Goal(accounts=(Account("ann"),))
    scene = Watched("pairs", fleet={"pairs": 1})
    scene.tell(ev.GoalChanged(0, ann))
    scene.tell(ev.MachineRented(0, 1, "pairs", HOUR, account="ann"))
    scene.down(1, "refused")
    assert scene.wishes() == [Rent("hours", 1, "ann", "no pairs is available")]
    scene = Watched(fleet={})
    scene.tell(ev.GoalChanged(0, ann))
    scene.tell(ev.WorkArrived(0, Work(flow_of(1), "ann")))
    assert scene.wishes() == [Rent("hours", 1, "ann", "tasks are ready that are in no plan")]


def test_an_offer_that_was_refused_is_asked_for_again_after_a_pause():
    scene = Watched("hours", "pairs", fleet={"hours": 1, "pairs": 1})
    machine = scene.machine("pairs")
    scene.place()
    scene.down(scene.rent("hours"), "refused")
    scene.pass_time(MINUTE)
    assert scene.rents() == ["hours"]
    assert not scene.state.machines[machine].leaving


def test_an_offer_that_cannot_be_paid_is_left_for_one_that_can():
    scene = Watched("pairs", fleet={"pairs": 1}, budget="0.2")
    assert scene.rents() == ["hours"]


def test_a_run_stops_when_the_money_buys_no_machine():
    scene = Watched("pairs", "pairs", fleet={"pairs": 1}, budget="0.0001")
    assert scene.wishes() == [Stop("2 tasks left, and $0.000100 buys no machine")]


def test_a_run_goes_on_without_money_while_machines_stand():
    scene = Watched("hours", "pairs", fleet={"hours": 1, "pairs": 1}, budget="0.10")
    scene.machine("hours")
    assert scene.rents() == []
    assert scene.prob.work.ready.count("hours") == 2


# --- giving back ----------------------------------------------------------------------------------


def test_an_idle_machine_with_a_short_unit_is_kept_for_as_long_as_it_boots():
    scene = Watched("seconds", "hours", fleet={"seconds": 1})
    machine = scene.machine("seconds", stay=HOUR)
    (attempt,) = scene.place()
    scene.pass_time(10 * MINUTE)
    scene.end(attempt)
    waits = [wish for wish in scene.wishes() if isinstance(wish, Wake)]
    assert waits == [Wake(11 * MINUTE)]
    scene.pass_time(MINUTE)
    gone = [wish for wish in scene.wishes() if isinstance(wish, Release)]
    assert gone == [Release(machine, at_once=True, reason=IDLE)]


def test_it_is_kept_until_its_minimum_charge_is_used_up():
    offer = Offer("seconds", Money(1), SECOND, minimum=HOUR, boot=MINUTE)
    scene, prob = Scene(offer, arrivals_open=True), Prob()
    scene.machine(stay=HOUR)
    prob.saw(scene.events[-1], scene.state)
    assert list(prob.provision(scene.state, 30 * MINUTE, Random(0))) == [Wake(HOUR)]
    (gone,) = prob.provision(scene.state, HOUR, Random(0))
    assert isinstance(gone, Release)


def test_machines_that_get_no_work_are_looked_at_even_if_some_is_ready():
    scene = Watched("seconds", fleet={"seconds": 2})
    _, younger = scene.machine("seconds", HOUR), scene.machine("seconds", HOUR)
    assert scene.wishes() == [Wake(MINUTE)]
    scene.pass_time(MINUTE)
    assert scene.wishes() == [Release(younger, at_once=True, reason=IDLE)]


def test_a_machine_with_a_long_unit_is_not_given_back_before_its_end():
    scene = Watched("hours", fleet={"hours": 1})
    scene.machine("hours")
    (attempt,) = scene.place()
    scene.end(attempt)
    scene.pass_time(50 * MINUTE)
    assert scene.wishes() == []


def test_a_machine_at_work_is_not_given_back():
    scene = Watched("seconds", fleet={"seconds": 1})
    scene.machine("seconds", stay=HOUR)
    scene.place()
    scene.pass_time(30 * MINUTE)
    assert scene.wishes() == []


# --- renewing -------------------------------------------------------------------------------------


def test_a_lease_is_extended_while_the_machine_works_and_ends_when_it_is_idle():
    scene = Watched("hours", fleet={"hours": 1})
    machine = scene.machine("hours")
    (attempt,) = scene.place()
    scene.pass_time(HOUR)
    assert scene.renew(machine) == Extend(machine)
    scene.end(attempt)
    assert scene.renew(machine) == Release(machine, reason=IDLE)


@pytest.mark.parametrize("are_up", [True, False])
def test_a_lease_is_extended_only_for_what_older_machines_do_not_take(are_up):
    scene = Watched(*["pairs"] * 3, fleet={"pairs": 3})
    make = scene.machine if are_up else scene.rent
    machines = [make("pairs") for _ in range(3)]
    scene.pass_time(HOUR)
    answers = [scene.renew(machine) for machine in machines]
    assert answers == [Extend(1), Extend(2), Release(3, reason=IDLE)]


def test_machines_that_are_up_take_work_before_those_that_boot():
    scene = Watched("hours", fleet={"hours": 2})
    booting, up = scene.rent("hours"), scene.machine("hours")
    scene.pass_time(HOUR)
    assert scene.renew(booting) == Release(booting, reason=IDLE)
    assert scene.renew(up) == Extend(up)


def test_an_idle_machine_with_a_short_unit_is_extended_while_it_may_be_needed():
    scene = Watched("seconds", fleet={"seconds": 1})
    machine = scene.machine("seconds", stay=10 * SECOND)
    (attempt,) = scene.place()
    scene.end(attempt)
    scene.pass_time(10 * SECOND)
    assert scene.renew(machine) == Extend(machine, reason="it may be needed soon")
    scene.pass_time(MINUTE)
    assert scene.renew(machine) == Release(machine, reason=IDLE)


# --- whole runs -----------------------------------------------------------------------------------


def test_a_run_that_was_taken_up_again_goes_on_as_if_nothing_had_happened():
    """Told the journal, another `prob` knows what is ready, and what is wanted for it."""
    scene = Watched(*["hours"] * 4, "pairs", fleet={"hours": 2, "pairs": 1})
    for offer in scene.rents():
        scene.machine(offer)
    attempts = scene.place()
    scene.end(attempts[0])
    again, state = Prob(), RunState()
    for event in scene.events:
        state.apply(event)
        again.saw(event, state)
    again.work.look(state)
    scene.prob.work.look(scene.state)
    for offer in ("hours", "pairs"):
        assert again.work.ready.count(offer) == scene.prob.work.ready.count(offer)
    assert list(again.provision(state, 0, Random(0))) == scene.wishes()
    assert again.work.ready.take("hours") == scene.prob.work.ready.take("hours")


def test_a_whole_workflow_is_done_within_its_fleet():
    prob, tasks = Prob(), 40
    parents = tuple((task - 5,) if task >= 5 else () for task in range(tasks))
    meant = ["hours" if task % 3 else "seconds" for task in range(tasks)]
    fleet = {"hours": 2, "seconds": 1}
    state = simulate(
        Market("USD", "undated", (HOURS, SECONDS)),
        Goal(),
        [ev.WorkArrived(0, Work(flow_of(tasks, parents))), plan(fleet, *meant)],
        Policy(prob, AssignedPlacer(prob), NoReplicas()),
        ModelledBehaviour(given([7 * MINUTE] * tasks)),
    )
    state.check()
    assert state.done == tasks
    used = {charge.machine: charge.offer.name for charge in state.ledger.charges()}
    for attempt in range(1, len(state.log) + 1):
        assert used[state.log.machine[attempt]] == meant[state.log.task[attempt] - 1]


def hard_workflows(count):
    """Hard cases with a workflow and a plan; sometimes a bag comes later, or another plan."""
    for case in hard_cases(count, seed=5):
        rng, tasks = Random(case.seed), Random(case.seed).randint(1, 12)
        parents = tuple(
            tuple(sorted(rng.sample(range(task), min(task, rng.randint(0, 2)))))
            for task in range(tasks)
        )
        offers = [offer.name for offer in case.market.offers]
        first, second = (
            plan({name: rng.randint(0, 2) for name in offers}, *rng.choices(offers, k=tasks))
            for _ in range(2)
        )
        later = rng.choice([0, MINUTE, HOUR])
        changed = ev.AssignmentChanged(later, second.assigned, second.fleet)
        bag = ev.WorkArrived(later, Work(Bag(rng.randint(1, 4))))
        yield msgspec.structs.replace(
            case,
            runtimes=tuple(rng.randint(1, 40 * MINUTE) for _ in range(tasks + 4)),
            outside=(
                ev.WorkArrived(0, Work(flow_of(tasks, parents))),
                first,
                *rng.choice([(), (changed,), (bag,), (bag, changed)]),
                ev.ArrivalsEnded(later),
            ),
        )


@pytest.mark.parametrize("replicator", [NoReplicas, RandomReplicas])
def test_workflows_keep_the_laws_in_hard_cases_and_come_to_an_end_that_is_understood(replicator):
    for case in hard_workflows(120):
        prob = Prob()
        state = play(case, Policy(prob, AssignedPlacer(prob), replicator()))
        assert state.ended is not None, case
        assert "the policy wants no machine" not in state.ended.why, case


def chains(idle, tasks=3000):
    """Seconds for ten chains, while so many machines that are paid by the hour are idle."""
    prob, rng = Prob(), Random(0)
    parents = (*[()] * (idle + 10), *((task,) for task in range(idle, idle + tasks - 10)))
    times = [SECOND] * idle + [rng.randint(SECOND // 10, SECOND) for _ in range(tasks)]
    work = flow_of(idle + tasks, parents)
    began = time.process_time()
    state = simulate(
        Market("USD", "undated", (HOURS,)),
        Goal(),
        [ev.WorkArrived(0, Work(work)), plan({"hours": idle + 10}, *["hours"] * work.count)],
        Policy(prob, AssignedPlacer(prob), NoReplicas()),
        ModelledBehaviour(given(times)),
    )
    assert state.done == work.count
    return time.process_time() - began


def test_idle_machines_do_not_slow_a_run_down():
    without = min(chains(idle=1) for _ in range(3))
    assert chains(idle=3000) < 8 * without, "they cost time at every event"


def test_a_short_unit_once_paid_is_used_to_its_end_with_time_to_give_the_machine_back():
    offer = Offer("fives", Money(1), 5 * SECOND)
    scene, prob = Scene(offer, arrivals_open=True), Prob()
    scene.machine(stay=HOUR)
    prob.saw(scene.events[-1], scene.state)
    end = 5 * SECOND - SECOND // 2
    assert list(prob.provision(scene.state, 1, Random(0))) == [Wake(end)]
    (gone,) = prob.provision(scene.state, end, Random(0))
    assert gone == Release(1, at_once=True, reason=IDLE)
