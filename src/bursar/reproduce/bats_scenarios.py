"""The five scenarios of the BaTS thesis (section 2.3.1): two clusters of 32 machines."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND, Time
from bursar.simulate.distributions import Runtimes, normal

TASKS: Final = 1000
MEAN: Final = 910 * SECOND
"""of the one bag that all experiments of chapters 2 and 3 execute, on cluster 0. It is not printed;
the budgets and the Delta-N of table 3.2 leave 15.14 to 15.18 minutes."""

SCENARIOS: Final = {
    "S4-1": (12, 1),
    "S4-3": (12, 3),
    "S1-1": (3, 1),
    "S3-4": (9, 4),
    "S1-4": (3, 4),
}
"""price of a machine of cluster 1, and how many times as fast it is as cluster 0 ($3)"""


def scenario(name: str, limit: int = 32) -> Market:
    price, speed = SCENARIOS[name]
    return Market(
        "USD",
        "2010",
        (
            Offer("cluster0", Money.parse(3), HOUR, limit=limit),
            Offer("cluster1", Money.parse(price), HOUR, limit=limit, speed=float(speed)),
        ),
    )


def bag(seed: int) -> list[Time]:
    """1,000 run times on a machine of cluster 0: normal, variance 5 minutes, the thesis's mean."""
    return [int(time) for time in moved(normal(np.random.default_rng(seed), TASKS))]


def moved(runtimes: Runtimes) -> Runtimes:
    """The run times, each longer or shorter by as much as their mean is off that of the thesis."""
    return np.maximum(1, runtimes + (MEAN - round(float(runtimes.mean()))))
