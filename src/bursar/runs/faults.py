"""What is to go wrong in a simulated run."""

from __future__ import annotations

from random import Random

import msgspec

from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.runs.request import Request
from bursar.simulate.faults import ModelledBehaviour, Runtimes
from bursar.simulate.spot_trace import SpotTrace, TracedMachines
from bursar.simulate.unreliable import UnreliablePool
from bursar.simulate.world import Behaviour


class Faults(msgspec.Struct, frozen=True):
    """What is to go wrong."""

    failing: float
    reliability: float
    mean_life: Time | None
    notice: Time
    traces: tuple[SpotTrace, ...]

    @property
    def is_none(self) -> bool:
        losses = self.mean_life is not None or bool(self.traces)
        return not self.failing and self.reliability == 1 and not losses

    def check(self, request: Request) -> None:
        """Refuse what has no effect, and what never ends."""
        words = request.asked
        offers = [offer for offer in request.market.offers if offer.pool == "unreliable"]
        if not offers and (self.traces or self.reliability < 1):
            raise InputError(
                'no offer of this market is unreliable; write pool = "unreliable" in its file, or'
                f" leave out {words.option('reliability')} and {words.option('spot_trace')}"
            )
        if self.notice and self.mean_life is None and not self.traces:
            raise InputError(
                f"{words.option('notice')} needs {words.option('mean_life')} or"
                f" {words.option('spot_trace')}: otherwise no machine is lost"
            )
        endless = request.limits.timeout is None and request.goal.deadline is None
        if self.reliability < 1 and endless and not all(offer.price for offer in offers):
            raise InputError(
                "an attempt that hangs on a free machine never ends; give"
                f" {words.option('timeout')} or {words.option('deadline')}"
            )

    def behaviour(self, market: Market, runtimes: Runtimes, seed: int) -> Behaviour:
        lives = (
            {}
            if self.mean_life is None
            else {offer.name: self.mean_life for offer in market.offers}
        )
        behaviour: Behaviour = ModelledBehaviour(
            runtimes, failing=self.failing, mean_life=lives, notice=self.notice, seed=seed
        )
        if self.reliability < 1:
            behaviour = UnreliablePool(behaviour, reliability=self.reliability, seed=seed)
        if self.traces:
            unreliable = [offer.name for offer in market.offers if offer.pool == "unreliable"]
            offset = Random(seed).randrange(max(trace.length for trace in self.traces))
            traces = dict.fromkeys(unreliable, self.traces)
            behaviour = TracedMachines(behaviour, traces, offset=offset, notice=self.notice)
        return behaviour
