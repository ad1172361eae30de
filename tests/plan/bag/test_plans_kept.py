"""What was offered is what happens: plans on machines that boot, billed by the second."""

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag.plans import known_runtimes, make_plans
from bursar.plan.reserve import reserve_of
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.planned import Planned
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, drawn
from bursar.simulate.run import simulate

OFFER = Offer("c7a.large", Money(28_512), SECOND, MINUTE, limit=50, boot=45 * SECOND, slots=2)
MARKET = Market("USD", "2026-07-01", (OFFER,))
TASKS = 40


def run(fleet, cap, seed):
    policy = Policy(Planned(fleet), FifoPlacer(), NoReplicas())
    times = drawn(lambda rng: max(1, round(rng.gauss(180e6, 40e6))), seed)
    return simulate(MARKET, Goal(cap), Bag(count=TASKS), policy, ModelledBehaviour(times))


def test_a_chosen_plan_is_followed_to_its_end_and_keeps_its_bounds():
    """A first guess by a few long tasks is no reason to leave it: its bound allows for that."""
    samples = {OFFER.name: known_runtimes(180 * SECOND, 40 * SECOND)}
    plans = make_plans(MARKET, samples, TASKS, Goal()).plans
    kept = []
    for plan in (plans[0], plans[len(plans) // 2], plans[-1]):
        cap = plan.bound + reserve_of(plan.fleet, MARKET)
        for seed in range(4):
            state = run(plan.fleet, cap, seed)
            assert state.ended.status == "done"
            kept.append(state.last_settled <= plan.makespan_s.p90 * SECOND)
            kept.append(state.ledger.committed <= plan.cost_p90)
    assert sum(kept) >= 0.75 * len(kept)
