"""`slop`: reserve for each work a share of the machines that it may ever use at once.

Scaled level of parallelism, section 2.3.4 of the thesis on workloads of workflows: f times that of
what is left, rounded up. With f = 1 it is `sr`, with f = 0 `backfill`. Eligible tasks beyond that
take any machine that is free.
"""

from __future__ import annotations

from bursar.kernels.tokens import ENDLESS
from bursar.model.errors import InputError
from bursar.policies.reserving_placer import Life, ReservingPlacer, Tokens


class SlopPlacer(ReservingPlacer):
    def __init__(
        self,
        f: float = 0.2,
        tokens: Tokens = "gen",
        life: Life = "eager",
        seed: int | None = None,
    ) -> None:
        if not 0 <= f <= 1:
            raise InputError(f"f of the placer 'slop' is between 0 and 1, not {f:g}")
        super().__init__(ENDLESS, f, tokens, life, seed)
