"""`bursar simulate`: what if?"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import rich_click as click

from bursar.beliefs.book import SampleBook
from bursar.cli.common import json_option, print_json, print_table
from bursar.events import RunCreated, WorkArrived
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet, parse_fleet, write_fleet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.time import Time, format_duration, parse_duration
from bursar.model.work import Bag
from bursar.policies.registry import Policy
from bursar.policies.replicate.perfect import Perfect
from bursar.report.summary import FREE, NOT_INCLUDED, Summary, summarise
from bursar.session import Request, policy_of
from bursar.simulate.fortune import ModelledFortune, Runtimes, drawn
from bursar.simulate.run import simulate
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
@click.option("--faithful", is_flag=True, help="BaTS as published, for comparison.")
@click.option("--failing", type=click.FloatRange(0, 0.99), default=0.0, help="Share of attempts.")
@click.option("--retries", type=click.IntRange(0), default=0, help="After a failed attempt.")
@click.option("--mean-life", metavar="TIME", help="Of machines, before they are lost.")
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
    mean_life: str | None,
    runs: int,
    seed: int,
    faithful: bool,
    as_json: bool,
    **entries: str | None,
) -> None:
    """Run a bag on simulated machines, with the engine and the policies of a real run.

    Run times are normal around the mean, divided by an offer's speed. The same seed, the same run.
    """
    known = Market.load(market)
    request = Request(
        market=known,
        goal=Goal(
            None if budget is None else Money.parse(budget),
            None if deadline is None else parse_duration(deadline),
        ),
        limits=Limits(retries=retries),
        bag=Bag(count=tasks),
        fleet=None if fleet is None else parse_fleet(fleet, known),
        policies={role: name for role, name in entries.items() if name is not None},
        faithful=faithful,
    )
    request.check(simulated=True)
    mean, spread = parse_duration(runtime), parse_duration(deviation)
    life = None if mean_life is None else parse_duration(mean_life)
    if mean <= 0:
        raise InputError("--runtime must be longer than nothing")
    states = [
        _simulate(request, mean, spread, failing, life, number)
        for number in range(seed, seed + runs)
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


def _simulate(
    request: Request,
    mean: Time,
    deviation: Time,
    failing: float,
    life: Time | None,
    seed: int,
) -> RunState:
    def draw(rng: Random) -> Time:
        return max(1, round(rng.gauss(mean, deviation)))

    lives = {} if life is None else {offer.name: life for offer in request.market.offers}
    runtimes = drawn(draw, seed)
    fortune = ModelledFortune(runtimes, failing=failing, mean_life=lives, seed=seed)
    policy, book = _policy(request, runtimes)
    return simulate(
        request.market,
        request.goal,
        request.bag or Bag(count=0),
        policy,
        fortune,
        limits=request.limits,
        seed=seed,
        observers=[book],
    )


def _policy(request: Request, runtimes: Runtimes) -> tuple[Policy, SampleBook]:
    """The policy that a real run would have, and its book; `perfect` is told the run times."""
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
            settings={
                "fleet": write_fleet(request.full_fleet()),
                "workers": "1",
                "faithful": "yes" if request.faithful else "no",
            },
            began=0.0,
        )
    )
    if request.bag is not None:
        state.apply(WorkArrived(0, request.bag))
    policy, _ = policy_of(state, book)
    if perfect:
        policy = msgspec.structs.replace(policy, replicator=Perfect(runtimes))
    return policy, book


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
