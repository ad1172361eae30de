"""`fes`: reserve for each work the largest of its next generations of eligible tasks.

Future eligible sets, section 2.3.5 of the thesis on workloads of workflows: of generations 0 to
`depth`. With a depth of 0 it is `backfill`, with a large one `sr`.
"""

from __future__ import annotations

from bursar.kernels.tokens import ENDLESS
from bursar.model.errors import InputError
from bursar.policies.reserving_placer import Life, ReservingPlacer, Tokens


class FesPlacer(ReservingPlacer):
    def __init__(
        self,
        depth: int = 1,
        tokens: Tokens = "gen",
        life: Life = "eager",
        seed: int | None = None,
    ) -> None:
        if not 0 <= depth <= ENDLESS:
            raise InputError(f"depth of the placer 'fes' is 0 or more, not {depth}")
        super().__init__(depth, 1.0, tokens, life, seed)
