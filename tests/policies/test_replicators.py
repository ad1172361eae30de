"""Replicators: which running task gets another attempt, where and when (BaTS thesis, chapter 5)."""

from __future__ import annotations

from random import Random

import pytest

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag
from bursar.policies.live_attempts import deserves
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import make_policy, names
from bursar.policies.replicate.migrate import Migrate
from bursar.policies.replicate.perfect import Perfect
from bursar.policies.replicate.random import RandomReplicas
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.replicate.stochastic_random import StochasticRandom
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state.actions import Cancel, Start
from bursar.state.attempts import OUTCOMES
from bursar.state.run_times import UNKNOWN
from bursar.testing.scene import Scene

SLOW = Offer("slow", Money.parse(1), HOUR, speed=1.0)
FAST = Offer("fast", Money.parse(4), HOUR, speed=3.0)
SLOPES = {"slow": 1_000_000, "fast": 3_000_000}
RNG = Random(0)
CANCELLED = OUTCOMES.index("cancelled")


def knowing(*minutes):
    """Knowledge of tasks that took so long on the slow offer."""
    known = UnifiedRuntimes(SLOPES)
    for minute in minutes:
        known.learn("slow", minute * MINUTE)
    return known


def tail(*started):
    """Tasks that were started on slow machines at these minutes; it is the last of them."""
    scene = Scene(SLOW, FAST, tasks=len(started))
    for task, minute in enumerate(started, 1):
        scene.at = minute * MINUTE
        scene.start(task, scene.machine("slow"))
    return scene


def asked(replicator, scene):
    scene.state.runtimes = replicator.runtimes or UNKNOWN
    return list(replicator.replicate(scene.state, scene.at, RNG))


def pairs(actions):
    return [(action.task, action.machine) for action in actions if isinstance(action, Start)]


def test_every_replicator_of_the_thesis_is_an_entry():
    assert {"none", "stochastic", "random", "stochastic-random", "migrate", "perfect"} <= set(
        names("replicator")
    )


def test_the_task_with_the_most_expected_time_left_is_replicated():
    scene = tail(0, 10, 20)
    machine = scene.machine("fast")
    assert pairs(asked(Stochastic(knowing(60, 60)), scene)) == [(3, machine)]


def test_a_task_that_ends_sooner_where_it_runs_is_left_alone():
    scene = tail(0)
    scene.pass_time(45 * MINUTE)
    scene.machine("fast")
    assert asked(Stochastic(knowing(60)), scene) == []  # 15 minutes left, 20 elsewhere


def test_what_runs_longer_than_all_that_finished_is_no_candidate():
    scene = tail(0)
    scene.pass_time(61 * MINUTE)
    scene.extend(1, HOUR)
    scene.machine("fast")
    assert asked(Stochastic(knowing(60)), scene) == []


def test_a_task_is_judged_by_its_attempt_that_ends_first():
    scene = tail(0)
    scene.start(1, scene.machine("fast"))
    scene.machine("fast")
    assert asked(Stochastic(knowing(60)), scene) == []


def test_idle_machines_get_different_tasks_and_the_fastest_is_served_first():
    scene = tail(0, 0)
    scene.machine("slow")
    first, second = scene.machine("fast"), scene.machine("fast")
    assert pairs(asked(Stochastic(knowing(60)), scene)) == [(1, first), (2, second)]


def test_nothing_is_replicated_on_an_offer_of_which_nothing_is_known():
    scene = tail(0)
    scene.machine("fast")
    known = UnifiedRuntimes()
    known.learn("slow", HOUR)
    for replicator in (Stochastic(known), RandomReplicas(known), StochasticRandom(known)):
        assert asked(replicator, scene) == []


def test_random_replicates_what_no_forecast_would():
    scene = tail(0)
    scene.pass_time(59 * MINUTE)
    machine = scene.machine("fast")
    assert pairs(asked(RandomReplicas(knowing(60)), scene)) == [(1, machine)]
    assert pairs(asked(StochasticRandom(knowing(60)), scene)) == [(1, machine)]


def test_random_picks_what_a_slower_machine_executes_even_if_a_faster_one_does_too():
    scene = tail(0)
    scene.start(1, scene.machine("fast"))
    fast = scene.machine("fast")
    scene.machine("slow")
    assert pairs(asked(RandomReplicas(knowing(60)), scene)) == [(1, fast)]


def test_random_picks_nothing_that_no_slower_machine_executes():
    scene = Scene(SLOW, FAST, tasks=1)
    scene.start(1, scene.machine("fast"))
    scene.machine("fast")
    scene.machine("slow")
    assert asked(RandomReplicas(knowing(60)), scene) == []


def test_stochastic_random_prefers_what_is_expected_to_end_sooner():
    scene = tail(0, 45)
    scene.pass_time(1 * MINUTE)
    machine = scene.machine("fast")
    for seed in range(10):
        scene.state.runtimes = knowing(60)
        actions = StochasticRandom().replicate(scene.state, scene.at, Random(seed))
        assert pairs(actions) == [(2, machine)]


