"""The five scenarios of the BaTS thesis (section 2.3.1): two clusters of 32 machines."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, Time
from bursar.simulate.distributions import normal

TASKS: Final = 1000

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
    """1,000 run times, normal with mean 15 and variance 5 minutes, on a machine of cluster 0."""
    return [int(time) for time in normal(np.random.default_rng(seed), TASKS)]
