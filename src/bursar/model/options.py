"""What a run was made with, beside its market and its goal; the journal keeps it, typed."""

from __future__ import annotations

import msgspec

from bursar.model.fleet import parse_fleet
from bursar.model.market import Market
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.site import RunSite
from bursar.model.strategy import Strategy, read_strategy
from bursar.model.time import Time


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What policies are made of, and what a world needs to continue after a crash."""

    fleet: dict[str, int] = {}
    """the most machines of each offer"""
    workers: int = 1
    """machines of each offer in the sampling phase"""
    faithful: bool = False
    """the published algorithm in place of the better one"""
    prefer: str | None = None
    """how the strategy of the tail is chosen; `ask`: by hand"""
    strategy: Strategy | None = None
    """the strategy itself"""
    runtime: Time | None = None
    """of a bag's tasks at speed 1, as far as somebody knew it before"""
    deviation: Time | None = None
    """of these run times"""
    history: PastRuntimes | None = None
    """run times of such tasks, as they were before"""
    best_effort: bool = False
    """as many tasks as the money buys, where it does not do for all"""
    files: str | None = None
    """of a workflow: how its tasks get at files"""
    sabotage: Time | None = None
    """mean life of unreliable machines, which are then taken away at random"""
    site: RunSite | None = None
    """where its machines are; None: on this computer"""
    outputs: str = ""
    """the directory of results"""
    home: str = ""
    """the directory of the run when it was made; empty: an earlier version did not say"""
    directory: str = ""
    """where the commands run"""
    typed: str = ""
    """the command line that made it; empty: it was not made by one"""
    is_simulated: bool = False
    """its machines exist in its journal only"""
    id: str = ""
    """what tells this run from all others; copies have the same; empty: of an earlier version"""

    @classmethod
    def recalled(cls, settings: dict[str, str], market: Market) -> RunOptions:
        """From the texts that earlier versions journaled."""
        given: dict[str, str] = {
            name: settings[name]
            for name in ("prefer", "files", "outputs", "home", "directory", "id")
            if name in settings
        }
        texts: dict[str, object] = {
            "fleet": parse_fleet(settings["fleet"], market) if "fleet" in settings else {},
            "workers": settings.get("workers", 1),
            "faithful": settings.get("faithful") == "yes",
            "strategy": read_strategy(settings["strategy"]) if "strategy" in settings else None,
            "sabotage": settings.get("sabotage"),
            **given,
        }
        return msgspec.convert(texts, cls, strict=False)