def test_perfect_uses_the_true_run_times():
    scene = tail(0, 0)
    machine = scene.machine("fast")
    truth = {1: 6 * MINUTE, 2: 9 * MINUTE}
    perfect = Perfect(lambda task, machine: round(truth[task] / machine.offer.speed))
    assert pairs(asked(perfect, scene)) == [(2, machine)]


def test_migration_starts_the_new_attempt_before_it_cancels_the_old():
    scene = Scene(SLOW, FAST, tasks=2)
    old = scene.start(1, scene.machine("slow"))
    machine = scene.machine("fast")
    actions = asked(Migrate(knowing(60), before_placing=1), scene)
    assert [type(action) for action in actions] == [Start, Cancel]
    assert (actions[0].task, actions[0].machine, actions[1].attempt) == (1, machine, old)


def test_once_no_task_is_ready_migration_only_replicates():
    scene = tail(0)
    machine = scene.machine("fast")
    assert pairs(asked(Migrate(knowing(60)), scene)) == [(1, machine)]
    assert len(asked(Migrate(knowing(60)), scene)) == 1


def test_attempts_that_are_cancelled_or_measure_are_no_candidates():
    scene = tail(0)
    scene.start(1, scene.machine("slow"))
    scene.cancel(2)
    scene.cancel(1)
    scene.machine("fast")
    assert asked(Stochastic(knowing(60)), scene) == []


def test_a_machine_deserves_its_next_unit_for_the_oldest_attempt_of_a_task_only():
    scene = tail(0)
    replica = scene.machine("fast")
    scene.start(1, replica)
    machines = scene.state.machines
    assert deserves(machines[1], scene.state)
    assert not deserves(machines[replica], scene.state)
    scene.down(1, "lost")
    assert deserves(machines[replica], scene.state)


# --- whole runs -----------------------------------------------------------------------------------


def run(replicator, runtimes, fleet, **options):
    policy = make_policy(
        replicator=replicator,
        options={"provisioner": {"fleet": fleet}, "replicator": options},
    )
    market = Market("USD", "undated", (SLOW, FAST))
    behaviour = ModelledBehaviour(given(runtimes))
    return simulate(market, Goal(), Bag(count=len(runtimes)), policy, behaviour, seed=3)


@pytest.mark.parametrize("replicator", ["stochastic", "random", "stochastic-random"])
def test_replicas_shorten_a_run_and_cost_nothing(replicator):
    """At 24 minutes the last two tasks start on slow machines, and both fast ones are idle."""
    runtimes = [24 * MINUTE] * 10
    fleet = {"slow": 2, "fast": 2}
    plain = run("none", runtimes, fleet)
    found = run(replicator, runtimes, fleet)
    assert (len(plain.log), len(found.log)) == (10, 12)
    assert found.ended.status == "done"
    assert plain.last_settled == (24 + 24) * MINUTE
    assert found.last_settled == (24 + 8) * MINUTE
    assert found.ledger.committed == plain.ledger.committed == Money.parse(2 * 1 + 2 * 4)


def test_a_task_that_moves_to_a_faster_machine_is_done_once():
    """At 40 minutes one task is ready, and the two that run on slow machines would end at 60."""
    state = run("migrate", [30 * MINUTE] * 9, {"slow": 2, "fast": 1}, before_placing=3)
    assert state.ended.status == "done"
    moved = [n for n in range(1, len(state.log) + 1) if state.log.outcome[n] == CANCELLED]
    assert moved
    assert all(state.winners[state.log.task[number]] > number for number in moved)


def test_a_replicator_learns_the_speeds_of_the_offers_from_what_finished():
    runtimes = [20 * MINUTE] * 10
    found = run("stochastic", runtimes, {"slow": 1, "fast": 1})
    plain = run("none", runtimes, {"slow": 1, "fast": 1})
    assert len(found.log) > found.total
    assert found.last_settled < plain.last_settled


def test_a_replica_is_given_up_when_its_machines_paid_time_ends():
    """At 50 minutes the fast machine is idle; the slow one works on past the hour."""
    runtimes = [150 * MINUTE, 150 * MINUTE]
    known = knowing(150)
    policy = make_policy(
        placer="random",
        replicator="stochastic",
        options={
            "provisioner": {"fleet": {"slow": 1, "fast": 1}},
            "replicator": {"knowledge": known},
        },
    )
    state = simulate(
        Market("USD", "undated", (SLOW, FAST)),
        Goal(),
        Bag(count=2),
        policy,
        ModelledBehaviour(given(runtimes)),
    )
    assert len(state.log) == 3
    assert state.log.ended[3] == HOUR
    assert state.last_settled == 150 * MINUTE
    assert str(state.ledger.committed) == str(Money.parse(3 + 4))


def test_a_free_machine_finishes_its_replica():
    machine_offer = Offer("own", Money.parse(0), HOUR)
    scene = Scene(SLOW, machine_offer, tasks=1)
    scene.start(1, scene.machine("slow"))
    own = scene.machine("own")
    scene.start(1, own)
    scene.pass_time(HOUR)
    answer = Fixed({"own": 1}).renew(scene.state.machines[own], scene.state, scene.at)
    assert type(answer).__name__ == "Extend"
