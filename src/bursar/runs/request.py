"""What is asked for: everything that makes a run, checked before anything is made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bursar.execute.staging import COPIED, SHARED, check_files
from bursar.model.budget_text import format_interval
from bursar.model.errors import InputError, shown
from bursar.model.fleet import Fleet, check_fleet
from bursar.model.goal import Account, Goal, Limits
from bursar.model.market import Market
from bursar.model.money import format_money
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.options import RunOptions
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.plan_options import PlanOptions
from bursar.model.site import RunSite
from bursar.model.strategy import read_strategy
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.plan.pools.frontier import check_preference
from bursar.policies.presets import (
    FAITHFUL,
    FOR_BAGS,
    HEDGED_BATS,
    IN_ORDER,
    ROUND_ROBIN,
    SUITED,
    UNPLANNED,
)
from bursar.policies.registry import check_policies
from bursar.policies.suited import follows_frontier
from bursar.state.events import PlanChosen, PlansOffered, WorkArrived

USER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""It is a file name, too, and stands in addresses."""
ASK: Final = "ask"
"""The preference of those who choose a strategy by hand."""


WHOLE_RUN: Final = (
    "the plan of a workflow is for the money of a whole run: give a budget without an interval"
)


def check_sabotage(market: Market, asked: OptionWords = PYTHON) -> None:
    """Whether there is anything that could be taken away."""
    if all(offer.pool == "reliable" for offer in market.offers):
        raise InputError(
            'this market has no unreliable machine: write pool = "unreliable" for an offer,'
            f" or leave out {asked.option('sabotage')}"
        )


def check_tasks(
    flow: Workflow, files: str, directory: Path, asked: OptionWords | None = None
) -> None:
    """Every task of a workflow has a command, no file has two writers, and all are found."""
    check_commands(flow)
    check_files(flow, files, directory, asked)


