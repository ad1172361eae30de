"""`sr`: reserve for each work as many machines as it may ever use at once.

Strict reservation, section 2.3.3 of the thesis on workloads of workflows: the level of parallelism
of what is left, running tasks included, as tokens find it.
"""

from __future__ import annotations

from bursar.kernels.tokens import ENDLESS
from bursar.policies.reserving_placer import Life, ReservingPlacer, Tokens


class SrPlacer(ReservingPlacer):
    def __init__(
        self, tokens: Tokens = "gen", life: Life = "eager", seed: int | None = None
    ) -> None:
        super().__init__(ENDLESS, 1.0, tokens, life, seed)
