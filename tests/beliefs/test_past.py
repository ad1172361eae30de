"""What is learned at once from the log of attempts is what events teach one by one."""

from random import Random

import pytest

from bursar.beliefs.past import past_successes
from bursar.beliefs.progress import MOST_KEPT, Progress, Seen
from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.provision.frontier_state import BagBelief
from bursar.policies.registry import make_policy
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state.read_only import view_of
from bursar.state.state import RunState

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.01"), MINUTE, limit=5, boot=7 * SECOND),
        Offer("large", Money.parse("0.03"), MINUTE, limit=3, speed=2.5, slots=2),
    ),
)
CACHES = ("_sums", "_arrays")


class Watched:
    """Beliefs that see every event, beside those that learn at some moments from the view."""

    def __init__(self):
        self.progress, self.unified = Progress(), UnifiedRuntimes()
        self.belief = BagBelief(None, None)
        self.compared = 0

    def saw(self, event, state):
        for one in (self.progress, self.unified, self.belief):
            one.saw(event, state)
        if not state.events % 37:
            self.compare(view_of(state))

    def compare(self, view):
        late, unified, belief = Progress(), UnifiedRuntimes(), BagBelief(None, None)
        for one in (late, unified, belief):
            one.saw_before(view)
        assert {n: knows(seen) for n, seen in late.seen.items()} == {
            n: knows(seen) for n, seen in self.progress.seen.items()
        }
        assert late.machines == self.progress.machines
        assert unified._finished == self.unified._finished
        assert unified._count == self.unified._count
        assert belief.count == self.belief.count
        for name, ended in self.belief.seen.items():
            for field in ended.__struct_fields__:
                assert getattr(belief.seen[name], field) == pytest.approx(getattr(ended, field))
        self.compared += 1


def knows(seen):
    return {name: value for name, value in vars(seen).items() if name not in CACHES}


@pytest.mark.parametrize("seed", range(4))
def test_beliefs_learn_the_same_from_the_view_as_from_events(seed):
    rng = Random(seed)
    runtimes = [rng.randrange(SECOND, 5 * MINUTE) for _ in range(200)]
    life = {"small": 20 * MINUTE} if seed % 2 else None
    behaviour = ModelledBehaviour(given(runtimes), failing=0.15, mean_life=life, seed=seed)
    policy = make_policy(options={"provisioner": {"fleet": {"small": 5, "large": 3}}})
    state = simulate(
        MARKET,
        Goal(Money.parse("20")),
        Bag(count=200),
        policy,
        behaviour,
        limits=Limits(retries=9),
        seed=seed,
        observers=[watched := Watched()],
    )
    assert state.done == 200
    assert watched.compared > 10


def test_many_run_times_are_thinned_out_as_they_were_one_by_one():
    rng = Random(1)
    times = [rng.randrange(1, HOUR) for _ in range(9 * MOST_KEPT + 5)]
    for count in (0, 1, MOST_KEPT, MOST_KEPT + 1, 2 * MOST_KEPT + 1, 2 * MOST_KEPT + 2, len(times)):
        slowly, at_once = Seen(), Seen()
        for time in times[:count]:
            slowly.add(time)
        at_once.add_past(times[:count])
        assert knows(at_once) == knows(slowly)


def test_nothing_is_known_of_a_run_without_results():
    assert list(past_successes(view_of(RunState()))) == []
