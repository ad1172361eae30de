"""Plans by the log of an earlier run: tasks that ran on several offers are compared one by one."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.formats.joblog import JoblogRow, format_joblog
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.runs.known_runtimes import plans_by_joblog
from bursar.runs.planning import Asked

MARKET = Market(
    "USD",
    "-",
    tuple(Offer(name, Money.parse("0.01"), SECOND, limit=4) for name in ("a", "b", "c", "d")),
)


@pytest.fixture
def written(tmp_path):
    def write(numbers):
        """Lognormal run times; `numbers` are those of the tasks on each offer."""
        rng, rows = np.random.default_rng(1), []
        work = rng.lognormal(4.0, 1.0, 200)
        for offer, tasks in zip(MARKET.offers, numbers, strict=True):
            rows += [
                JoblogRow(task, f"{offer.name}-1", 0.0, work[task], 0, 0, f"work {task}")
                for task in tasks
            ]
        path = tmp_path / "log"
        path.write_text(format_joblog(rows))
        return str(path)

    return write


def cheapest(path):
    offered = plans_by_joblog(MARKET, 300, path, None, Asked(goal=Goal()))
    return offered, offered.plans[0]


def test_the_same_tasks_on_every_offer_tell_no_more_than_on_one(written):
    """Four times the rows, but no more tasks: the bound is as far from the middle as before.

    In cost: machines of any count do the same work for the same money, but end at other times.
    """
    _, every = cheapest(written([range(30)] * 4))
    _, one = cheapest(written([range(30), [], [], []]))
    ratios = [float(plan.cost_p90) / float(plan.cost_p50) for plan in (every, one)]
    assert ratios[0] == pytest.approx(ratios[1], rel=0.05)


def test_what_ran_on_one_offer_only_is_converted_where_enough_tasks_ran_on_all(written):
    numbers = [[*range(7), *range(7 + 10 * n, 17 + 10 * n)] for n in range(4)]
    offered, _ = cheapest(written(numbers))
    assert set(offered.assumed.sampled.values()) == {47}
    too_few = [[*range(3), *range(7 + 10 * n, 17 + 10 * n)] for n in range(4)]
    offered, _ = cheapest(written(too_few))
    assert set(offered.assumed.sampled.values()) == {13}
