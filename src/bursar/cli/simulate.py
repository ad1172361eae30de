"""`bursar simulate`: what if?"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import rich_click as click

from bursar.beliefs.book import SampleBook
from bursar.cli.common import json_option, print_json, print_table
from bursar.engine import Observer
from bursar.events import RunCreated, WorkArrived
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet, parse_fleet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.reading import read_duration
from bursar.model.time import Time, format_duration, parse_duration
from bursar.model.work import Bag
from bursar.policies.registry import Policy
from bursar.policies.replicate.perfect import Perfect
from bursar.report.summary import FREE, NOT_INCLUDED, Summary, summarise
from bursar.request import Request
from bursar.session import advisors_of, policy_of
from bursar.simulate.fortune import ModelledFortune, Runtimes, drawn
from bursar.simulate.pools import UnreliablePool
from bursar.simulate.run import simulate
from bursar.simulate.spot_trace import SpotSeats, SpotTrace, read_spot_trace
from bursar.simulate.world import Fortune
from bursar.state import RunState


class Spread(msgspec.Struct, frozen=True):
    """A figure over many simulated runs."""

    p50: float
    p90: float
    most: float


class Study(msgspec.Struct, frozen=True):
    """What `--json` prints."""

    fleet: dict[str, int]
    runs: list[Summary]
    makespan_s: Spread
    cost: Spread


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--market", "-m", metavar="FILE", required=True, help="Offers and prices.")
@click.option("--tasks", type=click.IntRange(1), required=True, help="Tasks in the bag.")
@click.option("--runtime", metavar="TIME", required=True, help="Mean run time at speed 1.")
@click.option("--deviation", metavar="TIME", default="0s", help="Standard deviation of it.")
@click.option("--budget", "-b", metavar="MONEY", help="The most that may ever be committed.")
@click.option("--deadline", metavar="TIME", help="Stop then, done or not.")
@click.option("--fleet", metavar="FLEET", help="Machines to rent, e.g. small=10,large=3.")
@click.option("--provisioner", metavar="NAME", help="How many machines, when.")
@click.option("--placer", metavar="NAME", help="Which task goes to which machine.")
@click.option("--replicator", metavar="NAME", help="Which task runs once more.")
@click.option("--faithful", is_flag=True, help="As published, for comparison.")
@click.option("--prefer", metavar="EXPR", help="Of strategies for unreliable machines.")
@click.option("--strategy", metavar="STRATEGY", help="For unreliable machines, itself.")
@click.option("--failing", type=click.FloatRange(0, 0.99), default=0.0, help="Share of attempts.")
@click.option("--retries", type=click.IntRange(0), default=0, help="After a failed attempt.")
@click.option("--timeout", metavar="TIME", help="Longest run time of one attempt.")
@click.option("--mean-life", metavar="TIME", help="Of machines, before they are lost.")
@click.option(
    "--reliability",
    type=click.FloatRange(0.01, 1),
    default=1.0,
    help="Share of attempts on unreliable offers that return; the rest falls silent.",
)
@click.option(
    "--spot-trace",
    "spot_traces",
    metavar="FILE",
    multiple=True,
    help="When machines of unreliable offers are to be had; may be repeated.",
)
@click.option("--notice", metavar="TIME", default="0s", help="Losses are announced so long ahead.")
@click.option("--runs", type=click.IntRange(1), default=20, help="Simulated runs.")
@click.option("--seed", type=int, default=0, help="Of the first run; the next get the next.")
@json_option
def command(
    market: str,
    tasks: int,
    runtime: str,
    deviation: str,
    budget: str | None,
    deadline: str | None,
    fleet: str | None,
    failing: float,
    retries: int,
    timeout: str | None,
    runs: int,
    seed: int,
    faithful: bool,
    prefer: str | None,
    strategy: str | None,
    as_json: bool,
    mean_life: str | None,
    reliability: float,
    spot_traces: tuple[str, ...],
    notice: str,
    **entries: str | None,
) -> None:
    """Run a bag on simulated machines, with the engine and the policies of a real run.

    Run times are normal around the mean, divided by an offer's speed. The same seed, the same run.
    With traces, each run begins at another moment of them.
    """
    known = Market.load(market)
    request = Request(
        market=known,
        goal=Goal(
            None if budget is None else Money.parse(budget),
            None if deadline is None else parse_duration(deadline),
        ),
        limits=Limits(retries, None if timeout is None else read_duration(timeout, least=1)),
        bag=Bag(count=tasks),
        fleet=None if fleet is None else parse_fleet(fleet, known),
        policies={role: name for role, name in entries.items() if name is not None},
        faithful=faithful,
        prefer=prefer,
        strategy=strategy,
    )
    request.check(simulated=True)
    mean, spread = parse_duration(runtime), parse_duration(deviation)
    if mean <= 0:
        raise InputError("--runtime must be longer than nothing")
    misfortune = Misfortune(
        failing=failing,
        reliability=reliability,
        mean_life=None if mean_life is None else read_duration(mean_life, least=1),
        notice=parse_duration(notice),
        traces=tuple(read_spot_trace(path) for path in spot_traces),
    )
    misfortune.check(request)
    states = [
        _simulate(request, mean, spread, misfortune, number) for number in range(seed, seed + runs)
    ]
    study = Study(
        fleet=dict(request.full_fleet()),
        runs=[summarise(state) for state in states],
        makespan_s=_spread([state.last_settled / 1e6 for state in states]),
        cost=_spread([float(state.ledger.committed) for state in states]),
    )
    if as_json:
        print_json(study)
    else:
        _show(states, request)


class Misfortune(msgspec.Struct, frozen=True):
    """What is to go wrong."""

    failing: float
    reliability: float
    mean_life: Time | None
    notice: Time
    traces: tuple[SpotTrace, ...]

    def check(self, request: Request) -> None:
        """Refuse what has no effect, and what never ends."""
        offers = [offer for offer in request.market.offers if offer.pool == "unreliable"]
        if not offers and (self.traces or self.reliability < 1):
            raise InputError(
                'no offer of this market is unreliable; write pool = "unreliable" in its file, or'
                " leave --reliability and --spot-trace"
            )
        if self.notice and self.mean_life is None and not self.traces:
            raise InputError("--notice goes with --mean-life or --spot-trace: nothing is lost else")
        endless = request.limits.timeout is None and request.goal.deadline is None
        if self.reliability < 1 and endless and not all(offer.price for offer in offers):
            raise InputError(
                "an attempt that falls silent on a machine that costs nothing never ends;"
                " give --timeout or --deadline"
            )

    def fortune(self, market: Market, runtimes: Runtimes, seed: int) -> Fortune:
        lives = (
            {}
            if self.mean_life is None
            else {offer.name: self.mean_life for offer in market.offers}
        )
        fortune: Fortune = ModelledFortune(
            runtimes, failing=self.failing, mean_life=lives, notice=self.notice, seed=seed
        )
        if self.reliability < 1:
            fortune = UnreliablePool(fortune, reliability=self.reliability, seed=seed)
        if self.traces:
            unreliable = [offer.name for offer in market.offers if offer.pool == "unreliable"]
            offset = Random(seed).randrange(max(trace.length for trace in self.traces))
            traces = dict.fromkeys(unreliable, self.traces)
            fortune = SpotSeats(fortune, traces, offset=offset, notice=self.notice)
        return fortune


def _simulate(
    request: Request, mean: Time, deviation: Time, misfortune: Misfortune, seed: int
) -> RunState:
    def draw(rng: Random) -> Time:
        return max(1, round(rng.gauss(mean, deviation)))

    runtimes = drawn(draw, seed)
    fortune = misfortune.fortune(request.market, runtimes, seed)
    policy, learners = _policy(request, runtimes)
    return simulate(
        request.market,
        request.goal,
        request.bag or Bag(count=0),
        policy,
        fortune,
        limits=request.limits,
        seed=seed,
        observers=learners,
    )


def _policy(request: Request, runtimes: Runtimes) -> tuple[Policy, list[Observer]]:
    """The policy that a real run would have, and what it learns by; `perfect` knows run times."""
    policies = request.all_policies()
    perfect = policies["replicator"] == "perfect"
    state, book = RunState(), SampleBook()
    state.apply(
        RunCreated(
            at=0,
            run="simulated",
            market=request.market,
            goal=request.goal,
            limits=request.limits,
            seed=0,
            policies={**policies, **({"replicator": "none"} if perfect else {})},
            settings=request.settings(),
            began=0.0,
        )
    )
    if request.bag is not None:
        state.apply(WorkArrived(0, request.bag))
    policy, _ = policy_of(state, book)
    if perfect:
        policy = msgspec.structs.replace(policy, replicator=Perfect(runtimes))
    return policy, [book, *advisors_of(state, policy)]


def _spread(figures: Sequence[float]) -> Spread:
    ordered = sorted(figures)

    def quantile(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Spread(quantile(0.5), quantile(0.9), ordered[-1])


def _show(states: Sequence[RunState], request: Request) -> None:
    """One line for each way the runs ended."""
    rows = []
    currency = request.market.currency
    for status in sorted({state.ended.status for state in states if state.ended}):
        ended = [state for state in states if state.ended and state.ended.status == status]
        times = sorted(state.last_settled for state in ended)
        costs = sorted(state.ledger.committed for state in ended)
        middle, high = len(ended) // 2, min(len(ended) - 1, int(0.9 * len(ended)))
        rows.append(
            (
                status,
                str(len(ended)),
                f"{sum(state.done for state in ended) / len(ended):,.1f}",
                format_duration(times[middle]),
                format_duration(times[high]),
                format_money(costs[middle], currency),
                format_money(costs[high], currency),
            )
        )
    columns = ("ended", "runs", "done", "time-P50", "time-P90", "cost-P50", "cost-P90")
    print_table(columns, rows, right=" ".join(columns[1:]))
    fleet = format_fleet(request.full_fleet())
    note = FREE if request.market.is_free else NOT_INCLUDED
    click.echo(f"Fleet: up to {fleet}. Simulated, {note}.", err=True)
