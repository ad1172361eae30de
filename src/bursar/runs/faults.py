"""What is to go wrong in a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.time import Time
from bursar.runs.request import Request
from bursar.simulate.faults import ModelledBehaviour, Runtimes
from bursar.simulate.spot_trace import SpotTrace, TracedMachines
from bursar.simulate.unreliable import LostTogether, UnreliablePool
from bursar.simulate.world import Behaviour


class Faults(msgspec.Struct, frozen=True):
    """What is to go wrong."""

    failing: float = 0.0
    reliability: float = 1.0
    mean_life: Time | None = None
    """of unreliable machines; in a market without any, of all"""
    notice: Time = 0
    traces: tuple[SpotTrace, ...] = ()
    together: bool = False
    """unreliable machines of one type in one zone are lost at the same time"""

    @property
    def is_none(self) -> bool:
        losses = self.mean_life is not None or bool(self.traces)
        return not self.failing and self.reliability == 1 and not losses

    def check(self, request: Request) -> None:
        """Refuse what has no effect, and what never ends."""
        words = request.asked
        self.check_market(request.market, words.option)
        offers = _unreliable(request.market)
        endless = request.limits.timeout is None and request.goal.deadline is None
        if self.reliability < 1 and endless and not all(offer.price for offer in offers):
            raise InputError(
                "an attempt that hangs on a free machine never ends; give"
                f" {words.option('timeout')} or {words.option('deadline')}"
            )

    def check_market(self, market: Market, option: Callable[[str], str]) -> None:
        """Refuse what has no effect in a market; `option` tells what an option is called."""
        if not _unreliable(market) and (self.traces or self.reliability < 1):
            raise InputError(
                'no offer of this market is unreliable; write pool = "unreliable" in its file, or'
                f" leave out {option('reliability')} and {option('spot_trace')}"
            )
        if self.notice and self.mean_life is None and not self.traces:
            raise InputError(
                f"{option('notice')} needs {option('mean_life')} or"
                f" {option('spot_trace')}: otherwise no machine is lost"
            )
        if self.together and (self.mean_life is None or not _unreliable(market)):
            raise InputError(
                f"{option('lost_together')} needs {option('mean_life')}, and an offer"
                ' with pool = "unreliable"'
            )

    def behaviour(self, market: Market, runtimes: Runtimes, seed: int) -> Behaviour:
        mortal = _unreliable(market) or market.offers
        life = self.mean_life
        lives = {} if life is None or self.together else {offer.name: life for offer in mortal}
        behaviour: Behaviour = ModelledBehaviour(
            runtimes, failing=self.failing, mean_life=lives, notice=self.notice, seed=seed
        )
        if self.together and self.mean_life is not None:
            behaviour = LostTogether(behaviour, self.mean_life, notice=self.notice, seed=seed)
        if self.reliability < 1:
            behaviour = UnreliablePool(behaviour, reliability=self.reliability, seed=seed)
        if self.traces:
            unreliable = [offer.name for offer in _unreliable(market)]
            offset = Random(seed).randrange(max(trace.length for trace in self.traces))
            traces = dict.fromkeys(unreliable, self.traces)
            behaviour = TracedMachines(behaviour, traces, offset=offset, notice=self.notice)
        return behaviour


def _unreliable(market: Market) -> Sequence[Offer]:
    return [offer for offer in market.offers if offer.pool == "unreliable"]