def check_commands(flow: Workflow) -> None:
    """A workflow can be run, not only planned and simulated."""
    for index, name in enumerate(flow.names):
        if not flow.command(index):
            raise InputError(
                f"task {shown(name)} has no command, so it can only be simulated; write"
                " 'run:' for it"
            )
    if (clash := flow.clash()) is not None:
        raise InputError(
            f"{clash}, so it can be planned and simulated, but not run; give every"
            " version its own name"
        )


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that makes a run; what a command line or a Python program asks for."""

    market: Market
    goal: Goal = Goal()
    limits: Limits = Limits()
    bag: Bag | None = None
    """None: a workflow, or work that arrives later"""
    work: Work | None = None
    """a workflow as it arrives"""
    files: str = SHARED
    """how the tasks of a workflow get at files: `shared` or `copied`"""
    takes_workflows: bool = False
    """whether workflows may arrive later"""
    planning: PlanOptions = PlanOptions()
    """what is wanted of its plan"""
    offered: PlansOffered | None = None
    """plans for the workflow"""
    plan: PlanChosen | None = None
    """the one that it follows; None with `offered`: the run waits for a choice"""
    fleet: Fleet | None = None
    policies: Mapping[str, str] = {}
    """entries that were asked for; the rest is chosen to suit"""
    sabotage: Time | None = None
    """mean life of unreliable machines, which are then taken away at random"""
    faithful: bool = False
    """the published algorithm in place of the better one"""
    prefer: str | None = None
    """how the strategy of the tail is chosen where machines may vanish; `ask`: by hand"""
    strategy: str | None = None
    """the strategy itself: `N=3,T=30m,D=1h,Mr=0.1`, or the name of a static one"""
    runtime: Time | None = None
    """of a bag's tasks at speed 1, as far as somebody knows it"""
    deviation: Time | None = None
    """of these run times; None: as most bags have"""
    history: PastRuntimes | None = None
    """run times of such tasks, as they were before; `runtime` and `deviation` are theirs then"""
    best_effort: bool = False
    """as many tasks of a bag as the money buys, where it does not do for all"""
    sample_workers: int = 1
    """machines of each offer in the sampling phase"""
    seed: int | None = None
    name: str | None = None
    output: str | None = None
    site: RunSite | None = None
    """where its machines are; None: on this computer"""
    typed: str = ""
    """the command line that asks for it, as it was typed; kept with the run"""
    asked: OptionWords = PYTHON
    """how options are written by the user, for messages"""

    def knowing(self, history: PastRuntimes) -> Request:
        """The same where run times of such tasks are known."""
        known = {"runtime": history.mean, "deviation": history.deviation, "history": history}
        return msgspec.structs.replace(self, **known)

    def check(self, *, simulated: bool = False) -> None:
        """Refuse what could not even begin."""
        self.check_wishes()
        accounts = max(1, len(self.goal.accounts))
        check_policies(self.all_policies(), simulated=simulated, accounts=accounts)
        self._check_faithful()
        if self.sabotage:
            check_sabotage(self.market, self.asked)
        if self.flow is not None:
            self._check_workflow(self.flow, simulated=simulated)
        if self.site is not None and not self.site.shared and not simulated:
            from bursar.execute.remote.working_files import names_to_send

            names_to_send(Path.cwd())
        if self.fleet is not None:
            check_fleet(self.fleet, self.market, self.asked.fleet)
        if not self.is_waiting:
            self.check_money()
        usable = [self.market[name] for name, count in self.full_fleet().items() if count]
        if not usable:
            raise InputError("every offer has the limit 0: no machine can be rented")
        cheapest = min(usable, key=lambda offer: offer.entry_charge)
        for name, budget in self.goal.budgets().items():
            if budget is None or budget.amount >= cheapest.entry_charge:
                continue
            least = format_money(cheapest.entry_charge, self.market.currency, up=True)
            given = format_money(budget.amount, self.market.currency, down=True)
            raised = self.asked.option("budget") if not name else f"that of {shown(name)}"
            raise InputError(
                f"a budget of {given}{format_interval(budget.every)} buys no machine: "
                f"the cheapest, {cheapest.name}, costs {least} at least; raise {raised}"
            )

    def check_wishes(self) -> None:
        """Refuse what would have no effect on this work."""
        self._check_strategy()
        self._check_bag()

    def check_money(self) -> None:
        """If machines cost money, a budget or a deadline must be given."""
        if self.goal.accounts and self.takes_workflows:
            self._check_users(self.goal.accounts)
            return
        has_budget = all(one is not None for one in self.goal.budgets().values())
        if not has_budget and self.goal.deadline is None and not self.market.is_free:
            budget = self.asked.option("budget")
            raise InputError(f"this market costs money: set a limit with {budget}")

    def _check_users(self, users: Sequence[Account]) -> None:
        """Each has money again with its next interval: no service ends for want of it."""
        for one in users:
            if not USER_NAME.fullmatch(one.name):
                raise InputError(
                    f"{shown(one.name)} cannot be the name of a user: write letters, digits, '-',"
                    " '_' and '.', at most 64"
                )
            if one.budget is None and not self.market.is_free:
                raise InputError(
                    f"this market costs money: give {shown(one.name)} a budget, such as 5/h"
                )
            if one.budget is not None and one.budget.every is None:
                raise InputError(
                    f"the budget of {shown(one.name)} needs an interval: write for example"
                    f" {one.budget.amount}/h"
                )

    def check_tasks(self, flow: Workflow) -> None:
        """Every task of a workflow has a command and finds its files."""
        check_tasks(flow, self.files, Path.cwd(), self.asked)

    def _check_workflow(self, flow: Workflow, *, simulated: bool) -> None:
        """Its policies suit it, and every task can be executed."""
        policies = self.all_policies()
        if policies["provisioner"] == "prob" and self.goal.every is not None:
            raise InputError(
                "the provisioner 'prob' plans with the money of a whole run: give"
                f" {self.asked.option('budget')} without an interval, or leave it out"
            )
        if policies["provisioner"] == "prob" and not self.is_planned:
            raise InputError(
                "the provisioner 'prob' follows a plan, and there is none for free machines"
                f" or a given {self.asked.option('fleet')}; leave it out"
            )
        if policies["provisioner"] in FOR_BAGS:
            raise InputError(
                f"the provisioner '{policies['provisioner']}' is for bags, not for workflows;"
                " choose another"
            )
        if simulated:
            return
        if self.is_waiting:
            check_commands(flow)
        else:
            self.check_tasks(flow)
        if self.files == SHARED and policies["replicator"] != "none" and flow.files.names:
            raise InputError(
                "attempts of one task would write the same files:"
                f" {self.asked.given('replicator', policies['replicator'])} needs"
                f" {self.asked.given('files', COPIED)}"
            )

    def _check_faithful(self) -> None:
        if self.faithful and self.goal.every is not None:
            raise InputError(
                "the published algorithm spends the money of a whole run: give"
                f" {self.asked.option('budget')} without an interval, or leave out"
                f" {self.asked.option('faithful')}"
            )
        if self.faithful and self.all_policies()["provisioner"] not in ("bats", "mixed"):
            raise InputError(
                "the published algorithm chooses machines for a bag and a budget:"
                f" use {self.asked.option('faithful')} without {self.asked.option('fleet')},"
                " on a market that costs money"
            )

    def _check_bag(self) -> None:
        """What is for bags is said of one, and a deviation is one of a run time."""
        if self.runtime is not None and self.bag is None:
            raise InputError(
                f"{self.asked.option('runtime')} is for the tasks of a bag: leave it out"
            )
        if self.best_effort and self.flow is not None:
            option = self.asked.option("best_effort")
            raise InputError(f"{option} is for bags: of a workflow all tasks are needed")
        if self.deviation is not None and self.runtime is None:
            raise InputError(
                f"{self.asked.option('deviation')} needs {self.asked.option('runtime')}"
            )

    def _check_strategy(self) -> None:
        """A strategy, or a preference among them, is for two pools and can be understood."""
        for option, value in (("prefer", self.prefer), ("strategy", self.strategy)):
            name = self.asked.option(option)
            if value is not None and self.all_policies()["provisioner"] != "mixed":
                if self.flow is not None:
                    raise InputError(f"{name} is for bags, not for workflows: leave it out")
                if self.may_lose_machines:
                    chosen = self.asked.given("provisioner", self.all_policies()["provisioner"])
                    raise InputError(f"{name} does not go with {chosen}: leave one of them out")
                raise InputError(
                    f'{name} is for machines that may be lost: write pool = "unreliable" for an'
                    f" offer of the market, or leave out {name}"
                )
        if self.strategy is not None:
            strategy = read_strategy(self.strategy)
            has_reliable = any(
                count and self.market[name].pool == "reliable"
                for name, count in self.full_fleet().items()
            )
            if strategy.needs_reliable and not has_reliable:
                raise InputError("this strategy needs reliable machines, and the market has none")
        self._check_advisor()
        if self.prefer is not None and self.prefer != ASK:
            goal = self.goal
            has_budget, has_deadline = goal.total_budget is not None, goal.deadline is not None
            check_preference(
                self.prefer, has_budget=has_budget, has_deadline=has_deadline, asked=self.asked
            )

    def _check_advisor(self) -> None:
        """What is said of a strategy, and who chooses it, do not contradict each other."""
        asked = self.policies.get("advisor")
        if asked is not None and asked != "tail" and self.prefer is not None:
            raise InputError(
                f"{self.asked.option('prefer')} is for the advisor 'tail': leave it out, or"
                f" leave out {self.asked.given('advisor', asked)}"
            )
        if asked == "tail" and self.strategy and read_strategy(self.strategy).is_timed:
            raise InputError(
                f"{self.asked.option('strategy')} says all that the advisor 'tail' would choose:"
                f" leave out one of them"
            )

    def all_policies(self) -> dict[str, str]:
        """An entry for each role: what was asked for, else what suits.

        `mixed` is for a bag on machines that may vanish. `frontier` spends a budget on a bag that
        is known, `bats` where there is a deadline or the budget is for each interval, and `prob` on
        a workflow with a plan; calls that arrive one by one, machines that cost nothing, and a
        fleet that the user chose are left to `fixed`.
        """
        suits = "prob" if self.is_planned else "fixed"
        if self.bag is not None and self.may_lose_machines:
            suits = "hedged" if self._is_hedged else "mixed"
        elif self.bag is not None and self.fleet is None and not self.market.is_free:
            suits = "frontier" if self._follows_frontier else "bats"
        elif self._takes_calls:
            suits = "calls"
        provisioner = self.policies.get("provisioner", suits)
        plain = IN_ORDER if self.market.is_free else ROUND_ROBIN
        suited = SUITED.get(provisioner, plain if self.flow is None else UNPLANNED)
        if self.faithful and provisioner == "bats":
            suited = FAITHFUL
        if provisioner == "hedged" and not follows_frontier(self.market, self.goal):
            suited = HEDGED_BATS
        return {**suited, "provisioner": provisioner, **self.policies}

    @property
    def _takes_calls(self) -> bool:
        """Whether work arrives later, and nobody said which machines it gets."""
        is_open = self.bag is None and self.work is None and not self.goal.accounts
        return is_open and self.fleet is None and not self.market.is_free

    @property
    def _follows_frontier(self) -> bool:
        """Whether one budget is for a bag, on machines that cost something."""
        if self.faithful or self.bag is None:
            return False
        return follows_frontier(self.market, self.goal)

    @property
    def _is_hedged(self) -> bool:
        """Whether reliable machines can reach the goal, and others may help."""
        is_expert = self.prefer or self.strategy or self.faithful or self.policies.get("advisor")
        has_goal = self.goal.budget is not None or self.goal.deadline is not None
        offers = [offer for offer in self.market.offers if offer.limit != 0]
        is_sure = any(offer.pool == "reliable" for offer in offers)
        is_free = any(not offer.price for offer in offers)
        return has_goal and is_sure and not (is_expert or is_free or self.fleet)

    def arrivals(self) -> list[WorkArrived | PlansOffered | PlanChosen]:
        """The work, and the plans for it; nothing if it arrives later."""
        if self.bag is not None:
            return [WorkArrived(0, Work(self.bag))]
        if self.work is None:
            return []
        plans = [event for event in (self.offered, self.plan) if event is not None]
        return [WorkArrived(0, self.work), *plans]

    @property
    def flow(self) -> Workflow | None:
        return None if self.work is None else self.work.workflow

    @property
    def is_planned(self) -> bool:
        """Whether it is a workflow with a plan, or with plans to choose from."""
        return self.plan is not None or self.offered is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the run only keeps plans, for a choice later."""
        return self.offered is not None and self.plan is None

    @property
    def is_to_be_planned(self) -> bool:
        """Whether it is a workflow on machines that cost money, and nobody said which to rent.

        Plans are for the money of a whole run.
        """
        provisioner = self.policies.get("provisioner", "prob")
        asked_for = provisioner == "prob" and self.fleet is None and self.goal.every is None
        return self.flow is not None and asked_for and not self.market.is_free

    @property
    def may_lose_machines(self) -> bool:
        """Whether some of the machines that may be rented are unreliable."""
        return any(
            self.market[name].pool == "unreliable"
            for name, count in self.full_fleet().items()
            if count
        )

    def full_fleet(self) -> Fleet:
        """The fleet asked for; else every offer up to its limit, or one machine a processor."""
        if self.fleet is not None:
            return self.fleet
        processors = os.cpu_count() or 1
        return {
            offer.name: processors if offer.limit is None else offer.limit
            for offer in self.market.offers
        }

    def options(self) -> RunOptions:
        """What policies are made of, as a run's journal keeps it."""
        return RunOptions(
            fleet={name: count for name, count in self.full_fleet().items() if count},
            workers=self.sample_workers,
            faithful=self.faithful,
            prefer=self.prefer,
            strategy=None if self.strategy is None else read_strategy(self.strategy),
            runtime=self.runtime,
            deviation=self.deviation,
            history=self.history,
            best_effort=self.best_effort,
            files=self.files if self.flow is not None or self.takes_workflows else None,
            sabotage=self.sabotage,
            site=self.site,
            typed=self.typed,
        )
